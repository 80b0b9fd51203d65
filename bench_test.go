package cgemu_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// benchPrograms are those of BENCHMARKS.md. INPUT stands for the file of input. The first four run long enough that
// what is executed counts; the others show what code costs that is executed seldom, starts, and processes.
var benchPrograms = []benchProgram{
	{"bzip2", []string{"bzip2", "-9", "-c", "INPUT"}, writeWords},
	{"perl", []string{"perl", "testdata/bench/words.pl"}, nil},
	{"python3", []string{"python3", "testdata/bench/objects.py"}, nil},
	{"sqlite3", []string{"sqlite3", ":memory:", "-init", "testdata/bench/join.sql", ".quit"}, nil},
	{"cc1", []string{"cc1", "-quiet", "-O2", "INPUT", "-o", "/dev/null"}, preprocess},
	{"clang", []string{"clang", "-c", "-O2", "testdata/guest.c", "-o", "/dev/null"}, nil},
	{"node", []string{"node", "-e", "let s = 0; for (let i = 0; i < 1e6; i++) s += Math.sqrt(i)"}, nil},
	{"java", []string{"java", "-version"}, nil},
	{"git", []string{"git", "log", "--oneline", "-500"}, nil},
	{"script", []string{"bash", "-c", "for i in $(seq 100); do /bin/true; done"}, nil},
	// What a start costs: ld.so, libc's initialisation, names and lines.
	{"echo", []string{"/bin/echo", "hello"}, nil},
}

// longPrograms are the first four with five times the work or so: what is executed is nearly all that takes time.
var longPrograms = []benchProgram{
	{"bzip2", []string{"bzip2", "-9", "-c", "INPUT"}, func(path string) error { return writeText(path, 30_000_000) }},
	{"perl", []string{"perl", "INPUT"}, longer("words.pl", "600000", "3000000", "fib(24)", "fib(27)")},
	{"python3", []string{"python3", "INPUT"}, longer("objects.py", "600000", "3000000", "250000", "1250000", "fib(25)", "fib(28)")},
	{"sqlite3", []string{"sqlite3", ":memory:", "-init", "INPUT", ".quit"}, longer("join.sql", "150000", "750000")},
}

// longer writes a script of testdata/bench with other numbers.
func longer(script string, oldnew ...string) func(path string) error {
	return func(path string) error {
		text, err := os.ReadFile(filepath.Join("testdata/bench", script))
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.NewReplacer(oldnew...).Replace(string(text))), 0o600)
	}
}

// writeWords writes 6 MB of text that compresses as prose does.
func writeWords(path string) error { return writeText(path, 6_000_000) }

// writeText writes size bytes of such text.
func writeText(path string, size int) error {
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
	for text.Len() < size {
		text.Write(words[int(float64(len(words))*rng.Float64()*rng.Float64()*rng.Float64())])
	}
	return os.WriteFile(path, text.Bytes(), 0o600)
}

// preprocess writes a C program that includes nothing.
func preprocess(path string) error {
	return exec.Command("gcc", "-E", "-P", "testdata/guest.c", "-o", path).Run()
}

// realPath returns the program itself where PATH has a shell script in front of it (pyenv), or where gcc keeps it.
func realPath(name string) (string, error) {
	ask := map[string][]string{
		"python3": {"python3", "-c", "import sys; print(sys.executable)"}, "cc1": {"gcc", "-print-prog-name=cc1"},
	}[name]
	if ask == nil {
		return exec.LookPath(name)
	}
	out, err := exec.Command(ask[0], ask[1:]...).Output()
	if err != nil {
		return "", err
	}
	return exec.LookPath(string(bytes.TrimSpace(out)))
}

// A benchTool runs a program that follows its command line.
type benchTool struct {
	name   string
	prefix []string
}

// againSuffix is that of tools which have code from runs before.
const againSuffix = "-again"

// benchTools are the program by itself, and cgemu and Valgrind's tools with the same work, whose profiles go to a file.
func benchTools(cgemu, profile string) []benchTool {
	tools := []benchTool{{"native", nil}}
	for _, mode := range []struct {
		name    string
		options []string
	}{
		{"ir", []string{"--cache-sim=no", "--branch-sim=no"}},
		{"caches", []string{"--cache-sim=yes", "--branch-sim=no"}},
		{"caches+branches", []string{"--cache-sim=yes", "--branch-sim=yes"}},
	} {
		options := append([]string{"-q", "--cachegrind-out-file=" + profile}, mode.options...)
		tools = append(tools,
			benchTool{"cgemu-" + mode.name, append([]string{cgemu, "--no-cache"}, options...)},
			benchTool{"cgemu-" + mode.name + againSuffix, append([]string{cgemu}, options...)},
			benchTool{"cachegrind-" + mode.name, append([]string{"valgrind", "--tool=cachegrind", "--trace-children=yes"}, options...)})
	}
	calls := []string{"-q", "--cachegrind-out-file=" + profile, "--call-graph=yes"}
	return append(tools,
		benchTool{"cgemu-calls", append([]string{cgemu, "--no-cache"}, calls...)},
		benchTool{"cgemu-calls" + againSuffix, append([]string{cgemu}, calls...)},
		benchTool{"callgrind", []string{"valgrind", "--tool=callgrind", "--trace-children=yes", "-q", "--callgrind-out-file=" + profile}})
}

