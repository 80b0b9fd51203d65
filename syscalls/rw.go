package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A direction is reading or writing.
type direction struct {
	// check says whether a file is open for it and of a kind that it can be done to: both are looked at before the
	// memory.
	check func(f files.File) linux.Errno
	do    func(t *task.Thread, f files.File, v []uio.Iovec, off int64) (uint64, linux.Errno)
}

var (
	reads  = direction{mayBeRead, files.ReadFile}
	writes = direction{mayBeWritten, files.WriteFile}
)

func mayBeRead(f files.File) linux.Errno {
	switch {
	case !f.Base().Readable():
		return linux.EBADF
	case f.Traits()&files.Unreadable != 0:
		return linux.EINVAL
	}
	return 0
}

func mayBeWritten(f files.File) linux.Errno {
	switch {
	case !f.Base().Writable():
		return linux.EBADF
	case f.Traits()&files.Unwritable != 0:
		return linux.EINVAL
	}
	return 0
}

// file returns the file behind fd for a transfer at off, -1 for the file's position. Whether it has positions is looked
// at before what it is open for.
func (d *direction) file(t *task.Thread, fd int, off int64) (files.File, linux.Errno) {
	f, e := files.GetFile(t, fd)
	switch {
	case e != 0:
		return nil, e
	case off >= 0 && !files.Positions(t, f):
		return nil, linux.ESPIPE
	}
	return f, d.check(f)
}

// transfer is read(2), write(2) and, with off, pread(2) and pwrite(2).
func (d *direction) transfer(t *task.Thread, a uio.Args, off int64) (uint64, linux.Errno) {
	f, e := d.file(t, a.Int(0), off)
	switch {
	case e != 0:
		return 0, e
	case !uio.UserRange(a.Uint(1), a.Uint(2)):
		return 0, linux.EFAULT
	}
	return d.do(t, f, t.Call.Single(a.Addr(1), a.Uint(2)), off)
}

// vector is readv(2), writev(2), preadv(2) and pwritev(2).
func (d *direction) vector(t *task.Thread, a uio.Args, off int64) (uint64, linux.Errno) {
	f, e := d.file(t, a.Int(0), off)
	if e != 0 {
		return 0, e
	}
	v, e := t.Iovecs(a.Addr(1), a.Uint(2))
	if e != 0 || uio.Total(v) == 0 {
		return 0, e
	}
	return d.do(t, f, v, off)
}

// sysRead implements read(2).
func sysRead(t *task.Thread, a uio.Args) (uint64, linux.Errno) { return reads.transfer(t, a, -1) }

// sysWrite implements write(2).
func sysWrite(t *task.Thread, a uio.Args) (uint64, linux.Errno) { return writes.transfer(t, a, -1) }

// sysPread64 implements pread(2).
func sysPread64(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return reads.transfer(t, a, a.Long(3))
}

// sysPwrite64 implements pwrite(2).
func sysPwrite64(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return writes.transfer(t, a, a.Long(3))
}

// sysReadv implements readv(2).
func sysReadv(t *task.Thread, a uio.Args) (uint64, linux.Errno) { return reads.vector(t, a, -1) }

// sysWritev implements writev(2).
func sysWritev(t *task.Thread, a uio.Args) (uint64, linux.Errno) { return writes.vector(t, a, -1) }

// sysPreadv implements preadv(2).
func sysPreadv(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return reads.vector(t, a, a.Long(3))
}

// sysPwritev implements pwritev(2).
func sysPwritev(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Long(3) < 0 {
		return 0, linux.EINVAL
	}
	return writes.vector(t, a, a.Long(3))
}

// rwfQuiet are the flags of preadv2(2) and pwritev2(2) that change nothing here: RWF_HIPRI, RWF_DSYNC and RWF_SYNC.
const rwfQuiet = 1 | 2 | 4

// sysPreadv2 implements preadv2(2).
func sysPreadv2(t *task.Thread, a uio.Args) (uint64, linux.Errno) { return reads.vector2(t, a) }

// sysPwritev2 implements pwritev2(2).
func sysPwritev2(t *task.Thread, a uio.Args) (uint64, linux.Errno) { return writes.vector2(t, a) }

// vector2 is vector with flags, and -1 for the file's own position.
func (d *direction) vector2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	off, flags := a.Long(3), a.U32(5)
	if off < -1 {
		return 0, linux.EINVAL
	}
	flagged := direction{d.check, func(t *task.Thread, f files.File, v []uio.Iovec, off int64) (uint64, linux.Errno) {
		was := f.Base().Flags
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
		if e := f.SetFlags(with); e != 0 {
			return 0, e
		}
		defer f.SetFlags(was)
		return d.do(t, f, v, off)
	}}
	return flagged.vector(t, a, off)
}

// sysLseek implements lseek(2).
func sysLseek(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetRawFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f.Base().Flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	if a.U32(2) > linux.SEEK_HOLE {
		return 0, linux.EINVAL
	}
	n, e := f.Seek(t, a.Long(1), a.Int(2))
	return uint64(n), e
}

// copyChunk is how much sendfile and its kin move at a time.
const copyChunk = 64 << 10

