//go:build linux && amd64

package cgemu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
)

// avx512 is a program for CPUs with AVX-512.
const avx512 = "testdata/avx512"

// hostHasAVX512 reports whether the host has the AVX-512 of x86-64-v4, for which the program is compiled.
func hostHasAVX512() bool {
	has := &cpu.X86
	return has.HasAVX512F && has.HasAVX512BW && has.HasAVX512CD && has.HasAVX512DQ && has.HasAVX512VL
}

// TestAVX512 has all engines of model v4 print what the host's CPU does, and agree on what they count, misses and loads
// and stores by size among it.
func TestAVX512(t *testing.T) {
	var want ran
	for i, engine := range append(slices.Clone(fullEngines), cgemu.CheckEngine) {
		got := start(t, cgemu.Config{Args: []string{avx512}, Engine: engine, CPU: "v4", TraceChildren: true, Caches: &cachesim.Default, Events: cgemu.EventGroups()})
		require.Zero(t, got.Exit.Status())
		if i == 0 {
			want = got
			if hostHasAVX512() {
				require.Equal(t, native(t, "./"+avx512), got.stdout)
			}
		}
		require.Equal(t, want.stdout, got.stdout)
		sameProfile(t, want.profile, got.profile)
		require.Len(t, got.Children, len(want.Children))
	}
}

// TestAVX512Refused has a program find that another model has no AVX-512.
func TestAVX512Refused(t *testing.T) {
	for _, engine := range fullEngines {
		got := start(t, cgemu.Config{Args: []string{avx512}, Engine: engine, CPU: "v3"})
		require.Equal(t, 128+4, got.Exit.Status())
	}
}
