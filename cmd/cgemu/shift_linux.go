package main

import "golang.org/x/sys/unix"

// shiftMemory has the memory of guests that begin before back is called lie at another address of the host's than that
// of a guest that has ended: a run that depends on the address is another one when it is repeated.
func shiftMemory() (back func()) {
	// It takes the place that the ended guest has left, so that the next one does not fit there.
	const size = 128 << 30
	room, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return func() {}
	}
	return func() { _ = unix.Munmap(room) }
}
