package cgemu

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls"
)

// A counted is an engine that knows what of a run counts, and whose counts become costs of source
// lines before the mapping of the code they belong to changes.
type counted struct {
	emu.Engine
	pid   int
	costs *costs
	space *mem.Space
	watch *watch
	// silent says that all costs are lost, whatever the program asks for.
	silent bool

	// instr says that code is instrumented: that it is simulated and counts, if collecting.
	instr, collecting bool
	now               emu.Counting
	// syscalls says that system calls count.
	syscalls bool
	compat   bool
	log      io.Writer
	onDump   func(int, *cgout.Profile)
}

// newEngine makes the engine of a process; parent is that of the process which made it, nil for the first.
func (r *runner) newEngine(pid int, parent *counted, m *mem.Space, env emu.Env) (emu.Engine, error) {
	cfg := *r.cfg
	silent := pid != syscalls.DefaultPID && !cfg.TraceChildren
	if silent {
		// Instructions are counted all the same, for the clock, and nobody looks whose they are.
		cfg.Regions, cfg.Events, cfg.Cycles, cfg.Caches, cfg.Branches = Regions{}, nil, false, nil, false
	}
	e, err := r.engine.make(m, env, &cfg)
	if err != nil {
		return nil, err
	}
	c := newCounted(e, m, &cfg, newCosts(newProfile(&cfg), &cfg, r.objects))
	c.pid, c.silent = pid, silent
	if k, ok := e.(*checker); ok {
		k.differ = func(d *Difference) { r.differ(c, d) }
	}
	if parent != nil && !silent {
		c.inherit(parent)
	}
	return c, nil
}

// differ ends the run with a difference that a process' engine found.
func (r *runner) differ(c *counted, d *Difference) {
	c.costs.remap()
	loc := c.costs.place(c.space, d.At)
	d.Place = fmt.Sprintf("%s, %s:%d", loc.Func, loc.File, loc.Line)
	r.difference = d
	r.cancel()
}

// inherit takes over what of its parent's run counts, as the parent is now.
func (c *counted) inherit(parent *counted) {
	c.instr, c.collecting = parent.instr, parent.collecting
	for i, in := range parent.watch.interests {
		c.watch.interests[i].matched, c.watch.interests[i].done = in.matched, in.done
	}
	c.costs.profile.Cmd = parent.costs.profile.Cmd
}

// moveTo gives n, which has counted nothing, what c counted, and lets c begin anew.
func (c *counted) moveTo(n *counted) {
	c.collect(0, ^emu.Addr(0))
	c.costs.profile, n.costs.profile = n.costs.profile, c.costs.profile
	c.costs.insns, n.costs.insns = n.costs.insns, c.costs.insns
}

// exec is called when the program was replaced by that of an argument vector.
func (c *counted) exec(argv []string) {
	c.watch.reset()
	c.costs.profile.Cmd = strings.Join(argv, " ")
}

func newCounted(e emu.Engine, m *mem.Space, cfg *Config, c *costs) *counted {
	r := &cfg.Regions
	k := &counted{
		Engine: e, pid: syscalls.DefaultPID, costs: c, space: m,
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
		stop := c.Engine.Run(cpu, budget)
		if stop.Reason != emu.StopMark {
			if stop.Reason == emu.StopSyscall && c.syscalls && c.now == emu.CountAll {
				c.count(cpu.RIP-1, evSyscalls, 1)
			}
			return stop
		}
		// What follows the mark has to run: it is the engine's to know that it was passed.
		budget = uint64(max(stop.Left, 1))
		c.watch.reached(cpu)
	}
}

// end returns the costs that were not dumped.
func (c *counted) end() *cgout.Profile {
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
	if c.silent {
		return
	}
	c.costs.remap()
	c.Engine.Collect(lo, hi, func(a emu.Addr, e emu.Event, n uint64) { c.costs.add(c.space, a, e, n) })
}

// count adds n events that the engine does not see to the cost of the instruction at a.
func (c *counted) count(a emu.Addr, e emu.Event, n uint64) {
	c.costs.remap()
	c.costs.add(c.space, a, e, n)
}
