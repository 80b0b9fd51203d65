//go:build linux && amd64

package enginetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A vendorCase is a piece of code that the vendors' CPUs execute differently.
type vendorCase struct {
	name string
	code []byte
	set  map[int]uint64 // registers in front of it
	// intel and amd are what the vendors' CPUs leave.
	intel, amd vendorOutcome
	// copied says that engines may leave it to the host's CPU: what it leaves undefined no compiler's code looks
	// at, and emulating it would take time wherever the instruction stands (manual, "What depends on the host").
	copied bool
	// unsettled says that CPUs of AMD differ: some do what Intel's do.
	unsettled bool
}

// A vendorOutcome is how a vendorCase ends: in the INT3 behind it if vector is VecBP.
type vendorOutcome struct {
	vector uint8
	regs   map[int]uint64 // those that changed
	flags  x86.Flags      // of undefinedByVendor
}

// undefinedByVendor are the flags that a vendorCase starts with, and those compared: all that MUL leaves undefined, and
// CF.
const undefinedByVendor = x86.SF | x86.ZF | x86.AF | x86.PF

// high has bits above the low 32.
const high = uint64(0x12345678) << 32

var vendorCases = []vendorCase{
	{
		name: "PREFETCHW with a register", code: []byte{0x0f, 0x0d, 0xc8},
		intel: vendorOutcome{emu.VecBP, nil, undefinedByVendor}, amd: vendorOutcome{emu.VecUD, nil, undefinedByVendor},
	},
	{
		name: "PAUSE with REX.B", code: []byte{0xf3, 0x41, 0x90}, set: map[int]uint64{emu.RAX: high | 1, emu.R8: high | 2},
		intel: vendorOutcome{emu.VecBP, nil, undefinedByVendor},
		amd:   vendorOutcome{emu.VecBP, map[int]uint64{emu.RAX: 2, emu.R8: 1}, undefinedByVendor},
	},
	{
		name: "REP STOSB with 32-bit addresses, not repeated", code: []byte{0xf3, 0x67, 0xaa}, set: map[int]uint64{emu.RCX: high, emu.RDI: high | 5},
		intel: vendorOutcome{emu.VecBP, map[int]uint64{emu.RCX: 0, emu.RDI: 5}, undefinedByVendor},
		amd:   vendorOutcome{emu.VecBP, nil, undefinedByVendor},
	},
	{
		name: "REP LODSB with 32-bit addresses, not repeated", code: []byte{0xf3, 0x67, 0xac}, set: map[int]uint64{emu.RCX: high, emu.RSI: high | 5},
		intel: vendorOutcome{emu.VecBP, map[int]uint64{emu.RCX: 0}, undefinedByVendor},
		amd:   vendorOutcome{emu.VecBP, nil, undefinedByVendor},
	},
	{
		name: "REP LODSB with 32-bit addresses that faults at once", code: []byte{0xf3, 0x67, 0xac}, set: map[int]uint64{emu.RCX: high | 3, emu.RSI: high | 5},
		intel: vendorOutcome{emu.VecPF, map[int]uint64{emu.RCX: 3}, undefinedByVendor},
		amd:   vendorOutcome{emu.VecPF, nil, undefinedByVendor},
	},
	{
		name: "LOOP with an operand size prefix", code: []byte{0x66, 0xe2, 1, 0xf4}, set: map[int]uint64{emu.RCX: 2},
		intel: vendorOutcome{emu.VecBP, map[int]uint64{emu.RCX: 1}, undefinedByVendor},
		amd:   vendorOutcome{emu.VecPF, map[int]uint64{emu.RCX: 1}, undefinedByVendor},
	},
	{
		name: "JRCXZ with an operand size prefix", code: []byte{0x66, 0xe3, 1, 0xf4}, set: map[int]uint64{emu.RCX: 0},
		intel: vendorOutcome{emu.VecBP, nil, undefinedByVendor}, amd: vendorOutcome{emu.VecPF, nil, undefinedByVendor},
	},
	{
		name: "JZ with an operand size prefix", code: []byte{0x66, 0x74, 1, 0xf4},
		intel: vendorOutcome{emu.VecBP, nil, undefinedByVendor}, amd: vendorOutcome{emu.VecPF, nil, undefinedByVendor},
	},
	{
		name: "JMP with an operand size prefix", code: []byte{0x66, 0xeb, 1, 0xf4},
		intel: vendorOutcome{emu.VecBP, nil, undefinedByVendor}, amd: vendorOutcome{emu.VecPF, nil, undefinedByVendor},
	},
	{
		name: "POP FS of which the selector alone can be read", code: []byte{0x0f, 0xa1}, set: map[int]uint64{emu.RSP: uint64(worlds[0]) + stackOff + emu.PageSize - 2},
		intel: vendorOutcome{emu.VecGP, nil, undefinedByVendor}, amd: vendorOutcome{emu.VecPF, nil, undefinedByVendor},
	},
	{
		name: "LDMXCSR with AMD's bit for misaligned operands", code: []byte{
			0xc7, 0x44, 0x24, 0xf8, 0x80, 0x1f, 0x02, 0x00, // mov dword [rsp-8], 0x21f80
			0x0f, 0xae, 0x54, 0x24, 0xf8, // ldmxcsr [rsp-8]
		},
		intel: vendorOutcome{emu.VecGP, nil, undefinedByVendor}, amd: vendorOutcome{emu.VecBP, nil, undefinedByVendor}, copied: true,
	},
	{
		name: "CMPSB of which both operands fault", code: []byte{0xa6}, set: map[int]uint64{emu.RSI: 1 << 62, emu.RDI: 0},
		intel: vendorOutcome{emu.VecPF, nil, undefinedByVendor}, amd: vendorOutcome{emu.VecGP, nil, undefinedByVendor}, copied: true,
		unsettled: true, // family 26 finds the address that is not canonical first, family 25 the page that is not there
	},
	{
		name: "REPE CMPSB that faults in its second iteration", code: []byte{0xf3, 0xa6}, copied: true,
		set: map[int]uint64{
			emu.RCX: 2, emu.RSI: uint64(worlds[0]) + roOff + emu.PageSize - 1, emu.RDI: uint64(worlds[0]) + roOff + emu.PageSize - 1,
		},
		intel: vendorOutcome{emu.VecPF, endOfRO, undefinedByVendor}, amd: vendorOutcome{emu.VecPF, endOfRO, x86.ZF | x86.PF},
	},
	{
		name: "MUL of 3 by 5", code: []byte{0xf7, 0xe2}, set: map[int]uint64{emu.RAX: 3, emu.RDX: 5}, copied: true,
		intel: vendorOutcome{emu.VecBP, map[int]uint64{emu.RAX: 15, emu.RDX: 0}, x86.PF},
		amd:   vendorOutcome{emu.VecBP, map[int]uint64{emu.RAX: 15, emu.RDX: 0}, undefinedByVendor},
	},
}

