package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden from this run")

func readProfile(t testing.TB, name string) *cgout.Profile {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	p, err := cgout.Read(name, bytes.NewReader(data))
	require.NoError(t, err)
	return p
}

func write(t testing.TB, p *cgout.Profile, format string, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, format, p, o))
	return b.Bytes()
}

// TestFormats compares what is written with testdata; pprof's as it shows a profile.
func TestFormats(t *testing.T) {
	for _, name := range []string{"calls", "flat"} {
		p := readProfile(t, filepath.Join("testdata", name+".out"))
		for _, format := range Formats {
			t.Run(name+"/"+format, func(t *testing.T) {
				got := write(t, p, format, Options{})
				if format == "pprof" {
					pp, err := profile.ParseData(got)
					require.NoError(t, err)
					require.NoError(t, pp.CheckValid())
					got = []byte(pp.String())
				}
				golden := filepath.Join("testdata", name+"."+format+".golden")
				if *update {
					require.NoError(t, os.WriteFile(golden, got, 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.Equal(t, string(want), string(got), "go test ./export -update rewrites it")
				switch format {
				case "speedscope", "firefox", "perfetto":
					require.True(t, json.Valid(got))
				case "flamegraph":
					requireXML(t, got)
				case "callgrind":
					q, err := cgout.Read(golden, bytes.NewReader(got))
					require.NoError(t, err)
					require.Equal(t, p.Totals(), q.Totals())
					if p.Graph != nil {
						require.Empty(t, p.Difference(q))
					}
				}
			})
		}
	}
}

// TestThreads has the samples of threads with a label, in pprof's format, where that of all threads has none.
func TestThreads(t *testing.T) {
	for _, name := range []string{"calls", "flat"} {
		p := readProfile(t, filepath.Join("testdata", name+".out"))
		first, second := p.Clone(), p.Clone()
		first.Thread, second.Thread = 1, 2
		require.NoError(t, p.Merge(second))
		p.Threads = []*cgout.Profile{first, second}
		sums := map[int64]int64{}
		pp, err := profile.ParseData(write(t, p, "pprof", Options{}))
		require.NoError(t, err)
		for _, s := range pp.Sample {
			require.Len(t, s.NumLabel["thread"], 1)
			sums[s.NumLabel["thread"][0]] += s.Value[0]
		}
		total := int64(first.Totals()[0])
		require.Equal(t, map[int64]int64{1: total, 2: total}, sums)
	}
}

func requireXML(t testing.TB, data []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}

func TestOptions(t *testing.T) {
	p := readProfile(t, "testdata/calls.out")
	require.Contains(t, string(write(t, p, "folded", Options{Events: []string{"Dr"}, Lines: true})), "\nmain;f;a.c:10 3\n")
	require.Contains(t, string(write(t, p, "callgrind", Options{Events: []string{"Dr", "Ir", "Dr"}})), "events: Dr Ir\n")
	require.Contains(t, string(write(t, p, "lcov", Options{Events: []string{"Dr"}})), "DA:3,2\n")
	for _, tt := range []struct {
		format string
		p      *cgout.Profile
		o      Options
		want   string
	}{
		{"svg", p, Options{}, "export: no format svg: callgrind, pprof,"},
		{"pprof", p, Options{Events: []string{"Bc"}}, "export: the profile has no event Bc: Ir, Dr"},
		{"folded", cgout.New(), Options{}, "export: the profile has no events"},
	} {
		require.ErrorContains(t, Write(io.Discard, tt.format, tt.p, tt.o), tt.want)
	}
	for _, format := range Formats { // a profile in which nothing was counted
		empty := cgout.New("Ir")
		write(t, empty, format, Options{})
		empty.Graph = cgout.NewCallGraph(1)
		write(t, empty, format, Options{})
	}
}

// selfCosts returns what each function costs itself, by event, by the names of frames.
func selfCosts(g *cgout.CallGraph, e int) map[string]uint64 {
	m := map[string]uint64{}
	for _, f := range g.Functions().Functions {
		if f.Self[e] > 0 {
			m[functionName(f.Func)] += f.Self[e]
		}
	}
	return m
}

// requireExact has all formats that have stacks say what the profile does of each function itself.
func requireExact(t testing.TB, p *cgout.Profile) {
	t.Helper()
	for e, event := range p.Events {
		folded := map[string]uint64{}
		for line := range strings.Lines(string(write(t, p, "folded", Options{Events: []string{event}}))) {
			stack, count := line[:strings.LastIndexByte(line, ' ')], line[strings.LastIndexByte(line, ' ')+1:]
			n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 64)
			require.NoError(t, err)
			folded[stack[strings.LastIndex(stack, ";")+1:]] += n
		}
		require.Equal(t, selfCosts(p.Graph, e), folded)
	}
	pp, err := profile.ParseData(write(t, p, "pprof", Options{}))
	require.NoError(t, err)
	byLine := map[string]uint64{}
	for _, s := range pp.Sample {
		for e, n := range s.Value {
			l := s.Location[0].Line[0]
			if n > 0 {
				byLine[fmt.Sprint(e, l.Function.Name, l.Function.Filename, l.Line)] += uint64(n)
			}
		}
	}
	want := map[string]uint64{}
	for c := range p.Graph.Costs {
		for e, n := range c.Counts {
			if n > 0 {
				want[fmt.Sprint(e, c.Func.Name, c.File, c.Line)] += n
			}
		}
	}
	require.Equal(t, want, byLine)
	for e := range p.Events {
		want := selfCosts(p.Graph, e)
		for format, read := range map[string]func(testing.TB, []byte, int) map[string]uint64{
			"speedscope": speedscopeSelf, "firefox": firefoxSelf, "perfetto": perfettoSelf,
		} {
			require.Equal(t, want, read(t, write(t, p, format, Options{}), e), format)
		}
	}
	write(t, p, "flamegraph", Options{})
}

// speedscopeSelf, firefoxSelf and perfettoSelf return own costs of an event by function.
func speedscopeSelf(t testing.TB, data []byte, e int) map[string]uint64 {
	var f speedscopeFile
	require.NoError(t, json.Unmarshal(data, &f))
	p, sums, total := f.Profiles[e], map[string]uint64{}, uint64(0)
	for i, stack := range p.Samples {
		sums[f.Shared.Frames[stack[len(stack)-1]].Name] += p.Weights[i]
		total += p.Weights[i]
	}
	require.Equal(t, p.EndValue, total)
	return sums
}

func firefoxSelf(t testing.TB, data []byte, e int) map[string]uint64 {
	var f struct {
		Threads []struct {
			StringArray []string
			Samples     struct {
				Stack  []int
				Weight []uint64
				Length int
			}
			StackTable struct {
				Frame  []int
				Prefix []*int
				Length int
			}
			FrameTable struct{ Func []int }
			FuncTable  struct{ Name []int }
		}
	}
	require.NoError(t, json.Unmarshal(data, &f))
	th, sums := f.Threads[e], map[string]uint64{}
	require.Len(t, th.Samples.Weight, th.Samples.Length)
	require.Len(t, th.StackTable.Frame, th.StackTable.Length)
	for i, prefix := range th.StackTable.Prefix {
		require.True(t, prefix == nil || *prefix < i)
	}
	for i, stack := range th.Samples.Stack {
		sums[th.StringArray[th.FuncTable.Name[th.FrameTable.Func[th.StackTable.Frame[stack]]]]] += th.Samples.Weight[i]
	}
	return sums
}

func perfettoSelf(t testing.TB, data []byte, e int) map[string]uint64 {
	var f struct {
		TraceEvents []struct {
			Name, Ph string
			TID      int
			Args     struct{ Self uint64 }
		}
	}
	require.NoError(t, json.Unmarshal(data, &f))
	sums := map[string]uint64{}
	for _, ev := range f.TraceEvents {
		if ev.Ph == "X" && ev.TID == e+1 && ev.Args.Self > 0 {
			sums[ev.Name] += ev.Args.Self
		}
	}
	return sums
}

// randomProfile has calls in circles, and costs of calls that do not fit together.
func randomProfile(r *rand.Rand) *cgout.Profile {
	p := cgout.New("Ir", "Dr", "X")
	p.Graph = cgout.NewCallGraph(3)
	fn := func() cgout.Func {
		n := r.IntN(12)
		return cgout.Func{Object: "o", File: fmt.Sprint("f", n), Name: fmt.Sprint("n", n)}
	}
	counts := func(bits int) []uint64 {
		return []uint64{r.Uint64() >> (64 - bits), uint64(r.IntN(20)), r.Uint64() >> (64 - bits)}
	}
	bits := 1 + r.IntN(55)
	for range r.IntN(30) {
		f, c := fn(), counts(bits)
		line := r.IntN(5)
		p.Graph.AddCost(f, f.File, line, c...)
		p.Add(f.File, f.Name, line, c...)
	}
	for range r.IntN(40) {
		caller, callee := fn(), fn()
		p.Graph.AddCall(cgout.Call{Caller: caller, File: caller.File, Line: r.IntN(5), Callee: callee, CalleeLine: 1, Count: 1, Counts: counts(min(64, bits+r.IntN(10)))})
	}
	return p
}

// TestExact: whatever the calls, a function costs itself what the profile says.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		requireExact(t, randomProfile(r))
	}
}

