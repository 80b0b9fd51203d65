package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// This file has the calls that move bytes without the guest's memory, by copying: sendfile, splice, tee, vmsplice.

// samePipe reports whether two pipes are one.
func samePipe(t *task.Thread, a, b files.File) bool {
	x, e1 := a.Stat(t)
	y, e2 := b.Stat(t)
	return e1 == 0 && e2 == 0 && x.Dev == y.Dev && x.Ino == y.Ino
}

// spliceFrom checks that bytes can go from f, which is no pipe, into a pipe: that Linux has a splice_read for it.
func spliceFrom(f files.File) linux.Errno {
	if _, ok := f.(files.RawReader); !ok || f.Traits()&files.NoSpliceRead != 0 {
		return linux.EINVAL
	}
	return 0
}

// spliceTo checks that bytes can go from a pipe into f, which is none.
func spliceTo(f files.File) linux.Errno {
	// "EINVAL The target file is opened in append mode." - splice(2)
	if _, ok := f.(files.RawWriter); !ok || f.Traits()&files.NoSpliceWrite != 0 || f.Base().Flags&linux.O_APPEND != 0 {
		return linux.EINVAL
	}
	return 0
}

// seekable reports whether f has positions, so that what was read but could not be written is not lost.
func seekable(f files.File) bool { return f.Traits()&(files.Unpollable|files.Uniform) != 0 }

// pipeSpace is what keeps splice(2) and sendfile(2) from moving anything to f if that is a pipe, whatever is to be
// moved: nobody reads from it, or it is full and must not be waited for.
func pipeSpace(t *task.Thread, f files.File, dontWait bool) linux.Errno {
	p, ok := f.(*files.PipeFile)
	if !ok {
		return 0
	}
	if e := p.Broken(t); e != 0 {
		return e
	}
	if p.Pipe.Full() && dontWait {
		return linux.EAGAIN
	}
	return 0
}

// streams reports whether f has no positions at all.
func streams(f files.File) bool { return f.Traits()&files.Streaming != 0 || files.IsPipe(f) }

// sysSendfile implements sendfile(2). Where neither end is a pipe the kernel splices through one of its own.
func sysSendfile(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	n, e := sendfile(t, a)
	if at := a.Addr(2); at != 0 && e != 0 && e != task.EBlocked {
		// The offset is written back in any case.
		if off, fault := t.In64(at); fault != 0 || t.Out64(at, off) != 0 {
			e = linux.EFAULT
		}
	}
	return n, e
}

