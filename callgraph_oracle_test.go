//go:build oracles && linux && amd64

package cgemu_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
)

// callgrindReference is Callgrind with the options by which the reference's Cachegrind counts.
var callgrindReference = append([]string{valgrind, "--tool=callgrind"}, reference[2:4]...)

// A callSite is a source line that calls a function.
type callSite struct {
	caller string
	line   int
	callee string
}

// A normalGraph is a call graph without what docs/counting.md says may differ from Callgrind's.
type normalGraph struct {
	calls, costs map[callSite]uint64
	self         map[string]uint64
	// unnamed is what calls of each function to code without a name cost: of ours, those of linkage tables too.
	unnamed map[string]uint64
	total   uint64
}

var (
	// A level of recursion that Callgrind shows apart, and code without a name, which it calls by its address.
	level   = regexp.MustCompile(`'[0-9]+$`)
	address = regexp.MustCompile(`^0x[0-9a-f]{16}`)
	// Functions that one goes on into the next of, or jumps into the middle of: to Callgrind what goes on there is the
	// first one still.
	joined = regexp.MustCompile(`^(__)?w?mem(p?cpy|move|set)(_[a-z0-9_]*)?$|^__str(n?casecmp)(_l)?_[a-z0-9_]*$`)
	parts  = regexp.MustCompile(`( \[clone )?\.(cold|part\.[0-9]+)\]?$`)
)

func normalName(name string) string {
	if name = level.ReplaceAllString(name, ""); !strings.Contains(name, "'") {
		return normalFunction(name)
	}
	// A function and its callers: in Callgrind's names there are entries of linkage tables, too.
	var list []string
	for i, fn := range strings.Split(name, "'") {
		fn = normalFunction(fn)
		if i == 0 || fn != cgout.Unknown && fn != list[len(list)-1] {
			list = append(list, fn)
		}
	}
	if list[0] == cgout.Unknown {
		return cgout.Unknown
	}
	return strings.Join(list[:min(len(list), callersCompared+1)], "'")
}

// callersCompared is how many callers are compared where functions are told apart by them.
const callersCompared = 2

func normalFunction(name string) string {
	switch {
	case address.MatchString(name):
		return cgout.Unknown
	case joined.MatchString(name):
		return "joined"
	}
	return parts.ReplaceAllString(name, "")
}

func isPart(name string) bool { return parts.MatchString(functionOf(name)) }

// functionOf is the function that a name begins with.
func functionOf(name string) string {
	name, _, _ = strings.Cut(name, "'")
	return name
}

func normalize(p *cgout.Profile) *normalGraph {
	g := &normalGraph{map[callSite]uint64{}, map[callSite]uint64{}, map[string]uint64{}, map[string]uint64{}, p.Totals()[0]}
	for c := range p.Graph.Costs {
		g.self[normalName(c.Func.Name)] += c.Counts[0]
	}
	for c := range p.Graph.Calls {
		site := callSite{normalName(c.Caller.Name), c.Line, normalName(c.Callee.Name)}
		switch {
		case site.caller == site.callee && (functionOf(site.caller) == "joined" || isPart(c.Caller.Name) || isPart(c.Callee.Name)):
		case site.callee == cgout.Unknown:
			g.unnamed[site.caller] += c.Counts[0]
		case site.caller == cgout.Unknown:
		default:
			g.calls[site] += c.Count
			g.costs[site] += c.Counts[0]
		}
	}
	return g
}

