// Package lockstep compares two engines over one program.
//
// An Engine makes each run twice, in the same memory: by the second engine, whose changes to memory are kept and
// undone, then by the first, whose results count. Where they disagree it makes the run again in copies of the memory,
// block by block and instruction by instruction, to find the first one behind which they differ. Registers,
// floating-point state, what was written to memory, faults and the number of executed instructions are compared. Status
// flags are, too, but for those that an instruction leaves undefined (x86.Unsettled). (See RATIONALE.md, "How does
// --engine=check compare?")
//
// The package is cgemu's own: what it promises may change.
package lockstep

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// A Mismatch is the first place where two engines did not do the same.
type Mismatch struct {
	// At is the instruction's address, Insn its text.
	At   emu.Addr
	Insn string
	// What differs behind it, From are the registers in front of it.
	What, From string
}

// A Factory makes an engine that executes what is in m. replica says that it is for comparison alone: it need not
// simulate, nor count anything but instructions.
type Factory func(m *mem.Space, env emu.Env, replica bool) (emu.Engine, error)

// An Engine compares two engines.
type Engine struct {
	// The first engine, whose results count.
	emu.Engine
	// OnMismatch is told of the first mismatch, with which the run ends.
	OnMismatch func(Mismatch)

	mem       *mem.Space
	model     *emu.Model
	factories [2]Factory
	// exceptions says that both engines record floating-point exceptions as a CPU does.
	exceptions bool
	// second is the other engine, which writes to memory as mem.Space.Record allows; nil if it has to be made anew.
	second emu.Engine
	// recorder is what the second engine asks, replayer the first: it gets the same answers.
	recorder *recorder
	replayer *replayer
	marks    map[emu.Addr]bool
	// passing is the CPU that stopped at a mark last, at passes: its next run executes the instruction there.
	passing *emu.CPU
	passes  emu.Addr
	// from and behind are CPUs in front of a run and behind the second engine's.
	from, behind *emu.CPU
	// leading says that the second engine runs, which had executed led instructions before.
	leading bool
	led     uint64
	// alone says that the next run is not compared: it goes on where Interrupt stopped one, which only the first engine
	// knows.
	alone bool
	// settled has the places where flags that are left undefined differed.
	settled map[place]bool
	// mismatched says that OnMismatch was called: nothing is executed any more.
	mismatched bool
}

// A place is where a run ended, with flags that differed.
type place struct {
	at    emu.Addr
	flags uint64
}

// New returns an Engine that compares the second engine with the first, for a guest with that CPU model. exceptions
// says that both record floating-point exceptions as a CPU does.
func New(m *mem.Space, env emu.Env, model *emu.Model, exceptions bool, factories [2]Factory) (*Engine, error) {
	r := &recorder{env: env}
	e := &Engine{
		mem: m, model: model, factories: factories, recorder: r, replayer: &replayer{env: env}, marks: map[emu.Addr]bool{},
		exceptions: exceptions, from: emu.NewCPU(), behind: emu.NewCPU(), settled: map[place]bool{},
	}
	var err error
	e.Engine, err = factories[0](m, e.replayer, false)
	return e, err
}

// SetMark implements emu.Engine.
func (e *Engine) SetMark(a emu.Addr, on bool) {
	if on {
		e.marks[a] = true
	} else {
		delete(e.marks, a)
	}
	e.Engine.SetMark(a, on)
	if e.second != nil {
		e.second.SetMark(a, on)
	}
}

// Invalidate implements emu.Engine.
func (e *Engine) Invalidate(lo, hi emu.Addr) {
	e.Engine.Invalidate(lo, hi)
	if e.second != nil {
		e.second.Invalidate(lo, hi)
	}
}

// Calls returns what records calls: the first engine does, if it can.
func (e *Engine) Calls() *callgraph.Recorder {
	if r, ok := e.Engine.(interface{ Calls() *callgraph.Recorder }); ok {
		return r.Calls()
	}
	return nil
}

// Executed implements emu.Engine: what the second engine is ahead of the first counts.
func (e *Engine) Executed() uint64 {
	n := e.Engine.Executed()
	if e.leading {
		n += e.second.Executed() - e.led
	}
	return n
}

// Close implements emu.Engine.
func (e *Engine) Close() error {
	if e.second != nil {
		e.second.Close()
	}
	return e.Engine.Close()
}

