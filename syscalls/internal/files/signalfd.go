package files

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A signalFile is a signalfd: whoever reads it takes his own pending signals.
type signalFile struct {
	FileBase
	set task.SigSet
	p   *task.Process // whose signals EPOLLET is about: that which made it
}

func (f *signalFile) Wakes(events uint32) uint64 {
	w := Wakeups{Comings: f.p.Signalled}
	return w.Wakes(events)
}

// Signalfd is signalfd4(2): it makes a file, or gives fd another set if that is one.
func Signalfd(t *task.Thread, fd int, set emu.Addr, size uint64, flags int) (uint64, linux.Errno) {
	if size != task.SigSetSize {
		return 0, linux.EINVAL
	}
	x, e := t.In64(set)
	if e != 0 {
		return 0, e
	}
	if flags&^(linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	want := task.SigSet(x) &^ task.Unblockable
	if fd == -1 {
		f := &signalFile{FileBase: FileBase{Flags: linux.O_RDWR | flags&linux.O_NONBLOCK, Path: "anon_inode:[signalfd]"}, set: want, p: t.Process}
		return Install(t, f, flags)
	}
	f, e := GetFile(t, fd)
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

func (*signalFile) Traits() Traits { return Unwritable | unpositioned }

func (f *signalFile) FDInfo() []byte { return fmt.Appendf(nil, "sigmask:\t%016x\n", uint64(f.set)) }

func (f *signalFile) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *signalFile) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	if uio.Total(v) < infoSize {
		return 0, linux.EINVAL
	}
	var out linux.Pack
	for uint64(len(out))+infoSize <= uio.Total(v) {
		s := t.Dequeue(f.set)
		if s == nil {
			break
		}
		out = append(out, encodeForFD(s)...)
	}
	if len(out) == 0 {
		return 0, linux.EAGAIN
	}
	n, e := t.Scatter(v, out)
	return uint64(n), e
}

func (f *signalFile) Poll(t *task.Thread) uint32 {
	if (t.Pending.Set|t.Process.Pending.Set)&f.set != 0 {
		return linux.POLLIN
	}
	return 0
}

// encodeForFD lays s out as struct signalfd_siginfo (signalfd(2)).
func encodeForFD(s *task.SigInfo) []byte {
	b := make([]byte, infoSize)
	linux.PutUint32(b, uint32(s.Signo))
	linux.PutUint32(b[4:], uint32(s.Errno))
	linux.PutUint32(b[8:], uint32(s.Code))
	switch s.Layout() {
	case task.LayoutKill:
		copy(b[12:20], s.Fields[0:8]) // pid, uid
	case task.LayoutRT:
		copy(b[12:20], s.Fields[0:8])
		copy(b[44:48], s.Fields[8:12]) // int
		copy(b[48:56], s.Fields[8:16]) // ptr
	case task.LayoutTimer:
		copy(b[24:28], s.Fields[0:4]) // tid
		copy(b[32:36], s.Fields[4:8]) // overrun
		copy(b[44:48], s.Fields[8:12])
		copy(b[48:56], s.Fields[8:16])
	case task.LayoutPoll:
		copy(b[28:32], s.Fields[0:4])  // band
		copy(b[20:24], s.Fields[8:12]) // fd
	case task.LayoutChild:
		copy(b[12:20], s.Fields[0:8])
		copy(b[40:44], s.Fields[8:12])  // status
		copy(b[56:72], s.Fields[16:32]) // utime, stime
	case task.LayoutFault:
		copy(b[72:80], s.Fields[0:8]) // addr
		if s.HasLSB() {
			copy(b[80:82], s.Fields[8:10]) // addr_lsb
		}
	case task.LayoutSys:
		copy(b[88:96], s.Fields[0:8])    // call_addr
		copy(b[84:88], s.Fields[8:12])   // syscall
		copy(b[96:100], s.Fields[12:16]) // arch
	}
	return b
}
