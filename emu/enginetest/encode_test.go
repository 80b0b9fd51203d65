package enginetest

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cgemu/cgemu/emu/x86"
)

// An encoding is an instruction taken apart, so that its operands can be exchanged.
type encoding struct {
	pre      []byte // legacy prefixes
	kind     x86.Encoding
	escape   []byte // legacy: 0F, 0F 38, 0F 3A
	opcode   byte
	vexMap   byte
	pp, l, w byte
	vvvv     byte // 4 bits, 5 with EVEX
	rex      bool // emit a REX prefix even without need
	modrm    bool
	reg      byte // 4 bits, 5 with EVEX
	mem      bool
	rm       byte // 4 bits, 5 with EVEX; of an opcode's low bits the fourth
	mask     byte // EVEX.aaa
	zeroing  bool // EVEX.z
	b        bool // EVEX.b
	vsib     bool // shape.index is a vector register
	shape    shape
	tail     [16]byte // immediates, as many as the instruction has
	moffs    uint64   // instead of tail, if not 0
}

// A shape is a memory operand as encoded.
type shape struct {
	seg     byte // prefix, 0 for none
	addr32  bool
	mod     byte
	base    byte // 16 for none
	index   byte // 4 for none; 5 bits of a vector register with EVEX
	scale   byte // 0 to 3
	disp    int32
	rip     bool
	longSIB bool // SIB even without need
}

const noBase = 16

// bytes assembles e, followed by its tail, which may be more than the instruction has.
func (e *encoding) bytes() []byte {
	b := append([]byte(nil), e.pre...)
	if e.shape.seg != 0 {
		b = append(b, e.shape.seg)
	}
	if e.shape.addr32 {
		b = append(b, 0x67)
	}
	r, x, bb := e.reg>>3, byte(0), e.rm>>3
	if e.mem {
		x, bb = e.shape.index>>3&1, e.shape.base>>3&1
	}
	switch {
	case e.kind == x86.Legacy:
		if rex := e.w<<3 | r<<2 | x<<1 | bb; rex != 0 || e.rex {
			b = append(b, 0x40|rex)
		}
		b = append(append(b, e.escape...), e.opcode)
	case e.kind == x86.EVEX:
		b = append(b, e.evex()...)
	case x == 0 && bb == 0 && e.w == 0 && e.vexMap == 1 && !e.rex:
		b = append(b, 0xc5, (r^1)<<7|(^e.vvvv&15)<<3|e.l<<2|e.pp, e.opcode)
	default:
		b = append(b, 0xc4, (r^1)<<7|(x^1)<<6|(bb^1)<<5|e.vexMap, e.w<<7|(^e.vvvv&15)<<3|e.l<<2|e.pp, e.opcode)
	}
	if e.modrm {
		b = e.operand(b)
	}
	if e.moffs != 0 {
		for i := range 8 {
			b = append(b, byte(e.moffs>>(8*i)))
		}
		return b
	}
	return append(b, e.tail[:]...)
}

// evex returns the prefix EVEX and the opcode.
func (e *encoding) evex() []byte {
	x, bb, v2 := e.rm>>4&1, e.rm>>3&1, e.vvvv>>4&1
	if e.mem {
		x, bb = e.shape.index>>3&1, e.shape.base>>3&1
		if e.vsib {
			v2 = e.shape.index >> 4 & 1
		}
	}
	p3 := e.l<<5 | (v2^1)<<3 | e.mask
	if e.zeroing {
		p3 |= 0x80
	}
	if e.b {
		p3 |= 0x10
	}
	return []byte{
		0x62, (e.reg>>3&1^1)<<7 | (x^1)<<6 | (bb^1)<<5 | (e.reg>>4&1^1)<<4 | e.vexMap,
		e.w<<7 | (^e.vvvv&15)<<3 | 4 | e.pp, p3, e.opcode,
	}
}

// operand appends ModRM, SIB and displacement.
func (e *encoding) operand(b []byte) []byte {
	reg := e.reg & 7 << 3
	if !e.mem {
		return append(b, 0xc0|reg|e.rm&7)
	}
	s := &e.shape
	disp := [4]byte{byte(s.disp), byte(s.disp >> 8), byte(s.disp >> 16), byte(s.disp >> 24)}
	switch {
	case s.rip:
		return append(append(b, reg|5), disp[:]...)
	case s.base == noBase:
		return append(append(b, reg|4, s.scale<<6|s.index&7<<3|5), disp[:]...)
	}
	mod := s.mod
	if mod == 0 && s.base&7 == 5 {
		mod = 1
	}
	if s.index != 4 || s.base&7 == 4 || s.longSIB {
		b = append(b, mod<<6|reg|4, s.scale<<6|s.index&7<<3|s.base&7)
	} else {
		b = append(b, mod<<6|reg|s.base&7)
	}
	return append(b, disp[:[3]int{0, 1, 4}[mod]]...)
}

