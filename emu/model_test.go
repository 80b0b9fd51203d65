package emu

import (
	"encoding/binary"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
)

func TestModels(t *testing.T) {
	for _, tt := range []struct {
		name        string
		has, hasNot []string
	}{
		{"v1", []string{"sse2", "cmov"}, []string{"pni", "popcnt", "xsave", "avx"}},
		{"v2", []string{"sse4_2", "popcnt", "cx16", "lahf_lm"}, []string{"xsave", "avx", "movbe"}},
		{"v3", []string{"avx2", "bmi2", "fma", "abm", "movbe", "osxsave"}, []string{"rdrand", "rtm", "erms", "avx512f", "fsgsbase"}},
		{"v4", []string{"avx2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, []string{"rdrand", "erms", "xsavec"}},
		{"valgrind", []string{"avx2", "rdrand", "rdseed"}, []string{"avx512f", "sha_ni"}},
	} {
		m, err := ModelByName(tt.name)
		require.NoError(t, err)
		require.Equal(t, tt.name, m.Name)
		for _, f := range tt.has {
			require.True(t, m.Has(f), "%s has %s", tt.name, f)
		}
		for _, f := range tt.hasNot {
			require.False(t, m.Has(f), "%s has %s", tt.name, f)
		}
		_, b, c, d := m.CPUID(0, 0)
		vendor := binary.LittleEndian.AppendUint32(nil, b)
		vendor = binary.LittleEndian.AppendUint32(vendor, d)
		vendor = binary.LittleEndian.AppendUint32(vendor, c)
		require.Equal(t, "GenuineIntel", string(vendor))
		_, _, _, edx := m.CPUID(1, 0)
		require.EqualValues(t, edx, m.HWCap)
	}
	for _, bad := range []string{"v0", "v5", "", "V3"} {
		_, err := ModelByName(bad)
		require.ErrorContains(t, err, "cpu model", bad)
	}
}

func TestModelChanges(t *testing.T) {
	m, err := ModelByName("v3,-avx2,+erms,-movbe,+avx,+rdrand,-rdrand")
	require.NoError(t, err)
	require.Equal(t, "v3,-avx2,+erms,-movbe,+avx,+rdrand,-rdrand", m.Name)
	v3, err := ModelByName("v3")
	require.NoError(t, err)
	has := v3.Features()
	for _, f := range []string{"avx2", "movbe"} {
		has = slices.DeleteFunc(has, func(name string) bool { return name == f })
	}
	require.ElementsMatch(t, append(has, "erms"), m.Features())
	_, b, _, _ := m.CPUID(7, 0)
	_, v3b, _, _ := v3.CPUID(7, 0)
	require.Equal(t, v3b&^(1<<5)|1<<9, b)
	_, _, c, _ := m.CPUID(1, 0)
	_, _, v3c, _ := v3.CPUID(1, 0)
	require.Equal(t, v3c&^(1<<22), c)

	m, err = ModelByName("valgrind,-rdseed")
	require.NoError(t, err)
	require.False(t, m.Has("rdseed"))
	_, b, _, _ = m.CPUID(7, 0)
	require.EqualValues(t, 0x27aa, b, "as on a host without RDSEED")
	require.Same(t, m, m.WithCaches(defaultCaches), "it keeps its caches")

	for change, message := range map[string]string{
		"v3,":            `"" is no +FEATURE or -FEATURE`,
		"v3,erms":        `"erms" is no +FEATURE or -FEATURE`,
		"v3,+-erms":      `"+-erms" is no +FEATURE or -FEATURE`,
		"v3,-aes,":       `"" is no +FEATURE or -FEATURE`,
		"v3,+":           `unknown feature "" (as /proc/cpuinfo shows it under cgemu; and erms, fsrm, rdrand, rdseed)`,
		"v3,-AVX2":       `unknown feature "AVX2" (as /proc/cpuinfo shows it under cgemu; and erms, fsrm, rdrand, rdseed)`,
		"v1,+avx2":       "avx2 comes with v3",
		"v3,-sse2":       "every x86-64 CPU has sse2",
		"v4,-avx512f":    "v3 is without avx512f",
		"valgrind,-avx":  "v2 is without avx",
		"v3,-aes,+gfni":  "gfni comes with v4",
		"v2,-avx,-xsave": "", // it has neither
	} {
		_, err := ModelByName(change)
		if message == "" {
			require.NoError(t, err, change)
			continue
		}
		require.EqualError(t, err, "cpu model "+change+": "+message)
	}
}

// TestModelLeavesAgree checks that what CPUID says is what Has says.
func TestModelLeavesAgree(t *testing.T) {
	for _, name := range []string{"v1", "v2", "v3", "v4", "v3,-avx2,+erms,-abm"} {
		m, err := ModelByName(name)
		require.NoError(t, err)
		for _, f := range featureBits {
			a, b, c, d := m.CPUID(f.leaf, 0)
			bit := [4]uint32{a, b, c, d}[f.reg]>>f.bit&1 == 1
			require.Equal(t, m.Has(f.name), bit, "%s: %s", name, f.name)
		}
	}
}

func TestModelLeaves(t *testing.T) {
	m, err := ModelByName("v3")
	require.NoError(t, err)
	a, b, c, _ := m.CPUID(4, 3)
	require.EqualValues(t, 3, a&0x1f, "unified")
	size := (b>>22 + 1) * (b>>12&0x3ff + 1) * (b&0xfff + 1) * (c + 1)
	require.EqualValues(t, 8<<20, size, "LL is the one simulated by default")
	a, _, _, _ = m.CPUID(4, 4)
	require.Zero(t, a, "no more caches")
	a, b, c, _ = m.CPUID(0xd, 0)
	require.Equal(t, []uint32{7, XAVXSize, XAVXSize}, []uint32{a, b, c})
	_, _, c, _ = m.CPUID(0xb, 9)
	require.EqualValues(t, 9, c, "an undefined level shows its number")
	a, b, c, d := m.CPUID(0x77, 0)
	require.Equal(t, [4]uint32{}, [4]uint32{a, b, c, d})

	vg, err := ModelByName("valgrind")
	require.NoError(t, err)
	a, b, c, d = vg.CPUID(0x16, 0)
	require.Equal(t, [4]uint32{7, XAVXSize, XAVXSize, 0}, [4]uint32{a, b, c, d}, "beyond the last leaf")
}

// TestXSaveLeaves has the components where Intel's CPUs have them, and nothing of AVX-512 below v4.
func TestXSaveLeaves(t *testing.T) {
	v4, err := ModelByName("v4")
	require.NoError(t, err)
	for sub, want := range map[uint32][4]uint32{
		0: {0xe7, 2688, 2688, 0}, 1: {}, 2: {256, 576, 0, 0}, 3: {}, 5: {64, 1088, 0, 0}, 6: {512, 1152, 0, 0}, 7: {1024, 1664, 0, 0}, 9: {},
	} {
		a, b, c, d := v4.CPUID(0xd, sub)
		require.Equal(t, want, [4]uint32{a, b, c, d}, "subleaf %d", sub)
	}
	v3, err := ModelByName("v3")
	require.NoError(t, err)
	for sub := uint32(3); sub < 20; sub++ {
		a, b, c, d := v3.CPUID(0xd, sub)
		require.Equal(t, [4]uint32{}, [4]uint32{a, b, c, d}, "subleaf %d", sub)
	}
}

// TestXArea has the components that a CPU has where the standard format has them, and zeros in between.
func TestXArea(t *testing.T) {
	for _, xcr0 := range []uint64{XFeatures, XFeatures | XAVX512} {
		x := newXState()
		x.SetComponents(xcr0)
		x.Reset()
		for i := range x {
			if i < XOffHeader || i >= XOffYMMH && (i < XAVXSize || xcr0 != XFeatures) {
				x[i] = byte(i * 7)
			}
		}
		want := make([]byte, XAreaSize(xcr0))
		copy(want, x[:XOffYMMH+256])
		if xcr0 != XFeatures {
			copy(want[1088:], x[XOffOpmask:])
		}
		require.Equal(t, want, x.Area())
	}
}

func geometry(size, assoc, line int) cachesim.Geometry {
	return cachesim.Geometry{Size: size, Assoc: assoc, Line: line}
}

// TestWithCaches decodes what programs decode: glibc's handle_intel, sysdeps/x86/dl-cacheinfo.h.
func TestWithCaches(t *testing.T) {
	v3, err := ModelByName("v3")
	require.NoError(t, err)
	decode := func(m *Model, sub uint32) (kind, level uint32, c cachesim.Geometry) {
		a, b, sets, _ := m.CPUID(4, sub)
		line, partitions, ways := int(b&0xfff+1), int(b>>12&0x3ff+1), int(b>>22+1)
		return a & 0x1f, a >> 5 & 7, geometry(ways*partitions*line*int(sets+1), ways*partitions, line)
	}
	l1 := geometry(32<<10, 8, 64)
	for _, tt := range []struct {
		i1, d1, ll cachesim.Geometry
		l2         cachesim.Geometry
		third      bool
		leaf6      uint32 // ECX of leaf 80000006H
	}{
		{l1, l1, geometry(8<<20, 16, 64), geometry(256<<10, 8, 64), true, 0x01006040},
		{geometry(16<<10, 4, 64), geometry(48<<10, 12, 64), geometry(1<<20, 1, 64), geometry(256<<10, 8, 64), true, 0x01006040},
		{geometry(256, 2, 32), geometry(512, 2, 32), geometry(4096, 4, 64), geometry(4096, 4, 64), false, 0x00044040},
		{l1, l1, geometry(160<<10, 5, 64), geometry(160<<10, 5, 64), false, 0x00a04040},
		{l1, l1, geometry(33<<18, 33, 64), geometry(256<<10, 8, 64), true, 0x01006040},
		{l1, l1, geometry(8<<20, 131072, 64), geometry(256<<10, 8, 64), true, 0x01006040},
	} {
		m := v3.WithCaches(cachesim.Config{I1: tt.i1, D1: tt.d1, LL: tt.ll})
		for sub, want := range []cachesim.Geometry{tt.d1, tt.i1, tt.l2} {
			kind, level, got := decode(m, uint32(sub))
			require.EqualValues(t, sub+1, kind)
			require.EqualValues(t, max(sub, 1), level)
			require.Equal(t, want, got)
		}
		kind, level, got := decode(m, 3)
		if tt.third {
			require.Equal(t, []uint32{3, 3}, []uint32{kind, level})
			require.Equal(t, tt.ll, got)
		} else {
			require.Zero(t, kind, "no more caches")
		}
		_, _, c, _ := m.CPUID(0x80000006, 0)
		require.Equal(t, tt.leaf6, c)
		require.Equal(t, v3.Features(), m.Features())
	}
	_, _, before := decode(v3, 3)
	require.Equal(t, geometry(8<<20, 16, 64), before, "v3 itself does not change")
}

func TestNewCPU(t *testing.T) {
	c := NewCPU()
	require.Zero(t, uintptr(unsafe.Pointer(c.FP))%64, "XSAVE needs 64-byte alignment")
	require.EqualValues(t, FlagR1|FlagIF, c.Flags)
	require.EqualValues(t, 0x37f, binary.LittleEndian.Uint16(c.FP[XOffFCW:]))
	require.EqualValues(t, 0x1f80, binary.LittleEndian.Uint32(c.FP[XOffMXCSR:]))

	d := NewCPU()
	c.Regs[RBX], c.FP[XOffST] = 7, 9
	d.Copy(c)
	c.FP[XOffST] = 1
	require.EqualValues(t, 7, d.Regs[RBX])
	require.EqualValues(t, 9, d.FP[XOffST], "the copy shares no memory")
}

func TestAddr(t *testing.T) {
	require.Equal(t, Addr(0x1000), Addr(0x1fff).PageDown())
	require.Equal(t, Addr(0x2000), Addr(0x1001).PageUp())
	require.Equal(t, Addr(0), (^Addr(0)).PageUp(), "wraps, as documented")
	require.True(t, Addr(0x3000).PageAligned())
	require.False(t, Addr(0x3001).PageAligned())
}
