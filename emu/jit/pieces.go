//go:build linux && amd64

package jit

import (
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu/mem"
)

// pieces are those of a reserved range that were made accessible. Others are PROT_NONE.
type pieces struct {
	at, size uintptr // the range
	kept     uintptr // how much of its beginning stays reserved, for another one, when it is given back
	each     uintptr // the size of a piece
	open     map[uintptr]bool
	// parts is how many mappings of the host the pieces make more.
	parts int
}

// allParts is how many mappings of the host the pieces of all ranges make more. A process has a limited number of them
// (vm.max_map_count), and without any left it cannot go on, so there are maxParts at most, or leastParts of each range.
// Tests replace maxParts.
var (
	allParts atomic.Int64
	maxParts = sync.OnceValue(func() int { return mem.HostMappings() / 16 })
)

const leastParts = 64

// newPieces has none of the range yet.
func newPieces(at, size, each uintptr) pieces {
	return pieces{at: at, size: size, each: each, open: map[uintptr]bool{}}
}

// has reports whether the piece with a number is accessible.
func (p *pieces) has(i uintptr) bool { return p.open[i] }

// add makes a piece accessible. If there is no room for it, all others are given back before, and lost says that what
// they held is gone.
func (p *pieces) add(i uintptr) (lost bool, err error) {
	err = p.makeAccessible(i)
	if err == nil || len(p.open) == 0 {
		return false, err
	}
	if _, err := rawMmap(p.at, p.size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED, -1); err != nil {
		return false, fmt.Errorf("jit: giving memory back: %w", err)
	}
	p.forget()
	return true, p.makeAccessible(i)
}

func (p *pieces) makeAccessible(i uintptr) error {
	// A mapping is parted in three, unless the piece lies beside another one.
	more := 2 - 2*b2i(p.open[i-1]) - 2*b2i(p.open[i+1])
	e := unix.ENOMEM
	if p.parts+more <= leastParts || int(allParts.Load())+more <= maxParts() {
		_, _, e = unix.Syscall(unix.SYS_MPROTECT, p.at+i*p.each, p.each, unix.PROT_READ|unix.PROT_WRITE)
	}
	if e != 0 {
		return fmt.Errorf("%w (is there a limit of mappings, vm.max_map_count?)", e)
	}
	p.open[i] = true
	p.parts += more
	allParts.Add(int64(more))
	return nil
}

// clear makes the pieces 0, all of which stay.
func (p *pieces) clear() {
	for i := range p.open {
		unix.Syscall(unix.SYS_MADVISE, p.at+i*p.each, p.each, unix.MADV_DONTNEED)
	}
}

// release gives the range back.
func (p *pieces) release() {
	if p.size != 0 {
		if p.kept > 0 {
			p.clear() // in case that the host cannot do what comes next
			rawMmap(p.at, p.kept, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED, -1)
		}
		unix.Syscall(unix.SYS_MUNMAP, p.at+p.kept, p.size-p.kept, 0)
		p.forget()
		*p = pieces{}
	}
}

// forget notes that there are none.
func (p *pieces) forget() {
	clear(p.open)
	allParts.Add(int64(-p.parts))
	p.parts = 0
}
