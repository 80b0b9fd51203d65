package files

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A getTimer is a timerfd.
type TimerFile struct {
	FileBase
	task.Timer
	Clock int
	Count uint64
}

func (*TimerFile) Traits() Traits { return Unwritable | unpositioned }

func (f *TimerFile) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *TimerFile) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	t.Kernel.FireTimers()
	if uio.Total(v) < 8 {
		return 0, linux.EINVAL
	}
	if f.Count == 0 {
		return 0, linux.EAGAIN
	}
	var b linux.Pack
	b.U64(f.Count + f.Resume(t.Kernel))
	f.Count = 0
	n, e := t.Scatter(v, b)
	return uint64(n), e
}

func (f *TimerFile) Poll(*task.Thread) uint32 {
	if f.Count > 0 {
		return linux.POLLIN
	}
	return 0
}

func (f *TimerFile) Close(k *task.Kernel) { k.Disarm(&f.Timer) }