// consistent returns a profile whose calls were made: a random walk through functions, of which later ones call earlier
// ones, and back up to some of these, so that they are in cycles.
func consistent(r *rand.Rand, calls, back int) *cgout.Profile {
	p := cgout.New("Ir")
	p.Graph = cgout.NewCallGraph(1)
	fn := func(i int) cgout.Func { return cgout.Func{Object: "o", File: "f", Name: string(rune('a' + i))} }
	var run func(i, depth int) uint64
	run = func(i, depth int) uint64 {
		cost := uint64(r.IntN(100))
		p.Graph.AddCost(fn(i), "f", i, cost)
		p.Add("f", fn(i).Name, i, cost)
		for i > 0 && calls > 0 && r.IntN(4) > 0 {
			calls--
			j := r.IntN(i)
			if i < back && depth < 40 {
				j = r.IntN(back)
			}
			below := run(j, depth+1)
			p.Graph.AddCall(cgout.Call{Caller: fn(i), File: "f", Line: i, Callee: fn(j), CalleeLine: j, Count: 1, Counts: []uint64{below}})
			cost += below
		}
		return cost
	}
	run(15, 0)
	return p
}

// TestInclusive: stacks have the inclusive cost of each function that is in no cycle, and of cycles as a whole.
func TestInclusive(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	cycles := 0
	for n := range 200 {
		p := consistent(r, 200, n%12)
		for _, d := range []detail{{}, {sites: true, lines: true}} {
			s, err := newStacks(p.Graph, []int{0}, d)
			require.NoError(t, err)
			got, inCycle, sums := map[string]uint64{}, map[string]string{}, map[string]uint64{}
			want := map[string]uint64{}
			for _, f := range p.Graph.Functions().Functions {
				switch {
				case f.Cycle != nil:
					inCycle[f.Name] = f.Cycle.Label()
					want[f.Cycle.Label()] = f.Cycle.Inclusive[0]
				case f.Inclusive[0] > 0:
					want[f.Name] = f.Inclusive[0]
				}
			}
			s.each(func(n *node) {
				on := map[string]bool{}
				for _, f := range n.stack() {
					require.False(t, f.kind == functionFrame && on["="+f.name], "%s is twice on a stack", f.name)
					on["="+f.name] = true
					if name := cmp.Or(inCycle[f.name], f.name); !on[name] && name != "(...)" {
						on[name] = true
						got[name] += n.own()[0]
					}
				}
				sums[n.name] += n.own()[0]
			})
			require.Equal(t, want, got)
			require.Equal(t, selfCosts(p.Graph, 0), sums)
		}
		cycles += len(p.Graph.Functions().Cycles)
	}
	require.Greater(t, cycles, 50)
}