// compareGraphs compares ours with Callgrind's, and returns how many call sites are compared. Callgrind does not count
// the last block of a program, nor one behind which a signal's handler jumps elsewhere: so much at most may calls lack
// in which these are.
func compareGraphs(t *testing.T, want, got *normalGraph) int {
	t.Helper()
	last := got.total - want.total
	assert.LessOrEqual(t, last, uint64(60))
	for site, n := range want.calls {
		assert.Equal(t, n, got.calls[site], "calls, %v", site)
	}
	for site, cost := range got.costs {
		if _, ok := want.calls[site]; !ok && cost > last && want.unnamed[site.caller] >= cost {
			// Called by a linkage table's entry in another section than .plt, which Callgrind takes for a function.
			got.unnamed[site.caller] += cost
			continue
		}
		d := cost - want.costs[site]
		if functionOf(site.callee) == "(below main)" {
			d /= 2 // these are two functions, one called by the other
		}
		assert.LessOrEqual(t, d, last, "%v: %d, to Callgrind %d", site, cost, want.costs[site])
		if n, ok := want.calls[site]; !ok {
			assert.LessOrEqual(t, cost, last, "%d calls, %v", n, site)
		}
	}
	for name := range got.self {
		if name == cgout.Unknown || functionOf(name) == "joined" {
			continue
		}
		// The cost of a linkage table's entry is the caller's own to Callgrind.
		d := got.self[name] + got.unnamed[name] - want.self[name] - want.unnamed[name]
		assert.LessOrEqual(t, d, last, "%s: %d, to Callgrind %d", name, got.self[name], want.self[name])
	}
	return len(got.calls)
}

func readCallgrindFile(t *testing.T, name string) *cgout.Profile {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	p, err := cgout.Read(name, f)
	require.NoError(t, err)
	require.NotNil(t, p.Graph)
	return p
}

// TestOracleCallGraph compares static programs with Callgrind, call site by call site, and their jumps.
func TestOracleCallGraph(t *testing.T) {
	t.Parallel()
	sites, jumps := 0, 0
	for _, p := range staticPrograms(t) {
		if p.String() == "setjmp.c musl-gcc -O2" {
			continue // its sigsetjmp takes its return address off the stack, and returns by a jump: Callgrind sees a call of main
		}
		t.Run(p.String(), func(t *testing.T) {
			dir := t.TempDir()
			p.build(t, dir)
			ref := filepath.Join(dir, "ref")
			run(t, dir, []string{}, append(slices.Clone(callgrindReference), "-q", "--log-file=/dev/null", "--collect-jumps=yes", "--callgrind-out-file="+ref, "./prog")...)
			cfg := compat(t, cgemu.Config{Path: "./prog", Args: []string{"./prog"}, Dir: dir, Env: []string{preload}, CallGraph: true})
			sites += sameCalls(t, ref, cfg)
			if p.String() != "exceptions.cc g++ -O2" { // its functions have parts, to the middle of which they jump: these are calls, and to Callgrind jumps
				jumps += sameJumps(t, ref, cfg)
			}
		})
	}
	require.Greater(t, sites, 4000)
	require.Greater(t, jumps, 400)
}

// sameCalls compares the calls of a run with the reference's, and returns how many sites they have; sameJumps does so
// with jumps.
func sameCalls(t *testing.T, ref string, cfg cgemu.Config) int {
	t.Helper()
	_, r := guestRun(t, cfg)
	return compareGraphs(t, normalize(readCallgrindFile(t, ref)), normalize(r.Profile))
}

func sameJumps(t *testing.T, ref string, cfg cgemu.Config) int {
	t.Helper()
	cfg.CollectJumps = true
	_, r := guestRun(t, cfg)
	return compareJumps(t, jumpsOf(readCallgrindFile(t, ref)), jumpsOf(r.Profile))
}

