package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

// A graphPage is what tests look at of a page.
type graphPage struct {
	Graph   bool
	Objs    []string
	Total   []any
	Omitted struct {
		N int
		C []any
	}
	Files []struct {
		N, Source string
		Own       bool
		Notes     []string
	}
	Funcs []struct {
		N          string
		B, F, K, Y int
		L, S, E    int
		C, I       []any
		P          [][]any
	}
	Calls [][]any
	Asm   map[int][][]any
	Runs  []struct{ N, Cmd, Date string }
	Dirs  []string
	Rest  struct { // of pages of one profile
		Names []string
		Funcs [][]any
	} `json:"-"`
}

// pageOf makes a page of profiles; two are compared.
func pageOf(t *testing.T, o Options, profiles ...Input) (p graphPage) {
	o.CallGraph = true
	var r *Report
	var err error
	if len(profiles) == 2 {
		r, err = Compare(o, profiles[0], profiles[1])
	} else {
		r, err = New(o, profiles...)
	}
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, r.WriteHTML(&b))
	_, data, ok := strings.Cut(b.String(), `id="data">`)
	require.True(t, ok)
	data, _, _ = strings.Cut(data, "</script>")
	require.NoError(t, json.Unmarshal([]byte(data), &p))
	_, data, ok = strings.Cut(b.String(), `id="rest">`)
	require.Equal(t, len(profiles) == 1, ok)
	if data, _, ok = strings.Cut(data, "</script>"); ok {
		require.NoError(t, json.Unmarshal([]byte(data), &p.Rest))
		p.addsUp(t)
	}
	return p
}

// addsUp has functions that are shown and those that are not be all.
func (p *graphPage) addsUp(t *testing.T) {
	sum := make([]*big.Int, len(p.Total))
	add := func(row []any, sign int64) {
		for i, n := range row {
			text, ok := n.(string)
			if !ok {
				text = strconv.FormatFloat(n.(float64), 'f', 0, 64)
			}
			c, ok := new(big.Int).SetString(text, 10)
			require.True(t, ok)
			sum[i] = c.Add(c.Mul(c, big.NewInt(sign)), cmp.Or(sum[i], new(big.Int)))
		}
	}
	for _, f := range p.Funcs {
		add(f.C, 1)
	}
	for _, f := range p.Rest.Funcs {
		require.Len(t, f, map[bool]int{true: 5, false: 4}[p.Graph])
		require.Less(t, max(f[1].(float64), f[2].(float64)), float64(len(p.Rest.Names)))
		add(f[3].([]any), 1)
	}
	add(p.Total, -1)
	for _, n := range sum {
		require.Zero(t, n.Sign())
	}
}

// callgraph is a profile of main, which calls f and rare; f calls itself and lib. Inlined code of f lies in h.h.
func callgraph(dir string, n uint64) *cgout.Profile {
	p := cgout.New("Ir", "Dr")
	p.Cmd, p.Graph = dir+"/prog", cgout.NewCallGraph(2)
	fn := func(object, file, name string) cgout.Func { return cgout.Func{Object: object, File: file, Name: name} }
	prog, src := dir+"/prog", dir+"/a.c"
	main, f, rare := fn(prog, src, "main"), fn(prog, src, "f"), fn(prog, src, "rare")
	lib := fn("/lib/libx.so", cgout.Unknown, "lib")
	cost := func(fn cgout.Func, file string, line int, counts ...uint64) {
		p.Add(file, fn.Name, line, counts...)
		p.Graph.AddCost(fn, file, line, counts...)
	}
	cost(main, src, 10, 1, 0)
	cost(f, src, 5, 100*n, 7)
	cost(f, dir+"/h.h", 1, 50*n, 0)
	cost(lib, cgout.Unknown, 0, 3000, 0)
	cost(rare, src, 20, 2, 0)
	cost(fn("/lib64/ld-linux-x86-64.so.2", cgout.Unknown, cgout.Unknown), cgout.Unknown, 0, 20, 0)
	call := func(from cgout.Func, line int, to cgout.Func, at int, count uint64, counts ...uint64) {
		p.Graph.AddCall(cgout.Call{Caller: from, File: src, Line: line, Callee: to, CalleeLine: at, Count: count, Counts: counts})
	}
	call(main, 11, f, 4, 2, 3000+150*n, 7)
	call(f, 6, f, 4, 9, 100, 1)
	call(f, 7, lib, 0, 30, 3000, 0)
	call(main, 12, rare, 20, 1, 2, 0)
	return p
}

