package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This file has the calls that move bytes without the guest's memory, by copying: sendfile, splice, tee, vmsplice.

// isPipe reports whether f is a pipe or a FIFO.
func isPipe(f file) bool {
	switch f := f.(type) {
	case *pipeFile:
		return true
	case *hostFile:
		return f.mode&linux.S_IFMT == linux.S_IFIFO
	}
	return false
}

// samePipe reports whether two pipes are one.
func samePipe(a, b file) bool {
	switch a := a.(type) {
	case *pipeFile:
		b, ok := b.(*pipeFile)
		return ok && a.pipe == b.pipe
	case *hostFile:
		b, ok := b.(*hostFile)
		return ok && a.ino == b.ino
	}
	return false
}

// spliceFrom checks that bytes can go from f, which is no pipe, into a pipe: that Linux has a splice_read for it.
func spliceFrom(f file) linux.Errno {
	switch f := f.(type) {
	case *hostFile:
		if f.isDir() {
			return linux.EINVAL
		}
	case *memFile:
		if f.rdev == devNull {
			return linux.EINVAL
		}
	}
	if _, ok := f.(rawReader); !ok {
		return linux.EINVAL
	}
	return 0
}

// spliceTo checks that bytes can go from a pipe into f, which is none.
func spliceTo(f file) linux.Errno {
	// "EINVAL The target file is opened in append mode." - splice(2)
	if f.base().flags&linux.O_APPEND != 0 {
		return linux.EINVAL
	}
	switch f := f.(type) {
	case *memFile:
		if f.rdev == devFull {
			return linux.EINVAL
		}
	case *eventFile:
		return linux.EINVAL
	}
	if _, ok := f.(rawWriter); !ok {
		return linux.EINVAL
	}
	return 0
}

// seekable reports whether f has positions, so that what was read but could not be written is not lost.
func seekable(f file) bool { return f.traits()&(unpollable|uniform) != 0 }

// pipeSpace is what keeps splice(2) and sendfile(2) from moving anything to f if that is a pipe, whatever is to be moved: nobody
// reads from it, or it is full and must not be waited for.
func (t *Thread) pipeSpace(f file, dontWait bool) linux.Errno {
	p, ok := f.(*pipeFile)
	if !ok {
		return 0
	}
	if e := p.broken(t); e != 0 {
		return e
	}
	if p.pipe.full() && dontWait {
		return linux.EAGAIN
	}
	return 0
}

// streams reports whether f has no positions at all.
func streams(f file) bool { return f.traits()&streaming != 0 || isPipe(f) }

// sysSendfile implements sendfile(2). Where neither end is a pipe the kernel splices through one of its own.
func sysSendfile(t *Thread, a Args) (uint64, linux.Errno) {
	n, e := t.sendfile(a)
	if at := a.Addr(2); at != 0 && e != 0 && e != eBlocked {
		// The offset is written back in any case.
		if off, fault := t.in64(at); fault != 0 || t.out64(at, off) != 0 {
			e = linux.EFAULT
		}
	}
	return n, e
}

