//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
)

// TestJITNames runs a program that makes functions and names them: before they run, again at the same place, in a
// jitdump file, and after they have run; a child process has its parent's names.
func TestJITNames(t *testing.T) {
	requirePerfMap(t)
	program := compile(t, "gcc", "-O1", "testdata/jit.c", "-o")
	const loop = 2
	want := map[string]uint64{
		"first name": 1 + loop*1000 + 1, "second": 2 + loop*100 + 1, "dumped": 3 + loop*10000 + 1, "late": 4 + loop*20000 + 1, "???": 6 + loop*30000 + 1,
	}
	for _, engine := range fullEngines {
		cfg := cgemu.Config{Args: []string{program}, Engine: engine, Dir: t.TempDir(), Overlay: true, TraceChildren: true, CallGraph: true, DumpInstr: true}
		r := start(t, cfg)
		require.Zero(t, r.Exit.Status())
		require.Empty(t, r.Warnings)
		require.Equal(t, want, madeCosts(r.Profile, want))
		require.Len(t, r.Children, 1)
		require.EqualValues(t, 2+loop*50+1, madeCosts(r.Children[0].Profile, want)["second"])

		calls, insns := map[string]uint64{}, map[string]uint64{}
		for c := range r.Profile.Graph.Calls {
			if _, ok := want[c.Callee.Name]; ok && c.Caller.Name == "main" {
				require.EqualValues(t, 1, c.Count, c.Callee.Name)
				calls[c.Callee.Name] = c.Counts[0]
			}
		}
		require.Equal(t, want, calls)
		for _, in := range r.Profile.Insns.List {
			if _, ok := want[in.Func]; ok {
				insns[in.Func] += in.Counts[0]
			}
		}
		require.Equal(t, want, insns)

		// Without call graph, and with what Cachegrind knows.
		cfg.CallGraph, cfg.DumpInstr = false, false
		require.Equal(t, r.profile, start(t, cfg).profile)
		cfg.Compat, cfg.CPU, cfg.Overlay, cfg.ReadOnly = true, "valgrind", false, true
		p := start(t, cfg).Profile
		require.Empty(t, madeCosts(p, map[string]uint64{"first name": 0, "second": 0, "dumped": 0, "late": 0}))
	}
}

// requirePerfMap skips the test if /tmp has a file of names of somebody else's: guests' first process is always 1000.
func requirePerfMap(t *testing.T) {
	f, err := os.OpenFile("/tmp/perf-1000.map", os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	f.Close()
}

// madeCosts are the instructions of the functions in names that are in no file.
func madeCosts(p *cgout.Profile, names map[string]uint64) map[string]uint64 {
	costs := map[string]uint64{}
	p.Each(func(file, fn string, _ int, counts []uint64) {
		if _, ok := names[fn]; ok && file == cgout.Unknown {
			costs[fn] += counts[0]
		}
	})
	return costs
}

// TestJITNamesWrong has a program write what is no file of names.
func TestJITNamesWrong(t *testing.T) {
	requirePerfMap(t)
	var log bytes.Buffer
	r := start(t, cgemu.Config{Args: []string{"/bin/sh", "-c", "echo nonsense >/tmp/perf-$$.map; echo 1 2 >/tmp/perf-1.map"}, Overlay: true, Log: &log})
	require.Zero(t, r.Exit.Status(), log.String())
	require.Len(t, r.Warnings, 1)
	require.ErrorContains(t, r.Warnings[0], "perf-1000.map: line 1 is not START SIZE NAME")
}

// TestJITNamesLate runs a program whose functions jump to each other, and get names after they have run: from then on
// each is called by what jumps to it. What ran before that was, for all that could be known, one function.
func TestJITNamesLate(t *testing.T) {
	requirePerfMap(t)
	program := compile(t, "gcc", "-O1", "testdata/jitlate.c", "-o")
	var texts []string
	for _, engine := range fullEngines {
		r := start(t, cgemu.Config{Args: []string{program}, Engine: engine, Dir: t.TempDir(), Overlay: true, CallGraph: true})
		require.Zero(t, r.Exit.Status())
		require.Empty(t, r.Warnings)
		texts = append(texts, callgrindText(t, r.Profile))
		calls, costs := map[string]uint64{}, map[string]uint64{}
		for c := range r.Profile.Graph.Calls {
			calls[c.Caller.Name+" > "+c.Callee.Name] += c.Count
			costs[c.Caller.Name+" > "+c.Callee.Name] += c.Counts[0]
		}
		for i, name := range []string{"direct", "indirect", "through"} {
			n, first := uint64(i)+2, uint64(1)
			if name == "through" {
				first = 64
			}
			require.EqualValues(t, 13, calls["main > "+name], name)
			require.EqualValues(t, 13*(n+first)+2*(10+5*100+7*1000), costs["main > "+name], name)
			require.EqualValues(t, 12, calls[name+" > "+name+" body"], name)
			require.EqualValues(t, 12*n+2*(5*100+7*1000), costs[name+" > "+name+" body"], name)
		}
		require.EqualValues(t, 3, calls["main > enter"])
		require.EqualValues(t, 3+2*9, calls["enter > ping"]+calls["pong > ping"])
		require.EqualValues(t, 2*9, calls["ping > pong"])
		require.EqualValues(t, 3*(1+9*3+3+9), costs["main > enter"])
	}
	require.Equal(t, texts[0], texts[1])

	// Told apart by callers, which have their last names, too.
	cfg := cgemu.Config{Args: []string{program}, Engine: "interp", Dir: t.TempDir(), Overlay: true, CallGraph: true, DumpInstr: true}
	plain := start(t, cfg)
	cfg.SeparateCallers = 2
	apart := start(t, cfg)
	require.True(t, callgrindText(t, withoutCallers(plain.Profile)) == callgrindText(t, withoutCallers(apart.Profile)))
	insns := map[string]uint64{}
	for _, in := range apart.Profile.Insns.List {
		insns[in.Func] += in.Counts[0]
	}
	for _, f := range apart.Profile.Graph.Functions().Functions {
		require.NotContains(t, f.Name, "'???'", "a caller of %s has a name", f.Name)
		require.Equal(t, f.Self[0], insns[f.Name], f.Name)
	}
	require.EqualValues(t, 12*2+2*(5*100+7*1000), insns["direct body'direct'main"])
}
