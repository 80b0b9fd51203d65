package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu"
)

// A countOptions holds the options that say what counts, and which events.
type countOptions struct {
	instrAtStart   yesNo
	collectAtStart yesNo
	regions        cgemu.Regions
	events         []string
	cycles         yesNo
	dumpInstr      yesNo
	callGraph      yesNo
	inline         yesNo
	threads        yesNo
	jumps          yesNo
	// callers is how many callers tell functions apart, callersOf has the patterns of those that so many do.
	callers   int
	callersOf [maxCallersOf + 1][]string
}

// maxCallersOf is the largest N that --separate-callersN=FUNCTION has, maxCallers that of --separate-callers=N.
const (
	maxCallersOf = 9
	maxCallers   = 100
)

// register adds the options to f.
func (c *countOptions) register(f *pflag.FlagSet) {
	c.instrAtStart, c.collectAtStart = true, true
	f.Var(&c.instrAtStart, "instr-at-start", "")
	f.Var(&c.collectAtStart, "collect-atstart", "")
	f.Var(&c.cycles, "cycles", "")
	f.Var(&c.dumpInstr, "dump-instr", "")
	f.Var(&c.callGraph, "call-graph", "")
	f.Var(&c.jumps, "collect-jumps", "")
	f.Var(&c.inline, "inline", "")
	f.Var(&c.threads, "separate-threads", "")
	for _, name := range []string{"instr-at-start", "collect-atstart", "cycles", "dump-instr", "call-graph", "collect-jumps", "inline", "separate-threads"} {
		f.Lookup(name).NoOptDefVal = "yes"
	}
	f.IntVar(&c.callers, "separate-callers", 0, "")
	for n := range c.callersOf {
		name := fmt.Sprintf("separate-callers%d", n)
		f.StringArrayVar(&c.callersOf[n], name, nil, "")
		f.Lookup(name).Hidden = true // in the help: the manual has them
	}
	f.StringArrayVar(&c.regions.Toggle, "toggle-collect", nil, "")
	f.StringArrayVar(&c.regions.From, "from", nil, "")
	f.StringArrayVar(&c.regions.To, "to", nil, "")
	f.StringSliceVar(&c.events, "events", nil, "")
}

// check refuses what does not go together.
func (c *countOptions) check(cacheSim bool) error {
	for _, name := range c.events {
		if !slices.Contains(cgemu.EventGroups(), name) {
			return fmt.Errorf("--events=%s: %q is not one of %s", strings.Join(c.events, ","), name,
				strings.Join(cgemu.EventGroups(), ", "))
		}
	}
	for _, o := range []struct {
		name     string
		patterns []string
	}{{"separate-callersN", slices.Concat(c.callersOf[:]...)}, {"toggle-collect", c.regions.Toggle}, {"from", c.regions.From}, {"to", c.regions.To}} {
		if slices.Contains(o.patterns, "") {
			return fmt.Errorf("--%s=: no function", o.name)
		}
	}
	for _, fn := range c.regions.From {
		if slices.Contains(c.regions.To, fn) {
			return fmt.Errorf("--from=%s --to=%[1]s: nothing is between the first entry of a function and itself; --toggle-collect=%[1]s counts it with what it calls", fn)
		}
	}
	if c.callers < 0 || c.callers > maxCallers {
		return fmt.Errorf("--separate-callers=%d: 0 to %d expected", c.callers, maxCallers)
	}
	if bool(c.cycles) && !cacheSim {
		return errors.New("--cycles: needs --cache-sim=yes: the estimate is made of cache misses")
	}
	return nil
}

// impliesCallGraph has options that say what a call graph has ask for one.
func (c *countOptions) impliesCallGraph(f *pflag.FlagSet) error {
	for _, o := range []struct {
		given     bool
		name, why string
	}{
		{c.separatesCallers(), "separate-callers", "functions are told apart in the call graph"}, {bool(c.jumps), "collect-jumps=yes", "jumps are in the call graph"},
	} {
		if o.given && f.Changed("call-graph") && !bool(c.callGraph) {
			return fmt.Errorf("--%s and --call-graph=no: not both: %s", o.name, o.why)
		}
		c.callGraph = c.callGraph || yesNo(o.given)
	}
	return nil
}

// apply puts the options into cfg.
func (c *countOptions) apply(cfg *cgemu.Config) {
	cfg.Regions = c.regions
	cfg.Regions.NotInstr, cfg.Regions.NotCollecting = !bool(c.instrAtStart), !bool(c.collectAtStart)
	cfg.Events, cfg.Cycles = c.events, bool(c.cycles)
	cfg.DumpInstr, cfg.CallGraph, cfg.Inline = bool(c.dumpInstr), bool(c.callGraph), bool(c.inline)
	cfg.SeparateThreads, cfg.SeparateCallers, cfg.CollectJumps = bool(c.threads), c.callers, bool(c.jumps)
	for n, patterns := range c.callersOf {
		for _, p := range patterns {
			cfg.SeparateCallersOf = append(cfg.SeparateCallersOf, cgemu.CallersOf{Function: p, Callers: n})
		}
	}
}

// separatesCallers reports whether functions are told apart by their callers.
func (c *countOptions) separatesCallers() bool {
	return c.callers > 0 || slices.ContainsFunc(c.callersOf[1:], func(p []string) bool { return len(p) > 0 })
}

// beginsNowhere reports whether all options at whose functions counting begins are among those that no function
// matched, as a message each said.
func (c *countOptions) beginsNowhere(unmatched []string) bool {
	begin := func(option string) bool {
		return strings.HasPrefix(option, "--toggle-collect=") || strings.HasPrefix(option, "--from=")
	}
	n := len(c.regions.Toggle) + len(c.regions.From)
	return n > 0 && n == len(slices.DeleteFunc(slices.Clone(unmatched), func(o string) bool { return !begin(o) }))
}

// cure is why a run may have counted nothing, and what helps, behind a colon; "" if nothing in the options explains it.
func (c *countOptions) cure() string {
	switch {
	case len(c.regions.Toggle)+len(c.regions.From) > 0:
		return ": no function of --toggle-collect or --from was entered; was it inlined, or is it called otherwise? annotate has the names, after a run that counts everything"
	case !bool(c.instrAtStart), !bool(c.collectAtStart):
		return ": the program did not ask for it; include/cgemu.h has the requests, and --toggle-collect or --from begin at a function"
	}
	return ""
}
