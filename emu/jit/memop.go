//go:build linux && amd64

package jit

import (
	"bytes"
	"math"

	"github.com/cgemu/cgemu/emu/x86"
)

// prefixGS makes a memory operand relative to GS base: to the guest's memory.
const prefixGS = 0x65

// An operand is a memory operand that can be encoded with a GS prefix.
type operand struct {
	base, index x86.Reg
	scale       uint8
	disp        int32
	addr32      bool
}

// emitPlain copies an instruction, making its memory operand the guest's.
func (e *Engine) emitPlain(g *ginsn) {
	switch {
	case e.selfChecks && e.readsImmediate(g):
		e.emitReadImmediate(g)
	case !g.HasMem && g.NRefs == 0 && g.IgnoresRep():
		e.byte(g.prefixes()...)
		e.byte(g.Bytes[g.NPrefix:]...)
	case !g.HasMem && g.NRefs == 0:
		e.byte(g.Bytes...)
	case !g.HasMem && g.Mem.Seg != x86.SegNone:
		e.emitMaskMove(g)
	case !g.HasMem:
		e.copyWithGS(g) // XLAT, MASKMOVQ, MASKMOVDQU
	case g.Mem.Seg == x86.SegNone && g.Mem.RIPRel && fitsAbs(g) && g.fitsGS(1):
		e.copyAbsolute(g)
	case g.Mem.Seg == x86.SegNone && !g.Mem.RIPRel && g.fitsGS(0):
		e.copyWithGS(g)
	default:
		e.copyViaScratch(g)
	}
}

// fitsAbs reports whether a RIP-relative operand can be written as an absolute one.
func fitsAbs(g *ginsn) bool {
	abs := int64(g.Next()) + g.Mem.Disp
	return g.Mem.AddrSize == 8 && abs >= 0 && abs <= math.MaxInt32
}

// Legacy prefixes.
const (
	prefixLock  = 0xf0
	prefixRepne = 0xf2
	prefixRep   = 0xf3
	prefixOp16  = 0x66
	prefixAdr32 = 0x67
)

// prefixes returns g's legacy prefixes, each once, but for segment overrides and an F3 that is ignored; of F2 and F3
// the last one counts.
func (g *ginsn) prefixes() (list []byte) {
	var room [4]byte
	list = room[:0]
	all := g.Bytes[:g.NPrefix]
	for _, p := range [...]byte{prefixLock, prefixOp16, prefixAdr32} {
		if bytes.IndexByte(all, p) >= 0 {
			list = append(list, p)
		}
	}
	if i := max(bytes.LastIndexByte(all, prefixRepne), bytes.LastIndexByte(all, prefixRep)); i >= 0 && !g.IgnoresRep() {
		list = append(list, all[i])
	}
	return list
}

// emitPrefixes emits the legacy prefixes but for segment overrides, then GS.
func (e *Engine) emitPrefixes(g *ginsn, keepAddr32 bool) {
	for _, p := range g.prefixes() {
		if p != prefixAdr32 || keepAddr32 {
			e.byte(p)
		}
	}
	e.byte(prefixGS)
}

// fitsGS reports whether g can be copied with a GS prefix, and room for more bytes.
func (g *ginsn) fitsGS(more int) bool {
	return len(g.prefixes())+1+int(g.Len-g.NPrefix)+more <= x86.MaxLen
}

// copyWithGS copies g with a GS prefix in the place of its segment overrides.
func (e *Engine) copyWithGS(g *ginsn) {
	e.emitPrefixes(g, true)
	e.byte(g.Bytes[g.NPrefix:]...)
}

// emitMaskMove copies MASKMOVQ or MASKMOVDQU with an FS or GS base, which is added to RDI meanwhile.
func (e *Engine) emitMaskMove(g *ginsn) {
	e.store(slotA, x86.RDI)
	from := e.pos
	if g.Mem.AddrSize == 4 {
		e.truncate(x86.RDI)
	}
	e.addSegment(g, x86.RDI)
	e.emitPrefixes(g, false)
	e.byte(g.Bytes[g.NPrefix:]...)
	e.load(x86.RDI, slotA)
	e.saved(from, x86.RDI, slotA, 0)
}

