package mem

import (
	"errors"
	"fmt"
	"os"

	"github.com/cgemu/cgemu/emu"
)

// On a host whose pages are larger than the guest's a shared file cannot be mapped. Each space then has a copy of a page that it uses, in Group.copies,
// and the file itself is what they share: a page is written back before another copy of it is made, and while one may be
// written to there is no other. Sync ends all of that.

// usable says why a group cannot have spaces on this host.
func (g *Group) usable() error {
	if HostPage > emu.PageSize && !g.Checked {
		return fmt.Errorf("mem: the host's pages have %d KiB, and this engine needs pages of 4 KiB: --engine=interp does not", HostPage>>10)
	}
	return nil
}

// copied reports whether v's pages are copies of those of a shared file.
func (m *Space) copied(v *VMA) bool { return v != nil && v.Shared && v.File && m.host.coarse() }

// fetchShared makes copies of the pages of shared files that have some of the n bytes at a, which are mapped, for writing to them or not.
func (m *Space) fetchShared(a emu.Addr, n uint64, write bool) {
	if !m.host.coarse() || n == 0 {
		return
	}
	end := a + emu.Addr(n)
	for _, v := range m.Within(a, end) {
		if !m.copied(&v) {
			continue
		}
		for p := max(v.Lo, a.PageDown()); p < min(v.Hi, end); p += emu.PageSize {
			m.fetchPage(&v, p, write)
		}
	}
}

// fetchPage makes a copy of page p of v, which is a shared file.
func (m *Space) fetchPage(v *VMA, p emu.Addr, write bool) {
	g, self := m.group, place{m, p}
	written, here := g.copies[self]
	if here && (written || !write) {
		return
	}
	for _, q := range m.mirrors(p) {
		w, there := g.copies[q]
		if q == self || !there {
			continue
		}
		if w {
			g.writeBack(q)
		}
		if g.copies[q] = false; write {
			delete(g.copies, q)
		}
		q.m.forgetPerms(q.at, q.at+1)
	}
	if !here {
		b := m.host.view(p, emu.PageSize)
		clear(b)
		_ = readInto(b, v.back.file, v.Off+uint64(p-v.Lo)) // what cannot be read is zero
	}
	if g.copies == nil {
		g.copies = map[place]bool{}
	}
	g.copies[self] = write
	m.forgetPerms(p, p+1)
}

// writeBack writes a copy to its file, as far as that reaches.
func (g *Group) writeBack(q place) {
	v := q.m.VMA(q.at)
	info, err := v.back.file.Stat()
	if off := v.Off + uint64(q.at-v.Lo); err == nil && off < uint64(info.Size()) {
		n := min(uint64(info.Size())-off, emu.PageSize)
		_, _ = v.back.file.WriteAt(q.m.host.view(q.at, n), int64(off)) // as with mmap(2), nobody is told if the disk is full
	}
}

// Sync writes back what was written to copies of shared files' pages, and forgets all copies. The kernel calls it whenever the guest has run, and
// before it goes on with a call that waited, so that its own calls find files as they are, and what they change is seen. On hosts whose pages
// are as large as the guest's there is nothing to do.
func (g *Group) Sync() {
	if len(g.copies) == 0 {
		return
	}
	for q, written := range g.copies {
		if written {
			g.writeBack(q)
		}
		q.m.forgetPerms(q.at, q.at+1)
	}
	clear(g.copies)
}

// file returns the file behind v, nil if there is none.
func (v *VMA) file() *os.File {
	if v.back == nil {
		return nil
	}
	return v.back.file
}

// moveCoarse does what movePages does, for v's part [lo, hi), by copying; moved is what v becomes.
func (m *Space) moveCoarse(v, moved VMA, lo, hi emu.Addr) error {
	to, end := moved.Lo, moved.Hi
	if to == lo {
		if end <= hi {
			return m.host.unmapPages(end, hi)
		}
		more := moved
		more.Lo, more.Off = hi, moved.Off+uint64(hi-lo)
		return m.host.mapPages(m.onHost(more), v.file())
	}
	fresh := moved
	fresh.Prot = Read | Write
	if err := m.host.mapPages(fresh, v.file()); err != nil {
		return err
	}
	if !m.copied(&v) {
		v.Lo, v.Hi = lo, min(hi, lo+(end-to))
		err := m.host.protectPages(v.Lo, v.Hi, Read|Write)
		err = errors.Join(err, changedPages(m.host.base, v, func(a, b emu.Addr) {
			copy(m.host.view(to+(a-lo), uint64(b-a)), m.host.view(a, uint64(b-a)))
		}))
		if err != nil {
			return err
		}
	}
	if moved.Prot == 0 {
		if err := m.host.protectPages(to, end, 0); err != nil {
			return err
		}
	}
	return m.host.unmapPages(lo, hi)
}

// discardCoarse does what discardPages does, mapping by mapping.
func (m *Space) discardCoarse(lo, hi emu.Addr) error {
	for _, v := range m.Within(lo, hi) {
		part := v
		part.Lo, part.Hi = max(v.Lo, lo), min(v.Hi, hi)
		part.Off += uint64(part.Lo - v.Lo)
		if m.copied(&v) {
			continue
		}
		if err := m.host.mapPages(m.onHost(part), v.file()); err != nil {
			return err
		}
	}
	return nil
}

// removeCoarse does what removePages does.
func (m *Space) removeCoarse(lo, hi emu.Addr) error {
	v := m.VMA(lo)
	if !m.copied(v) {
		return ErrNotHere
	}
	if err := mayMap(VMA{Shared: true, Prot: Write}, v.back.file); err != nil {
		return err
	}
	return punch(v.back.file, v.Off+uint64(lo-v.Lo), uint64(hi-lo))
}
