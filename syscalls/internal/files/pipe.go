package files

import (
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// pipeCapacity is a pipe's size.
const pipeCapacity = 64 << 10

// A Pipe is in our memory: what is in it, and who has it open, does not depend on the host.
type Pipe struct {
	Bufs             []pipeBuf
	capacity         int
	Readers, Writers int
	ino              uint64
	perm             uint32
	Wakeups
}

// A PipeFile is an end of a pipe.
type PipeFile struct {
	FileBase
	Pipe *Pipe
}

// newPipe makes a pipe and its ends.
func newPipe(k *task.Kernel, flags int) (r, w *PipeFile) {
	p := &Pipe{capacity: pipeCapacity, Readers: 1, Writers: 1, ino: SystemOf(k).Inodes.Unnamed(), perm: 0o600}
	name := "pipe:[" + strconv.Itoa(int(p.ino)) + "]"
	flags &= linux.O_NONBLOCK | linux.O_DIRECT
	return &PipeFile{FileBase{Flags: linux.O_RDONLY | flags&linux.O_NONBLOCK, Path: name}, p},
		&PipeFile{FileBase{Flags: linux.O_WRONLY | flags, Path: name}, p}
}

// MakePipe is pipe2(2): it stores the two descriptors at out.
func MakePipe(t *task.Thread, out emu.Addr, flags int) (uint64, linux.Errno) {
	if flags&^(linux.O_NONBLOCK|linux.O_CLOEXEC|linux.O_DIRECT) != 0 {
		return 0, linux.EINVAL
	}
	r, w := newPipe(t.Kernel, flags)
	fd0, e := Install(t, r, flags)
	if e != 0 {
		return 0, e
	}
	fd1, e := Install(t, w, flags)
	if e != 0 {
		Of(t).FDs.Close(t.Kernel, int(fd0))
		return 0, e
	}
	var b linux.Pack
	b.U32(uint32(fd0))
	b.U32(uint32(fd1))
	if e := t.CopyOut(out, b); e != 0 {
		Of(t).FDs.Close(t.Kernel, int(fd0))
		Of(t).FDs.Close(t.Kernel, int(fd1))
		return 0, e
	}
	return 0, 0
}

func (f *PipeFile) Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if off >= 0 {
		return 0, linux.ESPIPE
	}
	if len(f.Pipe.Bufs) == 0 || uio.Total(v) == 0 {
		if uio.Total(v) == 0 || f.Pipe.Writers == 0 {
			return 0, 0
		}
		return 0, linux.EAGAIN
	}
	b, packet := f.Pipe.next(uio.Total(v))
	got, e := t.Scatter(v, b)
	if e == 0 && got < len(b) {
		// What is read of a buffer fits into memory, or is not read (pipe_read in fs/pipe.c).
		if got = f.Pipe.whole(got); got == 0 {
			return 0, linux.EFAULT
		}
	}
	f.Pipe.take(got, packet)
	return uint64(got), e
}

func (f *PipeFile) ReadRaw(_ *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if len(f.Pipe.Bufs) == 0 && f.Pipe.Writers > 0 {
		return 0, linux.EAGAIN
	}
	data, _ := f.Pipe.next(uint64(len(b)))
	n := copy(b, data)
	f.Pipe.take(n, false) // what is left of a packet stays where it was spliced from
	return n, 0
}

func (f *PipeFile) Write(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if off >= 0 {
		return 0, linux.ESPIPE
	}
	n := uio.Total(v)
	if n == 0 {
		return 0, 0
	}
	if e := f.Broken(t); e != 0 {
		return 0, e
	}
	packets := f.Flags&linux.O_DIRECT != 0
	room := f.Pipe.room(n)
	if room == 0 {
		return 0, linux.EAGAIN
	}
	b, e := t.Gather(v, room)
	if e != 0 {
		return 0, e
	}
	first := f.Pipe.merged(n)
	if uint64(len(b)) < min(n, room) {
		// So is what is written to one.
		if len(b) < first || len(b)-first < emu.PageSize && first == 0 {
			return 0, linux.EFAULT
		}
		b = b[:first+(len(b)-first)/emu.PageSize*emu.PageSize]
	}
	first = min(first, len(b))
	f.Pipe.put(b, first, packets)
	return uint64(len(b)), 0
}

