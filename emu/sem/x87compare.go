package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// What a comparison leaves in the status word, and what FCOMI and its like leave in the flags (SDM Vol. 1,
// "Floating-Point Compare Instructions").
var (
	relationConditions = [...]uint16{soft.Less: soft.C0, soft.Equal: soft.C3, soft.Greater: 0, soft.Unordered: soft.C0 | soft.C2 | soft.C3}
	relationFlags      = [...]uint64{
		soft.Less: emu.FlagCF, soft.Equal: emu.FlagZF, soft.Greater: 0, soft.Unordered: emu.FlagCF | emu.FlagPF | emu.FlagZF,
	}
)

// compare compares ST(0) with n, which present says is not a register that is empty.
func (x x87) compare(n soft.Number, present, signaling bool) (soft.Relation, uint16) {
	if x.empty(0) || !present {
		return soft.Unordered, stackUnderflow
	}
	return soft.Compare(x.st(0).Number(), n, signaling)
}

// showRelation sets the condition bits to the result of a comparison, and pops unless an exception is not masked.
func (x x87) showRelation(r soft.Relation, status uint16, pops int) {
	x.raise(status|relationConditions[r], x87Conditions)
	x.popCompared(status, pops)
}

func (x x87) popCompared(status uint16, pops int) {
	if x.unmasked(status, preComputation) {
		return
	}
	for range pops {
		x.pop()
	}
}

// fcom returns the semantics of FCOM, FICOM and FUCOM, and of those that pop one register or two. Those without
// operands compare with ST(1).
func fcom(of x87Format, signaling bool, pops int) semantics {
	return waiting(func(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		n, present := x.st(1).Number(), !x.empty(1)
		if g.NArgs > 1 {
			var f *emu.Fault
			if n, present, f = m.x87Source(c, g, x, of); f != nil {
				return f
			}
		}
		r, status := x.compare(n, present, signaling)
		x.showRelation(r, status, pops)
		return nil
	})
}

// fcomi returns the semantics of FCOMI and FUCOMI, and of those that pop.
func fcomi(signaling bool, pops int) semantics {
	return waiting(func(_ *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		i := int(g.Args[1].Reg)
		r, status := x.compare(x.st(i).Number(), !x.empty(i), signaling)
		c.Flags = c.Flags&^uint64(x86.StatusFlags) | relationFlags[r]
		if status != stackUnderflow { // CPUs leave C1 as it is, whatever manuals say, unless the stack underflows
			status |= x.fsw() & soft.C1
		}
		x.raise(status, 0)
		x.popCompared(status, pops)
		return nil
	})
}

// ftst implements FTST.
func ftst(x x87, _ *guest.Insn) {
	r, status := x.compare(soft.FromInt(0), true, true)
	x.showRelation(r, status, 0)
}

// fxam implements FXAM.
func fxam(x x87, _ *guest.Insn) {
	status := soft.Fxam(x.st(0))
	if x.empty(0) {
		status = soft.C3 | soft.C0 | status&soft.C1
	}
	x.raise(status, x87Conditions)
}

// x87CompareRows are the instructions that compare.
func x87CompareRows() rows {
	return rows{
		x86.FCOM: {plain: fcom(x87Float, true, 0)}, x86.FCOMP: {plain: fcom(x87Float, true, 1)}, x86.FCOMPP: {plain: fcom(x87Float, true, 2)},
		x86.FICOM: {plain: fcom(x87Integer, true, 0)}, x86.FICOMP: {plain: fcom(x87Integer, true, 1)},
		x86.FUCOM: {plain: fcom(x87Float, false, 0)}, x86.FUCOMP: {plain: fcom(x87Float, false, 1)}, x86.FUCOMPP: {plain: fcom(x87Float, false, 2)},
		x86.FCOMI: {plain: fcomi(true, 0)}, x86.FCOMIP: {plain: fcomi(true, 1)},
		x86.FUCOMI: {plain: fcomi(false, 0)}, x86.FUCOMIP: {plain: fcomi(false, 1)},
		x86.FTST: {plain: inRegisters(ftst)}, x86.FXAM: {plain: inRegisters(fxam)},
	}
}
