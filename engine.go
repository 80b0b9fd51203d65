package cgemu

import (
	"fmt"
	"io"
	"os"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/hooks"
)

// A counted is an engine that knows what of a run counts, and whose counts become costs of source
// lines before the mapping of the code they belong to changes.
type counted struct {
	emu.Engine
	costs *costs
	space *mem.Space
	watch *watch

	// instr says that code is instrumented: that it is simulated and counts, if collecting.
	instr, collecting bool
	now               emu.Counting
	// syscalls says that system calls count.
	syscalls bool
	compat   bool
	log      io.Writer
	onDump   func(*cgout.Profile)
}

func newEngine(m *mem.Space, env emu.Env, cfg *Config, c *costs) (*counted, error) {
	e, err := jit.New(m, jit.Config{
		Model: cfg.Model, Env: env, Count: hooks.Options{RepOnce: cfg.RepOnce},
		Events: cfg.engineEvents(), Caches: cfg.Caches, Branches: cfg.Branches,
	})
	if err != nil {
		return nil, err
	}
	return newCounted(e, m, cfg, c), nil
}

func newCounted(e emu.Engine, m *mem.Space, cfg *Config, c *costs) *counted {
	r := &cfg.Regions
	k := &counted{
		Engine: e, costs: c, space: m,
		instr: !r.NotInstr && len(r.From) == 0, collecting: !r.NotCollecting && len(r.Toggle) == 0,
		compat: cfg.Compat, log: cfg.Log, onDump: cfg.OnDump,
	}
	if k.log == nil {
		k.log = os.Stderr
	}
	var allocs bool
	for _, col := range cfg.columns() {
		k.syscalls = k.syscalls || col.event == evSyscalls
		allocs = allocs || col.event == evAllocs
	}
	interests := r.interests(k)
	if allocs {
		interests = append(interests, allocations(k))
	}
	if allocs || len(r.Toggle) > 0 {
		interests = append(interests, landings())
	}
	k.watch = newWatch(e, m, c, interests)
	return k
}

// Run implements emu.Engine, but that it never stops at a mark.
func (c *counted) Run(cpu *emu.CPU, budget uint64) emu.Stop {
	c.watch.scan()
	for {
		if want := c.counting(cpu); want != c.now {
			c.now = want
			c.SetCounting(want)
		}
		before := uint64(0)
		if budget < emu.NoBudget {
			before = c.Executed()
		}
		stop := c.Engine.Run(cpu, budget)
		if stop.Reason != emu.StopMark {
			if stop.Reason == emu.StopSyscall && c.syscalls && c.now == emu.CountAll {
				c.count(cpu.RIP-1, evSyscalls, 1)
			}
			return stop
		}
		if budget < emu.NoBudget {
			// What follows the mark has to run: it is the engine's to know that it was passed.
			budget = max(budget-min(c.Executed()-before, budget), 1)
		}
		c.watch.reached(cpu)
	}
}

// end returns the costs that were not dumped, and names functions that were asked for and not seen.
func (c *counted) end() *cgout.Profile {
	for _, option := range c.watch.unmatched() {
		fmt.Fprintf(c.log, "cgemu: %s: no program or library that was loaded has such a function\n", option)
	}
	c.collect(0, ^emu.Addr(0))
	return c.costs.take()
}

// Invalidate implements emu.Engine.
func (c *counted) Invalidate(lo, hi emu.Addr) {
	c.Engine.Invalidate(lo, hi)
	c.collect(lo, hi)
}

// collect adds the counts of [lo, hi) to the costs, by what is mapped there now.
func (c *counted) collect(lo, hi emu.Addr) {
	c.costs.remap()
	c.Engine.Collect(lo, hi, func(a emu.Addr, e emu.Event, n uint64) { c.costs.add(c.space, a, e, n) })
}

// count adds n events that the engine does not see to the cost of the instruction at a.
func (c *counted) count(a emu.Addr, e emu.Event, n uint64) {
	c.costs.remap()
	c.costs.add(c.space, a, e, n)
}
