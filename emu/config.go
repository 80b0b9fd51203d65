package emu

import "github.com/cgemu/cgemu/cachesim"

// A Config says what an engine counts and which CPU it shows.
type Config struct {
	// Model is the CPU whose instructions the guest may use. Not every engine has those of all models.
	Model *Model
	// Env answers the instructions whose result depends on more than CPU and memory: RDTSC, RDRAND.
	Env Env
	// RepOnce counts a REP instruction once, as hardware counters do, instead of once for each iteration.
	RepOnce bool
	// Events are the events to count; Ir always is.
	Events EventSet
	// Caches are the caches to simulate; nil for none.
	Caches *cachesim.Config
	// Branches asks for branch prediction to be simulated.
	Branches bool
	// Function tells the functions of the guest apart: it is set if calls are to be recorded. Not every engine can.
	Function func(a Addr) Function
	// Callers has functions told apart by that many callers, if it is not 0: counts and calls are those of contexts
	// (callgraph.Context). Names returns numbers of the names of the functions that an address is in: the one that
	// holds it, and in front of that those that were inlined there, the innermost first. Not every engine that records
	// calls can.
	Callers int
	Names   func(a Addr) []uint32
	// Jumps has indirect jumps within functions recorded with the calls: from where to where, and how often.
	Jumps bool
	// Limited has code made for runs with budgets from the start, as when the number of instructions is limited;
	// without it an engine makes its code anew when it first gets one.
	Limited bool
	// Others are events beyond NumEvents, which the profiler counts and not the engine. With a call graph it adds them
	// by Recorder.Add.
	Others EventSet
	// Debug is told what the engine does; nil for nobody.
	Debug *Debug
}

// A Function is a function of the guest, as far as calls are concerned.
type Function struct {
	// ID tells it from others. It is the address where the function begins, if that is known.
	ID Addr
	// It has all addresses in [Lo, Hi), that which was asked for among them, and perhaps others.
	Lo, Hi Addr
	// Passes says that it is not one that is called, but on the way to it: an entry of a procedure linkage table, or
	// the dynamic linker's part that looks up where that leads.
	Passes bool
	// Parks says that it gives up a goroutine of Go: what it calls runs in that one's place, on the stack of the
	// thread. Resumes says that its indirect jump goes on with a goroutine, that of which R14 has the address
	// (runtime/asm_amd64.s).
	Parks, Resumes bool
}
