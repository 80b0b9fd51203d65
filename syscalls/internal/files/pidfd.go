package files

import (
	"fmt"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A PidFile is a pidfd: readable when its process has ended.
type PidFile struct {
	FileBase
	Process *task.Process
}

func (*PidFile) Traits() Traits { return Unreadable | Unwritable | positioned | Streaming } // since Linux 6.9

func (f *PidFile) FDInfo() []byte {
	pid := f.Process.PID
	if f.Process.Exited && f.Process.Parent == nil {
		pid = -1
	}
	return fmt.Appendf(nil, "Pid:\t%[1]d\nNSpid:\t%[1]d\n", pid)
}

func (f *PidFile) Poll(*task.Thread) uint32 {
	if f.Process.Exited {
		return linux.POLLIN | linux.POLLRDNORM
	}
	return 0
}
