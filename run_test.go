//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/internal/browsertest"
)

const (
	guest = "testdata/guest" // testdata/guest.c
	demo  = "testdata/demo"  // testdata/demo.c
)

// engineName is the engine of runs that name none: with -engine=interp all tests hold for the other one.
var engineName = flag.String("engine", "", "the engine of runs that name none")

// With -engine=interp -hostpage=65536 they are as on a host with pages of 64 KiB.
func init() {
	flag.Func("hostpage", "run programs as on a host with pages of so many bytes", func(text string) error {
		n, err := strconv.Atoi(text)
		mem.HostPage = emu.Addr(n)
		return err
	})
}

// fullEngines are the engines that execute all of v3.
var fullEngines = []string{"jit", "interp"}

// A ran is what a run left.
type ran struct {
	*cgemu.Result
	stdout string
	// profile is the file it would write.
	profile string
}

// start runs a program with nothing to read.
func start(t *testing.T, cfg cgemu.Config) ran {
	t.Helper()
	return startFor(t, context.Background(), cfg)
}

// sharedDir has what several tests use.
var sharedDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "cgemu-test")
	if err != nil {
		panic(err)
	}
	return dir
})

// codeDir has the code of programs that tests run several times: all after the first have it from there.
func codeDir() string { return filepath.Join(sharedDir(), "code") }

// TestMain removes what tests share.
func TestMain(m *testing.M) {
	status := browsertest.Suite{M: m}.Run()
	os.RemoveAll(sharedDir())
	os.Exit(status)
}

func startFor(t *testing.T, ctx context.Context, cfg cgemu.Config) ran {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	require.NoError(t, err)
	defer out.Close()
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer in.Close()
	cfg.Stdin, cfg.Stdout = in, out
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	if cfg.Path == "" {
		cfg.Path = cfg.Args[0]
	}
	if cfg.Engine == "" {
		cfg.Engine = *engineName
	}
	if mem.HostPage > emu.PageSize {
		cfg.Engine = "interp" // the others cannot run there
	}
	cfg.Names.Demangle = true
	if cfg.CodeDir == "" {
		cfg.CodeDir = codeDir()
	}
	res, err := cgemu.Run(ctx, cfg)
	require.NoError(t, err)
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, res.Profile.Write(&b))
	return ran{res, string(text), b.String()}
}

// total is the Ir of a run.
func (r ran) total() uint64 { return r.Profile.Totals()[0] }

// allZero matches the line of a cost centre that counted nothing.
var allZero = regexp.MustCompile(`^[0-9]+( 0)+$`)

// normal drops from a profile what docs/counting.md says may differ from Cachegrind's.
func normal(profile string) string {
	var keep []string
	var fl, fn string
	for line := range strings.Lines(profile) {
		line = strings.TrimRight(line, " \n")
		switch {
		case strings.HasPrefix(line, "desc:"), strings.HasPrefix(line, "cmd:"):
		case strings.HasPrefix(line, "fl="):
			fl, fn = line, ""
		case strings.HasPrefix(line, "fn="):
			fn = line
		case allZero.MatchString(line):
		default:
			for _, name := range []*string{&fl, &fn} {
				if *name != "" {
					keep = append(keep, *name)
					*name = ""
				}
			}
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "\n")
}

// sameProfile checks that two profiles are equal, and shows where they are not.
func sameProfile(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(w), len(g)) && w[i] == g[i] {
		i++
	}
	near := func(lines []string) string { return strings.Join(lines[max(i-5, 0):min(i+10, len(lines))], "\n") }
	t.Errorf("profiles differ from line %d on\n--- want\n%s\n--- got\n%s", i+1, near(w), near(g))
}

