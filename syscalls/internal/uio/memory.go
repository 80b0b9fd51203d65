package uio

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// First returns the first n bytes of v.
func First(v []Iovec, n uint64) []Iovec {
	var out []Iovec
	for _, x := range v {
		if n == 0 {
			break
		}
		x.Len = min(x.Len, n)
		n -= x.Len
		out = append(out, x)
	}
	return out
}

// TaskSize is the end of the addresses that are no kernel's (TASK_SIZE_MAX).
const TaskSize = 1<<47 - emu.PageSize

// A Memory is a process' address space as system calls reach it: what is not mapped is EFAULT.
type Memory struct {
	Space *mem.Space // of the machine that the process runs on
}

// Path reads the path argument at a.
func (m *Memory) Path(a emu.Addr) (string, linux.Errno) {
	s, ok := m.Space.ReadString(a, linux.PATH_MAX)
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
	if m.Space.Read(a, b) < n {
		return nil, linux.EFAULT
	}
	return b, 0
}

// CopyOut writes b to a.
func (m *Memory) CopyOut(a emu.Addr, b []byte) linux.Errno {
	if m.Space.Write(a, b) < len(b) {
		return linux.EFAULT
	}
	return 0
}

// CopyOutIf is CopyOut unless a is null.
func (m *Memory) CopyOutIf(a emu.Addr, b []byte) linux.Errno {
	if a == 0 {
		return 0
	}
	return m.CopyOut(a, b)
}

// In32 reads an int at a.
func (m *Memory) In32(a emu.Addr) (uint32, linux.Errno) {
	x, ok := m.Space.ReadUint32(a)
	if !ok {
		return 0, linux.EFAULT
	}
	return x, 0
}

// In64 reads a long at a.
func (m *Memory) In64(a emu.Addr) (uint64, linux.Errno) {
	x, ok := m.Space.ReadUint64(a)
	if !ok {
		return 0, linux.EFAULT
	}
	return x, 0
}

// Out32 writes an int to a.
func (m *Memory) Out32(a emu.Addr, x uint32) linux.Errno {
	if !m.Space.WriteUint32(a, x) {
		return linux.EFAULT
	}
	return 0
}

// Out64 writes a long to a.
func (m *Memory) Out64(a emu.Addr, x uint64) linux.Errno {
	if !m.Space.WriteUint64(a, x) {
		return linux.EFAULT
	}
	return 0
}

// UserRange reports whether n bytes at a are no kernel's (access_ok).
func UserRange(a, n uint64) bool { return n <= TaskSize && a <= TaskSize-n }

// An Iovec is a piece of guest memory.
type Iovec struct {
	Addr emu.Addr
	Len  uint64
}

const (
	// MaxRW is the most that one read or write transfers (MAX_RW_COUNT).
	MaxRW = 0x7ffff000
)

// Iovecs reads count iovecs at a, cut to MaxRW bytes in all.
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

// Total is the length of v.
func Total(v []Iovec) uint64 {
	var n uint64
	for _, x := range v {
		n += x.Len
	}
	return n
}

// ForHost returns the memory of v as the host's kernel takes it. Memory that is not there is named, too: how much is moved before
// it, and whether a file becomes longer although nothing is, depends on the kind of file and on the file system.
func (m *Memory) ForHost(v []Iovec, prot mem.Prot) (bufs [][]byte) {
	left := Total(v)
	for _, x := range v {
		if x.Len == 0 {
			continue
		}
		b := m.Space.View(x.Addr, x.Len, prot)
		if b.Len() > 0 {
			bufs = append(bufs, b.ForHost())
		}
		left -= b.Len()
		if b.Len() < x.Len && len(bufs) < linux.IOV_MAX {
			return append(bufs, m.Space.Nowhere(left).ForHost())
		}
	}
	return bufs
}

// Gather copies v's memory, at most limit bytes.
func (m *Memory) Gather(v []Iovec, limit uint64) ([]byte, linux.Errno) {
	out := make([]byte, 0, min(Total(v), limit))
	for _, x := range v {
		n := min(x.Len, limit-uint64(len(out)))
		if n == 0 {
			continue
		}
		at := len(out)
		out = out[:at+int(n)]
		got := m.Space.Read(x.Addr, out[at:])
		if uint64(got) < n {
			if at+got == 0 {
				return nil, linux.EFAULT
			}
			return out[:at+got], 0
		}
	}
	return out, 0
}

// Scatter copies b into v's memory and returns how much went in.
func (m *Memory) Scatter(v []Iovec, b []byte) (int, linux.Errno) {
	done := 0
	for _, x := range v {
		n := min(int(x.Len), len(b)-done)
		if n <= 0 {
			continue
		}
		got := m.Space.Write(x.Addr, b[done:done+n])
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

// Skip returns what follows the first n bytes of v.
func Skip(v []Iovec, n uint64) []Iovec {
	for len(v) > 0 && n >= v[0].Len {
		n -= v[0].Len
		v = v[1:]
	}
	if n == 0 || len(v) == 0 {
		return v
	}
	rest := append([]Iovec(nil), v...)
	rest[0].Addr += emu.Addr(n)
	rest[0].Len -= n
	return rest
}

func Single(a emu.Addr, n uint64) []Iovec { return []Iovec{{a, min(n, MaxRW)}} }
