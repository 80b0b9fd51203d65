//go:build portable

package host

import (
	"syscall"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

func timesOf(s *syscall.Stat_t) Times { return Times{timeOf(s.Atim), timeOf(s.Mtim), timeOf(s.Ctim)} }

// ownErrnos are none: all have Linux's numbers.
var ownErrnos map[syscall.Errno]linux.Errno
