package sem

import (
	"cmp"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
)

// Instructions of AVX-512 on integers that have no counterpart in AVX.

// predicateHolds reports whether VPCMP's predicate imm holds for numbers that cmp.Compare has ordered (SDM Vol. 2, VPCMPD).
func predicateHolds(imm uint8, order int) bool {
	holds := false
	switch imm & 3 {
	case 0:
		holds = order == 0
	case 1:
		holds = order < 0
	case 2:
		holds = order <= 0
	}
	return holds != (imm&4 != 0)
}

// compareUnsigned and compareSigned are VPCMPU's and VPCMP's comparisons of elements of size bytes.
func compareUnsigned(a, b uint64, _ int, imm uint8) bool {
	return predicateHolds(imm, cmp.Compare(a, b))
}

func compareSigned(a, b uint64, size int, imm uint8) bool {
	return predicateHolds(imm, cmp.Compare(int64(signed(a, uint8(size))), int64(signed(b, uint8(size)))))
}

// evexCompares returns the semantics of an instruction that makes a mask: a bit says whether f holds for elements of two sources, which have size
// bytes.
func evexCompares(f func(a, b uint64, size int, imm uint8) bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.wideArgs(c, g)
		if fault != nil {
			return fault
		}
		size, k := g.ElementSize(lastSource(g)), uint64(0)
		for i := range g.Elements() {
			if f(a.element(i, size), b.element(i, size), size, uint8(g.Imm)) {
				k |= 1 << i
			}
		}
		return concludeMask(c, g, k)
	}
}

// permuteElements implements VPERMD and its kin: the first source has the numbers of the second one's elements.
func permuteElements(g *guest.Insn, by, from *wide) (v wide) {
	n, size := g.Elements(), g.ElementSize(0)
	for i := range n {
		v.setElement(i, size, from.element(int(by.element(i, size))&(n-1), size))
	}
	return v
}