func sendfile(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if _, e := offset(t, a.Addr(2)); e == linux.EFAULT {
		return 0, e
	}
	in, e := readable(t, a.Int(1))
	if e != 0 {
		return 0, e
	}
	if a.Addr(2) != 0 && !files.Positions(t, in) {
		return 0, linux.ESPIPE
	}
	off, e := offset(t, a.Addr(2))
	if e != 0 || a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	if off > 0 && off+a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	out, e := writable(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if !files.IsPipe(out) {
		// What was read and cannot be written would be lost (fs/splice.c, splice_direct_to_actor).
		if streams(in) || out.Base().Flags&linux.O_APPEND != 0 {
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
	if e := pipeSpace(t, out, out.Base().Nonblock()); e != 0 {
		return 0, e
	}
	if a.Uint(3) == 0 {
		return 0, 0
	}
	if files.IsPipe(in) {
		return 0, linux.EINVAL
	}
	if e := spliceFrom(in); e != 0 {
		return 0, e
	}
	return transferAt(t, in, out, a.Addr(2), 0, a.Uint(3), false)
}

// spliceAll are all flags of splice(2), tee(2) and vmsplice(2).
const spliceAll = 15

// sysSplice implements splice(2).
func sysSplice(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Uint(4) == 0 {
		return 0, 0
	}
	if a.U32(5)&^spliceAll != 0 {
		return 0, linux.EINVAL
	}
	in, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	out, e := files.GetFile(t, a.Int(2))
	if e != 0 {
		return 0, e
	}
	from, to := files.IsPipe(in), files.IsPipe(out)
	if from && a.Addr(1) != 0 || to && a.Addr(3) != 0 {
		return 0, linux.ESPIPE
	}
	for _, at := range []emu.Addr{a.Addr(3), a.Addr(1)} {
		if _, e := offset(t, at); e == linux.EFAULT {
			return 0, e
		}
	}
	if !in.Base().Readable() || !out.Base().Writable() {
		return 0, linux.EBADF
	}
	dontWait := a.U32(5)&linux.SPLICE_F_NONBLOCK != 0 || in.Base().Nonblock() || out.Base().Nonblock()
	switch {
	case from && to:
		if samePipe(t, in, out) {
			e = linux.EINVAL
		}
	case a.Long(4) < 0, from && a.Addr(3) != 0 && !files.Positions(t, out), to && a.Addr(1) != 0 && !files.Positions(t, in):
		e = linux.EINVAL
	case from:
		e = spliceTo(out)
	case to:
		if _, e = offset(t, a.Addr(1)); e == 0 {
			e = cmp.Or(pipeSpace(t, out, a.U32(5)&linux.SPLICE_F_NONBLOCK != 0 || out.Base().Nonblock()), spliceFrom(in))
		}
	default:
		e = linux.EINVAL
	}
	if e != 0 {
		return 0, e
	}
	return transferAt(t, in, out, a.Addr(1), a.Addr(3), a.Uint(4), dontWait)
}

// sysTee implements tee(2).
func sysTee(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(3)&^spliceAll != 0 {
		return 0, linux.EINVAL
	}
	if a.Uint(2) == 0 {
		return 0, 0
	}
	in, out, e := between(t, a.Int(0), a.Int(1))
	if e != 0 {
		return 0, e
	}
	r, ok1 := in.(*files.PipeFile)
	w, ok2 := out.(*files.PipeFile)
	if !ok1 || !ok2 || r.Pipe == w.Pipe {
		return 0, linux.EINVAL
	}
	return doTee(t, r, w, a.Uint(2), a.U32(3)&linux.SPLICE_F_NONBLOCK == 0)
}

// doTee copies up to n bytes from r to w, and waits if it must and may.
func doTee(t *task.Thread, r, w *files.PipeFile, n uint64, wait bool) (uint64, linux.Errno) {
	put, e := betweenPipes(t, r, w, n, w.Pipe.Tee)
	if e != linux.EAGAIN || !wait {
		return put, e
	}
	again := func() (uint64, linux.Errno) { return doTee(t, r, w, n, wait) }
	switch {
	case w.Pipe.Full() && (len(r.Pipe.Bufs) > 0 || r.Pipe.Writers == 0):
		if w.Nonblock() {
			return 0, e
		}
		return files.WaitFor(t, w, linux.POLLOUT, 1, again, r)
	case r.Nonblock():
		return 0, e
	}
	return files.WaitFor(t, r, linux.POLLIN, 1, again, w)
}

// betweenPipes calls do to bring up to n bytes from one pipe into another. Whether anything is there is seen before who
// reads it (do_splice and do_tee in fs/splice.c).
func betweenPipes(t *task.Thread, from, to *files.PipeFile, n uint64, do func(from *files.Pipe, n uint64) uint64) (uint64, linux.Errno) {
	if len(from.Pipe.Bufs) == 0 && from.Pipe.Writers > 0 {
		return 0, linux.EAGAIN
	}
	if e := to.Broken(t); e != 0 {
		return 0, e
	}
	if to.Pipe.Full() {
		return 0, linux.EAGAIN
	}
	return do(from.Pipe, n), 0
}

// layMemory lays as much of the memory of v into f's pipe as there is room for, page by page.
func layMemory(f *files.PipeFile, t *task.Thread, v []uio.Iovec) (done uint64, e linux.Errno) {
	if e := f.Broken(t); e != 0 {
		return 0, e
	}
	if f.Pipe.Full() {
		return 0, linux.EAGAIN
	}
	for _, x := range v {
		for x.Len > 0 && !f.Pipe.Full() {
			begins := int(x.Addr % emu.PageSize)
			b, e := t.Gather([]uio.Iovec{{Addr: x.Addr, Len: min(x.Len, uint64(emu.PageSize-begins))}}, emu.PageSize)
			if e != 0 {
				return finishTransfer(done, e)
			}
			f.Pipe.Lay(b, begins)
			done += uint64(len(b))
			x.Addr, x.Len = x.Addr+emu.Addr(len(b)), x.Len-uint64(len(b))
		}
	}
	return done, 0
}

// sysVmsplice implements vmsplice(2), by copying. Only its own flag says that it is not to wait.
func sysVmsplice(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(3)&^spliceAll != 0 {
		return 0, linux.EINVAL
	}
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if !f.Base().Readable() && !f.Base().Writable() {
		return 0, linux.EBADF
	}
	v, e := t.Iovecs(a.Addr(1), a.Uint(2))
	if e != 0 || uio.Total(v) == 0 {
		return 0, e
	}
	p, ok := f.(*files.PipeFile)
	if !ok {
		return 0, linux.EBADF
	}
	return vmsplice(t, p, v, a.U32(3)&linux.SPLICE_F_NONBLOCK == 0)
}

// vmsplice lays memory into a pipe, or reads from one, and waits if it must and may.
func vmsplice(t *task.Thread, p *files.PipeFile, v []uio.Iovec, wait bool) (n uint64, e linux.Errno) {
	events := uint32(linux.POLLIN)
	if p.Writable() {
		events = linux.POLLOUT
		n, e = layMemory(p, t, v)
	} else {
		n, e = p.Read(t, v, -1)
	}
	if e == linux.EAGAIN && wait {
		return files.WaitFor(t, p, events, 1, func() (uint64, linux.Errno) { return vmsplice(t, p, v, wait) })
	}
	return n, e
}
