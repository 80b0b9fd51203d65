package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// Instructions with an EVEX prefix (SDM Vol. 1, "Programming with Intel AVX-512"). The functions here read and write
// their operands: vectors of 16 to 64 bytes, of which a mask register may select elements, and memory that may be one
// element for all places. A function that makes semantics (evexWords and those behind it) takes one that computes, and
// knows nothing of all that.

// A wide is what a register of 512 bits holds, or a part of it: its 64-bit words, the lowest first. What an operand
// does not have is zero.
type wide [8]uint64

// element returns element i of v, of size bytes; setElement writes it.
func (v *wide) element(i, size int) uint64 {
	at := i * size
	return truncate(v[at/8&7]>>(8*(at%8)), uint8(size))
}

func (v *wide) setElement(i, size int, x uint64) {
	at := i * size
	shift := 8 * (at % 8)
	v[at/8&7] = choose(truncate(^uint64(0), uint8(size))<<shift, x<<shift, v[at/8&7])
}

// lane returns lane i of v, setLane writes it.
func (v *wide) lane(i int) lane       { return lane{v[2*i], v[2*i+1]} }
func (v *wide) setLane(i int, l lane) { v[2*i], v[2*i+1] = l.low, l.high }

// bytes returns v as memory has it.
func (v *wide) bytes() (b [64]byte) {
	for i, w := range v {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return b
}

// wideOf returns the wide that memory has as b.
func wideOf(b *[64]byte) (v wide) {
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

// wordAt returns where word i of vector register r lies.
func wordAt(x *emu.XState, r x86.Reg, i int) []byte {
	switch {
	case r >= 16:
		return x[emu.XOffHiZMM+64*int(r&15)+8*i:]
	case i < 2:
		return x[emu.XOffXMM+16*int(r)+8*i:]
	case i < 4:
		return x[emu.XOffYMMH+16*int(r)+8*i-16:]
	}
	return x[emu.XOffZMMH+32*int(r)+8*i-32:]
}

// wideReg returns the lowest size bytes of vector register r.
func wideReg(x *emu.XState, r x86.Reg, size int) (v wide) {
	for i := range size / 8 {
		v[i] = binary.LittleEndian.Uint64(wordAt(x, r, i))
	}
	return v
}

// setWideReg writes vector register r.
func setWideReg(x *emu.XState, r x86.Reg, v *wide) {
	for i, w := range v {
		binary.LittleEndian.PutUint64(wordAt(x, r, i), w)
	}
}

// maskReg returns mask register r, setMaskReg writes it.
func maskReg(x *emu.XState, r x86.Reg) uint64 {
	return binary.LittleEndian.Uint64(x[emu.XOffOpmask+8*int(r):])
}

func setMaskReg(x *emu.XState, r x86.Reg, k uint64) {
	binary.LittleEndian.PutUint64(x[emu.XOffOpmask+8*int(r):], k)
}

// wideArg reads vector operand arg of g. Of memory elements are zero that the mask keeps from being accessed.
func (m *Machine) wideArg(c *emu.CPU, g *guest.Insn, arg int) (v wide, f *emu.Fault) {
	o := &g.Args[arg]
	if o.Kind != x86.ArgMem {
		return wideReg(c.FP, o.Reg, int(o.Size)), nil
	}
	a := guest.EffectiveAddr(c, g)
	switch {
	case g.Broadcast:
		return m.broadcastArg(c, g, a)
	case g.SuppressesFaults() && guest.Opmask(c, g) == 0:
		return v, nil
	case misplaced(g, a, o.Size):
		return v, generalProtection()
	case g.SuppressesFaults() && g.Repeated() > 0:
		return m.maskedLoad(a, guest.RepeatedOpmask(c, g), int(o.Size)/g.Repeated())
	case g.SuppressesFaults():
		return m.maskedLoad(a, guest.Opmask(c, g), g.ElementSize(arg))
	}
	var b [64]byte
	f = m.read(a, b[:o.Size])
	return wideOf(&b), f
}

// broadcastArg reads an element that stands for all. No element is accessed if none is selected.
func (m *Machine) broadcastArg(c *emu.CPU, g *guest.Insn, a emu.Addr) (v wide, f *emu.Fault) {
	size := g.BroadcastSize()
	if g.SuppressesFaults() && guest.Opmask(c, g) == 0 {
		return v, nil
	}
	x, f := m.Load(a, uint8(size))
	if size == 4 {
		x |= x << 32
	}
	for i := range v {
		v[i] = x
	}
	return v, f
}

// maskedLoad reads the elements at a that are selected.
func (m *Machine) maskedLoad(a emu.Addr, selected uint64, size int) (v wide, f *emu.Fault) {
	for i := 0; selected != 0; i, selected = i+1, selected>>1 {
		if selected&1 == 0 {
			continue
		}
		x, f := m.Load(a+emu.Addr(i*size), uint8(size))
		if f != nil {
			return v, f
		}
		v.setElement(i, size, x)
	}
	return v, nil
}

// concludeWide ends an instruction that computed v: g's first operand gets the elements that are selected, in a
// register or in memory.
func (m *Machine) concludeWide(c *emu.CPU, g *guest.Insn, v *wide) *emu.Fault {
	o := &g.Args[0]
	if o.Kind == x86.ArgMem {
		return m.storeWide(c, g, v)
	}
	size := g.VectorLen()
	if g.Mask != 0 {
		size = g.ElementSize(0)
		merge(c, g, v, size)
		size *= g.Elements()
	} else if n := g.OperandSize(0); n < size {
		size = n
	}
	for i := range v {
		switch left := size - 8*i; {
		case left <= 0:
			v[i] = 0
		case left < 8:
			v[i] = truncate(v[i], uint8(left))
		}
	}
	setWideReg(c.FP, o.Reg, v)
	return nil
}

// merge has the elements of v, of size bytes, that are not selected stay what they are in g's first operand, or become
// zero.
func merge(c *emu.CPU, g *guest.Insn, v *wide, size int) {
	var old wide
	if !g.Zeroing {
		old = wideReg(c.FP, g.Args[0].Reg, 64)
	}
	selected := guest.Opmask(c, g)
	for i := range g.Elements() {
		if selected>>i&1 == 0 {
			v.setElement(i, size, old.element(i, size))
		}
	}
}

// storeWide writes v to g's first operand, which is in memory: the elements that are selected, or none if one of them
// faults.
func (m *Machine) storeWide(c *emu.CPU, g *guest.Insn, v *wide) *emu.Fault {
	a, b := guest.EffectiveAddr(c, g), v.bytes()
	selected := guest.Opmask(c, g)
	switch {
	case g.SuppressesFaults() && selected == 0:
		return nil
	case misplaced(g, a, g.Args[0].Size):
		return generalProtection()
	case g.Mask == 0:
		return m.write(a, b[:g.Args[0].Size])
	}
	size := g.ElementSize(0)
	if !g.SuppressesFaults() {
		if n := m.Mem.Reachable(a, uint64(g.Args[0].Size), mem.Write); n < uint64(g.Args[0].Size) {
			return accessFault(a, int(n), true)
		}
	}
	if f := m.storable(g, a, selected); f != nil {
		return f
	}
	for i := range g.Elements() {
		if selected>>i&1 != 0 {
			if f := m.write(a+emu.Addr(i*size), b[i*size:(i+1)*size]); f != nil {
				return f
			}
		}
	}
	return nil
}

// storable returns the fault of a store to the elements of g's first operand, at a, that are selected.
func (m *Machine) storable(g *guest.Insn, a emu.Addr, selected uint64) *emu.Fault {
	return m.unwritable(a, selected&(^uint64(0)>>(64-g.Elements())), g.ElementSize(0))
}

// concludeMask ends an instruction whose result is a mask, in g's first operand: bits of elements that are not selected
// are zero, as are those beyond the elements.
func concludeMask(c *emu.CPU, g *guest.Insn, k uint64) *emu.Fault {
	setMaskReg(c.FP, g.Args[0].Reg, k&guest.Opmask(c, g))
	return nil
}

// firstWide returns which operand of g is the first of its two sources: the one in front of the last but for an
// immediate.
func firstWide(g *guest.Insn) int { return lastSource(g) - 1 }

// wideArgs reads the two sources of g, its last operands but for an immediate. The first is a register.
func (m *Machine) wideArgs(c *emu.CPU, g *guest.Insn) (a, b wide, f *emu.Fault) {
	first := firstWide(g)
	b, f = m.wideArg(c, g, first+1)
	return wideReg(c.FP, g.Args[first].Reg, g.VectorLen()), b, f
}

// evexWords returns the semantics of an instruction that makes each 64-bit word of its result of the same words of two
// sources.
func evexWords(f func(a, b uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.wideArgs(c, g)
		if fault != nil {
			return fault
		}
		for i := range g.VectorLen() / 8 {
			a[i] = f(a[i], b[i])
		}
		return m.concludeWide(c, g, &a)
	}
}

// evexEachWord is that for an instruction with one source.
func evexEachWord(f func(uint64) uint64) semantics {
	return evexVector(func(_ *guest.Insn, v *wide) {
		for i, w := range v {
			v[i] = f(w)
		}
	})
}

// evexLanes returns the semantics of an instruction that makes each lane of its result of the same lanes of two sources
// and an immediate, of which each further lane takes other bits, that many further up. 0 has all take the same.
func evexLanes(f func(a, b lane, imm uint8) lane, bits int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.wideArgs(c, g)
		if fault != nil {
			return fault
		}
		for i := range g.VectorLen() / 16 {
			a.setLane(i, f(a.lane(i), b.lane(i), uint8(g.Imm)>>(i*bits)))
		}
		return m.concludeWide(c, g, &a)
	}
}

// evexEachLane is that for an instruction with one source.
func evexEachLane(f func(l lane, imm uint8) lane, bits int) semantics {
	return evexVector(func(g *guest.Insn, v *wide) {
		for i := range 4 {
			v.setLane(i, f(v.lane(i), uint8(g.Imm)>>(i*bits)))
		}
	})
}

// evexVector returns the semantics of an instruction that replaces the vector of its only source by another one.
func evexVector(f func(g *guest.Insn, v *wide)) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		v, fault := m.wideArg(c, g, lastSource(g))
		if fault != nil {
			return fault
		}
		f(g, &v)
		return m.concludeWide(c, g, &v)
	}
}

