package mem

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A host whose pages are larger than the guest's cannot map 4 KiB of a file somewhere. There a mapping of a file is
// memory of ours, whose pages are copies of the file's. A copy is made when the page is used first (fetch), and the
// file is what all its mappings share:
//
//   - While a copy is dirty, there is no other of that page of the file; before there is, it is written back.
//   - Copies of shared mappings are written back and forgotten whenever the guest's kernel begins or ends its work
//     (Group.Sync), so that system calls, and other programs, find the file as the guest has it, and the guest sees
//     what they change.
//   - Copies of private mappings are forgotten when the guest changes the file, by whatever way, until they are written
//     to themselves.
//
// Only engines that look into Perms before each access can do with this: in Perms a page may not be read before there
// is a copy, and not be written to before somebody wrote by way of the Space.

// HostPage is the size of the host's pages. Where it is larger than the guest's, files are not mapped but copied, and
// all of a host page that has something of the guest's can be read and written there: only spaces of a Group that is
// Checked work. Tests set it.
var HostPage = emu.Addr(os.Getpagesize())

// A copyState is what there is of a page of a mapped file; absent if nothing is.
type copyState uint8

const (
	absent copyState = iota
	// A stale one has nothing to use. It is in Group.fetched all the same, if its mapping is shared.
	stale
	// A clean copy has what the file has.
	clean
	// A dirty one, of a shared mapping, may have something else, which the file has to get.
	dirty
	// A page of a private mapping is own once it was written to: it has nothing to do with its file any more. One
	// without a file is so from the beginning.
	own
)

// errNoDescriptor is for a file that has to be kept for its copies, and cannot.
var errNoDescriptor = errors.New("mem: no descriptor is left for the file to be mapped")

// unsupported says why a group cannot have spaces on this host.
func (g *Group) unsupported() error {
	switch {
	case g.Checked:
	case HostPage > emu.PageSize:
		return fmt.Errorf("mem: the host's pages have %d KiB, and this engine needs pages of 4 KiB: --engine=interp does not", HostPage>>10)
	case !MapsFiles:
		return errors.New("mem: files are not mapped on this host, as this engine needs it: --engine=interp does not")
	}
	return nil
}

// copied reports whether v's pages are copies of its file's.
func (m *Space) copied(v *VMA) bool { return v.File && m.host.coarse() }

// onDemand reports whether v's pages are made when they are used: copies, and zeros, too, where the host does not do
// that.
func (m *Space) onDemand(v *VMA) bool { return m.copied(v) || !MapsFiles }

// mayCopy returns why file src cannot be mapped as v says: the host is asked to map it.
func mayCopy(v VMA, src *os.File) error {
	unmap, err := mapFirst(v, src)
	if err != nil {
		return err
	}
	return unmap()
}

// fetch makes copies of the pages of files that have some of the n bytes at a, which are mapped, for writing to them or
// not. It returns how many of the bytes may be used then: fewer where a file cannot be read, or where a page would be
// written to in two copies.
func (m *Space) fetch(a emu.Addr, n uint64, write bool) uint64 {
	if n == 0 || !m.host.coarse() {
		return n
	}
	want := clean
	if write {
		want = dirty
	}
	end := a + emu.Addr(n)
	vmas := m.Within(a, end)
	for _, v := range slices.Backward(vmas) { // so that of two copies of a page the first remains
		if !m.onDemand(&v) {
			continue
		}
		for p := min(v.Hi, end).PageUp(); p > max(v.Lo, a.PageDown()); p -= emu.PageSize {
			m.fetchPage(&v, p-emu.PageSize, write)
		}
	}
	for _, v := range vmas {
		for p := max(v.Lo, a.PageDown()); p < min(v.Hi, end); p += emu.PageSize {
			if m.onDemand(&v) && m.copies[p] < want {
				return uint64(max(p, a) - a)
			}
		}
	}
	return n
}

// fetchPage makes a copy of page p of v. It reports whether there is one.
func (m *Space) fetchPage(v *VMA, p emu.Addr, write bool) bool {
	state := m.copies[p]
	if state > clean || state == clean && !write {
		return true
	}
	if err := m.host.touch(p); err != nil {
		return false
	}
	if !v.File {
		clear(m.host.view(p, emu.PageSize)) // another mapping may have had it
		m.setCopy(p, own)
		return true
	}
	for _, q := range m.mirrors(p) {
		if q.m.copies[q.at] == dirty {
			q.m.writeBack(q.at)
			q.m.setCopy(q.at, clean)
		}
		if write && v.Shared && q.m.copies[q.at] == clean && q != (place{m, p}) {
			q.m.setCopy(q.at, stale)
		}
	}
	if state < clean && readInto(m.host.view(p, emu.PageSize), v.back.file, v.offset(p)) != nil {
		return false
	}
	if v.Shared && state == absent {
		m.group.fetched = append(m.group.fetched, place{m, p})
	}
	switch {
	case !write:
		state = clean
	case v.Shared:
		state = dirty
	default:
		state = own
	}
	m.setCopy(p, state)
	return true
}

