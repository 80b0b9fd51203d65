//go:build unicorn && linux && amd64

package cgemu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu/unicorn"
)

// beyondUnicorn are the vectors with instructions that the engine refuses.
var beyondUnicorn = map[string]string{
	"t18_straddle": "VMOVUPS", "t23_cmov": "MOVBE", "t25_sse": "DPPS", "t26_avx": "VMOVUPS", "t27_xsave": "XSAVE",
	"t28_nodata": "XGETBV", "t37_verbose": "VFMADD231SD",
}

// TestUnicornVectors runs the vectors within the engine's ISA, and compares with the reference's files.
// Of the others it wants the name of what is refused.
func TestUnicornVectors(t *testing.T) {
	eachVector(t, func(t *testing.T, name string, run vectorRun, want string) {
		var log strings.Builder
		got := start(t, cgemu.Config{
			Log:  &log,
			Path: "testdata/vectors/bin/" + name, Args: []string{"./" + name}, Compat: true,
			Engine: "unicorn", CPU: unicorn.FullModel, Caches: run.caches, Branches: run.branches,
		})
		if insn, refused := beyondUnicorn[name]; refused {
			assert.Contains(t, log.String(), insn)
			assert.Contains(t, log.String(), "is not supported; the program gets SIGILL")
			return
		}
		assert.Empty(t, log.String())
		sameProfile(t, normal(selectColumns(t, want, run.columns)), normal(got.profile))
	})
}

// sameEngines runs a program with both engines, without simulations and with both, and wants equal files.
func sameEngines(t *testing.T, cfg cgemu.Config) {
	t.Helper()
	cfg.TraceChildren = true
	for _, sim := range []string{"ir", "simulated"} {
		if sim == "simulated" {
			cfg.Caches, cfg.Branches = &bigCaches, true
		}
		var runs []ran
		for _, engine := range []string{"jit", "unicorn"} {
			cfg.Engine, cfg.CPU = engine, unicorn.DefaultModel
			runs = append(runs, start(t, cfg))
		}
		want, got := runs[0], runs[1]
		assert.Equal(t, want.stdout, got.stdout, sim)
		assert.Equal(t, want.Exit, got.Exit, sim)
		sameProfile(t, want.profile, got.profile)
		require.Len(t, got.Children, len(want.Children), sim)
		for i := range want.Children {
			sameProfile(t, written(t, want.Children[i].Profile), written(t, got.Children[i].Profile))
		}
	}
}

// written returns a profile's file.
func written(t *testing.T, p *cgout.Profile) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, p.Write(&b))
	return b.String()
}

// TestUnicornGuests compares the engines on the programs that are checked in.
func TestUnicornGuests(t *testing.T) {
	for _, args := range [][]string{
		{demo}, {guest, "threads"}, {guest, "signals"}, {guest, "faults", "100"},
	} {
		t.Run(strings.Join(args[1:], " "), func(t *testing.T) { sameEngines(t, cgemu.Config{Args: args}) })
	}
}

// TestUnicornRegions compares what marks and switched instrumentation make of a run.
func TestUnicornRegions(t *testing.T) {
	for _, r := range []cgemu.Regions{
		{Toggle: []string{"main"}}, {From: []string{"main"}}, {NotInstr: true}, {NotCollecting: true, Toggle: []string{"*"}},
	} {
		sameEngines(t, cgemu.Config{Args: []string{demo}, Regions: r, Events: cgemu.EventGroups(), DumpInstr: true})
	}
}

// TestUnicornRefusesModels wants models with more than the engine has refused.
func TestUnicornRefusesModels(t *testing.T) {
	_, err := cgemu.Run(t.Context(), cgemu.Config{Path: demo, Args: []string{demo}, Engine: "unicorn", CPU: "v3"})
	require.ErrorContains(t, err, "avx2")
	require.ErrorContains(t, err, "--cpu=v1 or v2")
	names := []string{}
	for _, e := range cgemu.Engines() {
		require.NoError(t, e.Err)
		names = append(names, e.Name)
	}
	require.True(t, slices.Contains(names, "unicorn"))
}
