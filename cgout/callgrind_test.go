package cgout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sampleGraph is a small run with a call graph.
func sampleGraph() *Profile {
	p := New("Ir", "Dr")
	p.Desc, p.Cmd = []string{"I1 cache: 32768 B, 64 B, 8-way associative"}, "./prog a"
	p.Graph = NewCallGraph(2)
	cost := func(fn Func, file string, line int, counts ...uint64) {
		p.Add(file, fn.Name, line, counts...)
		p.Graph.AddCost(fn, file, line, counts...)
	}
	main, f := Func{"/bin/prog", "/src/a.c", "main"}, Func{"/bin/prog", "/src/a.c", "f(int)"}
	memcpy := Func{"/lib/libc.so", "/libc/memcpy.S", "memcpy"}
	cost(main, "/src/a.c", 10, 5, 1)
	cost(main, "/src/a.c", 12, 3)
	cost(main, "/src/a.h", 3, 7, 2)
	cost(f, "/src/a.c", 2, 20, 4)
	cost(memcpy, "/libc/memcpy.S", 100, 64, 32)
	cost(Func{Unknown, Unknown, Unknown}, Unknown, 0, 9)
	p.Graph.AddCall(Call{Caller: main, File: "/src/a.c", Line: 11, Callee: f, CalleeLine: 1, Count: 2, Counts: []uint64{84, 36}})
	p.Graph.AddCall(Call{Caller: main, File: "/src/a.c", Line: 12, Callee: f, CalleeLine: 1, Count: 0, Counts: []uint64{0, 0}})
	p.Graph.AddCall(Call{Caller: f, File: "/src/a.h", Line: 4, Callee: memcpy, CalleeLine: 90, Count: 1, Counts: []uint64{64, 32}})
	p.Graph.AddCall(Call{Caller: f, File: "/src/a.h", Line: 4, Callee: f, CalleeLine: 1, Count: 1, Counts: []uint64{4}})
	p.Graph.AddCall(Call{Caller: f, File: "/src/a.h", Line: 4, Callee: memcpy, CalleeLine: 90, Inlined: true, Count: 3, Counts: []uint64{2}})
	p.Graph.AddJump(Jump{Func: main, File: "/src/a.c", Line: 12, TargetFunc: "main", TargetFile: "/src/a.c", TargetLine: 10, Conditional: true, Count: 3, Executed: 4})
	p.Graph.AddJump(Jump{Func: main, File: "/src/a.c", Line: 12, TargetFunc: "g", TargetFile: "/src/a.h", TargetLine: 3, Count: 2})
	p.Graph.AddJump(Jump{Func: main, File: "/src/a.c", Line: 13, TargetFunc: "main", TargetFile: "/src/a.c", TargetLine: 10, Conditional: true, Executed: 4})
	p.Graph.AddJump(Jump{Func: f, File: "/src/a.c", Line: 5, TargetFunc: "f(int)", TargetFile: "/src/a.c", TargetLine: 5, Count: 1})
	return p
}

func callgrind(t *testing.T, p *Profile) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.WriteCallgrind(&b))
	return b.String()
}

func TestWriteCallgrind(t *testing.T) {
	golden(t, "graph.out", []byte(callgrind(t, sampleGraph())))
	require.ErrorContains(t, sample().WriteCallgrind(&bytes.Buffer{}), "without a call graph")
}

// TestWriteSameNames: functions of one name in several objects or files have numbers of their own, by which KCachegrind
// tells them apart.
func TestWriteSameNames(t *testing.T) {
	p := New("Ir")
	p.Graph = NewCallGraph(1)
	for _, fn := range []Func{{"prog", "a.c", "init"}, {"prog", "b.c", "init"}, {"lib.so", "a.c", "init"}} {
		p.Add(fn.File, fn.Name, 1, 2)
		p.Graph.AddCost(fn, fn.File, 1, 2)
		p.Graph.AddCall(Call{Caller: fn, File: fn.File, Line: 1, Callee: fn, CalleeLine: 1, Count: 1, Counts: []uint64{2}})
	}
	text := callgrind(t, p)
	require.Equal(t, 3, strings.Count(text, " init\n"), text)
	for _, number := range []string{"(1)", "(2)", "(3)"} {
		require.Contains(t, text, "\nfn="+number+" init\n")
		require.Contains(t, text, "\ncfn="+number+"\n")
	}
}

