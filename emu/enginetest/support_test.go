//go:build linux && amd64

package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// extra are the features engines know and model v3 lacks.
var extra = []string{"rdrand", "rdseed", "sha_ni", "fsgsbase", "rdpid"}

// richModel has all features engines know.
func richModel(t *testing.T) *emu.Model {
	m, err := emu.ModelByName("v3")
	require.NoError(t, err)
	return m.With(extra...)
}

// featureNames has the features a model can have, and what a model calls them.
var featureNames = map[x86.Feature]string{
	x86.FeatBASE: "", x86.FeatCMOV: "cmov", x86.FeatX87: "fpu", x86.FeatMMX: "mmx", x86.FeatFXSR: "fxsr",
	x86.FeatSSE: "sse", x86.FeatSSE2: "sse2", x86.FeatCLFLUSH: "clflush", x86.FeatSYSCALL: "syscall",
	x86.FeatRDTSCP: "rdtscp", x86.FeatCET: "",
	x86.FeatSSE3: "pni", x86.FeatSSSE3: "ssse3", x86.FeatSSE41: "sse4_1", x86.FeatSSE42: "sse4_2",
	x86.FeatCX16: "cx16", x86.FeatPOPCNT: "popcnt", x86.FeatLAHF: "lahf_lm", x86.FeatPCLMUL: "pclmulqdq", x86.FeatAES: "aes",
	x86.FeatAVX: "avx", x86.FeatAVX2: "avx2", x86.FeatFMA: "fma", x86.FeatF16C: "f16c", x86.FeatBMI1: "bmi1",
	x86.FeatBMI2: "bmi2", x86.FeatADX: "adx", x86.FeatMOVBE: "movbe", x86.FeatLZCNT: "abm", x86.FeatXSAVE: "xsave",
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

// notNative are instructions that are not run natively, and why.
var notNative = map[x86.Op]string{
	x86.SYSCALL: "ends a run", x86.SYSENTER: "a system call of the host", x86.INT: "a system call of the host",
	x86.CPUID: "emulated: the model's", x86.XGETBV: "emulated: the model's", x86.RDTSC: "emulated: virtual time",
	x86.RDTSCP: "emulated: virtual time", x86.RDRAND: "emulated: random", x86.RDSEED: "emulated: random", x86.RDPID: "emulated: virtual",
}

// skipped says why TestForms leaves an instruction to other tests.
func skipped(i *x86.Inst) string {
	if i.Flow != x86.FlowNext && i.Flow != x86.FlowTrap {
		return "branch"
	}
	return notNative[i.Op]
}

// formFeatures returns the feature of each form, as far as templates finds them.
func formFeatures() []x86.Feature {
	f := make([]x86.Feature, x86.NumForms())
	for i := range f {
		f[i] = x86.FeatAVX512F
	}
	for _, t := range templates() {
		f[t.form] = t.inst.Feature
	}
	return f
}
