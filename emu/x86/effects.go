package x86

// attrsRare are the attributes rare looks at.
const attrsRare = attrCC | attrCount | attrZero | attrRep | attrRepCC | attrVSIB | attrX87 | attrAllVec | attrWriteX0 |
	attrNoRIP | attrSIB

// rare applies what most instructions do without: LOCK and REP, conditions,
// flags that depend on a count, checks of VEX.
func (d *decoder) rare(inst *Inst) error {
	at := d.form.attr
	if d.lock && (at&(attrLock|attrLock1) == 0 || !inst.HasMem || d.memAccess&accessW == 0) {
		return ErrUndefined
	}
	if inst.Enc != Legacy {
		if err := d.checkVEX(inst); err != nil {
			return err
		}
	}
	if at&(attrRep|attrRepCC) != 0 && d.rep != 0 {
		d.repeat(inst)
	}
	if at&attrCC != 0 {
		inst.Cond = d.opcode & 15
		inst.FlagsRead |= condFlags[inst.Cond>>1]
	}
	if at&attrCount != 0 {
		d.count(inst)
	}
	if at&attrZero != 0 && !inst.HasMem && inst.Args[0].Reg == inst.Args[1].Reg && inst.OpSize >= 4 {
		inst.GPRRead &^= 1 << inst.Args[0].Reg
	}
	inst.X87 = at&attrX87 != 0
	if at&attrAllVec != 0 {
		inst.VecRead, inst.VecWrite = d.allVec(inst)
	}
	if at&attrWriteX0 != 0 {
		inst.VecWrite |= 1
	}
	return nil
}

// condFlags are the flags conditions read, by the upper three bits.
var condFlags = [8]Flags{OF, CF, ZF, CF | ZF, SF, PF, SF | OF, ZF | SF | OF}

// repeat applies a REP prefix. The count may be 0, so everything written is
// written on a condition. MOVS, STOS, LODS, INS and OUTS repeat after F2 as
// after F3.
func (d *decoder) repeat(inst *Inst) {
	if d.rep == 0xf2 && d.form.attr&attrRepCC != 0 {
		inst.Repne = true
	} else {
		inst.Rep = true
	}
	inst.GPRWrite |= 1 << RCX
	inst.GPRRead |= inst.GPRWrite
	inst.FlagsRead |= inst.FlagsWrite
}

// count applies a shift's count: by CL the flags change on a condition, by an
// immediate it is known whether they do.
func (d *decoder) count(inst *Inst) {
	last := &inst.Args[inst.NArgs-1]
	switch {
	case last.Kind != ArgImm:
		inst.FlagsRead |= inst.FlagsWrite
	case last.Imm&shiftMask(inst.OpSize) == 0:
		inst.FlagsRead, inst.FlagsWrite = 0, 0
		if inst.Op == RCL || inst.Op == RCR {
			inst.FlagsRead = CF
		}
	case inst.Op == RCL || inst.Op == RCR:
		// 9 and 17 places bring an 8-bit or 16-bit operand back.
		inst.FlagsRead |= inst.FlagsWrite
	case (inst.Op == ROL || inst.Op == ROR) && last.Imm&shiftMask(inst.OpSize) != 1:
		// OF is undefined, and Intel's CPUs leave it alone (TestNativeEffects).
		inst.FlagsRead |= OF
	}
}

func shiftMask(opSize uint8) int64 {
	if opSize == 8 {
		return 63
	}
	return 31
}

// allVec gives the vector registers of instructions that name none: those that
// save, restore or clear.
func (d *decoder) allVec(inst *Inst) (read, write uint32) {
	const all = 0xffff
	switch {
	case inst.Op == VZEROALL:
		return 0, all
	case inst.HasMem && d.memAccess == accessW: // saves
		return all, 0
	}
	return all, all
}

// checkVEX refuses what raises #UD by a VEX or EVEX prefix's own fields.
func (d *decoder) checkVEX(inst *Inst) error {
	at := d.form.attr
	if at&attrVVVV == 0 && (d.vvvv != 0 || at&attrVSIB == 0 && d.v2 != 0) {
		return ErrUndefined
	}
	for _, o := range d.form.args[:d.form.nargs] {
		if o.loc == locKr && d.r|d.r2 != 0 || o.loc == locKh && d.vvvv > 7 {
			return ErrUndefined // there is no mask register 8
		}
	}
	if at&(attrVSIB|attrSIB) != 0 && inst.ModRM&7 != 4 || at&attrNoRIP != 0 && inst.Mem.RIPRel {
		return ErrUndefined
	}
	if at&attrDistinct != 0 {
		dst, index, mask := inst.Args[0].Reg, inst.Mem.Index, inst.Args[2].Reg
		if dst == index || dst == mask || index == mask {
			return ErrUndefined
		}
	}
	if inst.Enc == EVEX {
		return d.evexFields(inst)
	}
	return nil
}
