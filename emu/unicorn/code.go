//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

const pageSize = emu.PageSize

// A codePage is a page of guest memory that holds code.
type codePage struct {
	// counters has what the hook looks at, for what is counted and for what is not; nil until code
	// was executed so.
	counters [2]*[pageSize]uint64
	// insns has the instructions known, by the offset of their first byte.
	insns *[pageSize]*insn
}

// An insn is what is known of an instruction.
type insn struct {
	length  uint8
	kind    guest.Kind
	flow    x86.Flow
	special bool // Go has to see it
	// indirect says that it counts an indirect branch, retries that it counts a conditional branch that is
	// never taken.
	indirect, retries bool
	// toNext says that it is a conditional jump to the next instruction: where it went does not tell whether
	// its condition held. inverted says that a conditional branch is recorded as taken if its condition does not hold.
	toNext, inverted bool
	// contextual says that what it counts depends on the instructions before it: plan, indirect and refs
	// are those without any.
	contextual bool
	budget     uint64 // its kind for the hook
	plan       uint16
	refs       []x86.Ref
}

// maxAhead is how many instructions are decoded ahead.
const maxAhead = 64

// maxDecoded is how many instructions may be decoded before the library's translations are dropped:
// versions 2.0.x hang when their buffer of 1 GiB fills, an instruction takes up to 1 KiB of it.
const maxDecoded = 1 << 18

// page returns the page of a, nil if it holds no known code.
func (e *Engine) page(a emu.Addr) *codePage {
	if n := a / pageSize; n != e.lastPage || e.last == nil {
		e.lastPage, e.last = n, e.pages[n]
	}
	return e.last
}

// known returns the instruction at a, nil if it was not decoded.
func (e *Engine) known(a emu.Addr) *insn {
	p := e.page(a)
	if p == nil {
		return nil
	}
	return p.insns[a%pageSize]
}

// plane returns which counters are in use.
func (e *Engine) plane() int {
	if e.counting == emu.CountAll {
		return 0
	}
	return 1
}

// set makes word the counter word of the instruction at a, without its counts.
func (p *codePage) set(a emu.Addr, word uint64) {
	for _, c := range p.counters {
		if c != nil {
			c[a%pageSize] = c[a%pageSize]&countMask | word
		}
	}
}

// list makes sure that a's page has the counters that are in use.
func (e *Engine) list(a emu.Addr) error {
	n := a / pageSize
	p := e.page(a)
	if p == nil {
		p = &codePage{insns: new([pageSize]*insn)}
		e.pages[n] = p
		e.last = p
	}
	c := &p.counters[e.plane()]
	if *c != nil {
		return nil
	}
	*c = new([pageSize]uint64)
	for off, in := range p.insns {
		(*c)[off] = stopHere
		if in != nil {
			(*c)[off] = e.word(n*pageSize+emu.Addr(off), in)
		}
	}
	return e.planes[e.plane()].list(uint64(n), *c)
}

// word returns the counter word of a known instruction that was not counted yet.
func (e *Engine) word(a emu.Addr, in *insn) uint64 {
	if in.special || e.marks[a] {
		return stopHere | in.budget
	}
	return in.budget
}

// learn decodes the code at a, up to what transfers control. It returns the fault if there is none.
func (e *Engine) learn(a emu.Addr) (*emu.Fault, error) {
	e.decoder.Forget()
	first := a
	for range maxAhead {
		g := &e.g
		if !e.decoder.Decode(g, a) || g.Kind == guest.FetchFault && a != first {
			break
		}
		if err := e.list(a); err != nil {
			return nil, err
		}
		p := e.page(a)
		if p.insns[a%pageSize] == nil {
			in := e.describe(g)
			p.insns[a%pageSize] = in
			p.set(a, e.word(a, in))
			// Writes to its pages are to be known before they happen.
			if err := e.mem.Guard(a.PageDown(), (g.Next() - 1).PageDown()); err != nil {
				return &emu.Fault{Vector: emu.VecUD, Unsupported: err.Error()}, nil
			}
			e.decoded++
		}
		if g.Kind.Ends() || g.Flow != x86.FlowNext {
			return nil, nil
		}
		a = g.Next()
	}
	if a != first {
		return nil, nil
	}
	if !guest.Canonical(a) {
		return &emu.Fault{Vector: emu.VecGP}, nil
	}
	return &emu.Fault{Vector: emu.VecPF, Addr: a, Exec: true}, nil
}

