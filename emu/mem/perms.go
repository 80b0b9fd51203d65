package mem

import (
	"fmt"
	"math"

	"github.com/cgemu/cgemu/emu"
)

// Perms has a byte for each page of an address space: what may be done there without asking the Space. Prot's bits Read
// and Write are those; 0 says that nothing is known, and who asks Permit finds out. It is for engines that access the
// memory themselves and have no signals to learn of faults.
//
// A page that is guarded, or to be recorded first, has no Write, nor has one behind the end of its file anything.
type Perms []uint8

// permsChunk is how many pages are noted together as having known permissions.
const permsChunk = 1 << 12

// Perms returns the permissions by page, which change with the Space. They are made when they are asked for first;
// after Grow they are others.
func (m *Space) Perms() (Perms, error) {
	if m.perms == nil {
		p, err := reservePerms(m.limit)
		if err != nil {
			return nil, fmt.Errorf("mem: reserving a byte for each page: %w", err)
		}
		m.perms, m.known = p, make([]bool, (len(p)+permsChunk-1)/permsChunk)
	}
	return m.perms, nil
}

// Permit finds out what may be done with the page of a, notes it in Perms and returns it.
func (m *Space) Permit(a emu.Addr) uint8 {
	v := m.VMA(a)
	if v == nil || a >= m.limit || v.Prot == 0 {
		return 0
	}
	page := a.PageDown()
	if m.fileEnd(v, page+emu.PageSize) <= page {
		return 0
	}
	p := uint8(Read)
	mayWrite := v.Prot&Write != 0 && !m.guarded[page]
	if m.onDemand(v) {
		if !m.fetchPage(v, page, false) {
			return 0
		}
		mayWrite = mayWrite && m.copies[page] > clean
	}
	if mayWrite {
		p |= uint8(Write)
	}
	if !m.journal.mayWrite(page) {
		p &^= uint8(Write)
	}
	if m.perms != nil {
		n := uint64(page) / emu.PageSize
		m.perms[n], m.known[n/permsChunk] = p, true
	}
	return p
}

// fileEnd returns where the last page of [v.Lo, end) ends of which the file behind v has a byte: end if there is no
// file.
func (m *Space) fileEnd(v *VMA, end emu.Addr) emu.Addr {
	last := uint64(end-1) / emu.PageSize
	if !v.File || last < uint64(len(m.perms)) && m.perms[last] != 0 {
		return end
	}
	if v.back == nil {
		return v.Lo
	}
	size, err := fileSize(v.back.file)
	if err != nil || size <= v.Off {
		return v.Lo
	}
	return min(end, (v.Lo + emu.Addr(size-v.Off)).PageUp())
}

// dropPerms gives the permissions up.
func (m *Space) dropPerms() {
	if m.perms != nil {
		releasePerms(m.perms)
		m.perms, m.known = nil, nil
	}
}

// forgetPerms makes unknown what may be done with the pages of [lo, hi).
func (m *Space) forgetPerms(lo, hi emu.Addr) {
	if m.perms == nil {
		return
	}
	from, to := uint64(lo)/emu.PageSize, min(uint64(hi.PageUp())/emu.PageSize, uint64(len(m.perms)))
	for from < to {
		end := min(to, (from/permsChunk+1)*permsChunk)
		if m.known[from/permsChunk] {
			clear(m.perms[from:end])
		}
		from = end
	}
}

// Direct returns n bytes of guest memory at a if they lie in one page of which is known that it allows prot, nil
// otherwise, and always before somebody asked for Perms. They are good until the Space changes.
func (m *Space) Direct(a emu.Addr, n uint64, prot Prot) []byte {
	page := uint64(a) / emu.PageSize
	if page >= uint64(len(m.perms)) || uint64(a)%emu.PageSize+n > emu.PageSize {
		return nil
	}
	p := m.perms[page]
	if p == 0 {
		p = m.Permit(a)
	}
	if p&uint8(prot) != uint8(prot) {
		return nil
	}
	return m.host.view(a, n)
}

// FileCut makes unknown what may be done with pages of the file behind v: it has become shorter.
func (m *Space) FileCut(v *VMA) { m.group.FileCut(v.Ino, math.MaxUint64) }

// FileCut makes unknown what may be done with pages of the file with the guest's inode number ino: it may have become
// shorter. Its pages from offset from on are not what they were: private mappings lose what was written to theirs.
func (g *Group) FileCut(ino, from uint64) {
	g.refetch(ino, from)
	for _, m := range g.spaces {
		if m.perms == nil {
			continue
		}
		for _, v := range m.VMAs() {
			if v.File && v.Ino == ino {
				m.forgetPerms(v.Lo, v.Hi)
			}
		}
	}
}