// TestOracleCallGraphDynamic does so with programs of the system. (xz jumps into code without names, where Callgrind
// goes on with the function before.)
func TestOracleCallGraphDynamic(t *testing.T) {
	t.Parallel()
	dir, jumps := files(t), 0
	for _, args := range [][]string{
		{"/bin/true"}, {"/bin/echo", "a", "b"}, {"/bin/dash", "-c", "i=0; while [ $i -lt 20 ]; do i=$((i + 1)); done; echo $i"},
		{"/bin/sed", "-n", "s/line \\([0-9]*\\) of/\\1/p", "text"}, {"/usr/bin/mawk", "{ s[$1 % 10] += $1 } END { for (i in s) print i, s[i] }", "numbers"},
		{"/bin/gzip", "-dc", "text.gz"}, {"/bin/bzip2", "-dc", "text.bz2"}, {"/bin/busybox", "wc", "text"}, {"/usr/bin/bc", "-q", "calc"},
		{"/usr/bin/sha256sum", "text"}, {"/usr/bin/od", "-c", "json"}, {"/usr/bin/sort", "-S", "1M", "-n", "numbers"},
	} {
		t.Run(strings.Join(args[:1], " "), func(t *testing.T) {
			ref := filepath.Join(dir, "ref")
			runReference(t, dir, append(slices.Clone(callgrindReference), "-q", "--log-file=/dev/null", "--collect-jumps=yes"), nil, ref, args)
			cfg := compat(t, cgemu.Config{Args: args, Dir: dir, Env: []string{preload}, CallGraph: true})
			sameCalls(t, ref, cfg)
			jumps += sameJumps(t, ref, cfg)
		})
	}
	require.Greater(t, jumps, 3000)
}

// TestOracleSeparateCallers compares functions told apart by their callers: the names of contexts, and in each context
// what a function costs, whom it calls and what that costs. Callgrind's contexts have entries of linkage tables in
// them, which ours have not, so that both are asked for more callers than are compared.
func TestOracleSeparateCallers(t *testing.T) {
	t.Parallel()
	sites := 0
	for _, p := range staticPrograms(t) {
		if p.String() == "setjmp.c musl-gcc -O2" {
			continue // see TestOracleCallGraph
		}
		t.Run(p.String(), func(t *testing.T) {
			dir := t.TempDir()
			p.build(t, dir)
			run(t, dir, []string{}, append(slices.Clone(callgrindReference), "-q", "--log-file=/dev/null", "--separate-callers=8", "--separate-recs=1", "--callgrind-out-file=ref", "./prog")...)
			_, r := guestRun(t, compat(t, cgemu.Config{
				Path: "./prog", Args: []string{"./prog"}, Dir: dir, Env: []string{preload}, CallGraph: true, SeparateCallers: 4,
			}))
			sites += compareGraphs(t, normalize(readCallgrindFile(t, filepath.Join(dir, "ref"))), normalize(r.Profile))
		})
	}
	require.Greater(t, sites, 6000)
}

// TestOracleSeparateCallersDynamic does so with programs of the system.
func TestOracleSeparateCallersDynamic(t *testing.T) {
	dir := files(t)
	for _, args := range [][]string{
		{"/bin/true"}, {"/bin/echo", "a", "b"}, {"/bin/dash", "-c", "i=0; while [ $i -lt 20 ]; do i=$((i + 1)); done; echo $i"},
		{"/usr/bin/mawk", "{ s[$1 % 10] += $1 } END { for (i in s) print i, s[i] }", "numbers"}, {"/usr/bin/sha256sum", "text"},
		{compile(t, "g++", "-O1", "testdata/oracle/virtual.cc", "-o")}, {compile(t, "gcc", "-O1", "testdata/oracle/qsort.c", "-o")}, {compile(t, "g++", "-O1", "testdata/oracle/exceptions.cc", "-o")},
	} {
		t.Run(filepath.Base(args[0]), func(t *testing.T) {
			ref := filepath.Join(dir, "ref")
			runReference(t, dir, append(slices.Clone(callgrindReference), "-q", "--log-file=/dev/null", "--separate-callers=40", "--separate-recs=1"), nil, ref, args)
			_, r := guestRun(t, compat(t, cgemu.Config{Args: args, Dir: dir, Env: []string{preload}, CallGraph: true, SeparateCallers: 4}))
			compareGraphs(t, normalize(readCallgrindFile(t, ref)), normalize(r.Profile))
		})
	}
}

// A lineJump is a source line of a function, and another to which it jumps.
type lineJump struct {
	function    string
	line        int
	targetFile  string
	target      int
	conditional bool
}

