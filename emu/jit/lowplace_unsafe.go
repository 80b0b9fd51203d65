//go:build linux && amd64

package jit

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A lowPlace is memory below 2 GiB for the low part of an arena, whose address is in the code. There are few such
// places; so engines of a Pool share them, and those that do not run have theirs elsewhere meanwhile.
type lowPlace struct {
	at     uintptr
	number int // of the place: no two of a pool have the same
	size   int
	users  int
	holder *arena // whose low part is there, nil if it is nobody's
}

// newLowPlace maps a place that is all zero: that with a number, if it is free, so that code which knows it can be used
// again (image.go).
func newLowPlace(size, number int) (*lowPlace, error) {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE
	apart := (uintptr(size) + hugePage - 1) &^ (hugePage - 1)
	at, err := uintptr(0), error(unix.EEXIST)
	for ; err == unix.EEXIST && number < maxPlaces && firstPlace+uintptr(number+1)*apart <= 1<<31; number++ { // others may have it
		want := firstPlace + uintptr(number)*apart
		at, err = rawMmap(want, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_FIXED_NOREPLACE, -1)
		if err == nil && at != want { // before Linux 4.17
			unix.Syscall(unix.SYS_MUNMAP, at, uintptr(size), 0)
			err = unix.EOPNOTSUPP
		}
	}
	if err != nil {
		at, err = rawMmap(0, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_32BIT, -1)
	}
	if err != nil {
		return nil, fmt.Errorf("jit: mapping %d MiB below 2 GiB, to simulate and to count more than instructions: %w", size>>20, err)
	}
	return &lowPlace{at: at, number: max(number-1, 0), size: size}, nil
}

// anyLowPlace is newLowPlace for an engine without a pool.
func anyLowPlace(size int) (*lowPlace, error) { return newLowPlace(size, 0) }

// firstPlace is where the place with number 0 is: above the binary and the heap of the C library, which Linux begins up
// to 1 GiB behind it, and below the directory of jump tables.
const firstPlace = 0x4800_0000

// join gives a its low part, which is all zero, in p, which nobody holds.
func (p *lowPlace) join(a *arena) {
	a.place, a.low = p, bytesAt(p.at, p.size)
	p.users, p.holder = p.users+1, a
}

// leave frees a's low part.
func (p *lowPlace) leave(a *arena) {
	switch p.users--; {
	case p.holder != a:
		unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&a.low[0])), uintptr(p.size), 0)
	case p.users > 0:
		unix.Syscall(unix.SYS_MADVISE, p.at, uintptr(p.size), unix.MADV_DONTNEED)
		p.holder = nil
	}
	if p.users == 0 {
		unix.Syscall(unix.SYS_MUNMAP, p.at, uintptr(p.size), 0)
	}
}

// leaveMapped has a move leave pages of zeros behind. Tests replace it.
var leaveMapped uintptr = unix.MREMAP_DONTUNMAP

// vacate moves the low part that is in p elsewhere. What is left is all zero.
func (p *lowPlace) vacate() error {
	if p.holder == nil {
		return nil
	}
	to, err := rawMmap(0, uintptr(p.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err == nil {
		err = p.move(p.at, to, leaveMapped)
	}
	if err == unix.EINVAL { // before Linux 5.7
		copy(bytesAt(to, p.size), p.holder.low)
		_, _, e := unix.Syscall(unix.SYS_MADVISE, p.at, uintptr(p.size), unix.MADV_DONTNEED)
		if err = nil; e != 0 {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("jit: moving what is below 2 GiB: %w", err)
	}
	p.holder.low, p.holder = bytesAt(to, p.size), nil
	return nil
}

// enter moves a's low part back to p, which nobody holds.
func (p *lowPlace) enter(a *arena) error {
	if err := p.move(uintptr(unsafe.Pointer(&a.low[0])), p.at, 0); err != nil {
		return fmt.Errorf("jit: moving what is to be below 2 GiB: %w", err)
	}
	a.low, p.holder = bytesAt(p.at, p.size), a
	return nil
}

func (p *lowPlace) move(from, to uintptr, flags uintptr) error {
	n := uintptr(p.size)
	if _, _, e := unix.Syscall6(unix.SYS_MREMAP, from, n, n, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED|flags, to, 0); e != 0 {
		return e
	}
	return nil
}

// maxPlaces is how many places a Pool has: 42 MiB each with caches of the usual sizes.
const maxPlaces = 16

// lowPlace returns a place of a size that nobody holds, for a new engine.
func (p *Pool) lowPlace(size int) (*lowPlace, error) {
	p.places = slices.DeleteFunc(p.places, func(l *lowPlace) bool { return l.users == 0 })
	var err error
	if len(p.places) < maxPlaces {
		var l *lowPlace
		number := 0
		for slices.ContainsFunc(p.places, func(l *lowPlace) bool { return l.number == number }) {
			number++
		}
		if l, err = newLowPlace(size, number); err == nil {
			p.places = append(p.places, l)
			return l, nil
		}
	}
	var least *lowPlace
	for _, l := range p.places {
		if l.size == size && (least == nil || l.users < least.users) {
			least = l
		}
	}
	if least == nil {
		if err == nil {
			err = fmt.Errorf("jit: BUG: engines of one pool that need other places below 2 GiB")
		}
		return nil, err
	}
	return least, p.vacate(least)
}

// vacate suspends the engine whose low part is in l, and moves that elsewhere.
func (p *Pool) vacate(l *lowPlace) error {
	if i := slices.IndexFunc(p.awake, func(e *Engine) bool { return &e.arena == l.holder }); i >= 0 {
		p.suspend(i)
	}
	return l.vacate()
}

// settleLow puts e's low part where its code looks for it.
func (p *Pool) settleLow(e *Engine) error {
	l := e.arena.place
	if l == nil || l.holder == &e.arena {
		return nil
	}
	if err := p.vacate(l); err != nil {
		return err
	}
	return l.enter(&e.arena)
}