// TestTwoRunsAreEqual checks the promise: equal programs, arguments, environments and inputs
// give equal profiles, whatever is different around them.
func TestTwoRunsAreEqual(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	interp := filepath.Join(filepath.Dir(script), "guest") // the path of the checkout may have blanks, where a #! line's ends
	path, err := filepath.Abs(guest)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(path, interp))
	require.NoError(t, os.WriteFile(script, []byte("#!"+interp+" world\n"), 0o755))
	tests := []struct {
		args []string
		dir  string // if the program looks where it is
		once ran
	}{
		{args: []string{guest, "world"}},
		{args: []string{guest, "signals"}},
		{args: []string{guest, "threads"}},
		{args: []string{guest, "faults", "100"}},
		{args: []string{guest, "sleep", "1000"}},
		{args: []string{demo}},
		{args: []string{script}},
		{args: []string{"/bin/echo", "dynamic"}},
		{args: []string{"/bin/bash", "-c", "echo $RANDOM $SECONDS $$ $PPID $HOSTNAME; printf '%(%s)T\n'"}, dir: "/"},
	}
	for i := range tests {
		tt := &tests[i]
		if _, err := os.Stat(tt.args[0]); err != nil {
			t.Logf("not run: %v", err)
			tt.args = nil
			continue
		}
		tt.once = start(t, cgemu.Config{Args: tt.args, Dir: tt.dir})
	}
	// Another time, environment and directory; the program named by another path.
	time.Sleep(1100 * time.Millisecond)
	t.Setenv("LD_LIBRARY_PATH", "/nowhere")
	t.Setenv("CGEMU_TEST", strings.Repeat("x", 10_000))
	for _, tt := range tests {
		if tt.args == nil {
			continue
		}
		t.Run(strings.Join(tt.args[:min(2, len(tt.args))], " "), func(t *testing.T) {
			path, err := filepath.Abs(tt.args[0])
			require.NoError(t, err)
			dir := tt.dir
			if dir == "" {
				dir = t.TempDir()
			}
			again := start(t, cgemu.Config{Path: path, Args: tt.args, Dir: dir})
			assert.Equal(t, tt.once.stdout, again.stdout)
			assert.Equal(t, tt.once.Exit, again.Exit)
			sameProfile(t, tt.once.profile, again.profile)
		})
	}
}

// TestThreadsAgain is TestTwoRunsAreEqual, more often.
func TestThreadsAgain(t *testing.T) {
	first := start(t, cgemu.Config{Args: []string{guest, "threads"}})
	require.Regexp(t, `^5600 1599920000 `, first.stdout)
	for range 20 {
		again := start(t, cgemu.Config{Args: []string{guest, "threads"}})
		require.Equal(t, first.stdout, again.stdout)
		sameProfile(t, first.profile, again.profile)
	}
}

// lineCosts returns the Ir of a function's lines.
func lineCosts(p *cgout.Profile, function string) map[int]uint64 {
	costs := map[int]uint64{}
	p.Each(func(_, fn string, line int, counts []uint64) {
		if fn == function {
			costs[line] += counts[0]
		}
	})
	return costs
}

// TestFaults lets a program catch 100,000 faults: each costs the same.
func TestFaults(t *testing.T) {
	run := func(n string) ran {
		r := start(t, cgemu.Config{Args: []string{guest, "faults", n}})
		require.Equal(t, n+" faults\n", r.stdout)
		return r
	}
	few, more, many := run("10000"), run("20000"), run("100000")
	// Numbers of one more digit cost a few instructions more to read and to print.
	each := (more.total() - few.total()) / 10000
	assert.Equal(t, each*10000, more.total()-few.total())
	assert.InDelta(t, each*80000, many.total()-more.total(), 200)
	// The handler, and the instruction that faults: once each.
	for function, perFault := range map[string]int{"step": 0, "main": 0} {
		f, m := lineCosts(few.Profile, function), lineCosts(many.Profile, function)
		for line, n := range m {
			if n > 90_000 {
				perFault++
				assert.EqualValues(t, 90_000*(n/100_000), n-f[line], "%s, line %d", function, line)
			}
		}
		assert.NotZero(t, perFault, function)
	}
}

