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
	// keepsCaches says that the model tells of its own caches whatever is simulated.
	keepsCaches bool
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

// ModelByName returns the model for a --cpu option: v1, v2, v3, v4 or valgrind, and features that it is to have or to
// lack as "v3,+erms,-avx2".
func ModelByName(name string) (*Model, error) {
	base, changes, changed := strings.Cut(name, ",")
	var m *Model
	switch base {
	case "v1", "v2", "v3", "v4":
		m = levelModel(base)
	case "valgrind":
		m = valgrindModel()
	default:
		return nil, fmt.Errorf("unknown cpu model %q (v1, v2, v3, v4, valgrind)", base)
	}
	if changed {
		m.Name = name
		for change := range strings.SplitSeq(changes, ",") {
			if err := m.change(change); err != nil {
				return nil, fmt.Errorf("cpu model %s: %w", name, err)
			}
		}
	}
	return m, nil
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
			m.set(f, true)
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
	m.keepsCaches = true
	m.HWCap = 0xbfebfbff
	for _, f := range []string{"rdrand", "rdseed", "erms", "rtm"} {
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