// decode assembles and decodes e. It returns nil if that is no instruction.
func (e *encoding) decode(inst *x86.Inst) []byte {
	b := e.bytes()
	if x86.Decode(b, inst) != nil {
		return nil
	}
	return b[:inst.Len]
}

// A template is an encoding from which those of one form are made.
type template struct {
	encoding
	form int
	inst x86.Inst
}

// A templateKey tells templates apart that are worth trying each.
type templateKey struct {
	form             int
	mem              bool
	opSize           uint8
	l                byte
	rep, repne, lock bool
	b                bool
}

// templates finds encodings of all forms but those with XOP: by trying.
var templates = sync.OnceValue(func() []template {
	var list []template
	seen := map[templateKey]bool{}
	try := func(e encoding) {
		var inst x86.Inst
		if e.decode(&inst) == nil {
			return
		}
		if e.modrm = inst.ModRMOff != 0; !e.modrm {
			e.mem = false
		}
		k := templateKey{inst.Form(), inst.HasMem, inst.OpSize, e.l, inst.Rep, inst.Repne, inst.Lock, e.b}
		if seen[k] {
			return
		}
		seen[k] = true
		e.vsib = inst.Mem.VSIB
		e.vvvv = 0
		if e.decode(&inst) == nil || inst.Form() != k.form { // VEX.vvvv is an operand that must differ
			e.vvvv = 7
			e.decode(&inst)
		}
		list = append(list, template{e, inst.Form(), inst})
	}
	plain := shape{base: 3, index: 4}
	sib := shape{base: 3, index: 1}
	eachModRM := func(e encoding) {
		e.modrm = true
		for reg := range byte(8) {
			e.reg = reg
			e.mem, e.shape = true, plain
			try(e)
			e.shape = sib
			try(e)
			e.mem = false
			for rm := range byte(9) { // the last for REX.B
				e.rm = rm
				try(e)
			}
			e.rm = 0
		}
	}
	for op := range 256 {
		for _, escape := range [][]byte{nil, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}} {
			if escape == nil && (op == 0x0f || op == 0x62 || op&^1 == 0xc4 || op == 0x26 || op == 0x2e || op == 0x36 ||
				op == 0x3e || op&0xf0 == 0x40 || op >= 0x64 && op <= 0x67 || op == 0xf0 || op == 0xf2 || op == 0xf3) ||
				len(escape) == 1 && (op == 0x38 || op == 0x3a) {
				continue
			}
			for _, pre := range [][]byte{nil, {0x66}, {0xf3}, {0xf2}, {0x66, 0xf2}, {0xf0}, {0xf0, 0x66}} {
				for w := range byte(2) {
					eachModRM(encoding{pre: pre, escape: escape, opcode: byte(op), w: w})
				}
			}
		}
		for vex := range byte(64) {
			eachModRM(encoding{kind: x86.VEX, opcode: byte(op), vexMap: vex>>4&3 + 1, w: vex >> 3 & 1, l: vex >> 2 & 1, pp: vex & 3})
			eachModRM(encoding{kind: x86.VEX, opcode: byte(op), vexMap: vex>>4&3 + 1, w: vex >> 3 & 1, l: vex >> 2 & 1, pp: vex & 3, vvvv: 7})
		}
	}
	eachEVEXTemplate(func(e encoding) {
		e.modrm = true
		e.mem, e.shape = true, plain
		try(e)
		e.shape = sib
		try(e)
		e.mem = false
		try(e)
	})
	return list
})

// eachEVEXTemplate calls try with encodings of all forms with an EVEX prefix. A gather needs a mask.
func eachEVEXTemplate(try func(encoding)) {
	for op := range 256 {
		for _, m := range []byte{1, 2, 3, 5, 6} {
			regs := byte(1)
			if op>>2 == 0x71>>2 || op>>1 == 0xc6>>1 { // ModRM.reg selects forms
				regs = 8
			}
			for x := range byte(96) {
				for reg := range regs {
					try(encoding{
						kind: x86.EVEX, opcode: byte(op), vexMap: m, reg: reg,
						pp: x & 3, w: x >> 2 & 1, b: x>>3&1 != 0, mask: x >> 4 & 1, l: x >> 5,
					})
				}
			}
		}
	}
}

