package mem

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// In a Group that copies on write, Fork leaves much anonymous memory where it is. The parent has lent such pages: the
// host does not let them be written to. The child has borrowed them: the host does not let them be accessed at all. Who
// accesses them copies them first: Read, Write and their kin, and engines, which learn of it by a fault (CopyOnWrite).
// A child of the child borrows from the same Space, so no access goes through a chain.
//
// The parent's mappings stay as they are as long as it has lent their pages; so these have the same addresses in both.

// An addrRange is [lo, hi).
type addrRange struct{ lo, hi emu.Addr }

// A loan is pages that a Space has borrowed, or lent; from is who lends.
type loan struct {
	addrRange
	from *Space
}

const (
	// lendMin is how much anonymous memory is copied at once, in bytes: to copy that takes no longer than the faults
	// do.
	lendMin = 1 << 20
	// chunkMin bytes are copied together, twice as many as the last time if they follow those, chunkMax at most. What
	// nobody has borrowed any more is not copied: of that freeMin bytes become writable together, or more, without a
	// bound.
	chunkMin, chunkMax, freeMin = 64 << 10, 1 << 20, 1 << 20
)

// maxParts is how many loans there may be in a group before they are not parted any more: each is a mapping of the
// host. Tests replace it.
var maxParts = func() int { return maxProtected() }

// Lists of loans are sorted and disjoint.

// overlapping returns which of the loans have a part in [lo, hi): those from i up to j.
func overlapping(list []loan, lo, hi emu.Addr) (i, j int) {
	i, _ = slices.BinarySearchFunc(list, lo, func(l loan, lo emu.Addr) int {
		if l.hi <= lo {
			return -1
		}
		return 1
	})
	j = i
	for j < len(list) && list[j].lo < hi {
		j++
	}
	return i, j
}

// within returns what of the loans lies in [lo, hi).
func within(list []loan, lo, hi emu.Addr) []loan {
	i, j := overlapping(list, lo, hi)
	found := slices.Clone(list[i:j])
	for k := range found {
		found[k].lo, found[k].hi = max(found[k].lo, lo), min(found[k].hi, hi)
	}
	return found
}

// replace puts loans that lie in [lo, hi) in the place of what the list has there.
func replace(list []loan, lo, hi emu.Addr, by ...loan) []loan {
	i, j := overlapping(list, lo, hi)
	var all []loan
	if i < j && list[i].lo < lo {
		all = append(all, loan{addrRange{list[i].lo, lo}, list[i].from})
	}
	all = append(all, by...)
	if i < j && list[j-1].hi > hi {
		all = append(all, loan{addrRange{hi, list[j-1].hi}, list[j-1].from})
	}
	return slices.Replace(list, i, j, all...)
}

// without returns what of [lo, hi) is in no loan of a list, as loans of from.
func without(list []loan, lo, hi emu.Addr, from *Space) []loan {
	rest := []loan{{addrRange{lo, hi}, from}}
	for _, l := range within(list, lo, hi) {
		rest = replace(rest, l.lo, l.hi)
	}
	return rest
}

// setBorrowed and setLent set those lists, and count loans for the group.
func (m *Space) setBorrowed(list []loan) {
	m.group.addParts(len(list) - len(m.borrowed))
	m.borrowed = list
}

func (m *Space) setLent(list []loan) {
	m.group.addParts(len(list) - len(m.lent))
	m.lent = list
}

func (g *Group) addParts(n int) {
	g.parts += n
	g.atMost += max(n, 0)
}

// lends reports whether pages of v need not be copied at a fork.
func (m *Space) lends(v *VMA) bool {
	return m.group.CopyOnWrite && m.host.canLend() && !v.File && !v.Shared && !v.Wipe && v.Prot == Read|Write
}

// lendsMuch reports whether there is so much memory that a fork lends it.
func (m *Space) lendsMuch() (bool, error) {
	var size uint64
	for _, v := range m.VMAs() {
		if !m.lends(&v) || v.NoFork {
			continue
		}
		for _, l := range within(m.lent, v.Lo, v.Hi) {
			size += uint64(l.hi - l.lo)
		}
		for _, l := range without(m.lent, v.Lo, v.Hi, m) {
			if err := changedPages(m.host.base, VMA{Lo: l.lo, Hi: l.hi}, func(lo, hi emu.Addr) { size += uint64(hi - lo) }); err != nil {
				return false, err
			}
		}
		if size > lendMin {
			return true, nil
		}
	}
	return false, nil
}

// lend lends n, a child in which v is mapped, all of v that is not borrowed itself.
func (m *Space) lend(n *Space, v VMA) error {
	for _, l := range without(m.borrowed, v.Lo, v.Hi, m) {
		for _, fresh := range without(m.lent, l.lo, l.hi, m) {
			if err := m.protectOnHost(fresh.lo, fresh.hi, Read); err != nil {
				return err
			}
		}
		m.setLent(replace(m.lent, l.lo, l.hi, l))
		if err := n.borrow(l); err != nil {
			return err
		}
	}
	return nil
}

// borrow makes l's pages borrowed ones of m, in which they were not used yet.
func (m *Space) borrow(l loan) error {
	if err := m.protectOnHost(l.lo, l.hi, 0); err != nil {
		return err
	}
	m.setBorrowed(replace(m.borrowed, l.lo, l.hi, l))
	if !slices.Contains(l.from.borrowers, m) {
		l.from.borrowers = append(l.from.borrowers, m)
	}
	return nil
}

