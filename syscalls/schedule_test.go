//go:build linux && amd64

package syscalls_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// A scheduled is what a run by some schedule left.
type scheduled struct {
	out      string
	status   int
	profiles string
}

// schedule runs a program by the schedule of a seed.
func schedule(t *testing.T, seed uint64, args, env []string, cpus int) scheduled {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := cgemu.Run(ctx, cgemu.Config{
		Path: args[0], Args: args, Env: env, CPU: "v3", CPUs: cpus, SchedSeed: seed,
		Stdin: null, Stdout: out, Stderr: out, Log: io.Discard, TraceChildren: true, Engine: *engineName,
	})
	require.NoError(t, err)
	require.False(t, res.Exit.Interrupted, "seed %d: it hangs", seed)
	var b bytes.Buffer
	for _, r := range append(res.Children, res) {
		fmt.Fprintln(&b, r.PID)
		require.NoError(t, r.Profile.Write(&b))
	}
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return scheduled{string(text), res.Exit.Status(), b.String()}
}

// checkSchedules runs a program by several schedules: it gets what it gets natively by all of them, and by each the
// same twice.
func checkSchedules(t *testing.T, seeds, times int, args []string, cpus int) {
	t.Helper()
	env := []string{"PATH=/usr/bin:/bin"}
	want, status := nativeRun(t, args, env)
	for seed := range uint64(seeds) {
		first := schedule(t, seed, args, env, cpus)
		assert.Equal(t, want, first.out, "seed %d", seed)
		assert.Equal(t, status, first.status, "seed %d", seed)
		for range times - 1 {
			again := schedule(t, seed, args, env, cpus)
			assert.Equal(t, first.out, again.out, "seed %d", seed)
			assert.Equal(t, first.status, again.status, "seed %d", seed)
			assert.Equal(t, "", firstDifference(first.profiles, again.profiles), "seed %d", seed)
		}
	}
}

// firstDifference returns the first lines in which two texts differ, "" if they do not. Profiles are too long to be
// printed.
func firstDifference(a, b string) string {
	if a == b {
		return ""
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < min(len(as), len(bs)) && as[i] == bs[i] {
		i++
	}
	return fmt.Sprintf("line %d: %q, %q", i+1, as[i:min(i+1, len(as))], bs[i:min(i+1, len(bs))])
}

// TestSchedules runs testdata/threads/*.c, which are right whatever runs when.
func TestSchedules(t *testing.T) {
	sources, err := filepath.Glob("testdata/threads/*.c")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, src := range sources {
		t.Run(strings.TrimSuffix(filepath.Base(src), ".c"), func(t *testing.T) {
			checkSchedules(t, 4, 2, []string{compileC(t, src, "-O1")}, 1)
		})
	}
}

// TestSchedulesDiffer runs a program that is wrong by most schedules, each in its own way.
func TestSchedulesDiffer(t *testing.T) {
	prog := compileC(t, "testdata/racy/racy.c", "-O1")
	results := map[string]bool{}
	for seed := range uint64(6) {
		first := schedule(t, seed, []string{prog}, nil, 1)
		assert.Equal(t, first, schedule(t, seed, []string{prog}, nil, 1))
		results[first.out] = true
	}
	assert.Greater(t, len(results), 3, "%v", results)
}

// TestSchedulesOfRuntimes runs threads of other languages: testdata/threads. What is not installed is left out, but by
// the tests with oracles.
func TestSchedulesOfRuntimes(t *testing.T) {
	dir, err := filepath.Abs("testdata/threads")
	require.NoError(t, err)
	for _, tt := range []struct {
		file  string
		build []string // the compiler and its options
		run   []string // what runs PROG, the source or what was built
		cpus  int
		slow  bool // only for the tests with oracles
	}{
		{file: "pool.cc", build: []string{"g++", "-O1", "-pthread", "-o"}, cpus: 1},
		{file: "async.cc", build: []string{"g++", "-O1", "-pthread", "-std=c++20", "-o"}, cpus: 1},
		{file: "atomics.cc", build: []string{"g++", "-O1", "-pthread", "-std=c++20", "-o"}, cpus: 1},
		{file: "openmp.cc", build: []string{"g++", "-O1", "-fopenmp", "-o"}, cpus: 4},
		{file: "channels.rs", build: []string{"rustc", "-O", "-o"}, cpus: 1, slow: true},
		{file: "steal.rs", build: []string{"rustc", "-O", "-o"}, cpus: 1, slow: true},
		{file: "routines.go", build: []string{"go", "build", "-o"}, cpus: 1, slow: true},
		{file: "routines.go", build: []string{"go", "build", "-o"}, cpus: 4, slow: true},
		{file: "threads.py", run: []string{"/usr/bin/python3", "PROG"}, cpus: 1, slow: true},
		{file: "workers.js", run: []string{"node", "PROG"}, cpus: 4, slow: true},
		{file: "Threads.java", build: []string{"javac", "-d"}, run: []string{"java", "-Xint", "-XX:-UsePerfData", "-cp", "PROG", "Threads"}, cpus: 4, slow: true},
	} {
		t.Run(fmt.Sprintf("%s/%d", tt.file, tt.cpus), func(t *testing.T) {
			if tt.slow && !oracles {
				t.Skip("the tests with oracles run it")
			}
			what := filepath.Join(dir, tt.file)
			if tt.build != nil {
				compiler := tool(t, tt.build[0])
				if !tt.slow {
					alike(t)
				}
				prog := filepath.Join(t.TempDir(), "prog")
				out, err := exec.Command(compiler, append(tt.build[1:len(tt.build):len(tt.build)], prog, what)...).CombinedOutput()
				require.NoError(t, err, "%s", out)
				what = prog
			}
			args := []string{what}
			if tt.run != nil {
				args = slices.Clone(tt.run)
				args[0], args[slices.Index(args, "PROG")] = tool(t, args[0]), what
			}
			checkSchedules(t, 3, 2, args, tt.cpus)
		})
	}
}

// tool finds a program, or ends the test where it is not installed. So it does where rustc is rustup's, which has no
// compiler to start.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil && name == "rustc" {
		err = exec.Command(path, "--version").Run()
	}
	if err != nil {
		require.False(t, oracles, "%v", err)
		t.Skip(err)
	}
	return path
}

// alike ends a test with the tag oracles, which changes no more of it than that what it needs has to be installed: make
// test has run it.
func alike(t testing.TB) {
	t.Helper()
	if oracles {
		t.Skip("the same without the tag oracles")
	}
}
