//go:build !linux || portable

package mem

import (
	"errors"
	"fmt"
	"os"

	"github.com/cgemu/cgemu/emu"
)

// Hosts that are not Linux have memory for guests, but map no files into it: those are copied (coarse.go), and so is what moves. With the
// build tag "portable" that is so on Linux, too, for tests. What they are asked for is in pages_GOOS.go.

// A reservation is the host memory behind a Space.
type reservation struct {
	base        uintptr
	start, size uintptr
	page        uintptr
}

// mapsFiles says that the host maps files into guests' memory, if its pages are not larger than theirs.
const mapsFiles = false

// errMoved is why the host is asked for none of this: coarse.go does it.
var errMoved = errors.New("mem: BUG: pages of a host that maps no files are moved by copying")

// coarse says that this host maps no file.
func (r *reservation) coarse() bool { return true }

// maxProtected is how many pages the host may write-protect: none, as all engines look at Perms.
var maxProtected = func() int { return 0 }

// Available says why there can be no guest memory on this host; nil if there can.
func Available() error { return pagesAvailable() }

// Base returns the host address of guest address 0.
func (m *Space) Base() uintptr { return m.host.base }

// reserve reserves guest addresses up to limit.
func reserve(limit emu.Addr) (reservation, error) {
	page := uintptr(HostPage)
	size := uintptr(limit) + 2*page
	p, err := reservePages(size)
	if err != nil {
		return reservation{}, fmt.Errorf("mem: reserving %d GiB of address space: %w", limit>>30, err)
	}
	return reservation{base: (p + page - 1) &^ (page - 1), start: p, size: size, page: page}, nil
}

// reservePerms reserves a byte for each page below limit.
func reservePerms(limit emu.Addr) (Perms, error) {
	n := uintptr(limit / emu.PageSize)
	p, err := reservePages(n)
	if err == nil {
		err = commitPages(p, n)
	}
	if err != nil {
		return nil, err
	}
	return hostSlice(p, 0, uint64(n)), nil
}

// releasePerms gives them back. The host cannot refuse.
func releasePerms(p Perms) { _ = releasePages(hostAddr(p), uintptr(len(p))) }

func (r *reservation) release() error { return releasePages(r.start, r.size) }

func (r *reservation) view(a emu.Addr, n uint64) []byte { return hostSlice(r.base, a, n) }

// mapPages gives v memory: zeros if no file is behind it; what is behind it otherwise is copied when it is used.
func (r *reservation) mapPages(v VMA, src *os.File) error {
	lo, hi := r.whole(v.Lo, v.Hi)
	if lo >= hi {
		lo, hi = v.Hi, v.Hi
	} else if err := dropPages(r.base+uintptr(lo), uintptr(hi-lo)); err != nil {
		return err
	}
	for _, edge := range [2][2]emu.Addr{{v.Lo, lo}, {hi, v.Hi}} {
		if edge[0] == edge[1] {
			continue
		}
		if err := r.protectPages(edge[0], edge[1], Read|Write); err != nil {
			return err
		}
		clear(r.view(edge[0], uint64(edge[1]-edge[0])))
	}
	if v.Prot == 0 && src == nil {
		return nil // until it gets permissions
	}
	return r.protectPages(v.Lo, v.Hi, Read|Write)
}

// unmapPages gives the host its pages back.
func (r *reservation) unmapPages(lo, hi emu.Addr) error {
	if lo, hi = r.whole(lo, hi); lo >= hi {
		return nil
	}
	return dropPages(r.base+uintptr(lo), uintptr(hi-lo))
}

// protectPages sees to it that there is memory where something is permitted.
func (r *reservation) protectPages(lo, hi emu.Addr, prot Prot) error {
	if prot == 0 {
		return nil
	}
	lo, hi = r.around(lo, hi)
	return commitPages(r.base+uintptr(lo), uintptr(hi-lo))
}

func (r *reservation) movePages(lo, hi, to emu.Addr, newLen uint64) error { return errMoved }
func (r *reservation) discardPages(lo, hi emu.Addr) error                 { return errMoved }
func (r *reservation) removePages(lo, hi emu.Addr) error                  { return errMoved }

// populate is a hint that this host is not given.
func (r *reservation) populate(lo, hi emu.Addr) {}

// takeOver copies the pages of vmas from old to r, and gives old back.
func (r *reservation) takeOver(old *reservation, vmas []VMA) error {
	for _, v := range vmas {
		if err := r.mapPages(v, v.file()); err != nil {
			return err
		}
		err := changedPages(old.base, v, func(lo, hi emu.Addr) {
			copy(r.view(lo, uint64(hi-lo)), old.view(lo, uint64(hi-lo)))
		})
		if err != nil {
			return err
		}
	}
	return old.release()
}

// changedPages calls f for the runs of pages of v that have something else than zeros.
func changedPages(base uintptr, v VMA, f func(lo, hi emu.Addr)) error {
	return committedPages(base+uintptr(v.Lo), uintptr(v.Len()), func(p, n uintptr) {
		from := emu.Addr(p - base)
		end := from + emu.Addr(n)
		for at := from; at < end; at += emu.PageSize {
			if !isZero(hostSlice(base, at, emu.PageSize)) {
				continue
			}
			if from < at {
				f(from, at)
			}
			from = at + emu.PageSize
		}
		if from < end {
			f(from, end)
		}
	})
}

var zeros [emu.PageSize]byte

func isZero(b []byte) bool { return string(b) == string(zeros[:]) }

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
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for end := min(off+n, uint64(info.Size())); off < end; {
		m, err := f.WriteAt(zeros[:min(emu.PageSize, end-off)], int64(off))
		if err != nil {
			return err
		}
		off += uint64(m)
	}
	return nil
}
