package cgemu_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A benchProgram is a real program with something to do.
type benchProgram struct {
	name string
	args []string
	// input is made once, for programs that read a file.
	input func(path string) error
}

// benchPrograms are those of BENCHMARKS.md. INPUT stands for the file of input.
var benchPrograms = []benchProgram{
	{"bzip2", []string{"bzip2", "-9", "-c", "INPUT"}, writeWords},
	{"perl", []string{"perl", "testdata/bench/words.pl"}, nil},
	{"python3", []string{"python3", "testdata/bench/objects.py"}, nil},
	{"sqlite3", []string{"sqlite3", ":memory:", "-init", "testdata/bench/join.sql", ".quit"}, nil},
	// What a start costs: ld.so, libc's initialisation, names and lines.
	{"echo", []string{"/bin/echo", "hello"}, nil},
}

// writeWords writes 6 MB of text that compresses as prose does.
func writeWords(path string) error {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([][]byte, 4000)
	for i := range words {
		w := make([]byte, 2+rng.IntN(9))
		for k := range w {
			w[k] = 'a' + byte(rng.IntN(26))
		}
		words[i] = append(w, ' ')
	}
	var text bytes.Buffer
	for text.Len() < 6_000_000 {
		text.Write(words[int(float64(len(words))*rng.Float64()*rng.Float64()*rng.Float64())])
	}
	return os.WriteFile(path, text.Bytes(), 0o600)
}

// realPath returns the program itself where PATH has a shell script in front of it
// (pyenv).
func realPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil || name != "python3" {
		return path, err
	}
	out, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
	return string(bytes.TrimSpace(out)), err
}

// A benchTool runs a program that follows its command line.
type benchTool struct {
	name   string
	prefix []string
}

// BenchmarkProgram runs real programs natively, under cgemu, and under Cachegrind where it is
// installed, counting instructions alone and with simulation. The metric to compare is cpu-ms, user and system time of the fastest run.
func BenchmarkProgram(b *testing.B) {
	dir := b.TempDir()
	cgemu := buildCommand(b, dir)
	profile := "--cachegrind-out-file=" + filepath.Join(dir, "out")
	tools := []benchTool{{"native", nil}}
	for _, mode := range []struct{ name, caches, branches string }{
		{"ir", "no", "no"}, {"caches", "yes", "no"}, {"caches+branches", "yes", "yes"},
	} {
		options := []string{"-q", profile, "--cache-sim=" + mode.caches, "--branch-sim=" + mode.branches}
		tools = append(tools,
			benchTool{"cgemu-" + mode.name, append([]string{cgemu}, options...)},
			benchTool{"cachegrind-" + mode.name, append([]string{"valgrind", "--tool=cachegrind"}, options...)})
	}
	for _, p := range benchPrograms {
		path, err := realPath(p.args[0])
		if err != nil {
			b.Logf("%s is not installed", p.args[0])
			continue
		}
		args := append([]string{path}, p.args[1:]...)
		if p.input != nil {
			input := filepath.Join(dir, p.name)
			require.NoError(b, p.input(input))
			for i, a := range args {
				if a == "INPUT" {
					args[i] = input
				}
			}
		}
		for _, tool := range tools {
			if len(tool.prefix) > 0 {
				if _, err := exec.LookPath(tool.prefix[0]); err != nil {
					continue
				}
			}
			b.Run(fmt.Sprintf("prog=%s/tool=%s", p.name, tool.name), func(b *testing.B) {
				benchCommand(b, append(append([]string{}, tool.prefix...), args...))
			})
		}
	}
}

// buildCommand builds cgemu in dir.
func buildCommand(b *testing.B, dir string) (path string) {
	path = filepath.Join(dir, "cgemu")
	build := exec.Command("go", "build", "-o", path, "./cmd/cgemu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

// BenchmarkKernel measures a system call, a switch to another thread, fork and wait of a process with 100 MiB, and what comes and
// goes in great numbers, natively and under cgemu.
func BenchmarkKernel(b *testing.B) {
	dir := b.TempDir()
	prog := filepath.Join(dir, "kernel")
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", prog, "testdata/bench/kernel.c").CombinedOutput(); err != nil {
		b.Skipf("gcc: %v: %s", err, out)
	}
	options := []string{buildCommand(b, dir), "-q", "--trace-children=no", "--cachegrind-out-file=/dev/null"}
	for _, what := range []string{"call", "switch", "fork", "thread", "pipe", "descriptor", "map"} {
		for _, tool := range []benchTool{{"native", nil}, {"cgemu", options}} {
			b.Run(fmt.Sprintf("what=%s/tool=%s", what, tool.name), func(b *testing.B) {
				argv := append(append([]string{}, tool.prefix...), prog, what, fmt.Sprint(b.N))
				require.NoError(b, exec.Command(argv[0], argv[1:]...).Run())
			})
		}
	}
}

// benchCommand runs a command b.N times.
func benchCommand(b *testing.B, argv []string) {
	var best time.Duration
	var rss int64
	for b.Loop() {
		cmd := exec.Command(argv[0], argv[1:]...)
		require.NoError(b, cmd.Run())
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if best == 0 || cpu < best {
			best = cpu
		}
		rss = max(rss, maxRSS(cmd.ProcessState))
	}
	b.ReportMetric(float64(best.Microseconds())/1000, "cpu-ms")
	b.ReportMetric(float64(rss)/1024, "rss-MiB")
}
