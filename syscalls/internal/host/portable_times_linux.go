//go:build portable

package host

import "syscall"

func timesOf(s *syscall.Stat_t) Times { return Times{timeOf(s.Atim), timeOf(s.Mtim), timeOf(s.Ctim)} }
