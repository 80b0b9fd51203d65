package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// waitFor parks t until f, one of the files that the call works with, lets a transfer of n bytes go on that waits for one of events.
func (t *Thread) waitFor(f file, events uint32, n uint64, resume func() (uint64, linux.Errno), with ...file) (uint64, linux.Errno) {
	w := f.waits(t, events, n)
	if w.ready == nil {
		w.ready = func() bool { return f.poll(t)&(events|linux.POLLERR|linux.POLLHUP) != 0 }
	}
	filesOf(t).call.hold(append(with, f)...)
	w.hosts = func(fds []hostPoll) []hostPoll { return f.hostWaits(fds, events) }
	return t.block(w, resume)
}

// readFile reads from f, waiting if it must.
func (t *Thread) readFile(f file, v []iovec, off int64) (uint64, linux.Errno) {
	if w, ok := f.(waiter); ok {
		return w.readWaiting(t, v)
	}
	n, e := f.read(t, v, off)
	if e == linux.EAGAIN && !f.base().nonblock() {
		return t.waitFor(f, linux.POLLIN, total(v), func() (uint64, linux.Errno) { return t.readFile(f, v, off) })
	}
	return n, e
}

// writeFile writes to f, waiting if it must. What was written before waiting is in t.call.done.
func (t *Thread) writeFile(f file, v []iovec, off int64) (uint64, linux.Errno) {
	if w, ok := f.(waiter); ok {
		return w.writeWaiting(t, v)
	}
	n, e := f.write(t, skip(v, t.call.done), off)
	if f.base().nonblock() {
		return n, e
	}
	rest := func() (uint64, linux.Errno) { return t.writeFile(f, v, off) }
	if f.traits()&wholeWrites == 0 {
		if e == linux.EAGAIN {
			return t.waitFor(f, linux.POLLOUT, total(v), rest)
		}
		return n, e
	}
	if e == 0 {
		t.call.done += n
		if n > 0 && t.call.done < total(v) && f.poll(t)&(linux.POLLOUT|linux.POLLERR|linux.POLLHUP) == 0 {
			e = linux.EAGAIN
		}
	}
	if e != linux.EAGAIN {
		if t.call.done > 0 {
			return t.call.done, 0
		}
		return n, e
	}
	ret, e := t.waitFor(f, linux.POLLOUT, total(v)-t.call.done, rest)
	if done := t.call.done; done > 0 {
		// "If write() is interrupted by a signal after it has written some data, it
		// returns the number of bytes written." - write(2)
		t.call.wait.partial = done
	}
	return ret, e
}

// skip returns what follows the first n bytes of v.
func skip(v []iovec, n uint64) []iovec {
	for len(v) > 0 && n >= v[0].n {
		n -= v[0].n
		v = v[1:]
	}
	if n == 0 || len(v) == 0 {
		return v
	}
	rest := append([]iovec(nil), v...)
	rest[0].addr += emu.Addr(n)
	rest[0].n -= n
	return rest
}

func one(a emu.Addr, n uint64) []iovec { return []iovec{{a, min(n, maxRW)}} }

// A direction is reading or writing.
type direction struct {
	// check says whether a file is open for it and of a kind that it can be done to: both are looked at before the memory.
	check func(f file) linux.Errno
	do    func(t *Thread, f file, v []iovec, off int64) (uint64, linux.Errno)
}

var (
	reads  = direction{mayBeRead, (*Thread).readFile}
	writes = direction{mayBeWritten, (*Thread).writeFile}
)

func mayBeRead(f file) linux.Errno {
	switch {
	case !f.base().readable():
		return linux.EBADF
	case f.traits()&unreadable != 0:
		return linux.EINVAL
	}
	return 0
}

func mayBeWritten(f file) linux.Errno {
	switch {
	case !f.base().writable():
		return linux.EBADF
	case f.traits()&unwritable != 0:
		return linux.EINVAL
	}
	return 0
}

// file returns the file behind fd for a transfer at off, -1 for the file's position. Whether it has positions is looked at before
// what it is open for.
func (d *direction) file(t *Thread, fd int, off int64) (file, linux.Errno) {
	f, e := t.openFile(fd)
	switch {
	case e != 0:
		return nil, e
	case off >= 0 && !positions(t, f):
		return nil, linux.ESPIPE
	}
	return f, d.check(f)
}

// transfer is read(2), write(2) and, with off, pread(2) and pwrite(2).
func (d *direction) transfer(t *Thread, a Args, off int64) (uint64, linux.Errno) {
	f, e := d.file(t, a.Int(0), off)
	switch {
	case e != 0:
		return 0, e
	case !userRange(a.Uint(1), a.Uint(2)):
		return 0, linux.EFAULT
	}
	return d.do(t, f, one(a.Addr(1), a.Uint(2)), off)
}

