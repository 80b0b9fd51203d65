//go:build !portable

package mem

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// mapCoarse is mapPages for a host with larger pages: memory for v, zeros if no file is behind it; what is behind it
// otherwise is copied when it is used (coarse.go).
func (r *reservation) mapCoarse(v VMA, src *os.File) error {
	prot := v.Prot
	if src != nil {
		prot = Read | Write
	}
	lo, hi := r.whole(v.Lo, v.Hi)
	if lo >= hi {
		lo, hi = v.Hi, v.Hi
	} else if _, err := mmap(r.base+uintptr(lo), uintptr(hi-lo), hostProt(prot), unix.MAP_FIXED|unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1, 0); err != nil {
		return err
	}
	for _, edge := range [2][2]emu.Addr{{v.Lo, lo}, {hi, v.Hi}} {
		if edge[0] < edge[1] {
			if err := r.protectPages(edge[0], edge[1], Read|Write); err != nil {
				return err
			}
			clear(r.view(edge[0], uint64(edge[1]-edge[0])))
		}
	}
	return nil
}

// mapFirst maps the first page of src somewhere, as v says.
func mapFirst(v VMA, src *os.File) (unmap func() error, err error) {
	kind, n := unix.MAP_PRIVATE, uintptr(os.Getpagesize())
	if v.Shared {
		kind = unix.MAP_SHARED
	}
	p, err := mmap(0, n, hostProt(v.Prot), kind, int(src.Fd()), 0)
	return func() error {
		_, _, e := unix.Syscall(unix.SYS_MUNMAP, p, n, 0)
		return errOrNil(e)
	}, err
}

// punch makes a hole of n bytes in f.
func punch(f *os.File, off, n uint64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(off), int64(n))
}
