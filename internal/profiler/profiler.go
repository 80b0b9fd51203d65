// Package profiler turns what an engine counts into a profile: the costs of source lines.
//
// A Profiler wraps an engine. It switches counting on and off, as regions, functions and client requests ask for it,
// and it converts the engine's counts by address to source lines while the mapping that explains an address still
// exists: whenever the engine forgets code, at dumps, and at the end. Objects keeps the files that code comes from, for
// all processes of a run.
package profiler

import (
	"fmt"
	"io"
	"strings"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/internal/funcwatch"
	"github.com/cgemu/cgemu/internal/jitnames"
)

// A Config says what a Profiler counts.
type Config struct {
	// Regions says which parts of the run count.
	Regions Regions
	// Caches are those that the engine simulates, nil for none; Branches says that it simulates branch prediction.
	Caches   *cachesim.Config
	Branches bool
	// Events are groups of events to count besides: see EventGroups. Cycles adds a column of estimated cycles.
	Events []string
	Cycles bool
	// DumpInstr counts by instruction, too.
	DumpInstr bool
	// CallGraph records who called whom, if the engine can.
	CallGraph bool
	// Jumps counts jumps within functions, too, for the call graph.
	Jumps bool
	// Callers is how many callers tell functions apart, CallersOf how many do so for some: the most of those that name
	// a function. Both need CallGraph.
	Callers   int
	CallersOf []CallersOf
	// Inline names functions that were inlined, where debug information tells of them, and has calls to them in the
	// call graph.
	Inline bool
	// Threads counts threads apart.
	Threads bool
	// Compat leaves requests alone that Cachegrind does not know.
	Compat bool
	// Cmd is the command of new profiles.
	Cmd string
	// OnGoBenchmark, if it is set, says that the program is a test binary of Go's, of which only the benchmarks count.
	// It gets what a benchmark counted while its timer ran, each time that its function was called.
	OnGoBenchmark func(events []string, counts []uint64)
	// Log gets warnings about requests.
	Log io.Writer
	// Reclaim, if it is set, is called when much of Go's heap has become garbage, and what comes next could use it.
	Reclaim func()
	// OnDump gets what was counted when the program asks for a dump, if it is set.
	OnDump func(pid int, p *cgout.Profile)
}

// A Profiler is an engine whose counts become costs of source lines.
type Profiler struct {
	emu.Engine
	cfg   *Config
	pid   int
	costs *attribution
	space *mem.Space
	watch *funcwatch.Watcher
	// calls records calls, nil if nothing does.
	calls *callgraph.Recorder
	// discard says that all costs are lost, whatever the program asks for: the process is not to be counted.
	discard bool

	// instr says that code is instrumented: it is simulated, and counts if collecting says so too. now is what the
	// engine counts.
	instr, collecting bool
	now               emu.Counting
	// syscalls says that system calls count.
	syscalls bool
	// benchmarks says when a Go benchmark runs, nil if all of the program counts.
	benchmarks *goBenchmarks
	// manyNames says that functions were left out of those that the program names.
	manyNames bool
	// renamed says that code got a name after the engine asked about it.
	renamed bool
	// noted are counts that the engine has no more, nil if it has all.
	noted *notedCounts
}

// New returns a Profiler of e, which executes what is in m for the process pid.
func New(e emu.Engine, m *mem.Space, pid int, cfg *Config, objects *Objects) *Profiler {
	r := &cfg.Regions
	p := &Profiler{
		Engine: e, cfg: cfg, pid: pid, costs: newAttribution(cfg, objects), space: m,
		instr: !r.NotInstr && len(r.From) == 0, collecting: !r.NotCollecting && len(r.Toggle) == 0,
	}
	var allocs bool
	for _, col := range cfg.columns() {
		p.syscalls = p.syscalls || col.event == evSyscalls
		allocs = allocs || col.event == evAllocs
	}
	probes := p.regionProbes()
	if allocs {
		probes = append(probes, p.allocationProbe())
	}
	if cfg.OnGoBenchmark != nil {
		p.benchmarks = &goBenchmarks{p: p}
		probes = append(probes, p.benchmarks.probes()...)
	}
	if allocs || len(r.Toggle) > 0 {
		probes = append(probes, funcwatch.Jumps())
	}
	p.watch = funcwatch.New(e, m, p.costs.dwarf, probes)
	if r, ok := e.(interface{ Calls() *callgraph.Recorder }); ok && cfg.CallGraph {
		p.calls = r.Calls()
	}
	if p.calls != nil {
		p.costs.contexts.lists = p.calls.List
	}
	return p
}

