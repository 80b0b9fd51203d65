package emu

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Model is the CPU a guest finds itself on: what CPUID answers, and which
// instructions it may use. Models do not depend on the host.
type Model struct {
	Name string
	// HWCap is AT_HWCAP: leaf 1's EDX.
	HWCap uint64
	// XCR0 are the components of XSAVE: what CPUID leaf 0DH describes. 0 says that the CPU has no XSAVE.
	XCR0 uint64

	leaves map[leaf]regs
	// above answers for leaves beyond the largest.
	above    regs
	features map[string]bool
}

// A leaf is a CPUID input. Leaves without subleaves are filed under subleaf 0.
type leaf struct{ eax, ecx uint32 }

// regs are EAX, EBX, ECX, EDX.
type regs [4]uint32

// Has reports whether the CPU has a feature; names are those of Linux's
// /proc/cpuinfo where it has one ("sse4_2", "avx2", "pclmulqdq").
func (m *Model) Has(feature string) bool { return m.features[feature] }

// Features returns the features in alphabetical order.
func (m *Model) Features() []string {
	var names []string
	for f := range m.features {
		names = append(names, f)
	}
	slices.Sort(names)
	return names
}

// withSubleaves are the leaves that look at ECX.
var withSubleaves = map[uint32]bool{4: true, 7: true, 0xb: true, 0xd: true}

// CPUID answers the instruction of that name.
func (m *Model) CPUID(eax, ecx uint32) (a, b, c, d uint32) {
	sub := uint32(0)
	if withSubleaves[eax] {
		sub = ecx
	}
	r, ok := m.leaves[leaf{eax, sub}]
	switch {
	case ok:
	case eax == 0xb:
		// "For any input ECX value not defined, ECX[7:0] returns it" - SDM Vol. 2, CPUID.
		r = m.leaves[leaf{0xb, 1}]
		r[0], r[1], r[2] = 0, 0, ecx&0xff
	case eax > m.leaves[leaf{0, 0}][0] && eax < 0x80000000 || eax > m.leaves[leaf{0x80000000, 0}][0]:
		r = m.above
	}
	return r[0], r[1], r[2], r[3]
}

// ModelByName returns the model for a --cpu option.
func ModelByName(name string) (*Model, error) {
	switch name {
	case "v1", "v2", "v3", "v4":
		return levelModel(name), nil
	case "valgrind":
		return valgrindModel(), nil
	}
	return nil, fmt.Errorf("unknown cpu model %q (v1, v2, v3, v4, valgrind)", name)
}

// A feature is a CPUID bit: in register reg of a leaf, from a level on.
type feature struct {
	name  string
	level int // x86-64-v1, v2, v3 or v4
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
}

// levelModel builds x86-64-v1, v2, v3 or v4.
func levelModel(name string) *Model {
	level := int(name[1] - '0')
	m := &Model{Name: name, features: map[string]bool{}}
	signature := uint32(0x306c3) // family 6, model 3CH: Haswell
	if level >= 3 {
		m.XCR0 = XFeatures
	}
	if level >= 4 {
		m.XCR0 |= XAVX512
		signature = 0x606a6 // family 6, model 6AH: Ice Lake
	}
	m.leaves = map[leaf]regs{
		{0, 0}: {0xd, 0x756e6547, 0x6c65746e, 0x49656e69}, // GenuineIntel
		// CLFLUSH line of 64 bytes, one logical processor.
		{1, 0}: {signature, 0x10800, 0, 0},
		// AL is always 01. FFH: caches are told in leaf 4.
		{2, 0}:          {0xff01, 0, 0, 0},
		{0xb, 0}:        {0, 1, 0x100, 0},
		{0xb, 1}:        {0, 1, 0x201, 0},
		{0x80000000, 0}: {0x80000008, 0, 0, 0},
		{0x80000008, 0}: {0x3027, 0, 0, 0},
	}
	m.setCaches(defaultCaches)
	m.setXSave()
	for _, f := range featureBits {
		if f.level <= level {
			r := m.leaves[leaf{f.leaf, 0}]
			r[f.reg] |= 1 << f.bit
			m.leaves[leaf{f.leaf, 0}] = r
			m.features[f.name] = true
		}
	}
	m.setBrand("cgemu x86-64-" + name)
	m.HWCap = uint64(m.leaves[leaf{1, 0}][3])
	return m
}

