package annotate_test

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
)

const smallGraph = "# callgrind format\ncmd: ./x\nevents: Ir\nob=/bin/x\nfl=a.c\nfn=main\n1 10\ncfn=f\ncalls=2 5\n2 30\nfn=f\n5 30\n"

func readGraph(t testing.TB, text string) *cgout.Profile {
	t.Helper()
	p, err := cgout.Read("x", strings.NewReader(text))
	require.NoError(t, err)
	return p
}

// TestCallReport looks at a report as programs do, of profiles in memory.
func TestCallReport(t *testing.T) {
	o := annotate.Defaults()
	o.Inclusive = true
	old := annotate.Memory("old", readGraph(t, smallGraph))
	r, err := annotate.NewCalls(o, old, old)
	require.NoError(t, err)
	require.Len(t, r.Functions, 2)
	f := r.Functions[0]
	require.Equal(t, "main", f.Name)
	require.Equal(t, "80", f.Inclusive.Counts[0].String())
	require.Equal(t, "20", f.Self.Counts[0].String())
	require.Equal(t, annotate.Calls{Count: 4}, f.Callees[0].Calls)
	require.Equal(t, r.Functions[1], f.Callees[0].Callee)

	// Another program of another name, one function of which is in another file.
	text := strings.NewReplacer("/bin/x", "/bin/y", "fn=f\n5 30", "fl=b.c\nfn=f\n5 31", "cfn=f", "cfi=b.c\ncfn=f", "2 30", "2 31").Replace(smallGraph)
	d, err := annotate.CompareCalls(o, old, annotate.Memory("new", readGraph(t, text)))
	require.NoError(t, err)
	require.Len(t, d.Functions, 2)
	require.Equal(t, "1", d.Functions[0].Inclusive.Counts[0].String())
	require.Equal(t, "b.c", d.Functions[0].File)
	require.Equal(t, annotate.Calls{Count: 2, Old: 2}, d.Functions[0].Called)

	_, err = annotate.NewCalls(o)
	require.ErrorContains(t, err, "no profile")
	_, err = annotate.CompareCalls(o, old, annotate.Memory("new", readGraph(t, strings.Replace(smallGraph, "Ir", "Dr", 1))))
	require.ErrorIs(t, err, cgout.ErrEvents)
}

// TestCycles lists the cycles of the functions that are asked for, and has no table without any.
func TestCycles(t *testing.T) {
	const graph = smallGraph + "fn=a\n7 10\ncfn=b\ncalls=1 8\n7 20\nfn=b\n8 10\ncfn=a\ncalls=1 7\n8 20\n"
	for _, tt := range []struct {
		focus     []string
		threshold float64
		want      bool
	}{{nil, 0, true}, {[]string{"a"}, 0, true}, {[]string{"main"}, 0, false}, {nil, 50, false}} {
		o := annotate.Defaults()
		o.Inclusive, o.Focus, o.Threshold = true, tt.focus, tt.threshold
		r, err := annotate.NewCalls(o, annotate.Memory("x", readGraph(t, graph)))
		require.NoError(t, err)
		require.Len(t, r.Cycles, 1)
		var b strings.Builder
		require.NoError(t, r.WriteTree(&b))
		require.Equal(t, tt.want, strings.Contains(b.String(), "-- Cycles"), "%v %v: %s", tt.focus, tt.threshold, &b)
		require.Equal(t, tt.want, strings.Contains(b.String(), "<cycle 1>, 2 functions: a, b"))
	}
}

// FuzzCalls reports whatever can be read.
func FuzzCalls(f *testing.F) {
	f.Add([]byte(smallGraph))
	f.Add([]byte(smallGraph + "cfn=main\ncalls=1 1\n5 18446744073709551615\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := cgout.Read("x", bytes.NewReader(data))
		if err != nil || p.Graph == nil {
			return
		}
		o := annotate.Defaults()
		o.Inclusive, o.Tree, o.Threshold, o.StripHash = true, annotate.TreeBoth, 0, true
		if err := annotate.WriteText(io.Discard, o, annotate.Memory("x", p)); p.Totals()[0] < math.MaxInt64 {
			require.NoError(t, err)
		}
		r, err := annotate.CompareCalls(o, annotate.Memory("x", p), annotate.Memory("y", p))
		require.NoError(t, err)
		require.NoError(t, r.WriteTree(io.Discard))
		if len(r.Functions) > 0 {
			require.NoError(t, r.WriteCallers(io.Discard, "*"))
		}
	})
}
