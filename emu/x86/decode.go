package x86

import "encoding/binary"

// A decoder holds what Decode learns from the prefixes on its way through one
// instruction.
type decoder struct {
	code []byte // at most MaxLen bytes
	more bool   // the caller's code went on behind these
	pos  int

	has66, lock bool
	rep         byte  // F2 or F3, the last one; 0 if none
	pp          uint8 // index of byPrefix
	m           uint8 // opcode map
	opcode      byte
	w           uint8
	// Extensions of register numbers, in place: 8, and 16 in EVEX.
	r, x, b, r2, v2 uint8
	vvvv            uint8
	l               uint8 // vector length: 0, 1, 2 for 16, 32, 64
	mask            uint8 // EVEX.aaa
	zeroing, bcast  bool  // EVEX.z, EVEX.b
	rounding        uint8 // EVEX.L'L where b makes that of it

	form      *form
	memSize   uint16
	memAccess access
}

// Decode decodes the first instruction of code. It overwrites all of inst,
// whose contents mean nothing if it returns an error.
func Decode(code []byte, inst *Inst) error {
	var d decoder
	d.code = code
	if len(code) > MaxLen {
		d.code, d.more = code[:MaxLen], true
	}
	*inst = Inst{}
	inst.Mem.Base, inst.Mem.Index, inst.Mem.AddrSize = NoReg, NoReg, 8
	if err := d.prefixes(inst); err != nil {
		return err
	}
	entry, err := d.lookup(roots[d.m][d.opcode])
	if err != nil {
		return err
	}
	if entry == 0 {
		return ErrUndefined
	}
	inst.form = entry &^ leaf
	d.form = &forms[inst.form]
	d.describe(inst)
	if d.form.attr&attrModRM != 0 {
		if err := d.modRM(inst); err != nil {
			return err
		}
	}
	for i := range d.form.nargs {
		if err := d.arg(inst, &inst.Args[i], &d.form.args[i]); err != nil {
			return err
		}
	}
	inst.NArgs = d.form.nargs
	inst.Len = uint8(d.pos)
	if d.form.attr&attrsRare != 0 || d.lock || inst.Enc != Legacy {
		if err := d.rare(inst); err != nil {
			return err
		}
	}
	d.references(inst)
	return nil
}

// short is the error for code that ends too early.
func (d *decoder) short() error {
	if d.more || len(d.code) == MaxLen {
		return ErrTooLong
	}
	return ErrTruncated
}

// Classes of prefix bytes.
const (
	notPrefix = iota
	prefixREX
	prefix66
	prefix67
	prefixRep
	prefixLock
	prefixFS
	prefixGS
	prefixNull // CS, DS, ES, SS
	prefixVEX2 // no prefixes, but bytes that end the search for them
	prefixVEX3
	prefixEVEX
	prefixXOP // or POP
	prefix0F
)

var prefixClass = [256]uint8{
	0x0f: prefix0F, 0x26: prefixNull, 0x2e: prefixNull, 0x36: prefixNull, 0x3e: prefixNull,
	0x40: prefixREX, 0x41: prefixREX, 0x42: prefixREX, 0x43: prefixREX,
	0x44: prefixREX, 0x45: prefixREX, 0x46: prefixREX, 0x47: prefixREX,
	0x48: prefixREX, 0x49: prefixREX, 0x4a: prefixREX, 0x4b: prefixREX,
	0x4c: prefixREX, 0x4d: prefixREX, 0x4e: prefixREX, 0x4f: prefixREX,
	0x62: prefixEVEX, 0x64: prefixFS, 0x65: prefixGS, 0x66: prefix66, 0x67: prefix67, 0x8f: prefixXOP,
	0xc4: prefixVEX3, 0xc5: prefixVEX2, 0xf0: prefixLock, 0xf2: prefixRep, 0xf3: prefixRep,
}

// prefixes reads everything up to and including the opcode.
func (d *decoder) prefixes(inst *Inst) error {
	pos := 0
	var rex byte
	for ; ; pos++ {
		if pos >= len(d.code) {
			return d.short()
		}
		b := d.code[pos]
		class := prefixClass[b]
		if class == notPrefix || class >= prefixVEX2 {
			break
		}
		if class == prefixREX {
			rex = b
			continue
		}
		rex = 0 // a REX that is not last is ignored: SDM Vol. 2, "REX Prefixes"
		switch class {
		case prefix66:
			d.has66, inst.OpSize16 = true, true
		case prefix67:
			inst.Mem.AddrSize = 4
		case prefixRep:
			d.rep = b
		case prefixLock:
			d.lock, inst.Lock = true, true
		case prefixFS:
			inst.Mem.Seg = SegFS
		case prefixGS:
			inst.Mem.Seg = SegGS
		}
	}
	d.pos = pos
	inst.NPrefix = uint8(pos)
	if rex != 0 {
		inst.NPrefix--
		inst.REX = rex
		d.w, d.r, d.x, d.b = rex>>3&1, rex&4<<1, rex&2<<2, rex&1<<3
	}
	switch {
	case d.rep != 0:
		d.pp = d.rep&1 ^ 3 // F3: 2, F2: 3
	case d.has66:
		d.pp = 1
	}
	class := prefixClass[d.code[pos]]
	if class == notPrefix {
		inst.OpcodeOff = uint8(pos)
		d.opcode = d.code[pos]
		d.pos++
		return nil
	}
	if class == prefix0F {
		return d.escape(inst)
	}
	return d.vexes(inst, class)
}

