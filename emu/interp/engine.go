package interp

import (
	"slices"
	"sync/atomic"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/tally"
	"github.com/cgemu/cgemu/hooks"
)

// An Engine executes the code of one address space.
type Engine struct {
	emu.Config
	mem     *mem.Space
	decoder *guest.Decoder
	machine sem.Machine

	*cache // the blocks in use
	caches [emu.CountOff + 1]*cache
	// pages has the blocks of each page, those of all caches.
	pages map[emu.Addr][]*block
	// decoded is how many instructions they all have.
	decoded  int
	counting emu.Counting
	marks    map[emu.Addr]bool
	// entries is how often blocks on exempt pages were entered and were the same (selfcheck.go), held scratch space.
	entries map[emu.Addr]uint64
	held    []byte

	// budgeted says that there is a budget, left is what is left of it.
	budgeted bool
	left     int64
	// run is how many instructions of a straight run lie in front of the next block: 0 but where a block ended in the
	// middle.
	run int
	// passing is the CPU that stopped at a mark last, at passes: it goes on behind the mark.
	passing *emu.CPU
	passes  emu.Addr
	// interrupted is the CPU that Interrupt stopped: its straight run goes on.
	interrupted *emu.CPU
	interrupt   atomic.Bool

	// state is the CPU that is executed, owner whose it is.
	state state
	owner *emu.CPU
	hostMemory
	// failed is the fault of the instruction that is being executed.
	failed *emu.Fault

	executed  uint64
	plans     [][]planned
	planIndex map[hooks.Plan]uint16
	// collected has the counts that no block has any more, or that do not follow from a block's.
	collected [emu.NumEvents]tally.Tally
	sim       simulation
	calls     *calls // nil if calls are not recorded
	// contexts has the counts in the place of collected if functions are told apart by their callers, nil if they are
	// not. context is that of what is executed, or gathered.
	contexts contextCounts
	context  callgraph.Context
}

// New returns an engine for the code in m.
func New(m *mem.Space, cfg emu.Config) (emu.Engine, error) {
	e := &Engine{
		Config: cfg, mem: m, decoder: guest.NewDecoder(m, guest.Features(cfg.Model), "engine"),
		machine: sem.Machine{Mem: m, Model: cfg.Model, Env: cfg.Env},
		pages:   map[emu.Addr][]*block{}, marks: map[emu.Addr]bool{}, entries: map[emu.Addr]uint64{}, planIndex: map[hooks.Plan]uint16{},
	}
	e.Events |= emu.Events(emu.Ir)
	e.sim = newSimulation(&cfg)
	if cfg.Function != nil {
		e.calls = newCalls(e.Events|cfg.Others, cfg.Function, m)
	}
	if cfg.Callers > 0 {
		e.calls.SeparateCallers(cfg.Callers, cfg.Names)
		e.contexts = contextCounts{}
	}
	e.SetCounting(emu.CountAll)
	return e, nil
}

// Close implements emu.Engine.
func (e *Engine) Close() error { return nil }

// Interrupt implements emu.Engine.
func (e *Engine) Interrupt() { e.interrupt.Store(true) }

// Executed implements emu.Engine.
func (e *Engine) Executed() uint64 { return e.executed }

// SetCounting implements emu.Engine.
func (e *Engine) SetCounting(c emu.Counting) {
	if e.caches[c] == nil {
		e.caches[c] = &cache{counting: c, blocks: map[emu.Addr]*block{}}
	}
	e.counting, e.cache = c, e.caches[c]
}

// SetMark implements emu.Engine.
func (e *Engine) SetMark(a emu.Addr, on bool) {
	if e.marks[a] == on {
		return
	}
	if on {
		e.marks[a] = true
	} else {
		delete(e.marks, a)
	}
	for _, b := range slices.Clone(e.pages[a.PageDown()]) {
		if b.has(a) {
			e.drop(b)
		}
	}
}

// Collect implements emu.Engine.
func (e *Engine) Collect(lo, hi emu.Addr, add func(a emu.Addr, ev emu.Event, n uint64)) {
	if e.contexts != nil {
		e.CollectContexts(lo, hi, func(_ callgraph.Context, a emu.Addr, ev emu.Event, n uint64) { add(a, ev, n) })
		return
	}
	e.gatherRange(lo, hi)
	for ev := range e.collected {
		e.collected[ev].Drain(lo, hi, func(a emu.Addr, n uint64) { add(a, emu.Event(ev), n) })
	}
}

// gatherRange moves the counts of all blocks on pages in [lo, hi) to where they are collected.
func (e *Engine) gatherRange(lo, hi emu.Addr) {
	if (hi-lo)/emu.PageSize > emu.Addr(len(e.pages)) {
		for _, blocks := range e.pages {
			e.gatherAll(blocks)
		}
		return
	}
	for p := lo.PageDown(); p < hi; p += emu.PageSize {
		e.gatherAll(e.pages[p])
	}
}
