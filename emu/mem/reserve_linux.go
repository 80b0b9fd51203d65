//go:build !portable

package mem

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// A reservation is the host memory behind a Space: PROT_NONE where nothing is mapped.
type reservation struct {
	base uintptr
	// start and size are those of all of it, Guard and GuardAbove included.
	start, size uintptr
	// page is the size of the host's pages.
	page uintptr
}

// MapsFiles says that the host maps files into guests' memory, if its pages are not larger than theirs.
const MapsFiles = true

// coarse reports whether the host's pages are larger than the guest's, so that it cannot map a page of the guest by
// itself (coarse_linux.go).
func (r *reservation) coarse() bool { return r.page > emu.PageSize }

// reserve reserves guest addresses up to limit.
func reserve(limit emu.Addr) (reservation, error) {
	page := uintptr(HostPage)
	size := Guard + uintptr(limit) + GuardAbove + page - emu.PageSize
	p, err := mmap(0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1, 0)
	if err != nil {
		return reservation{}, fmt.Errorf("mem: reserving %d GiB of address space: %w (is there a limit, ulimit -v?)", limit>>30, err)
	}
	return reservation{base: (p + Guard + page - 1) &^ (page - 1), start: p, size: size, page: page}, nil
}

// Available says why there can be no guest memory on this host; nil if there can.
func Available() error { return nil }

// Base returns the host address of guest address 0.
func (m *Space) Base() uintptr { return m.host.base }

// hostMappings is how many mappings a process of the host may have (vm.max_map_count). Tests replace it.
var hostMappings = sync.OnceValue(func() int {
	if text, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return n
		}
	}
	return 65530 // Linux's default, for hosts that do not tell
})

// maxProtected is how many pages of a group the host may write-protect for their code's sake: each parts a mapping of
// the host in three. Tests replace it.
var maxProtected = func() int { return max(hostMappings()/8, 16) }