// Run implements emu.Engine.
func (e *Engine) Run(c *emu.CPU, budget uint64) emu.Stop {
	if e.mismatched {
		return emu.Stop{Reason: emu.StopInterrupt}
	}
	if e.second == nil {
		if err := e.makeSecond(); err != nil {
			return e.end(Mismatch{At: c.RIP, What: err.Error()})
		}
	}
	e.recorder.values, e.replayer.values, e.replayer.next = e.recorder.values[:0], nil, 0
	if e.alone {
		return e.runFirst(c, budget)
	}
	e.from.Copy(c)
	got, executed, changes := e.runSecond(c, budget)
	e.behind.Copy(c)
	c.Copy(e.from)
	before := e.Executed()
	stop := e.runFirst(c, budget)
	if e.alone {
		return stop
	}
	if budget == emu.NoBudget { // nobody goes on with what is left of it
		got.Left = stop.Left
	}
	what := e.compareRuns(stop, got, c, e.behind)
	if n := e.Executed() - before; what == "" && n != executed {
		what = fmt.Sprintf("%d instructions executed, %d", n, executed)
	}
	if what == "" {
		what = compareChanges(e.mem, changes)
	}
	if what != "" {
		undo(e.mem, changes)
		return e.end(e.locate(e.mem, e.from, what))
	}
	if d := e.compareFlags(stop, c, executed, changes); d != nil {
		return e.end(*d)
	}
	return stop
}

// runFirst makes a run by the first engine.
func (e *Engine) runFirst(c *emu.CPU, budget uint64) emu.Stop {
	stop := e.Engine.Run(c, budget)
	if e.passing = nil; stop.Reason == emu.StopMark {
		e.passing, e.passes = c, c.RIP
	}
	if e.alone = stop.Reason == emu.StopInterrupt; e.alone {
		e.second.Close()
		e.second = nil
	}
	return stop
}

// runSecond makes a run by the second engine, and has memory then as it was before. It returns how it ended, and how
// many instructions it executed.
func (e *Engine) runSecond(c *emu.CPU, budget uint64) (emu.Stop, uint64, []mem.Change) {
	marked := e.passing == c && e.passes == c.RIP && e.marks[c.RIP]
	e.leading, e.led = true, e.second.Executed()
	e.mem.Record()
	stop := e.second.Run(c, budget)
	if marked && stop.Reason == emu.StopMark && e.second.Executed() == e.led {
		stop = e.second.Run(c, budget) // a new engine does not know that this mark was passed
	}
	changes := e.mem.Undo()
	e.leading = false
	e.replayer.values = e.recorder.values
	return stop, e.second.Executed() - e.led, changes
}

// makeSecond makes the second engine.
func (e *Engine) makeSecond() (err error) {
	if e.second, err = e.factories[1](e.mem, e.recorder, true); err != nil {
		return err
	}
	for a := range e.marks {
		e.second.SetMark(a, true)
	}
	return nil
}

// end ends the run with a mismatch.
func (e *Engine) end(d Mismatch) emu.Stop {
	e.mismatched = true
	e.OnMismatch(d)
	return emu.Stop{Reason: emu.StopInterrupt}
}

// A replica is an engine in a copy of the guest's memory.
type replica struct {
	engine emu.Engine
	mem    *mem.Space
	cpu    *emu.CPU
}

// newReplica makes a replica of engine i, in memory and with registers like those given.
func (e *Engine) newReplica(i int, m *mem.Space, c *emu.CPU) (t *replica, err error) {
	t = &replica{cpu: emu.NewCPU()}
	t.cpu.Copy(c)
	if t.mem, err = m.Fork(); err != nil {
		return nil, err
	}
	if t.engine, err = e.factories[i](t.mem, &replayer{values: e.replayer.values}, true); err != nil {
		t.mem.Close()
		return nil, err
	}
	t.mem.OnInvalidate(t.engine.Invalidate)
	return t, nil
}

func (t *replica) close() {
	t.engine.Close()
	t.mem.Close()
}

