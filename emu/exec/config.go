package exec

import (
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/hooks"
)

// Config says how an engine counts and what CPU it shows.
type Config struct {
	// Model is the CPU whose instructions the guest may use: not all engines have those of all models.
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
