//go:build linux && amd64

package jit

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// The state of x87 and vectors lies in an XState while Go runs. Moves load and store the vectors: XSAVE and XRSTOR take
// ten times as long (RATIONALE.md). A block that needs x87 loads it, with XRSTOR, which leaves vectors alone; an exit
// stores it if it has been loaded. Where Go goes back into the midst of a block, the entry loads it again, since the
// block counts on that. Where its registers are generated code's own otherwise, it is loaded for such instructions
// alone (mmx.go). Entry and exit do so with FXRSTOR and FXSAVE, which take half as long. With registers of AVX-512 they
// do all, in the compacted format, since the places of those in the standard format are others from host to host.

// compacted says in XCOMP_BV that a state has the compacted format.
const compacted = 1 << 63

// clearPointers clears what a host says of x87's last instruction.
func clearPointers(x *emu.XState) {
	clear(x[emu.XOffFOP : emu.XOffFDP+8])
	// AMD's CPUs have one bit more, and FXSAVE shows the mask.
	binary.LittleEndian.PutUint32(x[emu.XOffMXCSRMsk:], emu.MXCSRMask)
}

// emitLoadState loads vectors and MXCSR, and x87 if it was loaded, from the XState at RCX. It loses RAX, RDX and the
// flags. If no upper half of a ymm register is in use, the host's CPU is told so: it would take each of the guest's
// changes between SSE and AVX code for one that must keep them, which costs some 70 ns.
func (e *assembler) emitLoadState() {
	e.restoreX87() // fxrstor64, of vectors too: before the moves
	e.vectorAt(vexMOVDQULd256, 0, 0, emu.XOffYMMH)
	for at := emu.XOffYMMH + 32; at < emu.XAVXSize; at += 32 {
		e.vectorAt(vexPOR256, 0, 0, at)
	}
	e.byte(0xc4, 0xe2, 0x7d, 0x17, 0xc0) // vptest ymm0, ymm0
	used := e.jcc(condNE, 0)
	e.byte(0xc5, 0xf8, 0x77) // vzeroupper
	e.link(used, e.pos)
	for r := range vectors {
		e.vectorAt(vexMOVDQULd, r, 0, emu.XOffXMM+16*r)
	}
	unused := e.jcc(condE, 0)
	for r := range vectors {
		e.vectorAt(vexINSERTF128, r, r, emu.XOffYMMH+16*r)
	}
	e.link(unused, e.pos)
	e.byte(0x0f, 0xae, 0x51, emu.XOffMXCSR) // ldmxcsr [rcx+24]
}

// emitSaveState stores them there, and x87 if it is loaded, and loses the same.
func (e *assembler) emitSaveState() {
	for r := range vectors {
		e.vectorAt(vexMOVDQUSt, r, 0, emu.XOffXMM+16*r)
		e.vectorAt(vexEXTRACTF128, r, 0, emu.XOffYMMH+16*r)
	}
	e.byte(0x0f, 0xae, 0x59, emu.XOffMXCSR) // stmxcsr [rcx+24]
	e.saveX87()                             // fxsave64
}

// emitClearX87 leaves no exception of x87 waiting in the host when the state was saved at RCX: who uses MMX next,
// another engine perhaps, would meet it. It loses the flags.
func (e *assembler) emitClearX87() {
	e.byte(0xf6, 0x41, emu.XOffFCW+2, 0x80) // test byte [rcx+2], ES
	none := e.jcc(condE, 0)
	e.byte(0xdb, 0xe2) // fnclex
	e.link(none, e.pos)
}

// jumpX87 jumps if stX87 compares so with n. It loses the flags.
func (e *assembler) jumpX87(n, cond byte) (site int) {
	e.byte(0x83) // cmp dword [stX87], n
	e.rip(7, stX87, 1)
	e.byte(n)
	return e.jcc(cond, 0)
}

// saveX87 emits FXSAVE at RCX for x87 that is loaded, restoreX87 FXRSTOR for x87 that is to be. Both lose the flags.
func (e *assembler) saveX87() { e.ifX87(e.jumpX87(x87Loaded, condNE), 0) }

func (e *assembler) restoreX87() { e.ifX87(e.jumpX87(x87Away, condE), 1) }

// ifX87 emits FXSAVE or FXRSTOR, by its ModRM.reg, unless the jump at without was made.
func (e *assembler) ifX87(without int, reg byte) {
	e.byte(0x48, 0x0f, 0xae, reg<<3|1)
	e.link(without, e.pos)
}

// usesX87 reports whether x87 is to be loaded when g is executed.
func usesX87(g *ginsn) bool { return g.X87 && g.Kind == guest.Plain }