// TestTreeIsExact: where no function has two callers, stacks are what they were.
func TestTreeIsExact(t *testing.T) {
	p := cgout.New("Ir")
	p.Graph = cgout.NewCallGraph(1)
	fn := func(name string) cgout.Func { return cgout.Func{Object: "o", File: "f", Name: name} }
	want := map[string]uint64{"a": 1, "a;b": 20, "a;c": 300, "a;b;d": 4000}
	for stack, n := range maps.All(want) {
		p.Graph.AddCost(fn(stack[len(stack)-1:]), "f", 1, n)
	}
	for call, n := range map[string]uint64{"ab": 4020, "ac": 300, "bd": 4000} {
		p.Graph.AddCall(cgout.Call{Caller: fn(call[:1]), Callee: fn(call[1:]), Count: 1, Counts: []uint64{n}})
	}
	require.Equal(t, "a 1\na;b 20\na;b;d 4000\na;c 300\n", string(write(t, p, "folded", Options{})))
}

// TestBounds has graphs that would have more stacks, or longer ones, than can be written.
func TestBounds(t *testing.T) {
	fn := func(i int) cgout.Func { return cgout.Func{Object: "o", File: "f", Name: fmt.Sprint("n", i)} }
	deep := cgout.New("Ir")
	deep.Graph = cgout.NewCallGraph(1)
	wide := cgout.New("Ir")
	wide.Graph = cgout.NewCallGraph(1)
	const n = 1000
	for i := range n {
		deep.Graph.AddCost(fn(i), "f", i, 1000)
		deep.Graph.AddCall(cgout.Call{Caller: fn(i), Callee: fn(i + 1), Count: 1, Counts: []uint64{uint64(n-i-1) * 1000}})
	}
	for i := range 60 { // 2^60 stacks
		wide.Graph.AddCost(fn(i), "f", i, 1<<20)
		for j := range 2 {
			callee := min(59, i+1+j)
			wide.Graph.AddCall(cgout.Call{Caller: fn(i), File: "f", Line: j, Callee: fn(callee), Count: 1, Counts: []uint64{uint64(60-i) << 20}})
		}
	}
	for _, p := range []*cgout.Profile{deep, wide} {
		s, err := newStacks(p.Graph, []int{0}, detail{sites: true, lines: true})
		require.NoError(t, err)
		stacks, depth, sums := 0, 0, map[string]uint64{}
		s.each(func(n *node) {
			stacks++
			depth = max(depth, n.depth)
			sums[n.name] += n.own()[0]
		})
		require.Less(t, stacks, 2*maxStacks)
		require.LessOrEqual(t, depth, maxDepth+1)
		require.Equal(t, selfCosts(p.Graph, 0), sums)
	}
}

