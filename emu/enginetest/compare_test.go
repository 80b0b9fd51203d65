package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

var regNames = [16]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// A difference collects what two outcomes differ in.
type difference struct{ text []string }

func (d *difference) add(format string, args ...any) {
	d.text = append(d.text, fmt.Sprintf(format, args...))
}

func (d *difference) String() string { return strings.Join(d.text, "; ") }

// compare says in what an engine's outcome differs from the host's.
func compare(c *testCase, job *nativeState, want, got *outcome) string {
	var d difference
	if want.died {
		return "the native child died"
	}
	if isBranch(&c.inst) && want.fault.Vector == emu.VecGP && got.fault == want.fault && !canonical(got.state.RIP) {
		return "" // the fault of a wild target: at the target here, Intel's CPUs raise it at the branch
	}
	if savesState[c.inst.Op] && isMemory(want.fault) && isMemory(got.fault) {
		// In which order a CPU looks at the area and at what it holds is its own affair.
		want.fault, got.fault = emu.Fault{}, emu.Fault{}
	}
	if !sameFault(want.fault, got.fault) {
		d.add("fault %+v, natively %+v", got.fault, want.fault)
	}
	if want.state.RIP != got.state.RIP {
		d.add("rip %v, natively %v", got.state.RIP, want.state.RIP)
	}
	for i := range regNames {
		if g, w := got.state.Regs[i], want.state.Regs[i]; g != w {
			d.add("%s %#x, natively %#x", regNames[i], g, w)
		}
	}
	if g, w := got.state.Flags&emu.UserFlags, want.state.Flags&emu.UserFlags; g != w {
		d.add("flags %#x, natively %#x", g, w)
	}
	if got.state.FSBase != want.state.FSBase || got.state.GSBase != want.state.GSBase {
		d.add("fs %#x gs %#x, natively %#x %#x", got.state.FSBase, got.state.GSBase, want.state.FSBase, want.state.GSBase)
	}
	compareFP(&d, c, &want.state.FP, &got.state.FP)
	if !bytes.Equal(want.dump, got.dump) && !toleratedMemory(c, job, want, got) {
		i := 0
		for want.dump[i] == got.dump[i] {
			i++
		}
		at := worlds[job.World] + dataOff + emu.Addr(i)
		if i >= emu.PageSize {
			at = worlds[job.World] + stackOff + emu.Addr(i-emu.PageSize)
		}
		n := min(16, dumpSize-i)
		d.add("memory at %v % x, natively % x", at, got.dump[i:i+n], want.dump[i:i+n])
	}
	return d.String()
}

// savesState are the instructions with a large memory operand.
var savesState = map[x86.Op]bool{
	x86.XSAVE: true, x86.XSAVE64: true, x86.XRSTOR: true, x86.XRSTOR64: true, x86.FXSAVE: true, x86.FXSAVE64: true,
	x86.FXRSTOR: true, x86.FXRSTOR64: true, x86.FLDENV: true, x86.FNSTENV: true, x86.FNSAVE: true, x86.FRSTOR: true,
}

func canonical(a emu.Addr) bool { return int64(a)>>47 == 0 || int64(a)>>47 == -1 }

// isMemory reports whether a memory operand can have raised f.
func isMemory(f emu.Fault) bool { return f.Vector == emu.VecPF || f.Vector == emu.VecGP }

// strays reports whether a case came to where the comparison ends: its stack pointer, which it may have changed
// itself, its program counter or what it accessed lies in memory the native child has for itself, or the stack where
// an engine may find memory of the host's, beyond the guest's part of the address space. It has ended, too, where AMD's
// CPUs load a bit 17 of MXCSR, which faults on Intel's, and so in the guest.
func strays(want, got *outcome) bool {
	childs := func(a uint64) bool { return a >= 0x400000 && a < 0x50000000 }
	sp := want.state.Regs[emu.RSP]
	top := sp > uint64(mem.FirstLimit) && sp <= 1<<47+256
	accessed := got.fault.Vector == emu.VecPF && childs(uint64(got.fault.Addr)) && want.fault.Vector != emu.VecPF
	// Selectors that Linux's descriptor table has, but not for what a program needs, are refused by name.
	if strings.HasPrefix(got.fault.Unsupported, "loading a segment register") {
		return true
	}
	mxcsr := binary.LittleEndian.Uint32(want.state.FP[emu.XOffMXCSR:])
	amds := mxcsr&^emu.MXCSRMask != 0 && got.fault.Vector == emu.VecGP
	return amds || childs(sp) || childs(uint64(want.state.RIP)) || accessed || top || int64(sp) >= -1<<47 && int64(sp) < -4<<30 || wild(want.fault)
}

// wild reports whether a fault is that of an address beyond the guest's part of the address space and what
// is reserved around it: an engine that adds a base to it may find memory of the host's there (manual, "Limits").
func wild(f emu.Fault) bool {
	const reserved = 64 << 30
	near := int64(f.Addr) < 0 && int64(f.Addr) >= -reserved
	return f.Vector == emu.VecPF && f.Addr >= mem.FirstLimit && !near
}

