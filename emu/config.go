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
	// Debug is told what the engine does; nil for nobody.
	Debug *Debug
}
