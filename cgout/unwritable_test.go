package cgout

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oddNames are names that a format has another meaning for, or that readers cut.
var oddNames = []string{
	"", " ", "a", "\n", "a\r\nb", "fn=x", "fl=(1)", "(1)", "(1) a", "\x00", "\xff\xfe", "???", "events: Ir", "summary: 5", "# x", "a:b",
	"é", "\t", " lead", "trail ", "<unspecified>", "desc: x", "-1", "+3", "* 5", "a'b", "a'(1)", "a'(2)'b", "\u2028", "\v", "\f", "\x1c", "\x85",
	"\u0085", "\u00a0x\u2003",
}

// requireRoundTrip wants what is written to be read by everyone, and to be written again as the same.
func requireRoundTrip(t *testing.T, p *Profile, write func(*Profile, io.Writer) error) *Profile {
	t.Helper()
	var file, again bytes.Buffer
	require.NoError(t, write(p, &file))
	q, err := Read("p", bytes.NewReader(file.Bytes()))
	require.NoError(t, err, file.String())
	require.Equal(t, p.Totals(), q.Totals())
	require.NoError(t, write(q, &again))
	require.Equal(t, file.String(), again.String())
	var m Merger
	require.NoError(t, m.Add("p", bytes.NewReader(file.Bytes())))
	var d Differ
	for range 2 {
		require.NoError(t, d.Add("p", bytes.NewReader(file.Bytes())))
	}
	return q
}

// TestOddNames writes and reads names of all kinds.
func TestOddNames(t *testing.T) {
	for _, f := range oddNames {
		for _, g := range oddNames {
			p := New("Ir", "Dr")
			p.Cmd, p.Desc = f, []string{g, f}
			p.Add(f, g, 1, 2, 3)
			p.Add(f, g, math.MaxInt, 0, 1<<62)
			q := requireRoundTrip(t, p, (*Profile).Write)
			require.Equal(t, []uint64{2, 3}, q.Counts(q.Centre(oneLine(f), oneLine(g), 1)))
			require.Equal(t, 2, q.Len())

			p = New("Ir", "Dr")
			p.Cmd, p.Desc, p.Graph = f, []string{g, f}, NewCallGraph(2)
			p.Add(g, f, 7, 1, 2)
			fn, fn2 := Func{f, g, f}, Func{g, f, g}
			p.Graph.AddCost(fn, g, 7, 1, 2)
			p.Graph.AddCall(Call{Caller: fn, File: g, Line: 3, Callee: fn2, CalleeLine: 9, Count: 4, Counts: []uint64{5, 6}})
			p.Graph.AddJump(Jump{Func: fn, File: f, Line: 3, TargetFunc: g, TargetFile: g, Conditional: true, Count: 3, Executed: 9})
			q = requireRoundTrip(t, p, (*Profile).WriteCallgrind)
			name := func(s string) string { return strings.TrimSpace(oneLine(s)) }
			require.Equal(t, []uint64{1, 2}, q.Counts(q.Centre(name(g), name(f), 7)))
			require.Equal(t, 1, q.Len())
			for c := range q.Graph.Calls {
				require.Equal(t, name(g), c.Callee.Name)
				require.Equal(t, []uint64{4, 5, 6}, append([]uint64{c.Count}, c.Counts...))
			}
		}
	}
}