// jumpsOf are a graph's jumps by line: how many there were, and how often conditional ones were executed.
func jumpsOf(p *cgout.Profile) map[lineJump][2]uint64 {
	jumps := map[lineJump][2]uint64{}
	for j := range p.Graph.Jumps {
		fn := normalName(j.Func.Name)
		if fn == cgout.Unknown || fn == "joined" || isPart(j.Func.Name) {
			continue
		}
		k := lineJump{fn, j.Line, filepath.Base(j.TargetFile), j.TargetLine, j.Conditional}
		n := jumps[k]
		jumps[k] = [2]uint64{n[0] + j.Count, n[1] + j.Executed}
	}
	return jumps
}

// compareJumps compares ours with Callgrind's, and returns how many there are. Callgrind has a jump's executions for
// each basic block that it ends, of those blocks alone behind which it jumped; and it has a jump of a line to itself
// for each iteration of a REP instruction.
func compareJumps(t *testing.T, want, got map[lineJump][2]uint64) int {
	t.Helper()
	for k, n := range want {
		if k.conditional && k.line == k.target && n[0] > got[k][0] {
			continue // REP
		}
		assert.Equal(t, n[0], got[k][0], "%v", k)
		assert.LessOrEqual(t, n[1], got[k][1], "executions, %v", k)
	}
	for k, n := range got {
		if _, ok := want[k]; !ok {
			assert.Fail(t, "Callgrind has no such jump", "%v: %d", k, n)
		}
	}
	return len(got)
}

// TestOracleSeparateThreads compares threads that are counted apart.
func TestOracleSeparateThreads(t *testing.T) {
	program, dir := buildThreads(t), t.TempDir()
	run(t, dir, []string{}, append(slices.Clone(callgrindReference), "-q", "--log-file=/dev/null", "--separate-threads=yes", "--callgrind-out-file=ref", program)...)
	_, r := guestRun(t, compat(t, cgemu.Config{Args: []string{program}, Env: []string{preload}, CallGraph: true, SeparateThreads: true}))
	require.Len(t, r.Profile.Threads, 5)
	for i, p := range r.Profile.Threads {
		want := readCallgrindFile(t, filepath.Join(dir, fmt.Sprintf("ref-%02d", i+1)))
		require.Equal(t, i+1, want.Thread)
		for _, fn := range []string{"step", "once", "often", "main", "wait_for_all"} {
			require.Equal(t, costOf(want, fn), costOf(p, fn), "thread %d, %s", i+1, fn)
		}
	}
}

// TestOracleCallgrindAnnotate has Valgrind's own reader of such files show one of ours.
func TestOracleCallgrindAnnotate(t *testing.T) {
	r := start(t, cgemu.Config{Args: []string{"testdata/calls"}, CallGraph: true, CollectJumps: true, Caches: &bigCaches, Branches: true})
	require.NotEmpty(t, slices.Collect(r.Profile.Graph.Jumps))
	file := filepath.Join(t.TempDir(), "callgrind.out")
	require.NoError(t, r.Profile.WriteFile(file))
	shown := run(t, ".", []string{"PATH=/usr/bin:/bin"}, "/usr/bin/callgrind_annotate", "--tree=both", "--inclusive=yes", "--threshold=100", "--show=Ir", file)
	require.Zero(t, shown.status, shown.stderr)
	total := cgout.Group(r.total())
	require.Regexp(t, `(?m)^`+total+` \(100\.0%\) +PROGRAM TOTALS$`, shown.stdout)
	type pair struct{ caller, callee string }
	count, cost := map[pair]uint64{}, map[pair]uint64{}
	for c := range r.Profile.Graph.Calls {
		count[pair{c.Caller.Name, c.Callee.Name}] += c.Count
		cost[pair{c.Caller.Name, c.Callee.Name}] += c.Counts[0]
	}
	require.Greater(t, len(count), 40)
	for p, n := range count {
		line := `(?m)^ *` + cgout.Group(cost[p]) + ` \([ 0-9.]+%\)  > +\S+:` + regexp.QuoteMeta(p.callee+" ("+cgout.Group(n)+"x)")
		if cost[p] > 0 {
			require.Regexp(t, line, shown.stdout, "%v", p)
		}
	}
}
