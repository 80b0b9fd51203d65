package files

import (
	"math"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// WaitFor makes t wait until f, one of the files that the call works with, lets a transfer of n bytes go on that waits
// for one of events.
func WaitFor(t *task.Thread, f File, events uint32, n uint64, resume func() (uint64, linux.Errno), with ...File) (uint64, linux.Errno) {
	w := f.Waits(t, events, n)
	if w.Ready == nil {
		w.Ready = func() bool { return f.Poll(t)&(events|linux.POLLERR|linux.POLLHUP) != 0 }
	}
	Of(t).Call.Hold(append(with, f)...)
	w.Hosts = func(fds []host.PollFD) []host.PollFD { return f.HostWaits(fds, events) }
	return t.Block(w, resume)
}

// ReadFile reads from f, waiting if it must.
func ReadFile(t *task.Thread, f File, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if w, ok := f.(waiter); ok {
		return w.ReadWaiting(t, v)
	}
	n, e := f.Read(t, v, off)
	if e == linux.EAGAIN && !f.Base().Nonblock() {
		return WaitFor(t, f, linux.POLLIN, uio.Total(v), func() (uint64, linux.Errno) { return ReadFile(t, f, v, off) })
	}
	return n, e
}

// WriteFile writes to f, waiting if it must. What was written before waiting is in t.Call.Done.
func WriteFile(t *task.Thread, f File, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if w, ok := f.(waiter); ok {
		return w.WriteWaiting(t, v)
	}
	n, e := f.Write(t, uio.Skip(v, t.Call.Done), off)
	if f.Base().Nonblock() {
		return n, e
	}
	if f.Traits()&WholeWrites == 0 {
		if e == linux.EAGAIN {
			return WaitFor(t, f, linux.POLLOUT, uio.Total(v), writeRest(t, f, v, off))
		}
		return n, e
	}
	for e == 0 && n > 0 {
		if t.Call.Done += n; t.Call.Done == uio.Total(v) {
			break
		}
		events := f.Poll(t) & (linux.POLLOUT | linux.POLLERR | linux.POLLHUP)
		if events == 0 {
			e = linux.EAGAIN
		}
		if events != linux.POLLOUT {
			break
		}
		n, e = f.Write(t, uio.Skip(v, t.Call.Done), off) // somebody has read meanwhile
	}
	if e != linux.EAGAIN {
		if t.Call.Done > 0 {
			return t.Call.Done, 0
		}
		return n, e
	}
	ret, e := WaitFor(t, f, linux.POLLOUT, uio.Total(v)-t.Call.Done, writeRest(t, f, v, off))
	if done := t.Call.Done; done > 0 {
		// "If write() is interrupted by a signal after it has written some data, it
		// returns the number of bytes written." - write(2)
		t.Call.Wait.Partial = done
	}
	return ret, e
}

// writeRest returns what goes on with a write when its wait is over. Nearly all writes never wait, and need no such
// closure.
func writeRest(t *task.Thread, f File, v []uio.Iovec, off int64) func() (uint64, linux.Errno) {
	return func() (uint64, linux.Errno) { return WriteFile(t, f, v, off) }
}

// RawReader and RawWriter are files that can move bytes without guest memory.
type RawReader interface {
	File
	ReadRaw(t *task.Thread, b []byte, off int64) (int, linux.Errno)
}

type RawWriter interface {
	WriteRaw(t *task.Thread, b []byte, off int64) (int, linux.Errno)
}

// A Limited is a RawWriter that may have room for less than it is given: what has been read from a pipe
// or a socket cannot be put back. (Into pipes goes what Pipe.Space has room for.)
type Limited interface {
	// RawRoom is how much WriteRaw takes; 1 if it will fail.
	RawRoom() int
}

// RawRoom implements Limited.
func (f *HostFile) RawRoom() int {
	switch {
	case !f.canBlock():
		return math.MaxInt
	case f.FD.Poll(linux.POLLOUT) == 0:
		return 0
	}
	return host.PipeRoom
}

// InPage is where in its page what is read at off begins, or, if off is -1, at f's position: pages of a regular file
// are laid into a pipe as they are (filemap_splice_read in mm/filemap.c), while what comes from other files, or past
// the page cache, begins a page.
func (f *HostFile) InPage(t *task.Thread, off int64) int {
	if !f.IsRegular() || f.Flags&linux.O_DIRECT != 0 {
		return 0
	}
	if off < 0 {
		off, _ = f.Seek(t, 0, linux.SEEK_CUR)
	}
	return int(off % emu.PageSize)
}

func (f *HostFile) ReadRaw(t *task.Thread, b []byte, off int64) (int, linux.Errno) {
	if f.IsDir() {
		return 0, linux.EISDIR
	}
	if f.dry() {
		Transferred(t.Kernel, f, linux.POLLIN)
		return 0, linux.EAGAIN
	}
	n, e := f.FD.Readv([][]byte{b}, off)
	f.wasRead(t.Kernel, n)
	if e == 0 {
		Accessed(t.Kernel, f)
	}
	if n > 0 {
		FileEvent(t.Kernel, f, linux.IN_ACCESS)
	}
	return n, e
}

func (f *HostFile) WriteRaw(t *task.Thread, b []byte, off int64) (int, linux.Errno) {
	room, e := MayWrite(t, f, off, uint64(len(b)))
	if e != 0 {
		return 0, e
	}
	n, e := f.writeNow([][]byte{b[:room]}, off)
	f.wasWritten(t.Kernel, n, n < int(room))
	if n > 0 {
		f.watched(t, [][]byte{b}, n)
		FileEvent(t.Kernel, f, linux.IN_MODIFY)
	}
	if e == linux.EPIPE {
		t.Send(task.InfoFromProcess(t.Process, linux.SIGPIPE, linux.SI_USER))
	}
	return n, e
}
