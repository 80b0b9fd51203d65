package x86

import "encoding/binary"

// arg fills in one operand, and notes what it reads and writes.
func (d *decoder) arg(inst *Inst, a *Arg, o *operand) error {
	size := d.size(inst, o.size)
	a.Size = size
	rm := inst.ModRM & 7
	reg := inst.ModRM >> 3 & 7
	switch o.loc {
	case locE, locM, locW, locQ, locKw:
		if inst.HasMem {
			a.Kind = ArgMem
			d.memory(inst, size, o.access)
			return nil
		}
		switch o.loc {
		case locE:
			d.gpr(inst, a, rm|d.b, o.access)
		case locW:
			d.vec(inst, a, rm|d.b|d.x<<1&d.evexBit(inst), o)
		case locQ:
			d.simple(inst, a, ArgMMX, rm)
		default:
			d.simple(inst, a, ArgMask, rm)
		}
	case locR:
		d.gpr(inst, a, rm|d.b, o.access)
	case locG:
		d.gpr(inst, a, reg|d.r, o.access)
	case locB:
		d.gpr(inst, a, d.vvvv, o.access)
	case locZ:
		d.gpr(inst, a, d.opcode&7|d.b, o.access)
	case locA:
		d.gpr(inst, a, uint8(RAX), o.access)
	case locCL:
		d.gpr(inst, a, uint8(RCX), o.access)
	case locDX:
		d.gpr(inst, a, uint8(RDX), o.access)
	case locV:
		d.vec(inst, a, reg|d.r|d.r2, o)
	case locH:
		d.vec(inst, a, d.vvvv|d.v2, o)
	case locU:
		d.vec(inst, a, rm|d.b|d.x<<1&d.evexBit(inst), o)
	case locX0:
		d.vec(inst, a, 0, o)
	case locI, locu, locJ, locL:
		return d.immediate(inst, a, o)
	case locO:
		return d.moffs(inst, a, o)
	default:
		d.special(inst, a, o)
	}
	return nil
}

// special fills in operands that are neither general nor vector registers,
// memory or immediates.
func (d *decoder) special(inst *Inst, a *Arg, o *operand) {
	rm := inst.ModRM & 7
	reg := inst.ModRM >> 3 & 7
	switch o.loc {
	case locP:
		d.simple(inst, a, ArgMMX, reg)
	case locN:
		d.simple(inst, a, ArgMMX, rm)
	case locST0:
		d.simple(inst, a, ArgST, 0)
	case locSTi:
		d.simple(inst, a, ArgST, rm)
	case locS:
		d.simple(inst, a, ArgSeg, reg)
	case locFS:
		d.simple(inst, a, ArgSeg, 4)
	case locGS:
		d.simple(inst, a, ArgSeg, 5)
	case locC:
		d.simple(inst, a, ArgCR, reg|d.r)
	case locD:
		d.simple(inst, a, ArgDR, reg|d.r)
	case locKr, locTr:
		d.simple(inst, a, ArgMask, reg)
	case locKm, locTm:
		d.simple(inst, a, ArgMask, rm)
	case locKh, locTh:
		d.simple(inst, a, ArgMask, d.vvvv&7)
	case loc1:
		a.Kind, a.Imm = ArgImm, 1
		inst.Imm = 1
	default:
		panic("BUG: operand without a place")
	}
}

// simple fills in a register that needs no bookkeeping.
func (d *decoder) simple(inst *Inst, a *Arg, kind ArgKind, reg uint8) {
	a.Kind, a.Reg = kind, Reg(reg)
}

// evexBit is 16 in EVEX encodings, where X extends a register in ModRM.rm.
func (d *decoder) evexBit(inst *Inst) uint8 {
	if inst.Enc == EVEX {
		return 16
	}
	return 0
}

