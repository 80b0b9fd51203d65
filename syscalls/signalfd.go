package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A signalFile is a signalfd: whoever reads it takes his own pending signals.
type signalFile struct {
	fileBase
	set sigSet
	p   *Process // whose signals EPOLLET is about: that which made it
}

func (f *signalFile) wakes(events uint32) uint64 {
	w := wakeups{comings: f.p.signalled}
	return w.wakes(events)
}

// sysSignalfd implements signalfd(2).
func sysSignalfd(t *Thread, a Args) (uint64, linux.Errno) {
	return t.signalfd(a.Int(0), a.Addr(1), a.Uint(2), 0)
}

// sysSignalfd4 implements signalfd4(2).
func sysSignalfd4(t *Thread, a Args) (uint64, linux.Errno) {
	return t.signalfd(a.Int(0), a.Addr(1), a.Uint(2), a.Int(3))
}

func (t *Thread) signalfd(fd int, set emu.Addr, size uint64, flags int) (uint64, linux.Errno) {
	if size != sigSetSize {
		return 0, linux.EINVAL
	}
	x, e := t.in64(set)
	if e != 0 {
		return 0, e
	}
	if flags&^(linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	want := sigSet(x) &^ unblockable
	if fd == -1 {
		f := &signalFile{fileBase: fileBase{flags: linux.O_RDWR | flags&linux.O_NONBLOCK, path: "anon_inode:[signalfd]"}, set: want, p: t.p}
		return t.install(f, flags)
	}
	f, e := t.openFile(fd)
	if e != 0 {
		return 0, e
	}
	s, ok := f.(*signalFile)
	if !ok {
		return 0, linux.EINVAL
	}
	s.set = want
	return uint64(fd), 0
}

// infoSize is the size of struct signalfd_siginfo.
const infoSize = 128

func (*signalFile) traits() traits { return unwritable | unpositioned }

func (f *signalFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *signalFile) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	if total(v) < infoSize {
		return 0, linux.EINVAL
	}
	var out pack
	for uint64(len(out))+infoSize <= total(v) {
		s := t.dequeue(f.set)
		if s == nil {
			break
		}
		out = append(out, s.encodeForFD()...)
	}
	if len(out) == 0 {
		return 0, linux.EAGAIN
	}
	n, e := t.scatter(v, out)
	return uint64(n), e
}

func (f *signalFile) poll(t *Thread) uint32 {
	if (t.pending.set|t.p.pending.set)&f.set != 0 {
		return linux.POLLIN
	}
	return 0
}

// encodeForFD lays s out as struct signalfd_siginfo (signalfd(2)).
func (s *sigInfo) encodeForFD() []byte {
	b := make([]byte, infoSize)
	put32(b, uint32(s.signo))
	put32(b[4:], uint32(s.errno))
	put32(b[8:], uint32(s.code))
	switch s.code {
	case linux.SI_TIMER:
		copy(b[24:28], s.fields[0:4]) // tid
		copy(b[32:36], s.fields[4:8]) // overrun
		copy(b[44:48], s.fields[8:12])
		copy(b[48:56], s.fields[8:16])
	case linux.SI_USER, linux.SI_TKILL, linux.SI_QUEUE:
		copy(b[12:20], s.fields[0:8]) // pid, uid
		copy(b[44:48], s.fields[8:12])
		copy(b[48:56], s.fields[8:16])
	default:
		if s.signo == linux.SIGCHLD {
			copy(b[12:20], s.fields[0:8])   // pid, uid
			copy(b[40:44], s.fields[8:12])  // status
			copy(b[56:72], s.fields[16:32]) // utime, stime
			break
		}
		copy(b[72:80], s.fields[0:8]) // addr
	}
	return b
}
