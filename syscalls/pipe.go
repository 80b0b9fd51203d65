package syscalls

import (
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// pipeCapacity is a pipe's size.
const pipeCapacity = 64 << 10

// A pipe is in our memory: what is in it, and who has it open, does not depend on the host.
type pipe struct {
	bufs             []pipeBuf
	capacity         int
	readers, writers int
	ino              uint64
	perm             uint32
	wakeups
}

// A pipeFile is an end of a pipe.
type pipeFile struct {
	fileBase
	pipe *pipe
}

// newPipe makes a pipe and its ends.
func (k *Kernel) newPipe(flags int) (r, w *pipeFile) {
	p := &pipe{capacity: pipeCapacity, readers: 1, writers: 1, ino: fsOf(k).inodes.unnamed(), perm: 0o600}
	name := "pipe:[" + strconv.Itoa(int(p.ino)) + "]"
	flags &= linux.O_NONBLOCK | linux.O_DIRECT
	return &pipeFile{fileBase{flags: linux.O_RDONLY | flags&linux.O_NONBLOCK, path: name}, p},
		&pipeFile{fileBase{flags: linux.O_WRONLY | flags, path: name}, p}
}

// sysPipe implements pipe(2).
func sysPipe(t *Thread, a Args) (uint64, linux.Errno) { return t.makePipe(a.Addr(0), 0) }

// sysPipe2 implements pipe2(2).
func sysPipe2(t *Thread, a Args) (uint64, linux.Errno) { return t.makePipe(a.Addr(0), a.Int(1)) }

func (t *Thread) makePipe(out emu.Addr, flags int) (uint64, linux.Errno) {
	if flags&^(linux.O_NONBLOCK|linux.O_CLOEXEC|linux.O_DIRECT) != 0 {
		return 0, linux.EINVAL
	}
	r, w := t.k.newPipe(flags)
	fd0, e := t.install(r, flags)
	if e != 0 {
		return 0, e
	}
	fd1, e := t.install(w, flags)
	if e != 0 {
		filesOf(t).fds.close(t.k, int(fd0))
		return 0, e
	}
	var b pack
	b.u32(uint32(fd0))
	b.u32(uint32(fd1))
	if e := t.copyOut(out, b); e != 0 {
		filesOf(t).fds.close(t.k, int(fd0))
		filesOf(t).fds.close(t.k, int(fd1))
		return 0, e
	}
	return 0, 0
}

func (f *pipeFile) read(t *Thread, v []iovec, off int64) (uint64, linux.Errno) {
	if off >= 0 {
		return 0, linux.ESPIPE
	}
	if len(f.pipe.bufs) == 0 || total(v) == 0 {
		if total(v) == 0 || f.pipe.writers == 0 {
			return 0, 0
		}
		return 0, linux.EAGAIN
	}
	b, packet := f.pipe.next(total(v))
	got, e := t.scatter(v, b)
	if e == 0 && got < len(b) {
		// What is read of a buffer fits into memory, or is not read (pipe_read in fs/pipe.c).
		if got = f.pipe.whole(got); got == 0 {
			return 0, linux.EFAULT
		}
	}
	f.pipe.take(got, packet)
	return uint64(got), e
}

func (f *pipeFile) readRaw(_ *Thread, b []byte, _ int64) (int, linux.Errno) {
	if len(f.pipe.bufs) == 0 && f.pipe.writers > 0 {
		return 0, linux.EAGAIN
	}
	data, _ := f.pipe.next(uint64(len(b)))
	n := copy(b, data)
	f.pipe.take(n, false) // what is left of a packet stays where it was spliced from
	return n, 0
}

func (f *pipeFile) write(t *Thread, v []iovec, off int64) (uint64, linux.Errno) {
	if off >= 0 {
		return 0, linux.ESPIPE
	}
	n := total(v)
	if n == 0 {
		return 0, 0
	}
	if e := f.broken(t); e != 0 {
		return 0, e
	}
	packets := f.flags&linux.O_DIRECT != 0
	room := f.pipe.room(n, packets)
	if room == 0 {
		return 0, linux.EAGAIN
	}
	b, e := t.gather(v, room)
	if e != 0 {
		return 0, e
	}
	first := 0
	if !packets {
		first = f.pipe.merged(n)
	}
	if uint64(len(b)) < min(n, room) {
		// So is what is written to one.
		if len(b) < first || len(b)-first < emu.PageSize && first == 0 {
			return 0, linux.EFAULT
		}
		b = b[:first+(len(b)-first)/emu.PageSize*emu.PageSize]
	}
	first = min(first, len(b))
	f.pipe.put(b, first, packets)
	return uint64(len(b)), 0
}

func (f *pipeFile) writeRaw(t *Thread, b []byte, _ int64) (int, linux.Errno) {
	if e := f.broken(t); e != 0 {
		return 0, e
	}
	n := min(len(b), f.rawRoom())
	if n == 0 && len(b) > 0 {
		return 0, linux.EAGAIN
	}
	f.pipe.lay(b[:n], 0)
	return n, 0
}

func (f *pipeFile) rawRoom() int {
	if f.pipe.readers == 0 {
		return 1
	}
	return max(f.pipe.slots()-len(f.pipe.bufs), 0) * emu.PageSize
}

// broken sends SIGPIPE if nobody can ever read.
func (f *pipeFile) broken(t *Thread) linux.Errno {
	if f.pipe.readers > 0 {
		return 0
	}
	t.send(infoFromProcess(t.p, linux.SIGPIPE, linux.SI_USER))
	return linux.EPIPE
}

// seek can only take back what transfer has just read.
func (f *pipeFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, linux.ESPIPE }

func (f *pipeFile) stat(t *Thread) (stat, linux.Errno) {
	at := timeAt(t.k.clock.epoch)
	return stat{dev: pipeDev, ino: f.pipe.ino, mode: linux.S_IFIFO | f.pipe.perm, nlink: 1, uid: t.k.uid, gid: t.k.gid, fileTimes: fileTimes{at, at, at}}, 0
}

func (f *pipeFile) poll(*Thread) uint32 {
	var ev uint32
	p := f.pipe
	if f.readable() {
		if len(p.bufs) > 0 {
			ev |= linux.POLLIN | linux.POLLRDNORM
		}
		if p.writers == 0 {
			ev |= linux.POLLHUP
		}
		return ev
	}
	if !p.full() {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	}
	if p.readers == 0 {
		ev |= linux.POLLERR
	}
	return ev
}

func (f *pipeFile) close(*Kernel) {
	if f.readable() {
		f.pipe.readers--
	} else {
		f.pipe.writers--
	}
	f.pipe.wake(linux.POLLIN | linux.POLLOUT)
}

func (f *pipeFile) wakes(events uint32) uint64 { return f.pipe.wakes(events) }
func (f *pipeFile) announcer() *wakeups        { return &f.pipe.wakeups }

func (f *pipeFile) traits() traits { return wholeWrites }

func (f *pipeFile) setMode(mode uint32) { f.pipe.perm = mode }

func (f *pipeFile) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if req == linux.FIONREAD {
		return 0, t.out32(arg, uint32(f.pipe.size()))
	}
	return 0, linux.ENOTTY
}