// sameFault compares faults. What emu.Fault says beyond the CPU's is left out. A stack address that is not
// canonical raises #SS, which engines report as #GP: they do not use RSP as a stack pointer of the host.
func sameFault(want, got emu.Fault) bool {
	got.Unsupported = ""
	const vecSS = 12
	for _, f := range []*emu.Fault{&want, &got} {
		if f.Vector == vecSS {
			f.Vector = emu.VecGP
		}
	}
	return want == got
}

// compareFP compares x87, SSE, AVX and AVX-512 state.
func compareFP(d *difference, c *testCase, want, got *emu.XState) {
	part := func(name string, off, n int) {
		if w, g := want[off:off+n], got[off:off+n]; !bytes.Equal(w, g) {
			d.add("%s % x, natively % x", name, g, w)
		}
	}
	// Names are put together where they are needed.
	numbered := func(name string, number, off, n int) {
		if !bytes.Equal(want[off:off+n], got[off:off+n]) {
			part(fmt.Sprintf(name, number), off, n)
		}
	}
	if toleratedX87(c, want, got) {
		return
	}
	part("fcw", emu.XOffFCW, 2)
	part("fsw", emu.XOffFSW, 2)
	part("ftw", emu.XOffFTW, 1)
	part("mxcsr", emu.XOffMXCSR, 4)
	for i := range 8 {
		numbered("st%d", i, emu.XOffST+16*i, 10)
	}
	for i := range 16 {
		numbered("xmm%d", i, emu.XOffXMM+16*i, 16)
		numbered("ymm%d's upper half", i, emu.XOffYMMH+16*i, 16)
	}
	if got.Components()&emu.XAVX512 == 0 {
		return
	}
	for i := range 16 {
		numbered("zmm%d's upper half", i, emu.XOffZMMH+32*i, 32)
		numbered("zmm%d", 16+i, emu.XOffHiZMM+64*i, 64)
	}
	for i := range 8 {
		numbered("k%d", i, emu.XOffOpmask+8*i, 8)
	}
}

// transcendental are the x87 instructions computed by emu/soft, correctly rounded; CPUs may be
// off in the last bit.
var transcendental = map[x86.Op]bool{
	x86.FSIN: true, x86.FCOS: true, x86.FSINCOS: true, x86.FPTAN: true, x86.FPATAN: true, x86.F2XM1: true,
	x86.FYL2X: true, x86.FYL2XP1: true,
}

// toleratedX87 reports whether two states differ only in the last bits of a transcendental
// instruction's results, in C1, which says how that was rounded, and in UE if one of them is denormal.
func toleratedX87(c *testCase, want, got *emu.XState) bool {
	if !transcendental[c.inst.Op] {
		return false
	}
	w, g := *want, *got
	for _, x := range []*emu.XState{&w, &g} {
		x[emu.XOffFSW+1] &^= 2
	}
	for st := range 2 {
		a, b := w[emu.XOffST+16*st:][:10], g[emu.XOffST+16*st:][:10]
		if !withinUlps(a, b, 2) {
			continue
		}
		if denormal(a) != denormal(b) {
			w[emu.XOffFSW] &^= 0x10
			g[emu.XOffFSW] &^= 0x10
		}
		copy(a, b)
	}
	return bytes.Equal(w[:emu.XOffFTW+1], g[:emu.XOffFTW+1]) && bytes.Equal(w[emu.XOffST:emu.XOffHeader-96], g[emu.XOffST:emu.XOffHeader-96])
}

// toleratedMemory reports whether memory differs only in what may differ.
func toleratedMemory(c *testCase, job *nativeState, want, got *outcome) bool {
	switch c.inst.Op {
	case x86.XSAVE, x86.XSAVE64:
		// XSTATE_BV: hosts track what is in use as they like, engines compute it.
		s := scene{inst: &c.inst, code: c.code, at: c.at}
		off := int64(s.effective(job)) + emu.XOffHeader - int64(worlds[job.World]) - dataOff
		if off < 0 || off >= emu.PageSize {
			return false
		}
		want.dump[off], got.dump[off] = 0, 0
		return bytes.Equal(want.dump, got.dump)
	}
	return false
}

// withinUlps reports whether two x87 values have one sign and are at most n units in the last place apart.
func withinUlps(a, b []byte, n int64) bool {
	ea, eb := binary.LittleEndian.Uint16(a[8:]), binary.LittleEndian.Uint16(b[8:])
	if ea>>15 != eb>>15 {
		return false
	}
	// Behind the largest significand of an exponent follows the smallest of the next: without the
	// integer bit the two are one number.
	diff := int64(binary.LittleEndian.Uint64(a)<<1>>1 - binary.LittleEndian.Uint64(b)<<1>>1)
	switch int(ea) - int(eb) {
	case 0:
	case 1:
		diff -= -1 << 63
	case -1:
		diff += -1 << 63
	default:
		return false
	}
	return diff >= -n && diff <= n
}

func denormal(x []byte) bool { return binary.LittleEndian.Uint16(x[8:])&0x7fff == 0 }