// vary exchanges the operands of t at random; choose sets the memory operand.
func (t *template) vary(r *rand.Rand, choose func(*shape)) (encoding, x86.Inst, []byte) {
	for attempt := 0; ; attempt++ {
		e := t.encoding
		for i := range e.tail {
			e.tail[i] = byte(r.Uint32())
		}
		if choose != nil {
			choose(&e.shape)
			e.shape.longSIB = e.shape.longSIB || t.inst.Mem.VSIB
		}
		e.reg = e.reg&7 | byte(r.Uint32N(2))<<3
		e.rm = e.rm&7 | byte(r.Uint32N(2))<<3
		if attempt < 100 {
			e.rex = r.Uint32N(4) == 0
			e.vvvv = byte(r.Uint32N(16))
			if attempt < 50 {
				e.reg, e.rm = byte(r.Uint32N(16)), byte(r.Uint32N(16))
				if !e.modrm {
					e.opcode = e.opcode&^7 | byte(r.Uint32N(8))
				}
			}
		}
		if e.kind == x86.EVEX {
			e.varyEVEX(r, attempt)
		}
		if e.kind == x86.EVEX && slices.ContainsFunc(t.inst.Args[:t.inst.NArgs], isGPR) {
			e.rm &= 15 // EVEX.X has no meaning, and AMD's CPUs may miss pushes and pops in RSP with it
		}
		if attempt > 200 {
			e = t.encoding
		}
		var inst x86.Inst
		code := e.decode(&inst)
		if code == nil || inst.Form() != t.form || inst.HasMem != t.inst.HasMem || inst.OpSize != t.inst.OpSize {
			if attempt > 200 {
				panic("BUG: a template of " + t.inst.Op.String() + " does not decode")
			}
			continue
		}
		return e, inst, code
	}
}

func isGPR(a x86.Arg) bool { return a.Kind == x86.ArgGPR }

// varyEVEX exchanges what only EVEX has.
func (e *encoding) varyEVEX(r *rand.Rand, attempt int) {
	e.reg |= byte(r.Uint32N(2)) << 4
	e.rm |= byte(r.Uint32N(2)) << 4
	if e.vsib {
		e.shape.index |= byte(r.Uint32N(2)) << 4
	} else if attempt < 100 {
		e.vvvv |= byte(r.Uint32N(2)) << 4
	}
	if attempt < 50 {
		e.mask, e.zeroing = byte(r.Uint32N(8)), r.Uint32N(3) == 0
	}
	if e.b && !e.mem {
		e.l = byte(r.Uint32N(4)) // a rounding mode
	}
}

// randomShape chooses a memory operand.
func randomShape(r *rand.Rand) shape {
	s := shape{mod: byte(r.Uint32N(3)), base: byte(r.Uint32N(16)), index: 4, disp: int32(r.Uint32N(512)) - 256}
	switch r.Uint32N(8) {
	case 0, 1, 2:
		s.index, s.scale = byte(r.Uint32N(16)), byte(r.Uint32N(4))
	case 3:
		s.base, s.index, s.scale = noBase, byte(r.Uint32N(16)), byte(r.Uint32N(4))
	case 4:
		s.rip = true
	case 5:
		s.longSIB = true
	}
	switch r.Uint32N(8) {
	case 0:
		s.seg = 0x64
	case 1:
		s.seg = 0x65
	case 2:
		s.seg = []byte{0x2e, 0x36, 0x3e, 0x26}[r.Uint32N(4)]
	}
	s.addr32 = r.Uint32N(8) == 0
	return s
}

// allShapes lists memory operands: each base with each displacement, each index, the forms without
// base, RIP-relative ones; in other segments and with 32-bit addresses some of these, others for another turn.
func allShapes(turn int) []shape {
	var plain []shape
	for base := range byte(16) {
		for mod := range byte(3) {
			plain = append(plain, shape{base: base, mod: mod, index: 4, disp: int32(base)*5 - 37})
		}
		if base != 4 {
			plain = append(plain,
				shape{base: 15 - base, mod: base % 3, index: base, scale: base & 3, disp: 24},
				shape{base: noBase, index: base, scale: base >> 1 & 3, disp: 64})
		}
	}
	plain = append(plain, shape{base: noBase, index: 4}, shape{rip: true}, shape{base: 7, index: 4, longSIB: true},
		shape{base: 6, index: 6, scale: 2}, shape{base: 4, index: 5, mod: 1}, shape{base: 13, index: 12, scale: 3})
	var list []shape
	for _, seg := range []byte{0, 0x64, 0x65, 0x3e} {
		for _, addr32 := range []bool{false, true} {
			for i, s := range plain {
				if s.seg, s.addr32 = seg, addr32; seg == 0 && !addr32 || (i+turn)%5 == 0 {
					list = append(list, s)
				}
			}
		}
	}
	return list
}
