//go:build linux && amd64

package cgemu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
)

// withoutJumps returns the text of p's graph without jumps.
func withoutJumps(t *testing.T, p *cgout.Profile) string {
	t.Helper()
	var out []string
	lines := strings.SplitAfter(callgrindText(t, p), "\n")
	for i := 0; i < len(lines); i++ {
		switch key, _, _ := strings.Cut(lines[i], "="); key {
		case "jfi", "jfn":
		case "jump", "jcnd":
			i++ // its place
		default:
			out = append(out, lines[i])
		}
	}
	return strings.Join(out, "")
}

// TestCollectJumps runs all programs with both engines that record jumps, which are to leave the same bytes. Costs and
// calls are those of a run without.
func TestCollectJumps(t *testing.T) {
	conditional, indirect := 0, 0
	for _, args := range append(digestPrograms(t), []string{"testdata/calls"}, []string{"testdata/jumps"}) {
		for _, simulated := range []bool{false, true} {
			t.Run(fmt.Sprint(strings.Join(args, " "), " ", simulated), func(t *testing.T) {
				cfg := cgemu.Config{Args: args, Env: []string{"A=1"}, TraceChildren: true, Engine: "jit", CallGraph: true}
				if args[0] == avx512 {
					cfg.CPU = "v4"
				}
				if simulated {
					cfg.Caches, cfg.Branches, cfg.Events = &bigCaches, true, []string{"rep", "taken", "loads", "stores", "syscalls"}
				}
				plain := start(t, cfg)
				cfg.CollectJumps = true
				jit := start(t, cfg)
				cfg.Engine = "interp"
				interp := start(t, cfg)
				require.Empty(t, interp.Profile.Difference(jit.Profile))
				require.True(t, callgrindText(t, interp.Profile) == callgrindText(t, jit.Profile))
				require.Len(t, interp.Children, len(jit.Children))
				for i, c := range jit.Children {
					require.Empty(t, interp.Children[i].Profile.Difference(c.Profile))
				}
				for j := range jit.Profile.Graph.Jumps {
					if require.NotZero(t, j.Count); j.Conditional {
						require.LessOrEqual(t, j.Count, j.Executed)
						conditional++
					} else {
						indirect++
					}
				}
				require.True(t, callgrindText(t, plain.Profile) == withoutJumps(t, jit.Profile))
			})
		}
	}
	require.Greater(t, conditional, 250)
	require.Greater(t, indirect, 100)
}

// TestCollectJumpsKinds compares the jumps of testdata/jumps, which has each kind, with those that testdata/jumps.S
// means: golden, since they were checked by hand and by Callgrind (TestOracleCollectJumps).
func TestCollectJumpsKinds(t *testing.T) {
	for _, engine := range fullEngines {
		r := start(t, cgemu.Config{Args: []string{"testdata/jumps"}, CallGraph: true, CollectJumps: true, Engine: engine})
		require.Zero(t, r.Exit.Code)
		require.Nil(t, r.Exit.Fault)
		var got strings.Builder
		for j := range r.Profile.Graph.Jumps {
			fmt.Fprintf(&got, "%s:%d -> %d: %d", j.Func.Name, j.Line, j.TargetLine, j.Count)
			if j.Conditional {
				fmt.Fprintf(&got, " of %d", j.Executed)
			}
			got.WriteString("\n")
		}
		requireGolden(t, "testdata/jumps.golden", got.String())
	}
}

// TestCollectJumpsLimits ends a program behind each number of instructions: jumps are the same with both engines
// wherever a budget is used up.
func TestCollectJumpsLimits(t *testing.T) {
	for n := uint64(1); n < 600; n++ {
		var texts []string
		for _, engine := range fullEngines {
			r := start(t, cgemu.Config{Args: []string{"testdata/jumps"}, CallGraph: true, CollectJumps: true, MaxInsns: n, Engine: engine})
			texts = append(texts, callgrindText(t, r.Profile))
		}
		require.Equal(t, texts[0], texts[1], "%d instructions", n)
	}
}
