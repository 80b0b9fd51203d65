//go:build linux && amd64

package jit

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu/x86"
)

// An emitter writes machine code into the arena. pos and all code positions are
// offsets from the arena's start, where the state block lies.
type emitter struct {
	mem []byte // the arena, writable
	pos int
	// lowBase is the address of the arena's low part.
	lowBase int32
	// far is where code goes that seldom runs, so that it does not lie between code that
	// does. swap exchanges the two.
	far int
}

func (e *emitter) swap() { e.pos, e.far = e.far, e.pos }

func (e *emitter) byte(b ...byte) {
	e.pos += copy(e.mem[e.pos:], b)
}

func (e *emitter) u32(x uint32) {
	e.byte(byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
}

func (e *emitter) u64(x uint64) {
	e.u32(uint32(x))
	e.u32(uint32(x >> 32))
}

// put32 overwrites four bytes at pos, in one store: they may be executed meanwhile.
func (e *emitter) put32(pos int, x uint32) { binary.LittleEndian.PutUint32(e.mem[pos:], x) }

// rexW returns REX.W with R and B from the two registers.
func rexW(reg, rm x86.Reg) byte { return 0x48 | byte(reg>>3)<<2 | byte(rm>>3) }

// rip emits the ModRM byte and displacement of [rip+…] for arena offset off, or of its absolute address in
// the low part. tail is the number of immediate bytes that follow.
func (e *emitter) rip(reg x86.Reg, off, tail int) {
	if off >= lowOff {
		e.sib(reg, x86.NoReg, 1, e.lowBase+int32(off-lowOff))
		return
	}
	e.byte(byte(reg&7)<<3 | 5)
	e.u32(uint32(off - (e.pos + 4 + tail)))
}

// load emits mov reg, [off].
func (e *emitter) load(reg x86.Reg, off int) {
	e.byte(rexW(reg, 0), 0x8b)
	e.rip(reg, off, 0)
}

// store emits mov [off], reg.
func (e *emitter) store(off int, reg x86.Reg) {
	e.byte(rexW(reg, 0), 0x89)
	e.rip(reg, off, 0)
}

// storeImm32 emits mov dword [off], imm.
func (e *emitter) storeImm32(off int, imm uint32) {
	e.byte(0xc7)
	e.rip(0, off, 4)
	e.u32(imm)
}

// movRR emits mov dst, src (64 bits).
func (e *emitter) movRR(dst, src x86.Reg) {
	e.byte(rexW(src, dst), 0x89, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// movImm emits the shortest mov reg, imm.
func (e *emitter) movImm(reg x86.Reg, imm uint64) {
	switch {
	case imm>>32 == 0:
		if reg >= 8 {
			e.byte(0x41)
		}
		e.byte(0xb8 | byte(reg&7))
		e.u32(uint32(imm))
	case uint64(int64(int32(imm))) == imm:
		e.byte(rexW(0, reg), 0xc7, 0xc0|byte(reg&7))
		e.u32(uint32(imm))
	default:
		e.byte(rexW(0, reg), 0xb8|byte(reg&7))
		e.u64(imm)
	}
}

// memRM emits ModRM, SIB and displacement for [base+disp] with reg in ModRM.reg.
func (e *emitter) memRM(reg, base x86.Reg, disp int32) {
	mod := byte(0x80)
	switch {
	case disp == 0 && base&7 != 5:
		mod = 0
	case disp == int32(int8(disp)):
		mod = 0x40
	}
	e.byte(mod | byte(reg&7)<<3 | byte(base&7))
	if base&7 == 4 {
		e.byte(0x24)
	}
	switch mod {
	case 0x40:
		e.byte(byte(disp))
	case 0x80:
		e.u32(uint32(disp))
	}
}

// lea emits lea dst, [base+disp]: an addition that leaves the flags alone.
func (e *emitter) lea(dst, base x86.Reg, disp int32) {
	e.byte(rexW(dst, base), 0x8d)
	e.memRM(dst, base, disp)
}

// leaIndex emits lea dst, [base+index*scale+disp8]. index must not be RSP.
func (e *emitter) leaIndex(dst, base, index x86.Reg, scale uint8, disp int8) {
	var ss byte
	for s := scale; s > 1; s >>= 1 {
		ss += 0x40
	}
	e.byte(rexW(dst, base)|byte(index>>3)<<1, 0x8d, 0x44|byte(dst&7)<<3, ss|byte(index&7)<<3|byte(base&7), byte(disp))
}

// not emits not reg, which leaves the flags alone: with 1 added it is a negation.
func (e *emitter) not(reg x86.Reg) { e.byte(rexW(0, reg), 0xf7, 0xd0|byte(reg&7)) }

// loadGuest emits mov reg, gs:[base+disp].
func (e *emitter) loadGuest(reg, base x86.Reg, disp int32) {
	e.byte(0x65, rexW(reg, base), 0x8b)
	e.memRM(reg, base, disp)
}

// storeGuest emits mov gs:[base+disp], reg.
func (e *emitter) storeGuest(base x86.Reg, disp int32, reg x86.Reg) {
	e.byte(0x65, rexW(reg, base), 0x89)
	e.memRM(reg, base, disp)
}

// storeGuestImm emits mov qword gs:[base+disp], imm, sign-extended.
func (e *emitter) storeGuestImm(base x86.Reg, disp int32, imm int32) {
	e.byte(0x65, rexW(0, base), 0xc7)
	e.memRM(0, base, disp)
	e.u32(uint32(imm))
}

// jmp emits jmp rel32 to an arena offset and returns the position of its displacement.
func (e *emitter) jmp(to int) int {
	e.byte(0xe9)
	e.u32(uint32(to - (e.pos + 4)))
	return e.pos - 4
}

// jcc emits jcc rel32 and returns the position of its displacement.
func (e *emitter) jcc(cond byte, to int) int {
	e.byte(0x0f, 0x80|cond)
	e.u32(uint32(to - (e.pos + 4)))
	return e.pos - 4
}

// call emits call rel32 and returns the position of its displacement.
func (e *emitter) call(to int) int {
	e.byte(0xe8)
	e.u32(uint32(to - (e.pos + 4)))
	return e.pos - 4
}

// link makes the rel32 at pos reach to.
func (e *emitter) link(pos, to int) { e.put32(pos, uint32(to-(pos+4))) }

// short emits a two-byte jump op whose displacement patchShort fills in.
func (e *emitter) short(op byte) int {
	e.byte(op, 0)
	return e.pos - 1
}

// patchShort makes the short jump whose displacement lies at pos reach here.
func (e *emitter) patchShort(pos int) { e.mem[pos] = byte(e.pos - (pos + 1)) }

// Condition codes and short jumps used in expansions.
const (
	condB    = 2
	condE    = 4
	condNE   = 5
	condBE   = 6
	condA    = 7
	opJRCXZ  = 0xe3
	opShortJ = 0xeb
)

// incMem emits inc qword [off]. It changes the flags but CF.
func (e *emitter) incMem(off int) {
	e.byte(0x48, 0xff)
	e.rip(0, off, 0)
}

// addMem emits add qword [off], n. It changes the flags.
func (e *emitter) addMem(off int, n int16) {
	e.byte(0x48, 0x81)
	e.rip(0, off, 4)
	e.u32(uint32(int32(n)))
}

// addMemBy emits the same through a register, which it loses, and leaves the flags alone.
func (e *emitter) addMemBy(off int, n int16, scratch x86.Reg) {
	e.load(scratch, off)
	e.lea(scratch, scratch, int32(n))
	e.store(off, scratch)
}
