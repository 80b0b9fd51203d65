package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

func bitRows() rows {
	return rows{
		x86.BT: {plain: bitTest(func(x, _ uint64) uint64 { return x })}, x86.BTS: {plain: bitTest(func(x, bit uint64) uint64 { return x | bit })},
		x86.BTR: {plain: bitTest(func(x, bit uint64) uint64 { return x &^ bit })}, x86.BTC: {plain: bitTest(func(x, bit uint64) uint64 { return x ^ bit })},
		x86.BSF: {plain: scan(bits.TrailingZeros64), fallback: anyForm}, x86.BSR: {plain: scan(highestBit), fallback: anyForm},
		x86.POPCNT: {plain: population, fallback: anyForm}, x86.TZCNT: {plain: countZeros(trailingZeros)}, x86.LZCNT: {plain: countZeros(leadingZeros)},
		x86.BSWAP: {plain: swapBytes}, x86.MOVBE: {plain: moveSwapped},
		x86.BLSR:   {plain: lowestBit(func(x uint64) uint64 { return x & (x - 1) }, func(x uint64) bool { return x == 0 })},
		x86.BLSMSK: {plain: lowestBit(func(x uint64) uint64 { return x ^ (x - 1) }, func(x uint64) bool { return x == 0 })},
		x86.BLSI:   {plain: lowestBit(func(x uint64) uint64 { return x & -x }, func(x uint64) bool { return x != 0 })},
		x86.BZHI:   {plain: zeroHighBits}, x86.BEXTR: {plain: extractBits},
		x86.PDEP: {plain: maskedBits(depositBits)}, x86.PEXT: {plain: maskedBits(gatherBits)},
	}
}

// bitTest copies a bit of the first operand to CF and replaces it. A bit string in memory goes on beyond the operand,
// in both directions.
func bitTest(f func(x, bit uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		index, _ := m.get(c, g, 1)
		set := func(x uint64, n uint64) uint64 {
			setFlags(c, x86.CF, x>>n&1)
			return f(x, 1<<n)
		}
		o := &g.Args[0]
		width := uint64(8 * o.Size)
		if o.Kind != x86.ArgMem {
			if x := set(getReg(c, o), index%width); g.Op != x86.BT {
				putReg(c, o, x)
			}
			return nil
		}
		a, size := guest.EffectiveAddr(c, g), uint8(o.Size)
		if g.Args[1].Kind == x86.ArgGPR {
			a = guest.BitStringAddr(c, g)
		}
		load := m.LoadToModify
		if g.Op == x86.BT {
			load = m.Load
		}
		x, fault := load(a, size)
		if fault != nil {
			return fault
		}
		if x = set(x, index%width); g.Op == x86.BT {
			return nil
		}
		return m.Store(a, size, x)
	}
}

// scan implements BSF and BSR. "The content of the destination operand is undefined" (SDM Vol. 2, BSF) where the source
// is 0: CPUs leave it alone.
func scan(f func(uint64) int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x, fault := m.get(c, g, 1)
		if fault != nil {
			return fault
		}
		setFlags(c, x86.StatusFlags, when(x == 0, emu.FlagZF))
		if x != 0 {
			putReg(c, &g.Args[0], uint64(f(x)))
		}
		return nil
	}
}

// highestBit is BSR's result.
func highestBit(x uint64) int { return 63 - bits.LeadingZeros64(x) }

func population(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault == nil {
		setFlags(c, x86.StatusFlags, when(x == 0, emu.FlagZF))
		putReg(c, &g.Args[0], uint64(bits.OnesCount64(x)))
	}
	return fault
}

func trailingZeros(x uint64, size uint8) uint64 {
	return uint64(min(bits.TrailingZeros64(x), 8*int(size)))
}
func leadingZeros(x uint64, size uint8) uint64 {
	return uint64(bits.LeadingZeros64(x) - 64 + 8*int(size))
}

// countZeros implements TZCNT and LZCNT: CF tells that the source is 0, ZF that the result is.
func countZeros(f func(x uint64, size uint8) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x, fault := m.get(c, g, 1)
		if fault != nil {
			return fault
		}
		n := f(x, uint8(g.Args[1].Size))
		setFlags(c, x86.StatusFlags, when(x == 0, emu.FlagCF)|when(n == 0, emu.FlagZF))
		putReg(c, &g.Args[0], n)
		return nil
	}
}

// swapBytes implements BSWAP. "The result is undefined" with 16 bits (SDM Vol. 2, BSWAP): CPUs make it 0.
func swapBytes(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	putReg(c, &g.Args[0], reversed(getReg(c, &g.Args[0]), uint8(g.Args[0].Size))&^when(g.Args[0].Size == 2, 0xffff))
	return nil
}

// reversed returns x with its size bytes in the opposite order.
func reversed(x uint64, size uint8) uint64 { return bits.ReverseBytes64(x) >> (64 - 8*size) }

func moveSwapped(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault != nil {
		return fault
	}
	return m.put(c, g, 0, reversed(x, uint8(g.Args[0].Size)))
}

// lowestBit implements BLSR, BLSMSK and BLSI: carry tells CF of the source.
func lowestBit(f func(uint64) uint64, carry func(uint64) bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x, fault := m.get(c, g, 1)
		if fault != nil {
			return fault
		}
		size := uint8(g.Args[0].Size)
		r := truncate(f(x), size)
		putReg(c, &g.Args[0], r)
		setFlags(c, x86.StatusFlags, ResultFlags(r, size)|when(carry(x), emu.FlagCF))
		return nil
	}
}

// zeroHighBits implements BZHI: bits from that on which the third operand's lowest byte tells become 0. CF says that
// there are none.
func zeroHighBits(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault != nil {
		return fault
	}
	size := uint8(g.Args[0].Size)
	n := getReg(c, &g.Args[2]) & 0xff
	r := x & (1<<n - 1)
	putReg(c, &g.Args[0], r)
	setFlags(c, x86.StatusFlags, ResultFlags(r, size)|when(n >= 8*uint64(size), emu.FlagCF))
	return nil
}

// extractBits implements BEXTR: the third operand has the first bit in its lowest byte and the number of bits in the
// next one.
func extractBits(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault != nil {
		return fault
	}
	control := getReg(c, &g.Args[2])
	r := x >> (control & 0xff) & (1<<(control>>8&0xff) - 1)
	putReg(c, &g.Args[0], r)
	setFlags(c, x86.StatusFlags&^x86.AF, ResultFlags(r, uint8(g.Args[0].Size)))
	return nil
}

// maskedBits implements PDEP and PEXT.
func maskedBits(f func(x, mask uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		mask, fault := m.get(c, g, 2)
		if fault == nil {
			putReg(c, &g.Args[0], f(getReg(c, &g.Args[1]), mask))
		}
		return fault
	}
}

// depositBits puts the lowest bits of x where mask has ones.
func depositBits(x, mask uint64) (r uint64) {
	for ; mask != 0; mask &= mask - 1 {
		r |= x & 1 * (mask & -mask)
		x >>= 1
	}
	return r
}

// gatherBits puts the bits of x where mask has ones side by side.
func gatherBits(x, mask uint64) (r uint64) {
	for n := 0; mask != 0; mask &= mask - 1 {
		r |= when(x&mask&-mask != 0, 1<<n)
		n++
	}
	return r
}
