package x86

// evexFields gives inst what its EVEX prefix says of masks, broadcasts and rounding, and refuses what raises #UD. SDM
// Vol. 2, "EVEX Instruction Format" and "Exceptions Type".
func (d *decoder) evexFields(inst *Inst) error {
	f := d.form
	inst.Mask, inst.Zeroing = Reg(d.mask), d.zeroing
	result := inst.Args[0].Kind
	switch {
	case d.mask != 0 && f.elem == 0:
		return ErrUndefined
	case d.zeroing && (d.mask == 0 || result != ArgXMM || f.attr&attrVSIB != 0):
		return ErrUndefined
	case f.attr&attrVSIB != 0 && (d.mask == 0 || result == ArgXMM && inst.Args[0].Reg == inst.Mem.Index):
		return ErrUndefined
	}
	for _, o := range f.args[:f.nargs] {
		if o.loc == locG && d.r2 != 0 {
			return ErrUndefined // there is no general register 16
		}
	}
	switch {
	case !d.bcast:
	case inst.HasMem:
		inst.Broadcast = true
		if f.bcast == 0 {
			return ErrUndefined
		}
	case f.attr&attrER != 0:
		inst.Rounding = RoundNearest + Rounding(d.rounding)
	case f.attr&attrSAE != 0:
		inst.Rounding = RoundSAE
	default:
		return ErrUndefined
	}
	return nil
}

// Elements returns of how many elements bits of a mask register say whether they are selected: 0 if i cannot be masked.
func (i *Inst) Elements() int {
	switch f := &forms[i.form]; {
	case i.Enc != EVEX || f.elem == 0:
		return 0
	case f.attr&attrLIG != 0:
		return 1
	case f.args[0].loc == locW && f.args[0].size < sizeX: // VEXTRACTF32X4
		return int(f.args[0].size) / int(f.elem)
	default:
		return int(i.vlen / f.elem)
	}
}

// ElementSize returns how many bytes each of the Elements has in operand arg, a vector.
func (i *Inst) ElementSize(arg int) int {
	if f := &forms[i.form]; f.attr&attrLIG != 0 {
		return int(f.elem)
	}
	return i.OperandSize(arg) / i.Elements()
}

// OperandSize returns how many bytes operand arg has, a vector: a register may have more than the instruction uses of
// it.
func (i *Inst) OperandSize(arg int) int {
	size := int(forms[i.form].args[arg].size)
	if size >= int(sizeX) {
		return int(i.vlen) >> (size - int(sizeX))
	}
	return size
}

// BroadcastSize returns the size of the element that a memory operand is which stands for all.
func (i *Inst) BroadcastSize() int { return int(forms[i.form].bcast) }

// VectorLen returns the vector length in bytes, of an instruction with a VEX or EVEX prefix.
func (i *Inst) VectorLen() int { return int(i.vlen) }

// SuppressesFaults reports whether elements of the memory operand that the mask does not select are not accessed.
func (i *Inst) SuppressesFaults() bool {
	f := &forms[i.form]
	return i.Mask != 0 && i.HasMem && f.attr&(attrNF|attrVSIB) == 0
}

// Repeated returns how many elements of memory i repeats in all of its result, a broadcast; 0 if it repeats none.
func (i *Inst) Repeated() int {
	switch f := &forms[i.form]; {
	case i.Broadcast:
		return 1
	case f.attr&attrRepeats != 0 && i.HasMem:
		return i.OperandSize(1) / int(f.elem)
	}
	return 0
}

// IndexSize returns the size of the indices of i, a gather or scatter.
func (i *Inst) IndexSize() int {
	switch i.Op {
	case VGATHERQPS, VGATHERQPD, VPGATHERQD, VPGATHERQQ, VSCATTERQPS, VSCATTERQPD, VPSCATTERQD, VPSCATTERQQ:
		return 8
	}
	return 4
}

// maskedRefs yields the references of an instruction that accesses selected elements of its memory operand alone.
func (i *Inst) maskedRefs(memSize uint16, write bool, yield func(Ref) bool) {
	r := Ref{Guard: OpmaskBit, Size: memSize}
	if write {
		r.Kind = Write
	}
	n := i.Elements()
	switch repeated := i.Repeated(); {
	case repeated > 0:
		r.Guard, n = OpmaskAny, repeated
	case forms[i.form].attr&attrPacks != 0:
		r.Guard = OpmaskCount
	}
	r.Size /= uint16(n)
	for lane := range n {
		r.Lane = uint8(lane)
		if !yield(r) {
			return
		}
		r.Off += int16(r.Size)
	}
}