// endOfRO are the registers behind an iteration of CMPSB at the last byte of the page that cannot be written.
var endOfRO = map[int]uint64{
	emu.RCX: 1, emu.RSI: uint64(worlds[0]) + roOff + emu.PageSize, emu.RDI: uint64(worlds[0]) + roOff + emu.PageSize,
}

// TestVendors has every engine do what Intel's CPUs do, and the host what its vendor's do.
func TestVendors(t *testing.T) { checkVendorCases(t, vendorCases) }

// TestLengths has instructions filled up with prefixes run as long as they have 15 bytes.
func TestLengths(t *testing.T) {
	var cases []vendorCase
	for _, c := range []struct {
		name string
		code []byte
		regs map[int]uint64
	}{
		{"mov ax, [rbx]", []byte{0x8b, 0x03}, map[int]uint64{emu.RAX: 0xffff}},
		{"mov ax, [rbx+0]", []byte{0x8b, 0x83, 0, 0, 0, 0}, map[int]uint64{emu.RAX: 0xffff}},
		{"mov rax, [rbx]", []byte{0x48, 0x8b, 0x03}, map[int]uint64{emu.RAX: ^uint64(0)}},
		{"movdqa xmm0, [rbx]", []byte{0x0f, 0x6f, 0x03}, nil},
		{"lodsw", []byte{0xad}, map[int]uint64{emu.RAX: 0xffff, emu.RSI: uint64(worlds[0]) + stackOff + emu.PageSize}},
	} {
		fill := bytes.Repeat([]byte{0x66}, x86.MaxLen)
		set := map[int]uint64{emu.RBX: uint64(worlds[0]) + stackOff + emu.PageSize - 16, emu.RSI: uint64(worlds[0]) + stackOff + emu.PageSize - 2}
		runs := vendorOutcome{emu.VecBP, c.regs, undefinedByVendor}
		faults := vendorOutcome{emu.VecGP, nil, undefinedByVendor}
		cases = append(cases,
			vendorCase{name: c.name, code: append(fill[:x86.MaxLen-len(c.code):x86.MaxLen-len(c.code)], c.code...), set: set, intel: runs, amd: runs},
			vendorCase{name: c.name + ", too long", code: append(fill[:x86.MaxLen-len(c.code)+1:x86.MaxLen-len(c.code)+1], c.code...), set: set, intel: faults, amd: faults})
	}
	checkVendorCases(t, cases)
}

