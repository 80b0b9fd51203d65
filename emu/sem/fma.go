package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// A fusedOp is x * y + z, rounded once.
type fusedOp = func(x, y, z uint64, mode soft.Mode) (uint64, uint16)

// A fusedSign says what an FMA instruction negates: the product, and the addend of elements with even and with odd numbers.
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

// fused returns the semantics of an FMA instruction, whose name has the order of its operands as factors and addend.
func (p precision) fused(f fusedOp, order [3]int, sign fusedSign, scalar bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var args [3]vec
		for i := range args {
			if fault := m.floatArg(c, g, i, &args[i]); fault != nil {
				return fault
			}
		}
		v, mode, status := &args[0], mxcsr(c.FP), uint16(0)
		n := int(g.Args[0].Size) / p.size
		if scalar {
			n = 1
		}
		for i := range n {
			x, y, z := args[order[0]].element(i, p.size), args[order[1]].element(i, p.size), args[order[2]].element(i, p.size)
			if sign.product {
				x = p.Negate(x)
			}
			if i&1 == 0 && sign.even || i&1 != 0 && sign.odd {
				z = p.Negate(z)
			}
			r, s := f(x, y, z, mode)
			v.setElement(i, p.size, r)
			status |= s
		}
		return conclude(c, g, v, status)
	}
}

// fusedRows returns the rows of instructions that differ in precision and number of elements.
func fusedRows(sign fusedSign, order [3]int, ps, pd x86.Op, scalars ...x86.Op) rows {
	r := rows{
		ps: {plain: single.fused(soft.FMA32, order, sign, false)},
		pd: {plain: double.fused(soft.FMA64, order, sign, false)},
	}
	if len(scalars) == 2 {
		r[scalars[0]] = row{plain: single.fused(soft.FMA32, order, sign, true)}
		r[scalars[1]] = row{plain: double.fused(soft.FMA64, order, sign, true)}
	}
	return r
}

var fmaRows = join(
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
