package emu

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// byRequest is above all levels: features that only --cpu=MODEL,+FEATURE gives.
const byRequest = 5

// A feature is a CPUID bit: in register reg of a leaf, from a level on.
type feature struct {
	name  string
	level int // x86-64-v1, v2, v3 or v4, or byRequest
	leaf  uint32
	reg   int
	bit   int
}

// featureBits are the features our models have. Linux's names; SDM Vol. 2, CPUID. Beyond the levels of the psABI, v2
// and v3 have what every CPU of their kind has and libraries look for. Missing on purpose: what differs from run to run
// (RDRAND, TSX), what only makes other code paths of memcpy (ERMS, FSRM), what some hosts of that level lack (ADX,
// SHA), XSAVEC and XSAVEOPT, whose layout or writes depend on the host's history, and FSGSBASE.
var featureBits = []feature{
	{"fpu", 1, 1, 3, 0}, {"vme", 1, 1, 3, 1}, {"de", 1, 1, 3, 2}, {"pse", 1, 1, 3, 3}, {"tsc", 1, 1, 3, 4},
	{"msr", 1, 1, 3, 5}, {"pae", 1, 1, 3, 6}, {"mce", 1, 1, 3, 7}, {"cx8", 1, 1, 3, 8}, {"apic", 1, 1, 3, 9},
	{"sep", 1, 1, 3, 11}, {"mtrr", 1, 1, 3, 12}, {"pge", 1, 1, 3, 13}, {"mca", 1, 1, 3, 14}, {"cmov", 1, 1, 3, 15},
	{"pat", 1, 1, 3, 16}, {"pse36", 1, 1, 3, 17}, {"clflush", 1, 1, 3, 19}, {"mmx", 1, 1, 3, 23},
	{"fxsr", 1, 1, 3, 24}, {"sse", 1, 1, 3, 25}, {"sse2", 1, 1, 3, 26},
	{"syscall", 1, 0x80000001, 3, 11}, {"nx", 1, 0x80000001, 3, 20}, {"rdtscp", 1, 0x80000001, 3, 27},
	{"lm", 1, 0x80000001, 3, 29}, {"constant_tsc", 1, 0x80000007, 3, 8},

	{"pni", 2, 1, 2, 0}, {"ssse3", 2, 1, 2, 9}, {"cx16", 2, 1, 2, 13}, {"sse4_1", 2, 1, 2, 19}, {"sse4_2", 2, 1, 2, 20},
	{"popcnt", 2, 1, 2, 23}, {"lahf_lm", 2, 0x80000001, 2, 0}, {"pclmulqdq", 2, 1, 2, 1}, {"aes", 2, 1, 2, 25},

	{"fma", 3, 1, 2, 12}, {"movbe", 3, 1, 2, 22}, {"xsave", 3, 1, 2, 26}, {"osxsave", 3, 1, 2, 27}, {"avx", 3, 1, 2, 28},
	{"f16c", 3, 1, 2, 29}, {"bmi1", 3, 7, 1, 3}, {"avx2", 3, 7, 1, 5}, {"bmi2", 3, 7, 1, 8},
	{"abm", 3, 0x80000001, 2, 5}, {"3dnowprefetch", 3, 0x80000001, 2, 8},

	{"avx512f", 4, 7, 1, 16}, {"avx512dq", 4, 7, 1, 17}, {"avx512cd", 4, 7, 1, 28}, {"avx512bw", 4, 7, 1, 30}, {"avx512vl", 4, 7, 1, 31},
	{"avx512ifma", 4, 7, 1, 21}, {"avx512vbmi", 4, 7, 2, 1}, {"avx512_vbmi2", 4, 7, 2, 6}, {"gfni", 4, 7, 2, 8}, {"vaes", 4, 7, 2, 9},
	{"vpclmulqdq", 4, 7, 2, 10}, {"avx512_vnni", 4, 7, 2, 11}, {"avx512_bitalg", 4, 7, 2, 12}, {"avx512_vpopcntdq", 4, 7, 2, 14},

	{"erms", byRequest, 7, 1, 9}, {"fsrm", byRequest, 7, 3, 4}, {"rdrand", byRequest, 1, 2, 30}, {"rdseed", byRequest, 7, 1, 18},
}

// set gives the model a feature, or takes it away.
func (m *Model) set(f feature, has bool) {
	at := leaf{f.leaf, 0}
	r := m.leaves[at]
	if r[f.reg] &^= 1 << f.bit; has {
		r[f.reg] |= 1 << f.bit
	}
	m.leaves[at] = r
	if delete(m.features, f.name); has {
		m.features[f.name] = true
	}
}

// withState are the features with registers of their own, which XSAVE and signal frames have: only another level does
// without.
var withState = []string{"xsave", "osxsave", "avx", "avx512f"}

// change gives the model a feature ("+erms"), or takes it away ("-avx2"). Those that build upon it stay.
func (m *Model) change(change string) error {
	name := strings.TrimLeft(change, "+-")
	if len(name) != len(change)-1 {
		return fmt.Errorf("%q is no +FEATURE or -FEATURE", change)
	}
	i := slices.IndexFunc(featureBits, func(f feature) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("unknown feature %q (as /proc/cpuinfo shows it under cgemu; and %s)", name, strings.Join(requested(), ", "))
	}
	f, add := featureBits[i], change[0] == '+'
	switch {
	case add && f.level != byRequest && !m.features[name]:
		return fmt.Errorf("%s comes with v%d", name, f.level)
	case !add && f.level == 1:
		return errors.New("every x86-64 CPU has " + name)
	case !add && m.features[name] && slices.Contains(withState, name):
		return fmt.Errorf("v%d is without %s", f.level-1, name)
	}
	m.set(f, add)
	return nil
}

// requested are the features that no level has.
func requested() (names []string) {
	for _, f := range featureBits {
		if f.level == byRequest {
			names = append(names, f.name)
		}
	}
	return names
}