// transfer moves up to n bytes from one file to another, at inOff and outOff
// (-1: the file's position), and returns how many.
func transfer(t *task.Thread, in, out files.File, inOff, outOff int64, n uint64) (uint64, linux.Errno) {
	r, ok1 := in.(files.RawReader)
	if p, ok := out.(*files.PipeFile); ok && ok1 {
		return intoPipe(t, r, p, inOff, n)
	}
	w, ok2 := out.(files.RawWriter)
	if !ok1 || !ok2 {
		return 0, linux.EINVAL
	}
	buf := make([]byte, min(n, copyChunk))
	var done uint64
	for done < n {
		if done > 0 && (in.Poll(t)&linux.POLLIN == 0 || out.Poll(t)&linux.POLLOUT == 0) {
			break
		}
		size := min(n-done, uint64(len(buf)))
		if l, ok := out.(files.Limited); ok {
			size = min(size, uint64(l.RawRoom()))
		}
		switch {
		case size == 0 && done == 0:
			return 0, linux.EAGAIN
		case size == 0:
			return done, 0
		}
		got, e := r.ReadRaw(t, buf[:size], inOff)
		if e != 0 || got == 0 {
			if done > 0 {
				e = 0
			}
			return done, e
		}
		put, e := w.WriteRaw(t, buf[:got], outOff)
		if put < got && inOff < 0 {
			// What could not be written stays to be read.
			in.Seek(t, int64(put-got), linux.SEEK_CUR)
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

// intoPipe is transfer to a pipe: buffers of another pipe move there as they are, what is read otherwise is laid into
// buffers of its own.
func intoPipe(t *task.Thread, in files.RawReader, out *files.PipeFile, inOff int64, n uint64) (done uint64, e linux.Errno) {
	if from, ok := in.(*files.PipeFile); ok {
		return betweenPipes(t, from, out, n, out.Pipe.Move)
	}
	if e := out.Broken(t); e != 0 {
		return 0, e
	}
	if out.Pipe.Full() {
		return 0, linux.EAGAIN
	}
	buf := make([]byte, min(n, copyChunk))
	for done < n && !out.Pipe.Full() {
		if done > 0 && in.Poll(t)&linux.POLLIN == 0 {
			break
		}
		begins := 0
		if h, ok := in.(*files.HostFile); ok {
			begins = h.InPage(t, inOff)
		}
		size := min(n-done, uint64(len(buf)), uint64(out.Pipe.Space(begins)))
		if begins > 0 {
			size = min(size, uint64(emu.PageSize-begins))
		}
		got, e := in.ReadRaw(t, buf[:size], inOff)
		switch {
		case (e != 0 || got == 0) && done > 0:
			return done, 0
		case e != 0 || got == 0:
			return 0, e
		}
		out.Pipe.Lay(buf[:got], begins)
		done += uint64(got)
		inOff = advanced(inOff, uint64(got))
	}
	return done, 0
}

// offset reads an optional offset argument: -1 if a is null.
func offset(t *task.Thread, a emu.Addr) (int64, linux.Errno) {
	if a == 0 {
		return -1, 0
	}
	x, e := t.In64(a)
	if e == 0 && int64(x) < 0 {
		return 0, linux.EINVAL
	}
	return int64(x), e
}

// between opens the ends of a transfer.
func between(t *task.Thread, inFD, outFD int) (in, out files.File, e linux.Errno) {
	if in, e = readable(t, inFD); e == 0 {
		out, e = writable(t, outFD)
	}
	return in, out, e
}

// transferAt is transfer with the offset pointers of a system call; pipes are not waited for if dontWait is set.
func transferAt(t *task.Thread, in, out files.File, inAt, outAt emu.Addr, n uint64, dontWait bool) (uint64, linux.Errno) {
	inOff, e := offset(t, inAt)
	if e != 0 {
		return 0, e
	}
	outOff, e := offset(t, outAt)
	if e != 0 {
		return 0, e
	}
	done, e := transferWaiting(t, in, out, inOff, outOff, min(n, uio.MaxRW), dontWait)
	return t.Then(done, e, func(done uint64, e linux.Errno) (uint64, linux.Errno) {
		if e != 0 {
			return 0, e
		}
		if inAt != 0 {
			e = t.Out64(inAt, movedBy(in, inOff, done))
		}
		if outAt != 0 && e == 0 {
			e = t.Out64(outAt, movedBy(out, outOff, done))
		}
		if e != 0 {
			return 0, e // what was moved is moved
		}
		return done, 0
	})
}

// movedBy is where the offset off of f is after n bytes. Those of devices without positions stay where they are.
func movedBy(f files.File, off int64, n uint64) uint64 {
	if f.Traits()&files.Uniform != 0 {
		return uint64(off)
	}
	return uint64(off) + n
}

// What is moved between two looks for signals, others who want to run, and the end of the run, and how long that takes,
// at 10 GB/s. It is as much as fits into a pipe.
const (
	transferPiece = 1 << 20
	pieceTime     = 100_000
)

// transferWaiting is transfer in pieces, waiting if it must. What was moved so far is in t.Call.Done.
func transferWaiting(t *task.Thread, in, out files.File, inOff, outOff int64, n uint64, dontWait bool) (uint64, linux.Errno) {
	piece := min(n, transferPiece)
	done, e := transfer(t, in, out, inOff, outOff, piece)
	t.Call.Done += done
	switch {
	case e == 0 && done == piece && done < n:
		return moveOn(t, in, out, func() (uint64, linux.Errno) {
			return transferWaiting(t, in, out, advanced(inOff, done), advanced(outOff, done), n-done, dontWait)
		})
	case e == 0 || t.Call.Done > 0:
		return t.Call.Done, 0
	case e != linux.EAGAIN:
		return 0, e
	}
	f, with, events := out, in, uint32(linux.POLLOUT)
	if in.Poll(t)&(linux.POLLIN|linux.POLLHUP) == 0 {
		f, with, events = in, out, linux.POLLIN
	}
	if f.Base().Nonblock() || dontWait && files.IsPipe(f) {
		return 0, linux.EAGAIN
	}
	again := func() (uint64, linux.Errno) { return transferWaiting(t, in, out, inOff, outOff, n, dontWait) }
	return files.WaitFor(t, f, events, n, again, with)
}

// advanced is a position n bytes behind off, which is -1 for a file's own.
func advanced(off int64, n uint64) int64 {
	if off < 0 {
		return off
	}
	return off + int64(n)
}

// moveOn lets others run before t's transfer goes on with rest. A signal ends it with what was moved.
func moveOn(t *task.Thread, in, out files.File, rest func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	t.Spend(pieceTime)
	files.Of(t).Call.Hold(in, out)
	w := task.Wait{Ready: func() bool { return true }, Killable: true}
	return t.Block(w, func() (uint64, linux.Errno) {
		if t.HasSignal() {
			return t.Call.Done, 0
		}
		return rest()
	})
}

// sysCopyFileRange implements copy_file_range(2).
func sysCopyFileRange(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	for i := range 2 {
		if _, e := files.GetFile(t, a.Int(2*i)); e != 0 {
			return 0, e
		}
	}
	for i := range 2 {
		if _, e := offset(t, a.Addr(2*i+1)); e == linux.EFAULT {
			return 0, e
		}
	}
	if a.U32(5) != 0 {
		return 0, linux.EINVAL
	}
	in, out, e := copyable(t, a.Int(0), a.Int(2))
	if e != 0 {
		return 0, e
	}
	n, e := copyLength(t, a, in, out)
	if e != 0 {
		return 0, e
	}
	return transferAt(t, in, out, a.Addr(1), a.Addr(3), n, false)
}

// copyable checks the files of copy_file_range(2) and returns them.
func copyable(t *task.Thread, inFD, outFD int) (in, out *files.HostFile, e linux.Errno) {
	f, _ := files.GetRawFile(t, inFD)
	g, _ := files.GetRawFile(t, outFD)
	in, ok1 := f.(*files.HostFile)
	out, ok2 := g.(*files.HostFile)
	switch {
	case ok1 && in.IsDir() || ok2 && out.IsDir():
		return nil, nil, linux.EISDIR
	case !ok1 || !ok2 || !in.IsRegular() || !out.IsRegular():
		return nil, nil, linux.EINVAL
	case !in.Readable() || !out.Writable() || out.Flags&linux.O_APPEND != 0:
		return nil, nil, linux.EBADF
	case in.Private != out.Private || in.IsMemfd() != out.IsMemfd():
		return nil, nil, linux.EXDEV // since Linux 5.19
	}
	return in, out, 0
}

// copyLength checks the ranges of copy_file_range(2) and returns how much is to be copied: what the source has behind
// its position now, also if the copy makes it longer. "EINVAL fd_in and fd_out refer to the same file and the source
// and target ranges overlap."
func copyLength(t *task.Thread, a uio.Args, in, out *files.HostFile) (uint64, linux.Errno) {
	var at [2]uint64
	for i, f := range []*files.HostFile{in, out} {
		pos, e := f.Seek(t, 0, linux.SEEK_CUR)
		if e != 0 {
			return 0, e
		}
		at[i] = uint64(pos)
		if p := a.Addr(2*i + 1); p != 0 {
			if at[i], e = t.In64(p); e != 0 {
				return 0, e
			}
		}
		if at[i]+a.Uint(4) < at[i] {
			return 0, linux.EOVERFLOW
		}
	}
	st, e := in.FD.Stat()
	if e != 0 {
		return 0, e
	}
	n := uint64(0)
	if at[0] < uint64(st.Size) {
		n = min(a.Uint(4), uint64(st.Size)-at[0])
	}
	if int64(at[1]) >= 0 {
		// Where the copy begins must be below the limit of a file's size also if there is nothing to copy.
		may, e := files.MayWrite(t, out, int64(at[1]), max(n, 1))
		if e != 0 {
			return 0, e
		}
		n = min(n, may)
	}
	if in.Ino == out.Ino && at[1]+n > at[0] && at[1] < at[0]+n {
		return 0, linux.EINVAL
	}
	return n, 0
}
