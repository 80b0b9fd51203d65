//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// An aloneKind says what generated code simulates apart from groups of references.
type aloneKind uint8

const (
	notAlone aloneKind = iota
	alone              // one reference whose address depends on more than base and index: XLAT, bit tests in a string of bits
	masked             // a VMASKMOV or VPMASKMOV, which makes a reference for each element that is selected
)

// aloneKindOf returns which kind g is of.
func (e *Engine) aloneKindOf(g *ginsn) aloneKind {
	r := &g.Refs[0]
	switch {
	case g.Kind != guest.Plain || g.NRefs == 0 || g.Mem.Seg != x86.SegNone || g.Mem.AddrSize == 4:
		return notAlone
	case g.NRefs == 1 && r.Guard == x86.Always && (r.At == x86.AtXlat || r.At == x86.AtBitString):
		return alone
	case r.Guard == x86.MaskLane && e.calls == nil: // the totals of calls do not have what such a counter counts
		return masked
	}
	return notAlone
}

// emitAlone simulates what instruction i refers to. Guest registers and flags are in their places.
func (e *Engine) emitAlone(i int, kind aloneKind) {
	g := &e.block[i]
	r := g.Refs[0]
	e.store(slotTmp, x86.RAX)
	e.store(slotTmp2, x86.RCX)
	e.saveFlags()
	e.store(slotA, x86.RAX)
	e.load(x86.RAX, slotTmp)
	e.emitAloneAddress(g, &r)
	var toGo []int
	none := 0
	if kind == masked {
		e.emitSelected(g)
		e.testRR32(x86.RAX)
		none = e.jcc(condE, 0)
		e.store(slotB, x86.RAX)
	}
	if e.sim.caches {
		size := min(int(r.Size), e.sim.maxRef)
		if kind == masked {
			// All elements lie in one line, so what the first one does is all that happens. Where they do not, Go sees to them.
			size = 1
			e.movRR32(x86.RAX, x86.RCX)
			e.aluImm32(aluAND, x86.RAX, int32(e.sim.d1.line-1))
			e.aluImm32(aluCMP, x86.RAX, int32(e.sim.d1.line-int(r.Size)*int(g.NRefs)))
			toGo = append(toGo, e.jcc(condA, 0))
		}
		toGo = append(toGo, e.emitAloneReference(i, &r, size, kind)...)
	}
	if kind == masked {
		e.emitCountSelected(i, &r)
		e.link(none, e.pos)
	}
	e.emitAfterAlone()
	if len(toGo) == 0 {
		return
	}
	x := exit{kind: exitOutside, rip: g.PC, t: e.t, insn: int16(i), resume: int32(e.pos)}
	e.swap()
	for _, site := range toGo {
		e.link(site, e.pos)
	}
	e.emitAfterAlone()
	e.emitExit(e.jmp(0), x)
	e.swap()
}

// emitAfterAlone puts flags and registers back.
func (e *Engine) emitAfterAlone() {
	e.load(x86.RAX, slotA)
	e.restoreFlags()
	e.load(x86.RCX, slotTmp2)
	e.load(x86.RAX, slotTmp)
}

// emitAloneAddress puts the address of g's reference, or of its first element, into RCX. It loses RAX and the flags; these registers' values are in slotTmp2 and slotTmp.
func (e *Engine) emitAloneAddress(g *ginsn, r *x86.Ref) {
	if r.At == x86.AtXlat {
		e.byte(0x0f, 0xb6) // movzx ecx, byte [slotTmp]
		e.rip(x86.RCX, slotTmp, 0)
		e.leaIndex(x86.RCX, x86.RBX, x86.RCX, 1, 0)
		return
	}
	a := (&addressing{}).of(g, r)
	e.emitAddress(&a, a.disp, x86.RCX, x86.NoReg)
	if r.At != x86.AtBitString {
		return
	}
	switch bit := g.Args[1].Reg; bit {
	case x86.RAX:
	case x86.RCX:
		e.load(x86.RAX, slotTmp2)
	default:
		e.movRR(x86.RAX, bit)
	}
	switch g.OpSize {
	case 2:
		e.byte(0x48, 0x0f, 0xbf, 0xc0) // movsx rax, ax
	case 4:
		e.byte(0x48, 0x63, 0xc0) // movsxd rax, eax
	}
	e.byte(0x48, 0xc1, 0xf8, 3) // sar rax, 3
	e.leaIndex(x86.RCX, x86.RCX, x86.RAX, 1, 0)
}

// emitSelected puts the elements that g selects into RAX, a bit for each.
func (e *Engine) emitSelected(g *ginsn) {
	mask, size := g.Args[1].Reg, int(g.Refs[0].Size)
	form := byte(0x78)
	if size == 8 {
		form |= 1
	}
	if size*int(g.NRefs) == 32 {
		form |= 4
	}
	e.byte(0xc4, 0xc1|byte(^mask>>3&1)<<5, form, 0x50, 0xc0|byte(mask&7)) // vmovmskps or vmovmskpd eax, mask
}

// emitAloneReference makes the reference of size bytes at RCX. It loses RAX, RCX and the flags, and returns the sites of jumps for where Go sees to it:
// if elements of a mask would fault.
func (e *Engine) emitAloneReference(i int, r *x86.Ref, size int, kind aloneKind) (toGo []int) {
	l1, _ := missEvents(r.Kind)
	counter := e.abs(e.newEventCounter(i, l1, true)) | e.missTotal(l1)
	d1 := &e.sim.d1
	back := -1
	if d1.vectors > 0 {
		e.vpbroadcastq(vecRef, x86.RCX)
		e.movRR32(x86.RAX, x86.RCX)
		e.aluImm32(aluAND, x86.RAX, int32(d1.mask))
		e.emitCompareSpan(d1, x86.RAX, size)
		missing := e.jcc(condE, 0)
		e.emitStampSet(d1, x86.RAX)
		back = e.pos
		e.swap()
		e.link(missing, e.pos)
	}
	e.storeImm32(stGiven, 0)
	e.store(stSimRSP, x86.RSP)
	e.leaRIP(x86.RSP, stSimStack)
	e.pushReg(x86.RCX)
	e.pushImm(counter)
	e.pushImm(int32(size - 1))
	e.call(e.sim.data)
	e.load(x86.RSP, stSimRSP)
	if kind == masked {
		e.load(x86.RCX, stGiven)
		e.testRR32(x86.RCX)
		toGo = append(toGo, e.jcc(condNE, 0))
	}
	if back >= 0 {
		e.jmp(back)
		e.swap()
	}
	return toGo
}

// emitCountSelected counts references r of instruction i, as many as slotB has bits. It loses RAX and the flags.
func (e *Engine) emitCountSelected(i int, r *x86.Ref) {
	e.load(x86.RAX, slotB)
	e.byte(0xf3, 0x0f, 0xb8, 0xc0) // popcnt eax, eax
	for _, ev := range hooks.EventsOf(*r) {
		if e.Events.Has(ev) {
			e.byte(0x48, 0x01) // add [counter], rax
			e.rip(x86.RAX, e.newEventCounter(i, ev, false), 0)
		}
	}
	e.storeImm32(stCounted, 1)
}