// Broken sends SIGPIPE if nobody can ever read.
func (f *PipeFile) Broken(t *task.Thread) linux.Errno {
	if f.Pipe.Readers > 0 {
		return 0
	}
	t.Send(task.InfoFromProcess(t.Process, linux.SIGPIPE, linux.SI_USER))
	return linux.EPIPE
}

// Seek fails: pipes have no positions.
func (f *PipeFile) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, linux.ESPIPE }

func (f *PipeFile) Stat(t *task.Thread) (Stat, linux.Errno) {
	return pipeStat(t, f.Pipe.ino, f.Pipe.perm), 0
}

// pipeStat describes a pipe.
func pipeStat(t *task.Thread, ino uint64, perm uint32) Stat {
	at := TimeAt(t.Kernel.Clock.Epoch)
	return Stat{Dev: pipeDev, Ino: ino, Mode: linux.S_IFIFO | perm, Nlink: 1, UID: t.Kernel.UID, GID: t.Kernel.GID, Times: host.Times{Atime: at, Mtime: at, Ctime: at}}
}

func (f *PipeFile) Poll(*task.Thread) uint32 {
	var ev uint32
	p := f.Pipe
	if f.Readable() {
		if len(p.Bufs) > 0 {
			ev |= linux.POLLIN | linux.POLLRDNORM
		}
		if p.Writers == 0 {
			ev |= linux.POLLHUP
		}
	}
	if f.Writable() {
		if !p.Full() {
			ev |= linux.POLLOUT | linux.POLLWRNORM
		}
		if p.Readers == 0 {
			ev |= linux.POLLERR
		}
	}
	return ev
}

// count adds by to the pipe's readers, its writers or both, as f is open.
func (f *PipeFile) count(by int) {
	if f.Readable() {
		f.Pipe.Readers += by
	}
	if f.Writable() {
		f.Pipe.Writers += by
	}
}

func (f *PipeFile) Close(*task.Kernel) {
	f.count(-1)
	f.Pipe.Wake(linux.POLLIN | linux.POLLOUT)
}

func (f *PipeFile) Wakes(events uint32) uint64 { return f.Pipe.Wakes(events) }

// Announcer has both ends share the pipe's wakeups.
func (f *PipeFile) Announcer() *Wakeups { return &f.Pipe.Wakeups }

func (f *PipeFile) Traits() Traits { return WholeWrites | Piped }

func (f *PipeFile) Reopen(_ *task.Thread, flags int) (File, linux.Errno) {
	n := &PipeFile{FileBase: FileBase{Flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), Path: f.Path}, Pipe: f.Pipe}
	n.count(1)
	return n, 0
}

// SetMode is fchmod(2) of a pipe.
func (f *PipeFile) SetMode(mode uint32) { f.Pipe.perm = mode }

func (f *PipeFile) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if req == linux.FIONREAD {
		return 0, t.Out32(arg, uint32(f.Pipe.size()))
	}
	return 0, linux.ENOTTY
}

// A sized pipe is one whose capacity is kept here; that of others is the host's.
type sized interface {
	capacity() int
	setCapacity(size int) linux.Errno
}

func (f *PipeFile) capacity() int { return f.Pipe.capacity }

func (f *PipeFile) setCapacity(size int) linux.Errno {
	if size/emu.PageSize < len(f.Pipe.Bufs) {
		return linux.EBUSY
	}
	f.Pipe.capacity = size
	return 0
}

