package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// extra are the features engines know and model v3 lacks.
var extra = []string{"rdrand", "rdseed", "sha_ni", "fsgsbase", "rdpid"}

// richModel has all features engines know.
func richModel(t testing.TB) *emu.Model {
	m, err := emu.ModelByName("v3")
	require.NoError(t, err)
	return m.With(extra...)
}

// featureNames has the features a model can have, and what a model calls them.
var featureNames = map[x86.Feature]string{
	x86.FeatBASE: "", x86.FeatPRIVILEGED: "", x86.FeatCMOV: "cmov", x86.FeatX87: "fpu", x86.FeatMMX: "mmx", x86.FeatFXSR: "fxsr",
	x86.FeatSSE: "sse", x86.FeatSSE2: "sse2", x86.FeatCLFLUSH: "clflush", x86.FeatSYSCALL: "syscall",
	x86.FeatRDTSCP: "rdtscp",
	x86.FeatSSE3:   "pni", x86.FeatSSSE3: "ssse3", x86.FeatSSE41: "sse4_1", x86.FeatSSE42: "sse4_2",
	x86.FeatCX16: "cx16", x86.FeatPOPCNT: "popcnt", x86.FeatLAHF: "lahf_lm", x86.FeatPCLMUL: "pclmulqdq", x86.FeatAES: "aes",
	x86.FeatAVX: "avx", x86.FeatAVX2: "avx2", x86.FeatFMA: "fma", x86.FeatF16C: "f16c", x86.FeatBMI1: "bmi1",
	x86.FeatBMI2: "bmi2", x86.FeatADX: "adx", x86.FeatMOVBE: "movbe", x86.FeatLZCNT: "abm", x86.FeatXSAVE: "xsave",
	x86.FeatAVX512F: "avx512f", x86.FeatAVX512BW: "avx512bw", x86.FeatAVX512CD: "avx512cd", x86.FeatAVX512DQ: "avx512dq",
	x86.FeatAVX512IFMA: "avx512ifma", x86.FeatAVX512VBMI: "avx512vbmi", x86.FeatAVX512VBMI2: "avx512_vbmi2", x86.FeatAVX512VNNI: "avx512_vnni",
	x86.FeatAVX512BITALG: "avx512_bitalg", x86.FeatAVX512VPOPCNTDQ: "avx512_vpopcntdq",
	x86.FeatGFNI: "gfni", x86.FeatVAES: "vaes", x86.FeatVPCLMUL: "vpclmulqdq",
	x86.FeatRDRAND: "rdrand", x86.FeatRDSEED: "rdseed",
	x86.FeatSHA: "sha_ni", x86.FeatFSGSBASE: "fsgsbase", x86.FeatRDPID: "rdpid",
}

func supportedFeatures(m *emu.Model) map[x86.Feature]bool {
	f := map[x86.Feature]bool{}
	for feature, name := range featureNames {
		f[feature] = name == "" || m.Has(name)
	}
	return f
}

const (
	refusedHost  = "refused: shows the host's descriptor tables"
	refusedFar   = "refused: far calls and pointers"
	goesAnywhere = "goes anywhere: far.c of the conformance programs"
)

// protected are the privileged instructions that raise #GP in user code. The rest are of features no guest has.
var protected = map[x86.Op]bool{
	x86.HLT: true, x86.IN: true, x86.OUT: true, x86.INS: true, x86.OUTS: true, x86.CLI: true, x86.STI: true,
	x86.LLDT: true, x86.LTR: true, x86.LGDT: true, x86.LIDT: true, x86.LMSW: true, x86.INVLPG: true, x86.SWAPGS: true,
	x86.CLTS: true, x86.SYSRET: true, x86.SYSEXIT: true, x86.INVD: true, x86.WBINVD: true,
	x86.WRMSR: true, x86.RDMSR: true, x86.RDPMC: true,
}

// notNative are instructions that are not run natively, and why.
var notNative = map[x86.Op]string{
	x86.SYSCALL: "ends a run", x86.SYSENTER: "a system call of the host",
	x86.CPUID: "emulated: the model's", x86.XGETBV: "emulated: the model's", x86.RDTSC: "emulated: virtual time",
	x86.SLDT: refusedHost, x86.STR: refusedHost, x86.SMSW: refusedHost, x86.SGDT: refusedHost, x86.SIDT: refusedHost, x86.LAR: refusedHost,
	x86.LSL: refusedHost, x86.VERR: refusedHost, x86.VERW: refusedHost,
	x86.LSS: refusedFar, x86.LFS: refusedFar, x86.LGS: refusedFar, x86.CALLF: refusedFar,
	x86.JMPF: goesAnywhere, x86.RETF: goesAnywhere, x86.IRET: goesAnywhere,
	x86.INT1:   "under some hypervisors RIP stays at it: TestInterrupts",
	x86.RDTSCP: "emulated: virtual time", x86.RDRAND: "emulated: random", x86.RDSEED: "emulated: random", x86.RDPID: "emulated: virtual",
}

// approximate are the instructions whose results differ between makers of CPUs.
var approximate = map[x86.Op]bool{
	x86.RCPPS: true, x86.RCPSS: true, x86.RSQRTPS: true, x86.RSQRTSS: true,
	x86.VRCP14PS: true, x86.VRCP14PD: true, x86.VRCP14SS: true, x86.VRCP14SD: true,
	x86.VRSQRT14PS: true, x86.VRSQRT14PD: true, x86.VRSQRT14SS: true, x86.VRSQRT14SD: true,
	x86.VRCPPS: true, x86.VRCPSS: true, x86.VRSQRTPS: true, x86.VRSQRTSS: true,
}

// skipped says why TestForms leaves an instruction to other tests.
func skipped(i *x86.Inst) string {
	if i.Flow != x86.FlowNext && i.Flow != x86.FlowTrap {
		return "branch"
	}
	if i.Feature == x86.FeatPRIVILEGED && !protected[i.Op] && !(i.Op == x86.MOV) {
		return "privileged, of a feature no guest has"
	}
	if (i.Feature == x86.FeatFSGSBASE || i.NArgs > 0 && i.Args[0].Kind == x86.ArgSeg) && !userSetsBases {
		return "this host's user code may not set segment bases, nor read them"
	}
	if reason := differsByVendor(i); reason != "" {
		return reason
	}
	return notNative[i.Op]
}

// hostIsV4 reports whether the host's CPU has what model v4 has: not all that have AVX-512 do.
func hostIsV4() bool {
	has := &cpu.X86
	return has.HasAVX512F && has.HasAVX512BW && has.HasAVX512CD && has.HasAVX512DQ && has.HasAVX512VL && has.HasAVX512IFMA &&
		has.HasAVX512VBMI && has.HasAVX512VBMI2 && has.HasAVX512VNNI && has.HasAVX512BITALG && has.HasAVX512VPOPCNTDQ &&
		has.HasAVX512GFNI && has.HasAVX512VAES && has.HasAVX512VPCLMULQDQ
}

// formFeatures returns the feature of each form, as far as templates finds them.
func formFeatures() []x86.Feature {
	f := make([]x86.Feature, x86.NumForms())
	for i := range f {
		f[i] = x86.FeatXOP
	}
	for _, t := range templates() {
		f[t.form] = t.inst.Feature
	}
	return f
}

// cases is how many random cases a test makes of each kind: few, or many with the tag oracles. A host under PVM, which
// takes ten times as long for a native case, makes a fifth of many.
func cases(few, many int) int {
	switch {
	case !full:
		return few
	case !userSetsBases:
		return max(few, many/5)
	}
	return many
}