// TestLarge: what does not fit is refused, calls that cannot be are cut.
func TestLarge(t *testing.T) {
	p := cgout.New("Ir")
	p.Graph = cgout.NewCallGraph(1)
	f, g := cgout.Func{Name: "f"}, cgout.Func{Name: "g"}
	p.Graph.AddCost(f, "f", 1, math.MaxInt64)
	for i := range 9 {
		p.Graph.AddCall(cgout.Call{Caller: f, Line: i, Callee: g, Count: 1, Counts: []uint64{math.MaxUint64}})
	}
	requireExact(t, p)
	p.Graph.AddCost(g, "f", 1, 1)
	require.ErrorContains(t, Write(io.Discard, "pprof", p, Options{}), "export: counts add up to more than 9223372036854775807")
}

// TestNames has names that formats might take for something else.
func TestNames(t *testing.T) {
	p := cgout.New("Ir")
	p.Graph = cgout.NewCallGraph(1)
	for i, name := range []string{"", "a;b 1", "x\ny", "]]></script><b>", "\x00\x1b\xff\"'&", "日本", strings.Repeat("long", 1000)} {
		p.Graph.AddCost(cgout.Func{Object: name, File: name, Name: name}, name, i, 1)
	}
	for _, format := range Formats {
		got := write(t, p, format, Options{Lines: true})
		switch format {
		case "flamegraph":
			requireXML(t, got)
		case "speedscope", "firefox", "perfetto":
			require.True(t, json.Valid(got))
		}
	}
	require.Equal(t, 7, strings.Count(string(write(t, p, "folded", Options{})), "\n"))
}

func TestShare(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	require.Equal(t, []uint64{1, 1, 0}, share(2, []uint64{5, 5, 5}))
	require.Equal(t, []uint64{math.MaxUint64, 0}, share(math.MaxUint64, []uint64{1, 0}))
	for range 2000 {
		weights, sum := make([]uint64, 1+r.IntN(9)), uint64(0)
		for i := range weights {
			weights[i] = r.Uint64() >> (1 + r.IntN(63)) / 16
			sum += weights[i]
		}
		if sum == 0 {
			continue
		}
		n := r.Uint64N(sum + 1)
		left := n
		for i, part := range share(n, weights) {
			require.LessOrEqual(t, part, weights[i])
			exact := float64(n) * float64(weights[i]) / float64(sum)
			require.InDelta(t, exact, float64(part), 1+exact*1e-12)
			left -= part
		}
		require.Zero(t, left)
	}
	// Sums beyond 64 bits.
	big := share(1000, []uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64 / 2})
	require.Equal(t, []uint64{400, 400, 200}, big)
}

// FuzzWrite writes whatever can be read, in all formats.
func FuzzWrite(f *testing.F) {
	for _, name := range []string{"testdata/calls.out", "testdata/flat.out"} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("# callgrind format\nevents: Ir\nfn=a\n1 18446744073709551615\ncfn=a\ncalls=1 1\n1 18446744073709551615\ncfn=b\ncalls=1 1\n1 9\nfn=b\ncfn=a\ncalls=1 1\n1 9\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := cgout.Read("x", bytes.NewReader(data))
		if err != nil {
			return
		}
		fits := true
		for _, n := range p.Totals() {
			fits = fits && n <= math.MaxInt64
		}
		for _, format := range Formats {
			var b bytes.Buffer
			err := Write(&b, format, p, Options{})
			if format != "lcov" && format != "callgrind" && !fits {
				continue
			}
			require.NoError(t, err, format)
			if format == "callgrind" {
				_, err := cgout.Read(format, bytes.NewReader(b.Bytes()))
				require.True(t, err == nil || !fits, "%v\n%s", err, b.Bytes())
			}
		}
	})
}