// PipeSize is fcntl's F_GETPIPE_SZ and F_SETPIPE_SZ.
func PipeSize(f File, cmd int, want uint64) (uint64, linux.Errno) {
	want = uint64(uint32(want))
	if !IsPipe(f) {
		return 0, linux.EBADF
	}
	const limit, most = 1 << 20, 1 << 31
	switch {
	case cmd == linux.F_SETPIPE_SZ && want > most:
		return 0, linux.EINVAL
	case cmd == linux.F_SETPIPE_SZ && want > limit:
		return 0, linux.EPERM
	}
	p, ok := f.(sized)
	if !ok {
		return f.(*HostFile).FD.Fcntl(cmd, want)
	}
	if cmd == linux.F_SETPIPE_SZ {
		size := emu.PageSize
		for uint64(size) < want {
			size *= 2
		}
		if e := p.setCapacity(size); e != 0 {
			return 0, e
		}
	}
	return uint64(p.capacity()), 0
}

// An EventFile is an eventfd.
type EventFile struct {
	FileBase
	Count     uint64
	semaphore bool
	// refused is what the last write that did not fit wanted to add.
	refused uint64
}

// Eventfd is eventfd2(2).
func Eventfd(t *task.Thread, count uint32, flags int) (uint64, linux.Errno) {
	const efdSemaphore = 1
	if flags&^(efdSemaphore|linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	f := &EventFile{
		FileBase: FileBase{Flags: linux.O_RDWR | flags&linux.O_NONBLOCK, Path: "anon_inode:[eventfd]"},
		Count:    uint64(count), semaphore: flags&efdSemaphore != 0,
	}
	return Install(t, f, flags)
}

func (f *EventFile) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	if uio.Total(v) < 8 {
		return 0, linux.EINVAL
	}
	if f.Count == 0 {
		return 0, linux.EAGAIN
	}
	n := f.Count
	if f.semaphore {
		n = 1
	}
	var b linux.Pack
	b.U64(n)
	f.Count -= n // even if nobody gets it
	f.Wake(linux.POLLOUT)
	if put, e := t.Scatter(v, b); e != 0 || put < len(b) {
		return 0, linux.EFAULT
	}
	return 8, 0
}

// Write adds each number of v, as Linux has no writev of event files.
func (f *EventFile) Write(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if len(v) > 1 {
		n, e := f.Write(t, v[:1], off)
		if e == 0 {
			more, _ := f.Write(t, v[1:], off)
			n += more
		}
		return n, e
	}
	if uio.Total(v) != 8 {
		return 0, linux.EINVAL // since Linux 6.9
	}
	b, e := t.Gather(v, 8)
	if e != 0 || len(b) < 8 {
		return 0, linux.EFAULT
	}
	n := linux.Uint64(b)
	if n == 1<<64-1 {
		return 0, linux.EINVAL
	}
	if !f.fits(n) {
		f.refused = n
		return 0, linux.EAGAIN
	}
	f.Count += n
	f.Wake(linux.POLLIN)
	return 8, 0
}

func (f *EventFile) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *EventFile) Traits() Traits { return unpositioned | NoSpliceWrite }

func (f *EventFile) FDInfo() []byte { return fmt.Appendf(nil, "eventfd-count: %16x\n", f.Count) }

// Waits: a write waits until there is room for its number.
func (f *EventFile) Waits(_ *task.Thread, events uint32, _ uint64) task.Wait {
	if events&linux.POLLOUT == 0 {
		return task.Wait{}
	}
	n := f.refused
	return task.Wait{Ready: func() bool { return f.fits(n) }}
}

// fits reports whether n can be added without overflow.
func (f *EventFile) fits(n uint64) bool { return n <= 1<<64-2-f.Count }

// Poll returns no POLLRDNORM nor POLLWRNORM, as eventfd_poll (fs/eventfd.c) does not.
func (f *EventFile) Poll(*task.Thread) uint32 {
	var ev uint32
	if f.Count > 0 {
		ev |= linux.POLLIN
	}
	if f.Count < 1<<64-2 {
		ev |= linux.POLLOUT
	}
	return ev
}

// IsPipe reports whether f is a pipe or a FIFO.
func IsPipe(f File) bool { return f.Traits()&Piped != 0 }
