package profiler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
)

// Events that no engine sees.
const (
	evSyscalls   = emu.NumEvents + iota // system calls made
	evAllocs                            // calls that allocate memory
	evAllocBytes                        // and the bytes they ask for
	evFrees                             // calls that free memory
	evCycles                            // estimated, from the others
	numEvents
)

// A column is an event under its name in profiles.
type column struct {
	name  string
	event emu.Event
}

// An eventGroup is events that are counted on demand, together.
type eventGroup struct {
	name    string
	columns []column
}

// eventGroups are in the order in which their columns follow Cachegrind's.
var eventGroups = []eventGroup{
	{"syscalls", []column{{"Sys", evSyscalls}}},
	{"rep", []column{{"Rep", emu.Reps}}},
	{"taken", []column{{"Taken", emu.Taken}}},
	{"loads", []column{
		{"Ld1", emu.Load1}, {"Ld2", emu.Load2}, {"Ld4", emu.Load4}, {"Ld8", emu.Load8},
		{"Ld16", emu.Load16}, {"Ld32", emu.Load32}, {"LdN", emu.LoadBig},
	}},
	{"stores", []column{
		{"St1", emu.Store1}, {"St2", emu.Store2}, {"St4", emu.Store4}, {"St8", emu.Store8},
		{"St16", emu.Store16}, {"St32", emu.Store32}, {"StN", emu.StoreBig},
	}},
	{"allocs", []column{{"Alloc", evAllocs}, {"AllocB", evAllocBytes}, {"Free", evFrees}}},
}

// EventGroups returns the names that Config.Events may have, in the order of their columns.
func EventGroups() []string {
	names := make([]string, len(eventGroups))
	for i, g := range eventGroups {
		names[i] = g.name
	}
	return names
}

// extraColumns returns the columns of groups, each once, in the order of eventGroups.
func extraColumns(groups []string) ([]column, error) {
	wanted := map[string]bool{}
	for _, g := range groups {
		wanted[g] = true
	}
	var columns []column
	for _, g := range eventGroups {
		if wanted[g.name] {
			columns = append(columns, g.columns...)
			delete(wanted, g.name)
		}
	}
	for _, g := range groups {
		if wanted[g] {
			return nil, fmt.Errorf("events %q: not one of %s", g, strings.Join(EventGroups(), ", "))
		}
	}
	return columns, nil
}

// Check refuses events that there are not.
func (cfg *Config) Check() error {
	if cfg.Cycles && cfg.Caches == nil {
		return errors.New("cycles are estimated from cache misses: there is no cache simulation")
	}
	if cfg.Jumps && !cfg.CallGraph {
		return errors.New("jumps are counted for the call graph: there is none")
	}
	_, err := extraColumns(cfg.Events)
	return err
}

// events are those of Cachegrind that are counted, in the order of its files.
func (cfg *Config) events() []emu.Event {
	events := []emu.Event{emu.Ir}
	if cfg.Caches != nil {
		events = append(events, emu.I1mr, emu.ILmr, emu.Dr, emu.D1mr, emu.DLmr, emu.Dw, emu.D1mw, emu.DLmw)
	}
	if cfg.Branches {
		events = append(events, emu.Bc, emu.Bcm, emu.Bi, emu.Bim)
	}
	return events
}

// names are the names of the profile's columns.
func (cfg *Config) names() (names []string) {
	for _, col := range cfg.columns() {
		names = append(names, col.name)
	}
	return names
}

// columns are those of a run's profile: Cachegrind's events in its order, then what else
// was asked for.
func (cfg *Config) columns() []column {
	var list []column
	for _, e := range cfg.events() {
		list = append(list, column{e.String(), e})
	}
	extra, _ := extraColumns(cfg.Events) // Check has refused others
	list = append(list, extra...)
	if cfg.Cycles {
		list = append(list, column{cyclesColumn, evCycles})
	}
	return list
}

// EngineEvents are the events that the engine is to count.
func (cfg *Config) EngineEvents() (s emu.EventSet) {
	for _, col := range cfg.columns() {
		if col.event < emu.NumEvents {
			s |= emu.Events(col.event)
		}
	}
	if cfg.Jumps {
		s |= emu.Events(emu.Taken)
	}
	return s
}

// OtherEvents are the events that are counted, and that no engine sees.
func (cfg *Config) OtherEvents() (s emu.EventSet) {
	for _, col := range cfg.columns() {
		if col.event >= emu.NumEvents && col.event != evCycles {
			s |= emu.Events(col.event)
		}
	}
	return s
}

// cyclesColumn is the name of the event that estimateCycles fills.
const cyclesColumn = "Cy"

// cycleWeights estimate cycles: what KCachegrind's "Cycle Estimation" adds up of Cachegrind's events.
var cycleWeights = map[string]uint64{
	"Ir":   1,
	"I1mr": 10, "D1mr": 10, "D1mw": 10,
	"ILmr": 100, "DLmr": 100, "DLmw": 100,
	"Bcm": 10, "Bim": 10,
}

// estimateCycles sets the column of estimated cycles, if p has one, from the others.
func estimateCycles(p *cgout.Profile) {
	estimate := cycleEstimate(p.Events)
	for i := range p.Len() {
		estimate(p.Counts(i))
	}
	if p.Graph != nil {
		p.Graph.Update(estimate)
	}
}

// cycleEstimate returns a function that sets the column of estimated cycles, if there is one.
func cycleEstimate(events []string) func(counts []uint64) {
	cycles := slices.Index(events, cyclesColumn)
	if cycles < 0 {
		return func([]uint64) {}
	}
	return func(counts []uint64) {
		counts[cycles] = 0
		for e, name := range events {
			counts[cycles] += cycleWeights[name] * counts[e]
		}
	}
}
