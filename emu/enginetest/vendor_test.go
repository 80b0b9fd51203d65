package enginetest

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
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

// differsByVendor says why instruction i is not compared with a host of another vendor than Intel; TestVendors has one
// of its kind.
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

// toleratedByVendor reports whether asVendor, allows or settle may see to a difference between i's results on this host
// and on Intel's CPUs. They look at single instructions, so sequences do without these: what follows may have read the
// difference.
func toleratedByVendor(i *x86.Inst) bool {
	if hostVendor() == intel {
		return false
	}
	switch i.Op {
	case x86.DPPS, x86.VDPPS, x86.DPPD, x86.VDPPD:
		return true
	case x86.MOVD, x86.MOVQ, x86.MOVNTQ:
		return i.HasMem && i.Args[1].Kind == x86.ArgMMX
	case x86.SHLD, x86.SHRD:
		return i.OpSize == 2
	}
	return leavesOperand[i.Op] || reduces[i.Op] || maskedMoves[i.Op] || i.HasMem && (i.Op == x86.VCVTPS2PH || storesX87[i.Op])
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
		// AMD's MXCSR has a bit for misaligned operands, which MXCSR_MASK tells of, in an area that is aligned to 16
		// bytes.
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
	if want.fault.Vector != emu.VecBP && got.fault.Vector != emu.VecBP {
		asFaulted(i, want, got)
	}
	switch i.Op {
	case x86.DPPS, x86.VDPPS, x86.DPPD, x86.VDPPD: // of several NaNs AMD's take another one
		asNaNs(want, got, int(i.Args[0].Reg), i.Op == x86.DPPD || i.Op == x86.VDPPD)
	case x86.VCVTPS2PH: // AMD's raise exceptions of the conversion when the result has been stored, Intel's in front of that
		if v := want.fault.Vector; i.Args[0].Kind == x86.ArgMem && v != emu.VecBP && v != emu.VecXM {
			got.fault = want.fault
			copy(got.state.FP[emu.XOffMXCSR:][:4], want.state.FP[emu.XOffMXCSR:][:4])
		}
	}
	popsSelector := i.Op == x86.POP && i.Args[0].Kind == x86.ArgSeg
	if (popsSelector || i.Op == x86.CMPS) && isMemory(want.fault) && isMemory(got.fault) {
		// Of two faults they raise the other one: behind a selector they read all that POP pops, and CMPS's first
		// operand first.
		got.fault = want.fault
	}
}

// asFaulted changes what an engine left behind a fault of memory to what AMD's CPUs leave. Their MMX stores have not
// moved the top of the x87 stack then; gathers have not changed elements of the mask that are still selected, nor what
// lies beyond registers of 256 bits; and of a masked store the first byte that cannot be written is told, not one of
// all that is selected.
func asFaulted(i *x86.Inst, want, got *outcome) {
	switch i.Op {
	case x86.MOVD, x86.MOVQ, x86.MOVNTQ:
		if i.Args[1].Kind == x86.ArgMMX {
			copy(got.state.FP[:emu.XOffXMM], want.state.FP[:emu.XOffXMM])
		}
	case x86.VGATHERDPS, x86.VGATHERQPS, x86.VPGATHERDD, x86.VPGATHERQD:
		asGathered(i, want, got, 4)
	case x86.VGATHERDPD, x86.VGATHERQPD, x86.VPGATHERDQ, x86.VPGATHERQQ:
		asGathered(i, want, got, 8)
	case x86.MASKMOVDQU, x86.VMASKMOVDQU, x86.VMASKMOVPS, x86.VMASKMOVPD, x86.VPMASKMOVD, x86.VPMASKMOVQ:
		got.fault.Addr = want.fault.Addr
	}
	if i.Mask != 0 {
		got.fault.Addr = want.fault.Addr
	}
}

// vectorPart returns 16 bytes of a vector register, or 32 from the third part on.
func vectorPart(o *outcome, r, part int) []byte {
	switch part {
	case 0:
		return o.state.FP[emu.XOffXMM+16*r:][:16]
	case 1:
		return o.state.FP[emu.XOffYMMH+16*r:][:16]
	}
	return o.state.FP[emu.XOffZMMH+32*r:][:32]
}

// asGathered gives the mask register of a gather of elements of size bytes what was left natively, if the same elements
// are selected in both, and the result what was left natively beyond its first 16 bytes, if the engine has zeros there.
func asGathered(i *x86.Inst, want, got *outcome, size int) {
	if i.Enc != x86.VEX {
		return
	}
	for part := 1; part < 3; part++ {
		if g := vectorPart(got, int(i.Args[0].Reg), part); len(bytes.Trim(g, "\x00")) == 0 {
			copy(g, vectorPart(want, int(i.Args[0].Reg), part))
		}
	}
	r := int(i.Args[2].Reg)
	for part := range i.VectorLen() / 16 {
		w, g := vectorPart(want, r, part), vectorPart(got, r, part)
		for at := size - 1; at < 16; at += size {
			if (w[at]^g[at])&0x80 != 0 {
				return
			}
		}
	}
	for part := range 3 {
		copy(vectorPart(got, r, part), vectorPart(want, r, part))
	}
}

// asNaNs gives the elements of an engine's vector register r that are NaNs of single or double precision the values
// that were left natively, where these are NaNs, too.
func asNaNs(want, got *outcome, r int, double bool) {
	size, isNaN := 4, func(b []byte) bool { return math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))) }
	if double {
		size, isNaN = 8, func(b []byte) bool { return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	}
	for part := range 2 {
		w, g := vectorPart(want, r, part), vectorPart(got, r, part)
		for at := 0; at < 16; at += size {
			if isNaN(w[at:]) && isNaN(g[at:]) {
				copy(g[at:at+size], w[at:])
			}
		}
	}
}