// evexVectors returns the semantics of an instruction that makes a vector of two sources.
func evexVectors(f func(g *guest.Insn, a, b *wide) wide) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.wideArgs(c, g)
		if fault != nil {
			return fault
		}
		v := f(g, &a, &b)
		return m.concludeWide(c, g, &v)
	}
}

// evexThree is that for one whose result takes the place of a third source.
func evexThree(f func(g *guest.Insn, result, a, b *wide) wide) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.wideArgs(c, g)
		if fault != nil {
			return fault
		}
		old := wideReg(c.FP, g.Args[0].Reg, g.VectorLen())
		v := f(g, &old, &a, &b)
		return m.concludeWide(c, g, &v)
	}
}

// moveWide implements VMOVUPS, VMOVDQA32 and all others that copy a vector.
func (m *Machine) moveWide(c *emu.CPU, g *guest.Insn) *emu.Fault {
	v, fault := m.wideArg(c, g, 1)
	if fault != nil {
		return fault
	}
	return m.concludeWide(c, g, &v)
}

// evexMode returns MXCSR, with what g says about rounding.
func evexMode(c *emu.CPU, g *guest.Insn) soft.Mode {
	mode := mxcsr(c.FP)
	if g.Rounding >= x86.RoundNearest {
		mode = mode.WithRounding(uint8(g.Rounding - x86.RoundNearest))
	}
	if g.Rounding != x86.RoundMXCSR {
		mode = mode.Masked()
	}
	return mode
}

