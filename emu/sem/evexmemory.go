package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Instructions with an EVEX prefix whose elements lie elsewhere in memory, or in a register, than in the result.

// evexGather returns the semantics of a gather of elements of size bytes. Elements in front of one that faults are done
// and their bits of the mask clear, so that the instruction goes on behind them when it is executed again (SDM Vol. 2,
// VPGATHERDD). In the end the mask is zero.
func evexGather(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		to, selected := g.Args[0].Reg, guest.Opmask(c, g)
		v := wideReg(c.FP, to, 64)
		clear(v[g.VectorLen()/8:]) // with the first element: a fault shows what lies in between
		for selected != 0 {
			i := bits.TrailingZeros64(selected)
			x, f := m.Load(guest.ElementAddr(c, g, i), uint8(size))
			if f != nil {
				return f
			}
			v.setElement(i, size, x)
			selected &= selected - 1
			setWideReg(c.FP, to, &v)
			doneElement(c, g, i)
		}
		setMaskReg(c.FP, g.Mask, 0)
		clear(v[g.Elements()*size/8:])
		setWideReg(c.FP, to, &v)
		return nil
	}
}

// doneElement clears the bit of element i in the mask of a gather or scatter.
func doneElement(c *emu.CPU, g *guest.Insn, i int) {
	setMaskReg(c.FP, g.Mask, maskReg(c.FP, g.Mask)&^(1<<i))
}

// evexScatter is that for a scatter. Of elements with the same address the last one stays.
func evexScatter(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		selected := guest.Opmask(c, g)
		v := wideReg(c.FP, g.Args[1].Reg, 64)
		for selected != 0 {
			i := bits.TrailingZeros64(selected)
			if f := m.Store(guest.ElementAddr(c, g, i), uint8(size), v.element(i, size)); f != nil {
				return f
			}
			selected &= selected - 1
			doneElement(c, g, i)
		}
		setMaskReg(c.FP, g.Mask, 0)
		return nil
	}
}

// compress implements VPCOMPRESSD and its kin: the elements that are selected lie side by side in the result, or in
// memory, which has no others.
func (m *Machine) compress(c *emu.CPU, g *guest.Insn) *emu.Fault {
	size, selected := g.ElementSize(1), guest.Opmask(c, g)
	from := wideReg(c.FP, g.Args[1].Reg, g.VectorLen())
	var v wide
	n := 0
	for ; selected != 0; selected &= selected - 1 {
		v.setElement(n, size, from.element(bits.TrailingZeros64(selected), size))
		n++
	}
	if g.Args[0].Kind == x86.ArgMem {
		if n == 0 {
			return nil
		}
		if g.Mask != 0 { // without, it faults as other stores do
			if f := m.unwritable(guest.EffectiveAddr(c, g), 1<<n-1, size); f != nil {
				return f
			}
		}
		b := v.bytes()
		return m.write(guest.EffectiveAddr(c, g), b[:n*size])
	}
	if g.Mask != 0 && !g.Zeroing {
		old := wideReg(c.FP, g.Args[0].Reg, g.VectorLen())
		for i := n; i < g.Elements(); i++ {
			v.setElement(i, size, old.element(i, size))
		}
	}
	setWideReg(c.FP, g.Args[0].Reg, &v)
	return nil
}

// expand implements VPEXPANDD and its kin: elements that lie side by side go to the places that are selected.
func (m *Machine) expand(c *emu.CPU, g *guest.Insn) *emu.Fault {
	size, selected := g.ElementSize(0), guest.Opmask(c, g)
	n := bits.OnesCount64(selected)
	var from, v wide
	if g.Args[1].Kind == x86.ArgMem {
		var b [64]byte
		if n > 0 {
			if f := m.read(guest.EffectiveAddr(c, g), b[:n*size]); f != nil {
				return f
			}
		}
		from = wideOf(&b)
	} else {
		from = wideReg(c.FP, g.Args[1].Reg, g.VectorLen())
	}
	for i := 0; selected != 0; selected &= selected - 1 {
		v.setElement(bits.TrailingZeros64(selected), size, from.element(i, size))
		i++
	}
	return m.concludeWide(c, g, &v)
}
