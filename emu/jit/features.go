//go:build linux && amd64

package jit

import (
	"os"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// modelFeature has, for what the engine can translate, the feature a CPU model must have for it; ""
// is for all CPUs. What is missing is never translated: it needs host state
// we do not carry (AVX-512, AMX), privileges, or devices.
var modelFeature = map[x86.Feature]string{
	x86.FeatBASE: "", x86.FeatCMOV: "cmov", x86.FeatX87: "fpu", x86.FeatMMX: "mmx", x86.FeatFXSR: "fxsr",
	x86.FeatSSE: "sse", x86.FeatSSE2: "sse2", x86.FeatCLFLUSH: "clflush", x86.FeatSYSCALL: "syscall",
	x86.FeatRDTSCP: "rdtscp",
	x86.FeatSSE3:   "pni", x86.FeatSSSE3: "ssse3", x86.FeatSSE41: "sse4_1", x86.FeatSSE42: "sse4_2",
	x86.FeatCX16: "cx16", x86.FeatPOPCNT: "popcnt", x86.FeatLAHF: "lahf_lm", x86.FeatPCLMUL: "pclmulqdq", x86.FeatAES: "aes",
	x86.FeatAVX: "avx", x86.FeatAVX2: "avx2", x86.FeatFMA: "fma", x86.FeatF16C: "f16c", x86.FeatBMI1: "bmi1",
	x86.FeatBMI2: "bmi2", x86.FeatADX: "adx", x86.FeatMOVBE: "movbe", x86.FeatLZCNT: "abm", x86.FeatXSAVE: "xsave",
	x86.FeatRDRAND: "rdrand", x86.FeatRDSEED: "rdseed",
	x86.FeatSHA: "sha_ni", x86.FeatFSGSBASE: "fsgsbase", x86.FeatRDPID: "rdpid",
}

// hostMay are features a model may have (emu.Model.With) and a host of x86-64-v3 lack. Their
// instructions are refused by name there.
var hostMay = map[x86.Feature]bool{x86.FeatADX: true, x86.FeatSHA: true}

// features returns which instructions a guest on m may use.
func features(m *emu.Model) *[256]bool {
	var f [256]bool
	for feature, name := range modelFeature {
		f[feature] = name == "" || m.Has(name)
		if f[feature] && hostMay[feature] {
			host := hostFlags()
			f[feature] = host == nil || host[name]
		}
	}
	return &f
}

// hostFlags returns the features of the host's CPU by Linux's names, nil if it does not tell.
var hostFlags = sync.OnceValue(func() map[string]bool {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			flags := map[string]bool{}
			for _, name := range strings.Fields(value) {
				flags[name] = true
			}
			return flags
		}
	}
	return nil
})
