package mem

import (
	"bytes"
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
)

// accessible returns how many bytes from a on, at most n, lie in VMAs that have
// all of prot.
func (m *Space) accessible(a emu.Addr, n uint64, prot Prot) uint64 {
	var got uint64
	for p := m.vmas.search(a); got < n; p = m.vmas.next(p) {
		v := m.vmas.at(p)
		at := a + emu.Addr(got)
		if v == nil || v.Lo > at || v.Prot&prot != prot {
			break
		}
		got += uint64(v.Hi - at)
	}
	return min(got, n)
}

// reachable is like accessible. In a space that is checked, for which there need be no signals, what lies behind the
// end of a mapped file is not reachable; elsewhere whoever touches that finds out.
func (m *Space) reachable(a emu.Addr, n uint64, prot Prot) uint64 {
	n = m.accessible(a, n, prot)
	if !m.group.Checked {
		return n
	}
	return m.fetch(a, m.inFiles(a, n), false)
}

// usable is how many of the reachable bytes can be used at once: not two copies of a page of a file for writing
// (coarse.go).
func (m *Space) usable(a emu.Addr, n uint64, prot Prot) uint64 {
	n = m.reachable(a, n, prot)
	if prot&Write != 0 {
		n = m.fetch(a, n, true)
	}
	return n
}

// inFiles returns how many of the n bytes at a lie in front of a mapped file's end, or in no file.
func (m *Space) inFiles(a emu.Addr, n uint64) uint64 {
	end := a + emu.Addr(n)
	for p := m.vmas.search(a); n > 0; p = m.vmas.next(p) {
		v := m.vmas.at(p)
		if v == nil || v.Lo >= end {
			break
		}
		if r := m.fileEnd(v, min(end, v.Hi)); r < min(end, v.Hi) {
			return uint64(max(r, a) - a)
		}
	}
	return n
}

// Read copies guest memory at a into b, and returns how many bytes could be
// read: fewer than len(b) where memory is unmapped, unreadable, or behind the
// end of its file.
func (m *Space) Read(a emu.Addr, b []byte) int {
	n := m.reachable(a, uint64(len(b)), Read)
	if n == 0 || m.settle(a, a+emu.Addr(n), false) != nil {
		return 0
	}
	return copyCareful(b[:n], m.host.view(a, n))
}

// Write copies b to guest memory at a, and returns how many bytes could be written.
func (m *Space) Write(a emu.Addr, b []byte) int {
	done := 0
	for done < len(b) {
		to := a + emu.Addr(done)
		n := m.usable(to, uint64(len(b)-done), Write)
		if n == 0 || m.settle(to, to+emu.Addr(n), true) != nil {
			break
		}
		m.Unguard(to, to+emu.Addr(n))
		m.journal.keep(m, to, to+emu.Addr(n))
		got := copyCareful(m.host.view(to, n), b[done:done+int(n)])
		if done += got; got < int(n) {
			break
		}
	}
	return done
}

// Peek copies memory at a into b whatever the pages' permissions, as a debugger does, and returns how many bytes could
// be read.
func (m *Space) Peek(a emu.Addr, b []byte) int {
	n := m.reachable(a, uint64(len(b)), 0)
	if n == 0 || m.settle(a, a+emu.Addr(n), false) != nil {
		return 0
	}
	done := 0
	for uint64(done) < n {
		at := a + emu.Addr(done)
		v := m.VMA(at)
		to := b[done:min(n, uint64(v.Hi-a))]
		var got int
		if v.Prot&Read != 0 {
			got = copyCareful(to, m.host.view(at, uint64(len(to))))
		} else {
			got = m.withAccess(at, uint64(len(to)), Read, func(there []byte) int { return copyCareful(to, there) })
		}
		if done += got; got < len(to) {
			break
		}
	}
	return done
}

// Poke writes b at a whatever the pages' permissions, as a debugger or a loader does, and returns how many bytes could
// be written.
func (m *Space) Poke(a emu.Addr, b []byte) int {
	n := m.reachable(a, uint64(len(b)), 0)
	if n == 0 || m.settle(a, a+emu.Addr(n), true) != nil {
		return 0
	}
	n = m.fetch(a, n, true)
	m.Unguard(a.PageDown(), (a + emu.Addr(n)).PageUp())
	m.journal.keep(m, a, a+emu.Addr(n))
	return m.withAccess(a, n, Read|Write, func(there []byte) int { return copyCareful(there, b[:n]) })
}

