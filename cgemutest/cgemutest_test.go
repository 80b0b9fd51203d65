package cgemutest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/check"
)

// A recorder is a test whose failure is looked at.
type recorder struct {
	testing.TB
	name                   string
	failed, skipped, noted string
	cleanups               []func()
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return r.name }

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }
func (r *recorder) Logf(format string, args ...any)   { r.noted = fmt.Sprintf(format, args...) }
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// record runs f with a test of its own.
func record(name string, f func(t testing.TB)) *recorder {
	r := &recorder{name: name}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	for _, f := range r.cleanups {
		f()
	}
	return r
}

// program is one that is checked in, by its path.
func program(t *testing.T, name string) string {
	path, err := filepath.Abs(filepath.Join("..", "testdata", name))
	require.NoError(t, err)
	return path
}

// inPackage has a test keep its baseline in a directory of its own, which becomes the working directory, too.
func inPackage(t *testing.T) string {
	dir, before := t.TempDir(), packageDir
	t.Chdir(dir)
	packageDir = dir
	t.Cleanup(func() { packageDir = before })
	return dir
}

func needs(t *testing.T) {
	if _, err := cgemu.FindEngine(""); err != nil {
		t.Skip(err)
	}
}

func TestCheck(t *testing.T) {
	needs(t)
	dumps := program(t, "dumps")
	text, err := os.ReadFile(program(t, "guest"))
	require.NoError(t, err)
	guest := filepath.Join(t.TempDir(), "dumps") // another build of it
	require.NoError(t, os.WriteFile(guest, text, 0o755))
	inPackage(t)
	check := func(path, limit string, args ...string) *recorder {
		return record("TestX/a b", func(t testing.TB) { Check(t, cgemu.Command(path, args...), limit) })
	}
	require.Contains(t, check(dumps, "", "1").failed, "testdata/cgemu.baseline does not have TestX/a_b: go test -cgemu.update writes it")
	*update = true
	defer func() { *update = false }()
	require.Empty(t, check(dumps, "", "1").failed)
	*update = false
	r := check(dumps, "", "1")
	require.Empty(t, r.failed)
	require.Equal(t, "TestX/a_b: same: Ir 25\n", r.noted)
	require.Contains(t, check(guest, "1%", "1").failed, ": regression: Ir ")
	require.Contains(t, check(guest, "1000000000", "1").noted, "Ir 25 -> ")
	require.Contains(t, check(guest, "1000000000", "2").failed, `command: "dumps 2" was "dumps 1": the counts do not compare`)
	require.Contains(t, check(guest, "many").failed, `limit: many is neither`)
	require.Contains(t, check("./absent", "").failed, "no such file")
	require.Contains(t, check("absent", "").failed, "not found")
	require.NoError(t, os.WriteFile(Baseline, []byte("broken\n"), 0o644))
	require.Contains(t, check(dumps, "").failed, "1: not BENCHMARK")
}

// TestChdir has the baseline, and the sources beside it, in the package's directory, wherever a test is.
func TestChdir(t *testing.T) {
	needs(t)
	dumps := program(t, "dumps")
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, here, packageDir)
	dir := inPackage(t)
	require.NoError(t, os.WriteFile("a_test.go", []byte("package a\nfunc TestX() {}"), 0o644))
	require.NoError(t, write(check.Baseline{"TestGone": {Events: map[string]uint64{"Ir": 1}}}))
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	test := func() *recorder {
		return record("TestX", func(t testing.TB) { Check(t, cgemu.Command(dumps), "") })
	}
	*update = true
	defer func() { *update = false }()
	require.Empty(t, test().failed)
	*update = false
	require.Equal(t, "TestX: same: Ir 25\n", test().noted)
	b, err := readBaseline()
	require.NoError(t, err)
	require.Equal(t, []string{"TestX"}, slices.Sorted(maps.Keys(b)))
	list, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, list)

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "testdata")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, Baseline), 0o755))
	_, err = readBaseline()
	require.EqualError(t, err, Baseline+": is a directory")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "testdata")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "testdata"), nil, 0o644))
	require.EqualError(t, write(b), Baseline+" cannot be written: not a directory")
}

// TestTwice has a test compare two programs: they would have one place in the baseline.
func TestTwice(t *testing.T) {
	needs(t)
	dumps := program(t, "dumps")
	inPackage(t)
	*update = true
	defer func() { *update = false }()
	for range 2 { // as with -count=2
		var first *cgemu.Result
		r := record("TestX", func(t testing.TB) {
			first = Check(t, cgemu.Command(dumps, "1"), "")
			Check(t, cgemu.Command(dumps, "2"), "")
		})
		require.NotNil(t, first)
		require.Equal(t, "cgemutest: TestX has one Check or CheckFunc already: put the others into subtests", r.failed)
		r = record("TestX", func(t testing.TB) {
			Check(t, cgemu.Command(dumps, "1"), "")
			CheckFunc(t, "", func() {})
		})
		require.Contains(t, r.failed, "one Check or CheckFunc already")
		require.Empty(t, record("TestX/sub", func(t testing.TB) { Check(t, cgemu.Command(dumps, "2"), "") }).failed)
	}
	b, err := readBaseline()
	require.NoError(t, err)
	require.Equal(t, "dumps 1", b["TestX"].Fingerprint["command"])
	require.Equal(t, "dumps 2", b["TestX/sub"].Fingerprint["command"])
}