// runReplicas makes a replica of each engine, and runs them block by block as long as they agree, n blocks at most.
func (e *Engine) runReplicas(m *mem.Space, c *emu.CPU, n int) (t [2]*replica, agreed int, err error) {
	for i := range t {
		if t[i], err = e.newReplica(i, m, c); err != nil {
			return t, 0, err
		}
	}
	for agreed < n {
		a, b := t[0].engine.Run(t[0].cpu, 1), t[1].engine.Run(t[1].cpu, 1)
		if a.Reason != emu.StopBudget || e.compareRuns(a, b, t[0].cpu, t[1].cpu) != "" {
			break
		}
		agreed++
	}
	return t, agreed, nil
}

// locate finds the instruction behind which the engines differ in a run from registers c in memory m on, at whose
// end they differed by what.
func (e *Engine) locate(m *mem.Space, c *emu.CPU, what string) Mismatch {
	d := Mismatch{At: c.RIP, What: what, From: registers(c)}
	t, n, err := e.runReplicas(m, c, 1<<62)
	closeAll(t)
	if err != nil {
		return d
	}
	if t, _, err = e.runReplicas(m, c, n); err != nil {
		closeAll(t)
		return d
	}
	defer closeAll(t)
	decoder := guest.NewDecoder(t[0].mem, guest.Features(e.model), "engine")
	for range maxSteps {
		d.At, d.From = t[0].cpu.RIP, registers(t[0].cpu)
		var g guest.Insn
		decoder.Forget()
		if !decoder.Decode(&g, d.At) {
			break
		}
		d.Insn = g.Format(uint64(g.PC))
		var stops [2]emu.Stop
		for i := range t {
			stops[i] = t[i].step(&g)
		}
		if diff := e.compareRuns(stops[0], stops[1], t[0].cpu, t[1].cpu) + compareMemory(t[0].mem, t[1].mem); diff != "" {
			d.What = diff
			break
		}
		if stops[0].Reason != emu.StopMark && stops[0].Reason != emu.StopBudget {
			break
		}
	}
	return d
}

// maxSteps is how many instructions of a block are looked at, one by one.
const maxSteps = 4096

func closeAll(t [2]*replica) {
	for _, t := range t {
		if t != nil {
			t.close()
		}
	}
}

// step executes g, the instruction at the CPU.
func (t *replica) step(g *guest.Insn) emu.Stop {
	for _, a := range t.successors(g) {
		t.engine.SetMark(a, true)
		defer t.engine.SetMark(a, false)
	}
	return t.engine.Run(t.cpu, 1)
}

// successors returns where execution can go on behind g.
func (t *replica) successors(g *guest.Insn) []emu.Addr {
	next := []emu.Addr{g.Next()}
	switch g.Flow {
	case x86.FlowJcc, x86.FlowLoop, x86.FlowJmp, x86.FlowCall:
		return append(next, g.Dest())
	case x86.FlowJmpInd, x86.FlowCallInd, x86.FlowRet:
		if g.NArgs > 0 && g.Args[0].Kind == x86.ArgGPR {
			return append(next, emu.Addr(t.cpu.Regs[g.Args[0].Reg]))
		}
		for r := range g.References {
			if to, ok := t.mem.ReadUint64(guest.RefAddr(t.cpu, g, r)); ok && r.Kind == x86.Read {
				return append(next, emu.Addr(to))
			}
		}
	}
	return next
}

// A recorder passes on what the world answers, and keeps it.
type recorder struct {
	env    emu.Env
	values []uint64
}

func (r *recorder) keep(x uint64) uint64 {
	r.values = append(r.values, x)
	return x
}

func (r *recorder) TSC() uint64     { return r.keep(r.env.TSC()) }
func (r *recorder) TSCCounts() bool { return false }
func (r *recorder) Random() uint64  { return r.keep(r.env.Random()) }

// A replayer gives the same answers again, and the world's own when there are no more.
type replayer struct {
	env    emu.Env // nil: 0
	values []uint64
	next   int
}

func (p *replayer) TSC() uint64 { return p.answer(emu.Env.TSC) }

func (p *replayer) TSCCounts() bool { return false }

func (p *replayer) Random() uint64 { return p.answer(emu.Env.Random) }

func (p *replayer) answer(ask func(emu.Env) uint64) uint64 {
	if p.next < len(p.values) {
		p.next++
		return p.values[p.next-1]
	}
	if p.env == nil {
		return 0
	}
	return ask(p.env)
}
