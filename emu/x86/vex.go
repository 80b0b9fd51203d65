package x86

// vexes reads a VEX, EVEX or XOP prefix and the opcode behind it. SDM Vol. 2,
// "Intel AVX Instruction Formats"; AMD APM Vol. 6 for XOP.
func (d *decoder) vexes(inst *Inst, class uint8) error {
	n := prefixLen[class-prefixVEX2]
	if d.pos+1 >= len(d.code) {
		return d.short()
	}
	if class == prefixXOP && d.code[d.pos+1]&0x1f < 8 {
		inst.OpcodeOff = uint8(d.pos)
		d.opcode = d.code[d.pos] // POP
		d.pos++
		return nil
	}
	if inst.REX != 0 || d.has66 || d.rep != 0 || d.lock {
		return ErrUndefined
	}
	if d.pos+n >= len(d.code) {
		return d.short()
	}
	p := d.code[d.pos : d.pos+n]
	inst.Enc = VEX
	ok := true
	switch class {
	case prefixVEX2:
		d.m = mapVEX0F
		d.r = ^p[1] >> 4 & 8
		d.vexLast(p[1] & 0x7f)
	case prefixVEX3:
		m := p[1] & 0x1f
		ok = m >= 1 && m <= 3
		d.m = mapVEX0F + m - 1
		d.rxb(p[1])
		d.vexLast(p[2])
	case prefixXOP:
		m := p[1] & 0x1f
		ok = m <= 10
		d.m = mapXOP8 + m - 8
		d.rxb(p[1])
		d.vexLast(p[2])
	case prefixEVEX:
		ok = d.evex(p)
		inst.Enc = EVEX
	}
	if !ok {
		return ErrUndefined
	}
	d.pos += n
	inst.OpcodeOff = uint8(d.pos)
	d.opcode = d.code[d.pos]
	d.pos++
	if inst.Enc == EVEX {
		return d.evexLength()
	}
	return nil
}

// prefixLen is the length of each prefix from prefixVEX2 on, opcode not included.
var prefixLen = [...]int{0: 2, prefixVEX3 - prefixVEX2: 3, prefixEVEX - prefixVEX2: 4, prefixXOP - prefixVEX2: 3}

// rxb takes the inverted register extensions from the top of a byte.
func (d *decoder) rxb(b byte) {
	d.r, d.x, d.b = ^b>>4&8, ^b>>3&8, ^b>>2&8
}

// vexLast takes W, vvvv, L and pp.
func (d *decoder) vexLast(b byte) {
	d.w = b >> 7
	d.vvvv = ^b >> 3 & 15
	d.l = b >> 2 & 1
	d.pp = b & 3
}

// evexMaps maps EVEX.mmm to a map, 0 if there is none.
var evexMaps = [8]uint8{1: mapEVEX0F, 2: mapEVEX0F38, 3: mapEVEX0F3A, 5: mapEVEX5, 6: mapEVEX6}

// evex takes an EVEX prefix apart and reports whether it can be one.
func (d *decoder) evex(p []byte) bool {
	d.m = evexMaps[p[1]&7]
	d.rxb(p[1])
	d.r2 = ^p[1] & 16
	d.w = p[2] >> 7
	d.vvvv = ^p[2] >> 3 & 15
	d.pp = p[2] & 3
	d.zeroing = p[3]&0x80 != 0
	d.l = p[3] >> 5 & 3
	d.bcast = p[3]&0x10 != 0
	d.v2 = ^p[3] << 1 & 16
	d.mask = p[3] & 7
	// The fixed bits, 0 and 1: SDM Vol. 2, "EVEX Instruction Format".
	return d.m != 0 && p[1]&8 == 0 && p[2]&4 != 0
}

// evexLength settles the vector length: with registers alone, b turns L'L into
// a rounding mode, and the length is 64.
func (d *decoder) evexLength() error {
	if d.pos >= len(d.code) {
		return d.short()
	}
	if d.bcast && d.code[d.pos] >= 0xc0 {
		d.rounding, d.l = d.l, 2
	}
	if d.l == 3 {
		return ErrUndefined
	}
	return nil
}
