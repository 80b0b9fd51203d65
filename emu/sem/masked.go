package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// Instructions that access memory for some elements alone. Element i of size bytes of a mask counts if its highest bit
// is set.

// selected reports whether element i of mask is.
func selected(mask *vec, i, size int) bool {
	last := (i+1)*size - 1
	return mask[last/8]>>(8*(last%8)+7)&1 != 0
}

// element returns element i of v, of size bytes; setElement writes it.
func (v *vec) element(i, size int) uint64 {
	at := i * size
	return truncate(v[at/8]>>(8*(at%8)), uint8(size))
}

func (v *vec) setElement(i, size int, x uint64) {
	at := i * size
	shift := 8 * (at % 8)
	v[at/8] = choose(truncate(^uint64(0), uint8(size))<<shift, x<<shift, v[at/8])
}

// maskedMove returns the semantics of VMASKMOV and VPMASKMOV with elements of size bytes. Those that are not selected
// are not accessed, and loaded as zeros.
func maskedMove(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		mask := vecReg(c.FP, g.Args[1].Reg)
		a := guest.EffectiveAddr(c, g)
		if g.Args[0].Kind == x86.ArgMem {
			return m.maskedStore(a, vecReg(c.FP, g.Args[2].Reg), &mask, int(g.Args[0].Size), size)
		}
		var v vec
		for i := range int(g.Args[0].Size) / size {
			if selected(&mask, i, size) {
				x, fault := m.Load(a+emu.Addr(i*size), uint8(size))
				if fault != nil {
					return fault
				}
				v.setElement(i, size, x)
			}
		}
		setVec(c, g, v)
		return nil
	}
}

// maskedStore writes those of the first n bytes of v whose elements are selected, or none if one of them faults.
func (m *Machine) maskedStore(a emu.Addr, v vec, mask *vec, n, size int) *emu.Fault {
	all := uint64(0)
	for i := range n / size {
		if selected(mask, i, size) {
			all |= 1 << i
		}
	}
	if fault := m.unwritable(a, all, size); fault != nil {
		return fault
	}
	b := v.bytes()
	for i := 0; i < n; i += size {
		if selected(mask, i/size, size) {
			if fault := m.write(a+emu.Addr(i), b[i:i+size]); fault != nil {
				return fault
			}
		}
	}
	return nil
}

// unwritable returns the fault of a store at a to elements of size bytes that are selected, nil if all can be written.
// As Intel's CPUs do, it tells the address of the first byte that is selected if that is on the page that cannot be
// written, else that of the last one: elements 0 and 7 of a store across two pages, of which the second one cannot be,
// fault at element 7's last byte.
func (m *Machine) unwritable(a emu.Addr, selected uint64, size int) *emu.Fault {
	for rest := selected; rest != 0; rest &= rest - 1 {
		at := a + emu.Addr(bits.TrailingZeros64(rest)*size)
		if m.Mem.Reachable(at, uint64(size), mem.Write) == uint64(size) {
			continue
		}
		if first := a + emu.Addr(bits.TrailingZeros64(selected)*size); m.Mem.Reachable(first, 1, mem.Write) == 0 {
			return accessFault(first, 0, true)
		}
		return accessFault(a+emu.Addr(bits.Len64(selected)*size-1), 0, true)
	}
	return nil
}

// maskedBytes implements MASKMOVQ and MASKMOVDQU, which write selected bytes to where RDI points.
func (m *Machine) maskedBytes(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := guest.RefAddr(c, g, g.Refs[0])
	if g.Args[0].Kind != x86.ArgMMX {
		mask := vecReg(c.FP, g.Args[1].Reg)
		return m.storeBytes(a, vecReg(c.FP, g.Args[0].Reg), &mask, 16)
	}
	if fault := pendingMMX(c); fault != nil {
		return fault
	}
	enterMMX(c.FP) // CPUs do so even if the store faults
	mask := vec{mmxReg(c.FP, g.Args[1].Reg)}
	return m.storeBytes(a, vec{mmxReg(c.FP, g.Args[0].Reg)}, &mask, 8)
}

