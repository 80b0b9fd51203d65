//go:build darwin || freebsd

package host

import "syscall"

func timesOf(s *syscall.Stat_t) Times {
	return Times{timeOf(s.Atimespec), timeOf(s.Mtimespec), timeOf(s.Ctimespec)}
}