// reservePerms reserves a byte for each page below limit.
func reservePerms(limit emu.Addr) (Perms, error) {
	return unix.Mmap(-1, 0, int(limit/emu.PageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
}

// releasePerms gives them back. The host cannot refuse.
func releasePerms(p Perms) { _ = unix.Munmap(p) }

func (r *reservation) release() error {
	_, _, e := unix.Syscall(unix.SYS_MUNMAP, r.start, r.size, 0)
	return errOrNil(e)
}

// touch has nothing to do: the host makes pages when they are used.
func (r *reservation) touch(emu.Addr) error { return nil }

func (r *reservation) view(a emu.Addr, n uint64) []byte { return hostSlice(r.base, a, n) }

func (r *reservation) mapPages(v VMA, src *os.File) error {
	if r.coarse() {
		return r.mapCoarse(v, src)
	}
	flags := unix.MAP_FIXED | unix.MAP_NORESERVE
	if v.Shared {
		flags |= unix.MAP_SHARED
	} else {
		flags |= unix.MAP_PRIVATE
	}
	fd := -1
	if src == nil {
		flags |= unix.MAP_ANON
	} else {
		fd = int(src.Fd())
	}
	_, err := mmap(r.base+uintptr(v.Lo), uintptr(v.Len()), hostProt(v.Prot), flags, fd, v.Off)
	return err
}

// mapAgain maps the shared pages of v in to, as they are in r, which asks nothing of their file.
func (r *reservation) mapAgain(to *reservation, v VMA) error {
	_, _, e := unix.Syscall6(unix.SYS_MREMAP, r.base+uintptr(v.Lo), 0, uintptr(v.Len()), unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, to.base+uintptr(v.Lo), 0)
	if e != 0 {
		return e
	}
	return to.protectPages(v.Lo, v.Hi, v.Prot)
}

func (r *reservation) unmapPages(lo, hi emu.Addr) error {
	if lo, hi = r.whole(lo, hi); lo >= hi {
		return nil
	}
	_, err := mmap(r.base+uintptr(lo), uintptr(hi-lo), unix.PROT_NONE,
		unix.MAP_FIXED|unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1, 0)
	return err
}

func (r *reservation) protectPages(lo, hi emu.Addr, prot Prot) error {
	if prot != 0 {
		lo, hi = r.around(lo, hi)
	} else if lo, hi = r.whole(lo, hi); lo >= hi {
		return nil
	}
	if r.coarse() && prot != 0 {
		prot = Read | Write // others may be in the same page
	}
	_, _, e := unix.Syscall(unix.SYS_MPROTECT, r.base+uintptr(lo), uintptr(hi-lo), uintptr(hostProt(prot)))
	return errOrNil(e)
}

// movePages goes over a place outside the region: mremap(2) can neither grow a mapping into the
// reservation's pages nor move one onto itself.
func (r *reservation) movePages(lo, hi, to emu.Addr, newLen uint64) error {
	n := min(uintptr(hi-lo), uintptr(newLen))
	p, err := moveFrom(r.base+uintptr(lo), n, 0)
	if err != nil {
		return err
	}
	if err := r.unmapPages(lo, hi); err != nil {
		return err
	}
	if n < uintptr(newLen) {
		q, _, e := unix.Syscall6(unix.SYS_MREMAP, p, n, uintptr(newLen), unix.MREMAP_MAYMOVE, 0, 0)
		if e != 0 {
			unix.Syscall6(unix.SYS_MREMAP, p, n, n, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, r.base+uintptr(lo), 0)
			return e
		}
		p = q
	}
	_, _, e := unix.Syscall6(unix.SYS_MREMAP, p, uintptr(newLen), uintptr(newLen),
		unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, r.base+uintptr(to), 0)
	return errOrNil(e)
}

// moveFrom moves n bytes of one mapping out of a reservation, to a place, or, if that is 0, to one that the host
// chooses and returns. The addresses stay taken: where they were free for a moment, another thread of this process
// might get them, and lose what it has there when the reservation takes them back. Linux before 5.7, or 5.13 for files,
// leaves no choice.
func moveFrom(from, n, place uintptr) (uintptr, error) {
	flags := uintptr(unix.MREMAP_MAYMOVE)
	if place != 0 {
		flags |= unix.MREMAP_FIXED
	}
	p, _, e := unix.Syscall6(unix.SYS_MREMAP, from, n, n, flags|unix.MREMAP_DONTUNMAP, place, 0)
	if e == unix.EINVAL {
		if place == 0 {
			// It would stay where it is.
			q, err := mmap(0, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1, 0)
			if err != nil {
				return 0, err
			}
			place, flags = q, flags|unix.MREMAP_FIXED
		}
		p, _, e = unix.Syscall6(unix.SYS_MREMAP, from, n, n, flags, place, 0)
	}
	return p, errOrNil(e)
}

// canLend reports whether pages can be lent: the host has to say which there are. The engine that learns of faults is
// one for amd64; under qemu-aarch64 a MADV_DONTNEED of pages that were lent left them as they were.
func (r *reservation) canLend() bool {
	return runtime.GOARCH == "amd64" && !r.coarse() && pagemap() >= 0
}

// give moves the pages of [lo, hi), which the host has in one mapping of private anonymous memory, to the same
// addresses of to (Linux 5.7).
func (r *reservation) give(to *reservation, lo, hi emu.Addr) error {
	n := uintptr(hi - lo)
	_, _, e := unix.Syscall6(unix.SYS_MREMAP, r.base+uintptr(lo), n, n,
		unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED|unix.MREMAP_DONTUNMAP, to.base+uintptr(lo), 0)
	return errOrNil(e)
}

func (r *reservation) discardPages(lo, hi emu.Addr) error {
	_, _, e := unix.Syscall(unix.SYS_MADVISE, r.base+uintptr(lo), uintptr(hi-lo), unix.MADV_DONTNEED)
	return errOrNil(e)
}

func (r *reservation) removePages(lo, hi emu.Addr) error {
	_, _, e := unix.Syscall(unix.SYS_MADVISE, r.base+uintptr(lo), uintptr(hi-lo), unix.MADV_REMOVE)
	return errOrNil(e)
}

// hostProt maps guest permissions to the host's: never executable, and readable
// wherever x86 would let the guest read.
func hostProt(p Prot) int {
	switch {
	case p&Write != 0:
		return unix.PROT_READ | unix.PROT_WRITE
	case p != 0:
		return unix.PROT_READ
	default:
		return unix.PROT_NONE
	}
}

func mmap(addr, length uintptr, prot, flags, fd int, off uint64) (uintptr, error) {
	p, _, e := unix.Syscall6(unix.SYS_MMAP, addr, length, uintptr(prot), uintptr(flags), uintptr(fd), uintptr(off))
	return p, errOrNil(e)
}

func errOrNil(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
