package mem

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A Group is the address spaces of one run, which may map the same files: what one writes to a file, by whatever
// mapping or system call, changes the code that others execute from it. It also bounds what their guarded pages cost,
// for the host counts mappings of a whole process (vm.max_map_count).
//
// A page is guarded if it holds translated code, and so are the pages of all spaces through which a store would change
// that code. A Group is not safe for concurrent use.
type Group struct {
	// Checked says that all engines look into Perms before each access, so that the host's permissions need not follow
	// the guest's: pages are readable and writable there unless the guest may do nothing with them. It is to be set
	// before the first New.
	Checked bool
	// CopyOnWrite says that all engines call Space.CopyOnWrite when the host refuses an access, so that Fork need not
	// copy all.
	CopyOnWrite bool
	// SelfChecks says that all engines see for themselves whether code on exempt pages is what it was (Space.Exempt).
	// Otherwise no page is exempt.
	SelfChecks bool

	spaces []*Space
	// shared has the files that are, or were, mapped shared: stores can reach their pages by another mapping.
	shared map[fileID]bool
	// coded has the files of which pages are, or were, guarded; codedIno has them by the guest's inode number.
	coded    map[fileID]bool
	codedIno map[uint64]bool
	// queue has the pages that the host write-protects because they are guarded, those first that were guarded first;
	// some of them may not be any more. protected is how many are.
	queue     []place
	protected int
	// fetched has the pages of shared mappings of which there are copies (coarse.go), copiedIno the files that are, or
	// were, copied.
	fetched   []place
	copiedIno map[uint64]bool
	// Refused says that the host has had no room for a mapping.
	Refused bool
	// parts is how many loans the spaces have (cow.go).
	parts int
	// atMost is how many mappings of the host the spaces take at most, but for guards: what changes added to what there
	// was when it was last counted, which is done again beyond recountAt. told is what others were told, with the
	// guards.
	atMost, recountAt, told int
}

// A place is a page of a space.
type place struct {
	m  *Space
	at emu.Addr
}

// leave takes m, which is closed, out of the group.
func (g *Group) leave(m *Space) {
	g.Sync()
	g.spaces = slices.DeleteFunc(g.spaces, func(n *Space) bool { return n == m })
	g.queue = slices.DeleteFunc(g.queue, func(q place) bool { return q.m == m })
	for p := range m.guarded {
		m.unprotected(p)
	}
	clear(m.guarded)
	g.recount()
}

// covers reports whether v shows the byte of file id at off.
func (v *VMA) covers(id fileID, off uint64) bool {
	return v.File && v.id == id && off >= v.Off && off-v.Off < v.Len()
}

// mirrors returns page p of m and all others of the group that show the same page of a file. A private page is among
// them though it may have been copied by now: forgetting its code once too often does no harm.
func (m *Space) mirrors(p emu.Addr) []place {
	v := m.VMA(p)
	if v == nil || v.id == (fileID{}) || !m.group.shared[v.id] {
		return []place{{m, p}}
	}
	off := v.Off + uint64(p-v.Lo)
	var pages []place
	for _, n := range m.group.spaces {
		vmas := n.VMAs()
		for i := range vmas {
			if w := &vmas[i]; w.covers(v.id, off) {
				pages = append(pages, place{n, w.Lo + emu.Addr(off-w.Off)})
			}
		}
	}
	return pages
}

// mappedShared drops translations of code that can be written through the new mapping v.
func (g *Group) mappedShared(v VMA) {
	if v.id == (fileID{}) {
		return
	}
	if g.shared == nil {
		g.shared = map[fileID]bool{}
	}
	g.shared[v.id] = true
	if g.coded[v.id] {
		g.forgetFile(func(w *VMA) bool { return w.id == v.id && w.Off < v.Off+v.Len() && v.Off < w.Off+w.Len() })
	}
}

// FileChanged makes engines forget what they translated from the file with the guest's inode number ino, because it was
// written to by a system call.
func (g *Group) FileChanged(ino uint64) {
	g.refetch(ino, math.MaxUint64)
	if g.codedIno[ino] {
		g.forgetFile(func(w *VMA) bool { return w.File && w.Ino == ino })
	}
}

