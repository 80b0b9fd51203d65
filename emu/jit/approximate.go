//go:build linux && amd64

package jit

import (
	"sync"

	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// Approximations are executed in Go, since makers of CPUs have their own, and the guest sees Intel's. Where the host's
// are the same they are copied: a result depends on few bits of its operand (emu/soft, README.md), so that all there
// are can be compared, when the first one is translated.

func hostRcp(x uint32) uint32
func hostRsqrt(x uint32) uint32
func hostRcp14(x uint32) uint32
func hostRsqrt14(x uint32) uint32

// An approximation is a function of the host's, and sem's.
type approximation struct{ host, sem func(x uint32) uint32 }

var approximations11 = []approximation{{hostRcp, sem.Approximation(x86.RCPSS)}, {hostRsqrt, sem.Approximation(x86.RSQRTSS)}}

var approximations14 = []approximation{{hostRcp14, sem.Approximation(x86.VRCP14SS)}, {hostRsqrt14, sem.Approximation(x86.VRSQRT14SS)}}

// specialOperands are zeros, denormal numbers, the ends of what has a normal result, infinities and NaNs.
var specialOperands = []uint32{
	0, 1, 0x7fffff, 0x800000, 0x7e7fffff, 0x7e800000, 0x7e800001, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000,
	1 << 31, 1<<31 | 1, 0xbf800000, 0xfe800000, 0xff7fffff, 0xff800000, 0xff800001,
}

// sameAsHost reports whether the host's approximations are sem's. Results depend on so many bits behind the operand's
// highest one, and on whether others are set; VRSQRT's on the parity of its exponent.
func sameAsHost(list []approximation, bits int) bool {
	for _, a := range list {
		same := func(x uint32) bool { return a.host(x) == a.sem(x) }
		for _, x := range specialOperands {
			if !same(x) {
				return false
			}
		}
		rest := uint32(1)<<(23-bits) - 1
		for x := uint32(127 << 23); x < 129<<23; x += rest + 1 {
			if !same(x) || !same(x|1) || !same(x|rest) {
				return false
			}
		}
	}
	return true
}

var (
	hostApproximates   = sync.OnceValue(func() bool { return sameAsHost(approximations11, 11) })
	hostApproximates14 = sync.OnceValue(func() bool { return sameAsHost(approximations14, 16) })
)

// hostSample is what the host makes of a few operands: code that has approximations is none for a host with others.
func hostSample() (sample []uint32) {
	wide := hostHasAVX512()
	for i := range uint32(64) {
		x := 127<<23 + i<<19 | 0x5a5a
		sample = append(sample, hostRcp(x), hostRsqrt(x))
		if wide {
			sample = append(sample, hostRcp14(x), hostRsqrt14(x))
		}
	}
	return sample
}

// copiesApproximation reports whether g is an approximation that the host may execute.
func copiesApproximation(g *guest.Insn) bool {
	if approximates11(g.Op) {
		return hostApproximates()
	}
	switch g.Op {
	case x86.VRCP14PS, x86.VRCP14PD, x86.VRCP14SS, x86.VRCP14SD, x86.VRSQRT14PS, x86.VRSQRT14PD, x86.VRSQRT14SS, x86.VRSQRT14SD:
		return hostHasAVX512() && hostApproximates14()
	}
	return false
}

// approximates reports whether generated code has instructions for g, an approximation of 11 bits.
func (e *Engine) approximates(g *guest.Insn) bool {
	return approximates11(g.Op) && !hostApproximates() && !e.emulatesWide
}

// approximates11 reports whether op is RCPPS, RSQRTPS or one of their kin; if so, isRsqrt and isScalar tell which.
func approximates11(op x86.Op) bool {
	switch op {
	case x86.RCPPS, x86.RCPSS, x86.VRCPPS, x86.VRCPSS:
		return true
	}
	return isRsqrt(op)
}

func isRsqrt(op x86.Op) bool {
	return op == x86.RSQRTPS || op == x86.RSQRTSS || op == x86.VRSQRTPS || op == x86.VRSQRTSS
}

func isScalar(op x86.Op) bool {
	return op == x86.RCPSS || op == x86.VRCPSS || op == x86.RSQRTSS || op == x86.VRSQRTSS
}