// escape reads an opcode that begins with 0F.
func (d *decoder) escape(inst *Inst) error {
	inst.OpcodeOff = uint8(d.pos)
	d.m = map0F
	d.pos++
	if d.pos >= len(d.code) {
		return d.short()
	}
	switch d.code[d.pos] {
	case 0x38:
		d.m = map0F38
		d.pos++
	case 0x3a:
		d.m = map0F3A
		d.pos++
	}
	if d.pos >= len(d.code) {
		return d.short()
	}
	d.opcode = d.code[d.pos]
	d.pos++
	return nil
}

// lookup follows the decision tree from entry v to a form's entry, or 0.
func (d *decoder) lookup(v uint16) (uint16, error) {
	for v != 0 && v&leaf == 0 {
		i := uint16(0)
		switch nodes[v] {
		case byPrefix:
			i = uint16(d.pp)
		case byW:
			i = uint16(d.w)
		case byL:
			i = uint16(d.l)
		case byOpSize:
			i = d.opSizeIndex()
		case byB:
			i = uint16(d.b >> 3)
		default:
			if d.pos >= len(d.code) {
				return 0, d.short()
			}
			modrm := d.code[d.pos]
			switch nodes[v] {
			case byReg:
				i = uint16(modrm >> 3 & 7)
			case byRM:
				i = uint16(modrm & 7)
			case byMod:
				if modrm >= 0xc0 {
					i = 1
				}
			}
		}
		v = nodes[v+1+i]
	}
	return v, nil
}

func (d *decoder) opSizeIndex() uint16 {
	switch {
	case d.w != 0:
		return 2
	case d.has66:
		return 0
	}
	return 1
}

// describe copies into inst what the form says whatever the operands are.
func (d *decoder) describe(inst *Inst) {
	f := d.form
	inst.Op, inst.Feature, inst.Flow = f.op, f.feature, f.flow
	if d.l == 1 && f.feature256 != 0 {
		inst.Feature = f.feature256
	}
	if f.attr&attrMust66 != 0 {
		d.has66 = false
	}
	if inst.vlen = 16 << d.l; f.attr&attrLIG != 0 {
		inst.vlen = 16
	}
	inst.OpSize = d.opSize()
	if f.op == LEA {
		inst.Mem.Seg = SegNone // an address is computed, no segment has a say
	}
	inst.GPRRead, inst.GPRWrite = f.gprR, f.gprW
	if inst.OpSize < 4 {
		inst.GPRRead |= f.gprW
	}
	inst.FlagsRead, inst.FlagsWrite = f.flagsR, f.flagsW
}

func (d *decoder) opSize() uint8 {
	switch rule := d.form.opSize; rule {
	case opSizeV, opSizeZ:
		switch {
		case d.w != 0 && rule == opSizeV:
			return 8
		case d.has66 && d.w == 0:
			return 2
		}
		return 4
	case opSizeY:
		return 4 << d.w
	case opSize64:
		if d.has66 && d.w == 0 {
			return 2
		}
		return 8
	case opSize1:
		return 1
	case opSize2:
		return 2
	case opSize4:
		return 4
	}
	return 8
}

// modRM reads ModRM, SIB and displacement.
func (d *decoder) modRM(inst *Inst) error {
	if d.pos >= len(d.code) {
		return d.short()
	}
	modrm := d.code[d.pos]
	inst.ModRM, inst.ModRMOff = modrm, uint8(d.pos)
	d.pos++
	if modrm >= 0xc0 || d.form.attr&attrNoMem != 0 {
		return nil
	}
	inst.HasMem = true
	mem := &inst.Mem
	mem.Scale = 1
	mod, rm := modrm>>6, modrm&7
	dispLen := [3]uint8{0, 1, 4}[mod]
	switch {
	case rm == 4:
		if d.pos >= len(d.code) {
			return d.short()
		}
		sib := d.code[d.pos]
		d.pos++
		if base := sib & 7; base == 5 && mod == 0 {
			dispLen = 4
		} else {
			mem.Base = Reg(base | d.b)
		}
		d.index(inst, sib)
	case rm == 5 && mod == 0:
		mem.RIPRel = true
		dispLen = 4
	default:
		mem.Base = Reg(rm | d.b)
	}
	if mem.Base != NoReg {
		inst.GPRRead |= 1 << mem.Base
	}
	if dispLen != 0 {
		return d.displacement(inst, dispLen)
	}
	return nil
}

// index takes index and scale from a SIB byte.
func (d *decoder) index(inst *Inst, sib byte) {
	mem := &inst.Mem
	index := sib>>3&7 | d.x
	if d.form.attr&attrVSIB != 0 {
		index |= d.v2
		mem.VSIB = true
		inst.VecRead |= 1 << index
	} else if index == 4 {
		return
	} else {
		inst.GPRRead |= 1 << index
	}
	mem.Index, mem.Scale = Reg(index), 1<<(sib>>6)
}

func (d *decoder) displacement(inst *Inst, n uint8) error {
	if d.pos+int(n) > len(d.code) {
		return d.short()
	}
	inst.DispOff, inst.DispLen = uint8(d.pos), n
	if n == 1 {
		inst.Mem.Disp = int64(int8(d.code[d.pos]))
	} else {
		inst.Mem.Disp = int64(int32(binary.LittleEndian.Uint32(d.code[d.pos:])))
	}
	d.pos += int(n)
	return nil
}