// emitStoreEnvironment emits FNSTENV, and stores what emu/sem does behind the control, status and tag words: of x87's
// last instruction, whose addresses are the host's, all is 0 (SDM Vol. 1, "x87 FPU Instruction and Data (Operand)
// Pointers").
func (e *Engine) emitStoreEnvironment(g *ginsn) {
	s := pickScratch(g)
	e.store(slotA, s)
	from := e.pos
	if disp := e.address(g, s); disp != 0 {
		e.lea(s, s, disp)
	}
	e.emitPrefixes(g, false)
	e.byte(0xd9)
	e.memRM(6, s, 0)
	put := func(at int32, n uint32) {
		e.byte(prefixGS, 0xc7) // mov dword gs:[s+at], n
		e.memRM(0, s, at)
		e.u32(n)
	}
	if g.OpSize16 {
		put(6, 0)
		put(10, 0)
	} else {
		for at := int32(12); at < 24; at += 4 {
			put(at, 0)
		}
		put(24, 0xffff<<16) // the operand's selector, and 16 bits that are ones
	}
	e.load(s, slotA)
	e.saved(from, s, slotA, 0)
}

// emitNeedX87 loads x87, if that has not been done since generated code was entered. It leaves registers and flags
// alone.
func (e *Engine) emitNeedX87() {
	if e.x87 || e.wide && !e.emulatesWide {
		return
	}
	if e.mmx {
		e.emitToX87()
		return
	}
	e.x87 = true
	e.store(slotTmp, x86.RCX)
	e.load(x86.RCX, stX87)
	absent := e.short(opJRCXZ)
	loaded := e.short(opShortJ)
	e.patchShort(absent)
	site := e.jmp(0)
	e.patchShort(loaded)
	back := e.pos
	e.load(x86.RCX, slotTmp)
	e.swap()
	e.link(site, e.pos)
	e.emitLoadX87()
	e.jmp(back)
	e.swap()
}

// emitLoadX87 loads x87, and leaves vectors, flags and registers but RCX alone.
func (e *Engine) emitLoadX87() {
	e.store(slotA, x86.RAX)
	e.store(slotB, x86.RDX)
	e.load(x86.RCX, stFP)
	e.movImm(x86.RAX, emu.XX87)
	e.movImm(x86.RDX, 0)
	e.byte(0x48, 0x0f, 0xae, 0x29) // xrstor64 [rcx]
	e.load(x86.RAX, slotA)
	e.load(x86.RDX, slotB)
	e.storeImm32(stX87, x87Loaded)
}

// vectors is how many there are.
const vectors = 16

// A vexOp is the last byte of a VEX prefix without vvvv, the map and the opcode of an instruction (SDM Vol. 2, "VEX").
// Those of map 3 have an immediate.
type vexOp struct{ prefix, mmm, opcode byte }

var (
	vexMOVDQULd    = vexOp{0x02, 1, 0x6f}
	vexMOVDQUSt    = vexOp{0x02, 1, 0x7f}
	vexMOVDQULd256 = vexOp{0x06, 1, 0x6f}
	vexPOR256      = vexOp{0x05, 1, 0xeb}
	vexINSERTF128  = vexOp{0x05, 3, 0x18}
	vexEXTRACTF128 = vexOp{0x05, 3, 0x19}
)

// vectorAt emits an instruction with vector r, the other source src, 0 if it has none, [rcx+disp], and 1 if it has an
// immediate.
func (e *assembler) vectorAt(op vexOp, r, src, disp int) {
	e.byte(0xc4, 0x60|byte(^r>>3&1)<<7|op.mmm, byte(^src&15)<<3|op.prefix, op.opcode, 0x81|byte(r&7)<<3)
	e.u32(uint32(disp))
	if op.mmm == 3 {
		e.byte(1)
	}
}

// packWide says in the header which components are in use, for a CPU with AVX-512. A host without it loads the part of
// x that has the standard format.
func (e *Engine) packWide(x *emu.XState) {
	bv, parts := uint64(emu.XX87|emu.XSSE), emu.XComponents[:]
	if e.emulatesWide {
		parts = parts[:1]
	}
	for _, c := range parts {
		if !isZero(c.In(x)) {
			bv |= 1 << c.Number
		}
	}
	x.SetComponents(bv)
	if !e.emulatesWide {
		binary.LittleEndian.PutUint64(x[emu.XOffHeader+8:], compacted|e.Model.XCR0)
	}
}

// isZero reports whether b, of whole words, has no bit set.
func isZero(b []byte) bool {
	for ; len(b) > 0; b = b[8:] {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
	}
	return true
}

// settleWide undoes packWide. What XSAVEC found in its initial state it did not write; MXCSR was stored apart.
func (e *Engine) settleWide(x *emu.XState) {
	saved := x.Components()
	x.SetComponents(e.Model.XCR0)
	clear(x[emu.XOffHeader+8:][:8])
	clearPointers(x)
	if e.emulatesWide {
		return
	}
	if saved&emu.XX87 == 0 {
		mxcsr := binary.LittleEndian.Uint32(x[emu.XOffMXCSR:])
		clear(x[:emu.XOffXMM])
		x[emu.XOffFCW], x[emu.XOffFCW+1] = 0x7f, 0x03
		binary.LittleEndian.PutUint32(x[emu.XOffMXCSR:], mxcsr)
		binary.LittleEndian.PutUint32(x[emu.XOffMXCSRMsk:], emu.MXCSRMask)
	}
	if saved&emu.XSSE == 0 {
		clear(x[emu.XOffXMM:][:256])
	}
	for _, c := range emu.XComponents {
		if saved>>c.Number&1 == 0 {
			clear(c.In(x))
		}
	}
}
