package uio

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TaskSize is the end of the addresses that a program may use (TASK_SIZE_MAX).
const TaskSize = 1<<47 - emu.PageSize

// A Memory is a process' address space as system calls reach it: an access to what is not mapped is EFAULT.
type Memory struct {
	// Space is that of the machine that the process runs on, and changes with it.
	Space *mem.Space
	// Grow, if set, is asked for memory at an address where none was found. It reports whether it has mapped some, as a
	// stack that grows.
	Grow func(a emu.Addr) bool
	// bufs is what ForHost returned last.
	bufs [][]byte
}

// grew reports whether there is memory at a now, where none was found.
func (m *Memory) grew(a emu.Addr) bool { return m.Grow != nil && m.Grow(a) }

// read copies memory at a into b, and returns how many bytes there were.
func (m *Memory) read(a emu.Addr, b []byte) int {
	n := m.Space.Read(a, b)
	for n < len(b) && m.grew(a+emu.Addr(n)) {
		n += m.Space.Read(a+emu.Addr(n), b[n:])
	}
	return n
}

// write copies b to memory at a, and returns how many bytes there were.
func (m *Memory) write(a emu.Addr, b []byte) int {
	n := m.Space.Write(a, b)
	for n < len(b) && m.grew(a+emu.Addr(n)) {
		n += m.Space.Write(a+emu.Addr(n), b[n:])
	}
	return n
}

// Path reads the argument of type path at a.
func (m *Memory) Path(a emu.Addr) (string, linux.Errno) {
	s, ok := m.Space.ReadString(a, linux.PATH_MAX)
	if !ok && m.grew(a) {
		s, ok = m.Space.ReadString(a, linux.PATH_MAX)
	}
	switch {
	case !ok:
		return "", linux.EFAULT
	case len(s) >= linux.PATH_MAX:
		return "", linux.ENAMETOOLONG
	}
	return s, 0
}

// CopyIn reads n bytes at a.
func (m *Memory) CopyIn(a emu.Addr, n int) ([]byte, linux.Errno) {
	b := make([]byte, n)
	if m.read(a, b) < n {
		return nil, linux.EFAULT
	}
	return b, 0
}

// CopyOut writes b to a.
func (m *Memory) CopyOut(a emu.Addr, b []byte) linux.Errno {
	if m.write(a, b) < len(b) {
		return linux.EFAULT
	}
	return 0
}

// CopyOutIf is CopyOut, but does nothing if a is null.
func (m *Memory) CopyOutIf(a emu.Addr, b []byte) linux.Errno {
	if a == 0 {
		return 0
	}
	return m.CopyOut(a, b)
}

// In32 reads a 32-bit number at a.
func (m *Memory) In32(a emu.Addr) (uint32, linux.Errno) {
	if x, ok := m.Space.ReadUint32(a); ok {
		return x, 0
	}
	b, e := m.CopyIn(a, 4)
	if e != 0 {
		return 0, e
	}
	return linux.Uint32(b), 0
}

// In64 reads a 64-bit number at a.
func (m *Memory) In64(a emu.Addr) (uint64, linux.Errno) {
	if x, ok := m.Space.ReadUint64(a); ok {
		return x, 0
	}
	b, e := m.CopyIn(a, 8)
	if e != 0 {
		return 0, e
	}
	return linux.Uint64(b), 0
}

// Out32 writes a 32-bit number to a.
func (m *Memory) Out32(a emu.Addr, x uint32) linux.Errno {
	if m.Space.WriteUint32(a, x) {
		return 0
	}
	var b [4]byte
	linux.PutUint32(b[:], x)
	return m.CopyOut(a, b[:])
}

// Out64 writes a 64-bit number to a.
func (m *Memory) Out64(a emu.Addr, x uint64) linux.Errno {
	if m.Space.WriteUint64(a, x) {
		return 0
	}
	var b [8]byte
	linux.PutUint64(b[:], x)
	return m.CopyOut(a, b[:])
}

// UserRange reports whether n bytes at a may be a program's (access_ok). They need not be mapped.
func UserRange(a, n uint64) bool { return n <= TaskSize && a <= TaskSize-n }

// Iovecs reads count struct iovec at a. Together they get MaxRW bytes at most; what is beyond is cut off.
func (m *Memory) Iovecs(a emu.Addr, count uint64) ([]Iovec, linux.Errno) {
	count = uint64(uint32(count)) // as import_iovec takes it
	if count > linux.IOV_MAX {
		return nil, linux.EINVAL
	}
	b, e := m.CopyIn(a, int(count)*16)
	if e != 0 {
		return nil, e
	}
	v := make([]Iovec, count)
	left := uint64(MaxRW)
	for i := range v {
		if int64(linux.Uint64(b[i*16+8:])) < 0 {
			return nil, linux.EINVAL
		}
	}
	for i := range v {
		n := linux.Uint64(b[i*16+8:])
		if !UserRange(linux.Uint64(b[i*16:]), n) {
			return nil, linux.EFAULT
		}
		v[i] = Iovec{emu.Addr(linux.Uint64(b[i*16:])), min(n, left)}
		left -= v[i].Len
	}
	return v, 0
}

// ForHost returns the memory of v for a call of the host's kernel, which reads or writes it as prot says. Where memory
// is missing, the last piece is an address that the host refuses: whether a call then transfers what lies before it, or
// makes a file longer, depends on the kind of file, and the host decides that as it would for a program of its own. The
// next call of ForHost overwrites it.
func (m *Memory) ForHost(v []Iovec, prot mem.Prot) [][]byte {
	left, bufs := Total(v), m.bufs[:0]
	for _, x := range v {
		if x.Len == 0 {
			continue
		}
		b := m.Space.View(x.Addr, x.Len, prot)
		for b.Len() < x.Len && m.grew(x.Addr+emu.Addr(b.Len())) {
			b = m.Space.View(x.Addr, x.Len, prot)
		}
		if b.Len() > 0 {
			bufs = append(bufs, b.ForHost())
		}
		left -= b.Len()
		if b.Len() < x.Len && len(bufs) < linux.IOV_MAX {
			bufs = append(bufs, m.Space.Nowhere(left).ForHost())
			break
		}
	}
	m.bufs = bufs
	return bufs
}

// Gather copies up to limit bytes out of v's memory. It ends early where memory is missing, with EFAULT if that is at
// the start.
func (m *Memory) Gather(v []Iovec, limit uint64) ([]byte, linux.Errno) {
	out := make([]byte, 0, min(Total(v), limit))
	for _, x := range v {
		n := min(x.Len, limit-uint64(len(out)))
		if n == 0 {
			continue
		}
		at := len(out)
		out = out[:at+int(n)]
		got := m.read(x.Addr, out[at:])
		if uint64(got) < n {
			if at+got == 0 {
				return nil, linux.EFAULT
			}
			return out[:at+got], 0
		}
	}
	return out, 0
}

// Scatter copies b into v's memory and returns how much went in: less than b where memory is missing or v is too short,
// with EFAULT if memory is missing at the start.
func (m *Memory) Scatter(v []Iovec, b []byte) (int, linux.Errno) {
	done := 0
	for _, x := range v {
		n := min(int(x.Len), len(b)-done)
		if n <= 0 {
			continue
		}
		got := m.write(x.Addr, b[done:done+n])
		done += got
		if got < n {
			if done == 0 {
				return 0, linux.EFAULT
			}
			break
		}
	}
	return done, 0
}