// setCopy notes what there is of page p.
func (m *Space) setCopy(p emu.Addr, state copyState) {
	if state == absent {
		delete(m.copies, p)
	} else {
		m.copies[p] = state
	}
	m.forgetPerms(p, p+1)
}

// writeBack writes the copy of page p to its file, as far as that reaches. As with mmap(2), nobody is told if the disk
// is full.
func (m *Space) writeBack(p emu.Addr) {
	v := m.VMA(p)
	size, err := fileSize(v.back.file)
	if off := v.offset(p); err == nil && off < size {
		n := min(size-off, emu.PageSize)
		_, _ = v.back.file.WriteAt(m.host.view(p, n), int64(off))
	}
}

// Sync has files say what was written to their shared mappings, and those what the files say. The kernel calls it
// before and after the guest runs, and before it goes on with a call that waited. It does nothing where the host maps
// files itself.
func (g *Group) Sync() {
	for _, q := range g.fetched {
		if q.m.copies[q.at] == dirty {
			q.m.writeBack(q.at)
		}
		q.m.setCopy(q.at, absent)
	}
	g.fetched = g.fetched[:0]
}

// refetch forgets the copies of file ino, since the file has changed, but for those in front of from that the guest has
// written to.
func (g *Group) refetch(ino, from uint64) {
	g.Sync()
	if !g.copiedIno[ino] {
		return
	}
	for _, m := range g.spaces {
		for _, v := range m.VMAs() {
			if v.File && v.Ino == ino {
				m.forgetCopies(v.Lo, v.Hi, func(p emu.Addr, state copyState) bool { return state != own || v.offset(p) >= from })
			}
		}
	}
}

// Hold has the host have mappings of file ino, as the guest has shared ones, until release is called. It reports
// whether that was necessary: elsewhere the guest's mappings are the host's.
func (g *Group) Hold(ino uint64) (held bool, release func()) {
	var maps []func() error
	for _, m := range g.spaces {
		for _, v := range m.VMAs() {
			if v.Ino != ino || !v.Shared || !m.copied(&v) {
				continue
			}
			if unmap, err := mapFirst(VMA{Shared: true, Prot: Read}, v.back.file); err == nil {
				maps = append(maps, unmap)
			}
		}
	}
	return len(maps) > 0, func() {
		for _, unmap := range maps {
			_ = unmap() // pages of ours: the host cannot refuse
		}
	}
}

// eachCopy calls f for the pages of [lo, hi) of which there are copies, in any order. It walks the smaller set: that of
// addresses, or that of copies.
func (m *Space) eachCopy(lo, hi emu.Addr, f func(p emu.Addr, state copyState)) {
	if uint64(hi-lo)/emu.PageSize > uint64(len(m.copies)) {
		for p, state := range m.copies {
			if p >= lo && p < hi {
				f(p, state)
			}
		}
		return
	}
	for p := lo; p < hi; p += emu.PageSize {
		if state := m.copies[p]; state != absent {
			f(p, state)
		}
	}
}

// forgetCopies forgets the copies of pages of [lo, hi) of which is reports true.
func (m *Space) forgetCopies(lo, hi emu.Addr, is func(p emu.Addr, state copyState) bool) {
	m.eachCopy(lo, hi, func(p emu.Addr, state copyState) {
		if is(p, state) {
			m.setCopy(p, absent)
		}
	})
}

// dropCopies forgets what there is of [lo, hi), whose mapping changes, when what was written to shared mappings is in
// their files.
func (m *Space) dropCopies(lo, hi emu.Addr) {
	m.group.Sync()
	m.forgetCopies(lo, hi, func(emu.Addr, copyState) bool { return true })
}

// copyOwn gives n the pages of [lo, hi) of m that were written to, at addresses that are higher by up.
func (m *Space) copyOwn(n *Space, lo, hi, up emu.Addr) (err error) {
	m.eachCopy(lo, hi, func(p emu.Addr, state copyState) {
		if state == own && err == nil {
			if err = n.host.touch(p + up); err == nil {
				copy(n.host.view(p+up, emu.PageSize), m.host.view(p, emu.PageSize))
				n.setCopy(p+up, own)
			}
		}
	})
	return err
}

