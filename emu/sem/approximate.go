package sem

import (
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// Approximation returns what RCPSS, RSQRTSS, VRCP14SS or VRSQRT14SS makes of an element, both the bits of a number of
// single precision, with nothing in MXCSR that changes it. An engine whose host does the same may have it execute all
// instructions of the kind. It returns nil for other instructions.
func Approximation(op x86.Op) func(x uint32) uint32 {
	switch op {
	case x86.RCPSS:
		return soft.Rcp
	case x86.RSQRTSS:
		return soft.Rsqrt
	case x86.VRCP14SS:
		return single14(soft.Float32.Rcp14)
	case x86.VRSQRT14SS:
		return single14(soft.Float32.Rsqrt14)
	}
	return nil
}

func single14(f func(x uint64, mode soft.Mode) (uint64, uint16)) func(x uint32) uint32 {
	const resetMXCSR = 0x1f80
	return func(x uint32) uint32 {
		r, _ := f(uint64(x), resetMXCSR)
		return uint32(r)
	}
}
