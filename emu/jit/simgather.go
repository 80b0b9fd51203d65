//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// maxElements is how many elements a gather may have.
const maxElements = 8

// gathers reports whether generated code simulates what g refers to: g is a gather of AVX2, whose references all
// happen, those of elements that are not selected at RSP (docs/counting.md, "Data references").
func (e *Engine) gathers(g *ginsn) bool {
	if !e.sim.caches || !e.spare || e.counting == emu.CountOff || !g.Mem.VSIB || g.Mem.Seg != x86.SegNone || g.Mem.AddrSize != 8 || g.NArgs != 3 {
		return false
	}
	n := uint8(0)
	for r := range g.References {
		if r.At != x86.AtVSIB || r.Guard != x86.Always || r.Kind != x86.Read || r.Lane != n {
			return false
		}
		n++
	}
	return n >= 2 && n <= maxElements
}

// emitGather makes the references of gather i, one by one. If one would fault, Go makes those from there on. Guest
// registers and flags are in their places.
func (e *Engine) emitGather(i int) {
	g := &e.block[i]
	refs := g.effects.Refs
	e.store(slotTmp, x86.RAX)
	e.store(slotTmp2, x86.RCX)
	e.emitElements(g, int(refs[0].Size))
	e.saveFlags()
	e.vstoreWide(stElements, vecElements)
	missing, behind := make([][]int, len(refs)), make([]int, len(refs))
	for k := range refs {
		e.load(x86.RCX, stElements+8*k)
		missing[k] = e.emitTouchLine(x86.RCX, x86.NoReg, int(refs[k].Size), true)
		behind[k] = e.pos
	}
	putBack := func() {
		e.restoreFlags()
		e.load(x86.RCX, slotTmp2)
		e.load(x86.RAX, slotTmp)
	}
	putBack()
	x := exit{kind: exitElements, rip: g.PC, t: e.t, insn: int16(i), first: int32(e.pos)}
	e.swap()
	l1, _ := missEvents(x86.Read)
	counter := e.abs(e.newEventCounter(i, l1, true)) | e.missTotal(l1)
	var faulting []int
	for k, sites := range missing {
		for _, site := range sites {
			e.link(site, e.pos)
		}
		e.load(x86.RCX, stElements+8*k)
		e.emitFullReference(counter, x86.RCX, int(refs[k].Size))
		e.emitTestGiven(x86.RCX)
		e.jcc(condE, behind[k])
		e.storeImm32(stElement, uint32(k))
		faulting = append(faulting, e.jmp(0))
	}
	for _, site := range faulting {
		e.link(site, e.pos)
	}
	putBack()
	e.emitExit(e.jmp(0), x)
	e.swap()
}

// emitElements puts the addresses of g's elements, of size bytes, into vecElements. It loses RCX and leaves flags
// alone.
func (e *Engine) emitElements(g *ginsn, size int) {
	e.emitExtended(vecElements, g.Mem.Index, g.IndexSize())
	e.vpsllq(vecElements, log2(int(g.Mem.Scale)))
	if disp := g.Mem.Disp; g.Mem.Base == x86.NoReg {
		e.movImm(x86.RCX, uint64(disp))
	} else {
		e.leaFull(x86.RCX, g.Mem.Base, x86.NoReg, 1, int32(disp), false)
	}
	e.vpbroadcastq(vecScratch, x86.RCX)
	e.vpaddqWideVector(vecElements, vecElements, vecScratch)
	e.emitExtended(vecScratch, g.Args[2].Reg, size)
	e.vpmovq2m(1, vecScratch)
	e.vpbroadcastq(vecScratch, x86.RSP)
	e.vpblendmq(vecElements, 1, vecScratch, vecElements)
}

// emitExtended puts elements of size bytes of a register of the guest's into v, each with its sign in 8 bytes.
func (e *Engine) emitExtended(v vec, guest x86.Reg, size int) {
	if size == 4 {
		e.vpmovsxdq(v, guest)
	} else {
		e.vmovdqu64(v, guest)
	}
}
