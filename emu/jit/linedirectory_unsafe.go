//go:build linux && amd64

package jit

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// A lineDirectory has a word for each line of guest memory, and one in front for no line. The host's memory behind it
// is reserved, and used where guest memory is.
type lineDirectory struct{ host, size uintptr } // of the words of lines

const (
	stampSize = 8 // bytes of a word of D1's directory
	// From firstDirectory on there are places of directories, one behind the other. Nothing else is between them, nor
	// for 16 TiB behind, as long as the host has room elsewhere: what addresses beyond the guest's memory would have
	// there is nothing, or another process's (emitPlace).
	firstDirectory  = 64 << 40
	directoryPlaces = 256
	directoriesStep = 64 << 30
	// A page is in front of the words, one behind them.
	directoryEdge = uintptr(emu.PageSize)
)

var (
	// directoriesTried is how many places were looked at.
	directoriesTried atomic.Uint64
	// directoriesTake is how many bytes of addresses all directories take.
	directoriesTake atomic.Int64
)

// maxDirectories is how many bytes engines that are suspended may leave taken: those of 40 small processes. It takes
// 1 ms to fill the directories of one that ran for a while.
const maxDirectories = 1 << 40

// newLineDirectory makes a directory, all zero, of words and lines of so many bytes.
func newLineDirectory(limit emu.Addr, line, word int) (lineDirectory, error) {
	size := uintptr(word) * (uintptr(limit) / uintptr(line))
	p, err := uintptr(0), error(unix.EEXIST)
	for i := 0; err == unix.EEXIST && i <= directoryPlaces; i++ {
		at, flags := uintptr(0), unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE
		if i < directoryPlaces { // else anywhere
			at = firstDirectory + uintptr(directoriesTried.Add(1)-1)%directoryPlaces*directoriesStep
			flags |= unix.MAP_FIXED_NOREPLACE
		}
		p, err = rawMmap(at, size+2*directoryEdge, unix.PROT_READ|unix.PROT_WRITE, flags, -1)
	}
	if err != nil {
		return lineDirectory{}, fmt.Errorf("jit: reserving %d GiB of addresses for the lines of a cache: %w (is there a limit, ulimit -v, or is vm.overcommit_memory 2?); --engine=interp does without", size>>30, err)
	}
	directoriesTake.Add(int64(size))
	unix.Syscall(unix.SYS_MADVISE, p, size+2*directoryEdge, unix.MADV_NOHUGEPAGE) // what is in use is scattered
	return lineDirectory{host: p + directoryEdge, size: size}, nil
}

// stamp returns the word of D1's directory that is so many bytes behind the first one.
func (d *lineDirectory) stamp(place uint64) *uint64 { return stampAt(uint64(d.host) + place) }

// getCell returns that of LL's, of size bytes, setCell sets it.
func (d *lineDirectory) getCell(place uint64, size int) int {
	if size == 1 {
		return int(*d.cell(place))
	}
	return int(*(*uint16)(unsafe.Pointer(d.cell(place))))
}

func (d *lineDirectory) setCell(place uint64, size, value int) {
	if size == 1 {
		*d.cell(place) = uint8(value)
		return
	}
	*(*uint16)(unsafe.Pointer(d.cell(place))) = uint16(value)
}

func (d *lineDirectory) cell(place uint64) *uint8 {
	return (*uint8)(unsafe.Add(unsafe.Pointer(nil), d.host+uintptr(place)))
}

// stampAt returns the stamp at a host address.
func stampAt(p uint64) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(nil), uintptr(p))) }

func (d *lineDirectory) close() {
	if d.size > 0 {
		unix.Syscall(unix.SYS_MUNMAP, d.host-directoryEdge, d.size+2*directoryEdge, 0)
		directoriesTake.Add(-int64(d.size))
		d.size = 0
	}
}
