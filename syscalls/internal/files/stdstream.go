package files

import (
	"math"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A stdStream is a standard file of the guest's that looks like a pipe, whatever it is on the host. Programs ask what
// their output is, and write to a terminal by lines, to a file at offsets, to /dev/null not at all: their counts would
// depend on where somebody has sent the output.
type stdStream struct {
	FileBase
	on  *stdHost
	ino uint64
}

// A stdHost is what standard streams lead to: the first one, and those that were made by opening /dev/stdout anew.
type stdHost struct {
	file     *HostFile
	users    int
	perm     uint32
	capacity int
	// patient says that the guest never finds an output full: all of it waits until somebody has read. How fast that is
	// must decide nothing in a run that is recorded, as a repetition has another reader.
	patient bool
}

// behindStream is the file of the host's behind a standard stream; other files are what they are.
func behindStream(f File) File {
	if s, ok := f.(*stdStream); ok {
		return s.on.file
	}
	return f
}

// newStdStream makes a pipe of standard file i, which may be one that is never waited for, nil if the guest is to see
// it as it is: an input that is no terminal, a directory, or any if the configuration says so.
func newStdStream(k *task.Kernel, i int, fd host.FD, nowait bool) *stdStream {
	st, e := fd.Stat()
	if e != 0 || SystemOf(k).Config.HostStdio || st.Mode&linux.S_IFMT == linux.S_IFDIR || i == 0 && !fd.IsTerminal() && !SystemOf(k).Config.PipedStdin {
		return nil
	}
	ino := SystemOf(k).Inodes.Unnamed()
	f := numbered(k, FileRef{FD: fd}, st, ino, direction(i), "")
	f.Nowait = nowait
	return &stdStream{FileBase{Flags: direction(i), Path: "pipe:[" + strconv.FormatUint(ino, 10) + "]"}, &stdHost{
		f, 1, 0o600, pipeCapacity, i > 0 && f.canBlock() && (SystemOf(k).Config.Record != nil || SystemOf(k).Config.Replay != nil),
	}, ino}
}

func (f *stdStream) Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if off >= 0 {
		return 0, linux.ESPIPE
	}
	return f.on.file.Read(t, v, off)
}

func (f *stdStream) ReadRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	return f.on.file.ReadRaw(t, b, -1)
}

func (f *stdStream) Write(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if off >= 0 {
		return 0, linux.ESPIPE
	}
	if f.on.patient {
		return f.on.writeAll(t.Kernel, uio.Total(v), func(done uint64) (uint64, linux.Errno) {
			return f.on.file.Write(t, uio.Skip(v, done), -1)
		})
	}
	return f.on.file.Write(t, v, off)
}

// writeAll writes size bytes, however long that takes. Write writes those behind the first done ones, or some of them.
func (h *stdHost) writeAll(k *task.Kernel, size uint64, write func(done uint64) (uint64, linux.Errno)) (uint64, linux.Errno) {
	for done := uint64(0); ; {
		h.awaitRoom(k)
		n, e := write(done)
		done += n
		switch {
		case done > 0 && (n == 0 || done == size):
			return done, 0
		case n == 0:
			return 0, e
		}
	}
}

// awaitRoom lets real time pass until something can be written, or the run is to end.
func (h *stdHost) awaitRoom(k *task.Kernel) {
	const slice = 50_000_000
	for !k.Canceled.Load() && h.file.FD.Poll(linux.POLLOUT) == 0 {
		host.PollWait([]host.PollFD{{On: h.file.FD, Events: linux.POLLOUT}}, slice)
	}
}

func (f *stdStream) WriteRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if f.on.patient {
		n, e := f.on.writeAll(t.Kernel, uint64(len(b)), func(done uint64) (uint64, linux.Errno) {
			n, e := f.on.file.WriteRaw(t, b[done:], -1)
			return uint64(max(n, 0)), e
		})
		return int(n), e
	}
	return f.on.file.WriteRaw(t, b, -1)
}

func (f *stdStream) Stat(t *task.Thread) (Stat, linux.Errno) { return pipeStat(t, f.ino, f.on.perm), 0 }

func (f *stdStream) Poll(t *task.Thread) uint32 {
	events := f.on.file.Poll(t)
	if f.on.patient {
		events |= linux.POLLOUT | linux.POLLWRNORM
	}
	if f.Writable() {
		return events & (linux.POLLOUT | linux.POLLWRNORM | linux.POLLERR)
	}
	return events & (linux.POLLIN | linux.POLLRDNORM | linux.POLLHUP)
}

func (f *stdStream) HostWaits(fds []host.PollFD, events uint32) []host.PollFD {
	if f.on.patient {
		return fds
	}
	return f.on.file.HostWaits(fds, events)
}

func (f *stdStream) Wakes(events uint32) uint64 { return f.on.file.Wakes(events) }

// Announcer says that O_ASYNC is known.
func (f *stdStream) Announcer() *Wakeups { return f.on.file.Announcer() }

func (f *stdStream) Traits() Traits { return Piped | WholeWrites }

// RawRoom implements Limited.
func (f *stdStream) RawRoom() int {
	if f.on.patient {
		return math.MaxInt
	}
	return f.on.file.RawRoom()
}

func (f *stdStream) Reopen(_ *task.Thread, flags int) (File, linux.Errno) {
	f.on.users++
	n := &stdStream{FileBase{Flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), Path: f.Path}, f.on, f.ino}
	return n, 0
}

func (f *stdStream) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if req != linux.FIONREAD {
		return 0, linux.ENOTTY
	}
	if f.Writable() {
		return 0, t.Out32(arg, 0)
	}
	return f.on.file.Ioctl(t, req, arg)
}

func (f *stdStream) Close(k *task.Kernel) {
	if f.on.users--; f.on.users == 0 {
		f.on.file.Close(k)
	}
}

// SetMode is fchmod(2), which changes nothing on the host.
func (f *stdStream) SetMode(mode uint32) { f.on.perm = mode }

// setCapacity implements sized. The size is kept to be told, and means nothing else.
func (f *stdStream) setCapacity(size int) linux.Errno { f.on.capacity = size; return 0 }

func (f *stdStream) capacity() int { return f.on.capacity }
