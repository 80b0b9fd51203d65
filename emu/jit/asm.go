//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cgemu/cgemu/emu/x86"
)

// An assembler writes machine code into the arena. pos and all code positions are
// offsets from the arena's start, where the state block lies.
type assembler struct {
	mem []byte // the arena, writable
	pos int
	// lowBase is the address of the arena's low part.
	lowBase int32
	// far is where code goes that seldom runs, so that it does not lie between code that
	// does. swap exchanges the two.
	far int
	// purposes is nil if nobody wants to know what code is for.
	purposes *purposeLog
}

func (e *assembler) swap() {
	if e.purposes != nil {
		e.purposes.end(e.pos)
		e.purposes.from = e.far
	}
	e.pos, e.far = e.far, e.pos
}

// byte emits bytes one by one: a call of memmove takes longer.
func (e *assembler) byte(b ...byte) {
	pos := e.pos
	for _, x := range b {
		e.mem[pos] = x
		pos++
	}
	e.pos = pos
}

func (e *assembler) u32(x uint32) {
	binary.LittleEndian.PutUint32(e.mem[e.pos:], x)
	e.pos += 4
}

func (e *assembler) u64(x uint64) {
	e.u32(uint32(x))
	e.u32(uint32(x >> 32))
}

// put32 overwrites four bytes at pos, in one store: they may be executed meanwhile.
func (e *assembler) put32(pos int, x uint32) { binary.LittleEndian.PutUint32(e.mem[pos:], x) }

// rexW returns REX.W with R and B from the two registers.
func rexW(reg, rm x86.Reg) byte { return 0x48 | byte(reg>>3)<<2 | byte(rm>>3) }

// rip emits the ModRM byte and displacement of [rip+…] for arena offset off, or of its absolute address in
// the low part. tail is the number of immediate bytes that follow.
func (e *assembler) rip(reg x86.Reg, off, tail int) {
	if off >= lowOff {
		e.sib(reg, x86.NoReg, 1, e.lowBase+int32(off-lowOff))
		return
	}
	e.byte(byte(reg&7)<<3 | 5)
	e.u32(uint32(off - (e.pos + 4 + tail)))
}

// load emits mov reg, [off].
func (e *assembler) load(reg x86.Reg, off int) {
	e.byte(rexW(reg, 0), 0x8b)
	e.rip(reg, off, 0)
}

// store emits mov [off], reg.
func (e *assembler) store(off int, reg x86.Reg) {
	e.byte(rexW(reg, 0), 0x89)
	e.rip(reg, off, 0)
}

// storeImm32 emits mov dword [off], imm.
func (e *assembler) storeImm32(off int, imm uint32) {
	e.byte(0xc7)
	e.rip(0, off, 4)
	e.u32(imm)
}

