//go:build portable

package host

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

func timesOf(s *syscall.Stat_t) Times { return Times{timeOf(s.Atim), timeOf(s.Mtim), timeOf(s.Ctim)} }

// ownErrnos are none: all have Linux's numbers.
var ownErrnos map[syscall.Errno]linux.Errno

// deviceParts takes the number of a device apart.
func deviceParts(dev uint64) (major, minor uint32) { return unix.Major(dev), unix.Minor(dev) }
