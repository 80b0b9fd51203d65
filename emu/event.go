package emu

// An Event is something that happens when an instruction executes, and that is counted for
// its address.
type Event uint8

// Cachegrind's events, in the order of its files (docs/counting.md, "The file"), and what
// Cachegrind has not.
const (
	Ir   Event = iota // instructions executed
	I1mr              // fetches that missed the first-level instruction cache
	ILmr              // and the last level
	Dr                // data reads
	D1mr
	DLmr
	Dw // data writes
	D1mw
	DLmw
	Bc  // conditional branches executed
	Bcm // and mispredicted
	Bi  // indirect branches executed
	Bim

	Taken // conditional branches taken
	Reps  // iterations of REP instructions
	Load1 // data reads by size in bytes; Modify counts as both
	Load2
	Load4
	Load8
	Load16
	Load32
	LoadBig // of another size
	Store1
	Store2
	Store4
	Store8
	Store16
	Store32
	StoreBig

	NumEvents
)

var eventNames = [NumEvents]string{
	"Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm", "Bi", "Bim", "Taken", "Reps",
	"Load1", "Load2", "Load4", "Load8", "Load16", "Load32", "LoadBig",
	"Store1", "Store2", "Store4", "Store8", "Store16", "Store32", "StoreBig",
}

// String returns the name of e in a profile.
func (e Event) String() string { return eventNames[e] }

// An EventSet is a set of events.
type EventSet uint64

// Events returns the set of some events.
func Events(events ...Event) (s EventSet) {
	for _, e := range events {
		s |= 1 << e
	}
	return s
}

// Has reports whether e is in s.
func (s EventSet) Has(e Event) bool { return s>>e&1 != 0 }

// A Counting says what an engine does besides executing.
type Counting uint8

// Ways of counting.
const (
	// CountAll counts, and simulates caches and predictors if the engine was made to.
	CountAll Counting = iota
	// CountNothing simulates the same and counts nothing.
	CountNothing
	// CountOff neither simulates nor counts.
	CountOff
)
