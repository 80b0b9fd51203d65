package cgemu

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// CheckEngine is the name of the engine that compares two.
const CheckEngine = "check"

// A Difference is the first place where two engines did not do the same.
type Difference struct {
	// At is the instruction's address, Insn its text, Place its source line.
	At          emu.Addr
	Insn, Place string
	// What differs behind it, From are the registers in front of it.
	What, From string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("the engines differ behind %v: %s (%s): %s; in front of it: %s", d.At, d.Insn, d.Place, d.What, d.From)
}

// A checker is an engine that compares two. Each run is made by one of them, whose results count, and
// then, in a copy of the memory as it was before, by the other, made for it. (See RATIONALE.md,
// "How does --engine=check compare?")
type checker struct {
	emu.Engine
	mem     *mem.Space
	cfg     *Config
	engines [2]EngineInfo
	env     *recorder
	marks   map[emu.Addr]bool
	// passing is the CPU that stopped at a mark last, at passes: it goes on behind the mark.
	passing *emu.CPU
	passes  emu.Addr
	// differ is told of the first difference, with which the run ends.
	differ func(*Difference)
	over   bool
}

// newChecker compares the engine b with a, whose results count.
func newChecker(m *mem.Space, env emu.Env, cfg *Config, a, b EngineInfo) (*checker, error) {
	plain := *cfg
	plain.Regions, plain.Events, plain.Cycles, plain.Caches, plain.Branches = Regions{}, nil, false, nil, false
	k := &checker{mem: m, cfg: &plain, engines: [2]EngineInfo{a, b}, env: &recorder{env: env}, marks: map[emu.Addr]bool{}}
	var err error
	k.Engine, err = a.make(m, k.env, cfg)
	return k, err
}

// SetMark implements emu.Engine.
func (k *checker) SetMark(a emu.Addr, on bool) {
	if on {
		k.marks[a] = true
	} else {
		delete(k.marks, a)
	}
	k.Engine.SetMark(a, on)
}

// Run implements emu.Engine.
func (k *checker) Run(c *emu.CPU, budget uint64) emu.Stop {
	if k.over {
		return emu.Stop{Reason: emu.StopInterrupt}
	}
	before, err := k.mem.Fork()
	if err != nil {
		return k.end(&Difference{At: c.RIP, What: err.Error()})
	}
	defer before.Close()
	from := emu.NewCPU()
	from.Copy(c)
	k.env.values = k.env.values[:0]
	executed := k.Executed()
	marked := k.passing == c && k.passes == c.RIP && k.marks[c.RIP]
	stop := k.Engine.Run(c, budget)
	if k.passing = nil; stop.Reason == emu.StopMark {
		k.passing, k.passes = c, c.RIP
	}
	if stop.Reason == emu.StopInterrupt {
		return stop
	}
	t, err := k.twin(1, before, from)
	if err != nil {
		return k.end(&Difference{At: from.RIP, What: err.Error()})
	}
	defer t.close()
	for a := range k.marks {
		t.engine.SetMark(a, true)
	}
	got := t.engine.Run(t.cpu, budget)
	if marked && got.Reason == emu.StopMark {
		got = t.engine.Run(t.cpu, budget)
	}
	what := compareRuns(stop, got, c, t.cpu)
	if n := k.Executed() - executed; what == "" && n != t.engine.Executed() {
		what = fmt.Sprintf("%d instructions executed, %d", n, t.engine.Executed())
	}
	if what == "" {
		what = compareMemory(k.mem, t.mem)
	}
	if what != "" {
		return k.end(k.locate(before, from, what))
	}
	return stop
}

// end ends the run with a difference.
func (k *checker) end(d *Difference) emu.Stop {
	k.over = true
	k.differ(d)
	return emu.Stop{Reason: emu.StopInterrupt}
}

// A twin is an engine in a copy of the guest's memory.
type twin struct {
	engine emu.Engine
	mem    *mem.Space
	cpu    *emu.CPU
}

// twin makes a twin of the engine i, in memory and with registers like those given.
func (k *checker) twin(i int, m *mem.Space, c *emu.CPU) (t *twin, err error) {
	t = &twin{cpu: emu.NewCPU()}
	t.cpu.Copy(c)
	if t.mem, err = m.Fork(); err != nil {
		return nil, err
	}
	if t.engine, err = k.engines[i].make(t.mem, &player{values: k.env.values}, k.cfg); err != nil {
		t.mem.Close()
		return nil, err
	}
	t.mem.OnInvalidate(t.engine.Invalidate)
	return t, nil
}

func (t *twin) close() {
	t.engine.Close()
	t.mem.Close()
}

// twins makes a twin of each engine, and runs them block by block as long as they agree, n blocks at most.
func (k *checker) twins(m *mem.Space, c *emu.CPU, n int) (t [2]*twin, agreed int, err error) {
	for i := range t {
		if t[i], err = k.twin(i, m, c); err != nil {
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
func (k *checker) locate(m *mem.Space, c *emu.CPU, what string) *Difference {
	d := &Difference{At: c.RIP, What: what, From: registers(c)}
	t, n, err := k.twins(m, c, 1<<62)
	closeAll(t)
	if err != nil {
		return d
	}
	if t, _, err = k.twins(m, c, n); err != nil {
		closeAll(t)
		return d
	}
	defer closeAll(t)
	decoder := guest.NewDecoder(t[0].mem, guest.Features(k.cfg.Model), "engine")
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

func closeAll(t [2]*twin) {
	for _, t := range t {
		if t != nil {
			t.close()
		}
	}
}

// step executes g, the instruction at the CPU.
func (t *twin) step(g *guest.Insn) emu.Stop {
	for _, a := range t.behind(g) {
		t.engine.SetMark(a, true)
		defer t.engine.SetMark(a, false)
	}
	return t.engine.Run(t.cpu, 1)
}

// behind returns where execution can go on behind g.
func (t *twin) behind(g *guest.Insn) []emu.Addr {
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

// A player gives the same answers again.
type player struct{ values []uint64 }

func (p *player) TSC() uint64 { return p.Random() }
func (p *player) Random() uint64 {
	if len(p.values) == 0 {
		return 0 // one asked more often
	}
	x := p.values[0]
	p.values = p.values[1:]
	return x
}