// vector is readv(2), writev(2), preadv(2) and pwritev(2).
func (d *direction) vector(t *Thread, a Args, off int64) (uint64, linux.Errno) {
	f, e := d.file(t, a.Int(0), off)
	if e != 0 {
		return 0, e
	}
	v, e := t.iovecs(a.Addr(1), a.Uint(2))
	if e != 0 || total(v) == 0 {
		return 0, e
	}
	return d.do(t, f, v, off)
}

// sysRead implements read(2).
func sysRead(t *Thread, a Args) (uint64, linux.Errno) { return reads.transfer(t, a, -1) }

// sysWrite implements write(2).
func sysWrite(t *Thread, a Args) (uint64, linux.Errno) { return writes.transfer(t, a, -1) }

// sysPread64 implements pread(2).
func sysPread64(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return reads.transfer(t, a, a.Long(3))
}

// sysPwrite64 implements pwrite(2).
func sysPwrite64(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return writes.transfer(t, a, a.Long(3))
}

// sysReadv implements readv(2).
func sysReadv(t *Thread, a Args) (uint64, linux.Errno) { return reads.vector(t, a, -1) }

// sysWritev implements writev(2).
func sysWritev(t *Thread, a Args) (uint64, linux.Errno) { return writes.vector(t, a, -1) }

// sysPreadv implements preadv(2).
func sysPreadv(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return reads.vector(t, a, a.Long(3))
}

// sysPwritev implements pwritev(2).
func sysPwritev(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return writes.vector(t, a, a.Long(3))
}

// rwfQuiet are the flags of preadv2(2) and pwritev2(2) that change nothing here: RWF_HIPRI, RWF_DSYNC and RWF_SYNC.
const rwfQuiet = 1 | 2 | 4

// sysPreadv2 implements preadv2(2).
func sysPreadv2(t *Thread, a Args) (uint64, linux.Errno) { return reads.vector2(t, a) }

// sysPwritev2 implements pwritev2(2).
func sysPwritev2(t *Thread, a Args) (uint64, linux.Errno) { return writes.vector2(t, a) }

// vector2 is vector with flags, and -1 for the file's own position.
func (d *direction) vector2(t *Thread, a Args) (uint64, linux.Errno) {
	off, flags := a.Long(3), a.U32(5)
	if off < -1 {
		return 0, linux.EINVAL
	}
	flagged := direction{d.check, func(t *Thread, f file, v []iovec, off int64) (uint64, linux.Errno) {
		was := f.base().flags
		with := was
		switch {
		case flags&^(rwfQuiet|linux.RWF_NOWAIT|linux.RWF_APPEND|linux.RWF_NOAPPEND) != 0:
			return 0, linux.EOPNOTSUPP
		case flags&linux.RWF_APPEND != 0 && flags&linux.RWF_NOAPPEND != 0:
			return 0, linux.EINVAL
		case flags&linux.RWF_APPEND != 0:
			with |= linux.O_APPEND
		case flags&linux.RWF_NOAPPEND != 0:
			with &^= linux.O_APPEND
		}
		if flags&linux.RWF_NOWAIT != 0 {
			with |= linux.O_NONBLOCK
		}
		if e := f.setFlags(with); e != 0 {
			return 0, e
		}
		defer f.setFlags(was)
		return d.do(t, f, v, off)
	}}
	return flagged.vector(t, a, off)
}

