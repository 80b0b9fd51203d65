package cgout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// graphOf makes a graph of one event: self costs by name, and calls of one each, `a>b` with their inclusive cost.
func graphOf(self map[string]uint64, calls []string, costs ...uint64) *CallGraph {
	g := NewCallGraph(1)
	fn := func(name string) Func { return Func{"prog", name + ".c", name} }
	for name, n := range self {
		g.AddCost(fn(name), name+".c", 1, n)
	}
	for i, c := range calls {
		g.AddCall(Call{Caller: fn(c[:1]), File: "x.c", Line: i + 1, Callee: fn(c[2:]), CalleeLine: 7, Count: 1, Counts: costs[i : i+1]})
	}
	return g
}

func dumpFunctions(fg *FunctionGraph) (lines []string) {
	for _, f := range fg.Functions {
		line := fmt.Sprintf("%s:%d self %d incl %d called %d <", f.Label(), f.Line, f.Self, f.Inclusive, f.Called)
		for _, a := range f.Callers {
			line += fmt.Sprintf(" %s %dx %d", a.Caller.Name, a.Count, a.Counts)
		}
		line += " >"
		for _, a := range f.Callees {
			line += " " + a.Callee.Name
			if a.Recursive() {
				line += "(recursive)"
			}
		}
		lines = append(lines, line)
	}
	for _, c := range fg.Cycles {
		lines = append(lines, fmt.Sprintf("%s self %d incl %d", c.Label(), c.Self, c.Inclusive))
	}
	return append(lines, fmt.Sprint("totals ", fg.Totals))
}

func TestFunctions(t *testing.T) {
	// m calls a, which calls itself and d. m calls b; b and c call each other, c calls d. The cycle of e and f is not
	// reached from m.
	g := graphOf(map[string]uint64{"m": 1, "a": 10, "b": 20, "c": 30, "d": 40, "e": 3, "f": 0},
		[]string{"m>a", "a>a", "a>d", "m>b", "b>c", "c>b", "c>d", "b>c", "e>f", "f>e"}, 25, 20, 15, 75, 50, 20, 25, 10, 5, 4)
	require.Equal(t, []string{
		"a:7 self [10] incl [25] called 2 < m 1x [25] a 1x [20] > a(recursive) d",
		"b <cycle 1>:7 self [20] incl [75] called 2 < m 1x [75] c 1x [20] > c(recursive)",
		"c <cycle 1>:7 self [30] incl [75] called 2 < b 2x [60] > d b(recursive)",
		"d:7 self [40] incl [40] called 2 < c 1x [25] a 1x [15] >",
		"e <cycle 2>:7 self [3] incl [3] called 1 < f 1x [4] > f(recursive)",
		"f <cycle 2>:7 self [0] incl [3] called 1 < e 1x [5] > e(recursive)",
		"m:0 self [1] incl [101] called 0 < > b a",
		"<cycle 1> self [50] incl [75]",
		"<cycle 2> self [3] incl [3]",
		"totals [104]",
	}, dumpFunctions(g.Functions()))
	require.Equal(t, []CallSite{{"x.c", 5, 1, []uint64{50}}, {"x.c", 8, 1, []uint64{10}}}, g.Functions().Functions[1].Callees[0].Sites)
	require.Equal(t, []string{"totals [0]"}, dumpFunctions(NewCallGraph(1).Functions()))

	g = graphOf(map[string]uint64{"a": math.MaxUint64 - 1}, []string{"a>b"}, 5)
	require.Equal(t, []uint64{math.MaxUint64 - 1}, g.Functions().Functions[0].Inclusive)
}

// TestCycles compares cycles with what is reachable from where.
func TestCycles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cycles := 0
	for range 300 {
		n := 2 + r.IntN(12)
		reach := make([][]bool, n)
		for i := range reach {
			reach[i] = make([]bool, n)
		}
		self, calls := map[string]uint64{}, []string(nil)
		for i := range n {
			self[string(rune('a'+i))] = 1 // the order of letters is that of the functions
		}
		for range r.IntN(2 * n) {
			i, j := r.IntN(n), r.IntN(n)
			calls, reach[i][j] = append(calls, fmt.Sprintf("%c>%c", 'a'+i, 'a'+j)), true
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		fg := graphOf(self, calls, slices.Repeat([]uint64{1}, len(calls))...).Functions()
		cycles += len(fg.Cycles)
		for i, f := range fg.Functions {
			for j, g := range fg.Functions {
				if i != j {
					require.Equal(t, reach[i][j] && reach[j][i], f.Cycle != nil && f.Cycle == g.Cycle, "%s, %s of %q", f.Name, g.Name, calls)
				}
			}
		}
	}
	require.Greater(t, cycles, 100)
}

// TestDeepGraph has a chain of calls so long that a quadratic search would be noticed.
func TestDeepGraph(t *testing.T) {
	const n = 40000
	g := NewCallGraph(1)
	fn := func(i int) Func { return Func{Name: fmt.Sprint(i)} }
	for i := range n {
		g.AddCall(Call{Caller: fn(i), Callee: fn(i + 1), Count: 1})
	}
	require.Empty(t, g.Functions().Cycles)
	g.AddCall(Call{Caller: fn(n), Callee: fn(0), Count: 1})
	require.Len(t, g.Functions().Cycles[0].Functions, n+1)
}
