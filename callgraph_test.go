//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
)

// callgrindText is a profile in Callgrind's format.
func callgrindText(t *testing.T, p *cgout.Profile) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.WriteCallgrind(&b))
	return b.String()
}

// requireGolden requires that got is what a file has, which -update writes.
func requireGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -run %s -update . rewrites it", t.Name())
}

// TestCallGraph compares the calls of testdata/calls, which has every way from one function into another, and of
// testdata/stacks with those that testdata/calls.S and stacks.S mean: golden, since they were checked by hand, and those
// of calls by Callgrind (TestOracleCallGraph). What a function and its calls cost is what calls to it do.
func TestCallGraph(t *testing.T) {
	for program, uncalled := range map[string][]string{
		"testdata/calls":  {"(below main)"},
		"testdata/stacks": {"(below main)", "body1", "body2", "body3"},
		"testdata/tails":  {"(below main)"},
	} {
		r := start(t, cgemu.Config{Args: []string{program}, CallGraph: true})
		var got strings.Builder
		for c := range r.Profile.Graph.Calls {
			fmt.Fprintf(&got, "%s:%d -> %s:%d: %d calls, %d Ir\n", c.Caller.Name, c.Line, c.Callee.Name, c.CalleeLine, c.Count, c.Counts[0])
			require.True(t, strings.HasSuffix(c.Caller.Object, program))
		}
		require.ElementsMatch(t, uncalled, roots(t, r.Profile))
		requireGolden(t, program+".golden", got.String())
	}
}

// A functionSum is what a function costs itself, and rest what of its inclusive cost no call has: that of what nobody
// calls.
type functionSum struct{ self, rest []uint64 }

// functionSums adds up the costs and calls of each function.
func functionSums(p *cgout.Profile) map[cgout.Func]*functionSum {
	sums := map[cgout.Func]*functionSum{}
	of := func(f cgout.Func) *functionSum {
		if sums[f] == nil {
			sums[f] = &functionSum{make([]uint64, len(p.Events)), make([]uint64, len(p.Events))}
		}
		return sums[f]
	}
	for c := range p.Graph.Costs {
		for e, n := range c.Counts {
			of(c.Func).self[e] += n
			of(c.Func).rest[e] += n
		}
	}
	for c := range p.Graph.Calls {
		for e, n := range c.Counts {
			of(c.Caller).rest[e] += n
			of(c.Callee).rest[e] -= n
		}
	}
	return sums
}

// roots are the functions whose inclusive cost is more than that of calls to them. What is left for others is to be 0.
func roots(t *testing.T, p *cgout.Profile) (names []string) {
	t.Helper()
	for f, sum := range functionSums(p) {
		for e, n := range sum.rest {
			require.Less(t, n, uint64(1)<<63, "%s: calls to it cost more %s than it and what it calls", f.Name, p.Events[e])
		}
		if sum.rest[0] != 0 {
			name, _, _ := strings.Cut(f.Name, " (") // ??? (object)
			names = append(names, name)
		}
	}
	return names
}

// uncalled are the functions that nothing in the programs calls: where programs and threads begin (??? in those of
// musl), signal handlers and what returns from them, and coroutines.
var uncalled = []string{"(below main)", "???", "handler", "restorer", "__restore_rt", "on_alarm", "on_user", "step", "body1", "body2", "body3"}

// TestCallGraphEngines runs all programs with both engines that record calls, which are to leave the same bytes; so is
// a second run. As a profile without calls it is the one that a run without them leaves.
func TestCallGraphEngines(t *testing.T) {
	for _, args := range append(digestPrograms(t), []string{"testdata/calls"}, []string{"testdata/stacks"}, []string{"testdata/tails"}) {
		models := []string{"v3", "v4"} // with v4 no vector registers are free for the engine
		if args[0] == avx512 {
			models = models[1:]
		}
		for _, model := range models {
			for _, simulated := range []bool{false, true} {
				t.Run(fmt.Sprint(strings.Join(args, " "), " ", model, " ", simulated), func(t *testing.T) {
					cfg := cgemu.Config{Args: args, CPU: model, Env: []string{"A=1"}, TraceChildren: true, Engine: "jit"}
					if simulated {
						cfg.Caches, cfg.Branches, cfg.Events = &bigCaches, true, []string{"rep", "taken", "loads", "stores", "syscalls"}
					}
					plain := start(t, cfg)
					cfg.CallGraph = true
					jit := start(t, cfg)
					require.Equal(t, plain.profile, jit.profile)
					cfg.Engine = "interp"
					interp := start(t, cfg)
					require.Empty(t, interp.Profile.Difference(jit.Profile))
					require.True(t, callgrindText(t, interp.Profile) == callgrindText(t, jit.Profile))
					require.Len(t, interp.Children, len(jit.Children))
					for i, c := range jit.Children {
						require.Equal(t, text(t, plain.Children[i]), text(t, c))
						require.Empty(t, interp.Children[i].Profile.Difference(c.Profile))
						require.Subset(t, uncalled, roots(t, c.Profile))
					}
					require.Subset(t, uncalled, roots(t, jit.Profile))
				})
			}
		}
	}
}

// TestCallGraphLimits ends a program behind each number of instructions, where it simulates behind each seventh: calls
// are the same with both engines wherever a budget is used up.
func TestCallGraphLimits(t *testing.T) {
	for _, program := range []string{"testdata/calls", "testdata/stacks", "testdata/tails"} {
		total := start(t, cgemu.Config{Args: []string{program}}).total()
		last := ""
		for n := uint64(1); n < total; n++ {
			cfg := cgemu.Config{Args: []string{program}, CallGraph: true, MaxInsns: n}
			last = callsOfEngines(t, cfg)
			if n%7 == 0 {
				cfg.Caches, cfg.Branches = &bigCaches, true
				callsOfEngines(t, cfg)
			}
		}
		require.Contains(t, last, "calls=")
	}
}

// callsOfEngines returns the profile with calls of a run, which both engines are to leave.
func callsOfEngines(t *testing.T, cfg cgemu.Config) (profile string) {
	var texts []string
	for _, engine := range fullEngines {
		cfg.Engine = engine
		texts = append(texts, callgrindText(t, start(t, cfg).Profile))
	}
	require.Equal(t, texts[0], texts[1], "%s, %d instructions", cfg.Args[0], cfg.MaxInsns)
	require.NotEmpty(t, texts[0])
	return texts[0]
}