// lies reports whether a lies in a loan of a list.
func lies(a emu.Addr, list []loan) bool {
	i, j := overlapping(list, a, a+1)
	return i < j
}

// CopyOnWrite copies the page at a if an access to it faulted because no fork had copied it yet. If it did, the access
// is to be made again.
func (m *Space) CopyOnWrite(a emu.Addr, write bool) (done bool, err error) {
	if !lies(a, m.borrowed) && !(write && lies(a, m.lent)) {
		return false, nil
	}
	return true, m.settle(a, a+1, write)
}

// settle makes the bytes of [lo, hi) the Space's own, as if a fork had copied them. Those that are not written to may
// stay lent.
func (m *Space) settle(lo, hi emu.Addr, write bool) error {
	if len(m.borrowed) == 0 && (len(m.lent) == 0 || !write) {
		return nil
	}
	for _, l := range m.chunks(m.borrowed, lo, hi, chunkMin, chunkMax) {
		if err := m.takeCopy(l); err != nil {
			return err
		}
	}
	if !write {
		return nil
	}
	least, most := emu.Addr(chunkMin), emu.Addr(chunkMax)
	if len(m.borrowers) == 0 {
		least, most = freeMin, MaxAddr
	}
	for _, l := range m.chunks(m.lent, lo, hi, least, most) {
		for _, b := range slices.Clone(m.borrowers) {
			if err := b.takeCopies(l); err != nil {
				return err
			}
		}
		if err := m.protectOnHost(l.lo, l.hi, Read|Write); err != nil {
			return err
		}
		m.setLent(replace(m.lent, l.lo, l.hi))
	}
	return nil
}

// chunks returns the parts of the loans that are settled together because [lo, hi) has to be: at least bytes, up to
// most if one follows the other.
func (m *Space) chunks(list []loan, lo, hi, least, most emu.Addr) (parts []loan) {
	i, j := overlapping(list, lo, hi)
	if i == j {
		return nil
	}
	from := lo &^ (least - 1)
	if from < m.settled || from-m.settled > m.settling {
		m.settling = 0
	}
	m.settling = max(least, min(2*m.settling, most))
	m.settled = max((hi+least-1)&^(least-1), from+m.settling)
	for _, l := range list[i:j] {
		if m.group.partsFit() {
			l.lo, l.hi = max(l.lo, from), min(l.hi, m.settled)
		}
		parts = append(parts, l)
	}
	return parts
}

// takeCopies copies what m has borrowed of l.
func (m *Space) takeCopies(l loan) error {
	for _, b := range within(m.borrowed, l.lo, l.hi) {
		if b.from != l.from {
			continue
		}
		if err := m.takeCopy(b); err != nil {
			return err
		}
	}
	return nil
}

// takeCopy copies the pages of l, which m has borrowed.
func (m *Space) takeCopy(l loan) error {
	if err := m.protectOnHost(l.lo, l.hi, Read|Write); err != nil {
		return err
	}
	err := changedPages(l.from.host.base, VMA{Lo: l.lo, Hi: l.hi}, func(lo, hi emu.Addr) { copyPages(m, l.from, lo, hi) })
	if err == nil {
		m.repay(l)
	}
	return err
}

// repay notes that l's pages are not borrowed any more.
func (m *Space) repay(l loan) {
	m.setBorrowed(replace(m.borrowed, l.lo, l.hi))
	if !slices.ContainsFunc(m.borrowed, func(b loan) bool { return b.from == l.from }) {
		l.from.borrowers = slices.DeleteFunc(l.from.borrowers, func(b *Space) bool { return b == m })
	}
}

// abandon ends the loans of [lo, hi), whose contents m does not need any more.
func (m *Space) abandon(lo, hi emu.Addr) error {
	for _, l := range within(m.borrowed, lo, hi) {
		m.repay(l)
		if err := m.protectOnHost(l.lo, l.hi, Read|Write); err != nil {
			return err
		}
	}
	for _, l := range within(m.lent, lo, hi) {
		borrowers := slices.Clone(m.borrowers)
		for i, b := range borrowers {
			take := b.takeCopies
			if i == len(borrowers)-1 {
				take = b.inherit
			}
			if err := take(l); err != nil {
				return err
			}
		}
		if err := m.protectOnHost(l.lo, l.hi, Read|Write); err != nil {
			return err
		}
		m.setLent(replace(m.lent, l.lo, l.hi))
	}
	return nil
}

// inherit moves the pages that m has borrowed of l to m: nobody else needs them.
func (m *Space) inherit(l loan) error {
	for _, b := range within(m.borrowed, l.lo, l.hi) {
		if b.from != l.from {
			continue
		}
		if b.from.host.give(&m.host, b.lo, b.hi) != nil { // parted by the host
			if err := m.takeCopy(b); err != nil {
				return err
			}
			continue
		}
		m.repay(b)
		if err := m.protectOnHost(b.lo, b.hi, Read|Write); err != nil {
			return err
		}
	}
	return nil
}

// copyPages copies pages of from to those of m at the same addresses, but for those that cannot be read: the host may
// have cut their file.
func copyPages(m, from *Space, lo, hi emu.Addr) {
	m.host.populate(lo, hi)
	for lo < hi {
		n := copyCareful(m.host.view(lo, uint64(hi-lo)), from.host.view(lo, uint64(hi-lo)))
		lo += emu.Addr(n)&^(emu.PageSize-1) + emu.PageSize
	}
}
