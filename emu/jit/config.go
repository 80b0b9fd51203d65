package jit

import (
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/hooks"
)

// Config says how an Engine counts and what CPU it shows.
type Config struct {
	// Model is the CPU whose instructions the guest may use.
	Model *emu.Model
	// Env gives what an instruction's result may depend on besides CPU and memory.
	Env emu.Env
	// Count says how to count.
	Count hooks.Options
	// Events are the events to count; Ir always is.
	Events emu.EventSet
	// Caches are the caches to simulate; nil for none.
	Caches *cachesim.Config
	// Branches asks for branch prediction to be simulated.
	Branches bool
}
