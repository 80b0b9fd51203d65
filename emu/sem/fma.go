package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// A fusedOp is x * y + z, rounded once.
type fusedOp = func(x, y, z uint64, mode soft.Mode) (uint64, uint16)

// A fusedSign says what an FMA instruction negates: the product, and the addend of elements with even and with odd
// numbers.
type fusedSign struct{ product, even, odd bool }

// Their names say add and subtract; of two in one name the first is that of odd elements.
var (
	fusedAdd           = fusedSign{}
	fusedSub           = fusedSign{even: true, odd: true}
	fusedNegatedAdd    = fusedSign{product: true}
	fusedNegatedSub    = fusedSign{product: true, even: true, odd: true}
	fusedAddOddSubEven = fusedSign{even: true}
	fusedSubOddAddEven = fusedSign{odd: true}
	fusedOrder132      = [3]int{0, 2, 1}
	fusedOrder213      = [3]int{1, 0, 2}
	fusedOrder231      = [3]int{1, 2, 0}
)

// negated returns a factor and the addend of element i with the signs that an instruction gives them.
func (s fusedSign) negated(p precision, i int, x, z uint64) (uint64, uint64) {
	if s.product {
		x = p.Negate(x)
	}
	if i&1 == 0 && s.even || i&1 != 0 && s.odd {
		z = p.Negate(z)
	}
	return x, z
}

// fused returns the semantics of an FMA instruction, whose name has the order of its operands as factors and addend.
func (p precision) fused(f fusedOp, order [3]int, sign fusedSign) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var args [3]vec
		for i := range args {
			if fault := m.floatArg(c, g, i, &args[i]); fault != nil {
				return fault
			}
		}
		mode, status := mxcsr(c.FP), uint16(0)
		first, second, addend := &args[order[0]], &args[order[1]], &args[order[2]]
		for i := range int(g.Args[0].Size) / p.size {
			x, z := sign.negated(p, i, first.element(i, p.size), addend.element(i, p.size))
			r, s := f(x, second.element(i, p.size), z, mode)
			args[0].setElement(i, p.size, r)
			status |= s
		}
		return conclude(c, g, &args[0], status)
	}
}

// fusedScalar is fused of the lowest elements alone.
func (p precision) fusedScalar(f fusedOp, order [3]int, sign fusedSign) semantics {
	size := uint8(p.size)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var args [3]uint64
		for i := range args {
			x, fault := m.scalarArg(c, g, i, size)
			if fault != nil {
				return fault
			}
			args[i] = x
		}
		x, z := sign.negated(p, 0, args[order[0]], args[order[2]])
		r, status := f(x, args[order[1]], z, mxcsr(c.FP))
		return concludeScalar(c, g, 0, r, size, status)
	}
}

// fusedRows returns the rows of instructions that differ in precision and number of elements.
func fusedRows(sign fusedSign, order [3]int, ps, pd x86.Op, scalars ...x86.Op) rows {
	r := rows{
		ps: {plain: single.fused(soft.FMA32, order, sign), evex: single.evexFused(soft.FMA32, order, sign)},
		pd: {plain: double.fused(soft.FMA64, order, sign), evex: double.evexFused(soft.FMA64, order, sign)},
	}
	if len(scalars) == 2 {
		r[scalars[0]] = row{plain: single.fusedScalar(soft.FMA32, order, sign), evex: single.evexFusedScalar(soft.FMA32, order, sign)}
		r[scalars[1]] = row{plain: double.fusedScalar(soft.FMA64, order, sign), evex: double.evexFusedScalar(soft.FMA64, order, sign)}
	}
	return r
}

func fmaRows() parts {
	return join(
		fusedRows(fusedAdd, fusedOrder132, x86.VFMADD132PS, x86.VFMADD132PD, x86.VFMADD132SS, x86.VFMADD132SD),
		fusedRows(fusedAdd, fusedOrder213, x86.VFMADD213PS, x86.VFMADD213PD, x86.VFMADD213SS, x86.VFMADD213SD),
		fusedRows(fusedAdd, fusedOrder231, x86.VFMADD231PS, x86.VFMADD231PD, x86.VFMADD231SS, x86.VFMADD231SD),
		fusedRows(fusedSub, fusedOrder132, x86.VFMSUB132PS, x86.VFMSUB132PD, x86.VFMSUB132SS, x86.VFMSUB132SD),
		fusedRows(fusedSub, fusedOrder213, x86.VFMSUB213PS, x86.VFMSUB213PD, x86.VFMSUB213SS, x86.VFMSUB213SD),
		fusedRows(fusedSub, fusedOrder231, x86.VFMSUB231PS, x86.VFMSUB231PD, x86.VFMSUB231SS, x86.VFMSUB231SD),
		fusedRows(fusedNegatedAdd, fusedOrder132, x86.VFNMADD132PS, x86.VFNMADD132PD, x86.VFNMADD132SS, x86.VFNMADD132SD),
		fusedRows(fusedNegatedAdd, fusedOrder213, x86.VFNMADD213PS, x86.VFNMADD213PD, x86.VFNMADD213SS, x86.VFNMADD213SD),
		fusedRows(fusedNegatedAdd, fusedOrder231, x86.VFNMADD231PS, x86.VFNMADD231PD, x86.VFNMADD231SS, x86.VFNMADD231SD),
		fusedRows(fusedNegatedSub, fusedOrder132, x86.VFNMSUB132PS, x86.VFNMSUB132PD, x86.VFNMSUB132SS, x86.VFNMSUB132SD),
		fusedRows(fusedNegatedSub, fusedOrder213, x86.VFNMSUB213PS, x86.VFNMSUB213PD, x86.VFNMSUB213SS, x86.VFNMSUB213SD),
		fusedRows(fusedNegatedSub, fusedOrder231, x86.VFNMSUB231PS, x86.VFNMSUB231PD, x86.VFNMSUB231SS, x86.VFNMSUB231SD),
		fusedRows(fusedAddOddSubEven, fusedOrder132, x86.VFMADDSUB132PS, x86.VFMADDSUB132PD),
		fusedRows(fusedAddOddSubEven, fusedOrder213, x86.VFMADDSUB213PS, x86.VFMADDSUB213PD),
		fusedRows(fusedAddOddSubEven, fusedOrder231, x86.VFMADDSUB231PS, x86.VFMADDSUB231PD),
		fusedRows(fusedSubOddAddEven, fusedOrder132, x86.VFMSUBADD132PS, x86.VFMSUBADD132PD),
		fusedRows(fusedSubOddAddEven, fusedOrder213, x86.VFMSUBADD213PS, x86.VFMSUBADD213PD),
		fusedRows(fusedSubOddAddEven, fusedOrder231, x86.VFMSUBADD231PS, x86.VFMSUBADD231PD),
	)
}