// dumpGraph lists costs and calls.
func dumpGraph(g *CallGraph) (lines []string) {
	for c := range g.Costs {
		lines = append(lines, fmt.Sprintf("%q %q %d %d", c.Func, c.File, c.Line, c.Counts))
	}
	for c := range g.Calls {
		lines = append(lines, fmt.Sprintf("%q %q %d -> %q %d: %d %s%d", c.Caller, c.File, c.Line, c.Callee, c.CalleeLine, c.Count, map[bool]string{true: "inlined "}[c.Inlined], c.Counts))
	}
	for j := range g.Jumps {
		if j.Count > 0 {
			lines = append(lines, fmt.Sprintf("%q %q %d -> %q %q %d: %v %d of %d", j.Func, j.File, j.Line, j.TargetFunc, j.TargetFile, j.TargetLine, j.Conditional, j.Count, j.Executed))
		}
	}
	return lines
}

func randomGraph(r *rand.Rand) *Profile {
	p := New(allEvents[:1+r.IntN(4)]...)
	p.Cmd, p.Graph = randomText(r), NewCallGraph(len(p.Events))
	var names [6]string
	for i := range names {
		names[i] = randomText(r)
	}
	name := func() string { return names[r.IntN(len(names))] }
	fn := func() Func { return Func{name(), name(), name()} }
	counts := func() []uint64 {
		list := make([]uint64, len(p.Events))
		for e := range list {
			list[e] = r.Uint64() >> (6 + r.IntN(58))
		}
		list[0]++
		return list
	}
	for range r.IntN(40) {
		f, file, line, n := fn(), name(), r.IntN(30), counts()
		p.Add(file, f.Name, line, n...)
		p.Graph.AddCost(f, file, line, n...)
		p.Graph.AddCall(Call{Caller: f, File: name(), Line: r.IntN(30), Callee: fn(), CalleeLine: r.IntN(9), Count: 1 + r.Uint64N(9), Counts: counts()})
		p.Graph.AddJump(Jump{
			Func: fn(), File: name(), Line: r.IntN(30), TargetFunc: name(), TargetFile: name(), TargetLine: r.IntN(9), Conditional: r.IntN(2) == 0, Count: r.Uint64N(9), Executed: r.Uint64N(9),
		})
	}
	return p
}

// TestCallgrindRoundTrip writes graphs and reads them again; as a profile, a file in either format is the same.
func TestCallgrindRoundTrip(t *testing.T) {
	for seed := range uint64(500) {
		p := randomGraph(rand.New(rand.NewPCG(seed, 7)))
		text := callgrind(t, p)
		q, err := Read("p", strings.NewReader(text))
		require.NoError(t, err, text)
		require.Equal(t, p.Cmd, q.Cmd)
		require.Equal(t, dump(p), dump(q))
		require.Equal(t, dumpGraph(p.Graph), dumpGraph(q.Graph), text)
		require.Equal(t, text, callgrind(t, q))
		require.Equal(t, dumpGraph(p.Graph), dumpGraph(p.Clone().Graph))
		require.Empty(t, p.Difference(q))

		var flat, want bytes.Buffer
		var m Merger
		require.NoError(t, m.Add("p", strings.NewReader(text)))
		require.NoError(t, m.Write(&flat))
		require.NoError(t, p.Write(&want))
		require.Equal(t, want.String(), flat.String())
	}
}

