package x86

// References yields the data references in program order, all of them. It has
// the shape of an iterator: for r := range inst.References.
//
// References at AtMem belong to the memory operand. Those of an XSAVE or of a
// masked move are listed in full; Guard says on what each depends.
func (i *Inst) References(yield func(Ref) bool) {
	if int(i.NRefs) <= len(i.Refs) {
		for _, r := range i.Refs[:i.NRefs] {
			if !yield(r) {
				return
			}
		}
		return
	}
	f := &forms[i.form]
	if f.attr&attrEnter != 0 {
		i.enterRefs(yield)
		return
	}
	if i.SuppressesFaults() {
		i.maskedRefs(i.memSize(), i.Args[0].Kind == ArgMem, yield)
		return
	}
	i.expand(f, i.memSize(), yield)
}

// memSize is the size of the memory operand, 0 without one.
func (i *Inst) memSize() uint16 {
	for _, a := range i.Args[:i.NArgs] {
		if a.Kind == ArgMem {
			return a.Size
		}
	}
	return 0
}

// references fills in Refs and NRefs.
func (d *decoder) references(inst *Inst) {
	f := d.form
	add := func(r Ref) bool {
		if int(inst.NRefs) < len(inst.Refs) {
			inst.Refs[inst.NRefs] = r
		}
		inst.NRefs++
		return true
	}
	if d.mask != 0 && inst.SuppressesFaults() {
		inst.maskedRefs(d.memSize, d.memAccess == accessW, add)
		return
	}
	if f.refs == 0 {
		if inst.HasMem && d.memAccess != 0 && d.memSize != 0 {
			d.defaultRefs(inst)
		}
		return
	}
	if f.refs == 1 {
		return
	}
	if f.attr&attrEnter != 0 {
		inst.enterRefs(add)
		return
	}
	inst.expand(f, d.memSize, add)
}

// defaultRefs is the reference of a plain memory operand; a locked or exchanging instruction makes a read and a modify.
func (d *decoder) defaultRefs(inst *Inst) {
	r := Ref{Size: d.memSize}
	switch d.memAccess {
	case accessW:
		r.Kind = Write
	case accessRW:
		r.Kind = Modify
	}
	if d.lock && d.form.attr&attrLock != 0 {
		inst.Refs[0] = Ref{Size: d.memSize}
		inst.NRefs = 1
	}
	inst.Refs[inst.NRefs] = r
	inst.NRefs++
}

// expand yields the references a form lists.
func (i *Inst) expand(f *form, memSize uint16, yield func(Ref) bool) {
	for k := range refLists[f.refs] {
		if !i.expandItem(f, &refLists[f.refs][k], memSize, yield) {
			return
		}
	}
}

func (i *Inst) expandItem(f *form, item *refItem, memSize uint16, yield func(Ref) bool) bool {
	r := Ref{Kind: item.kind, At: RefAt(item.at), Guard: item.guard, Lane: item.bit, Size: item.size, Off: item.off}
	switch item.at {
	case placeMem, placeBits, placeVSIB:
		if !i.HasMem {
			return true
		}
		if r.Size == 0 {
			r.Size = memSize
		}
	case placePush:
		r.At, r.Size, r.Off = AtRSP, uint16(i.OpSize), -int16(i.OpSize)
	case placePop:
		if !i.HasMem {
			return true
		}
		// With RSP as base, POP computes the address after it has incremented RSP:
		// SDM Vol. 2, "POP".
		r.At, r.Size = AtMem, memSize
		if i.Mem.Base == RSP {
			r.Off = int16(i.OpSize)
		}
	default:
		if r.Size == 0 {
			r.Size = uint16(i.OpSize)
		}
	}
	if i.Lock && r.Kind == Modify && f.attr&attrLock != 0 {
		read := r
		read.Kind = Read
		if !yield(read) {
			return false
		}
	}
	n := item.count
	if n == 0 {
		n = i.vlen / item.div
	}
	for lane := range n {
		if item.at == placeVSIB || item.guard == MaskLane {
			r.Lane = lane
		}
		if !yield(r) {
			return false
		}
		if item.at != placeVSIB {
			r.Off += int16(r.Size)
		}
	}
	return true
}

// enterRefs yields the references of ENTER: RBP is pushed; at nesting levels
// above 0 the outer frame pointers are copied, and the new one is pushed.
func (i *Inst) enterRefs(yield func(Ref) bool) {
	size := int16(i.OpSize)
	level := int16(i.Args[1].Imm & 31)
	push := func(n int16) bool {
		return yield(Ref{Kind: Write, At: AtRSP, Size: uint16(size), Off: -size * n})
	}
	if !push(1) {
		return
	}
	for n := int16(1); n < level; n++ {
		if !yield(Ref{Kind: Read, At: AtRBP, Size: uint16(size), Off: -size * n}) || !push(n+1) {
			return
		}
	}
	if level > 0 {
		push(level + 1)
	}
}