// TestMadeNames has subtests with names that package testing makes, or that have what no baseline has.
func TestMadeNames(t *testing.T) {
	if os.Getenv(counted) == "" {
		needs(t)
		inPackage(t)
		*update = true
		defer func() { *update = false }()
	}
	for _, name := range []string{"same", "same", "", "C#"} {
		t.Run(name, func(t *testing.T) { CheckFunc(t, "", func() { total++ }) })
	}
	if os.Getenv(counted) != "" {
		return
	}
	b, err := readBaseline()
	require.NoError(t, err)
	want := []string{"TestMadeNames/C_", "TestMadeNames/_00", "TestMadeNames/same", "TestMadeNames/same_01"}
	require.Equal(t, want, slices.Sorted(maps.Keys(b)))
	dumps := program(t, "dumps")
	r := record("TestMadeNames/same 01", func(t testing.TB) { Check(t, cgemu.Command(dumps), "") })
	require.Contains(t, r.failed, "TestMadeNames/same#01 has the name TestMadeNames/same_01 in the baseline already")
}

// TestHint has names that are odd in patterns and in a shell.
func TestHint(t *testing.T) {
	needs(t)
	dumps := program(t, "dumps")
	inPackage(t)
	for name, want := range map[string]string{
		"TestSub/a.*[":     `go test . -run '^TestSub$/^a\.\*\[$' -cgemu.update`,
		"TestSub/don't#01": `go test . -run '^TestSub$/^don'\''t#01$' -cgemu.update`,
		"BenchmarkX/a":     `go test . -run '^$' -bench '^BenchmarkX$/^a$' -cgemu.update`,
	} {
		*update = true
		require.Empty(t, record(name, func(t testing.TB) { Check(t, cgemu.Command(dumps, "1"), "") }).failed)
		*update = false
		r := record(name, func(t testing.TB) { Check(t, cgemu.Command(dumps, "2"), "") })
		require.True(t, strings.HasSuffix(r.failed, "If that is meant: "+want), r.failed)
	}
}

