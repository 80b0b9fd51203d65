//go:build linux && amd64

package jit

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// A lineDirectory has a word for each line of guest memory, and one for no line, noLine. The host's memory behind it is
// reserved, and used where guest memory is.
type lineDirectory struct {
	host, size uintptr // of the words of lines
	line, word int     // bytes of a line and of its word
}

const (
	stampSize = 8 // bytes of a word of D1's directory, and of LL's
	lineWord  = 4
	noLine    = ^uint64(lineWord - 1)
	// From firstDirectory on there are places of directories, one behind the other, with nothing else between them nor
	// for 16 TiB behind: what addresses beyond the guest's memory would have there is nothing, or another process's
	// (emitPlace).
	firstDirectory  = 64 << 40
	directoryPlaces = 256
	directoriesStep = 64 << 30
	// A page is in front of the words, one behind them.
	directoryEdge = uintptr(emu.PageSize)
)

// directoriesMade is how many places were looked at.
var directoriesMade atomic.Uint64

// newLineDirectory makes a directory, all zero, of words and lines of so many bytes.
func newLineDirectory(limit emu.Addr, line, word int) (lineDirectory, error) {
	t := lineDirectory{line: line, word: word}
	t.size = t.sizeFor(limit)
	p, err := uintptr(0), error(unix.EEXIST)
	for i := 0; err == unix.EEXIST && i <= directoryPlaces; i++ {
		at, flags := uintptr(0), unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE
		if i < directoryPlaces { // else anywhere
			at = firstDirectory + uintptr(directoriesMade.Add(1)-1)%directoryPlaces*directoriesStep
			flags |= unix.MAP_FIXED_NOREPLACE
		}
		p, err = rawMmap(at, t.size+2*directoryEdge, unix.PROT_READ|unix.PROT_WRITE, flags, -1)
	}
	if err != nil {
		return lineDirectory{}, t.refused(t.size, err)
	}
	unix.Syscall(unix.SYS_MADVISE, p, t.size+2*directoryEdge, unix.MADV_NOHUGEPAGE) // what is in use is scattered
	t.host = p + directoryEdge
	return t, nil
}

func (t *lineDirectory) refused(size uintptr, err error) error {
	return fmt.Errorf("jit: reserving %d GiB of addresses for the lines of a cache: %w (is vm.overcommit_memory 2?); --engine=interp does without", size>>30, err)
}

func (t *lineDirectory) sizeFor(limit emu.Addr) uintptr {
	return uintptr(t.word) * (uintptr(limit) / uintptr(t.line))
}

// grow makes room for a guest with limit. The directory may move.
func (t *lineDirectory) grow(limit emu.Addr) error {
	size := t.sizeFor(limit)
	if size <= t.size {
		return nil
	}
	p, _, e := unix.Syscall6(unix.SYS_MREMAP, t.host-directoryEdge, t.size+2*directoryEdge, size+2*directoryEdge, unix.MREMAP_MAYMOVE, 0, 0)
	if e != 0 {
		return t.refused(size, e)
	}
	t.host, t.size = p+directoryEdge, size
	return nil
}

// stamp returns the word at a place of D1's directory, how far it is from the first one; half is that of LL's.
func (t *lineDirectory) stamp(place uint64) *uint64 { return stampAt(uint64(t.host) + place) }

func (t *lineDirectory) half(place uint64) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(nil), t.host+uintptr(place)))
}

// stampAt returns the stamp at a host address.
func stampAt(p uint64) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(nil), uintptr(p))) }

// clear makes all words 0.
func (t *lineDirectory) clear() {
	if t.size > 0 {
		unix.Syscall(unix.SYS_MADVISE, t.host-directoryEdge, t.size+2*directoryEdge, unix.MADV_DONTNEED)
	}
}

func (t *lineDirectory) close() {
	if t.size > 0 {
		unix.Syscall(unix.SYS_MUNMAP, t.host-directoryEdge, t.size+2*directoryEdge, 0)
		t.size = 0
	}
}
