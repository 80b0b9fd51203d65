//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// emitOutside leaves to Go, which simulates what instruction i refers to, and comes back behind.
func (e *Engine) emitOutside(i int, kind exitKind) {
	x := exit{kind: kind, rip: e.block[i].PC, t: e.t, insn: int16(i)}
	site := e.jmp(0)
	x.first = int32(e.pos)
	e.emitExit(site, x)
}

// outsideRefs handles exits of emitOutside and emitGather.
func (e *Engine) outsideRefs(c *emu.CPU, x *exit) emu.Addr {
	g := e.insnOf(x)
	e.storeCPU(c, x.rip)
	e.set(stCounted, 0)
	if x.kind == exitRepeated {
		e.repeated(c, x.t, g, e.get(slotC), false)
	} else {
		e.refs = guest.References(c, &g.Insn, e.refs[:0])
		made := 0
		if x.kind == exitElements {
			made = int(e.get(stElement))
			for _, r := range e.refs[:made] { // they count, too, where they do not happen always
				if r.Guard != x86.Always {
					e.countRef(x.t, x.rip, r.Ref, 1)
				}
			}
		}
		e.simulated = made + e.reachable(c, &g.Insn, e.refs[made:])
		e.simulateRefs(x.t, x.rip, e.refs[made:e.simulated])
		if e.simulated < len(e.refs) {
			e.attemptedRef(x.t, x.rip, e.refs[e.simulated])
		}
	}
	e.resume = x.resume()
	return x.rip
}

// simulateRefs simulates references of the instruction of t at pc, and counts those that do not happen always.
func (e *Engine) simulateRefs(t *tb, pc emu.Addr, refs []hooks.Reference) {
	for _, r := range refs {
		if r.Guard != x86.Always {
			e.countRef(t, pc, r.Ref, 1)
		}
		e.dataRef(t, pc, r.Addr, r.Ref)
	}
}

// attemptedRef simulates a reference that faults, or one of a locked instruction in front of that.
func (e *Engine) attemptedRef(t *tb, pc emu.Addr, r hooks.Reference) {
	if guest.Readable(e.mem, r) {
		e.dataRef(t, pc, r.Addr, r.Ref)
	}
}

// countRef counts a reference of the instruction of t at pc so many times.
func (e *Engine) countRef(t *tb, pc emu.Addr, r x86.Ref, times int64) {
	for _, ev := range hooks.EventsOf(r) {
		e.tally(t, pc, ev, times)
	}
}

// reachable returns how many of refs, those of g, come before one that faults. References in a row are often to one
// page.
func (e *Engine) reachable(c *emu.CPU, g *guest.Insn, refs []hooks.Reference) int {
	last := hooks.Reference{}
	for n, r := range refs {
		if !guest.Accesses(c, g, r.Ref) {
			continue
		}
		if r.Kind == last.Kind && r.Size <= last.Size && r.Addr.PageDown() == last.Addr.PageDown() && (r.Addr+emu.Addr(r.Size)-1).PageDown() == r.Addr.PageDown() {
			continue
		}
		prot := mem.Read
		if r.Kind != x86.Read {
			prot = mem.Write
		}
		if e.mem.Reachable(r.Addr, uint64(r.Size), prot) < uint64(r.Size) {
			return n
		}
		last = r
	}
	return len(refs)
}
