package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// FIFOs are the host's, opened there without waiting, because it may be another of our processes that opens
// the other end. What open(2) waits for (fifo(7)) is waited for here.

// isFIFO says whether a FIFO is at p.
func isFIFO(p fileAt) bool {
	h, e := p.stat(true)
	return e == 0 && h.mode&linux.S_IFMT == linux.S_IFIFO
}

// awaitReader parks t, which opens a FIFO for writing, until somebody reads there. What it then has is kept open:
// the reader must not find a writer that came and went.
func (t *Thread) awaitReader(l location, flags int) linux.Errno {
	r, e := l.open(linux.O_PATH, 0, 0)
	if e != 0 {
		return e
	}
	filesOf(t).keep(r)
	_, e = t.openFIFO(r.again(), flags)
	return e
}

// openFIFO opens the FIFO at p for writing, and waits for a reader.
func (t *Thread) openFIFO(p fileAt, flags int) (uint64, linux.Errno) {
	const retry = 1_000_000
	if t.timedOut() {
		hostPollWait(nil, retry) // it may come from outside
	}
	e := linux.ENXIO
	ready := func() bool {
		var r fileRef
		if r, e = p.open(linux.O_WRONLY|linux.O_NONBLOCK, 0, 0); e == 0 {
			filesOf(t).call.fifo, e = t.k.newHostFile(r, flags, "")
		}
		return e != linux.ENXIO
	}
	return t.block(wait{deadline: t.k.after(retry), ready: ready}, func() (uint64, linux.Errno) {
		switch e {
		case 0:
			return t.install(filesOf(t).call.takeFIFO(), flags)
		case linux.ENXIO:
			return t.openFIFO(p, flags)
		}
		return 0, e
	})
}

// awaitWriter parks t, which has opened the FIFO h for reading, until a writer is there or was. One outside is seen
// when it has written something or is gone.
func (t *Thread) awaitWriter(h *hostFile, flags int) linux.Errno {
	filesOf(t).call.fifo = h
	_, e := t.block(wait{
		ready: func() bool { return h.fd.poll(linux.POLLIN) != 0 || t.k.hasWriter(h) },
		hosts: func(fds []hostPoll) []hostPoll { return append(fds, hostPoll{h.fd, linux.POLLIN}) },
	}, func() (uint64, linux.Errno) { return t.install(filesOf(t).call.takeFIFO(), flags) })
	return e
}

// mustAwait says whether open(2) with flags waits for the other end of h.
func (k *Kernel) mustAwait(h *hostFile, flags int) bool {
	return flags&(linux.O_ACCMODE|linux.O_NONBLOCK|linux.O_PATH) == linux.O_RDONLY && h.mode&linux.S_IFMT == linux.S_IFIFO && !k.hasWriter(h)
}

// hasWriter says whether one of our processes has the FIFO h open for writing, or is about to.
func (k *Kernel) hasWriter(h *hostFile) bool {
	writes := func(f file) bool {
		w, ok := f.(*hostFile)
		return ok && w != nil && w.ino == h.ino && w.writable()
	}
	for ft := range k.fdTables() {
		if slices.ContainsFunc(ft.fds, func(ent fdEntry) bool { return writes(ent.file) }) {
			return true
		}
	}
	return slices.ContainsFunc(k.procs, func(p *Process) bool {
		return slices.ContainsFunc(p.threads, func(o *Thread) bool { return writes(filesOf(o).call.fifo) })
	})
}
