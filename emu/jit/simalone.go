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
	var toGo, apart []int
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
			// If all elements lie in one line, what the first one that is selected does is all that happens.
			size = 1
			e.movRR32(x86.RAX, x86.RCX)
			e.aluImm32(aluAND, x86.RAX, int32(e.sim.d1.line-1))
			e.aluImm32(aluCMP, x86.RAX, int32(e.sim.d1.line-int(r.Size)*int(g.NRefs)))
			// If not, Go sees to stores, of which it knows whether they may fault.
			if site := e.jcc(condA, 0); r.Kind == x86.Read {
				apart = append(apart, site)
			} else {
				toGo = append(toGo, site)
			}
			e.load(x86.RAX, slotB)
			e.byte(0xf3, 0x0f, 0xbc, 0xc0) // tzcnt eax, eax
			e.leaIndex(x86.RCX, x86.RCX, x86.RAX, uint8(r.Size), 0)
		}
		toGo = append(toGo, e.emitAloneReference(i, &r, size, kind)...)
	}
	made := e.pos
	if kind == masked {
		e.emitCountSelected(i, &r)
		e.link(none, e.pos)
	}
	e.emitAfterAlone()
	if len(toGo) == 0 {
		return
	}
	x := exit{kind: exitOutside, rip: g.PC, t: e.t, insn: int16(i), first: int32(e.pos)}
	e.swap()
	if len(apart) > 0 {
		e.link(apart[0], e.pos)
		toGo = append(toGo, e.emitApart(i, &r, made, x)...)
	}
	e.emitToGo(toGo, x)
	e.swap()
}

// emitToGo has Go go on with the references of the instruction in front of x, from some sites of jumps.
func (e *Engine) emitToGo(sites []int, x exit) {
	for _, site := range sites {
		e.link(site, e.pos)
	}
	e.emitAfterAlone()
	e.emitExit(e.jmp(0), x)
}

// emitApart makes the references of a masked load at RCX whose elements, which slotB selects, may lie in two lines, and
// goes to made: those in the first line do what the first one does that is selected, and then likewise those in the
// second. RAX is how far the address is from its line's beginning. x is the exit to Go. It returns the sites of jumps
// for where Go sees to all of them: an element lies in both lines, or is in the first one and would fault.
func (e *Engine) emitApart(i int, r *x86.Ref, made int, x exit) (toGo []int) {
	line, counter := e.sim.d1.line, e.newMissCounter(i, r)
	e.byte(0xa8, byte(r.Size-1)) // test al, size-1
	toGo = append(toGo, e.jcc(condNE, 0))
	e.store(slotC, x86.RCX)
	e.storeImm32(stElement, 0)
	e.movImm(x86.RCX, uint64(line))
	e.aluRR(aluSUB, x86.RCX, x86.RAX)
	e.shiftRight(x86.RCX, log2(int(r.Size))) // so many elements are in the first line
	e.load(x86.RAX, slotB)
	e.byte(0xc4, 0xe2, 0x70, 0xf5, 0xc0) // bzhi eax, eax, ecx
	second := e.jcc(condE, 0)
	e.byte(0xf3, 0x0f, 0xb8, 0xc0) // popcnt eax, eax
	e.store(stElement, x86.RAX)
	e.load(x86.RAX, slotB)
	e.byte(0xf3, 0x0f, 0xbc, 0xc0) // tzcnt eax, eax
	e.shiftLeft(x86.RAX, log2(int(r.Size)))
	e.byte(0x48, 0x03) // add rax, [slotC]
	e.rip(x86.RAX, slotC, 0)
	e.emitFullReference(counter, x86.RAX, 1)
	e.emitTestGiven(x86.RAX)
	toGo = append(toGo, e.jcc(condNE, 0))
	e.link(second, e.pos)
	e.load(x86.RAX, slotB)
	e.byte(0xc4, 0xe2, 0x73, 0xf7, 0xc0) // shrx eax, eax, ecx
	e.testRR32(x86.RAX)
	e.jcc(condE, made)
	e.byte(0xf3, 0x0f, 0xbc, 0xc0) // tzcnt eax, eax
	e.load(x86.RCX, slotC)
	e.aluImm(aluOR, x86.RCX, int32(line-1))
	e.leaIndex(x86.RAX, x86.RCX, x86.RAX, uint8(r.Size), 1)
	e.emitFullReference(counter, x86.RAX, 1)
	e.emitTestGiven(x86.RAX)
	e.jcc(condE, made)
	x.kind = exitElements
	e.emitToGo(nil, x)
	return toGo
}

// newMissCounter returns what the routines are told of the counters of misses of reference r of instruction i.
func (e *Engine) newMissCounter(i int, r *x86.Ref) int32 {
	l1, _ := missEvents(r.Kind)
	return e.abs(e.newEventCounter(i, l1, true)) | e.missTotal(l1)
}

// emitFullReference makes the reference of size bytes at the address in r by the routine. It loses the flags.
func (e *Engine) emitFullReference(counter int32, r x86.Reg, size int) {
	e.storeImm32(stGiven, 0)
	e.store(stSimRSP, x86.RSP)
	e.leaRIP(x86.RSP, stSimStack)
	e.pushReg(r)
	e.pushImm(counter)
	e.pushImm(int32(size - 1))
	e.call(e.simRoutines().load.entry)
	e.load(x86.RSP, stSimRSP)
}

// emitTestGiven clears the zero flag if the reference would fault and was not made. It loses r.
func (e *Engine) emitTestGiven(r x86.Reg) {
	e.load(r, stGiven)
	e.testRR32(r)
}

// emitAfterAlone puts flags and registers back.
func (e *Engine) emitAfterAlone() {
	e.load(x86.RAX, slotA)
	e.restoreFlags()
	e.load(x86.RCX, slotTmp2)
	e.load(x86.RAX, slotTmp)
}

// emitAloneAddress puts the address of g's reference, or of its first element, into RCX. It loses RAX and the flags;
// these registers' values are in slotTmp2 and slotTmp.
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

// emitAloneReference makes the reference of size bytes at RCX. It loses RAX, RCX and the flags, and returns the sites
// of jumps for where Go sees to it: if elements of a mask would fault.
func (e *Engine) emitAloneReference(i int, r *x86.Ref, size int, kind aloneKind) (toGo []int) {
	counter := e.newMissCounter(i, r)
	e.store(stElements, x86.RCX)
	sites := e.emitTouchLine(x86.RCX, x86.RAX, size, false)
	back := e.pos
	e.swap()
	for _, site := range sites {
		e.link(site, e.pos)
	}
	e.load(x86.RCX, stElements)
	e.emitFullReference(counter, x86.RCX, size)
	if kind == masked {
		e.emitTestGiven(x86.RCX)
		toGo = append(toGo, e.jcc(condNE, 0))
	}
	e.jmp(back)
	e.swap()
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