// sysLseek implements lseek(2).
func sysLseek(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.file(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f.base().flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	if a.U32(2) > linux.SEEK_HOLE {
		return 0, linux.EINVAL
	}
	n, e := f.seek(t, a.Long(1), a.Int(2))
	return uint64(n), e
}

// copyChunk is how much sendfile and its kin move at a time.
const copyChunk = 64 << 10

// rawReader and rawWriter are files that can move bytes without guest memory.
type rawReader interface {
	readRaw(t *Thread, b []byte, off int64) (int, linux.Errno)
}

type rawWriter interface {
	writeRaw(t *Thread, b []byte, off int64) (int, linux.Errno)
}

// A limited is a rawWriter that may have room for less than it is given: what has been read from a pipe
// or a socket cannot be put back.
type limited interface {
	// rawRoom is how much writeRaw takes; 1 if it will fail.
	rawRoom() int
}

func (f *hostFile) readRaw(t *Thread, b []byte, off int64) (int, linux.Errno) {
	if f.isDir() {
		return 0, linux.EISDIR
	}
	if f.dry() {
		return 0, linux.EAGAIN
	}
	n, e := f.fd.readv([][]byte{b}, off)
	if e == 0 {
		t.k.accessed(f)
	}
	if n > 0 {
		t.k.fileEvent(f, linux.IN_ACCESS)
	}
	return n, e
}

func (f *hostFile) writeRaw(t *Thread, b []byte, off int64) (int, linux.Errno) {
	room, e := t.mayWrite(f, off, uint64(len(b)))
	if e != 0 {
		return 0, e
	}
	n, e := f.fd.writev([][]byte{b[:room]}, off)
	if n > 0 {
		t.k.fileEvent(f, linux.IN_MODIFY)
	}
	if e == linux.EPIPE {
		t.send(infoFromProcess(t.p, linux.SIGPIPE, linux.SI_USER))
	}
	return n, e
}

// transfer moves up to n bytes from one file to another, at inOff and outOff
// (-1: the file's position), and returns how many.
func (t *Thread) transfer(in, out file, inOff, outOff int64, n uint64) (uint64, linux.Errno) {
	r, ok1 := in.(rawReader)
	w, ok2 := out.(rawWriter)
	if !ok1 || !ok2 {
		return 0, linux.EINVAL
	}
	buf := make([]byte, min(n, copyChunk))
	var done uint64
	for done < n {
		if done > 0 && (in.poll(t)&linux.POLLIN == 0 || out.poll(t)&linux.POLLOUT == 0) {
			break
		}
		size := min(n-done, uint64(len(buf)))
		if l, ok := out.(limited); ok {
			size = min(size, uint64(l.rawRoom()))
		}
		switch {
		case size == 0 && done == 0:
			return 0, linux.EAGAIN
		case size == 0:
			return done, 0
		}
		got, e := r.readRaw(t, buf[:size], inOff)
		if e != 0 || got == 0 {
			if done > 0 {
				e = 0
			}
			return done, e
		}
		put, e := w.writeRaw(t, buf[:got], outOff)
		if put < got && inOff < 0 {
			// What could not be written stays to be read.
			in.seek(t, int64(put-got), linux.SEEK_CUR)
		}
		done += uint64(put)
		if inOff >= 0 {
			inOff += int64(put)
		}
		if outOff >= 0 {
			outOff += int64(put)
		}
		if e != 0 && done == 0 {
			return 0, e
		}
		if put < got {
			break
		}
	}
	return done, 0
}

// offset reads an optional offset argument: -1 if a is null.
func (t *Thread) offset(a emu.Addr) (int64, linux.Errno) {
	if a == 0 {
		return -1, 0
	}
	x, e := t.in64(a)
	if e == 0 && int64(x) < 0 {
		return 0, linux.EINVAL
	}
	return int64(x), e
}

// between opens the ends of a transfer.
func (t *Thread) between(inFD, outFD int) (in, out file, e linux.Errno) {
	if in, e = t.readable(inFD); e == 0 {
		out, e = t.writable(outFD)
	}
	return in, out, e
}

// transferAt is transfer with the offset pointers of a system call; pipes are not waited for if dontWait is set.
func (t *Thread) transferAt(in, out file, inAt, outAt emu.Addr, n uint64, dontWait bool) (uint64, linux.Errno) {
	inOff, e := t.offset(inAt)
	if e != 0 {
		return 0, e
	}
	outOff, e := t.offset(outAt)
	if e != 0 {
		return 0, e
	}
	done, e := t.transferWaiting(in, out, inOff, outOff, min(n, maxRW), dontWait)
	return t.then(done, e, func(done uint64, e linux.Errno) (uint64, linux.Errno) {
		if e != 0 {
			return 0, e
		}
		if inAt != 0 {
			e = t.out64(inAt, movedBy(in, inOff, done))
		}
		if outAt != 0 && e == 0 {
			e = t.out64(outAt, movedBy(out, outOff, done))
		}
		if e != 0 {
			return 0, e // what was moved is moved
		}
		return done, 0
	})
}

// movedBy is where the offset off of f is after n bytes. Those of devices without positions stay where they are.
func movedBy(f file, off int64, n uint64) uint64 {
	if f.traits()&uniform != 0 {
		return uint64(off)
	}
	return uint64(off) + n
}

// What is moved between two looks for signals, others who want to run, and the end of the run, and how long that takes, at
// 10 GB/s. It is as much as fits into a pipe.
const (
	transferPiece = 1 << 20
	pieceTime     = 100_000
)

// transferWaiting is transfer in pieces, waiting if it must. What was moved so far is in t.call.done.
func (t *Thread) transferWaiting(in, out file, inOff, outOff int64, n uint64, dontWait bool) (uint64, linux.Errno) {
	piece := min(n, transferPiece)
	done, e := t.transfer(in, out, inOff, outOff, piece)
	t.call.done += done
	switch {
	case e == 0 && done == piece && done < n:
		return t.moveOn(in, out, func() (uint64, linux.Errno) {
			return t.transferWaiting(in, out, advanced(inOff, done), advanced(outOff, done), n-done, dontWait)
		})
	case e == 0 || t.call.done > 0:
		return t.call.done, 0
	case e != linux.EAGAIN:
		return 0, e
	}
	f, with, events := out, in, uint32(linux.POLLOUT)
	if in.poll(t)&linux.POLLIN == 0 {
		f, with, events = in, out, linux.POLLIN
	}
	if f.base().nonblock() || dontWait && isPipe(f) {
		return 0, linux.EAGAIN
	}
	again := func() (uint64, linux.Errno) { return t.transferWaiting(in, out, inOff, outOff, n, dontWait) }
	return t.waitFor(f, events, n, again, with)
}

// advanced is a position n bytes behind off, which is -1 for a file's own.
func advanced(off int64, n uint64) int64 {
	if off < 0 {
		return off
	}
	return off + int64(n)
}

// moveOn lets others run before t's transfer goes on with rest. A signal ends it with what was moved.
func (t *Thread) moveOn(in, out file, rest func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	t.spend(pieceTime)
	filesOf(t).call.hold(in, out)
	w := wait{ready: func() bool { return true }, unbreakable: true}
	return t.block(w, func() (uint64, linux.Errno) {
		if t.hasSignal() {
			return t.call.done, 0
		}
		return rest()
	})
}

// sysCopyFileRange implements copy_file_range(2).
func sysCopyFileRange(t *Thread, a Args) (uint64, linux.Errno) {
	for i := range 2 {
		if _, e := t.openFile(a.Int(2 * i)); e != 0 {
			return 0, e
		}
	}
	for i := range 2 {
		if _, e := t.offset(a.Addr(2*i + 1)); e == linux.EFAULT {
			return 0, e
		}
	}
	if a.U32(5) != 0 {
		return 0, linux.EINVAL
	}
	in, out, e := t.copyable(a.Int(0), a.Int(2))
	if e != 0 {
		return 0, e
	}
	n, e := t.copyLength(a, in, out)
	if e != 0 {
		return 0, e
	}
	return t.transferAt(in, out, a.Addr(1), a.Addr(3), n, false)
}

// copyable checks the files of copy_file_range(2) and returns them.
func (t *Thread) copyable(inFD, outFD int) (in, out *hostFile, e linux.Errno) {
	f, _ := t.file(inFD)
	g, _ := t.file(outFD)
	in, ok1 := f.(*hostFile)
	out, ok2 := g.(*hostFile)
	switch {
	case ok1 && in.isDir() || ok2 && out.isDir():
		return nil, nil, linux.EISDIR
	case !ok1 || !ok2 || !in.isRegular() || !out.isRegular():
		return nil, nil, linux.EINVAL
	case !in.readable() || !out.writable() || out.flags&linux.O_APPEND != 0:
		return nil, nil, linux.EBADF
	case in.private != out.private || in.isMemfd() != out.isMemfd():
		return nil, nil, linux.EXDEV // since Linux 5.19
	}
	return in, out, 0
}

// copyLength checks the ranges of copy_file_range(2) and returns how much is to be copied: what the source has behind its position
// now, also if the copy makes it longer. "EINVAL fd_in and fd_out refer to the same file and the source
// and target ranges overlap."
func (t *Thread) copyLength(a Args, in, out *hostFile) (uint64, linux.Errno) {
	var at [2]uint64
	for i, f := range []*hostFile{in, out} {
		pos, e := f.seek(t, 0, linux.SEEK_CUR)
		if e != 0 {
			return 0, e
		}
		at[i] = uint64(pos)
		if p := a.Addr(2*i + 1); p != 0 {
			if at[i], e = t.in64(p); e != 0 {
				return 0, e
			}
		}
		if at[i]+a.Uint(4) < at[i] {
			return 0, linux.EOVERFLOW
		}
	}
	st, e := in.fd.stat()
	if e != 0 {
		return 0, e
	}
	n := uint64(0)
	if at[0] < uint64(st.size) {
		n = min(a.Uint(4), uint64(st.size)-at[0])
	}
	if int64(at[1]) >= 0 {
		// Where the copy begins must be below the limit of a file's size also if there is nothing to copy.
		may, e := t.mayWrite(out, int64(at[1]), max(n, 1))
		if e != 0 {
			return 0, e
		}
		n = min(n, may)
	}
	if in.ino == out.ino && at[1]+n > at[0] && at[1] < at[0]+n {
		return 0, linux.EINVAL
	}
	return n, 0
}
