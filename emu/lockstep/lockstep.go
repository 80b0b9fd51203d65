// Package lockstep compares two engines over one program.
//
// An Engine makes each run twice: by the first engine, whose results count, and then, in a copy of the memory as it was before, by
// a replica of the second. Where they disagree it steps through the run again, instruction by instruction, to find the first one
// behind which they differ. Registers, memory, floating-point state, faults and the number of executed instructions are compared;
// status flags are not, since instructions leave some undefined, nor is the upper half of AVX registers. (See RATIONALE.md, "How
// does --engine=check compare?")
//
// The package is cgemu's own: what it promises may change.
package lockstep

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
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

// A Factory makes an engine that executes what is in m. replica says that it is for comparison alone: it need not simulate, nor
// count anything but instructions.
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
	env       *recorder
	marks     map[emu.Addr]bool
	// passing is the CPU that stopped at a mark last, at passes: its next run executes the instruction there.
	passing *emu.CPU
	passes  emu.Addr
	// mismatched says that OnMismatch was called: nothing is executed any more.
	mismatched bool
}

// New returns an Engine that compares the second engine with the first, for a guest with that CPU model.
func New(m *mem.Space, env emu.Env, model *emu.Model, factories [2]Factory) (*Engine, error) {
	e := &Engine{mem: m, model: model, factories: factories, env: &recorder{env: env}, marks: map[emu.Addr]bool{}}
	var err error
	e.Engine, err = factories[0](m, e.env, false)
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
}

// Run implements emu.Engine.
func (e *Engine) Run(c *emu.CPU, budget uint64) emu.Stop {
	if e.mismatched {
		return emu.Stop{Reason: emu.StopInterrupt}
	}
	before, err := e.mem.Fork()
	if err != nil {
		return e.end(Mismatch{At: c.RIP, What: err.Error()})
	}
	defer before.Close()
	from := emu.NewCPU()
	from.Copy(c)
	e.env.values = e.env.values[:0]
	executed := e.Executed()
	marked := e.passing == c && e.passes == c.RIP && e.marks[c.RIP]
	stop := e.Engine.Run(c, budget)
	if e.passing = nil; stop.Reason == emu.StopMark {
		e.passing, e.passes = c, c.RIP
	}
	if stop.Reason == emu.StopInterrupt {
		return stop
	}
	t, err := e.newReplica(1, before, from)
	if err != nil {
		return e.end(Mismatch{At: from.RIP, What: err.Error()})
	}
	defer t.close()
	for a := range e.marks {
		t.engine.SetMark(a, true)
	}
	got := t.engine.Run(t.cpu, budget)
	if marked && got.Reason == emu.StopMark {
		got = t.engine.Run(t.cpu, budget)
	}
	what := compareRuns(stop, got, c, t.cpu)
	if n := e.Executed() - executed; what == "" && n != t.engine.Executed() {
		what = fmt.Sprintf("%d instructions executed, %d", n, t.engine.Executed())
	}
	if what == "" {
		what = compareMemory(e.mem, t.mem)
	}
	if what != "" {
		return e.end(e.locate(before, from, what))
	}
	return stop
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
	if t.engine, err = e.factories[i](t.mem, &replayer{values: e.env.values}, true); err != nil {
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
		if a.Reason != emu.StopBudget || compareRuns(a, b, t[0].cpu, t[1].cpu) != "" {
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
		if diff := compareRuns(stops[0], stops[1], t[0].cpu, t[1].cpu) + compareMemory(t[0].mem, t[1].mem); diff != "" {
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

func (r *recorder) TSC() uint64    { return r.keep(r.env.TSC()) }
func (r *recorder) Random() uint64 { return r.keep(r.env.Random()) }

// A replayer gives the same answers again.
type replayer struct{ values []uint64 }

func (p *replayer) TSC() uint64 { return p.Random() }
func (p *replayer) Random() uint64 {
	if len(p.values) == 0 {
		return 0 // one asked more often
	}
	x := p.values[0]
	p.values = p.values[1:]
	return x
}