// TestPageGraph: a function is one row whatever files it has lines in; its counts with callees, its calls by line, and
// the lines of functions that are over the threshold by what they call only.
func TestPageGraph(t *testing.T) {
	o := Defaults()
	o.Threshold, o.Dir = 1, "/src"
	o.Files = fstest.MapFS{"src/a.c": {Data: []byte(strings.Repeat("x\n", 30))}, "src/h.h": {Data: []byte("y\n")}}
	p := pageOf(t, o, Memory("p", callgraph("/src", 10)))
	require.True(t, p.Graph)
	var rows []string
	for _, f := range p.Funcs {
		rows = append(rows, fmt.Sprintf("%s %d %s:%d-%d k%d %v %v parts %d", f.N, f.B, p.Files[f.F].N, f.L, f.E, f.K, f.C, f.I, len(f.P)))
	}
	require.Equal(t, []string{
		"lib 1 ???:0-0 k1 [3000 0] [3000 0] parts 0",
		"f 0 /src/a.c:4-5 k0 [1500 7] [4500 7] parts 2",
		"main 0 /src/a.c:10-10 k0 [1 0] [4503 7] parts 0",
	}, rows)
	require.Equal(t, []string{"/src/prog", "/lib/libx.so"}, p.Objs)
	require.Equal(t, []any{4523.0, 7.0}, p.Total)
	require.Equal(t, 2, p.Omitted.N)
	require.Equal(t, []any{22.0, 0.0}, p.Omitted.C)
	var calls []string
	for _, c := range p.Calls {
		calls = append(calls, fmt.Sprint(c))
	}
	require.Equal(t, []string{"[1 1 1 6 [9] [100 1]]", "[1 0 1 7 [30] [3000 0]]", "[2 1 1 11 [2] [4500 7]]", "[2 -1 -1 0 [1] [2 0]]"}, calls)

	o.Threshold = 0
	p = pageOf(t, o, Memory("p", callgraph("/src", 10)))
	require.Len(t, p.Funcs, 5)
	require.Zero(t, p.Omitted.N)
	kinds := map[string]int{}
	for _, f := range p.Funcs {
		kinds[f.N] = f.K
	}
	require.Equal(t, map[string]int{"lib": kindLibrary, "f": kindOwn, "main": kindOwn, "rare": kindOwn, "???": kindLoader}, kinds)

	o.Top = 2
	require.Len(t, pageOf(t, o, Memory("p", callgraph("/src", 10))).Funcs, 2)
	o.Top, o.Focus = 0, []string{"f"}
	p = pageOf(t, o, Memory("p", callgraph("/src", 10)))
	require.Len(t, p.Funcs, 1)
	require.Equal(t, []any{3023.0, 0.0}, p.Omitted.C)
}

// TestPageGraphCompare: functions and files of two directories are the same ones, and calls have old and new.
func TestPageGraphCompare(t *testing.T) {
	o := Defaults()
	p := pageOf(t, o, Memory("old", callgraph("/old", 10)), Memory("new", callgraph("/new", 20)))
	require.True(t, p.Graph)
	require.Equal(t, "f", p.Funcs[0].N)
	require.Equal(t, []any{3000.0, 7.0, 1500.0, 7.0}, p.Funcs[0].C)
	require.Equal(t, []any{6000.0, 7.0, 4500.0, 7.0}, p.Funcs[0].I)
	require.Equal(t, "/new/a.c", p.Files[p.Funcs[0].F].N)
	require.Equal(t, "main", p.Funcs[1].N)
	require.Len(t, p.Funcs, 2, "others are as they were")
	require.Contains(t, fmt.Sprint(p.Calls), "[1 0 0 11 [2 2] [6000 7 4500 7]]")
	for _, f := range p.Files {
		require.NotContains(t, f.N, "/old/")
	}
	// One side without a call graph: no calls, but a comparison.
	flat := callgraph("/new", 20)
	flat.Graph = nil
	p = pageOf(t, o, Memory("old", callgraph("/old", 10)), Memory("new", flat))
	require.False(t, p.Graph)
	require.Empty(t, p.Calls)
	require.NotEmpty(t, p.Funcs)
}

// TestPageFile: a file in Callgrind's format has the same page as memory, and names are changed as options say.
func TestPageFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "callgrind.out")
	var b bytes.Buffer
	require.NoError(t, callgraph("/src", 1).WriteCallgrind(&b))
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o644))
	o := Defaults()
	o.Sources = false
	want, got := pageOf(t, o, Memory("p", callgraph("/src", 1))), pageOf(t, o, File(name))
	require.NotEmpty(t, got.Runs[0].Date)
	got.Runs, want.Runs = nil, nil
	require.Equal(t, want, got)
	o.RenameFunc = func(name string) (string, error) { return strings.ToUpper(name), nil }
	require.Equal(t, "LIB", pageOf(t, o, File(name)).Funcs[0].N)
	o.RenameFunc = func(string) (string, error) { return "", os.ErrInvalid }
	_, err := New(o, File(name))
	require.ErrorIs(t, err, os.ErrInvalid)
}

