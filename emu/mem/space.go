// Package mem is the guest address space: what is mapped where with which
// permissions (VMAs), and the bytes behind it.
//
// All of it lies in one reserved range of host memory, so that guest address a
// is host address Base()+a: an engine adds one constant. Host permissions
// follow the guest's, so a guest access that must fault does fault, unless all
// engines look at the guest's before each access (Group.Checked); pages never
// become executable on the host. Addresses are guest virtual addresses, sizes
// bytes; ranges are [lo, hi) and page-aligned unless said otherwise.
//
// A page whose code an engine has translated is guarded: the host maps it
// read-only until someone writes to it, which first makes the engine forget the
// translation. Writes of the system call layer go through the same door. A page
// that is stored to all the time is left writable, and engines check what they
// execute there (exempt.go).
//
// A Space is not safe for concurrent use.
//
// The package is cgemu's own: what it promises may change.
package mem

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/cgemu/cgemu/emu"
)

// A Prot is a set of page permissions.
type Prot uint8

// Permissions, with Linux's values.
const (
	Read  Prot = 1
	Write Prot = 2
	Exec  Prot = 4
)

// Layout of the guest's address space; that of Valgrind, so that the addresses
// a program sees are those it would see there (docs/counting.md, "The guest's addresses and CPU").
const (
	// MinAddr is the lowest address that may be mapped (vm.mmap_min_addr).
	MinAddr emu.Addr = 0x10000
	// FirstLimit is the end of the address space at first, MaxAddr that of the largest; Space.Limit is that of this
	// one.
	FirstLimit emu.Addr = 1 << 37
	MaxAddr    emu.Addr = 1 << 45
	// Guard is reserved below address 0, so that small negative addresses fault too; GuardAbove above the last.
	Guard      = 32 << 30
	GuardAbove = 4 << 30
	// PIEBase is where a position-independent executable is loaded.
	PIEBase emu.Addr = 0x108000
	// InterpBase is where its interpreter is, and where mmaps begin without one.
	InterpBase emu.Addr = 0x4000000
	// StackEnd is the end of the main thread's stack.
	StackEnd emu.Addr = 0x1fff001000
)

// Errors of Map and its kin; system calls turn them into errno values.
var (
	ErrRange   = errors.New("mem: address range outside the guest's address space")
	ErrNotHere = errors.New("mem: address range not mapped")
	ErrLost    = errors.New("mem: the address space was lost when it grew")
	ErrKind    = errors.New("mem: not a file that can be mapped")
	ErrAccess  = errors.New("mem: permission denied")
	ErrNoHost  = errors.New("mem: guest memory is not yet supported on this host")
)

// A VMA is a run of pages mapped alike.
type VMA struct {
	Lo, Hi emu.Addr
	Prot   Prot
	// Shared says that writes reach the file or other processes (MAP_SHARED).
	Shared bool
	// Path is the guest's name of the mapped file; or "[heap]", "[stack]", or "".
	Path string
	// Off is the offset in the file of Lo.
	Off uint64
	// Dev and Ino are what /proc/self/maps shows.
	Dev, Ino uint64
	// File says that a file lies behind the VMA.
	File bool
	// GrowsDown marks a stack made with MAP_GROWSDOWN.
	GrowsDown bool
	// Locked says that it was locked (mlock(2)). Wipe and NoFork say that a child has it empty, or not at all
	// (madvise(2)).
	Locked, Wipe, NoFork bool
	// WriteOnly says that it can be read only because x86 cannot tell writing and executing from reading: PROT_READ was
	// not asked for.
	WriteOnly bool
	// Advice is other advice of madvise(2). It means nothing here, but mappings that were given other advice are not
	// one.
	Advice uint8
	// back is the file itself, for Fork, and id tells it from others, whatever way it was opened; zero if the host does
	// not say.
	back *backing
	id   fileID
}

// Len returns the VMA's size in bytes.
func (v *VMA) Len() uint64 { return uint64(v.Hi - v.Lo) }

// joins reports whether w, which begins where v ends, continues v.
func (v *VMA) joins(w *VMA) bool {
	return v.Hi == w.Lo && v.Prot == w.Prot && v.Shared == w.Shared && v.Path == w.Path &&
		v.Dev == w.Dev && v.Ino == w.Ino && v.File == w.File && v.GrowsDown == w.GrowsDown && v.back == w.back && v.id == w.id &&
		v.Locked == w.Locked && v.Wipe == w.Wipe && v.NoFork == w.NoFork && v.Advice == w.Advice && v.WriteOnly == w.WriteOnly &&
		(!v.File || v.Off+v.Len() == w.Off)
}

