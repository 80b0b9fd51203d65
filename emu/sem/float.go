package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// The floating-point instructions of SSE and AVX. Package soft computes elements; the functions here take vectors
// apart, and collect what exceptions their elements raised.

// A floatOp makes an element of a result of one element of each source, and of MXCSR. It returns exceptions, too.
type floatOp = func(x, y uint64, mode soft.Mode) (uint64, uint16)

// mxcsr returns MXCSR.
func mxcsr(x *emu.XState) soft.Mode {
	return soft.Mode(binary.LittleEndian.Uint32(x[emu.XOffMXCSR:]))
}

// raise adds the exceptions that the elements of an instruction raised to MXCSR, and returns the fault of those that
// are not masked. With a fault, the flags are all that an instruction changes.
func raise(c *emu.CPU, status uint16) *emu.Fault {
	if status == 0 {
		return nil
	}
	return raiseSteps(c, operandsFirst(mxcsr(c.FP), status))
}

// Raise adds the exceptions of an instruction with one element to MXCSR, and returns the fault of those that are not
// masked.
func Raise(c *emu.CPU, status uint16) *emu.Fault { return raise(c, status) }

// raiseSteps is raise of exceptions of several steps, for each of which operandsFirst was asked.
func raiseSteps(c *emu.CPU, status uint16) *emu.Fault {
	mode := mxcsr(c.FP)
	binary.LittleEndian.PutUint32(c.FP[emu.XOffMXCSR:], uint32(mode)|uint32(status))
	if mode.Unmasked(status) != 0 {
		return &emu.Fault{Vector: emu.VecXM}
	}
	return nil
}

// operandsFirst returns what is raised of the exceptions of all elements: those of operands are found before any result
// is computed, so that there are no others if one of them is not masked (SDM Vol. 1, "SIMD Floating-Point Exception
// Conditions").
func operandsFirst(mode soft.Mode, status uint16) uint16 {
	const before = soft.IE | soft.DE | soft.ZE
	if mode.Unmasked(status&before) != 0 {
		return status & before
	}
	return status
}

// Vectors are handed on by pointers here, and scalars are not taken for vectors: copies of vectors wait for the stores
// of their words.

// conclude ends a floating-point instruction that has the result v, unless one of its exceptions is not masked.
func conclude(c *emu.CPU, g *guest.Insn, v *vec, status uint16) *emu.Fault {
	if f := raise(c, status); f != nil {
		return f
	}
	o := &g.Args[0]
	low, high := c.FP[emu.XOffXMM+16*int(o.Reg):], c.FP[emu.XOffYMMH+16*int(o.Reg):]
	binary.LittleEndian.PutUint64(low, v[0])
	binary.LittleEndian.PutUint64(low[8:], v[1])
	switch {
	case g.Enc == x86.Legacy:
	case o.Size < 32:
		binary.LittleEndian.PutUint64(high, 0)
		binary.LittleEndian.PutUint64(high[8:], 0)
	default:
		binary.LittleEndian.PutUint64(high, v[2])
		binary.LittleEndian.PutUint64(high[8:], v[3])
	}
	return nil
}

// lastSource returns which operand of g is its last one but for an immediate.
func lastSource(g *guest.Insn) int {
	if g.Args[g.NArgs-1].Kind == x86.ArgImm {
		return int(g.NArgs) - 2
	}
	return int(g.NArgs) - 1
}

// floatArg reads vector operand arg of g.
func (m *Machine) floatArg(c *emu.CPU, g *guest.Insn, arg int, v *vec) *emu.Fault {
	o := &g.Args[arg]
	if o.Kind != x86.ArgMem {
		low, high := c.FP[emu.XOffXMM+16*int(o.Reg):], c.FP[emu.XOffYMMH+16*int(o.Reg):]
		v[0], v[1] = binary.LittleEndian.Uint64(low), binary.LittleEndian.Uint64(low[8:])
		v[2], v[3] = binary.LittleEndian.Uint64(high), binary.LittleEndian.Uint64(high[8:])
		return nil
	}
	x, f := m.vecArg(c, g, arg)
	*v = x
	return f
}

// floatArgs reads the two sources of g, its last operands but for an immediate. The first is a register: a legacy
// encoding replaces it by the result.
func (m *Machine) floatArgs(c *emu.CPU, g *guest.Insn, a, b *vec) *emu.Fault {
	last := lastSource(g)
	_ = m.floatArg(c, g, last-1, a)
	return m.floatArg(c, g, last, b)
}