// movRR emits mov dst, src (64 bits).
func (e *assembler) movRR(dst, src x86.Reg) {
	e.byte(rexW(src, dst), 0x89, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// movImm emits the shortest mov reg, imm.
func (e *assembler) movImm(reg x86.Reg, imm uint64) {
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
func (e *assembler) memRM(reg, base x86.Reg, disp int32) {
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
func (e *assembler) lea(dst, base x86.Reg, disp int32) {
	e.byte(rexW(dst, base), 0x8d)
	e.memRM(dst, base, disp)
}

// lea32 emits lea dst, [base+disp] of 32 bits, with zeros above them; dst and base are of the first eight.
func (e *assembler) lea32(dst, base x86.Reg, disp int32) {
	e.byte(0x8d)
	e.memRM(dst, base, disp)
}

// leaIndex emits lea dst, [base+index*scale+disp8]. index must not be RSP.
func (e *assembler) leaIndex(dst, base, index x86.Reg, scale uint8, disp int8) {
	var ss byte
	for s := scale; s > 1; s >>= 1 {
		ss += 0x40
	}
	e.byte(rexW(dst, base)|byte(index>>3)<<1, 0x8d, 0x44|byte(dst&7)<<3, ss|byte(index&7)<<3|byte(base&7), byte(disp))
}

// not emits not reg, which leaves the flags alone: with 1 added it is a negation.
func (e *assembler) not(reg x86.Reg) { e.byte(rexW(0, reg), 0xf7, 0xd0|byte(reg&7)) }

// loadGuest emits mov reg, gs:[base+disp].
func (e *assembler) loadGuest(reg, base x86.Reg, disp int32) {
	e.byte(0x65, rexW(reg, base), 0x8b)
	e.memRM(reg, base, disp)
}

// loadGuestPart emits the same for size bytes, 1, 2 or 4, with zeros above them; reg and base are of the first eight.
func (e *assembler) loadGuestPart(reg, base x86.Reg, disp int32, size int) {
	e.byte(0x65)
	switch size {
	case 1:
		e.byte(0x0f, 0xb6)
	case 2:
		e.byte(0x0f, 0xb7)
	default:
		e.byte(0x8b)
	}
	e.memRM(reg, base, disp)
}

// storeGuest emits mov gs:[base+disp], reg.
func (e *assembler) storeGuest(base x86.Reg, disp int32, reg x86.Reg) {
	e.byte(0x65, rexW(reg, base), 0x89)
	e.memRM(reg, base, disp)
}

// storeGuestImm emits mov qword gs:[base+disp], imm, sign-extended.
func (e *assembler) storeGuestImm(base x86.Reg, disp int32, imm int32) {
	e.byte(0x65, rexW(0, base), 0xc7)
	e.memRM(0, base, disp)
	e.u32(uint32(imm))
}

// jmp emits jmp rel32 to an arena offset and returns the position of its displacement.
func (e *assembler) jmp(to int) int {
	e.byte(0xe9)
	e.u32(uint32(to - (e.pos + 4)))
	return e.pos - 4
}

// jcc emits jcc rel32 and returns the position of its displacement.
func (e *assembler) jcc(cond byte, to int) int {
	e.byte(0x0f, 0x80|cond)
	e.u32(uint32(to - (e.pos + 4)))
	return e.pos - 4
}

// call emits call rel32 and returns the position of its displacement.
func (e *assembler) call(to int) int {
	e.byte(0xe8)
	e.u32(uint32(to - (e.pos + 4)))
	return e.pos - 4
}

// link makes the rel32 at pos reach to.
func (e *assembler) link(pos, to int) { e.put32(pos, uint32(to-(pos+4))) }

// short emits a two-byte jump op whose displacement patchShort fills in.
func (e *assembler) short(op byte) int {
	e.byte(op, 0)
	return e.pos - 1
}

// patchShort makes the short jump whose displacement lies at pos reach here.
func (e *assembler) patchShort(pos int) {
	n := e.pos - (pos + 1)
	if n > math.MaxInt8 {
		panic(fmt.Sprintf("BUG: a short jump over %d bytes", n))
	}
	e.mem[pos] = byte(n)
}

// shortBack emits a short jump back to an offset.
func (e *assembler) shortBack(op byte, to int) {
	n := to - (e.pos + 2)
	if n < math.MinInt8 {
		panic(fmt.Sprintf("BUG: a short jump back over %d bytes", -n))
	}
	e.byte(op, byte(n))
}

// Condition codes and short jumps used in expansions.
const (
	condB    = 2
	condAE   = 3
	condE    = 4
	condNE   = 5
	condBE   = 6
	condA    = 7
	opJRCXZ  = 0xe3
	opShortJ = 0xeb

	opShortJE = 0x74
)

// incMem emits inc qword [off]. It changes the flags but CF.
func (e *assembler) incMem(off int) {
	e.byte(0x48, 0xff)
	e.rip(0, off, 0)
}

// addMem emits add qword [off], n. It changes the flags.
func (e *assembler) addMem(off int, n int16) {
	e.byte(0x48, 0x81)
	e.rip(0, off, 4)
	e.u32(uint32(int32(n)))
}

// addMemBy emits the same through a register, which it loses, and leaves the flags alone.
func (e *assembler) addMemBy(off int, n int16, scratch x86.Reg) {
	e.load(scratch, off)
	e.lea(scratch, scratch, int32(n))
	e.store(off, scratch)
}

// Arithmetic by the number in its opcode (81 /n; n<<3|1 and n<<3|3 with registers).
const (
	aluADD = 0
	aluOR  = 1
	aluAND = 4
	aluSUB = 5
	aluXOR = 6
	aluCMP = 7
)

// aluRR emits op dst, src (64 bits).
func (e *assembler) aluRR(op byte, dst, src x86.Reg) {
	e.byte(rexW(src, dst), op<<3|1, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// aluImm emits op reg, imm (64 bits).
func (e *assembler) aluImm(op byte, reg x86.Reg, imm int32) {
	e.byte(rexW(0, reg))
	e.immediate(op, 0xc0|byte(reg&7), imm)
}

// aluImm32 is aluImm with 32 bits.
func (e *assembler) aluImm32(op byte, reg x86.Reg, imm int32) {
	if reg == x86.RAX && imm != int32(int8(imm)) {
		e.byte(op<<3 | 5)
		e.u32(uint32(imm))
		return
	}
	if reg >= 8 {
		e.byte(0x41)
	}
	e.immediate(op, 0xc0|byte(reg&7), imm)
}

// immediate emits the opcode, ModRM and immediate of op r/m, imm.
func (e *assembler) immediate(op, modrm byte, imm int32) {
	if imm == int32(int8(imm)) {
		e.byte(0x83, modrm|op<<3, byte(imm))
		return
	}
	e.byte(0x81, modrm|op<<3)
	e.u32(uint32(imm))
}

// sib emits ModRM, SIB and displacement for [index*scale+disp], index NoReg for none. An index that is not multiplied
// is a base, which is shorter by the SIB byte.
func (e *assembler) sib(reg, index x86.Reg, scale uint8, disp int32) {
	switch {
	case index == x86.NoReg:
		e.byte(byte(reg&7)<<3|4, 0x25)
	case scale == 1 && index&7 == 4:
		e.byte(0x84|byte(reg&7)<<3, 0x24)
	case scale == 1:
		e.byte(0x80 | byte(reg&7)<<3 | byte(index&7))
	default:
		e.byte(byte(reg&7)<<3|4, log2(int(scale))<<6|byte(index&7)<<3|5)
	}
	e.u32(uint32(disp))
}

// rexSIB returns the prefix for an instruction of 64 bits with what sib emits.
func rexSIB(reg, index x86.Reg, scale uint8) byte {
	rex := byte(0x48) | byte(reg>>3)<<2
	switch {
	case index == x86.NoReg:
	case scale == 1:
		rex |= byte(index >> 3)
	default:
		rex |= byte(index>>3) << 1
	}
	return rex
}

// aluAbs emits op reg, [index*scale+disp] (64 bits).
func (e *assembler) aluAbs(op byte, reg, index x86.Reg, scale uint8, disp int32) {
	e.byte(rexSIB(reg, index, scale), op<<3|3)
	e.sib(reg, index, scale, disp)
}

// cmpAbsImm emits cmp qword [disp], imm.
func (e *assembler) cmpAbsImm(disp, imm int32) {
	if imm == int32(int8(imm)) {
		e.byte(0x48, 0x83)
		e.sib(aluCMP, x86.NoReg, 1, disp)
		e.byte(byte(imm))
		return
	}
	e.byte(0x48, 0x81)
	e.sib(aluCMP, x86.NoReg, 1, disp)
	e.u32(uint32(imm))
}

// cmpByteImm emits cmp byte [index+disp], imm.
func (e *assembler) cmpByteImm(index x86.Reg, disp int32, imm byte) {
	if index >= 8 {
		e.byte(0x41)
	}
	e.byte(0x80)
	e.sib(7, index, 1, disp)
	e.byte(imm)
}

// stepByte emits inc or, if down is set, dec byte [index+disp].
func (e *assembler) stepByte(index x86.Reg, disp int32, down bool) {
	if index >= 8 {
		e.byte(0x41)
	}
	e.byte(0xfe)
	e.sib(x86.Reg(b2i(down)), index, 1, disp)
}

// countCarry emits adc qword [off], 0 or, if clear says that it counts where the carry flag is clear, sbb qword [off],
// -1.
func (e *assembler) countCarry(off int, clear bool) {
	e.byte(0x48, 0x83)
	if clear {
		e.rip(3, off, 1)
		e.byte(0xff)
		return
	}
	e.rip(2, off, 1)
	e.byte(0)
}

// movRR32 emits mov dst, src (32 bits).
func (e *assembler) movRR32(dst, src x86.Reg) {
	if dst >= 8 || src >= 8 {
		e.byte(rexW(src, dst) &^ 8)
	}
	e.byte(0x89, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// cacheLine is the size of one of the host's.
const cacheLine = 64

// padSite has a rel32 behind opcode bytes lie in one cache line.
func (e *assembler) padSite(opcode int) {
	for (e.pos+opcode)%cacheLine > cacheLine-4 {
		e.byte(0x90)
	}
}

// align goes on at a multiple of n, with INT3 in between.
func (e *assembler) align(n int) {
	for e.pos%n != 0 {
		e.byte(0xcc)
	}
}

// lowByte emits movzx reg, reg's low byte.
func (e *assembler) lowByte(reg x86.Reg) {
	if reg >= x86.RSP {
		e.byte(rexW(reg, reg) &^ 8)
	}
	e.byte(0x0f, 0xb6, 0xc0|byte(reg&7)<<3|byte(reg&7))
}

// loadAt emits mov reg, [base+disp] in the host's memory, storeAt mov [base+disp], reg.
func (e *assembler) loadAt(reg, base x86.Reg, disp int32) {
	e.byte(rexW(reg, base), 0x8b)
	e.memRM(reg, base, disp)
}

func (e *assembler) storeAt(base x86.Reg, disp int32, reg x86.Reg) {
	e.byte(rexW(reg, base), 0x89)
	e.memRM(reg, base, disp)
}

// aluAt emits op reg, [base+disp] (64 bits).
func (e *assembler) aluAt(op byte, reg, base x86.Reg, disp int32) {
	e.byte(rexW(reg, base), op<<3|3)
	e.memRM(reg, base, disp)
}

// addAt emits add [base+disp], reg (64 bits).
func (e *assembler) addAt(base x86.Reg, disp int32, reg x86.Reg) {
	e.byte(rexW(reg, base), aluADD<<3|1)
	e.memRM(reg, base, disp)
}

// cmpZeroAt emits cmp qword [base+index*8+disp], 0 in the host's memory, storeWordAt mov [base+index*8+disp], reg.
func (e *assembler) cmpZeroAt(base, index x86.Reg, disp int32) {
	e.byte(rexIndex(0, base, index), 0x83)
	e.memIndex(7, base, index, disp, 1)
	e.byte(0)
}

func (e *assembler) storeWordAt(base, index x86.Reg, disp int32, reg x86.Reg) {
	e.byte(rexIndex(reg, base, index), 0x89)
	e.memIndex(reg, base, index, disp, 1)
}

// memIndex emits ModRM, SIB and displacement for [base+index*8+disp] with reg in ModRM.reg; a displacement of 8 bits
// counts units of bytes. rexIndex is the prefix of an instruction of 64 bits with that.
func (e *assembler) memIndex(reg, base, index x86.Reg, disp, unit int32) {
	if index == x86.NoReg {
		e.memScaled(vec(reg), base, disp, unit)
		return
	}
	sib := 3<<6 | byte(index&7)<<3 | byte(base&7)
	switch short := disp / unit; {
	case disp == 0 && base&7 != 5:
		e.byte(byte(reg&7)<<3|4, sib)
	case short == int32(int8(short)) && disp%unit == 0:
		e.byte(0x40|byte(reg&7)<<3|4, sib, byte(short))
	default:
		e.byte(0x80|byte(reg&7)<<3|4, sib)
		e.u32(uint32(disp))
	}
}

func rexIndex(reg, base, index x86.Reg) byte {
	rex := rexW(reg, base)
	if index != x86.NoReg {
		rex |= byte(index>>3) << 1
	}
	return rex
}

// addSlot emits add reg, [off] (64 bits).
func (e *assembler) addSlot(reg x86.Reg, off int) {
	e.byte(rexW(reg, 0), aluADD<<3|3)
	e.rip(reg, off, 0)
}

// loadSmall emits movzx reg, [base+disp] of 1 or 2 bytes of the host's memory, storeSmall stores these of a register of
// the first four.
func (e *assembler) loadSmall(reg, base x86.Reg, disp int32, size int) {
	e.rex32(reg, base)
	e.byte(0x0f, 0xb6|byte(size-1))
	e.memRM(reg, base, disp)
}

func (e *assembler) storeSmall(base x86.Reg, disp int32, reg x86.Reg, size int) {
	if size == 2 {
		e.byte(0x66)
	}
	e.rex32(reg, base)
	e.byte(0x88 | byte(size-1))
	e.memRM(reg, base, disp)
}

// rex32 emits the prefix of an instruction of 32 bits, if it needs one.
func (e *assembler) rex32(reg, rm x86.Reg) {
	if rex := rexW(reg, rm) &^ 8; rex != 0x40 {
		e.byte(rex)
	}
}

// incAt emits inc qword [base+disp].
func (e *assembler) incAt(base x86.Reg, disp int32) {
	e.byte(rexW(0, base), 0xff)
	e.memRM(0, base, disp)
}

// testLow emits test reg, imm (8 bits).
func (e *assembler) testLow(reg x86.Reg, imm byte) {
	if reg >= x86.RSP {
		e.byte(0x40 | byte(reg>>3))
	}
	e.byte(0xf6, 0xc0|byte(reg&7), imm)
}

// shiftLeft emits shl reg, n, shiftRight shr reg, n (64 bits).
func (e *assembler) shiftLeft(reg x86.Reg, n byte) {
	if n > 0 {
		e.byte(rexW(0, reg), 0xc1, 0xe0|byte(reg&7), n)
	}
}

func (e *assembler) shiftRight(reg x86.Reg, n byte) {
	e.byte(rexW(0, reg), 0xc1, 0xe8|byte(reg&7), n)
}

// imul emits imul dst, src (64 bits).
func (e *assembler) imul(dst, src x86.Reg) {
	e.byte(rexW(dst, src), 0x0f, 0xaf, 0xc0|byte(dst&7)<<3|byte(src&7))
}

// min makes dst the smaller of it and src.
func (e *assembler) min(dst, src x86.Reg) {
	e.aluRR(aluCMP, dst, src)
	e.byte(rexW(dst, src), 0x0f, 0x47, 0xc0|byte(dst&7)<<3|byte(src&7)) // cmova
}

// testRR32 emits test reg, reg (32 bits).
func (e *assembler) testRR32(reg x86.Reg) {
	if reg >= 8 {
		e.byte(0x45)
	}
	e.byte(0x85, 0xc0|byte(reg&7)<<3|byte(reg&7))
}

func (e *assembler) pushReg(r x86.Reg) {
	if r >= 8 {
		e.byte(0x41)
	}
	e.byte(0x50 | byte(r&7))
}

func (e *assembler) popReg(r x86.Reg) {
	if r >= 8 {
		e.byte(0x41)
	}
	e.byte(0x58 | byte(r&7))
}

// pushImm emits push imm, sign-extended.
func (e *assembler) pushImm(imm int32) {
	if imm == int32(int8(imm)) {
		e.byte(0x6a, byte(imm))
		return
	}
	e.byte(0x68)
	e.u32(uint32(imm))
}

// leaRIP emits lea reg, [off] for an arena offset.
func (e *assembler) leaRIP(reg x86.Reg, off int) {
	e.byte(rexW(reg, 0), 0x8d)
	e.rip(reg, off, 0)
}

// leaFull emits lea dst, [base+index*scale+disp], base or index NoReg for none; 32 bits wide if
// narrow is set.
func (e *assembler) leaFull(dst, base, index x86.Reg, scale uint8, disp int32, narrow bool) {
	rex := rexSIB(dst, index, scale)
	if base != x86.NoReg {
		rex = rexW(dst, base)
		if index != x86.NoReg {
			rex |= byte(index>>3) << 1
		}
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
