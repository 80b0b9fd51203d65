package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// The functions here make the semantics of vector instructions out of functions on values. Those take and return 64-bit
// words or lanes, and know nothing of operands.

// A lane is 128 bits of a vector: most instructions of AVX do to each of two lanes what SSE's do to one.
type lane struct{ low, high uint64 }

// bytes returns l as memory has it.
func (l lane) bytes() (b [16]byte) {
	putLane(&b, l)
	return b
}

// laneOf returns the lane that memory has as b, putLane writes it. Both access words, as all of this package does to
// what vectors are in: a CPU has to wait when it reads what smaller stores wrote.
func laneOf(b *[16]byte) lane {
	return lane{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

func putLane(b *[16]byte, l lane) {
	binary.LittleEndian.PutUint64(b[:], l.low)
	binary.LittleEndian.PutUint64(b[8:], l.high)
}

// lowLane and highLane return where the lanes of vector register r are.
func lowLane(x *emu.XState, r x86.Reg) *[16]byte {
	return (*[16]byte)(x[emu.XOffXMM+16*int(r&15):])
}

func highLane(x *emu.XState, r x86.Reg) *[16]byte {
	return (*[16]byte)(x[emu.XOffYMMH+16*int(r&15):])
}

// setLanes writes the result of g, a vector register. What is not g's to change stays with a legacy encoding, and
// becomes zero with VEX.
func setLanes(c *emu.CPU, g *guest.Insn, low, high lane) {
	o := &g.Args[0]
	putLane(lowLane(c.FP, o.Reg), low)
	switch {
	case o.Size == 32:
		putLane(highLane(c.FP, o.Reg), high)
	case g.Enc != x86.Legacy:
		putLane(highLane(c.FP, o.Reg), lane{})
	}
}

// laneArg returns the lanes of vector operand arg of g: of a register, or of memory as far as it has them.
func (m *Machine) laneArg(c *emu.CPU, g *guest.Insn, arg int) (low, high lane, f *emu.Fault) {
	o := &g.Args[arg]
	if o.Kind != x86.ArgMem {
		return laneOf(lowLane(c.FP, o.Reg)), laneOf(highLane(c.FP, o.Reg)), nil
	}
	a := guest.EffectiveAddr(c, g)
	if misplaced(g, a, o.Size) {
		return lane{}, lane{}, generalProtection()
	}
	var b [32]byte
	f = m.read(a, b[:o.Size])
	return laneOf((*[16]byte)(b[:])), laneOf((*[16]byte)(b[16:])), f
}

// lane returns lane i of v.
func (v *vec) lane(i int) lane { return lane{v[2*i], v[2*i+1]} }

// setLane writes lane i of v.
func (v *vec) setLane(i int, l lane) { v[2*i], v[2*i+1] = l.low, l.high }

// firstSource returns the number of the first of two sources of g: a legacy encoding replaces it by the result.
func firstSource(g *guest.Insn) int {
	if g.Enc == x86.Legacy {
		return 0
	}
	return 1
}

// vecArgs returns the two sources of g: a legacy encoding replaces the first one by the result.
func (m *Machine) vecArgs(c *emu.CPU, g *guest.Insn) (a, b vec, f *emu.Fault) {
	first := firstSource(g)
	b, f = m.vecArg(c, g, first+1)
	return vecReg(c.FP, g.Args[first].Reg), b, f
}

// words returns the semantics of an instruction that makes each 64-bit word of its result of the same words of two
// sources.
func words(f func(a, b uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, f)
		}
		first := firstSource(g)
		low, high, fault := m.laneArg(c, g, first+1)
		if fault != nil {
			return fault
		}
		a := laneOf(lowLane(c.FP, g.Args[first].Reg))
		low = lane{f(a.low, low.low), f(a.high, low.high)}
		if g.Args[0].Size == 32 {
			a = laneOf(highLane(c.FP, g.Args[first].Reg))
			high = lane{f(a.low, high.low), f(a.high, high.high)}
		}
		setLanes(c, g, low, high)
		return nil
	}
}

// eachWord returns the semantics of an instruction that makes each 64-bit word of its result of the same word of its
// only source.
func eachWord(f func(uint64) uint64) semantics {
	onLanes := eachLane(func(l lane) lane { return lane{f(l.low), f(l.high)} })
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, func(_, b uint64) uint64 { return f(b) })
		}
		return onLanes(m, c, g)
	}
}

// pairs returns the semantics of an instruction that makes the lower word of each lane of its result of the two words
// of that lane of its first source, and the upper one of those of its second source. With MMX registers the sources are
// words themselves.
func pairs(f func(low, high uint64) uint64) semantics {
	onLanes := lanes(func(a, b lane) lane { return lane{f(a.low, a.high), f(b.low, b.high)} })
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, f)
		}
		return onLanes(m, c, g)
	}
}

// lanes returns the semantics of an instruction that makes each lane of its result of the same lanes of two sources.
func lanes(f func(a, b lane) lane) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		first := firstSource(g)
		low, high, fault := m.laneArg(c, g, first+1)
		if fault != nil {
			return fault
		}
		r := g.Args[first].Reg
		low = f(laneOf(lowLane(c.FP, r)), low)
		if g.Args[0].Size == 32 {
			high = f(laneOf(highLane(c.FP, r)), high)
		}
		setLanes(c, g, low, high)
		return nil
	}
}

// lanesBy is lanes for an instruction with an immediate, of which the upper lane takes other bits, that many further
// up.
func lanesBy(f func(a, b lane, imm uint8) lane, bits int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		first := firstSource(g)
		low, high, fault := m.laneArg(c, g, first+1)
		if fault != nil {
			return fault
		}
		r := g.Args[first].Reg
		low = f(laneOf(lowLane(c.FP, r)), low, uint8(g.Imm))
		if g.Args[0].Size == 32 {
			high = f(laneOf(highLane(c.FP, r)), high, uint8(g.Imm)>>bits)
		}
		setLanes(c, g, low, high)
		return nil
	}
}

// eachLane returns the semantics of an instruction that makes each lane of its result of the same lane of its only
// source.
func eachLane(f func(lane) lane) semantics {
	return eachLaneBy(func(l lane, _ uint8) lane { return f(l) }, 0)
}

// eachLaneBy is eachLane for an instruction with an immediate, as lanesBy is lanes.
func eachLaneBy(f func(l lane, imm uint8) lane, bits int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		low, high, fault := m.laneArg(c, g, 1)
		if fault != nil {
			return fault
		}
		low = f(low, uint8(g.Imm))
		if g.Args[0].Size == 32 {
			high = f(high, uint8(g.Imm)>>bits)
		}
		setLanes(c, g, low, high)
		return nil
	}
}

// both gives an instruction and its VEX form one function.
func both(legacy, vex x86.Op, f semantics) rows {
	return rows{legacy: {plain: f}, vex: {plain: f}}
}

// wordwise returns the rows of an instruction that makes each 64-bit word of its result of the same words of two
// sources.
func wordwise(legacy, vex x86.Op, f func(a, b uint64) uint64) rows {
	return rows{legacy: {plain: words(f), words: f}, vex: {plain: words(f), words: f}}
}

// byImmediate returns the semantics of an operation that some forms give an immediate and others a vector.
func byImmediate(immediate, vector semantics) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[g.NArgs-1].Kind == x86.ArgImm {
			return immediate(m, c, g)
		}
		return vector(m, c, g)
	}
}
