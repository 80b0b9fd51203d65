//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// Arithmetic by the number in its opcode (81 /n; n<<3|1 and n<<3|3 with registers).
const (
	aluADD = 0
	aluOR  = 1
	aluAND = 4
	aluSUB = 5
	aluCMP = 7
)

// aluRR emits op dst, src (64 bits).
func (e *emitter) aluRR(op byte, dst, src x86.Reg) {
	e.byte(rexW(src, dst), op<<3|1, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// aluImm emits op reg, imm (64 bits).
func (e *emitter) aluImm(op byte, reg x86.Reg, imm int32) {
	e.byte(rexW(0, reg))
	e.immediate(op, 0xc0|byte(reg&7), imm)
}

// aluImm32 is aluImm with 32 bits.
func (e *emitter) aluImm32(op byte, reg x86.Reg, imm int32) {
	if reg >= 8 {
		e.byte(0x41)
	}
	e.immediate(op, 0xc0|byte(reg&7), imm)
}

// immediate emits the opcode, ModRM and immediate of op r/m, imm.
func (e *emitter) immediate(op, modrm byte, imm int32) {
	if imm == int32(int8(imm)) {
		e.byte(0x83, modrm|op<<3, byte(imm))
		return
	}
	e.byte(0x81, modrm|op<<3)
	e.u32(uint32(imm))
}

// sib emits ModRM, SIB and displacement for [index*scale+disp], index NoReg for none.
func (e *emitter) sib(reg, index x86.Reg, scale uint8, disp int32) {
	s := log2(int(max(scale, 1)))<<6 | 4<<3 | 5
	if index != x86.NoReg {
		s = s&^(7<<3) | byte(index&7)<<3
	}
	e.byte(byte(reg&7)<<3|4, s)
	e.u32(uint32(disp))
}

func rexX(reg, index x86.Reg) byte {
	x := byte(0x48) | byte(reg>>3)<<2
	if index != x86.NoReg {
		x |= byte(index>>3) << 1
	}
	return x
}

// aluAbs emits op reg, [index*scale+disp] (64 bits).
func (e *emitter) aluAbs(op byte, reg, index x86.Reg, scale uint8, disp int32) {
	e.byte(rexX(reg, index), op<<3|3)
	e.sib(reg, index, scale, disp)
}

// leaAbs emits lea reg, [index*scale+disp].
func (e *emitter) leaAbs(reg, index x86.Reg, scale uint8, disp int32) {
	e.byte(rexX(reg, index), 0x8d)
	e.sib(reg, index, scale, disp)
}

// cmpAbsImm emits cmp qword [disp], imm.
func (e *emitter) cmpAbsImm(disp, imm int32) {
	e.byte(0x48, 0x81, 7<<3|4, 0x25)
	e.u32(uint32(disp))
	e.u32(uint32(imm))
}

// cmpByteImm emits cmp byte [index+disp], imm.
func (e *emitter) cmpByteImm(index x86.Reg, disp int32, imm byte) {
	if index >= 8 {
		e.byte(0x42)
	}
	e.byte(0x80)
	e.sib(7, index, 1, disp)
	e.byte(imm)
}

// stepByte emits inc or, if down is set, dec byte [index+disp].
func (e *emitter) stepByte(index x86.Reg, disp int32, down bool) {
	if index >= 8 {
		e.byte(0x42)
	}
	e.byte(0xfe)
	e.sib(x86.Reg(b2i(down)), index, 1, disp)
}

// storeImm emits mov qword [off], imm.
func (e *emitter) storeImm(off int, imm int32) {
	e.byte(0x48, 0xc7)
	e.rip(0, off, 4)
	e.u32(uint32(imm))
}

// movRR32 emits mov dst, src (32 bits).
func (e *emitter) movRR32(dst, src x86.Reg) {
	if dst >= 8 || src >= 8 {
		e.byte(rexW(src, dst) &^ 8)
	}
	e.byte(0x89, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// loadAt emits mov reg, [base+disp] in the host's memory, storeAt mov [base+disp], reg.
func (e *emitter) loadAt(reg, base x86.Reg, disp int32) {
	e.byte(rexW(reg, base), 0x8b)
	e.memRM(reg, base, disp)
}

func (e *emitter) storeAt(base x86.Reg, disp int32, reg x86.Reg) {
	e.byte(rexW(reg, base), 0x89)
	e.memRM(reg, base, disp)
}

// incAt emits inc qword [base+disp].
func (e *emitter) incAt(base x86.Reg, disp int32) {
	e.byte(rexW(0, base), 0xff)
	e.memRM(0, base, disp)
}

// shiftLeft emits shl reg, n, shiftRight shr reg, n (64 bits).
func (e *emitter) shiftLeft(reg x86.Reg, n byte) {
	if n > 0 {
		e.byte(rexW(0, reg), 0xc1, 0xe0|byte(reg&7), n)
	}
}

func (e *emitter) shiftRight(reg x86.Reg, n byte) {
	e.byte(rexW(0, reg), 0xc1, 0xe8|byte(reg&7), n)
}

// loadWord emits movzx reg, word [base].
func (e *emitter) loadWord(reg, base x86.Reg) {
	e.byte(rexW(reg, base), 0x0f, 0xb7)
	e.memRM(reg, base, 0)
}

// loadWordIndex emits movzx reg, word [base+index*2].
func (e *emitter) loadWordIndex(reg, base, index x86.Reg) {
	e.byte(rexW(reg, base)|byte(index>>3)<<1, 0x0f, 0xb7, 0x44|byte(reg&7)<<3, 0x40|byte(index&7)<<3|byte(base&7), 0)
}

// storeAbs emits mov [index+disp], reg.
func (e *emitter) storeAbs(index x86.Reg, disp int32, reg x86.Reg) {
	e.byte(rexX(reg, index), 0x89)
	e.sib(reg, index, 1, disp)
}

// minAt makes reg the smaller of it and [base+disp].
func (e *emitter) minAt(reg, base x86.Reg, disp int32) {
	e.byte(rexW(reg, base), 0x3b)
	e.memRM(reg, base, disp)
	e.byte(rexW(reg, base), 0x0f, 0x47) // cmova
	e.memRM(reg, base, disp)
}

// testRR32 emits test reg, reg (32 bits).
func (e *emitter) testRR32(reg x86.Reg) {
	if reg >= 8 {
		e.byte(0x45)
	}
	e.byte(0x85, 0xc0|byte(reg&7)<<3|byte(reg&7))
}

func (e *emitter) pushReg(r x86.Reg) {
	if r >= 8 {
		e.byte(0x41)
	}
	e.byte(0x50 | byte(r&7))
}

func (e *emitter) popReg(r x86.Reg) {
	if r >= 8 {
		e.byte(0x41)
	}
	e.byte(0x58 | byte(r&7))
}

// pushImm emits push imm, sign-extended.
func (e *emitter) pushImm(imm int32) {
	if imm == int32(int8(imm)) {
		e.byte(0x6a, byte(imm))
		return
	}
	e.byte(0x68)
	e.u32(uint32(imm))
}

// leaRIP emits lea reg, [off] for an arena offset.
func (e *emitter) leaRIP(reg x86.Reg, off int) {
	e.byte(rexW(reg, 0), 0x8d)
	e.rip(reg, off, 0)
}

// leaFull emits lea dst, [base+index*scale+disp], base or index NoReg for none; 32 bits wide if
// narrow is set.
func (e *emitter) leaFull(dst, base, index x86.Reg, scale uint8, disp int32, narrow bool) {
	rex := rexX(dst, index)
	if base != x86.NoReg {
		rex |= byte(base >> 3)
	}
	if narrow {
		rex &^= 8
	}
	e.byte(rex, 0x8d)
	switch {
	case base == x86.NoReg:
		e.sib(dst, index, scale, disp)
	case index == x86.NoReg:
		e.memRM(dst, base, disp)
	default:
		e.byte(0x84|byte(dst&7)<<3, log2(int(scale))<<6|byte(index&7)<<3|byte(base&7))
		e.u32(uint32(disp))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