// forgetFile makes engines forget what they translated from mappings of which is reports true.
func (g *Group) forgetFile(is func(*VMA) bool) {
	for _, m := range g.spaces {
		for _, w := range slices.Clone(m.VMAs()) {
			if is(&w) {
				m.forget(w.Lo, w.Hi)
			}
		}
	}
}

// Guard write-protects pages, which hold translated code, and their mirrors, as far as they are mapped and not exempt.
// After an error stores to them are not all seen.
func (m *Space) Guard(pages ...emu.Addr) error {
	for range 2 {
		for _, p := range pages {
			if m.guarded[p] || m.Exempt(p) {
				continue
			}
			if err := m.guardPage(p); err != nil {
				return err
			}
		}
		// A page may have been given up for a later one.
		if !slices.ContainsFunc(pages, func(p emu.Addr) bool { return !m.guarded[p] && !m.Exempt(p) && m.VMA(p) != nil }) {
			return nil
		}
	}
	return errors.New("mem: the host has not enough mappings for the pages of one block of code")
}

// Storable reports whether the guest may store to page p, by that or by another mapping of the file.
func (m *Space) Storable(p emu.Addr) bool {
	v := m.VMA(p)
	return v != nil && (v.Prot&Write != 0 || v.Shared || m.group.shared[v.id])
}

func (m *Space) guardPage(p emu.Addr) error {
	if v := m.VMA(p); v != nil && v.id != (fileID{}) {
		g := m.group
		if g.coded == nil {
			g.coded, g.codedIno = map[fileID]bool{}, map[uint64]bool{}
		}
		g.coded[v.id], g.codedIno[v.Ino] = true, true
	}
	for _, q := range m.mirrors(p) {
		if v := q.m.VMA(q.at); q != (place{m, p}) && !v.Shared {
			continue // what is stored there is not seen here
		}
		if err := q.m.protect(q.at); err != nil {
			return err
		}
	}
	return nil
}

// guardIn guards the pages of n, a copy of m, that m's code needs guarded.
func (m *Space) guardIn(n *Space) {
	for p := range m.guarded {
		if v := m.VMA(p); v != nil && v.Shared && v.File {
			if n.protect(p) != nil {
				m.unguard(p, p+1, false)
			}
		}
	}
}

// protect marks page p of m as guarded, and has the host write-protect it if the guest may write to it and engines do
// not look.
func (m *Space) protect(p emu.Addr) error {
	v := m.VMA(p)
	if v == nil || m.guarded[p] {
		return nil
	}
	byHost := v.Prot&Write != 0 && !m.group.Checked
	if byHost {
		g := m.group
		if !g.guardsFit() {
			g.evict(maxProtected() / 8)
		}
		if err := m.protectOnHost(p, p+emu.PageSize, v.Prot&^Write); err != nil {
			return fmt.Errorf("mem: write-protecting a page of code: %w (is there a limit of mappings, vm.max_map_count?)", err)
		}
		g.protected++
		g.tell()
		m.guards++
	}
	m.forgetPerms(p, p+1)
	if m.guarded[p] = true; byHost {
		m.group.enqueue(place{m, p})
	}
	return nil
}

// enqueue notes that q was write-protected. A page that is guarded, given up and guarded again is in the queue each
// time, until the queue is twice as long as it has to be.
func (g *Group) enqueue(q place) {
	g.queue = append(g.queue, q)
	if len(g.queue) <= 2*maxProtected() {
		return
	}
	known := map[place]bool{}
	var last []place // of each page, from the end on
	for _, q := range slices.Backward(g.queue) {
		if !known[q] && q.m.Guarded(q.at) {
			last = append(last, q)
		}
		known[q] = true
	}
	slices.Reverse(last)
	g.queue = last
}

// Guards returns a number that changes whenever GuardedPages does.
func (m *Space) Guards() uint64 { return m.guards }

// GuardedPages returns the pages that are write-protected only because they, or others that show the same page of a
// file, hold translated code, in ascending order: an engine that does not rely on the host's protection has to keep
// stores from them.
func (m *Space) GuardedPages() (pages []emu.Addr) {
	for p := range m.guarded {
		if m.Guarded(p) {
			pages = append(pages, p)
		}
	}
	slices.Sort(pages)
	return pages
}

