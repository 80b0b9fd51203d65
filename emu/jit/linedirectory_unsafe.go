//go:build linux && amd64

package jit

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// A wayTable has a 16-bit word for each line of guest memory. The host's memory behind it is
// reserved, and used where guest memory is.
type wayTable struct{ host, size uintptr }

// firstWays is where the host is asked to have the first table, and waysApart how far from there the next ones: code
// knows the addresses, and can be used again where they are the same (image.go). A table may grow there.
const (
	firstWays = 80 << 40
	waysApart = 1 << 40
)

// newWayTable makes the table with a number, all zero.
func newWayTable(limit emu.Addr, line, number int) (wayTable, error) {
	size := 2 * uintptr(limit) / uintptr(line)
	p, err := rawMmap(firstWays+uintptr(number)*waysApart, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err != nil {
		return wayTable{}, fmt.Errorf("jit: reserving a table of %d GiB for a cache: %w", size>>30, err)
	}
	return wayTable{host: p, size: size}, nil
}

// grow makes room for a guest with limit, and reports whether the table has moved.
func (w *wayTable) grow(limit emu.Addr, line int) (moved bool, err error) {
	size := 2 * uintptr(limit) / uintptr(line)
	p, _, e := unix.Syscall6(unix.SYS_MREMAP, w.host, w.size, size, unix.MREMAP_MAYMOVE, 0, 0)
	if e != 0 {
		return false, fmt.Errorf("jit: reserving a table of %d GiB for a cache: %w", size>>30, e)
	}
	moved = p != w.host
	w.host, w.size = p, size
	return moved, nil
}

// at returns the word of the line with a number.
func (w *wayTable) at(line uint64) *uint16 {
	return (*uint16)(unsafe.Add(unsafe.Pointer(nil), w.host+2*uintptr(line)))
}

// clear makes all words 0.
func (w *wayTable) clear() {
	if w.size > 0 {
		unix.Syscall(unix.SYS_MADVISE, w.host, w.size, unix.MADV_DONTNEED)
	}
}

func (w *wayTable) close() {
	if w.size > 0 {
		unix.Syscall(unix.SYS_MUNMAP, w.host, w.size, 0)
		w.size = 0
	}
}
