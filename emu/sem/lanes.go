package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// The functions here make the semantics of vector instructions out of functions on values. Those take and return 64-bit words or lanes,
// and know nothing of operands.

// A lane is 128 bits of a vector, its lower word first: most instructions of AVX do to each of two lanes what SSE's do to one.
type lane [2]uint64

// bytes returns l as memory has it.
func (l lane) bytes() (b [16]byte) {
	binary.LittleEndian.PutUint64(b[:], l[0])
	binary.LittleEndian.PutUint64(b[8:], l[1])
	return b
}

// laneOfBytes returns the lane that memory has as b.
func laneOfBytes(b [16]byte) lane {
	return lane{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// lane returns lane i of v.
func (v *vec) lane(i int) lane { return lane{v[2*i], v[2*i+1]} }

// setLane writes lane i of v.
func (v *vec) setLane(i int, l lane) { v[2*i], v[2*i+1] = l[0], l[1] }

// lanesOf returns how many lanes g's first operand has.
func lanesOf(g *guest.Insn) int {
	if g.Args[0].Size == 32 {
		return 2
	}
	return 1
}

// vecArgs returns the two sources of g: a legacy encoding replaces the first one by the result.
func (m *Machine) vecArgs(c *emu.CPU, g *guest.Insn) (a, b vec, f *emu.Fault) {
	first := 0
	if g.Enc != x86.Legacy {
		first = 1
	}
	b, f = m.vecArg(c, g, first+1)
	return vecReg(c.FP, g.Args[first].Reg), b, f
}

// words returns the semantics of an instruction that makes each 64-bit word of its result of the same words of two sources.
func words(f func(a, b uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, f)
		}
		a, b, fault := m.vecArgs(c, g)
		if fault != nil {
			return fault
		}
		a[0], a[1] = f(a[0], b[0]), f(a[1], b[1])
		if g.Args[0].Size == 32 {
			a[2], a[3] = f(a[2], b[2]), f(a[3], b[3])
		}
		setVec(c, g, a)
		return nil
	}
}

// eachWord returns the semantics of an instruction that makes each 64-bit word of its result of the same word of its only source.
func eachWord(f func(uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, func(_, b uint64) uint64 { return f(b) })
		}
		v, fault := m.vecArg(c, g, 1)
		if fault != nil {
			return fault
		}
		for i := range v {
			v[i] = f(v[i])
		}
		setVec(c, g, v)
		return nil
	}
}

// pairs returns the semantics of an instruction that makes the lower word of each lane of its result of the two words of that lane of its
// first source, and the upper one of those of its second source. With MMX registers the sources are words themselves.
func pairs(f func(low, high uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, f)
		}
		a, b, fault := m.vecArgs(c, g)
		if fault != nil {
			return fault
		}
		setVec(c, g, vec{f(a[0], a[1]), f(b[0], b[1]), f(a[2], a[3]), f(b[2], b[3])})
		return nil
	}
}

// lanes returns the semantics of an instruction that makes each lane of its result of the same lanes of two sources.
func lanes(f func(a, b lane) lane) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.vecArgs(c, g)
		if fault != nil {
			return fault
		}
		for i := range lanesOf(g) {
			a.setLane(i, f(a.lane(i), b.lane(i)))
		}
		setVec(c, g, a)
		return nil
	}
}

// lanesBy is lanes for an instruction with an immediate, of which each lane but the lowest takes other bits, that many further up.
func lanesBy(f func(a, b lane, imm uint8) lane, bits int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.vecArgs(c, g)
		if fault != nil {
			return fault
		}
		for i := range lanesOf(g) {
			a.setLane(i, f(a.lane(i), b.lane(i), uint8(g.Imm)>>(bits*i)))
		}
		setVec(c, g, a)
		return nil
	}
}

// eachLane returns the semantics of an instruction that makes each lane of its result of the same lane of its only source.
func eachLane(f func(lane) lane) semantics {
	return eachLaneBy(func(l lane, _ uint8) lane { return f(l) }, 0)
}

// eachLaneBy is eachLane for an instruction with an immediate, as lanesBy is lanes.
func eachLaneBy(f func(l lane, imm uint8) lane, bits int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		v, fault := m.vecArg(c, g, 1)
		if fault != nil {
			return fault
		}
		for i := range lanesOf(g) {
			v.setLane(i, f(v.lane(i), uint8(g.Imm)>>(bits*i)))
		}
		setVec(c, g, v)
		return nil
	}
}

// both gives an instruction and its VEX form one function.
func both(legacy, vex x86.Op, f semantics) rows {
	return rows{legacy: {plain: f}, vex: {plain: f}}
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