// describe makes an insn of a decoded instruction.
func (e *Engine) describe(g *guest.Insn) *insn {
	x := new(hooks.Context).Next(&g.Inst)
	kind := g.Kind
	if lacking(g) {
		kind = guest.Emulated
	}
	toNext := (g.Flow == x86.FlowJcc || g.Flow == x86.FlowLoop) && g.Target == 0
	return &insn{
		length: g.Len, kind: kind, flow: g.Flow, refs: slices.Clone(x.Refs), plan: e.planOf(&g.Inst, &x),
		indirect: x.Indirect, retries: hooks.LockedBranch(&g.Inst), contextual: contextual(g), budget: e.budgetOf(g),
		toNext: toNext, inverted: !hooks.Taken(&g.Inst, true),
		special: special(g) || e.details() && (toNext || e.outside(g, x.Refs)),
	}
}

// budgetOf returns what an instruction is to the budget.
func (e *Engine) budgetOf(g *guest.Insn) uint64 {
	switch g.Flow {
	case x86.FlowNext:
		if e.machine.EndsRun(g) {
			return endsRun
		}
		return 0
	case x86.FlowCall, x86.FlowCallInd, x86.FlowJmpInd:
		return checks
	case x86.FlowJcc, x86.FlowLoop, x86.FlowJmp:
		if g.Target < 0 {
			return jumpsBack
		}
	}
	return endsRun
}

// special reports whether Go has to see an instruction in every run.
func special(g *guest.Insn) bool {
	if wrong(g) || lacking(g) || g.Op == x86.LDMXCSR {
		return true
	}
	switch g.Kind {
	case guest.Nop:
		// The library follows AMD's CPUs: PAUSE with REX.B is XCHG to it, and 0F 0D of a register undefined.
		return g.Op == x86.RDSSP || g.Op == x86.PAUSE && g.REX&1 != 0 || g.Op == x86.NOP && g.ModRMOff > 0 || g.Len == hooks.RequestLen
	case guest.Plain, guest.Push, guest.Pop, guest.Leave, guest.Lea, guest.String, guest.Branch:
		return false
	}
	return true
}

// outside reports whether the addresses of refs do not follow from the first read and the first write that
// the library reports of an instruction.
func (e *Engine) outside(g *guest.Insn, refs []x86.Ref) bool {
	var first [2]*x86.Ref
	for i := range refs {
		r := &refs[i]
		if e.lib.blind && r.Kind != x86.Write || r.Guard != x86.Always || r.At == x86.AtBitString || r.At == x86.AtRDI && !g.Op.IsString() || r.Off == hooks.BelowStack {
			return true
		}
		k := 0
		if r.Kind == x86.Write {
			k = 1
		}
		if first[k] == nil {
			first[k] = r
		} else if first[k].At != r.At || first[k].Off != r.Off {
			return true
		}
	}
	return false
}

// contextual reports whether the effects of an instruction depend on those before it: see hooks.Context.
func contextual(g *guest.Insn) bool {
	return g.Kind == guest.String && g.Op == x86.MOVS || g.Kind == guest.Branch && g.Args[0].Kind == x86.ArgGPR
}

// Invalidate implements emu.Engine.
func (e *Engine) Invalidate(lo, hi emu.Addr) {
	for a := lo.PageDown(); a < hi; a += pageSize {
		e.forget(a)
	}
}

// forget makes the code of a page unknown, and what runs into it from the page before.
func (e *Engine) forget(page emu.Addr) {
	found := false
	for a := page - min(page, x86.MaxLen+hooks.RequestLen); a < page+pageSize; a++ {
		in := e.known(a)
		if in == nil || a+emu.Addr(in.length) <= page {
			continue
		}
		found = true
		p := e.page(a)
		if c := p.counters[0]; c != nil {
			e.settle(a, in, c[a%pageSize]&countMask)
		}
		for _, c := range p.counters {
			if c != nil {
				c[a%pageSize] = stopHere
			}
		}
		p.insns[a%pageSize] = nil
	}
	if found {
		clear(e.sim.effects) // the code in front of an instruction may be another one
		// An error would say that the library has nothing translated there.
		_ = call(e.lib.ctl, e.uc, ctlRemoveCache, uintptr(page), uintptr(page+pageSize))
	}
}

// SetMark implements emu.Engine.
func (e *Engine) SetMark(a emu.Addr, on bool) {
	if on {
		e.marks[a] = true
	} else {
		delete(e.marks, a)
	}
	p := e.page(a)
	if p == nil || p.insns[a%pageSize] == nil {
		return
	}
	p.set(a, e.word(a, p.insns[a%pageSize]))
}
