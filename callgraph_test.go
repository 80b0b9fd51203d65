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

// TestCallGraph compares the calls of testdata/calls, which has every way from one function into another, with those
// that testdata/calls.S means: golden, since they were checked by hand and by Callgrind (TestOracleCallGraph).
func TestCallGraph(t *testing.T) {
	r := start(t, cgemu.Config{Args: []string{"testdata/calls"}, CallGraph: true})
	var got strings.Builder
	for c := range r.Profile.Graph.Calls {
		fmt.Fprintf(&got, "%s:%d -> %s:%d: %d calls, %d Ir\n", c.Caller.Name, c.Line, c.Callee.Name, c.CalleeLine, c.Count, c.Counts[0])
		require.Equal(t, "testdata/calls", c.Caller.Object[len(c.Caller.Object)-len("testdata/calls"):])
	}
	for f, sum := range functionSums(r.Profile) {
		require.Zero(t, sum.rest[0]*b2u(f.Name != "(below main)"), "%s: what it and its calls cost is not what calls to it do", f.Name)
	}
	requireGolden(t, "testdata/calls.golden", got.String())
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
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
// musl), signal handlers and what returns from them.
var uncalled = []string{"(below main)", "???", "handler", "restorer", "__restore_rt", "on_alarm", "on_user", "step"}

// TestCallGraphEngines runs all programs with both engines that record calls, which are to leave the same bytes; so is
// a second run. As a profile without calls it is the one that a run without them leaves.
func TestCallGraphEngines(t *testing.T) {
	for _, args := range append(digestPrograms(t), []string{"testdata/calls"}) {
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

// TestCallGraphLimits ends a program behind each number of instructions: calls are the same with both engines wherever
// a budget is used up.
func TestCallGraphLimits(t *testing.T) {
	total := start(t, cgemu.Config{Args: []string{"testdata/calls"}}).total()
	last := ""
	for n := uint64(1); n < total; n++ {
		var texts []string
		for _, engine := range fullEngines {
			r := start(t, cgemu.Config{Args: []string{"testdata/calls"}, CallGraph: true, MaxInsns: n, Engine: engine})
			texts = append(texts, callgrindText(t, r.Profile))
		}
		require.Equal(t, texts[0], texts[1], "%d instructions", n)
		require.NotEmpty(t, texts[0])
		last = texts[0]
	}
	require.Contains(t, last, "calls=")
}