// evexRaise adds exceptions to MXCSR and returns the fault of those that are not masked, unless g suppresses them.
func evexRaise(c *emu.CPU, g *guest.Insn, status uint16) *emu.Fault {
	if g.Rounding != x86.RoundMXCSR {
		return nil
	}
	return raise(c, status)
}

// evexPacked returns the semantics of an instruction that applies functions to the elements with even and odd numbers
// that are selected.
func (p precision) evexPacked(even, odd floatOp) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		b, fault := m.wideArg(c, g, lastSource(g))
		if fault != nil {
			return fault
		}
		a := wideReg(c.FP, g.Args[max(firstWide(g), 0)].Reg, g.VectorLen())
		mode, status, selected := evexMode(c, g), uint16(0), guest.Opmask(c, g)
		for i := range g.Elements() {
			if selected>>i&1 == 0 {
				continue
			}
			f := even
			if i&1 != 0 {
				f = odd
			}
			x, s := f(a.element(i, p.size), b.element(i, p.size), mode)
			a.setElement(i, p.size, x)
			status |= s
		}
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		return m.concludeWide(c, g, &a)
	}
}

// evexScalar returns the semantics of an instruction that applies f to the lowest elements, if the mask selects them.
// The others are those of the first source.
func (p precision) evexScalar(f floatOp) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last := lastSource(g)
		var x uint64
		if guest.Opmask(c, g) != 0 {
			b, fault := m.evexScalarArg(c, g, last, p.size)
			if fault != nil {
				return fault
			}
			a := wideReg(c.FP, g.Args[last-1].Reg, 16)
			r, status := f(a.element(0, p.size), b, evexMode(c, g))
			if fault := evexRaise(c, g, status); fault != nil {
				return fault
			}
			x = r
		}
		return concludeEVEXScalar(c, g, last-1, x, p.size)
	}
}

// evexScalarArg returns the lowest element of operand arg, a vector register or memory of that size.
func (m *Machine) evexScalarArg(c *emu.CPU, g *guest.Insn, arg, size int) (uint64, *emu.Fault) {
	if o := &g.Args[arg]; o.Kind != x86.ArgMem {
		v := wideReg(c.FP, o.Reg, 16)
		return v.element(0, size), nil
	}
	return m.Load(guest.EffectiveAddr(c, g), uint8(size))
}

// concludeEVEXScalar ends an instruction whose result has x as its lowest element, of size bytes, if the mask selects
// that, and is operand rest of g else, a register.
func concludeEVEXScalar(c *emu.CPU, g *guest.Insn, rest int, x uint64, size int) *emu.Fault {
	to := g.Args[0].Reg
	v := wideReg(c.FP, g.Args[rest].Reg, 16)
	switch {
	case g.Mask == 0 || guest.Opmask(c, g) != 0:
	case g.Zeroing:
		x = 0
	default:
		old := wideReg(c.FP, to, 16)
		x = old.element(0, size)
	}
	v.setElement(0, size, x)
	setWideReg(c.FP, to, &v)
	return nil
}