func TestMergeGraphs(t *testing.T) {
	p := New("Ir", "Dr")
	require.NoError(t, p.Merge(sampleGraph()))
	require.Equal(t, dumpGraph(sampleGraph().Graph), dumpGraph(p.Graph))
	require.NoError(t, p.Merge(sampleGraph()))
	for c := range p.Graph.Calls {
		if c.Callee.Name == "memcpy" && !c.Inlined {
			require.Equal(t, []uint64{2, 128, 64}, append([]uint64{c.Count}, c.Counts...))
		}
	}
	require.NoError(t, p.Merge(New("Ir", "Dr")))
	require.Nil(t, p.Graph, "one of the two does not know its calls")
	require.Panics(t, func() { sampleGraph().Graph.AddCost(Func{}, "", 1, 1, 2, 3) })
}

// TestDifferentGraphs wants the first place where graphs differ.
func TestDifferentGraphs(t *testing.T) {
	p, q := sampleGraph(), sampleGraph()
	q.Graph.AddCall(Call{
		Caller: Func{"/bin/prog", "/src/a.c", "f(int)"}, File: "/src/a.h", Line: 4,
		Callee: Func{"/bin/prog", "/src/a.c", "f(int)"}, CalleeLine: 1, Counts: []uint64{0, 1},
	})
	require.Equal(t, "/src/a.h:4 (f(int)) calls f(int) (/src/a.c:1, /bin/prog): Dr is 0 in the first run, 1 in the second", p.Difference(q))
	p, q = sampleGraph(), sampleGraph()
	for g, object := range map[*CallGraph]string{p.Graph: "/lib/a.so", q.Graph: "/lib/b.so"} {
		g.AddCall(Call{Caller: Func{"/bin/prog", "/src/a.c", "main"}, File: "/src/a.c", Line: 12, Callee: Func{object, "a.c", "g"}, Count: 1})
	}
	require.Equal(t, "/src/a.c:12 (main) calls g (a.c:0, /lib/a.so): only the first run has it", p.Difference(q))
	q = sampleGraph()
	q.Graph = nil
	require.Equal(t, "only the first run has a call graph", p.Difference(q))
	require.Equal(t, "only the second run has a call graph", q.Difference(p))
}

// TestReadCallgrind reads what Callgrind itself wrote, with several of its options.
func TestReadCallgrind(t *testing.T) {
	files, err := filepath.Glob("testdata/callgrind/*.out")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	totals, withJumps := map[string][]string{}, 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		p, err := Read(name, bytes.NewReader(data))
		require.NoError(t, err)
		if jumps := slices.Collect(p.Graph.Jumps); len(jumps) > 0 {
			f := Func{"/tmp/callgraph/s", "/tmp/callgraph/s.S", "f"}
			require.Equal(t, []Jump{{f, f.File, 10, "f", f.File, 8, true, 4, 6}}, jumps)
			withJumps++
			p.Graph.jumps = sums[jumpKey]{}
		}
		lines := append(dump(p), dumpGraph(p.Graph)...)
		key := fmt.Sprint(p.Events)
		if totals[key] == nil {
			totals[key] = lines
		}
		require.Equal(t, totals[key], lines, "%s: the same run, written in another way", name)
		require.NotEmpty(t, slices.Collect(p.Graph.Calls))
	}
	require.Equal(t, 2, withJumps)
}