// withAccess calls do with the n bytes at a, whose pages have prot on the host meanwhile. None of them may be guarded.
func (m *Space) withAccess(a emu.Addr, n uint64, prot Prot, do func(there []byte) int) int {
	lo, hi := a.PageDown(), (a + emu.Addr(n)).PageUp()
	m.host.protectPages(lo, hi, prot)
	got := do(m.host.view(a, n))
	for p := lo; p < hi; p += emu.PageSize {
		m.host.protectPages(p, p+emu.PageSize, m.onHost(*m.VMA(p)).Prot)
	}
	return got
}

// Fetch copies code at a into b, and returns how many bytes could be read and executed.
func (m *Space) Fetch(a emu.Addr, b []byte) int {
	n := m.reachable(a, uint64(len(b)), Exec)
	if n == 0 || m.settle(a, a+emu.Addr(n), false) != nil {
		return 0
	}
	got := copyCareful(b[:n], m.host.view(a, n))
	m.noteFetched(got)
	return got
}

// A View is bytes of the guest's memory themselves, for a host system call to read or fill. The host's kernel copes
// with what lies behind the end of a mapped file. Go code does not: it has Read and Write.
type View struct{ bytes []byte }

// Len returns how many bytes v has.
func (v View) Len() uint64 { return uint64(len(v.bytes)) }

// ForHost returns the bytes, which must not be touched, but be given to the host's kernel.
func (v View) ForHost() []byte { return v.bytes }

// View returns the guest's bytes at a that are mapped with prot, n at most.
func (m *Space) View(a emu.Addr, n uint64, prot Prot) View {
	n = m.usable(a, n, prot)
	if n == 0 || m.settle(a, a+emu.Addr(n), prot&Write != 0) != nil {
		return View{}
	}
	if prot&Write != 0 {
		m.Unguard(a, a+emu.Addr(n))
	}
	return View{m.host.view(a, n)}
}

// Nowhere returns n bytes, less than Guard, that neither Go nor the host's kernel can touch: a host system call is
// given them in the place of memory that the guest does not have, and says itself what comes of that.
func (m *Space) Nowhere(n uint64) View { return View{m.host.view(-emu.Addr(n), n)} }

// Accessible returns how many of the n bytes at a are mapped with prot.
func (m *Space) Accessible(a emu.Addr, n uint64, prot Prot) uint64 { return m.accessible(a, n, prot) }

// Reachable returns how many of them there are besides: none behind the end of its file, if they are to be written to,
// or the space is checked.
func (m *Space) Reachable(a emu.Addr, n uint64, prot Prot) uint64 {
	if n = m.reachable(a, n, prot); prot&Write != 0 && !m.group.Checked {
		n = m.inFiles(a, n)
	}
	return n
}

// ReadUint64 reads a little-endian word.
func (m *Space) ReadUint64(a emu.Addr) (uint64, bool) {
	var b [8]byte
	ok := m.Read(a, b[:]) == 8
	return binary.LittleEndian.Uint64(b[:]), ok
}

// ReadUint32 reads a little-endian word of four bytes.
func (m *Space) ReadUint32(a emu.Addr) (uint32, bool) {
	var b [4]byte
	ok := m.Read(a, b[:]) == 4
	return binary.LittleEndian.Uint32(b[:]), ok
}

// WriteUint64 writes a little-endian word.
func (m *Space) WriteUint64(a emu.Addr, x uint64) bool {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	return m.Write(a, b[:]) == 8
}

// WriteUint32 writes a little-endian word of four bytes.
func (m *Space) WriteUint32(a emu.Addr, x uint32) bool {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], x)
	return m.Write(a, b[:]) == 4
}

// ReadString reads the zero-terminated string at a. ok is false if memory ends
// before it does; without a zero in the first limit bytes, those are returned.
func (m *Space) ReadString(a emu.Addr, limit int) (s string, ok bool) {
	var out []byte
	var page [256]byte
	for len(out) < limit {
		// Stop at page boundaries: what follows the terminator may be unmapped.
		n := min(len(page), limit-len(out), int(emu.PageSize-a%emu.PageSize))
		got := m.Read(a, page[:n])
		if i := bytes.IndexByte(page[:got], 0); i >= 0 {
			if out == nil {
				return string(page[:i]), true
			}
			return string(append(out, page[:i]...)), true
		}
		if got < n {
			return "", false
		}
		out = append(out, page[:got]...)
		a += emu.Addr(got)
	}
	return string(out), true
}
