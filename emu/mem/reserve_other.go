//go:build !linux || portable

package mem

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/cgemu/cgemu/emu"
)

// Hosts that are not Linux have memory for guests, but map no files into it: those are copied (coarse.go), and so is
// what moves. With the build tag "portable" that is so on Linux, too, for tests. What they are asked for is in
// pages_GOOS.go.

// A reservation is the host memory behind a Space.
type reservation struct {
	base        uintptr
	start, size uintptr
	page        uintptr
}

// MapsFiles says that the host maps files into guests' memory, if its pages are not larger than theirs.
const MapsFiles = false

// errMoved is why none of this is asked for: pages are moved and copied as coarse.go has it.
var errMoved = errors.New("mem: BUG: pages of a host that maps no files are moved by copying")

// coarse says that this host maps no file.
func (r *reservation) coarse() bool { return true }

// hostMappings is how many mappings a process of the host may have: it has one for all of a space.
var hostMappings = func() int { return math.MaxInt }

// maxProtected is how many pages the host may write-protect: none, as all engines look at Perms.
var maxProtected = func() int { return 0 }

// Available says why there can be no guest memory on this host; nil if there can.
func Available() error { return pagesAvailable() }

// Base returns the host address of guest address 0.
func (m *Space) Base() uintptr { return m.host.base }

// reserve reserves guest addresses up to limit.
func reserve(limit emu.Addr) (reservation, error) {
	page := uintptr(HostPage)
	size := Guard + uintptr(limit) + 2*page
	p, err := reservePages(size)
	base := (p + Guard + page - 1) &^ (page - 1)
	if err == nil {
		if err = guardPages(p, base-p); err != nil {
			_ = releasePages(p, size) // the first error says what is wrong
		}
	}
	if err != nil {
		return reservation{}, fmt.Errorf("mem: reserving %d GiB of address space: %w (is there a limit of a process' memory?)", limit>>30, err)
	}
	return reservation{base: base, start: p, size: size, page: page}, nil
}

// reservePerms reserves a byte for each page below limit.
func reservePerms(limit emu.Addr) (Perms, error) {
	n := uintptr(limit / emu.PageSize)
	p, err := reservePages(n)
	if err != nil {
		return nil, err
	}
	if err := commitPages(p, n); err != nil {
		_ = releasePages(p, n) // the first error says what is wrong
		return nil, err
	}
	return hostSlice(p, 0, uint64(n)), nil
}

// releasePerms gives them back. The host cannot refuse.
func releasePerms(p Perms) { _ = releasePages(hostAddr(p), uintptr(len(p))) }

func (r *reservation) release() error { return releasePages(r.start, r.size) }

func (r *reservation) view(a emu.Addr, n uint64) []byte { return hostSlice(r.base, a, n) }

// mapPages takes away what memory there was. Pages of v are made when they are used.
func (r *reservation) mapPages(v VMA, _ *os.File) error { return r.unmapPages(v.Lo, v.Hi) }

// touch makes the page at a usable. What is in it stays, if there was something.
func (r *reservation) touch(a emu.Addr) error {
	lo, hi := r.around(a, a+emu.PageSize)
	return commitPages(r.base+uintptr(lo), uintptr(hi-lo))
}

// unmapPages gives the host its pages back.
func (r *reservation) unmapPages(lo, hi emu.Addr) error {
	if lo, hi = r.whole(lo, hi); lo >= hi {
		return nil
	}
	return dropPages(r.base+uintptr(lo), uintptr(hi-lo))
}

// protectPages has nothing to do: engines look at Perms.
func (r *reservation) protectPages(lo, hi emu.Addr, prot Prot) error { return nil }

func (r *reservation) movePages(lo, hi, to emu.Addr, newLen uint64) error { return errMoved }
func (r *reservation) mapAgain(*reservation, VMA) error                   { return errMoved }
func (r *reservation) discardPages(lo, hi emu.Addr) error                 { return errMoved }
func (r *reservation) removePages(lo, hi emu.Addr) error                  { return errMoved }

// canLend says that no pages are lent: forks copy.
func (r *reservation) canLend() bool { return false }

func (r *reservation) give(*reservation, emu.Addr, emu.Addr) error { return errMoved }

// populate is a hint that this host is not given.
func (r *reservation) populate(lo, hi emu.Addr) {}

// takeOver copies the pages that have been used from old to r, and gives old back.
func (r *reservation) takeOver(old *reservation, _ []VMA, copies map[emu.Addr]copyState) error {
	for p, state := range copies {
		if state < clean {
			continue
		}
		if err := r.touch(p); err != nil {
			return err
		}
		copy(r.view(p, emu.PageSize), old.view(p, emu.PageSize))
	}
	return old.release()
}

func changedPages(uintptr, VMA, func(lo, hi emu.Addr)) error { return errMoved }

var zeros [emu.PageSize]byte

// identify returns what tells f from other files. ok is false if the host does not say.
func identify(f *os.File) (id backingID, ok bool) { return identifyFile(f) }

// reopen returns a file of our own for src; nil if there is no descriptor left.
func reopen(src *os.File, _ int) *os.File { return duplicate(src) }

// mapFirst says whether the first page of src could be mapped.
func mapFirst(v VMA, src *os.File) (unmap func() error, err error) {
	info, err := src.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrKind
	}
	id, _ := identifyFile(src)
	if id.mode == os.O_WRONLY || v.Shared && v.Prot&Write != 0 && id.mode != os.O_RDWR {
		return nil, ErrAccess
	}
	return func() error { return nil }, nil
}

// punch makes n bytes of f zero, as far as it has them.
func punch(f *os.File, off, n uint64) error {
	size, err := fileSize(f)
	if err != nil {
		return err
	}
	for end := min(off+n, size); off < end; {
		m, err := f.WriteAt(zeros[:min(emu.PageSize, end-off)], int64(off))
		if err != nil {
			return err
		}
		off += uint64(m)
	}
	return nil
}
