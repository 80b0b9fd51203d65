package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Shifts of all elements of a word by n. Beyond the size of an element no bit is left, or its sign alone.

func shiftLeftWords(x, n uint64) uint64 {
	if n > 15 {
		return 0
	}
	return x << n & (0xffff << n & 0xffff * lowOfWords)
}

func shiftLeftDwords(x, n uint64) uint64 {
	if n > 31 {
		return 0
	}
	return x << n & (0xffffffff << n & 0xffffffff * lowOfDwords)
}

func shiftLeftQwords(x, n uint64) uint64 { return x << n }

func shiftRightWords(x, n uint64) uint64 {
	if n > 15 {
		return 0
	}
	return x >> n & (0xffff >> n * lowOfWords)
}

func shiftRightDwords(x, n uint64) uint64 {
	if n > 31 {
		return 0
	}
	return x >> n & (0xffffffff >> n * lowOfDwords)
}

func shiftRightQwords(x, n uint64) uint64 { return x >> n }

func shiftSignedWords(x, n uint64) uint64 {
	n = min(n, 15)
	kept := uint64(0xffff) >> n * lowOfWords
	return x>>n&kept | fillWords(x&highOfWords)&^kept
}

func shiftSignedDwords(x, n uint64) uint64 {
	n = min(n, 31)
	kept := uint64(0xffffffff) >> n * lowOfDwords
	return x>>n&kept | fillDwords(x&highOfDwords)&^kept
}

// Shifts of each element of a by that of n.

func shiftLeftEachDword(a, n uint64) uint64 {
	return uint64(uint32(a)<<uint32(n)) | uint64(uint32(a>>32)<<(n>>32))<<32
}

func shiftRightEachDword(a, n uint64) uint64 {
	return uint64(uint32(a)>>uint32(n)) | uint64(uint32(a>>32)>>(n>>32))<<32
}

func shiftSignedEachDword(a, n uint64) uint64 {
	return uint64(uint32(int32(a)>>uint32(n))) | uint64(uint32(int32(a>>32)>>(n>>32)))<<32
}

// shiftLeftBytes and shiftRightBytes shift a lane by n bytes.

func shiftLeftBytes(l lane, n uint8) lane {
	bits := 8 * uint64(n)
	if n > 7 {
		return lane{0, l.low << (bits - 64)}
	}
	return lane{l.low << bits, l.high<<bits | l.low>>(64-bits)}
}

func shiftRightBytes(l lane, n uint8) lane {
	bits := 8 * uint64(n)
	if n > 7 {
		return lane{l.high >> (bits - 64), 0}
	}
	return lane{l.low>>bits | l.high<<(64-bits), l.high >> bits}
}

// shiftsVector returns the semantics of an instruction that shifts all elements by an immediate, or by the lower word
// of its last operand.
func shiftsVector(f func(x, n uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			if g.Args[1].Kind != x86.ArgImm {
				return m.mmxWord(c, g, f)
			}
			if fault := pendingMMX(c); fault != nil {
				return fault
			}
			setMMX(c, g, f(mmxReg(c.FP, g.Args[0].Reg), uint64(uint8(g.Imm))))
			return nil
		}
		last := int(g.NArgs) - 1
		n := uint64(uint8(g.Imm))
		if g.Args[last].Kind != x86.ArgImm {
			count, _, fault := m.laneArg(c, g, last)
			if fault != nil {
				return fault
			}
			n = count.low
		}
		low, high, _ := m.laneArg(c, g, last-1)
		low = lane{f(low.low, n), f(low.high, n)}
		if g.Args[0].Size == 32 {
			high = lane{f(high.low, n), f(high.high, n)}
		}
		setLanes(c, g, low, high)
		return nil
	}
}

// shiftsLanes returns the semantics of PSLLDQ and PSRLDQ.
func shiftsLanes(f func(l lane, n uint8) lane) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		low, high, _ := m.laneArg(c, g, int(g.NArgs)-2)
		n := min(uint8(g.Imm), 16)
		setLanes(c, g, f(low, n), f(high, n))
		return nil
	}
}

func packedShiftRows() parts {
	return join(
		both(x86.PSLLW, x86.VPSLLW, shiftsVector(shiftLeftWords)), both(x86.PSLLD, x86.VPSLLD, shiftsVector(shiftLeftDwords)),
		both(x86.PSLLQ, x86.VPSLLQ, shiftsVector(shiftLeftQwords)),
		both(x86.PSRLW, x86.VPSRLW, shiftsVector(shiftRightWords)), both(x86.PSRLD, x86.VPSRLD, shiftsVector(shiftRightDwords)),
		both(x86.PSRLQ, x86.VPSRLQ, shiftsVector(shiftRightQwords)),
		both(x86.PSRAW, x86.VPSRAW, shiftsVector(shiftSignedWords)), both(x86.PSRAD, x86.VPSRAD, shiftsVector(shiftSignedDwords)),
		both(x86.PSLLDQ, x86.VPSLLDQ, shiftsLanes(shiftLeftBytes)), both(x86.PSRLDQ, x86.VPSRLDQ, shiftsLanes(shiftRightBytes)),
		rows{
			x86.VPSLLVD: {plain: words(shiftLeftEachDword)}, x86.VPSLLVQ: {plain: words(shiftLeftQwords)},
			x86.VPSRLVD: {plain: words(shiftRightEachDword)}, x86.VPSRLVQ: {plain: words(shiftRightQwords)},
			x86.VPSRAVD: {plain: words(shiftSignedEachDword)},
		},
	)
}
