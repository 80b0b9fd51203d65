package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Instructions on mask registers (SDM Vol. 2, KADDW and those that follow it). One with a letter B, W, D or Q works on
// the lowest 8 to 64 bits; the result's others are zero.

// maskResult returns the semantics of an instruction that makes a mask of width bits of its last two operands, mask
// registers.
func maskResult(width uint, f func(a, b uint64) uint64) semantics {
	all := ^uint64(0) >> (64 - width)
	return func(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b := maskReg(c.FP, g.Args[g.NArgs-2].Reg)&all, maskReg(c.FP, g.Args[g.NArgs-1].Reg)&all
		setMaskReg(c.FP, g.Args[0].Reg, f(a, b)&all)
		return nil
	}
}

// maskShift is that for a shift by an immediate.
func maskShift(width uint, f func(k, n uint64) uint64) semantics {
	all := ^uint64(0) >> (64 - width)
	return func(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		setMaskReg(c.FP, g.Args[0].Reg, f(maskReg(c.FP, g.Args[1].Reg)&all, uint64(uint8(g.Imm)))&all)
		return nil
	}
}

// maskTests returns the semantics of KORTEST and KTEST: f makes of two masks what sets ZF, and what sets CF, if no bit
// of it is set.
func maskTests(width uint, f func(a, b uint64) (zf, cf uint64)) semantics {
	all := ^uint64(0) >> (64 - width)
	return func(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		zf, cf := f(maskReg(c.FP, g.Args[0].Reg), maskReg(c.FP, g.Args[1].Reg))
		setFlags(c, x86.StatusFlags, when(zf&all == 0, emu.FlagZF)|when(cf&all == 0, emu.FlagCF))
		return nil
	}
}

// maskMove returns the semantics of KMOV: mask registers, general ones and memory.
func maskMove(width uint) semantics {
	all, size := ^uint64(0)>>(64-width), uint8(width/8)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		to, from := &g.Args[0], &g.Args[1]
		var x uint64
		switch from.Kind {
		case x86.ArgMask:
			x = maskReg(c.FP, from.Reg)
		case x86.ArgGPR:
			x = c.Regs[from.Reg]
		default:
			var f *emu.Fault
			if x, f = m.Load(guest.EffectiveAddr(c, g), size); f != nil {
				return f
			}
		}
		switch x &= all; to.Kind {
		case x86.ArgMask:
			setMaskReg(c.FP, to.Reg, x)
		case x86.ArgGPR:
			c.Regs[to.Reg] = x
		default:
			return m.Store(guest.EffectiveAddr(c, g), size, x)
		}
		return nil
	}
}

func maskNot(_, b uint64) uint64  { return ^b }
func maskXnor(a, b uint64) uint64 { return ^(a ^ b) }

func shiftMaskLeft(k, n uint64) uint64  { return k << n }
func shiftMaskRight(k, n uint64) uint64 { return k >> n }

// orTest is KORTEST: ZF says that no bit is set in either mask, CF that all are. bothTest is KTEST.
func orTest(a, b uint64) (zf, cf uint64)   { return a | b, ^(a | b) }
func bothTest(a, b uint64) (zf, cf uint64) { return a & b, ^a & b }

// unpackMasks returns KUNPCK, which puts two masks of half the width side by side, the second one below.
func unpackMasks(half uint) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 { return a<<half | b&(1<<half-1) }
}

// byWidth returns the rows of an operation on masks of 8, 16, 32 and 64 bits.
func byWidth(ops [4]x86.Op, f func(width uint) semantics) rows {
	r := rows{}
	for i, op := range ops {
		r[op] = row{plain: f(8 << i)}
	}
	return r
}

// makesMask, shiftsMask and testsMasks are families of byWidth.
func makesMask(f func(a, b uint64) uint64) func(uint) semantics {
	return func(width uint) semantics { return maskResult(width, f) }
}

func shiftsMask(f func(k, n uint64) uint64) func(uint) semantics {
	return func(width uint) semantics { return maskShift(width, f) }
}

func testsMasks(f func(a, b uint64) (zf, cf uint64)) func(uint) semantics {
	return func(width uint) semantics { return maskTests(width, f) }
}

func maskRows() parts {
	return join(
		byWidth([4]x86.Op{x86.KANDB, x86.KANDW, x86.KANDD, x86.KANDQ}, makesMask(wordAnd)),
		byWidth([4]x86.Op{x86.KANDNB, x86.KANDNW, x86.KANDND, x86.KANDNQ}, makesMask(wordAndNot)),
		byWidth([4]x86.Op{x86.KORB, x86.KORW, x86.KORD, x86.KORQ}, makesMask(wordOr)),
		byWidth([4]x86.Op{x86.KXORB, x86.KXORW, x86.KXORD, x86.KXORQ}, makesMask(wordXor)),
		byWidth([4]x86.Op{x86.KXNORB, x86.KXNORW, x86.KXNORD, x86.KXNORQ}, makesMask(maskXnor)),
		byWidth([4]x86.Op{x86.KADDB, x86.KADDW, x86.KADDD, x86.KADDQ}, makesMask(addQwords)),
		byWidth([4]x86.Op{x86.KNOTB, x86.KNOTW, x86.KNOTD, x86.KNOTQ}, makesMask(maskNot)),
		byWidth([4]x86.Op{x86.KMOVB, x86.KMOVW, x86.KMOVD, x86.KMOVQ}, maskMove),
		byWidth([4]x86.Op{x86.KSHIFTLB, x86.KSHIFTLW, x86.KSHIFTLD, x86.KSHIFTLQ}, shiftsMask(shiftMaskLeft)),
		byWidth([4]x86.Op{x86.KSHIFTRB, x86.KSHIFTRW, x86.KSHIFTRD, x86.KSHIFTRQ}, shiftsMask(shiftMaskRight)),
		byWidth([4]x86.Op{x86.KORTESTB, x86.KORTESTW, x86.KORTESTD, x86.KORTESTQ}, testsMasks(orTest)),
		byWidth([4]x86.Op{x86.KTESTB, x86.KTESTW, x86.KTESTD, x86.KTESTQ}, testsMasks(bothTest)),
		rows{
			x86.KUNPCKBW: {plain: maskResult(16, unpackMasks(8))}, x86.KUNPCKWD: {plain: maskResult(32, unpackMasks(16))},
			x86.KUNPCKDQ: {plain: maskResult(64, unpackMasks(32))},
		},
	)
}
