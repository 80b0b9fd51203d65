package enginetest

import (
	"bytes"
	"math/bits"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// A vendor makes CPUs. The guest sees an Intel CPU on every host (emu.Model is GenuineIntel), so
// where the two differ an engine does what Intel's CPUs do, and the native run what the host's vendor does.
type vendor int

const (
	intel vendor = iota
	amd
)

// hostVendor is the maker of the host's CPU; whoever builds x86 CPUs besides has followed AMD in what is listed here.
var hostVendor = sync.OnceValue(func() vendor {
	text, _ := os.ReadFile("/proc/cpuinfo")
	if bytes.Contains(text, []byte("GenuineIntel")) {
		return intel
	}
	return amd
})

// nopOf0F0D is the form of 0F 0D with a register.
var nopOf0F0D = sync.OnceValue(func() int {
	var i x86.Inst
	if err := x86.Decode([]byte{0x0f, 0x0d, 0xc0}, &i); err != nil {
		panic("BUG: " + err.Error())
	}
	return i.Form()
})

// differsByVendor says why instruction i is not compared with a host of another vendor than Intel; TestVendors has one of its kind.
func differsByVendor(i *x86.Inst) string {
	switch {
	case hostVendor() == intel:
	case approximate[i.Op]:
		return "approximations are Intel's on every host"
	case i.Form() == nopOf0F0D():
		return "#UD on AMD's CPUs"
	case i.Op == x86.PAUSE && i.REX&1 != 0:
		return "XCHG on AMD's CPUs"
	}
	return ""
}

// cutsByVendor reports whether i cuts registers to 32 bits, which vendors do at different times.
func cutsByVendor(i *x86.Inst) bool {
	return i.Op.IsString() && (i.Rep || i.Repne) && i.Mem.AddrSize == 4
}

// asVendor changes what an engine left, which is what Intel's CPUs leave, to what a CPU of vendor by should have.
func asVendor(by vendor, c *testCase, job *nativeState, want, got *outcome) {
	if by == intel {
		return
	}
	i := &c.inst
	if (i.Op == x86.SCAS || i.Op == x86.CMPS) && (i.Rep || i.Repne) && want.fault.Vector != emu.VecBP {
		// A fault finds the flags of the last iteration on AMD's CPUs, those in front of the instruction on Intel's.
		got.state.Flags = got.state.Flags&^uint64(x86.StatusFlags) | want.state.Flags&uint64(x86.StatusFlags)
	}
	if cutsByVendor(i) && uint32(got.state.Regs[emu.RCX]) == uint32(job.Regs[emu.RCX]) {
		// AMD's cut registers to 32 bits when they write them, behind an iteration; Intel's in front of the first one.
		for _, r := range []int{emu.RCX, emu.RSI, emu.RDI} {
			if got.state.Regs[r] == uint64(uint32(job.Regs[r])) && want.state.Regs[r] == job.Regs[r] {
				got.state.Regs[r] = job.Regs[r]
			}
		}
	}
	switch i.Op {
	case x86.FXSAVE, x86.FXSAVE64, x86.XSAVE, x86.XSAVE64:
		// AMD's MXCSR has a bit for misaligned operands, which MXCSR_MASK tells of, in an area that is aligned to 16 bytes.
		for at := (emu.XOffMXCSRMsk + 2) % 16; at < len(got.dump); at += 16 {
			if want.dump[at] == 2 && got.dump[at] == 0 {
				got.dump[at] = 2
				break
			}
		}
		for _, r := range []int{emu.RDX, emu.RSI} { // which are popped behind the instruction, perhaps from the area
			if d := want.state.Regs[r] &^ got.state.Regs[r]; got.state.Regs[r]|d == want.state.Regs[r] && bits.OnesCount64(d) == 1 && bits.TrailingZeros64(d)%8 == 1 {
				got.state.Regs[r] = want.state.Regs[r]
			}
		}
	}
	if comparesToFlags[i.Op] {
		// AMD's CPUs leave C1 as it is unless the stack underflows; Intel's clear it (SDM Vol. 2, FCOMI).
		at := emu.XOffFSW + 1
		got.state.FP[at] = got.state.FP[at]&^2 | want.state.FP[at]&2
	}
	popsSelector := i.Op == x86.POP && i.Args[0].Kind == x86.ArgSeg
	if (popsSelector || i.Op == x86.CMPS) && isMemory(want.fault) && isMemory(got.fault) {
		// Of two faults they raise the other one: behind a selector they read all that POP pops, and CMPS's first operand first.
		got.fault = want.fault
	}
}

// asHypervisor changes what a case left natively to what the CPU should have, where a hypervisor answers in its place: under PVM, which has no FSGSBASE, INT and SYSEXIT raise #UD
// in user code instead of #GP, INT behind itself.
func asHypervisor(c *testCase, native, other *outcome) {
	if !userSetsBases && (c.inst.Op == x86.INT || c.inst.Op == x86.SYSEXIT) && native.fault.Vector == emu.VecUD && other.fault.Vector == emu.VecGP {
		native.fault, native.state.RIP = other.fault, other.state.RIP
	}
}

// interrupted reports whether an interrupt ended a native run: under PVM one that comes while RSP is no canonical address raises #UD if PVM cannot emulate the
// instruction.
func interrupted(native, other *outcome) bool {
	return !userSetsBases && native.fault.Vector == emu.VecUD && other.fault.Vector != emu.VecUD && !guest.Canonical(emu.Addr(native.state.Regs[emu.RSP]))
}

// wrapsElsewhere reports whether c may be a masked move of elements beyond 4 GiB with addresses of 32 bits: AMD's CPUs of family 25 cut the
// address of each element, Intel's and those of family 26 that of the first one.
func wrapsElsewhere(by vendor, c *testCase, want, got *outcome) bool {
	return by == amd && maskedMoves[c.inst.Op] && c.inst.Mem.AddrSize == 4 && want.fault.Vector != got.fault.Vector
}

// maskedMoves move elements that a vector selects.
var maskedMoves = map[x86.Op]bool{x86.VMASKMOVPS: true, x86.VMASKMOVPD: true, x86.VPMASKMOVD: true, x86.VPMASKMOVQ: true}

// comparesToFlags are the x87 instructions that leave C1 as their vendor likes.
var comparesToFlags = map[x86.Op]bool{x86.FCOMI: true, x86.FCOMIP: true, x86.FUCOMI: true, x86.FUCOMIP: true}

// settle makes flags that the case's instruction leaves undefined equal in both outcomes. It reports whether they can be compared: what
// follows the instruction may have read them.
func settle(by vendor, c *testCase, want, got *outcome) bool {
	if (c.inst.Op == x86.SHLD || c.inst.Op == x86.SHRD) && c.inst.OpSize == 2 && by == amd {
		return false // counts above 16 leave the result undefined: Intel's CPUs shift the destination in, AMD's the source
	}
	u := uint64(x86.Unsettled[c.inst.Op])
	if (want.state.Flags^got.state.Flags)&u == 0 {
		return true
	}
	want.state.Flags, got.state.Flags = want.state.Flags&^u, got.state.Flags&^u
	return c.insns != nil && c.insns[len(c.insns)-2] == c.at || want.state.RIP == c.at
}

// TestPoppedMask has the bit that AMD's MXCSR_MASK has, and Intel's has not, in a register that was popped from an area of FXSAVE: it is no difference
// there, and any other bit is.
func TestPoppedMask(t *testing.T) {
	for _, tt := range []struct {
		by   vendor
		op   x86.Op
		bit  int
		same bool
	}{{amd, x86.FXSAVE64, 41, true}, {amd, x86.FXSAVE64, 40, false}, {amd, x86.MOV, 41, false}, {intel, x86.FXSAVE64, 41, false}} {
		var want, got outcome
		want.state.Regs[emu.RSI] = 0x35<<56 | 1<<tt.bit
		got.state.Regs[emu.RSI] = 0x35 << 56
		asVendor(tt.by, &testCase{inst: x86.Inst{Op: tt.op}}, &nativeState{}, &want, &got)
		require.Equal(t, tt.same, want.state.Regs == got.state.Regs, "%v %v %d", tt.by, tt.op, tt.bit)
	}
}
