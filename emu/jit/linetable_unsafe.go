//go:build linux && amd64

package jit

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// A lineTable has a word for each line of guest memory, and one for no line, noLine. The host's memory behind it is
// reserved, and used where guest memory is.
type lineTable struct {
	host, size uintptr // of the words of lines
	line, word int     // bytes of a line and of its word
}

const (
	stampSize = 8 // bytes of a word of D1's table, and of LL's
	lineWord  = 4
	noLine    = ^uint64(lineWord - 1)
	// firstTable is where the host is asked to have the first table, above which not much else lies for 16 TiB: what
	// addresses beyond the guest's memory would have there is nothing (emitFind).
	firstTable = 80 << 40
	// A page is in front of the words, one behind them.
	tableEdge = uintptr(emu.PageSize)
)

// newLineTable makes a table, all zero, of words and lines of so many bytes.
func newLineTable(limit emu.Addr, line, word int) (lineTable, error) {
	t := lineTable{line: line, word: word}
	t.size = t.sizeFor(limit)
	p, err := rawMmap(firstTable, t.size+2*tableEdge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err != nil {
		return lineTable{}, fmt.Errorf("jit: reserving a table of %d GiB for a cache: %w", t.size>>30, err)
	}
	t.host = p + tableEdge
	return t, nil
}

func (t *lineTable) sizeFor(limit emu.Addr) uintptr {
	return uintptr(t.word) * (uintptr(limit) / uintptr(t.line))
}

// grow makes room for a guest with limit. The table may move.
func (t *lineTable) grow(limit emu.Addr) error {
	size := t.sizeFor(limit)
	if size <= t.size {
		return nil
	}
	p, _, e := unix.Syscall6(unix.SYS_MREMAP, t.host-tableEdge, t.size+2*tableEdge, size+2*tableEdge, unix.MREMAP_MAYMOVE, 0, 0)
	if e != 0 {
		return fmt.Errorf("jit: reserving a table of %d GiB for a cache: %w", size>>30, e)
	}
	t.host, t.size = p+tableEdge, size
	return nil
}

// stamp returns the word at a place of D1's table: how far that is from where it begins. half is that of LL's.
func (t *lineTable) stamp(place uint64) *uint64 { return stampAt(uint64(t.host) + place) }

func (t *lineTable) half(place uint64) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(nil), t.host+uintptr(place)))
}

// stampAt returns the stamp at a host address.
func stampAt(p uint64) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(nil), uintptr(p))) }

// clear makes all words 0.
func (t *lineTable) clear() {
	if t.size > 0 {
		unix.Syscall(unix.SYS_MADVISE, t.host-tableEdge, t.size+2*tableEdge, unix.MADV_DONTNEED)
	}
}

func (t *lineTable) close() {
	if t.size > 0 {
		unix.Syscall(unix.SYS_MUNMAP, t.host-tableEdge, t.size+2*tableEdge, 0)
		t.size = 0
	}
}
