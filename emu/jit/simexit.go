//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// emitOutside leaves to Go, which simulates what instruction i refers to, and comes back behind.
func (e *Engine) emitOutside(i int, kind exitKind) {
	x := exit{kind: kind, rip: e.block[i].PC, t: e.t, insn: int16(i)}
	site := e.jmp(0)
	x.resume = int32(e.pos)
	e.emitExit(site, x)
}

// outsideRefs handles exits of emitOutside.
func (e *Engine) outsideRefs(c *emu.CPU, x *exit) emu.Addr {
	g := &e.examined
	e.decoder.Forget()
	e.decodeOne(g, x.rip)
	e.storeCPU(c, x.rip)
	if x.kind == exitRepeated {
		e.repeated(c, x.t, int(x.insn), g, e.get(slotC), false)
	} else {
		e.simulateRefs(c, x.t, int(x.insn), g)
	}
	e.resume = int(x.resume)
	return x.rip
}

// simulateRefs simulates the references of g as c is in front of it, and counts those that
// do not happen always.
func (e *Engine) simulateRefs(c *emu.CPU, t *tb, i int, g *ginsn) {
	for r := range g.References {
		if !guest.Happens(c, &g.Insn, r) {
			continue
		}
		if r.Guard != x86.Always {
			for _, ev := range hooks.EventsOf(r) {
				e.tally(t, i, ev, 1)
			}
		}
		e.dataRef(t, i, guest.RefAddr(c, &g.Insn, r), r)
	}
}