func TestReadCallgrindErrors(t *testing.T) {
	const head = "# callgrind format\nevents: Ir Dr\n"
	for _, tt := range []struct{ text, want string }{
		{"version: 2\n", "p:1: version 2 of Callgrind's format: only 1 is known"},
		{"version: 1\n", "p:2: missing an `events:` line"},
		{"version: 1\n1 2\n", "p:2: missing an `events:` line"},
		{"# callgrind format\nevents:\n", "p:2: no events"},
		{"# callgrind format\nevents:" + strings.Repeat(" E", 1001), "p:2: 1001 events are more than 1000"},
		{head + "events: Ir\n", `p:3: events ["Ir"]: those of the part before are ["Ir" "Dr"]`},
		{head + "positions: bb line\n", "p:3: positions \"bb line\": only `line`, `instr` and `instr line` are known"},
		{head + "1 2 3 4\n", "p:3: malformed or too many event counts"},
		{head + "1x 2\n", `p:3: position "1x"`},
		{head + "-1 2\n", `p:3: position "-1"`},
		{head + "18446744073709551616 2\n", `p:3: position "18446744073709551616"`},
		{head + "18446744073709551615 2\n", `p:3: line number 18446744073709551615 is out of range`},
		{head + "5 2\n+18446744073709551614 2\n", `p:4: position "+18446744073709551614"`},
		{head + "1 -2\n", `p:3: count "-2"`},
		{head + "1 2.5\n", `p:3: count "2.5"`},
		{head + "fn=(3)\n", "p:3: name (3) was not given before"},
		{head + "nonsense\n", "p:3: malformed line: nonsense"},
		{head + "zz=3\n", "p:3: malformed line: zz=3"},
		{head + "calls=x 1\n", `p:3: number of calls "x"`},
		{head + "calls=1 y\n1 2", `p:3: position "y"`},
		{head + "calls=1 1\nfn=f\n", "p:4: malformed line: fn=f: the position of a call or a jump is to come"},
		{head + "jump=1/2 1\n", `p:3: number of jumps "1/2"`},
		{head + "jcnd=1/x 1\n", `p:3: number of jumps "1/x"`},
		{head + "jcnd=1/2 y\n", `p:3: position "y"`},
		{head + "jump=1 1\n", "p:4: the file ends where the line of a call or a jump is to come"},
		{head + "calls=1 1\n", "p:4: the file ends where the line of a call or a jump is to come"},
		{head + "1 2 3\ntotals: 2 4\n", "p:4: `totals:` line doesn't match computed total\n- totals:   [2, 4]\n- computed: [2, 3]"},
		{"# callgrind format\ncreator: cgemu\nevents: Ir\n1 2\n", "p:5: the file ends without a `totals:` line: it has been cut short"},
		{"version: 1\ncreator: callgrind-3.19.0\nevents: Ir\n1 2\ntotals: 2\npart: 2\nevents: Ir\n1 ", "p:9: the file ends without a `totals:` line: it has been cut short"},
	} {
		_, err := Read("p", strings.NewReader(tt.text))
		require.EqualError(t, err, tt.want, "%q", tt.text)
		require.EqualError(t, new(Merger).Add("p", strings.NewReader(tt.text)), tt.want, "%q", tt.text)
	}
}

func TestReadCallgrindSyntax(t *testing.T) {
	p, err := Read("p", strings.NewReader("version: 1\r\ncmd: a b\npositions: instr line\nevents: Ir\nob=(1) o\nfl=(1) a.c\nfn=(1) f\n"+
		"0x10 5 7\n+3 +1 1\n*\t* 1\ncfn=(2) g\ncalls=3 0x40 9\n* +1 30\nfi=(2) b.h\n+1 2\njump=3 0x10 4\n+1 3\njcnd=9 2 * *\n* *\njfi=(1)\njfn=g\njcnd=1/2 * 8\n* *\nfe=(1)\n* 8\n"+
		"part: 2\ncob=p\ncfi=(2)\ncfn=(1)\ncalls=1 * *\n0x20 8 4\ntotals: 9\n"))
	require.NoError(t, err)
	require.Equal(t, "a b", p.Cmd)
	require.Equal(t, []string{
		`{"o" "a.c" "f"} "a.c" 5 [7]`,
		`{"o" "a.c" "f"} "a.c" 6 [2]`,
		`{"o" "a.c" "f"} "a.c" 8 [0]`,
		`{"o" "a.c" "f"} "b.h" 2 [0]`,
		`{"o" "a.c" "f"} "a.c" 7 -> {"o" "a.c" "g"} 9: 3 [30]`,
		`{"o" "a.c" "f"} "a.c" 8 -> {"p" "b.h" "f"} 8: 1 [4]`,
		`{"o" "a.c" "f"} "b.h" 3 -> "f" "b.h" 3: true 2 of 9`,
		`{"o" "a.c" "f"} "b.h" 3 -> "f" "b.h" 4: false 3 of 0`,
		`{"o" "a.c" "f"} "b.h" 3 -> "g" "a.c" 8: true 1 of 2`,
	}, dumpGraph(p.Graph))
}

