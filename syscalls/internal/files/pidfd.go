package files

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A PidFile is a pidfd: readable when its process has ended.
type PidFile struct {
	FileBase
	Process *task.Process
}

func (*PidFile) Traits() Traits { return Unreadable | Unwritable | positioned | Streaming } // since Linux 6.9

func (f *PidFile) Poll(*task.Thread) uint32 {
	if f.Process.Exited {
		return linux.POLLIN | linux.POLLRDNORM
	}
	return 0
}