// copyAbsolute copies g with its RIP-relative operand turned into an absolute one.
func (e *Engine) copyAbsolute(g *ginsn) {
	e.emitPrefixes(g, false)
	e.emitOpcode(g, 0x02)
	e.byte(g.ModRM&0x38|4, 0x25)
	e.u32(uint32(int64(g.Next()) + g.Mem.Disp))
	e.byte(g.Bytes[tail(g):]...)
}

// emitOpcode emits REX, VEX or EVEX and the opcode, with the REX bits in clear (X is 2, B is 1) zero.
func (e *Engine) emitOpcode(g *ginsn, clear byte) {
	switch {
	case g.Enc == x86.EVEX:
		e.byte(0x62, g.Bytes[g.NPrefix+1]|clear<<5, g.Bytes[g.NPrefix+2], g.Bytes[g.NPrefix+3])
	case g.Enc == x86.VEX && g.Bytes[g.NPrefix] == 0xc4:
		e.byte(0xc4, g.Bytes[g.NPrefix+1]|clear<<5, g.Bytes[g.NPrefix+2])
	case g.Enc == x86.VEX:
		e.byte(g.Bytes[g.NPrefix:g.OpcodeOff]...)
	case g.REX != 0:
		e.byte(g.REX &^ clear)
	}
	e.byte(g.Bytes[g.OpcodeOff:g.ModRMOff]...)
}

// copyViaScratch copies g with its memory operand's address computed into a
// register first: operands with an FS or GS base, those far from the code, and
// encodings that have no room for a prefix.
func (e *Engine) copyViaScratch(g *ginsn) {
	s := pickScratch(g)
	e.store(slotA, s)
	from := e.pos
	disp := e.address(g, s)
	if g.ModRMOff == 0 {
		e.moffsViaScratch(g, s, disp)
	} else {
		e.emitPrefixes(g, false)
		if g.Mem.VSIB {
			// The vector index stays.
			e.emitOpcode(g, 0x01)
			e.byte(g.ModRM&0x38|0x84, g.Bytes[g.ModRMOff+1]&0xf8|byte(s))
			e.u32(uint32(disp))
		} else {
			e.emitOpcode(g, 0x03)
			if g.Enc == x86.EVEX {
				e.byte(g.ModRM&0x38 | 0x80 | byte(s)) // a displacement of one byte would be scaled
				e.u32(uint32(disp))
			} else {
				e.memRM(x86.Reg(g.ModRM>>3&7), s, disp)
			}
		}
		e.byte(g.Bytes[tail(g):]...)
	}
	e.load(s, slotA)
	e.saved(from, s, slotA, 0)
}

// tail returns the offset of what follows the memory operand: the immediates.
func tail(g *ginsn) int {
	if g.ImmLen > 0 {
		return int(g.ImmOff)
	}
	return int(g.Len)
}

// moffsViaScratch emits the moffs forms of MOV, A0 to A3, as their ModRM forms with [s+disp].
func (e *Engine) moffsViaScratch(g *ginsn, s x86.Reg, disp int32) {
	e.emitPrefixes(g, false)
	if g.REX != 0 {
		e.byte(g.REX &^ 7)
	}
	// A0, A1 load AL, eAX: 8A, 8B. A2, A3 store: 88, 89.
	op := g.Bytes[g.OpcodeOff]
	e.byte(0x88 | (op^2)&3)
	e.memRM(x86.RAX, s, disp)
}

// pickScratch returns a register below R8, so that it needs no REX bit, that g does not use.
func pickScratch(g *ginsn) x86.Reg {
	used := g.GPRRead | g.GPRWrite
	for _, r := range [...]x86.Reg{x86.RBX, x86.RSI, x86.RDI, x86.RDX, x86.RCX, x86.RAX, x86.RBP} {
		if used>>r&1 == 0 {
			return r
		}
	}
	panic("BUG: no register left for " + g.Op.String())
}