// TestUnwritable has profiles that no reader would take: Write says why.
func TestUnwritable(t *testing.T) {
	const large = math.MaxUint64
	event := func(names ...string) *Profile {
		p := New(names...)
		p.Add("a", "f", 1)
		p.Graph = NewCallGraph(len(names))
		return p
	}
	lines := func(at, call, callee, jump, target int) *Profile {
		p, fn := New("Ir"), Func{"o", "a.c", "f"}
		p.Add("a.c", "f", at, 1)
		p.Graph = NewCallGraph(1)
		p.Graph.AddCost(fn, "a.c", at, 1)
		p.Graph.AddCall(Call{Caller: fn, File: "a.c", Line: call, Callee: fn, CalleeLine: callee, Count: 1})
		p.Graph.AddJump(Jump{Func: fn, File: "a.c", Line: jump, TargetFunc: "f", TargetFile: "a.c", TargetLine: target, Count: 1})
		return p
	}
	total := New("Ir", "Dr")
	total.Add("a", "f", 1, 1, large)
	total.Add("a", "g", 1, 1, 1)
	total.Graph = NewCallGraph(2)
	total.Graph.AddCost(Func{"o", "a", "f"}, "a", 1, 1, large)
	total.Graph.AddCost(Func{"o", "a", "g"}, "a", 1, 1, 1)
	for _, tt := range []struct {
		p            *Profile
		plain, graph string // the errors, "" for none; as Cachegrind and Callgrind have it
	}{
		{event(), "cgout: a profile without events cannot be written", "cgout: a profile without events cannot be written"},
		{event(make([]string, 1001)...), "cgout: 1001 events are more than 1000", "cgout: 1001 events are more than 1000"},
		{event("Ir", ""), `cgout: the name of event "" is empty or has blanks`, `cgout: the name of event "" is empty or has blanks`},
		{event("a b"), `cgout: the name of event "a b" is empty or has blanks`, `cgout: the name of event "a b" is empty or has blanks`},
		{event("a\n"), `cgout: the name of event "a\n" is empty or has blanks`, `cgout: the name of event "a\n" is empty or has blanks`},
		{event("a\u2028b"), `cgout: the name of event "a\u2028b" is empty or has blanks`, `cgout: the name of event "a\u2028b" is empty or has blanks`},
		{event("a=b", "#", "a:"), "", ""},
		{lines(1, 0, 0, 0, 0), "", ""},
		{lines(-5, 0, 0, 0, 0), `cgout: line -5 of function "f" is less than 0`, `cgout: line -5 of function "f" is less than 0`},
		{lines(1, -1, 0, 0, 0), "", `cgout: line -1 of function "f" is less than 0`},
		{lines(1, 0, -2, 0, 0), "", `cgout: line -2 of function "f" is less than 0`},
		{lines(1, 0, 0, -3, 0), "", `cgout: line -3 of function "f" is less than 0`},
		{lines(1, 0, 0, 0, -4), "", `cgout: line -4 of function "f" is less than 0`},
		{total, "cgout: the total of Dr does not fit in 64 bits", "cgout: the total of Dr does not fit in 64 bits"},
	} {
		for _, format := range []struct {
			write func(*Profile, io.Writer) error
			err   string
		}{{(*Profile).Write, tt.plain}, {(*Profile).WriteCallgrind, tt.graph}} {
			if format.err == "" {
				requireRoundTrip(t, tt.p, format.write)
				continue
			}
			require.EqualError(t, format.write(tt.p, io.Discard), format.err)
		}
	}
	require.Error(t, new(Profile).Write(io.Discard))

	// A sum that stays at the greatest value is no other than that.
	most := New("Ir")
	most.Add("a", "f", 1, large)
	most.Add("a", "f", 1, 1)
	requireRoundTrip(t, most, (*Profile).Write)
}

// TestOtherGraph has a call graph that is not of its profile.
func TestOtherGraph(t *testing.T) {
	p := sampleGraph()
	p.Graph = NewCallGraph(1)
	require.EqualError(t, p.WriteCallgrind(io.Discard), "cgout: the call graph has counts of 1 events, the profile of 2")
}

// TestReadLargeTotals reads files whose totals do not fit: a summary of the greatest value is not theirs.
func TestReadLargeTotals(t *testing.T) {
	const large = "18446744073709551615"
	for name, text := range map[string]string{
		"functions": "cmd: x\nevents: Ir\nfl=a\nfn=f\n1 " + large + "\nfn=g\n1 1\nsummary: " + large + "\n",
		"a line":    "cmd: x\nevents: Ir\nfl=a\nfn=f\n1 " + large + "\nfn=f\n1 1\nsummary: " + large + "\n",
		"callgrind": "version: 1\nevents: Ir\nfl=a\n1 " + large + "\nfn=g\n1 1\ntotals: " + large + "\n",
	} {
		_, err := Read("p", strings.NewReader(text))
		require.ErrorContains(t, err, ": the total of Ir does not fit in 64 bits", name)
		require.Error(t, new(Differ).Add("p", strings.NewReader(text)), name)
	}
	part := "events: Ir\nfl=a\nfn=f\n1 " + large + "\ntotals: " + large + "\n"
	_, err := Read("p", strings.NewReader("version: 1\n"+part+"part: 2\n"+part))
	require.EqualError(t, err, "p:12: the total of Ir does not fit in 64 bits")
	_, err = Read("p", strings.NewReader("version: 1\n"+part+"part: 2\n"+strings.Replace(part, large, "0", 1)))
	require.ErrorContains(t, err, "doesn't match computed total")
}
