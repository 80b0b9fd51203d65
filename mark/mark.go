// Package mark says to cgemu which part of a Go program to count.
//
//	mark.Start()
//	work()
//	mark.Stop()
//
// with cgemu --instr-at-start=no ./program. Elsewhere than under cgemu, and on other
// machines than amd64, the functions do nothing. They concern all threads and goroutines,
// the garbage collector's too.
//
// A request is one instruction: that of Start is not counted itself, that of Stop is, and so are the
// instructions of this package in front of and behind it, some ten a call. The package imports nothing.
package mark

// Codes of requests, as include/cgemu.h has them.
const (
	start = 'C'<<24 + 'E'<<16 + iota
	stop
	zero
	dump
	dumpAt
	toggle
	running
)

// Start counts from here on, and simulates caches and branches if asked to.
func Start() { request(start, "") }

// Stop neither counts nor simulates from here on.
func Stop() { request(stop, "") }

// Zero forgets what was counted so far.
func Zero() { request(zero, "") }

// Dump writes what was counted so far to a file of its own, and forgets it.
func Dump() { request(dump, "") }

// DumpAt does the same; the file says why, in a line.
func DumpAt(name string) {
	if name == "" {
		name = " " // a length of 0 would mean that a NUL ends it
	}
	request(dumpAt, name)
}

// Toggle stops counting, or counts again; caches and branches are simulated all the time.
func Toggle() { request(toggle, "") }

// Running reports whether the program runs under cgemu.
func Running() bool { return request(running, "") != 0 }