// BenchmarkProgram runs real programs natively, under cgemu, and under Cachegrind and Callgrind where they are
// installed. The metric to compare is cpu-ms, user and system time of the fastest run; wall-ms is how long that took.
func BenchmarkProgram(b *testing.B) { benchAll(b, benchPrograms, 4, benchTools) }

// BenchmarkLong runs programs for longer, natively and under cgemu with what is kept.
func BenchmarkLong(b *testing.B) {
	benchAll(b, longPrograms, 1, func(cgemu, profile string) []benchTool {
		tools := []benchTool{{"native", nil}}
		for _, sim := range []struct{ name, caches, branches string }{{"ir", "no", "no"}, {"caches", "yes", "no"}, {"caches+branches", "yes", "yes"}} {
			for _, calls := range []struct{ name, record string }{{"", "no"}, {"+calls", "yes"}} {
				tools = append(tools, benchTool{sim.name + calls.name + againSuffix, []string{
					cgemu, "-q", "--cachegrind-out-file=" + profile, "--cache-sim=" + sim.caches, "--branch-sim=" + sim.branches, "--call-graph=" + calls.record,
				}})
			}
		}
		return tools
	})
}

// benchAll runs programs by each tool that is installed: by those that have code from runs before so many times first,
// after which hardly anything new is kept.
func benchAll(b *testing.B, programs []benchProgram, before int, toolsOf func(cgemu, profile string) []benchTool) {
	dir := b.TempDir()
	b.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	tools := toolsOf(buildCommand(b, dir), filepath.Join(dir, "out"))
	for _, p := range programs {
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
				argv := append(append([]string{}, tool.prefix...), args...)
				if strings.HasSuffix(tool.name, againSuffix) {
					for range before {
						require.NoError(b, exec.Command(argv[0], argv[1:]...).Run())
					}
				}
				benchCommand(b, argv)
			})
		}
	}
}

// buildCommand builds cgemu in dir.
func buildCommand(t testing.TB, dir string) (path string) {
	path = filepath.Join(dir, "cgemu")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/cgemu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// BenchmarkKernel measures a system call, a switch to another thread, fork and wait of a process with 100 MiB, and what
// comes and goes in great numbers, natively and under cgemu.
func BenchmarkKernel(b *testing.B) {
	dir := b.TempDir()
	prog := filepath.Join(dir, "kernel")
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", prog, "testdata/bench/kernel.c").CombinedOutput(); err != nil {
		b.Skipf("gcc: %v: %s", err, out)
	}
	options := []string{buildCommand(b, dir), "-q", "--no-cache", "--trace-children=no", "--cachegrind-out-file=/dev/null"}
	for _, what := range []string{"call", "switch", "fork", "thread", "pipe", "descriptor", "map"} {
		for _, tool := range []benchTool{{"native", nil}, {"cgemu", options}} {
			b.Run(fmt.Sprintf("what=%s/tool=%s", what, tool.name), func(b *testing.B) {
				argv := append(append([]string{}, tool.prefix...), prog, what, fmt.Sprint(b.N))
				require.NoError(b, exec.Command(argv[0], argv[1:]...).Run())
			})
		}
	}
}

// BenchmarkMicro runs each kernel of a few instructions b.N times, natively, under cgemu and under Cachegrind. The
// metric to compare is cpu-ns, user and system time of one, start-up left out; it needs an N that is the same for all:
// -benchtime=200000x.
func BenchmarkMicro(b *testing.B) {
	dir := b.TempDir()
	prog := filepath.Join(dir, "micro")
	if out, err := exec.Command("gcc", "-O1", "-mavx2", "-mfma", "-o", prog, "testdata/bench/micro.c").CombinedOutput(); err != nil {
		b.Skipf("gcc: %v: %s", err, out)
	}
	kernels, err := exec.Command(prog).Output()
	require.NoError(b, err)
	tools := benchTools(buildCommand(b, dir), "/dev/null")
	for kernel := range strings.FieldsSeq(string(kernels)) {
		for _, tool := range tools {
			b.Run(fmt.Sprintf("kernel=%s/tool=%s", kernel, tool.name), func(b *testing.B) {
				cpu := func(n int) (least time.Duration) {
					for range 3 {
						argv := append(append([]string{}, tool.prefix...), prog, kernel, fmt.Sprint(n))
						cmd := exec.Command(argv[0], argv[1:]...)
						if err := cmd.Run(); err != nil {
							b.Skip(err) // Valgrind knows no XLAT, or is not installed
						}
						if t := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); least == 0 || t < least {
							least = t
						}
					}
					return least
				}
				b.ReportMetric(float64(cpu(b.N)-cpu(0))/float64(b.N), "cpu-ns")
			})
		}
	}
}

// benchCommand runs a command b.N times.
func benchCommand(b *testing.B, argv []string) {
	var best, wall time.Duration
	var rss int64
	for b.Loop() {
		cmd := exec.Command(argv[0], argv[1:]...)
		start := time.Now()
		require.NoError(b, cmd.Run())
		took := time.Since(start)
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if best == 0 || cpu < best {
			best, wall = cpu, took
		}
		rss = max(rss, maxRSS(cmd.ProcessState))
	}
	b.ReportMetric(float64(wall.Microseconds())/1000, "wall-ms")
	b.ReportMetric(float64(best.Microseconds())/1000, "cpu-ms")
	b.ReportMetric(float64(rss)/1024, "rss-MiB")
}