// NewDiscarding returns a Profiler of a process that is not to be counted. Instructions are counted all the same, for
// the clock.
func NewDiscarding(e emu.Engine, m *mem.Space, pid int, cfg *Config, objects *Objects) *Profiler {
	p := New(e, m, pid, &Config{Compat: cfg.Compat, Log: cfg.Log}, objects)
	p.discard = true
	return p
}

// Inherit takes over from the parent process what of its run counts, as it is now.
func (p *Profiler) Inherit(parent *Profiler) {
	p.instr, p.collecting = parent.instr, parent.collecting
	p.watch.Inherit(parent.watch)
	p.costs.jit = parent.costs.jit.Clone()
	p.costs.profile.Cmd = parent.costs.profile.Cmd
	if p.calls != nil && parent.calls != nil {
		p.calls.Inherit(parent.calls)
	}
}

// MoveTo gives to, which has counted nothing, what p counted. p's engine goes on for the process pid, anew; discard
// says that it is not to be counted.
func (p *Profiler) MoveTo(to *Profiler, pid int, discard bool) {
	p.collect(0, ^emu.Addr(0))
	p.costs.each(p.costs.settle)
	p.costs.counted, to.costs.counted = to.costs.counted, p.costs.counted
	p.costs.threads, to.costs.threads = to.costs.threads, p.costs.threads
	p.pid, p.discard = pid, discard
}

// Unload is called before a program gives way to another one in its address space. Functions that were active when the
// process was forked may lie on pages of which it executed nothing: the engine is not told when those are unmapped, but
// calls in them cost something.
func (p *Profiler) Unload() {
	if p.calls != nil {
		p.collect(0, ^emu.Addr(0))
	}
}

// Exec is called when the program was replaced by that of an argument vector.
func (p *Profiler) Exec(argv []string) {
	p.watch.Reset()
	if p.calls != nil {
		p.calls.Reset()
	}
	p.benchmarks.reset()
	p.costs.each(p.costs.settle)
	p.costs.jit, p.costs.seen = jitnames.Names{}, namelessCode{}
	p.costs.profile.Cmd = strings.Join(argv, " ")
}

// Mapped is called when v was mapped.
func (p *Profiler) Mapped(v mem.VMA) { p.watch.Mapped(v) }

// PID returns the id of the process that the engine executes.
func (p *Profiler) PID() int { return p.pid }

// Discards reports whether the process is not counted.
func (p *Profiler) Discards() bool { return p.discard }

// Unmatched returns those of a list of options that name functions which no file of the process has; nil stands for all
// options.
func (p *Profiler) Unmatched(of []string) []string { return p.watch.Unmatched(of) }

// Place returns the source place of the instruction at a.
func (p *Profiler) Place(a emu.Addr) dwarfmap.Loc {
	p.costs.forgetMapping()
	return p.costs.place(p.space, a)
}

// Describe names the code in front of a for messages: function and offset, file and line, as far as they are known.
func (p *Profiler) Describe(a emu.Addr) string { return p.costs.describe(p.space, a) }

// Run implements emu.Engine, but that it never stops at a mark.
func (p *Profiler) Run(cpu *emu.CPU, budget uint64) emu.Stop {
	p.watch.Scan()
	p.runs(cpu)
	if p.renamed {
		p.forgetNameless()
	}
	for {
		if want := p.counting(cpu); want != p.now {
			p.now = want
			p.SetCounting(want)
			if want == emu.CountAll && p.calls != nil {
				p.calls.Counts(cpu)
			}
		}
		stop := p.Engine.Run(cpu, budget)
		if stop.Reason != emu.StopMark {
			if stop.Reason == emu.StopSyscall && p.syscalls && p.now == emu.CountAll {
				p.count(cpu.RIP-1, evSyscalls, 1)
			}
			return stop
		}
		// Give it at least one instruction of budget: the engine itself steps over the mark that it has just reported.
		budget = uint64(max(stop.Left, 1))
		p.watch.Reached(cpu)
	}
}

// counting is what counts while cpu's thread runs.
func (p *Profiler) counting(cpu *emu.CPU) emu.Counting {
	switch {
	case p.discard:
		return emu.CountAll
	case !p.instr:
		return emu.CountOff
	case p.collecting == p.watch.Inverted(cpu) || !p.benchmarks.count(cpu):
		return emu.CountNothing
	default:
		return emu.CountAll
	}
}

// Snapshot returns a copy of the costs so far, since the last dump, without counts by instruction. Nothing that is
// counted later depends on it.
func (p *Profiler) Snapshot() *cgout.Profile {
	p.collect(0, ^emu.Addr(0))
	return p.costs.snapshot()
}

// A finisher is an engine that can be told that it, and others of its kind, will not run any more, when its counts were
// collected. Translated is how many blocks of code it knows that no earlier run has kept.
type finisher interface {
	Translated() int
	Finish()
}

