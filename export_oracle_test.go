//go:build oracles && linux && amd64

package cgemu_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/export"
	"github.com/cgemu/cgemu/internal/browsertest"
)

// speedscopeDir is what `npm pack speedscope` has.
const speedscopeDir = ".ci/debian/speedscope/package/dist/release"

// An exported is a profile with a call graph, and a directory for what other programs make of it.
type exported struct {
	*cgout.Profile
	fg        *cgout.FunctionGraph
	name, dir string
}

func exportedProfiles(t *testing.T) map[string]*exported {
	list := map[string]*exported{}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "calls.c"), []byte(callsSource), 0o666))
	build(t, dir, "gcc", "-g", "-O1", "-static", "calls.c", "-o", "prog")
	for name, args := range map[string][]string{
		"calls":   {"./prog"},
		"sqlite3": {"sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x+1 from c where x<2000) select sum(x*x) from c;"},
		"perl":    {"perl", "-e", `my %h; $h{$_ % 17} .= $_ for 1..3000; print join ",", map { length } @h{sort keys %h}`},
	} {
		path, err := exec.LookPath(args[0])
		if strings.HasPrefix(args[0], "./") {
			path, err = args[0], nil
		}
		require.NoError(t, err)
		_, r := guestRun(t, cgemu.Config{Path: path, Args: args, Dir: dir, Env: []string{}, CallGraph: true, Branches: name != "perl"})
		e := &exported{r.Profile, r.Profile.Graph.Functions(), name, t.TempDir()}
		require.Greater(t, len(e.fg.Functions), 30)
		list[name] = e
	}
	return list
}

// callsSource has recursion, a cycle, a function with two callers, and one by a pointer.
const callsSource = `
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static int odd(int);
static NOINLINE int even(int n) { return n == 0 ? 1 : odd(n - 1) + 0 * n; }
static NOINLINE int odd(int n) { int x = n == 0 ? 0 : even(n - 1); return x + 0; }
static NOINLINE int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static NOINLINE int leaf(int n) { volatile int s = 0; while (n-- > 0) s += n; return s; }
static NOINLINE int once(void) { return leaf(10) + 1; }
static NOINLINE int often(void) { int s = 0; for (int i = 0; i < 50; i++) s += leaf(i); return s; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
	int v[100];
	for (int i = 0; i < 100; i++) v[i] = i * 7919 % 211;
	qsort(v, 100, sizeof *v, compare);
	printf("%d %d %d %d\n", fib(15), even(30), once() + often(), v[3]);
	return 0;
}
`

// file writes the profile in a format.
func (e *exported) file(t *testing.T, format string, o export.Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, export.Write(&b, format, e.Profile, o))
	name := filepath.Join(e.dir, "out."+format)
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o666))
	return name
}

// TestOracleExport has other programs read what is exported. They are to find the profile's numbers there.
func TestOracleExport(t *testing.T) {
	t.Parallel()
	for name, e := range exportedProfiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Run("callgrind_annotate", func(t *testing.T) { callgrindAnnotate(t, e) })
			t.Run("pprof", func(t *testing.T) { pprofReads(t, e) })
			if name == "perl" {
				return // what follows takes seconds each
			}
			t.Run("speedscope", func(t *testing.T) { speedscopeReads(t, e) })
			if name == "calls" {
				t.Run("genhtml", func(t *testing.T) { genhtmlReads(t, e) })
				t.Run("flamegraph", func(t *testing.T) { browserShows(t, e) })
			}
		})
	}
}

// output runs a program in the root directory, from which names of files are not shortened.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PPROF_NO_BROWSER=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%q: %s", args, stderr.String())
	return string(out)
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	require.NoError(t, err)
	return n
}