func TestMaxInsns(t *testing.T) {
	for _, n := range []uint64{1, 100, 10_000, 1_000_000, 50_000_000} {
		r := start(t, cgemu.Config{Args: []string{guest, "loop"}, MaxInsns: n})
		assert.True(t, r.Exit.Limit)
		assert.GreaterOrEqual(t, r.total(), n)
		assert.Less(t, r.total(), n+100)
		again := start(t, cgemu.Config{Args: []string{guest, "loop"}, MaxInsns: n})
		sameProfile(t, r.profile, again.profile)
	}
	whole := start(t, cgemu.Config{Args: []string{demo}})
	limited := start(t, cgemu.Config{Args: []string{demo}, MaxInsns: whole.total() + 1})
	assert.False(t, limited.Exit.Limit)
	sameProfile(t, whole.profile, limited.profile) // a limit that is not reached changes nothing
}

func TestContextEndsRun(t *testing.T) {
	for _, after := range []time.Duration{0, 50 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		defer cancel()
		r := startFor(t, ctx, cgemu.Config{Args: []string{guest, "loop"}})
		assert.True(t, r.Exit.Interrupted)
		assert.Equal(t, r.total(), r.Profile.Total("Ir"))
	}
}

func TestRunErrors(t *testing.T) {
	_, err := cgemu.Run(context.Background(), cgemu.Config{})
	assert.EqualError(t, err, "cgemu: no program")
	for path, message := range map[string]string{
		"testdata/nothing":    "o such file",
		"testdata":            "testdata",
		"testdata/guest.c":    "guest.c",
		"testdata/guest/more": "ot a directory",
	} {
		_, err := cgemu.Run(context.Background(), cgemu.Config{Path: path, Args: []string{path}})
		assert.ErrorContains(t, err, message)
	}
}

// TestNames checks that options about names reach the symbols.
func TestNames(t *testing.T) {
	r := start(t, cgemu.Config{Args: []string{demo}, Names: dwarfmap.Options{ShowBelowMain: true, FullpathAfter: []string{"testdata/"}}})
	assert.Contains(t, r.profile, "\nfl=demo.c\nfn=main\n")
	assert.Contains(t, r.profile, "\nfn=__libc_start_main\n")
	r = start(t, cgemu.Config{Args: []string{demo}})
	assert.Contains(t, r.profile, "\nfl=testdata/demo.c\nfn=main\n")
	assert.Contains(t, r.profile, "\nfn=(below main)\n")
}

// TestProgressChangesNothing interrupts programs as often as can be: threads, timers and marks stay where they are.
func TestProgressChangesNothing(t *testing.T) {
	calls := 0
	for round := 0; calls <= 10 && round < 20; round++ { // a busy host may tell seldom
		progressRound(t, &calls)
	}
	assert.Greater(t, calls, 10)
}

// progressRound runs each program without and with progress, and adds to calls how often that was told.
func progressRound(t *testing.T, calls *int) {
	for name, cfg := range map[string]cgemu.Config{
		"threads":  {Args: []string{guest, "threads"}},
		"schedule": {Args: []string{guest, "threads"}, SchedSeed: 1},
		"signals":  {Args: []string{guest, "signals"}},
		"demo":     {Args: []string{demo}},
		"caches":   {Args: []string{demo}, Caches: &cachesim.Default, Branches: true},
		"limit":    {Args: []string{guest, "loop"}, MaxInsns: 3_000_000},
		"marks":    {Args: []string{guest, "threads"}, Regions: cgemu.Regions{Toggle: []string{"main"}}},
	} {
		t.Run(name, func(t *testing.T) {
			once := start(t, cfg)
			var last uint64
			cfg.ProgressEvery = 20 * time.Microsecond
			cfg.OnProgress = func(insns uint64, virtual time.Duration) {
				*calls++
				assert.GreaterOrEqual(t, insns, last)
				assert.GreaterOrEqual(t, uint64(virtual), insns)
				last = insns
			}
			again := start(t, cfg)
			assert.Equal(t, once.stdout, again.stdout)
			sameProfile(t, once.profile, again.profile)
		})
	}
}