func (t *Thread) sendfile(a Args) (uint64, linux.Errno) {
	if _, e := t.offset(a.Addr(2)); e == linux.EFAULT {
		return 0, e
	}
	in, e := t.readable(a.Int(1))
	if e != 0 {
		return 0, e
	}
	if a.Addr(2) != 0 && !positions(t, in) {
		return 0, linux.ESPIPE
	}
	off, e := t.offset(a.Addr(2))
	if e != 0 || a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	if off > 0 && off+a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	out, e := t.writable(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if !isPipe(out) {
		// What was read and cannot be written would be lost (fs/splice.c, splice_direct_to_actor).
		if streams(in) || out.base().flags&linux.O_APPEND != 0 {
			return 0, linux.EINVAL
		}
		if a.Uint(3) == 0 {
			return 0, 0
		}
		if !seekable(in) {
			return 0, linux.EINVAL
		}
		if e := spliceTo(out); e != 0 {
			return 0, e
		}
	}
	if e := t.pipeSpace(out, out.base().nonblock()); e != 0 {
		return 0, e
	}
	if a.Uint(3) == 0 {
		return 0, 0
	}
	if isPipe(in) {
		return 0, linux.EINVAL
	}
	if e := spliceFrom(in); e != 0 {
		return 0, e
	}
	return t.transferAt(in, out, a.Addr(2), 0, a.Uint(3), false)
}

// spliceAll are all flags of splice(2), tee(2) and vmsplice(2).
const spliceAll = 15

// sysSplice implements splice(2).
func sysSplice(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Uint(4) == 0 {
		return 0, 0
	}
	if a.U32(5)&^spliceAll != 0 {
		return 0, linux.EINVAL
	}
	in, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	out, e := t.openFile(a.Int(2))
	if e != 0 {
		return 0, e
	}
	from, to := isPipe(in), isPipe(out)
	if from && a.Addr(1) != 0 || to && a.Addr(3) != 0 {
		return 0, linux.ESPIPE
	}
	for _, at := range []emu.Addr{a.Addr(3), a.Addr(1)} {
		if _, e := t.offset(at); e == linux.EFAULT {
			return 0, e
		}
	}
	if !in.base().readable() || !out.base().writable() {
		return 0, linux.EBADF
	}
	dontWait := a.U32(5)&linux.SPLICE_F_NONBLOCK != 0 || in.base().nonblock() || out.base().nonblock()
	switch {
	case from && to:
		if samePipe(in, out) {
			e = linux.EINVAL
		}
	case a.Long(4) < 0, from && a.Addr(3) != 0 && !positions(t, out), to && a.Addr(1) != 0 && !positions(t, in):
		e = linux.EINVAL
	case from:
		e = spliceTo(out)
	case to:
		if _, e = t.offset(a.Addr(1)); e == 0 {
			e = cmp.Or(t.pipeSpace(out, a.U32(5)&linux.SPLICE_F_NONBLOCK != 0 || out.base().nonblock()), spliceFrom(in))
		}
	default:
		e = linux.EINVAL
	}
	if e != 0 {
		return 0, e
	}
	return t.transferAt(in, out, a.Addr(1), a.Addr(3), a.Uint(4), dontWait)
}

// sysTee implements tee(2).
func sysTee(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(3)&^spliceAll != 0 {
		return 0, linux.EINVAL
	}
	if a.Uint(2) == 0 {
		return 0, 0
	}
	in, out, e := t.between(a.Int(0), a.Int(1))
	if e != 0 {
		return 0, e
	}
	r, ok1 := in.(*pipeFile)
	w, ok2 := out.(*pipeFile)
	if !ok1 || !ok2 || r.pipe == w.pipe {
		return 0, linux.EINVAL
	}
	return t.tee(r, w, a.Uint(2), a.U32(3)&linux.SPLICE_F_NONBLOCK == 0)
}

// tee copies up to n bytes from r to w, and waits if it must and may.
func (t *Thread) tee(r, w *pipeFile, n uint64, wait bool) (uint64, linux.Errno) {
	again := func() (uint64, linux.Errno) { return t.tee(r, w, n, wait) }
	if len(r.pipe.bufs) == 0 {
		switch {
		case r.pipe.writers == 0:
			return 0, 0
		case wait && !r.nonblock():
			return t.waitFor(r, linux.POLLIN, 1, again, w)
		}
		return 0, linux.EAGAIN
	}
	put, e := w.tee(t, r.pipe, n)
	if e == linux.EAGAIN && wait && !w.nonblock() {
		return t.waitFor(w, linux.POLLOUT, 1, again, r)
	}
	return put, e
}

// tee lays up to n bytes of what is in from into f's pipe, buffer by buffer.
func (f *pipeFile) tee(t *Thread, from *pipe, n uint64) (done uint64, e linux.Errno) {
	if e := f.broken(t); e != 0 {
		return 0, e
	}
	for _, buf := range from.bufs {
		if f.pipe.full() || done == n {
			break
		}
		b := buf.data[:min(uint64(len(buf.data)), n-done)]
		f.pipe.lay(b, buf.off)
		done += uint64(len(b))
	}
	if done == 0 {
		return 0, linux.EAGAIN
	}
	return done, 0
}

// layMemory lays as much of the memory of v into f's pipe as there is room for, page by page.
func (f *pipeFile) layMemory(t *Thread, v []iovec) (done uint64, e linux.Errno) {
	if e := f.broken(t); e != 0 {
		return 0, e
	}
	if f.pipe.full() {
		return 0, linux.EAGAIN
	}
	for _, x := range v {
		for x.n > 0 && !f.pipe.full() {
			begins := int(x.addr % emu.PageSize)
			b, e := t.gather([]iovec{{x.addr, min(x.n, uint64(emu.PageSize-begins))}}, emu.PageSize)
			if e != 0 {
				return finishTransfer(done, e)
			}
			f.pipe.lay(b, begins)
			done += uint64(len(b))
			x.addr, x.n = x.addr+emu.Addr(len(b)), x.n-uint64(len(b))
		}
	}
	return done, 0
}

// sysVmsplice implements vmsplice(2), by copying. Only its own flag says that it is not to wait.
func sysVmsplice(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(3)&^spliceAll != 0 {
		return 0, linux.EINVAL
	}
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	p, ok := f.(*pipeFile)
	if !ok {
		return 0, linux.EBADF
	}
	v, e := t.iovecs(a.Addr(1), a.Uint(2))
	if e != 0 || total(v) == 0 {
		return 0, e
	}
	return t.vmsplice(p, v, a.U32(3)&linux.SPLICE_F_NONBLOCK == 0)
}

// vmsplice lays memory into a pipe, or reads from one, and waits if it must and may.
func (t *Thread) vmsplice(p *pipeFile, v []iovec, wait bool) (n uint64, e linux.Errno) {
	events := uint32(linux.POLLOUT)
	if p.readable() {
		events = linux.POLLIN
		n, e = p.read(t, v, -1)
	} else {
		n, e = p.layMemory(t, v)
	}
	if e == linux.EAGAIN && wait {
		return t.waitFor(p, events, 1, func() (uint64, linux.Errno) { return t.vmsplice(p, v, wait) })
	}
	return n, e
}
