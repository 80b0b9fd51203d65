//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// trap handles an instruction that is not translated: it is emulated, or refused.
func (e *Engine) trap(c *emu.CPU, x *exit) (emu.Addr, *emu.Stop) {
	pc := x.rip
	g := e.insnOf(x)
	if g == nil {
		return pc, stopFault(emu.Fault{Vector: emu.VecPF, Addr: pc, Exec: true})
	}
	if g.Kind != guest.Emulated {
		f := e.decoder.Refuse(&g.Insn, e.Model)
		if e.details() {
			e.revokePlan(x.t, int(x.insn))
		}
		return pc, stopFault(f)
	}
	if hooks.Repeats(&g.Inst) && g.Op.IsString() {
		return e.emulateRepeated(c, g, x)
	}
	e.storeCPU(c, g.Next())
	asked := [2]uint32{uint32(c.Regs[emu.RAX]), uint32(c.Regs[emu.RCX])}
	if f := e.emulateCounted(c, g, x); f != nil {
		e.machine.MarkBus(f)
		if f.Trap() {
			pc = c.RIP
		}
		return pc, stopFault(*f)
	}
	e.loadCPU(c)
	e.nextX87 = g.X87
	if !e.stepping {
		e.meter() // RDTSC asks how much was executed
	}
	e.noteAnswer(g, c, asked)
	switch {
	case g.Op == x86.POPF:
		e.noteBehindPOPF(c.RIP)
	case g.Far() && e.calls != nil && !e.calls.Same(pc, c.RIP):
		e.told(e.calls.Flow, pc, c.RIP)
	}
	return c.RIP, nil
}

// noteBehindPOPF has the block at a, which comes behind a POPF, translated with that in mind.
func (e *Engine) noteBehindPOPF(a emu.Addr) {
	if e.behindPOPF[a] {
		return
	}
	e.behindPOPF[a] = true
	e.forgetRetained(a)
	if t := e.tbs.at(a); t != nil {
		e.drop(t)
		e.bury(t)
	}
}

// emulateCounted executes one instruction of traps, and simulates what it refers to.
func (e *Engine) emulateCounted(c *emu.CPU, g *ginsn, x *exit) *emu.Fault {
	t, i := x.t, int(x.insn)
	if !e.details() {
		return e.machine.Execute(c, &g.Insn)
	}
	was := e.before
	was.Copy(c)
	f := e.machine.Execute(c, &g.Insn)
	refs := guest.References(was, &g.Insn, e.refs[:0])
	e.refs, e.simulated = refs[:0], 0
	if f == nil {
		e.simulateRefs(t, g.PC, refs)
		if hooks.LockedBranch(&g.Inst) {
			e.condBranch(t, g.PC, false)
		}
		return nil
	}
	e.revokePlan(t, i)
	n, found := hooks.ReferencesBefore(refs, *f)
	for _, r := range refs[:n] {
		e.countRef(t, g.PC, r.Ref, 1)
		e.attemptedRef(t, g.PC, r)
	}
	if found {
		e.attemptedRef(t, g.PC, refs[n])
	}
	return f
}

func stopFault(f emu.Fault) *emu.Stop { return &emu.Stop{Reason: emu.StopFault, Fault: &f} }
