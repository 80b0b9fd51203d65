package files

import (
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A stdStream is a standard file of the guest's that looks like a pipe, whatever it is on the host. Programs ask what their output is, and
// write to a terminal by lines, to a file at offsets, to /dev/null not at all: their counts would depend on where somebody has
// sent the output.
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
}

// newStdStream makes a pipe of standard file i, nil if the guest is to see it as it is: an input that is no terminal, a directory, or any if
// the configuration says so.
func newStdStream(k *task.Kernel, i int, fd host.FD) *stdStream {
	st, e := fd.Stat()
	if e != 0 || SystemOf(k).Config.HostStdio || st.Mode&linux.S_IFMT == linux.S_IFDIR || i == 0 && !fd.IsTerminal() && !SystemOf(k).Config.PipedStdin {
		return nil
	}
	ino := SystemOf(k).Inodes.Unnamed()
	f := numbered(k, FileRef{FD: fd}, st, ino, direction(i), "")
	return &stdStream{FileBase{Flags: direction(i), Path: "pipe:[" + strconv.FormatUint(ino, 10) + "]"}, &stdHost{f, 1, 0o600, pipeCapacity}, ino}
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
	return f.on.file.Write(t, v, off)
}

func (f *stdStream) WriteRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	return f.on.file.WriteRaw(t, b, -1)
}

func (f *stdStream) Stat(t *task.Thread) (Stat, linux.Errno) { return pipeStat(t, f.ino, f.on.perm), 0 }

func (f *stdStream) Poll(t *task.Thread) uint32 {
	events := f.on.file.Poll(t)
	if f.Writable() {
		return events & (linux.POLLOUT | linux.POLLWRNORM | linux.POLLERR)
	}
	return events & (linux.POLLIN | linux.POLLRDNORM | linux.POLLHUP)
}

func (f *stdStream) HostWaits(fds []host.PollFD, events uint32) []host.PollFD {
	return f.on.file.HostWaits(fds, events)
}

func (f *stdStream) Wakes(events uint32) uint64 { return f.on.file.Wakes(events) }

// Announcer says that O_ASYNC is known.
func (f *stdStream) Announcer() *Wakeups { return f.on.file.Announcer() }

func (f *stdStream) Traits() Traits { return Piped }

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