// evict gives up the guards of the n pages that were guarded first, and their code with them: it is translated again
// when it is executed.
func (g *Group) evict(n int) {
	first := slices.Clone(g.queue[:min(n, len(g.queue))])
	g.queue = slices.Delete(g.queue, 0, len(first))
	for _, q := range first {
		q.m.unguard(q.at, q.at+1, false)
	}
}

// Guarded reports whether the page of a is write-protected only because it holds
// translated code: a write to it must call Unguard and go on.
func (m *Space) Guarded(a emu.Addr) bool {
	if !m.guarded[a.PageDown()] {
		return false
	}
	v := m.VMA(a)
	return v != nil && v.Prot&Write != 0
}

// Unguard makes the engines forget what they translated from the pages of [lo, hi) and their mirrors, to which is
// stored, and makes them writable again. After an error the host does not let them be written to.
func (m *Space) Unguard(lo, hi emu.Addr) error { return m.unguard(lo, hi, true) }

// unguard does so; stores says that it is because of a store.
func (m *Space) unguard(lo, hi emu.Addr, stores bool) (err error) {
	for p := lo.PageDown(); p < hi; p += emu.PageSize {
		if !m.guarded[p] {
			continue
		}
		for _, q := range m.mirrors(p) {
			if stores && q.m.guarded[q.at] {
				q.m.noteStore(q.at)
			}
			if e := q.m.unprotect(q.at); e != nil {
				err = e
			}
		}
	}
	return err
}

// unprotect takes the guard of page p of m away.
func (m *Space) unprotect(p emu.Addr) error {
	m.invalidate(p, p+emu.PageSize)
	m.forgetPerms(p, p+1)
	v := m.VMA(p)
	if !m.guarded[p] || v == nil || v.Prot&Write == 0 || m.group.Checked {
		delete(m.guarded, p)
		return nil
	}
	m.unprotected(p)
	delete(m.guarded, p)
	if err := m.protectOnHost(p, p+emu.PageSize, v.Prot); err != nil {
		return fmt.Errorf("mem: making a page of code writable: %w (is there a limit of mappings, vm.max_map_count?)", err)
	}
	return nil
}

// protectOnHost has the host's permissions of [lo, hi) be prot, if it takes all guards that are for want of mappings.
func (m *Space) protectOnHost(lo, hi emu.Addr, prot Prot) error {
	err := m.host.protectPages(lo, hi, prot)
	if err != nil {
		m.group.evict(len(m.group.queue))
		err = m.host.protectPages(lo, hi, prot)
	}
	return err
}

// unprotected counts that guarded page p of m is about to be given up.
func (m *Space) unprotected(p emu.Addr) {
	if m.Guarded(p) && !m.group.Checked {
		m.group.protected--
		m.group.tell()
		m.guards++
	}
}

// forget drops translations of [lo, hi) before its mapping changes.
func (m *Space) forget(lo, hi emu.Addr) {
	if m.Free(lo, hi) {
		return
	}
	for _, p := range pagesWithin(m.stored, lo, hi) {
		if m.Exempt(p) {
			m.forgetExempt(p)
		} else {
			delete(m.stored, p)
		}
	}
	for _, p := range pagesWithin(m.guarded, lo, hi) {
		m.unguard(p, p+emu.PageSize, false)
	}
}

// pagesWithin returns those of a set that are in [lo, hi), in order. Mappings may be larger than the set by far, so the
// smaller one is walked.
func pagesWithin[T any](set map[emu.Addr]T, lo, hi emu.Addr) (pages []emu.Addr) {
	if uint64(hi-lo)/emu.PageSize <= uint64(len(set)) {
		for p := lo.PageDown(); p < hi; p += emu.PageSize {
			if _, ok := set[p]; ok {
				pages = append(pages, p)
			}
		}
		return pages
	}
	for p := range set {
		if p >= lo && p < hi {
			pages = append(pages, p)
		}
	}
	slices.Sort(pages)
	return pages
}