// TestUpdateDrops updates a baseline that has counts of tests that are gone.
func TestUpdateDrops(t *testing.T) {
	needs(t)
	dumps := program(t, "dumps")
	for name, c := range map[string]struct {
		flags map[string]string
		files map[string]string
		want  []string
	}{
		"all":      {nil, map[string]string{"a_test.go": "package a\nfunc TestHere() {}\nfunc BenchmarkX() {}"}, []string{"BenchmarkX", "TestHere/now"}},
		"chosen":   {map[string]string{"test.run": "x"}, map[string]string{"a_test.go": "package a\nfunc TestHere() {}"}, []string{"TestHere", "TestHere/before", "TestHere/now"}},
		"left out": {map[string]string{"test.skip": "x"}, map[string]string{"a_test.go": "package a\nfunc TestHere() {}"}, []string{"TestHere", "TestHere/before", "TestHere/now"}},
		"short":    {map[string]string{"test.short": "true"}, map[string]string{"a_test.go": "package a\nfunc TestHere() {}"}, []string{"TestHere", "TestHere/before", "TestHere/now"}},
		"another system's": {
			nil, map[string]string{"a_test.go": "package a\nfunc TestHere() {}", "b_test.go": "//go:build plan9\n\npackage a\nfunc TestGone() {}\nfunc (x T) BenchmarkX() {}"},
			[]string{"TestGone", "TestGone/x", "TestHere/now"},
		},
		"no sources": {nil, nil, []string{"BenchmarkX", "TestGone", "TestGone/x", "TestHere/now"}},
		"wrong":      {nil, map[string]string{"a_test.go": "package"}, []string{"BenchmarkX", "TestGone", "TestGone/x", "TestHere/now"}},
	} {
		t.Run(name, func(t *testing.T) {
			inPackage(t)
			for file, text := range c.files {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			for _, f := range []string{"test.run", "test.skip", "test.short"} {
				was := flag.Lookup(f).Value.String()
				defer flag.Set(f, was)
				set := c.flags[f]
				if set == "" && f == "test.short" {
					set = "false"
				}
				require.NoError(t, flag.Set(f, set))
			}
			was := begun
			*update, begun = true, map[string]bool{}
			defer func() { *update, begun = false, was }()
			old := check.Baseline{}
			for _, name := range []string{"TestGone", "TestGone/x", "TestHere", "TestHere/before", "BenchmarkX"} {
				old[name] = &check.Counts{Events: map[string]uint64{"Ir": 1}}
			}
			require.NoError(t, write(old))
			for _, name := range []string{"TestHere/now", "TestHere/now"} {
				require.Empty(t, record(name, func(t testing.TB) { Check(t, cgemu.Command(dumps), "") }).failed)
			}
			got, err := readBaseline()
			require.NoError(t, err)
			require.Equal(t, c.want, slices.Sorted(maps.Keys(got)))
			require.Empty(t, record("TestHere/then", func(t testing.TB) { Check(t, cgemu.Command(dumps), "") }).failed)
			got, err = readBaseline()
			require.NoError(t, err)
			require.Contains(t, got, "TestHere/now")
		})
	}
}

func TestRun(t *testing.T) {
	needs(t)
	dumps := program(t, "dumps")
	r := record("x", func(t testing.TB) { Run(t, cgemu.Command("./absent")) })
	require.Contains(t, r.failed, "./absent: ")
	require.EqualValues(t, 4, Run(t, cgemu.Command(dumps)).Profile.Total("Ir"))
	r = record("x", func(t testing.TB) {
		c := cgemu.Command(dumps)
		c.Engine = "nosuch"
		Run(t, c)
	})
	require.Contains(t, r.skipped, "nosuch")
}

// TestOtherProcesses counts what a shell starts: in Check, and in Report.
func TestOtherProcesses(t *testing.T) {
	needs(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	guest := program(t, "guest")
	command := func() *cgemu.Cmd { return cgemu.Command("sh", "-c", `"$0"; exit 0`, guest) }
	inPackage(t)
	*update = true
	defer func() { *update = false }()
	all := Check(t, command(), "")
	require.Empty(t, all.Children)
	cmd := command()
	cmd.TraceChildren = false
	first := Run(t, cmd)
	apart := Run(t, command())
	require.Len(t, apart.Children, 1)
	require.Equal(t, first.Profile.Total("Ir"), apart.Profile.Total("Ir"))
	require.Equal(t, apart.Profile.Total("Ir")+apart.Children[0].Profile.Total("Ir"), all.Profile.Total("Ir"))
	for _, res := range []*cgemu.Result{all, apart} {
		r := testing.Benchmark(func(b *testing.B) { Report(b, res, 1) })
		require.InDelta(t, all.Profile.Total("Ir"), r.Extra["Ir/op"], 0)
	}
}

// TestReportNothing has no operations to divide by.
func TestReportNothing(t *testing.T) {
	needs(t)
	res := Run(t, cgemu.Command(program(t, "dumps")))
	for _, n := range []int{0, -1} {
		went := false
		r := testing.Benchmark(func(b *testing.B) {
			Report(b, res, n)
			went = true
		})
		require.False(t, went)
		require.Empty(t, r.Extra)
	}
}

func ExampleReport() {
	r := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			res, err := cgemu.Run(b.Context(), cgemu.Config{Path: "../testdata/dumps", Args: []string{"dumps"}})
			if err != nil {
				b.Skip(err)
			}
			Report(b, res, 1)
		}
	})
	fmt.Println(r.Extra["Ir/op"])
	// Output: 4
}

// TestCache has go test keep the result of a test until a file changes that the program reads.
func TestCache(t *testing.T) {
	needs(t)
	if testing.Short() {
		t.Skip("it compiles a test")
	}
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	here, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	mod, err := os.ReadFile(filepath.Join(here, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(here, "go.sum"))
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module github.com/cgemu/cgemu", "module example.org/cached\n\nrequire github.com/cgemu/cgemu v0.0.0", 1)
	write("go.mod", text+"\nreplace github.com/cgemu/cgemu => "+strconv.Quote(here)+"\n")
	write("go.sum", string(sum))
	write("data.txt", "some data\n")
	write("cached_test.go", `package cached

import (
	"testing"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgemutest"
)

func TestData(t *testing.T) { cgemutest.Run(t, cgemu.Command("`+cat+`", "data.txt")) }
`)
	test := func() string {
		cmd := exec.Command("go", "test", "-trimpath", "-pgo="+filepath.Join(here, "cmd/cgemu/default.pgo"), "-vet=off", "-mod=mod", ".") // as make compiles all
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	test()
	require.Contains(t, test(), "(cached)")
	time.Sleep(10 * time.Millisecond) // go test compares times
	write("data.txt", "other data\n")
	require.NotContains(t, test(), "(cached)")
}

// TestDamagedBaseline names the file, the line and what writes it anew.
func TestDamagedBaseline(t *testing.T) {
	inPackage(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(Baseline), 0o755))
	require.NoError(t, os.WriteFile(Baseline, []byte("x"), 0o644))
	_, err := readBaseline()
	require.ErrorContains(t, err, Baseline+":1: not BENCHMARK")
	require.ErrorContains(t, err, "go test -cgemu.update")
}