// manyBlocks is how many of these are worth it: engines take some 10 MB for them, and names were kept for few of them.
const manyBlocks = 10_000

// Finish is called before End if no process will run any more. What the engine knows of its code takes much memory, and
// so does naming what it counted, which comes afterwards.
func (p *Profiler) Finish() {
	e, ok := p.Engine.(finisher)
	if !ok || p.discard || e.Translated() < manyBlocks {
		return
	}
	p.noted = &notedCounts{}
	p.collectCounts(0, ^emu.Addr(0), p.noted.add)
	if p.calls != nil {
		p.calls.Collect(0, ^emu.Addr(0), p.noted.addCall)
	}
	e.Finish()
	if p.cfg.Reclaim != nil {
		p.cfg.Reclaim()
	}
}

// End returns the costs that were not dumped.
func (p *Profiler) End() *cgout.Profile {
	p.collect(0, ^emu.Addr(0))
	if p.calls != nil && p.calls.ManyContexts() && p.cfg.Log != nil {
		fmt.Fprintf(p.cfg.Log, "cgemu: process %d: functions were called in more than %d contexts: in others they are told apart by no callers; a smaller --separate-callers=N has fewer\n",
			p.pid, callgraph.MaxContexts)
	}
	return p.costs.take()
}

// Invalidate implements emu.Engine.
func (p *Profiler) Invalidate(lo, hi emu.Addr) {
	p.Engine.Invalidate(lo, hi)
	p.collect(lo, hi)
}

// A contextCollector is an engine that tells the counts of contexts apart: emu.Engine's Collect with these.
type contextCollector interface {
	CollectContexts(lo, hi emu.Addr, add func(c callgraph.Context, a emu.Addr, e emu.Event, n uint64))
}

// SeparatesCallers reports whether the engine tells functions apart by their callers.
func (p *Profiler) SeparatesCallers() bool { return p.calls != nil && p.calls.SeparatesCallers() }

// collect adds the counts of [lo, hi) to the costs, by what is mapped there now.
func (p *Profiler) collect(lo, hi emu.Addr) {
	if p.discard {
		return
	}
	p.costs.forgetMapping()
	if e, ok := p.Engine.(contextCollector); ok && p.calls != nil && p.calls.SeparatesCallers() {
		e.CollectContexts(lo, hi, func(c callgraph.Context, a emu.Addr, e emu.Event, n uint64) {
			p.costs.context = c
			p.costs.add(p.space, a, e, n)
		})
	} else {
		add := func(a emu.Addr, e emu.Event, n uint64) { p.costs.add(p.space, a, e, n) }
		if p.noted != nil {
			p.noted.each(add)
		}
		p.collectCounts(lo, hi, add)
	}
	if p.calls != nil {
		p.collectCalls(lo, hi)
	}
}

// A blockCollector is an engine that need not add up what blocks count of an instruction that they share: emu.Engine's
// Collect where that is nothing to whom it gives counts. An address comes as often as blocks have it.
type blockCollector interface {
	CollectBlocks(lo, hi emu.Addr, add func(a emu.Addr, e emu.Event, n uint64))
}

// collectCounts collects the counts of [lo, hi).
func (p *Profiler) collectCounts(lo, hi emu.Addr, add func(a emu.Addr, e emu.Event, n uint64)) {
	if e, ok := p.Engine.(blockCollector); ok && !p.costs.byInsn() {
		e.CollectBlocks(lo, hi, add)
		return
	}
	p.Engine.Collect(lo, hi, add)
}

// count adds n events that the engine does not see to the cost of the instruction at a. The event must be among the
// columns.
func (p *Profiler) count(a emu.Addr, e emu.Event, n uint64) {
	p.addCost(a, e, n)
	if p.calls != nil {
		p.calls.Add(e, n)
	}
}

// countCall is count of an event of the call at a that cpu's thread has just made.
func (p *Profiler) countCall(cpu *emu.CPU, a emu.Addr, e emu.Event, n uint64) {
	p.addCost(a, e, n)
	if p.calls != nil {
		p.calls.AddBefore(emu.Addr(cpu.Regs[emu.RSP]), e, n)
	}
}

// addCost adds n events that the engine does not see to the cost of the instruction at a.
func (p *Profiler) addCost(a emu.Addr, e emu.Event, n uint64) {
	p.costs.forgetMapping()
	if p.calls != nil {
		p.costs.context = p.calls.ContextOf(a)
	}
	p.costs.add(p.space, a, e, n)
}

// newProfile returns the profile of a run that has not begun.
func (cfg *Config) newProfile() *cgout.Profile {
	p := cgout.New(cfg.names()...)
	p.Cmd = cfg.Cmd
	if cfg.Caches != nil {
		p.Desc = cfg.Caches.Describe()
	}
	return p
}