// scalarArg returns the lowest size bytes of operand arg of g, a vector register or memory of that size.
func (m *Machine) scalarArg(c *emu.CPU, g *guest.Insn, arg int, size uint8) (uint64, *emu.Fault) {
	o := &g.Args[arg]
	if o.Kind != x86.ArgMem {
		return truncate(binary.LittleEndian.Uint64(c.FP[emu.XOffXMM+16*int(o.Reg):]), size), nil
	}
	return m.Load(guest.EffectiveAddr(c, g), size)
}

// concludeScalar ends a floating-point instruction whose result has x as its lowest element, of size bytes, and is
// operand rest of g else, a register that a legacy encoding replaces; unless one of its exceptions is not masked.
func concludeScalar(c *emu.CPU, g *guest.Insn, rest int, x uint64, size uint8, status uint16) *emu.Fault {
	if f := raise(c, status); f != nil {
		return f
	}
	from, to := c.FP[emu.XOffXMM+16*int(g.Args[rest].Reg):], c.FP[emu.XOffXMM+16*int(g.Args[0].Reg):]
	if size == 4 {
		x |= binary.LittleEndian.Uint64(from) &^ 0xffffffff
	}
	binary.LittleEndian.PutUint64(to, x)
	if g.Enc != x86.Legacy {
		binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
		high := c.FP[emu.XOffYMMH+16*int(g.Args[0].Reg):]
		binary.LittleEndian.PutUint64(high, 0)
		binary.LittleEndian.PutUint64(high[8:], 0)
	}
	return nil
}

// A precision is what a family of instructions has as PS and SS, or as PD and SD.
type precision struct {
	*soft.Format
	size int // of an element in bytes
}

var (
	single = precision{soft.Float32, 4}
	double = precision{soft.Float64, 8}
)

// packed returns the semantics of an instruction that applies f to all elements.
func (p precision) packed(f floatOp) semantics { return p.alternating(f, f) }

// alternating returns the semantics of an instruction that applies functions to the elements with even and odd numbers.
func (p precision) alternating(even, odd floatOp) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var a, b vec
		if fault := m.floatArgs(c, g, &a, &b); fault != nil {
			return fault
		}
		var status uint16
		if words := int(g.Args[0].Size) / 8; p.size == 4 {
			status = pairsInWords(a[:words], b[:words], even, odd, mxcsr(c.FP))
		} else {
			status = pairsOfWords(a[:words], b[:words], even, odd, mxcsr(c.FP))
		}
		return conclude(c, g, &a, status)
	}
}

// pairsOfWords replaces a's elements, which are words.
func pairsOfWords(a, b []uint64, even, odd floatOp, mode soft.Mode) (status uint16) {
	for i := 0; i < len(a); i += 2 {
		x, first := even(a[i], b[i], mode)
		y, second := odd(a[i+1], b[i+1], mode)
		a[i], a[i+1] = x, y
		status |= first | second
	}
	return status
}

// pairsInWords replaces a's elements, of which each word has two.
func pairsInWords(a, b []uint64, even, odd floatOp, mode soft.Mode) (status uint16) {
	for i, w := range a {
		x, first := even(w&0xffffffff, b[i]&0xffffffff, mode)
		y, second := odd(w>>32, b[i]>>32, mode)
		a[i] = x | y<<32
		status |= first | second
	}
	return status
}

// scalar returns the semantics of an instruction that applies f to the lowest elements. The others are those of the
// first source.
func (p precision) scalar(f floatOp) semantics {
	size := uint8(p.size)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last := lastSource(g)
		y, fault := m.scalarArg(c, g, last, size)
		if fault != nil {
			return fault
		}
		x, _ := m.scalarArg(c, g, last-1, size) // a register
		x, status := f(x, y, mxcsr(c.FP))
		return concludeScalar(c, g, last-1, x, size, status)
	}
}

// ofSecond returns the operation on the second source alone.
func ofSecond(f func(x uint64, mode soft.Mode) (uint64, uint16)) floatOp {
	return func(_, y uint64, mode soft.Mode) (uint64, uint16) { return f(y, mode) }
}