// callgrindAnnotate compares inclusive costs, and calls. It knows a function by file and name, and counts recursive
// calls again.
func callgrindAnnotate(t *testing.T, e *exported) {
	text := output(t, "callgrind_annotate", "--inclusive=yes", "--tree=both", "--threshold=100", "--show-percs=no", "--show=Ir", "--auto=no", e.file(t, "callgrind", export.Options{}))
	row := regexp.MustCompile(`(?m)^ *([0-9,]+)  ([*<>]) +(.*?)(?: \(([0-9,]+)x\))?(?: \[[^]]*\])?$`)
	type call struct{ caller, callee string }
	inclusive, calls := map[string]uint64{}, map[call]uint64{}
	var callers []string
	var counts []uint64
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		switch m[2] {
		case "<":
			callers, counts = append(callers, m[3]), append(counts, number(t, m[1]))
		case "*":
			inclusive[m[3]] = number(t, m[1])
			for i, c := range callers {
				calls[call{c, m[3]}] = counts[i]
			}
			callers, counts = nil, nil
		}
	}
	require.Equal(t, e.Totals()[0], number(t, regexp.MustCompile(`(?m)^([0-9,]+)  PROGRAM TOTALS`).FindStringSubmatch(text)[1]))
	same := map[string]int{}
	for _, f := range e.fg.Functions {
		same[f.File+":"+f.Name]++
	}
	compared, arcs := 0, 0
	for _, f := range e.fg.Functions {
		name := f.File + ":" + f.Name
		if same[name] > 1 || f.Name == cgout.Unknown {
			continue
		}
		if len(f.Callers) > 0 && f.Cycle == nil && !slices.ContainsFunc(f.Callers, (*cgout.Arc).Recursive) {
			require.Equal(t, f.Inclusive[0], inclusive[name], name)
			compared++
		}
		for _, a := range f.Callers {
			caller := a.Caller.File + ":" + a.Caller.Name
			if same[caller] == 1 && !slices.ContainsFunc(a.Sites, func(s cgout.CallSite) bool { return s.File != a.Caller.File }) {
				require.Equal(t, a.Counts[0], calls[call{caller, name}], "%s to %s", caller, name)
				arcs++
			}
		}
	}
	require.Greater(t, compared, 20)
	require.Greater(t, arcs, 20)
	t.Log(compared, "functions,", arcs, "arcs")
}

// byName adds up own and inclusive costs by what export calls functions.
func (e *exported) byName(event int) (self map[string]uint64, inclusive map[string]uint64) {
	self, inclusive = map[string]uint64{}, map[string]uint64{}
	several := map[string]bool{}
	for _, f := range e.fg.Functions {
		name := f.Name
		if name == cgout.Unknown && f.Object != cgout.Unknown {
			name += " (" + filepath.Base(f.Object) + ")"
		}
		several[name] = several[name] || f.Cycle != nil || inclusive[name] > 0
		self[name] += f.Self[event]
		inclusive[name] += f.Inclusive[event]
	}
	for name := range several {
		if several[name] { // one may be below the other
			delete(inclusive, name)
		}
	}
	return self, inclusive
}

// pprofReads compares pprof's own and inclusive costs of every event; inclusive ones where no stacks were bundled.
func pprofReads(t *testing.T, e *exported) {
	file := e.file(t, "pprof", export.Options{})
	all := []string{"-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-symbolize=none"}
	row := regexp.MustCompile(`(?m)^ *(\d+) +[\d.e-]+% +[\d.e-]+% +(\d+) +[\d.e-]+% +(.*)$`)
	for i, event := range e.Events {
		text := output(t, append(append([]string{"go", "tool", "pprof", "-sample_index=" + event, "-top"}, all...), file)...)
		require.Contains(t, text, fmt.Sprintf("of %d total", e.Totals()[i]))
		want, inclusive := e.byName(i)
		bundled, sum := strings.Contains(text, "(...)"), uint64(0)
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			name := strings.TrimSuffix(m[3], " (inline)")
			if strings.HasPrefix(name, "(") && name != "(below main)" {
				require.Equal(t, "0", m[1], name)
				continue
			}
			require.Equal(t, want[name], number(t, m[1]), "%s of %s", event, name)
			if n, ok := inclusive[name]; ok && !bundled {
				require.Equal(t, n, number(t, m[2]), "inclusive %s of %s", event, name)
			}
			sum += number(t, m[1])
		}
		require.Equal(t, e.Totals()[i], sum)
	}
	peek := output(t, append(append([]string{"go", "tool", "pprof", "-sample_index=Ir", "-peek=^malloc$|^leaf$"}, all...), file)...)
	require.Regexp(t, `(?m)\| +(malloc|leaf)$`, peek)
	sum := uint64(0)
	raw := output(t, "go", "tool", "pprof", "-raw", "-symbolize=none", file)
	samples, _, _ := strings.Cut(raw, "\nLocations\n")
	for _, m := range regexp.MustCompile(`(?m)^ +(\d+)[ \d]*: [\d ]+$`).FindAllStringSubmatch(samples, -1) {
		sum += number(t, m[1])
	}
	require.Equal(t, e.Totals()[0], sum)
}