// size resolves an operand size.
func (d *decoder) size(inst *Inst, s size) uint16 {
	if s < sizeV {
		return uint16(s)
	}
	switch s {
	case sizeV:
		return uint16(inst.OpSize)
	case sizeZ:
		return min(uint16(inst.OpSize), 4)
	case sizeY:
		return 4 << d.w
	case sizeP:
		return uint16(inst.OpSize) + 2
	}
	return uint16(inst.vlen) >> (s - sizeX)
}

// memory notes the memory operand.
func (d *decoder) memory(inst *Inst, size uint16, acc access) {
	d.memSize, d.memAccess = size, acc
	if inst.Enc != EVEX {
		return
	}
	n := size
	switch {
	case d.bcast && d.form.bcast != 0:
		n = uint16(d.form.bcast)
		d.memSize = n
	case d.form.disp8 != 0:
		n = uint16(d.form.disp8)
	}
	if inst.DispLen == 1 {
		inst.Mem.Disp *= int64(n)
	}
}

// gpr fills in a general register.
func (d *decoder) gpr(inst *Inst, a *Arg, reg uint8, acc access) {
	a.Kind = ArgGPR
	if a.Size == 1 && reg >= 4 && reg < 8 && inst.REX == 0 && inst.Enc == Legacy {
		reg -= 4
		a.High8 = true
	}
	a.Reg = Reg(reg)
	bit := uint16(1) << (reg & 15)
	if acc&accessR != 0 {
		inst.GPRRead |= bit
	}
	if acc&accessW != 0 {
		inst.GPRWrite |= bit
		if a.Size < 4 {
			inst.GPRRead |= bit
		}
	}
}

// vec fills in a vector register. A scalar in a register is shown as xmm.
func (d *decoder) vec(inst *Inst, a *Arg, reg uint8, o *operand) {
	a.Kind, a.Reg = ArgXMM, Reg(reg)
	a.Size = max(a.Size, 16)
	bit := uint32(1) << (reg & 31)
	if o.access&accessR != 0 || d.mask != 0 && !d.zeroing {
		inst.VecRead |= bit
	}
	if o.access&accessW != 0 {
		inst.VecWrite |= bit
	}
}

// immediate reads an immediate, a branch displacement or a register in imm8.
func (d *decoder) immediate(inst *Inst, a *Arg, o *operand) error {
	n := a.Size
	if o.loc == locL {
		n = 1
	}
	if d.pos+int(n) > len(d.code) {
		return d.short()
	}
	p := d.code[d.pos:]
	var v int64
	switch n {
	case 1:
		v = int64(int8(p[0]))
	case 2:
		v = int64(int16(binary.LittleEndian.Uint16(p)))
	case 4:
		v = int64(int32(binary.LittleEndian.Uint32(p)))
	default:
		v = int64(binary.LittleEndian.Uint64(p))
	}
	if o.loc == locu || o.loc == locL {
		v &= 1<<(8*n) - 1
	}
	first := inst.ImmOff == 0
	if first {
		inst.ImmOff = uint8(d.pos)
	}
	inst.ImmLen += uint8(n)
	d.pos += int(n)
	a.Imm = v
	switch o.loc {
	case locJ:
		a.Kind = ArgRel
		inst.Target = v
		return nil
	case locL:
		d.vec(inst, a, uint8(v)>>4, o)
	default:
		a.Kind = ArgImm
	}
	if first {
		inst.Imm = v
	}
	return nil
}

// moffs reads an absolute address.
func (d *decoder) moffs(inst *Inst, a *Arg, o *operand) error {
	n := int(inst.Mem.AddrSize)
	if d.pos+n > len(d.code) {
		return d.short()
	}
	if n == 8 {
		inst.Mem.Disp = int64(binary.LittleEndian.Uint64(d.code[d.pos:]))
	} else {
		inst.Mem.Disp = int64(binary.LittleEndian.Uint32(d.code[d.pos:]))
	}
	inst.DispOff, inst.DispLen = uint8(d.pos), uint8(n)
	d.pos += n
	inst.HasMem = true
	inst.Mem.Scale = 1
	a.Kind = ArgMem
	d.memory(inst, a.Size, o.access)
	return nil
}