// approximation returns the operation of an instruction that raises no exceptions.
func approximation(f func(uint32) uint32) floatOp {
	return func(_, y uint64, _ soft.Mode) (uint64, uint16) { return uint64(f(uint32(y))), 0 }
}

// horizontal returns the semantics of an instruction that applies f to neighbouring elements: in each lane, those of
// the first source give the lower half of the result, those of the second one the upper half.
func (p precision) horizontal(f floatOp) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var a, b vec
		if fault := m.floatArgs(c, g, &a, &b); fault != nil {
			return fault
		}
		var v vec
		mode, status := mxcsr(c.FP), uint16(0)
		perLane := 16 / p.size
		for i := range int(g.Args[0].Size) / p.size {
			lane, within := i/perLane*perLane, i%perLane*2
			from := &a
			if within >= perLane {
				from, within = &b, within-perLane
			}
			x, s := f(from.element(lane+within, p.size), from.element(lane+within+1, p.size), mode)
			v.setElement(i, p.size, x)
			status |= s
		}
		return conclude(c, g, &v, status)
	}
}

// dotProduct implements DPPS and DPPD: the upper half of the immediate says which products are added, the lower half
// which elements of the result are their sum. Products are computed before sums, and sums before their sum. On Intel's
// CPUs each element has a sum of its own: of several NaNs it is the first one of its order.
func (p precision) dotProduct(multiply, add floatOp) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var a, b vec
		if fault := m.floatArgs(c, g, &a, &b); fault != nil {
			return fault
		}
		s := stepwise{mode: mxcsr(c.FP)}
		n, perLane := int(g.Args[0].Size)/p.size, 16/p.size
		sums := s.step(n, func(i int) (uint64, uint16) {
			if g.Imm>>(4+i%perLane)&1 == 0 {
				return 0, 0
			}
			return multiply(a.element(i, p.size), b.element(i, p.size), s.mode)
		})
		for across := 1; across < perLane; across *= 2 {
			from := sums
			sums = s.step(n, func(i int) (uint64, uint16) {
				if 2*across < perLane {
					return add(from[i^across], from[i], s.mode)
				}
				return add(from[i], from[i^across], s.mode)
			})
		}
		if fault := raiseSteps(c, s.raised); fault != nil {
			return fault
		}
		var v vec
		for i := range n {
			if g.Imm>>(i%perLane)&1 != 0 {
				v.setElement(i, p.size, sums[i])
			}
		}
		return conclude(c, g, &v, 0)
	}
}

// A stepwise computes in several steps. Exceptions of one that are not masked end the instruction.
type stepwise struct {
	mode   soft.Mode
	raised uint16
}

// step computes n elements.
func (s *stepwise) step(n int, f func(i int) (uint64, uint16)) (r [8]uint64) {
	if s.mode.Unmasked(s.raised) != 0 {
		return r
	}
	var status uint16
	for i := range n {
		x, e := f(i)
		r[i] = x
		status |= e
	}
	s.raised |= operandsFirst(s.mode, status)
	return r
}

// rounding implements ROUNDPS and its kin: the immediate has a rounding control, or says that MXCSR's counts, and
// whether an inexact result is an exception.
func (p precision) rounding(round conversion, shape func(p precision, f floatOp) semantics) semantics {
	var ways [16]semantics
	for imm := range ways {
		ways[imm] = shape(p, func(_, y uint64, mode soft.Mode) (uint64, uint16) {
			if imm&4 == 0 {
				mode = mode.WithRounding(uint8(imm))
			}
			x, status := round(y, mode)
			if imm&8 != 0 {
				status &^= soft.PE
			}
			return x, status
		})
	}
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault { return ways[g.Imm&15](m, c, g) }
}

// loadMXCSR implements LDMXCSR.
func (m *Machine) loadMXCSR(c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, f := m.Load(guest.EffectiveAddr(c, g), 4)
	if f != nil {
		return f
	}
	if x&^emu.MXCSRMask != 0 {
		return generalProtection()
	}
	binary.LittleEndian.PutUint32(c.FP[emu.XOffMXCSR:], uint32(x))
	return nil
}

// storeMXCSR implements STMXCSR.
func (m *Machine) storeMXCSR(c *emu.CPU, g *guest.Insn) *emu.Fault {
	return m.Store(guest.EffectiveAddr(c, g), 4, uint64(mxcsr(c.FP)))
}