// genhtmlReads has genhtml make pages without sources, and compares how many lines it found.
func genhtmlReads(t *testing.T, e *exported) {
	file := e.file(t, "lcov", export.Options{})
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	text := output(t, "lcov", "--summary", file)
	lines := strings.Count(string(data), "\nDA:")
	require.Greater(t, lines, 10)
	require.Contains(t, text, fmt.Sprintf("(%d of %d lines)", lines, lines))
	pages := filepath.Join(e.dir, "html")
	output(t, "genhtml", "--ignore-errors", "source", "--quiet", "-o", pages, file)
	require.FileExists(t, filepath.Join(pages, "index.html"))
}

// speedscopeReads holds the file to speedscope's schema, has its importer read it in a browser, and compares own costs.
func speedscopeReads(t *testing.T, e *exported) {
	file := e.file(t, "speedscope", export.Options{})
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(speedscopeDir, "file-format-schema.json"))
	require.NoError(t, err, ".ci/oracles .ci/debian fetches it")
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value))

	b := browsertest.New(t)
	e.speedscopeShows(t, b, file, "profile.json")
	b.Screenshot("speedscope-" + e.name)
	// It imports other formats, too.
	e.speedscopeShows(t, b, e.file(t, "folded", export.Options{}), "profile.folded")
	e.speedscopeShows(t, b, e.file(t, "pprof", export.Options{}), "profile.pb.gz")
}

// speedscopeShows has speedscope's importer read a file in a browser, and compares own costs by function. The name
// tells it what to expect.
func (e *exported) speedscopeShows(t *testing.T, b *browsertest.Browser, file, name string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	script := filepath.Join(e.dir, name+".js")
	require.NoError(t, os.WriteFile(script, fmt.Appendf(nil, "speedscope.loadFileFromBase64(%q, %q)", name, base64.StdEncoding.EncodeToString(data)), 0o666))
	b.Open(filepath.Join(speedscopeDir, "index.html"), "#localProfilePath="+script+"&view=sandwich")
	b.Is("true", `document.querySelectorAll("tr").length > 20`)
	want, _ := e.byName(0)
	several := map[string]int{}
	for _, f := range e.fg.Functions {
		several[f.Name]++
	}
	for c := range e.Graph.Costs {
		if c.File != c.Func.File {
			several[c.Func.Name]++ // in pprof's format a function for each file
		}
	}
	var cells [][]string
	require.NoError(t, json.Unmarshal([]byte(b.Eval(`JSON.stringify([...document.querySelectorAll("tr")].map(r => [...r.querySelectorAll("td")].map(c => c.textContent)))`)), &cells))
	got := map[string]uint64{} // columns are total, self, name
	for _, c := range cells {
		if len(c) != 3 {
			continue
		}
		if m := regexp.MustCompile(`^([\d,]+) \(`).FindStringSubmatch(c[1]); m != nil {
			got[c[2]] += number(t, m[1])
		}
	}
	for fn, n := range got { // those that are on the screen: of several with one name perhaps one
		if several[fn] == 1 {
			require.Equal(t, want[fn], n, "%s: %s", name, fn)
		}
	}
	require.Greater(t, len(got), 10, "%s: %q", name, cells)
}

// browserShows zooms and searches the flame graph.
func browserShows(t *testing.T, e *exported) {
	file := e.file(t, "flamegraph", export.Options{})
	require.NoError(t, os.Rename(file, file+".svg"))
	b := browsertest.New(t)
	b.Open(file+".svg", "")
	b.Is(strconv.FormatUint(e.Totals()[0], 10), `document.documentElement.dataset.total`)
	b.Is("none", `document.getElementById("reset").style.display`)
	b.Screenshot("flamegraph-" + e.name)
	b.Eval(`[...document.querySelectorAll("g.f")].find(g => g.dataset.d === "2").dispatchEvent(new MouseEvent("click"))`)
	b.Is("", `document.getElementById("reset").style.display`)
	b.Keys("\x1b")
	b.Is("none", `document.getElementById("reset").style.display`)
	b.Eval(`window.prompt = () => "^all$"`)
	b.Keys("/")
	b.Is("matched: 100.00%", `document.getElementById("matched").textContent`)
	b.Clean()
}