// TestPageOtherEvents: what has ten times the threshold's share of another event is there, though it has little of the
// first.
func TestPageOtherEvents(t *testing.T) {
	p := cgout.New("Ir", "D1mr", "Dr")
	p.Add("a.c", "hot", 1, 100_000, 5, 980)
	p.Add("a.c", "misses", 2, 1, 95, 5)
	p.Add("b.c", "little", 3, 1, 0, 9)
	names := func(o Options) (list []string) {
		for _, f := range pageOf(t, o, Memory("p", p)).Funcs {
			list = append(list, f.N)
		}
		return list
	}
	o := Defaults()
	require.Equal(t, []string{"hot", "misses"}, names(o))
	o.Show = []string{"Ir", "Dr"}
	require.Equal(t, []string{"hot"}, names(o))
	o.Threshold = 0.05
	require.Equal(t, []string{"hot", "misses", "little"}, names(o))
}

// TestPageCycle: functions of a cycle say so, and counts beyond what a double holds are texts.
func TestPageCycle(t *testing.T) {
	p := cgout.New("Ir")
	p.Graph = cgout.NewCallGraph(1)
	a, b := cgout.Func{Object: "o", File: "a.c", Name: "a"}, cgout.Func{Object: "o", File: "a.c", Name: "b"}
	for i, f := range []cgout.Func{a, b} {
		p.Add(f.File, f.Name, i+1, 1<<60)
		p.Graph.AddCost(f, f.File, i+1, 1<<60)
	}
	for _, c := range [][2]cgout.Func{{a, b}, {b, a}} {
		p.Graph.AddCall(cgout.Call{Caller: c[0], File: "a.c", Line: 1, Callee: c[1], CalleeLine: 1, Count: 1 << 55, Counts: []uint64{math.MaxUint64}})
	}
	page := pageOf(t, Defaults(), Memory("p", p))
	require.Equal(t, []int{1, 1}, []int{page.Funcs[0].Y, page.Funcs[1].Y})
	require.Equal(t, []any{"1152921504606846976"}, page.Funcs[0].C)
	require.Equal(t, []any{"36028797018963968"}, page.Calls[0][4])
	require.Equal(t, []any{"18446744073709551615"}, page.Calls[0][5])
}

// TestPageRows: without a call graph functions of one name are one row, however many files there are.
func TestPageRows(t *testing.T) {
	p := cgout.New("Ir")
	p.Add("a.c", "f", 3, 10)
	p.Add("b.h", "f", 1, 20)
	p.Add("c.h", "f", 1, 5)
	p.Add("a.c", "g", 7, 1)
	page := pageOf(t, Defaults(), Memory("p", p))
	require.False(t, page.Graph)
	require.Len(t, page.Funcs, 2)
	require.Equal(t, []any{35.0}, page.Funcs[0].C)
	require.Equal(t, "b.h", page.Files[page.Funcs[0].F].N)
	require.Len(t, page.Funcs[0].P, 3)
	p.Add("???", "??? (ld-linux-x86-64.so.2)", 0, 1)
	p.Add("???", "??? (libc.so.6)", 0, 1)
	p.Add("???", "???", 0, 1)
	var kinds []string
	for _, f := range pageOf(t, Defaults(), Memory("p", p)).Funcs[1:4] {
		kinds = append(kinds, fmt.Sprint(f.N, " ", f.K))
	}
	require.Equal(t, []string{"??? 3", "??? (ld-linux-x86-64.so.2) 2", "??? (libc.so.6) 1"}, kinds)
	empty := pageOf(t, Defaults(), Memory("p", cgout.New("Ir")))
	require.Empty(t, empty.Funcs)
}

// TestPageHead: a function begins where its name is defined, not where what it inlined stands.
func TestPageHead(t *testing.T) {
	text := strings.Split(`static unsigned hash(const char *s)
{
	return *s;
}
struct entry *table_add(struct table *t, const char *key);

// table_add adds.
struct entry *table_add(struct table *t,
		const char *key)
{
	unsigned h = hash(key);
	return table_add(t, key + h);
}`, "\n")
	for _, tt := range []struct {
		name              string
		first, last, want int
	}{
		{"table_add", 3, 12, 8},
		{"ns::table_add(table*, char const*)", 3, 12, 8},
		{"hash", 3, 3, 1},
		{"other", 3, 12, 3},
		{"???", 3, 12, 3},
		{"table_add", 0, 0, 0},
		{"table_add", 40, 50, 40},
	} {
		require.Equal(t, tt.want, head(text, tt.name, tt.first, tt.last), tt.name)
	}
}