func checkVendorCases(t *testing.T, cases []vendorCase) {
	images, ro := makeImages(newRand("images"))
	native, b := newNative(t, images, ro), newBatch()
	for i := range cases {
		b.jobs = append(b.jobs, cases[i].job(b))
	}
	out := make([]outcome, len(b.jobs))
	native.run(b, out)
	host := make([]vendor, len(cases)) // whose CPUs the host's is like
	for i := range cases {
		if host[i] = hostVendor(); cases[i].unsettled && out[i].fault.Vector == cases[i].intel.vector {
			host[i] = intel
		}
		cases[i].check(t, "natively", &b.jobs[i], &out[i], host[i], true)
	}
	for _, u := range engines {
		newEmulated(t, u, u.model(t), images, ro).run(b, out)
		for i := range cases {
			by := intel
			if cases[i].copied && !u.interprets {
				by = host[i]
			}
			if u.tolerates != nil && (cases[i].copied || out[i].fault.Unsupported != "") {
				continue // the library's affair, or refused by name since the library does it wrongly
			}
			cases[i].check(t, u.name, &b.jobs[i], &out[i], by, !u.losesFlags)
		}
	}
}

// job puts the case's code into a slot of b. The stack page ends with 16 bytes of 0xff, which are no valid selector.
func (v *vendorCase) job(b *batch) nativeState {
	at := b.slot(0)
	b.put(0, at, v.code)
	s := nativeState{RIP: at, Flags: emu.FlagR1 | emu.FlagIF | uint64(undefinedByVendor), World: 0}
	s.FP.Reset()
	s.Regs[emu.RSP] = uint64(worlds[0]) + stackOff + 256
	for r, x := range v.set {
		s.Regs[r] = x
	}
	s.PatchOff, s.PatchLen = 2*emu.PageSize-16, 16
	for i := range s.PatchLen {
		s.Patch[i] = 0xff
	}
	return s
}

func (v *vendorCase) check(t *testing.T, who string, job *nativeState, o *outcome, by vendor, keepsFlags bool) {
	want := v.intel
	if by == amd {
		want = v.amd
	}
	require.Equal(t, want.vector, o.fault.Vector, "%s: %s: %+v at %v", v.name, who, o.fault, o.state.RIP)
	regs := job.Regs
	for r, x := range want.regs {
		regs[r] = x
	}
	require.Equal(t, regs, o.state.Regs, "%s: %s", v.name, who)
	if keepsFlags || want.vector == emu.VecBP {
		require.Equal(t, want.flags, x86.Flags(o.state.Flags)&undefinedByVendor, "%s: %s", v.name, who)
	}
}
