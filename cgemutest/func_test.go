package cgemutest

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// sum is what TestCheckFunc counts.
//
//go:noinline
func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// TestCheckFunc counts a function of this test binary.
func TestCheckFunc(t *testing.T) {
	list := make([]int, 10_000)
	total := 0
	if os.Getenv(counted) == "" { // there is neither an engine in the test binary that is counted, nor does the directory matter
		needs(t)
		inPackage(t)
		require.NoError(t, os.Mkdir("testdata", 0o755))
		*update = true
		defer func() { *update = false }()
	}
	res := CheckFunc(t, "", func() { total = sum(list) })
	require.Zero(t, total, "it was not counted here")
	n := res.Profile.Total("Ir")
	require.Greater(t, n, uint64(10_000))
	require.Less(t, n, uint64(60_000), "a loop of a few instructions, and nothing else")
	text, err := os.ReadFile(Baseline)
	require.NoError(t, err)
	require.Contains(t, string(text), "cgemutest.sum\t")
	require.NotContains(t, string(text), "PATH", "a baseline has nothing of the machine")
	r := record(t.Name(), func(t testing.TB) { CheckFunc(t, "", func() { total = sum(list) }) })
	require.Contains(t, r.failed, "one Check or CheckFunc already")
	checked.Delete(t.Name())
	*update = false
	again := CheckFunc(t, "", func() { total = sum(list) })
	require.Equal(t, n, again.Profile.Total("Ir"))
}

// deep uses some 100 KiB of stack.
//
//go:noinline
func deep(n int) int {
	var frame [128]int
	frame[n%len(frame)] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + frame[(n+1)%len(frame)]
}

// TestCheckFuncAlone counts functions whose counts would depend on what the test binary did before: how large the stack
// has become, how often the runtime was asked for something random.
func TestCheckFuncAlone(t *testing.T) {
	if os.Getenv(counted) == "" {
		needs(t)
		inPackage(t)
		*update = true
		defer func() { *update = false }()
	}
	draw := func() {
		for range rand.Uint32N(1 << 16) {
			total++
		}
	}
	count := map[string]uint64{}
	for _, tt := range []struct {
		name   string
		before int
		f      func()
	}{{"few", 1, draw}, {"many", 1000, draw}, {"deep", 0, func() { total += deep(100) }}} {
		t.Run(tt.name, func(t *testing.T) {
			for range tt.before {
				total += int(rand.Uint32())
			}
			count[tt.name] = CheckFunc(t, "", tt.f).Profile.Total("Ir")
		})
	}
	require.Equal(t, count["few"], count["many"])
	require.Less(t, count["deep"], uint64(30_000), "copying stacks takes more than all calls")
}

// total is what functions that are counted compute.
var total int

// TestCheckFuncFails has functions that cannot be counted, and what is said of them.
func TestCheckFuncFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(t *testing.T)
		f      func(t *testing.T)
		want   string
	}{
		{"fatal", nil, func(t *testing.T) { t.Fatal("inside of f") }, "inside of f"},
		{"panic", nil, func(*testing.T) { panic("no luck") }, "no luck"},
		{"exit", nil, func(*testing.T) { os.Exit(0) }, "unexpected call to os.Exit(0) during test"},
		{"deadlock", nil, func(*testing.T) { <-make(chan int) }, "test timed out"},
		{"skip", func(t *testing.T) { t.Skip() }, nil, "did not come to CheckFunc when it was run again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if os.Getenv(counted) != "" {
				if tt.before != nil {
					tt.before(t)
				}
				CheckFunc(t, "", func() { tt.f(t) })
			}
			needs(t)
			r := record(t.Name(), func(t testing.TB) { CheckFunc(t, "", nil) })
			require.Contains(t, r.failed, tt.want)
		})
	}
}

// numbers is a flag of this package: how many numbers TestFlags adds up.
var numbers = flag.Int("numbers", 100, "how many numbers TestFlags adds up")

// TestFlags counts what a function does under the flags that the test has.
func TestFlags(t *testing.T) {
	if os.Getenv(counted) == "" {
		needs(t)
		inPackage(t)
		*update = true
		given := os.Args
		defer func() { *update, os.Args = false, given }()
	}
	list := make([]int, 10_000)
	count := func(name string, args ...string) (n uint64) {
		t.Run(name, func(t *testing.T) {
			os.Args = slices.Insert(slices.Clone(os.Args), 1, args...)
			n = CheckFunc(t, "", func() { total = sum(list[:*numbers]) }).Profile.Total("Ir")
		})
		return n
	}
	few, many := count("few"), count("many", "-numbers", "10000", "-test.run=nothing", "-cgemu.update")
	if os.Getenv(counted) == "" {
		require.Greater(t, many, few+9000)
	}
}

// TestOwnArgs has arguments of a test binary, and those that one gets of which a function is counted.
func TestOwnArgs(t *testing.T) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.Bool("test.short", false, "")
	flags.String("test.run", "", "")
	flags.Bool("test.paniconexit0", false, "")
	flags.Bool("cgemu.update", false, "")
	flags.Bool("big", false, "")
	flags.String("file", "", "")
	flags.Func("add", "", func(string) error { return nil })
	for _, tt := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"-test.paniconexit0", "-test.run=X", "-test.run", "-big", "--test.run", "X", "-cgemu.update"}, nil},
		{[]string{"-test.short", "--test.short=true", "-test.run=X"}, []string{"-test.short", "--test.short=true"}},
		{[]string{"-big", "-file", "-test.run=X", "-file=a b"}, []string{"-big", "-file", "-test.run=X", "-file=a b"}},
		{[]string{"-add=1", "--add", "2", "-big=false"}, []string{"-add=1", "--add", "2", "-big=false"}},
		{[]string{"-test.run=X", "-big", "word", "-test.run=X"}, []string{"-big", "word", "-test.run=X"}},
		{[]string{"-test.run=X", "--", "-test.run=X"}, []string{"--", "-test.run=X"}},
		{[]string{"-", "-big"}, []string{"-", "-big"}},
		{[]string{"-unknown", "-test.run=X", "-file"}, []string{"-unknown", "-file"}},
	} {
		require.Equal(t, tt.want, ownArgs(tt.args, flags), "%q", tt.args)
	}
}

// TestCheckFuncChdir has the second run begin in the package's directory, wherever the test is.
func TestCheckFuncChdir(t *testing.T) {
	if os.Getenv(counted) == "" {
		needs(t)
		inPackage(t)
		require.NoError(t, os.WriteFile("here", nil, 0o644))
		t.Chdir(t.TempDir())
		*update = true
		defer func() { *update = false }()
	} else if _, err := os.Stat("here"); err != nil {
		t.Fatal(err)
	}
	CheckFunc(t, "", func() { total++ })
}

// TestForeign has test binaries for other platforms be skipped, with what helps: they are no programs that cgemu runs.
func TestForeign(t *testing.T) {
	require.Empty(t, foreign("linux", "amd64"))
	for _, p := range [][2]string{{"darwin", "arm64"}, {"linux", "arm64"}, {"windows", "amd64"}} {
		require.Contains(t, foreign(p[0], p[1]), "this one is for "+p[0]+"/"+p[1]+": run go test in a container")
	}
}

// TestCheckFuncInBenchmark is refused: no test has that name.
func TestCheckFuncInBenchmark(t *testing.T) {
	r := record("BenchmarkX/a", func(t testing.TB) { CheckFunc(t, "", func() {}) })
	require.Contains(t, r.failed, "CheckFunc is for tests: cgemu go test -bench counts benchmarks")
}
