package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// taskSize is the end of the addresses that are no kernel's (TASK_SIZE_MAX).
const taskSize = 1<<47 - emu.PageSize

// A memory is a process' address space as system calls reach it: what is not mapped is EFAULT.
type memory struct {
	space *mem.Space // of the machine that the process runs on
}

// path reads the path argument at a.
func (m *memory) path(a emu.Addr) (string, linux.Errno) {
	s, ok := m.space.ReadString(a, linux.PATH_MAX)
	switch {
	case !ok:
		return "", linux.EFAULT
	case len(s) >= linux.PATH_MAX:
		return "", linux.ENAMETOOLONG
	}
	return s, 0
}

// copyIn reads n bytes at a.
func (m *memory) copyIn(a emu.Addr, n int) ([]byte, linux.Errno) {
	b := make([]byte, n)
	if m.space.Read(a, b) < n {
		return nil, linux.EFAULT
	}
	return b, 0
}

// copyOut writes b to a.
func (m *memory) copyOut(a emu.Addr, b []byte) linux.Errno {
	if m.space.Write(a, b) < len(b) {
		return linux.EFAULT
	}
	return 0
}

// copyOutIf is copyOut unless a is null.
func (m *memory) copyOutIf(a emu.Addr, b []byte) linux.Errno {
	if a == 0 {
		return 0
	}
	return m.copyOut(a, b)
}

// in32 reads an int at a.
func (m *memory) in32(a emu.Addr) (uint32, linux.Errno) {
	x, ok := m.space.ReadUint32(a)
	if !ok {
		return 0, linux.EFAULT
	}
	return x, 0
}

// in64 reads a long at a.
func (m *memory) in64(a emu.Addr) (uint64, linux.Errno) {
	x, ok := m.space.ReadUint64(a)
	if !ok {
		return 0, linux.EFAULT
	}
	return x, 0
}

// out32 writes an int to a.
func (m *memory) out32(a emu.Addr, x uint32) linux.Errno {
	if !m.space.WriteUint32(a, x) {
		return linux.EFAULT
	}
	return 0
}

// out64 writes a long to a.
func (m *memory) out64(a emu.Addr, x uint64) linux.Errno {
	if !m.space.WriteUint64(a, x) {
		return linux.EFAULT
	}
	return 0
}

// userRange reports whether n bytes at a are no kernel's (access_ok).
func userRange(a, n uint64) bool { return n <= taskSize && a <= taskSize-n }

// An iovec is a piece of guest memory.
type iovec struct {
	addr emu.Addr
	n    uint64
}

const (
	// maxRW is the most that one read or write transfers (MAX_RW_COUNT).
	maxRW = 0x7ffff000
)

// iovecs reads count iovecs at a, cut to maxRW bytes in all.
func (m *memory) iovecs(a emu.Addr, count uint64) ([]iovec, linux.Errno) {
	count = uint64(uint32(count)) // as import_iovec takes it
	if count > linux.IOV_MAX {
		return nil, linux.EINVAL
	}
	b, e := m.copyIn(a, int(count)*16)
	if e != 0 {
		return nil, e
	}
	v := make([]iovec, count)
	left := uint64(maxRW)
	for i := range v {
		if int64(le64(b[i*16+8:])) < 0 {
			return nil, linux.EINVAL
		}
	}
	for i := range v {
		n := le64(b[i*16+8:])
		if !userRange(le64(b[i*16:]), n) {
			return nil, linux.EFAULT
		}
		v[i] = iovec{emu.Addr(le64(b[i*16:])), min(n, left)}
		left -= v[i].n
	}
	return v, 0
}

// total is the length of v.
func total(v []iovec) uint64 {
	var n uint64
	for _, x := range v {
		n += x.n
	}
	return n
}

// forHost returns the memory of v as the host's kernel takes it. Memory that is not there is named, too: how much is moved before
// it, and whether a file becomes longer although nothing is, depends on the kind of file and on the file system.
func (m *memory) forHost(v []iovec, prot mem.Prot) (bufs [][]byte) {
	left := total(v)
	for _, x := range v {
		if x.n == 0 {
			continue
		}
		b := m.space.View(x.addr, x.n, prot)
		if b.Len() > 0 {
			bufs = append(bufs, b.ForHost())
		}
		left -= b.Len()
		if b.Len() < x.n && len(bufs) < linux.IOV_MAX {
			return append(bufs, m.space.Nowhere(left).ForHost())
		}
	}
	return bufs
}

// gather copies v's memory, at most limit bytes.
func (m *memory) gather(v []iovec, limit uint64) ([]byte, linux.Errno) {
	out := make([]byte, 0, min(total(v), limit))
	for _, x := range v {
		n := min(x.n, limit-uint64(len(out)))
		if n == 0 {
			continue
		}
		at := len(out)
		out = out[:at+int(n)]
		got := m.space.Read(x.addr, out[at:])
		if uint64(got) < n {
			if at+got == 0 {
				return nil, linux.EFAULT
			}
			return out[:at+got], 0
		}
	}
	return out, 0
}

// scatter copies b into v's memory and returns how much went in.
func (m *memory) scatter(v []iovec, b []byte) (int, linux.Errno) {
	done := 0
	for _, x := range v {
		n := min(int(x.n), len(b)-done)
		if n <= 0 {
			continue
		}
		got := m.space.Write(x.addr, b[done:done+n])
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