// pipeSize is fcntl's F_GETPIPE_SZ and F_SETPIPE_SZ.
func pipeSize(f file, cmd int, want uint64) (uint64, linux.Errno) {
	want = uint64(uint32(want))
	if !isPipe(f) {
		return 0, linux.EBADF
	}
	const limit, most = 1 << 20, 1 << 31
	switch {
	case cmd == linux.F_SETPIPE_SZ && want > most:
		return 0, linux.EINVAL
	case cmd == linux.F_SETPIPE_SZ && want > limit:
		return 0, linux.EPERM
	}
	p, ok := f.(*pipeFile)
	if !ok {
		return f.(*hostFile).fd.fcntl(cmd, want)
	}
	if cmd == linux.F_SETPIPE_SZ {
		size := emu.PageSize
		for uint64(size) < want {
			size *= 2
		}
		if size/emu.PageSize < len(p.pipe.bufs) {
			return 0, linux.EBUSY
		}
		p.pipe.capacity = size
	}
	return uint64(p.pipe.capacity), 0
}

// An eventFile is an eventfd.
type eventFile struct {
	fileBase
	count     uint64
	semaphore bool
	// refused is what the last write that did not fit wanted to add.
	refused uint64
}

// sysEventfd implements eventfd(2).
func sysEventfd(t *Thread, a Args) (uint64, linux.Errno) { return t.eventfd(a.U32(0), 0) }

// sysEventfd2 implements eventfd2(2).
func sysEventfd2(t *Thread, a Args) (uint64, linux.Errno) { return t.eventfd(a.U32(0), a.Int(1)) }

func (t *Thread) eventfd(count uint32, flags int) (uint64, linux.Errno) {
	const efdSemaphore = 1
	if flags&^(efdSemaphore|linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	f := &eventFile{
		fileBase: fileBase{flags: linux.O_RDWR | flags&linux.O_NONBLOCK, path: "anon_inode:[eventfd]"},
		count:    uint64(count), semaphore: flags&efdSemaphore != 0,
	}
	return t.install(f, flags)
}

func (f *eventFile) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	if total(v) < 8 {
		return 0, linux.EINVAL
	}
	if f.count == 0 {
		return 0, linux.EAGAIN
	}
	n := f.count
	if f.semaphore {
		n = 1
	}
	var b pack
	b.u64(n)
	f.count -= n // even if nobody gets it
	f.wake(linux.POLLOUT)
	if put, e := t.scatter(v, b); e != 0 || put < len(b) {
		return 0, linux.EFAULT
	}
	return 8, 0
}

// write adds each number of v, as Linux has no writev of event files.
func (f *eventFile) write(t *Thread, v []iovec, off int64) (uint64, linux.Errno) {
	if len(v) > 1 {
		n, e := f.write(t, v[:1], off)
		if e == 0 {
			more, _ := f.write(t, v[1:], off)
			n += more
		}
		return n, e
	}
	if total(v) != 8 {
		return 0, linux.EINVAL // since Linux 6.9
	}
	b, e := t.gather(v, 8)
	if e != 0 || len(b) < 8 {
		return 0, linux.EFAULT
	}
	n := le64(b)
	if n == 1<<64-1 {
		return 0, linux.EINVAL
	}
	if !f.fits(n) {
		f.refused = n
		return 0, linux.EAGAIN
	}
	f.count += n
	f.wake(linux.POLLIN)
	return 8, 0
}

func (f *eventFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, 0 }
func (f *eventFile) traits() traits                                { return unpositioned }

// waits: a write waits until there is room for its number.
func (f *eventFile) waits(_ *Thread, events uint32, _ uint64) wait {
	if events&linux.POLLOUT == 0 {
		return wait{}
	}
	n := f.refused
	return wait{ready: func() bool { return f.fits(n) }}
}

// fits reports whether n can be added without overflow.
func (f *eventFile) fits(n uint64) bool { return n <= 1<<64-2-f.count }

// poll returns no POLLRDNORM nor POLLWRNORM, as eventfd_poll (fs/eventfd.c) does not.
func (f *eventFile) poll(*Thread) uint32 {
	var ev uint32
	if f.count > 0 {
		ev |= linux.POLLIN
	}
	if f.count < 1<<64-2 {
		ev |= linux.POLLOUT
	}
	return ev
}