// TestReadCallgrindInstr reads positions that are addresses alone, and parts of which the first does not say its
// totals.
func TestReadCallgrindInstr(t *testing.T) {
	p, err := Read("p", strings.NewReader("positions: instr\nevents: Ir\nfn=f\n0x10 7\n+4 1\ncfn=g\ncalls=2 0x40\n* 30\n"+
		"part: 2\npositions: instr\nevents: Ir\nfn=f\n0x10 2\ntotals: 2\n"))
	require.NoError(t, err)
	require.Equal(t, []string{
		`{"???" "???" "f"} "???" 0 [10]`,
		`{"???" "???" "f"} "???" 0 -> {"???" "???" "g"} 0: 2 [30]`,
	}, dumpGraph(p.Graph))
}

func FuzzReadCallgrind(f *testing.F) {
	var b bytes.Buffer
	if err := sampleGraph().WriteCallgrind(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("version: 1\npositions: instr line\nevents: A\nfn=(1) f\n0x10 5 7\ncalls=1 * +3\n+1 -2 3\ntotals: 7"))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append([]byte("version: 1\n"), data...)
		p, err := Read("p", bytes.NewReader(data))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "p:"), err)
			return
		}
		// What can be read can be written, and reads as the same.
		text := callgrind(t, p)
		q, err := Read("q", strings.NewReader(text))
		require.NoError(t, err, text)
		require.Equal(t, text, callgrind(t, q))
	})
}

// TestCallgrindThread reads which thread a profile is of: none, if its parts are of several.
func TestCallgrindThread(t *testing.T) {
	const head, rest = "# callgrind format\nversion: 1\npid: 7\npart: 1\n", "positions: line\nevents: Ir\nfn=f\n1 2\ntotals: 2\n"
	for text, thread := range map[string]int{
		head + rest:                   0,
		head + "thread: 3\n\n" + rest: 3,
		head + "thread: 3\n\n" + rest + "\npart: 2\nthread: 3\n\n" + rest: 3,
		head + "thread: 3\n\n" + rest + "\npart: 1\nthread: 4\n\n" + rest: 0,
	} {
		p, err := Read("x", strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, thread, p.Thread)
		var b bytes.Buffer
		require.NoError(t, p.WriteCallgrind(&b))
		require.Equal(t, thread > 0, strings.Contains(b.String(), "\nthread: 3\n"))
	}
	_, err := Read("x", strings.NewReader(head+"thread: all\n"+rest))
	require.EqualError(t, err, `x:5: thread "all" is no number`)
}

// TestReadCompressedContexts reads functions and their callers as Callgrind's --compress-mangled=yes writes them.
func TestReadCompressedContexts(t *testing.T) {
	p, err := Read("x", strings.NewReader("version: 1\nevents: Ir\nfn=(1) main\nfn=(2) f\nfn=(3) (2)'(1)\n3 7\ncfn=(4) (2)'2'(9)'(1)\ncalls=1 1\n4 5\nfn=(5) (1)\n5 6\n"))
	require.NoError(t, err)
	require.Equal(t, []string{
		`{"???" "???" "(1)"} "???" 5 [6]`, `{"???" "???" "f'main"} "???" 3 [7]`, `{"???" "???" "f'main"} "???" 4 -> {"???" "???" "f'2'(9)'main"} 1: 1 [5]`,
	}, dumpGraph(p.Graph))
}