// TestPageInstructions: they go to the function of their object.
func TestPageInstructions(t *testing.T) {
	o := Defaults()
	o.Asm = true
	page := pageOf(t, o, Memory("p", inMemory()))
	require.Len(t, page.Asm, 1)
	for i, rows := range page.Asm {
		require.Equal(t, "f", page.Funcs[i].N)
		require.Equal(t, []any{"1000", 0.0, 1.0, "nop", []any{10.0, 5.0}}, rows[0])
	}
	r, err := Compare(o, Memory("p", inMemory()), Memory("q", inMemory()))
	require.NoError(t, err)
	require.ErrorContains(t, r.WriteHTML(&bytes.Buffer{}), "one profile")
}

// TestPageOwn: one's own sources are those below the directory; if there are none, all that were found.
func TestPageOwn(t *testing.T) {
	p := cgout.New("Ir")
	for _, name := range []string{"/home/me/a.c", "/usr/lib/b.c", "rel.c", "../up.c"} {
		p.Add(name, "f"+name, 1, 10)
	}
	files := fstest.MapFS{}
	for _, name := range []string{"home/me/a.c", "usr/lib/b.c", "rel.c", "up.c"} {
		files[name] = &fstest.MapFile{Data: []byte("x\n")}
	}
	own := func(dir string) (list []string) {
		o := Defaults()
		o.Files, o.Dir = files, dir
		for _, f := range pageOf(t, o, Memory("p", p)).Files {
			if f.Own {
				list = append(list, f.N)
			}
		}
		return list
	}
	require.ElementsMatch(t, []string{"/home/me/a.c", "rel.c"}, own("/home/me"))
	require.ElementsMatch(t, []string{"rel.c"}, own("/home/m"))
	delete(files, "rel.c")
	require.ElementsMatch(t, []string{"/home/me/a.c", "/usr/lib/b.c", "../up.c"}, own("/home/you"))
}

// TestPageNotes: the page knows where sources were looked for, and which are newer than the profile.
func TestPageNotes(t *testing.T) {
	p := cgout.New("Ir")
	p.Add("/gone/a.c", "f", 1, 10)
	o := Defaults()
	o.Finder.Dirs = []string{"/else"}
	page := pageOf(t, o, Memory("p", p))
	require.Equal(t, SourceUnreadable, page.Files[0].Source)
	require.Equal(t, []string{"/else"}, page.Dirs)
	require.Empty(t, page.Files[0].Notes)
	require.Contains(t, sourceNotes(&ReportFile{Newer: []string{"p.out"}})[0], "newer than p.out")
}

// FuzzPage: whatever a profile has, its page is one, and counts of functions and what is omitted add up to the total.
func FuzzPage(f *testing.F) {
	f.Add([]byte("# callgrind format\nversion: 1\nevents: Ir Dr\n\nob=(1) /p\nfl=(1) a.c\nfn=(1) main\n1 1 2\ncfn=(2) f\ncalls=3 7\n2 50 1\nfn=(2)\n7 50 1\ncfn=(1)\ncalls=1 1\n8 9 9\ntotals: 51 3\n"))
	f.Add([]byte("cmd: x\nevents: Ir\nfl=a.c\nfn=f\n1 5\nfl=b.c\nfn=f\n1 18446744073709551616\nsummary: 18446744073709551621\n"))
	f.Add([]byte("version: 1\nevents: Ir\nfn=\xff</script>\n99999999999 18446744073709551615\ncfn=x\ncalls=18446744073709551615 1\n1 18446744073709551615\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := Input{name: "p", read: func() ([]byte, error) { return data, nil }}
		for _, threshold := range []float64{0, 5} {
			o := Options{Threshold: threshold, CallGraph: true, Context: 2}
			r, err := New(o, in)
			if err != nil {
				return
			}
			d, err := newPageData(r)
			require.NoError(t, err)
			sum := make(counts, len(r.Events))
			for _, fn := range d.Funcs {
				sum.add(fn.row.Counts)
			}
			var omitted []json.RawMessage
			require.NoError(t, json.Unmarshal(d.Omitted.Counts, &omitted))
			for e := range sum {
				n, ok := cgout.ParseCount(strings.Trim(string(omitted[e]), `"`))
				require.True(t, ok)
				require.Zero(t, sum[e].Add(n).Cmp(r.Total.Counts[e]), "event %d", e)
			}
			var b bytes.Buffer
			require.NoError(t, r.WriteHTML(&b))
			_, text, _ := strings.Cut(b.String(), `id="data">`)
			text, _, _ = strings.Cut(text, "</script>")
			require.True(t, json.Valid([]byte(text)))
			_, err = Compare(o, in, in)
			require.NoError(t, err)
		}
	})
}
