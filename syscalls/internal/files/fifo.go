package files

import (
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// AwaitReader makes t wait, which opens a FIFO for writing, until somebody reads there. What it then has is kept open:
// the reader must not find a writer that came and went.
func AwaitReader(t *task.Thread, l Location, flags int) linux.Errno {
	r, e := l.Open(linux.O_PATH, 0, 0)
	if e != 0 {
		return e
	}
	Of(t).keep(r)
	_, e = openFIFO(t, r.Again(), flags)
	return e
}

// openFIFO opens the FIFO at p for writing, and waits for a reader.
func openFIFO(t *task.Thread, p FileAt, flags int) (uint64, linux.Errno) {
	const retry = 1_000_000
	if t.TimedOut() {
		host.PollWait(nil, retry) // it may come from outside
	}
	e := linux.ENXIO
	ready := func() bool {
		var r FileRef
		if r, e = p.Open(linux.O_WRONLY|linux.O_NONBLOCK, 0, 0); e == 0 {
			Of(t).Call.fifo, e = NewHostFile(t.Kernel, r, flags, "")
		}
		return e != linux.ENXIO
	}
	return t.Block(task.Wait{Deadline: t.Kernel.After(retry), Ready: ready}, func() (uint64, linux.Errno) {
		switch e {
		case 0:
			return Install(t, Of(t).Call.takeFIFO(), flags)
		case linux.ENXIO:
			return openFIFO(t, p, flags)
		}
		return 0, e
	})
}

// AwaitWriter makes t wait, which has opened the FIFO h for reading, until a writer is there or was. One outside is
// seen when it has written something or is gone.
func AwaitWriter(t *task.Thread, h *HostFile, flags int) linux.Errno {
	Of(t).Call.fifo = h
	_, e := t.Block(task.Wait{
		Ready: func() bool { return h.FD.Poll(linux.POLLIN) != 0 || SystemOf(t.Kernel).Inodes.hasWriter(h.Ino) },
		Hosts: func(fds []host.PollFD) []host.PollFD { return append(fds, host.PollFD{On: h.FD, Events: linux.POLLIN}) },
	}, func() (uint64, linux.Errno) { return Install(t, Of(t).Call.takeFIFO(), flags) })
	return e
}

// MustAwait says whether open(2) with flags waits for the other end of h.
func MustAwait(k *task.Kernel, h *HostFile, flags int) bool {
	return flags&(linux.O_ACCMODE|linux.O_NONBLOCK|linux.O_PATH) == linux.O_RDONLY && h.Mode&linux.S_IFMT == linux.S_IFIFO && !SystemOf(k).Inodes.hasWriter(h.Ino)
}