// asHypervisor changes what a case left natively to what the CPU should have, where a hypervisor answers in its place:
// under PVM, which has no FSGSBASE, INT and SYSEXIT raise #UD in user code instead of #GP, INT behind itself.
func asHypervisor(c *testCase, native, other *outcome) {
	if !userSetsBases && (c.inst.Op == x86.INT || c.inst.Op == x86.SYSEXIT) && native.fault.Vector == emu.VecUD && other.fault.Vector == emu.VecGP {
		native.fault, native.state.RIP = other.fault, other.state.RIP
	}
}

// interrupted reports whether an interrupt ended a native run: under PVM one that comes while RSP is no canonical
// address raises #UD if PVM cannot emulate the instruction.
func interrupted(native, other *outcome) bool {
	return !userSetsBases && native.fault.Vector == emu.VecUD && other.fault.Vector != emu.VecUD && !guest.Canonical(emu.Addr(native.state.Regs[emu.RSP]))
}

// wrapsElsewhere reports whether c may be a masked move of elements beyond 4 GiB with addresses of 32 bits: AMD's CPUs
// of family 25 cut the address of each element, Intel's and those of family 26 that of the first one.
func wrapsElsewhere(by vendor, c *testCase, want, got *outcome) bool {
	return by == amd && maskedMoves[c.inst.Op] && c.inst.Mem.AddrSize == 4 && want.fault.Vector != got.fault.Vector
}

// looksFirst reports whether c is an x87 store that faulted on an AMD CPU: these look whether all of the memory can be
// written before anything else, Intel's have raised what is not masked by then, and stored 8 of 10 bytes.
func looksFirst(by vendor, c *testCase, want *outcome) bool {
	return by == amd && storesX87[c.inst.Op] && c.inst.Args[0].Kind == x86.ArgMem && want.fault.Vector != emu.VecBP
}

// storesX87 are the x87 instructions that store one value.
var storesX87 = map[x86.Op]bool{x86.FST: true, x86.FSTP: true, x86.FIST: true, x86.FISTP: true, x86.FISTTP: true, x86.FBSTP: true}

// tellsUnderflow reports whether c scaled a denormal number by zero, or took its remainder by infinity, on an AMD CPU
// with underflows not masked: these tell of one, and Intel's leave the number as it is.
func tellsUnderflow(by vendor, c *testCase, want, got *outcome) bool {
	return by == amd && leavesOperand[c.inst.Op] && (want.state.FP[emu.XOffFSW]^got.state.FP[emu.XOffFSW])&byte(soft.UE) != 0
}

// leavesOperand are the x87 instructions that may.
var leavesOperand = map[x86.Op]bool{x86.FSCALE: true, x86.FPREM: true, x86.FPREM1: true}

// keepsDenormals reports whether c is a reduction with denormal results flushed to zero and their exception not masked:
// AMD's CPUs do not flush then.
func keepsDenormals(by vendor, c *testCase, want *outcome) bool {
	const flush, masked = 1 << 15, 1 << 11
	mxcsr := binary.LittleEndian.Uint32(want.state.FP[emu.XOffMXCSR:])
	return by == amd && reduces[c.inst.Op] && mxcsr&(flush|masked) == flush
}

// reduces are the reductions.
var reduces = map[x86.Op]bool{x86.VREDUCEPS: true, x86.VREDUCEPD: true, x86.VREDUCESS: true, x86.VREDUCESD: true}

// maskedMoves move elements that a vector selects.
var maskedMoves = map[x86.Op]bool{x86.VMASKMOVPS: true, x86.VMASKMOVPD: true, x86.VPMASKMOVD: true, x86.VPMASKMOVQ: true}

// settle makes flags that the case's instruction leaves undefined equal in both outcomes. It reports whether they can
// be compared: what follows the instruction may have read them.
func settle(by vendor, c *testCase, want, got *outcome) bool {
	if (c.inst.Op == x86.SHLD || c.inst.Op == x86.SHRD) && c.inst.OpSize == 2 && by == amd {
		return false // counts above 16 leave the result undefined: Intel's CPUs shift the destination in, AMD's the source
	}
	unsettled := x86.Unsettled[c.inst.Op]
	u := uint64(unsettled)
	if (want.state.Flags^got.state.Flags)&u == 0 {
		return unsettled == 0 || !c.hides(unsettled)
	}
	want.state.Flags, got.state.Flags = want.state.Flags&^u, got.state.Flags&^u
	return c.insns != nil && c.insns[len(c.insns)-2] == c.at || want.state.RIP == c.at
}

// hides reports whether what follows the case's instruction, in front of the INT3 at its end, reads some of the flags
// that it leaves and writes them: ADC, say, after which nothing but its result tells what CF was.
func (c *testCase) hides(flags x86.Flags) bool {
	var read x86.Flags
	for rest := c.all[int(c.at-c.start)+len(c.code) : len(c.all)-1]; len(rest) > 0; {
		var inst x86.Inst
		if x86.Decode(rest, &inst) != nil {
			return false
		}
		read |= inst.FlagsRead & flags
		if inst.FlagsWrite&read != 0 {
			return true
		}
		flags &^= inst.FlagsWrite
		rest = rest[inst.Len:]
	}
	return false
}

// TestPoppedMask has the bit that AMD's MXCSR_MASK has, and Intel's has not, in a register that was popped from an area
// of FXSAVE: it is no difference there, and any other bit is.
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
