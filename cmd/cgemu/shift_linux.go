package main

import "golang.org/x/sys/unix"

// shiftMemory has the next guest's memory lie elsewhere than where an earlier one has given it back, until back is
// called: what a run depends on and should not then differs when it is repeated.
func shiftMemory() (back func()) {
	// It takes the place of that memory, which is as large.
	const size = 128 << 30
	room, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return func() {}
	}
	return func() { _ = unix.Munmap(room) }
}