// storeBytes writes the selected ones of n bytes, all of which have to be accessible even if none is selected: the
// upper 8 of 16 first.
func (m *Machine) storeBytes(a emu.Addr, v vec, mask *vec, n int) *emu.Fault {
	for at := n - 8; at >= 0; at -= 8 {
		part := a + emu.Addr(at)
		if got := m.Mem.Reachable(part, 8, mem.Write); got < 8 {
			return accessFault(part, int(got), true)
		}
	}
	return m.maskedStore(a, v, mask, n, 1)
}

// gather returns the semantics of a gather of elements of size bytes, by indexes of index bytes. Elements in front of
// one that faults are done, and the mask's are zero, so that the instruction goes on behind them when it is executed
// again (SDM Vol. 2, VGATHERDPS); on Intel's CPUs the others of the mask are then all ones or zero, those that no index
// is there for, too, and it has nothing beyond. In the end all of the mask is zero, and what the result has beyond the
// elements.
func gather(index, size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		result, mask := &g.Args[0], g.Args[2].Reg
		v, by, from := vecReg(c.FP, result.Reg), vecReg(c.FP, mask), vecReg(c.FP, g.Mem.Index)
		n := int(g.NRefs) // elements: one reference for each
		by.fill(g.VectorLen()/size, size)
		written := uint32(0) // the result, from its first element on
		for i := range n {
			if selected(&by, i, size) {
				x, fault := m.Load(gatherAddr(c, g, from.element(i, index), index), uint8(size))
				if fault != nil {
					setVecReg(c.FP, result.Reg, v)
					setVecReg(c.FP, mask, by)
					if m.ZeroesBeyond(g) {
						zeroBeyond(c.FP, 1<<mask|written)
					}
					return fault
				}
				written = 1 << result.Reg
				clear(v[g.VectorLen()/8:])
				v.setElement(i, size, x)
			}
			by.setElement(i, size, 0)
		}
		for i := n * size / 8; i < len(v); i++ {
			v[i] = 0
		}
		setVecReg(c.FP, result.Reg, v)
		setVecReg(c.FP, mask, vec{})
		return nil
	}
}

// fill makes each of the n elements of a mask all ones if it is selected, zero if not, as what lies beyond.
func (v *vec) fill(n, size int) {
	var full vec
	for i := range n {
		if selected(v, i, size) {
			full.setElement(i, size, ^uint64(0))
		}
	}
	*v = full
}

// gatherAddr returns the address of an element with an index of size bytes.
func gatherAddr(c *emu.CPU, g *guest.Insn, index uint64, size int) emu.Addr {
	if size == 4 {
		index = uint64(int32(index))
	}
	a := uint64(g.Mem.Disp) + index*uint64(g.Mem.Scale)
	if g.Mem.Base != x86.NoReg {
		a += c.Regs[g.Mem.Base]
	}
	if g.Mem.AddrSize == 4 {
		a &= 0xffffffff
	}
	return emu.Addr(a + guest.SegmentBase(c, g))
}

func maskedRows() parts {
	return join(
		both(x86.VMASKMOVPS, x86.VPMASKMOVD, maskedMove(4)), both(x86.VMASKMOVPD, x86.VPMASKMOVQ, maskedMove(8)),
		both(x86.MASKMOVDQU, x86.VMASKMOVDQU, (*Machine).maskedBytes), rows{x86.MASKMOVQ: {plain: (*Machine).maskedBytes}},
		both(x86.VGATHERDPS, x86.VPGATHERDD, gather(4, 4)), both(x86.VGATHERDPD, x86.VPGATHERDQ, gather(4, 8)),
		both(x86.VGATHERQPS, x86.VPGATHERQD, gather(8, 4)), both(x86.VGATHERQPD, x86.VPGATHERQQ, gather(8, 8)),
	)
}
