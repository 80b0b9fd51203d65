package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// initialize does what FNINIT does. The registers keep what they hold.
func (x x87) initialize() {
	turnTo(x.XState, 0)
	x.XState.SetFCW(0x37f)
	x.setFSW(0)
	x.XState[emu.XOffFTW] = 0
}

// fninit implements FNINIT.
func fninit(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
	x87{c.FP}.initialize()
	return nil
}

// fnclex implements FNCLEX.
func fnclex(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
	x := x87{c.FP}
	x.setFSW(x.fsw() &^ (x87B | x87ES | x87SF | x87Exceptions))
	return nil
}

// fldcw implements FLDCW.
func fldcw(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
	cw, f := m.Load(guest.EffectiveAddr(c, g), 2)
	if f == nil {
		x.XState.SetFCW(uint16(cw))
		x.XState.SettleX87()
	}
	return f
}

// fnstcw implements FNSTCW.
func fnstcw(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	return m.write(guest.EffectiveAddr(c, g), c.FP[emu.XOffFCW:emu.XOffFCW+2])
}

// fnstsw implements FNSTSW.
func fnstsw(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	if g.Args[0].Kind == x86.ArgMem {
		return m.write(guest.EffectiveAddr(c, g), c.FP[emu.XOffFSW:emu.XOffFSW+2])
	}
	setReg(c, x86.RAX, 2, uint64(x87{c.FP}.fsw()))
	return nil
}

// moveTop returns the semantics of FINCSTP and FDECSTP, which leave tags alone.
func moveTop(by int) semantics {
	return inRegisters(func(x x87, _ *guest.Insn) {
		x.rotate(by)
		x.raise(0, 0)
	})
}

// ffree returns the semantics of FFREE and FFREEP.
func ffree(pop bool) semantics {
	return inRegisters(func(x x87, g *guest.Insn) {
		x.raise(0, 0)
		x.setEmpty(int(g.Args[0].Reg))
		if pop {
			x.pop()
		}
	})
}

// fnop does nothing: FNOP, FWAIT.
func fnop(x87, *guest.Insn) {}

// fignored is the semantics of instructions of the 8087 and the 80287 that do nothing.
func fignored(*Machine, *emu.CPU, *guest.Insn) *emu.Fault { return nil }

// x87ControlRows are the instructions that have to do with the state.
func x87ControlRows() rows {
	return rows{
		x86.FNINIT: {plain: fninit}, x86.FNCLEX: {plain: fnclex},
		x86.FLDCW: {plain: waiting(fldcw)}, x86.FNSTCW: {plain: fnstcw}, x86.FNSTSW: {plain: fnstsw},
		x86.FINCSTP: {plain: moveTop(1)}, x86.FDECSTP: {plain: moveTop(-1)},
		x86.FFREE: {plain: ffree(false)}, x86.FFREEP: {plain: ffree(true)},
		x86.FNOP: {plain: inRegisters(fnop)}, x86.FWAIT: {plain: inRegisters(fnop)},
		x86.FENI: {plain: fignored}, x86.FDISI: {plain: fignored}, x86.FSETPM: {plain: fignored},
	}
}