// file returns the file behind v, nil if there is none.
func (v *VMA) file() *os.File {
	if v.back == nil {
		return nil
	}
	return v.back.file
}

// offset returns where in its file the page at p is.
func (v *VMA) offset(p emu.Addr) uint64 { return v.Off + uint64(p-v.Lo) }

// part returns what lies in [lo, hi) of v.
func (v VMA) part(lo, hi emu.Addr) VMA {
	lo = max(v.Lo, lo)
	v.Off += uint64(lo - v.Lo)
	v.Lo, v.Hi = lo, min(v.Hi, hi)
	return v
}

// release gives the host back what it had for [lo, hi), which is free now, and its pages at the ends if all of them is.
func (m *Space) release(lo, hi emu.Addr) error {
	from, to := m.host.around(lo, hi)
	if !m.Free(from, lo) {
		from = lo
	}
	if !m.Free(hi, to) {
		to = hi
	}
	return m.host.unmapPages(from, to)
}

// moveCoarse moves v, a whole mapping or part of one, to where moved is, by copying.
func (m *Space) moveCoarse(v, moved VMA) error {
	from := v.Lo
	if moved.Lo == v.Lo {
		from = min(v.Hi, moved.Hi)
		if v.Hi < moved.Hi {
			if err := m.host.mapPages(m.onHost(moved.part(v.Hi, moved.Hi)), v.file()); err != nil {
				return err
			}
			m.dropCopies(v.Hi, moved.Hi)
		}
	} else if err := m.copyTo(v, moved); err != nil {
		return err
	}
	m.dropCopies(from, v.Hi)
	m.vmas.carve(v.Lo, v.Hi)
	m.vmas.carve(moved.Lo, moved.Hi)
	m.vmas.insert(moved)
	if from == v.Hi {
		return nil
	}
	return m.release(from, v.Hi)
}

// copyTo maps what moved says and copies v's pages there, those that were written to.
func (m *Space) copyTo(v, moved VMA) error {
	fresh := moved
	fresh.Prot = Read | Write
	if err := m.host.mapPages(fresh, v.file()); err != nil {
		return err
	}
	m.dropCopies(moved.Lo, moved.Hi)
	v = v.part(v.Lo, v.Lo+emu.Addr(moved.Len()))
	if m.onDemand(&v) {
		return m.copyOwn(m, v.Lo, v.Hi, moved.Lo-v.Lo)
	}
	if err := m.host.protectPages(v.Lo, v.Hi, Read|Write); err != nil {
		return err
	}
	err := changedPages(m.host.base, v, func(lo, hi emu.Addr) {
		copy(m.host.view(moved.Lo+(lo-v.Lo), uint64(hi-lo)), m.host.view(lo, uint64(hi-lo)))
	})
	if err == nil && moved.Prot == 0 {
		err = m.host.protectPages(moved.Lo, moved.Hi, 0)
	}
	return err
}

// discardCoarse makes the pages of [lo, hi) as after Map.
func (m *Space) discardCoarse(lo, hi emu.Addr) error {
	m.dropCopies(lo, hi)
	for _, v := range m.Within(lo, hi) {
		if v.File {
			continue
		}
		if err := m.host.mapPages(m.onHost(v.part(lo, hi)), nil); err != nil {
			return err
		}
	}
	return nil
}

// removeCoarse makes a hole of what is behind [lo, hi).
func (m *Space) removeCoarse(lo, hi emu.Addr) error {
	v := m.VMA(lo)
	if v == nil || !v.File || !v.Shared {
		return ErrNotHere
	}
	if err := mayCopy(VMA{Shared: true, Prot: Write}, v.back.file); err != nil {
		return err
	}
	err := punch(v.back.file, v.offset(lo), uint64(hi-lo))
	m.group.refetch(v.Ino, math.MaxUint64)
	return err
}

// whole returns the part of [lo, hi) that consists of whole pages of the host; it is empty if hi is not above lo.
func (r *reservation) whole(lo, hi emu.Addr) (emu.Addr, emu.Addr) {
	n := emu.Addr(r.page)
	return (lo + n - 1) &^ (n - 1), hi &^ (n - 1)
}

// around returns the pages of the host in which [lo, hi) lies.
func (r *reservation) around(lo, hi emu.Addr) (emu.Addr, emu.Addr) {
	n := emu.Addr(r.page)
	return lo &^ (n - 1), (hi + n - 1) &^ (n - 1)
}

// readInto fills b from src at off; with zeros behind its end.
func readInto(b []byte, src *os.File, off uint64) error {
	n, err := src.ReadAt(b, int64(off))
	clear(b[n:])
	if err == io.EOF {
		err = nil
	}
	return err
}