// address computes the address of g's memory operand into s, FS and GS base included,
// but for the displacement it returns. It leaves the flags alone.
func (e *Engine) address(g *ginsn, s x86.Reg) (disp int32) {
	m := &g.Mem
	if m.RIPRel {
		e.movImm(s, uint64(g.Next())+uint64(m.Disp))
		if m.AddrSize == 4 {
			e.truncate(s)
		}
		e.addSegment(g, s)
		return 0
	}
	if m.Seg != x86.SegNone && m.AddrSize == 8 && m.Disp == int64(int32(m.Disp)) {
		e.load(s, segSlot(m.Seg))
	} else {
		e.movImm(s, uint64(m.Disp))
	}
	if m.Base != x86.NoReg {
		e.leaIndex(s, m.Base, s, 1, 0)
	}
	if m.Index != x86.NoReg && !m.VSIB {
		e.leaIndex(s, s, m.Index, m.Scale, 0)
	}
	if m.Seg != x86.SegNone && m.AddrSize == 8 && m.Disp == int64(int32(m.Disp)) {
		return int32(m.Disp)
	}
	if m.AddrSize == 4 {
		e.truncate(s)
	}
	e.addSegment(g, s)
	return 0
}

// truncate emits mov s32, s32.
func (e *Engine) truncate(s x86.Reg) { e.byte(0x89, 0xc0|byte(s)<<3|byte(s)) }

// addSegment adds the base of g's segment to s.
func (e *Engine) addSegment(g *ginsn, s x86.Reg) {
	if g.Mem.Seg == x86.SegNone {
		return
	}
	other := x86.RDX
	if s == x86.RDX {
		other = x86.RBX
	}
	e.store(slotTmp, other)
	e.load(other, segSlot(g.Mem.Seg))
	e.leaIndex(s, s, other, 1, 0)
	e.load(other, slotTmp)
}

func segSlot(s x86.Seg) int {
	if s == x86.SegFS {
		return stFSBase
	}
	return stGSBase
}

// saved notes that from arena offset from to here reg's value was in slot, less add.
func (e *Engine) saved(from int, reg x86.Reg, slot int, add int32) {
	if e.away&e.spilled>>reg&1 != 0 {
		return // what is in the register is none of the guest's
	}
	e.saves(from, saved{reg: reg, slot: uint32(slot), add: add})
}

// saves notes what is so from an arena offset to here.
func (e *Engine) saves(from int, s saved) {
	s.from, s.to = uint32(from), uint32(e.pos)
	e.savedAt = append(e.savedAt, s)
}

// resolve makes an operand of g's memory operand that opGuest can encode. It loses s if it has to.
func (e *Engine) resolve(g *ginsn, s x86.Reg) operand {
	m := &g.Mem
	switch {
	case needsScratch(g):
		return operand{base: s, index: x86.NoReg, disp: e.address(g, s)}
	case m.RIPRel:
		return operand{base: x86.NoReg, index: x86.NoReg, disp: int32(int64(g.Next()) + m.Disp)}
	default:
		return operand{base: m.Base, index: m.Index, scale: m.Scale, disp: int32(m.Disp), addr32: m.AddrSize == 4}
	}
}

// needsScratch reports whether resolve needs a register for g.
func needsScratch(g *ginsn) bool { return g.Mem.Seg != x86.SegNone || g.Mem.RIPRel && !fitsAbs(g) }

// opGuest emits a one-byte opcode with reg and a memory operand in guest memory; wide makes
// it 64 bits, else it is 16.
func (e *Engine) opGuest(opcode byte, reg x86.Reg, o operand, wide bool) {
	if o.addr32 {
		e.byte(0x67)
	}
	rex := byte(reg>>3) << 2
	if o.base != x86.NoReg {
		rex |= byte(o.base >> 3)
	}
	if o.index != x86.NoReg {
		rex |= byte(o.index>>3) << 1
	}
	if wide {
		e.byte(prefixGS, 0x48|rex, opcode)
	} else {
		e.byte(0x66, prefixGS, 0x40|rex, opcode)
	}
	r := byte(reg&7) << 3
	var ss byte
	for s := o.scale; s > 1; s >>= 1 {
		ss += 0x40
	}
	idx := byte(4) << 3
	if o.index != x86.NoReg {
		idx = byte(o.index&7) << 3
	}
	switch {
	case o.base == x86.NoReg:
		e.byte(r|4, ss|idx|5)
	case o.disp == int32(int8(o.disp)):
		e.byte(0x40|r|4, ss|idx|byte(o.base&7), byte(o.disp))
		return
	default:
		e.byte(0x80|r|4, ss|idx|byte(o.base&7))
	}
	e.u32(uint32(o.disp))
}