// A Space is one guest address space.
type Space struct {
	host  reservation
	limit emu.Addr
	vmas  vmaList
	// guarded has the pages that hold translated code, by page number.
	guarded map[emu.Addr]bool
	// stored has the pages to which was stored while they were guarded, exempt how many of them are exempt (exempt.go).
	stored map[emu.Addr]storedPage
	exempt int
	guards uint64 // counts changes to which of them are write-protected
	// invalidate is called before code in [lo, hi) changes.
	invalidate func(lo, hi emu.Addr)
	// files are behind mappings, or were.
	files map[backingID]*backing
	group *Group
	// perms is nil if nobody asked for it; known says of which chunks something is known.
	perms Perms
	known []bool
	// copies says what there is of pages of mapped files where the host cannot map them (coarse.go).
	copies map[emu.Addr]copyState
	// journal is nil if nothing was ever recorded.
	journal *journal
	// borrowed and lent are what a fork did not copy, borrowers those who have some of lent (cow.go). settled is where
	// what was copied last ends, settling how much that was.
	borrowed, lent    []loan
	borrowers         []*Space
	settled, settling emu.Addr
	// fetched is how many bytes of code were fetched since pages of it were given back (codepages.go).
	fetched int
	// zeroed is how many bytes small mappings without a file have had since nothing at all was mapped (populate).
	zeroed uint64
	// removals is how often pages were taken away, or mapped, which may be in the place of others.
	removals uint64
}

// New returns an address space that shares memory with no other: the first of a group.
func New() (*Space, error) { return new(Group).New() }

// New reserves an address space up to FirstLimit.
func (g *Group) New() (*Space, error) { return g.newWithin(FirstLimit) }

func (g *Group) newWithin(limit emu.Addr) (*Space, error) {
	if err := g.unsupported(); err != nil {
		return nil, err
	}
	host, err := reserve(limit)
	if err != nil {
		return nil, err
	}
	m := &Space{
		host: host, limit: limit, guarded: map[emu.Addr]bool{}, stored: map[emu.Addr]storedPage{}, invalidate: func(lo, hi emu.Addr) {},
		files: map[backingID]*backing{}, group: g, copies: map[emu.Addr]copyState{},
	}
	g.spaces = append(g.spaces, m)
	g.atMost++
	if g.copiedIno == nil {
		g.copiedIno = map[uint64]bool{}
	}
	return m, nil
}

