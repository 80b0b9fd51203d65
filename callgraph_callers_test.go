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

// withoutCallers returns p with functions once, whoever calls them, and without executions of conditional jumps.
func withoutCallers(p *cgout.Profile) *cgout.Profile {
	bare := func(f cgout.Func) cgout.Func {
		f.Name, _, _ = strings.Cut(f.Name, "'")
		return f
	}
	q := cgout.New(p.Events...)
	q.Cmd, q.Desc, q.Graph = p.Cmd, p.Desc, cgout.NewCallGraph(len(p.Events))
	p.Each(func(file, fn string, line int, counts []uint64) {
		q.Add(file, bare(cgout.Func{Name: fn}).Name, line, counts...)
	})
	for c := range p.Graph.Costs {
		q.Graph.AddCost(bare(c.Func), c.File, c.Line, c.Counts...)
	}
	for c := range p.Graph.Calls {
		c.Caller, c.Callee = bare(c.Caller), bare(c.Callee)
		q.Graph.AddCall(c)
	}
	for j := range p.Graph.Jumps {
		j.Executed = j.Count // in contexts in which a jump was never taken nothing counts
		j.Func, j.TargetFunc = bare(j.Func), bare(cgout.Func{Name: j.TargetFunc}).Name
		q.Graph.AddJump(j)
	}
	return q
}

// bareNames are names without those of callers.
func bareNames(list []string) (out []string) {
	for _, name := range list {
		name, _, _ = strings.Cut(name, "'")
		out = append(out, name)
	}
	return out
}

// TestSeparateCallers adds the contexts of all programs up: nothing is lost, nothing counted twice, with all events.
func TestSeparateCallers(t *testing.T) {
	for _, args := range append(digestPrograms(t), []string{"testdata/calls"}, []string{"testdata/stacks"}, []string{"testdata/tails"}) {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(strings.Join(args, " "), " ", n), func(t *testing.T) {
				cfg := cgemu.Config{Args: args, Env: []string{"A=1"}, TraceChildren: true, Engine: "interp", CallGraph: true, Inline: n == 3, CollectJumps: n == 3}
				if args[0] == avx512 {
					cfg.CPU = "v4"
				}
				cfg.Caches, cfg.Branches, cfg.Events = &bigCaches, true, []string{"rep", "taken", "loads", "stores", "syscalls"}
				if n == 3 {
					cfg.Events = append(cfg.Events, "allocs")
				}
				plain := start(t, cfg)
				cfg.SeparateCallers = n
				apart := start(t, cfg)
				require.GreaterOrEqual(t, apart.Profile.Len(), plain.Profile.Len())
				require.True(t, callgrindText(t, withoutCallers(plain.Profile)) == callgrindText(t, withoutCallers(apart.Profile)))
				require.Len(t, apart.Children, len(plain.Children))
				for i, c := range apart.Children {
					require.True(t, callgrindText(t, withoutCallers(plain.Children[i].Profile)) == callgrindText(t, withoutCallers(c.Profile)))
				}
				if n == 1 { // the cost of an allocation is the caller's
					require.Subset(t, uncalled, bareNames(roots(t, apart.Profile)))
				}
			})
		}
	}
}

// TestSeparateCallersNames compares the functions of testdata/calls and what they cost in each context with those that
// its source means: golden, since they were checked by hand and by Callgrind (TestOracleSeparateCallers).
func TestSeparateCallersNames(t *testing.T) {
	r := start(t, cgemu.Config{Args: []string{"testdata/calls"}, CallGraph: true, SeparateCallers: 2})
	var got strings.Builder
	for _, f := range r.Profile.Graph.Functions().Functions {
		fmt.Fprintf(&got, "%s: %d, called %d times, %d\n", f.Name, f.Self[0], f.Called, f.Inclusive[0])
	}
	requireGolden(t, "testdata/calls-callers.golden", got.String())
}

// TestSeparateCallersOf tells one function apart, and others by another number.
func TestSeparateCallersOf(t *testing.T) {
	r := start(t, cgemu.Config{
		Args: []string{"testdata/calls"}, CallGraph: true, SeparateCallers: 1, SeparateCallersOf: []cgemu.CallersOf{{"l*f", 2}, {"le?f", 0}, {"twice", 0}},
	})
	depths := map[string]map[int]bool{}
	for _, f := range r.Profile.Graph.Functions().Functions {
		names := strings.Split(f.Name, "'")
		if depths[names[0]] == nil {
			depths[names[0]] = map[int]bool{}
		}
		depths[names[0]][len(names)-1] = true
	}
	for name, of := range depths {
		switch name {
		case "leaf":
			require.True(t, of[2])
		case "twice":
			require.Equal(t, map[int]bool{0: true}, of)
		default:
			require.False(t, of[2], name)
		}
	}
	require.True(t, depths["leaf"][2], "%v", depths)
	require.NotEmpty(t, depths["twice"])
}

// TestSeparateCallersRefused has what cannot tell functions apart say so.
func TestSeparateCallersRefused(t *testing.T) {
	for _, tt := range []struct {
		cfg  cgemu.Config
		want string
	}{
		{cgemu.Config{CallGraph: true, Engine: "jit"}, "engine jit does not tell functions apart by their callers: interp does"},
		{cgemu.Config{CallGraph: true, Engine: "check"}, "engine check does not tell functions apart by their callers: interp does"},
		{cgemu.Config{}, "SeparateCallers needs CallGraph"},
	} {
		tt.cfg.Args, tt.cfg.SeparateCallers = []string{"testdata/calls"}, 1
		_, err := cgemu.Run(t.Context(), tt.cfg)
		require.EqualError(t, err, "cgemu: "+tt.want)
	}
}
