package guest

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// modelFeature has, for what engines know, the feature a CPU model must have for it; ""
// is for all CPUs. What is missing is never executed: it needs host state
// we do not carry (AMX), privileges, or devices.
var modelFeature = map[x86.Feature]string{
	x86.FeatBASE: "", x86.FeatCMOV: "cmov", x86.FeatX87: "fpu", x86.FeatMMX: "mmx", x86.FeatFXSR: "fxsr",
	x86.FeatSSE: "sse", x86.FeatSSE2: "sse2", x86.FeatCLFLUSH: "clflush", x86.FeatSYSCALL: "syscall",
	x86.FeatRDTSCP: "rdtscp",
	x86.FeatSSE3:   "pni", x86.FeatSSSE3: "ssse3", x86.FeatSSE41: "sse4_1", x86.FeatSSE42: "sse4_2",
	x86.FeatCX16: "cx16", x86.FeatPOPCNT: "popcnt", x86.FeatLAHF: "lahf_lm", x86.FeatPCLMUL: "pclmulqdq", x86.FeatAES: "aes",
	x86.FeatAVX: "avx", x86.FeatAVX2: "avx2", x86.FeatFMA: "fma", x86.FeatF16C: "f16c", x86.FeatBMI1: "bmi1",
	x86.FeatBMI2: "bmi2", x86.FeatADX: "adx", x86.FeatMOVBE: "movbe", x86.FeatLZCNT: "abm", x86.FeatXSAVE: "xsave",
	x86.FeatRDRAND: "rdrand", x86.FeatRDSEED: "rdseed",
	x86.FeatAVX512F: "avx512f", x86.FeatAVX512BW: "avx512bw", x86.FeatAVX512CD: "avx512cd", x86.FeatAVX512DQ: "avx512dq",
	x86.FeatAVX512IFMA: "avx512ifma", x86.FeatAVX512VBMI: "avx512vbmi", x86.FeatAVX512VBMI2: "avx512_vbmi2", x86.FeatAVX512VNNI: "avx512_vnni",
	x86.FeatAVX512BITALG: "avx512_bitalg", x86.FeatAVX512VPOPCNTDQ: "avx512_vpopcntdq",
	x86.FeatGFNI: "gfni", x86.FeatVAES: "vaes", x86.FeatVPCLMUL: "vpclmulqdq",
	x86.FeatSHA: "sha_ni", x86.FeatFSGSBASE: "fsgsbase", x86.FeatRDPID: "rdpid",
}

// Further are features that a CPU with AVX-512 may lack.
var Further = []x86.Feature{
	x86.FeatAVX512IFMA, x86.FeatAVX512VBMI, x86.FeatAVX512VBMI2, x86.FeatAVX512VNNI, x86.FeatAVX512BITALG, x86.FeatAVX512VPOPCNTDQ,
	x86.FeatGFNI, x86.FeatVAES, x86.FeatVPCLMUL,
}

// FeatureName returns what Linux calls a feature that engines know, "" if all CPUs have it.
func FeatureName(f x86.Feature) string { return modelFeature[f] }

// Features returns which instructions a guest on m may use.
func Features(m *emu.Model) *[256]bool {
	var f [256]bool
	for feature, name := range modelFeature {
		f[feature] = name == "" || m.Has(name)
	}
	return &f
}