// Grow moves the address space to where the host has room for limit. The guest does not notice, but Base changes. After
// ErrLost memory is missing, after another error all is as it was.
func (m *Space) Grow(limit emu.Addr) error {
	if err := m.group.roomFor(m.vmas.runs()); err != nil { // both are there for a while
		return err
	}
	host, err := reserve(limit)
	if err != nil {
		return err
	}
	if err := host.takeOver(&m.host, m.vmas.all(), m.copies); err != nil {
		host.release()
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	m.host, m.limit = host, limit
	m.dropPerms()
	return nil
}

// Close gives the reservation back to the host. Closing m again does nothing: the addresses may be those of something
// else by then.
func (m *Space) Close() error {
	if m.host.size == 0 {
		return nil
	}
	err := m.abandon(0, m.limit)
	m.group.leave(m)
	m.vmas = vmaList{}
	m.dropPerms()
	m.dropFiles()
	err = errors.Join(err, m.host.release())
	m.host.size = 0
	return err
}

// Limit returns the end of the address space.
func (m *Space) Limit() emu.Addr { return m.limit }

// OnInvalidate registers the function that is called before mapped code in
// [lo, hi) changes or goes away.
func (m *Space) OnInvalidate(f func(lo, hi emu.Addr)) { m.invalidate = f }

// Removals returns a number that changes whenever other pages may be where pages were.
func (m *Space) Removals() uint64 { return m.removals }

// VMAs returns the mappings in ascending order. The slice is the Space's own.
func (m *Space) VMAs() []VMA { return m.vmas.all() }

// Within returns the mappings of which a part lies in [lo, hi), in ascending order.
func (m *Space) Within(lo, hi emu.Addr) []VMA {
	var out []VMA
	for p := m.vmas.search(lo); ; p = m.vmas.next(p) {
		v := m.vmas.at(p)
		if v == nil || v.Lo >= hi {
			return out
		}
		out = append(out, *v)
	}
}

// VMA returns the mapping that contains a, or nil. The result is valid until the next change.
func (m *Space) VMA(a emu.Addr) *VMA {
	if v := m.vmas.at(m.vmas.search(a)); v != nil && v.Lo <= a {
		return v
	}
	return nil
}

// Mapping returns the addresses, [lo, hi), of the mapping that contains a: none if there is none.
func (m *Space) Mapping(a emu.Addr) (lo, hi emu.Addr) {
	if v := m.VMA(a); v != nil {
		return v.Lo, v.Hi
	}
	return 0, 0
}

// Free reports whether nothing is mapped in [lo, hi).
func (m *Space) Free(lo, hi emu.Addr) bool {
	v := m.vmas.at(m.vmas.search(lo))
	return v == nil || v.Lo >= hi
}

// Find returns the lowest address at or above low where length bytes are free.
func (m *Space) Find(length uint64, low emu.Addr) (emu.Addr, bool) {
	size := emu.Addr(length).PageUp()
	if size == 0 {
		return 0, false
	}
	a := m.vmas.find(size, low.PageUp())
	return a, a < m.limit && m.limit-a >= size
}

// check reports whether [lo, hi) is a page-aligned range inside the address space.
func (m *Space) check(lo, hi emu.Addr) error {
	if !lo.PageAligned() || !hi.PageAligned() || lo >= hi || hi > m.limit {
		return ErrRange
	}
	return nil
}

// Map maps v, replacing what was there. src is the file behind it, nil for
// anonymous memory; it may be closed afterwards.
func (m *Space) Map(v VMA, src *os.File) error {
	if err := cmp.Or(m.check(v.Lo, v.Hi), m.roomFor()); err != nil {
		return err
	}
	m.group.Sync()
	m.forget(v.Lo, v.Hi)
	if err := m.settle(v.Lo, v.Hi, true); err != nil {
		return err
	}
	if v.File = src != nil; v.File {
		v.back, v.id = m.keep(src)
	}
	if m.copied(&v) {
		if err := mayCopy(v, src); err != nil {
			return err
		}
		if v.back == nil {
			return errNoDescriptor
		}
		m.group.copiedIno[v.Ino] = true
	}
	if err := m.host.mapPages(m.onHost(v), src); err != nil {
		return err
	}
	m.removals++
	m.dropCopies(v.Lo, v.Hi)
	m.vmas.carve(v.Lo, v.Hi)
	m.vmas.insert(v)
	m.forgetPerms(v.Lo, v.Hi)
	if v.Shared && v.File {
		m.group.mappedShared(v)
	}
	m.populate(&v)
	return nil
}

const (
	// smallMapping is the size up to which all pages of a mapping are made at once. What is larger may be used here and
	// there.
	smallMapping = 1 << 20
	// populateFrom and populateTo are how many bytes of such mappings there have to be, and may be at most: a program
	// that needs little is not given more, and many small stacks of which little is used stay small.
	populateFrom, populateTo = 1 << 20, 64 << 20
)

// populate has the host make the pages of a new mapping v that is writable memory of its own, as malloc asks for it:
// the first access to each would interrupt the guest.
func (m *Space) populate(v *VMA) {
	if v.File || v.Shared || v.Prot&Write == 0 || v.Len() > smallMapping {
		return
	}
	if m.zeroed += v.Len(); m.zeroed > populateFrom && m.zeroed <= populateTo {
		m.host.populate(v.Lo, v.Hi)
	}
}

// Unmap removes what is mapped in [lo, hi); it is no error if nothing is.
func (m *Space) Unmap(lo, hi emu.Addr) error {
	if err := m.check(lo, hi); err != nil {
		return err
	}
	if m.Free(lo, hi) {
		return nil
	}
	if err := m.roomToUnmap(lo, hi); err != nil {
		return err
	}
	m.group.Sync()
	m.removals++
	m.forget(lo, hi)
	m.forgetPerms(lo, hi)
	if err := m.abandon(lo, hi); err != nil {
		return err
	}
	if err := m.release(lo, hi); err != nil {
		return err
	}
	m.dropCopies(lo, hi)
	m.vmas.carve(lo, hi)
	if len(m.vmas.blocks) == 0 {
		m.dropFiles()
		m.zeroed = 0
	}
	return nil
}

// Protect sets the permissions of [lo, hi), all of which must be mapped: if
// there is a hole, what lies before it changes and ErrNotHere is returned, as
// mprotect(2) does.
func (m *Space) Protect(lo, hi emu.Addr, prot Prot) error {
	if err := cmp.Or(m.check(lo, hi), m.roomFor()); err != nil {
		return err
	}
	m.forget(lo, hi)
	m.forgetPerms(lo, hi)
	if err := m.settle(lo, hi, true); err != nil {
		return err
	}
	for a := lo; a < hi; {
		v := m.VMA(a)
		if v == nil {
			return ErrNotHere
		}
		part := v.part(a, hi)
		part.Prot = prot
		if err := m.reprotect(v, part); err != nil {
			return ErrAccess
		}
		m.vmas.carve(part.Lo, part.Hi)
		m.vmas.insert(part)
		a = part.Hi
	}
	return nil
}

// onHost returns v with the permissions that its pages have on the host. Those of a shared file are the guest's always:
// the host knows whether the file may be written to.
func (m *Space) onHost(v VMA) VMA {
	if m.group.Checked && v.Prot != 0 && !(v.Shared && v.File) {
		v.Prot = Read | Write
	}
	return v
}

// reprotect has the host's permissions of to, a part of v that gets others, follow.
func (m *Space) reprotect(v *VMA, to VMA) error {
	if m.onDemand(v) {
		if v.File && v.Shared && to.Prot&Write != 0 {
			return mayCopy(to, v.back.file)
		}
		return nil
	}
	was, is := m.onHost(*v).Prot, m.onHost(to).Prot
	if m.group.Checked && was == is {
		return nil
	}
	return m.host.protectPages(to.Lo, to.Hi, is)
}

// Move moves the mapping at [lo, hi) to [to, to+newLen), growing or cutting it;
// the old range becomes free, and what was mapped in the new one is lost. The ranges
// may not overlap, but for to == lo. [lo, hi) must lie in one VMA.
func (m *Space) Move(lo, hi, to emu.Addr, newLen uint64) error {
	v := m.VMA(lo)
	if v == nil || hi > v.Hi {
		return ErrNotHere
	}
	end := to + emu.Addr(newLen)
	if m.check(lo, hi) != nil || m.check(to, end) != nil {
		return ErrRange
	}
	if err := m.roomFor(); err != nil {
		return err
	}
	moved := *v
	moved.Off += uint64(lo - v.Lo)
	moved.Lo, moved.Hi = to, end
	m.removals++
	m.forget(lo, hi)
	m.forget(to, end)
	m.forgetPerms(lo, hi)
	m.forgetPerms(to, end)
	if err := errors.Join(m.settle(lo, hi, true), m.settle(to, end, true)); err != nil {
		return err
	}
	m.group.Sync()
	if m.host.coarse() {
		return m.moveCoarse(v.part(lo, hi), moved)
	}
	if err := m.host.movePages(lo, hi, to, newLen); err != nil {
		return err
	}
	m.vmas.carve(lo, hi)
	m.vmas.carve(to, end)
	m.vmas.insert(moved)
	return nil
}

// Extend lengthens the mapping at lo, which ends at hi, to [lo, end). What was mapped there is lost.
func (m *Space) Extend(lo, hi, end emu.Addr) error {
	v := m.VMA(lo)
	if v == nil || v.Hi != hi {
		return ErrNotHere
	}
	if v.File && v.back == nil {
		return m.Move(lo, hi, lo, uint64(end-lo))
	}
	// The pages that there are stay as they are, however many.
	more := *v
	more.Lo, more.Hi = hi, end
	if !v.File {
		return m.Map(more, nil)
	}
	more.Off += v.Len()
	return m.Map(more, v.back.file)
}

// Duplicate maps n bytes of the file behind the shared mapping at lo once more, at to.
func (m *Space) Duplicate(lo, to emu.Addr, n uint64) error {
	v := m.VMA(lo)
	if v == nil || v.back == nil {
		return ErrNotHere
	}
	d, file := *v, v.back.file
	d.Off += uint64(lo - v.Lo)
	d.Lo, d.Hi = to, to+emu.Addr(n)
	return m.Map(d, file)
}

// Remove makes holes of what lies behind [lo, hi), which must be in one shared mapping of a file (MADV_REMOVE).
func (m *Space) Remove(lo, hi emu.Addr) error {
	if err := m.check(lo, hi); err != nil {
		return err
	}
	m.forget(lo, hi)
	if m.group.Sync(); m.host.coarse() {
		return m.removeCoarse(lo, hi)
	}
	return m.host.removePages(lo, hi)
}

// Mark lets f change the notes in the VMAs of [lo, hi): Locked, Wipe, NoFork, WriteOnly and Advice.
func (m *Space) Mark(lo, hi emu.Addr, f func(v *VMA)) error {
	if err := m.roomToMark(lo, hi); err != nil {
		return err
	}
	for _, v := range m.Within(lo, hi) {
		part := v.part(lo, hi)
		f(&part)
		m.vmas.carve(part.Lo, part.Hi)
		m.vmas.insert(part)
	}
	return nil
}

// Discard makes the pages of [lo, hi) as after Map: zero, or the file's (MADV_DONTNEED).
func (m *Space) Discard(lo, hi emu.Addr) error {
	if err := m.check(lo, hi); err != nil {
		return err
	}
	m.removals++
	m.forget(lo, hi)
	if m.host.coarse() {
		return m.discardCoarse(lo, hi)
	}
	if err := m.abandon(lo, hi); err != nil {
		return err
	}
	return m.host.discardPages(lo, hi)
}

// Name sets the path shown for the VMAs in [lo, hi) ("[heap]", "[stack]").
func (m *Space) Name(lo, hi emu.Addr, path string) {
	m.vmas.flat = nil
	for p := m.vmas.search(lo); ; p = m.vmas.next(p) {
		v := m.vmas.at(p)
		if v == nil || v.Lo >= hi {
			return
		}
		v.Path = path
	}
}