// setXSave fills leaf 0DH: all components are enabled.
func (m *Model) setXSave() {
	if m.XCR0 == 0 {
		return
	}
	size := uint32(XAreaSize(m.XCR0))
	m.leaves[leaf{0xd, 0}] = regs{uint32(m.XCR0), size, size, 0}
	for _, c := range XComponents {
		if m.XCR0>>c.Number&1 != 0 {
			m.leaves[leaf{0xd, uint32(c.Number)}] = regs{uint32(c.Size), uint32(c.Area), 0, 0}
		}
	}
}

// setBrand fills leaves 80000002H to 80000004H.
func (m *Model) setBrand(s string) {
	s += strings.Repeat("\x00", 48-len(s))
	for i := range uint32(3) {
		var r regs
		for k := range 4 {
			w := s[16*i+4*uint32(k):]
			r[k] = uint32(w[0]) | uint32(w[1])<<8 | uint32(w[2])<<16 | uint32(w[3])<<24
		}
		m.leaves[leaf{0x80000002 + i, 0}] = r
	}
}

// valgrindModel is what Valgrind 3.19 shows on a host with AVX2: its CPUID, as it was read there.
func valgrindModel() *Model {
	m := levelModel("v3")
	m.Name = "valgrind"
	m.leaves = map[leaf]regs{
		{0, 0}:          {0xd, 0x756e6547, 0x6c65746e, 0x49656e69},
		{1, 0}:          {0x306c3, 0x2100800, 0x7ffafbff, 0xbfebfbff},
		{2, 0}:          {0x76036301, 0xf0b6ff, 0, 0xc10000},
		{4, 0}:          {0x1c004121, 0x1c0003f, 0x3f, 0},
		{4, 1}:          {0x1c004122, 0x1c0003f, 0x3f, 0},
		{4, 2}:          {0x1c004143, 0x1c0003f, 0x1ff, 0},
		{4, 3}:          {0x1c03c163, 0x3c0003f, 0x1fff, 6},
		{5, 0}:          {0x40, 0x40, 3, 0x42120},
		{6, 0}:          {0x77, 2, 9, 0},
		{7, 0}:          {0, 0x427aa, 0, 0},
		{0xa, 0}:        {0x7300803, 0, 0, 0x603},
		{0xb, 0}:        {1, 2, 0x100, 2},
		{0xb, 1}:        {4, 8, 0x201, 2},
		{0x80000000, 0}: {0x80000008, 0, 0, 0},
		{0x80000001, 0}: {0, 0, 0x21, 0x2c100800},
		{0x80000006, 0}: {0, 0, 0x01006040, 0},
		{0x80000007, 0}: {0, 0, 0, 0x100},
		{0x80000008, 0}: {0x3027, 0, 0, 0},
	}
	m.setXSave()
	m.above = m.leaves[leaf{0xd, 0}]
	m.HWCap = 0xbfebfbff
	for _, f := range []string{"rdrand", "rdseed", "rtm"} {
		m.features[f] = true
	}
	m.setBrand("Intel(R) Core(TM) i7-4910MQ CPU @ 2.90GHz")
	return m
}

// With returns a copy of m that also has features, for tests of instructions that no model has:
// CPUID does not tell of them.
func (m *Model) With(features ...string) *Model {
	c := *m
	c.features = maps.Clone(m.features)
	for _, f := range features {
		c.features[f] = true
	}
	return &c
}
