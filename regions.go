package cgemu

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/internal/profiler"
)

// Regions says which parts of a run count, apart from what the program itself asks for by client
// requests. Functions are patterns, in which `*` stands for any text and `?` for any character. They are
// compared with symbols, with names as in the source, and with those without their parameters.
type Regions struct {
	// NotInstr begins without counting and without simulation, up to a request to start.
	NotInstr bool
	// NotCollecting begins with simulation and without counting, up to a request to toggle.
	NotCollecting bool
	// Toggle are functions in which collection is the other way round, for the thread that is in
	// them, and in what they call; in functions of these called by others of these as it was.
	Toggle []string
	// From are functions the first entry of which starts counting and simulation, which are off
	// until then.
	From []string
	// To are functions the first entry of which, while counting and simulation are on, ends both.
	To []string
}

// EventGroups returns the names that Config.Events may have.
func EventGroups() []string { return profiler.EventGroups() }

// profilerConfig returns what the profiler is to know of a run.
func (cfg *Config) profilerConfig() *profiler.Config {
	return &profiler.Config{
		Regions: profiler.Regions(cfg.Regions), Caches: cfg.Caches, Branches: cfg.Branches, Events: cfg.Events, Cycles: cfg.Cycles,
		DumpInstr: cfg.DumpInstr, CallGraph: cfg.CallGraph, Jumps: cfg.CollectJumps, Callers: cfg.SeparateCallers, CallersOf: callersOf(cfg.SeparateCallersOf), Inline: cfg.Inline, Threads: cfg.SeparateThreads, Compat: cfg.Compat, Cmd: strings.Join(cfg.Args, " "), Log: cfg.log(), OnDump: cfg.OnDump, Reclaim: cfg.Reclaim, OnGoBenchmark: cfg.OnGoBenchmark,
	}
}

// CallersOf is how many callers tell the functions apart that a pattern names, as those of Regions do.
type CallersOf struct {
	Function string
	Callers  int
}

func callersOf(list []CallersOf) (out []profiler.CallersOf) {
	for _, of := range list {
		out = append(out, profiler.CallersOf{Pattern: of.Function, Callers: of.Callers})
	}
	return out
}

// separatesCallers reports whether functions are told apart by their callers.
func (cfg *Config) separatesCallers() bool {
	return cfg.SeparateCallers > 0 || len(cfg.SeparateCallersOf) > 0
}

// findEngine returns the engine of a run: with callers, one that tells them apart.
func (cfg *Config) findEngine() (EngineInfo, error) {
	if !cfg.separatesCallers() {
		return FindEngine(cfg.Engine)
	}
	switch {
	case !cfg.CallGraph:
		return EngineInfo{}, errors.New("SeparateCallers needs CallGraph")
	case cfg.Engine == "" || cfg.Engine == AutoEngine:
		return FindEngine("interp")
	}
	engine, err := FindEngine(cfg.Engine)
	if err == nil && engine.Name != "interp" {
		err = fmt.Errorf("engine %s does not tell functions apart by their callers: interp does", engine.Name)
	}
	return engine, err
}
