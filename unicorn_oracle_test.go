//go:build unicorn && oracles && linux && amd64

package cgemu_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu/unicorn"
)

// TestUnicornStatic compares the engines on the static programs, compiled for x86-64-v1.
func TestUnicornStatic(t *testing.T) {
	t.Parallel()
	n := 0
	for _, p := range staticPrograms(t) {
		switch filepath.Base(p.src) {
		case "avx2.c":
			continue
		}
		n++
		t.Run(p.String(), func(t *testing.T) {
			dir := t.TempDir()
			p.build(t, dir)
			sameEngines(t, cgemu.Config{Path: filepath.Join(dir, "prog"), Args: []string{"./prog"}})
		})
	}
	require.GreaterOrEqual(t, n, 20)
}

// TestUnicornConformance compares the engines on programs of syscalls/testdata/guest: threads, processes,
// memory. It is a third of them: what calls do is not the engine's.
func TestUnicornConformance(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("syscalls/testdata/guest/*.c")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(sources), 12)
	for i, src := range sources {
		if i%3 != 0 {
			continue
		}
		switch filepath.Base(src) {
		case "signals.c", // unmasks SSE exceptions
			"stepping.c",                           // TF and AC have no effect
			"undecodable.c",                        // it does not go on behind what is no instruction, and becomes one
			"cutcode.c", "cutdata.c", "filemaps.c", // it does not notice that a file is cut
			"cputime.c", "cpuclocks.c": // millions of calls, each of which takes it 20 µs
			continue
		}
		t.Run(filepath.Base(src), func(t *testing.T) {
			dir := t.TempDir()
			abs, err := filepath.Abs(src)
			require.NoError(t, err)
			build(t, dir, "gcc", "-O2", "-w", "-static", "-o", "prog", abs, "-lm")
			sameEngines(t, cgemu.Config{Path: filepath.Join(dir, "prog"), Args: []string{"./prog"}, Dir: dir})
		})
	}
}

// TestUnicornThreads compares the engines on programs whose threads take turns.
func TestUnicornThreads(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("syscalls/testdata/threads/*.c")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(sources), 10)
	for _, src := range sources {
		t.Run(filepath.Base(src), func(t *testing.T) {
			dir := t.TempDir()
			abs, err := filepath.Abs(src)
			require.NoError(t, err)
			build(t, dir, "gcc", "-O2", "-w", "-static", "-pthread", "-o", "prog", abs)
			for _, seed := range []uint64{0, 1} {
				sameEngines(t, cgemu.Config{Path: filepath.Join(dir, "prog"), Args: []string{"./prog"}, Dir: dir, SchedSeed: seed})
			}
		})
	}
}

// TestUnicornDynamic compares the engines on programs as they are installed.
func TestUnicornDynamic(t *testing.T) {
	t.Parallel()
	dir := files(t)
	for _, args := range [][]string{
		{"/bin/bash", "-c", `f() { echo $(( $1 * 2 )); }; for i in 1 2 3; do f $i; done; ls tree | sort; exit 3`},
		{"/usr/bin/perl", "-e", `my %h; $h{$_ % 17} += $_ for 1..2000; print "$_ $h{$_}\n" for sort keys %h; printf "%.10f\n", sqrt 2`},
		{"/usr/bin/python3", "-S", "-c", "print(sorted({i * i % 97 for i in range(1000)})[:5])"},
		{"/usr/bin/sqlite3", ":memory:", "create table t(a, b); insert into t values (1, 2), (3, 4); select sum(a * b) from t;"},
		{"/bin/ls", "-l", "tree"},
		{"/usr/bin/sort", "-S", "1M", "-n", "numbers"},
		{"/bin/gzip", "-nc", "text"},
		{"/bin/sed", "-n", "s/line \\([0-9]*\\) of/\\1/p", "text"},
		{"/usr/bin/gawk", "{ s[$1 % 10] += $1 } END { for (i in s) print i, s[i] }", "numbers"},
		{"/usr/bin/bc", "-q", "calc"},
	} {
		t.Run(filepath.Base(args[0]), func(t *testing.T) {
			sameEngines(t, cgemu.Config{Args: args, Dir: dir, Env: []string{"PATH=/usr/bin:/bin", "LANG=C"}})
		})
	}
}

// TestCheck runs programs to their end under the engine that compares two.
func TestCheck(t *testing.T) {
	dir := files(t)
	for _, args := range [][]string{
		{"/bin/ls", "tree"},
		{"/usr/bin/sort", "-n", "numbers"},
		{"/bin/gzip", "-nc", "text"},
		{"/usr/bin/gawk", "{ s[$1 % 10] += $1 } END { for (i in s) print i, s[i] }", "numbers"},
		{"/usr/bin/bc", "-q", "calc"},
	} {
		t.Run(filepath.Base(args[0]), func(t *testing.T) {
			cfg := cgemu.Config{Args: args, Dir: dir, Engine: "jit", CPU: unicorn.DefaultModel}
			want := start(t, cfg)
			cfg.Engine = cgemu.CheckUnicornEngine
			got := start(t, cfg)
			assert.Zero(t, got.Exit.Status())
			assert.Equal(t, want.stdout, got.stdout)
			sameProfile(t, want.profile, got.profile)
		})
	}
}

// TestCheckFinds has it find a difference that there is, and name its place.
func TestCheckFinds(t *testing.T) {
	dir := t.TempDir()
	src, err := filepath.Abs("testdata/check/cmpxchg.c")
	require.NoError(t, err)
	build(t, dir, "gcc", "-g", "-O1", "-static", "-o", "prog", src)
	_, err = cgemu.Run(t.Context(), cgemu.Config{Path: filepath.Join(dir, "prog"), Args: []string{"prog"}, Engine: cgemu.CheckUnicornEngine})
	var d *cgemu.EngineMismatch
	require.ErrorAs(t, err, &d)
	assert.Contains(t, d.Insn, "cmpxchg DWORD PTR")
	assert.Contains(t, d.Place, "main, "+src+":9")
	assert.Contains(t, d.What, "rax 0x5, 0x100000005")
	assert.Contains(t, d.From, "rax 0x100000005")
}

// TestUnicornArm64 builds the command for linux/arm64, runs it under qemu-aarch64 with that machine's libunicorn, and
// compares files with this one's.
func TestUnicornArm64(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "cgemu")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "unicorn", "-o", bin, "./cmd/cgemu")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, tt := range []struct {
		args   []string
		caches *cachesim.Config
	}{
		{[]string{demo}, nil},
		{[]string{"testdata/vectors/bin/t17_bpred"}, nil},
		{[]string{"testdata/vectors/bin/t09_rep_movs"}, &smallCaches},
		{[]string{"testdata/vectors/bin/t34_jit"}, &smallCaches},
		{[]string{"testdata/vectors/bin/t41_signal"}, &smallCaches},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out")
			args := []string{"-L", "/", bin, "-q", "--cachegrind-out-file=" + file}
			if tt.caches != nil {
				args = append(args, "--cache-sim=yes", "--branch-sim=yes", "--I1="+tt.caches.I1.String(),
					"--D1="+tt.caches.D1.String(), "--LL="+tt.caches.LL.String())
			}
			args = append(append(args, "--"), tt.args...)
			stdout, err := exec.CommandContext(t.Context(), qemuArm64(t), args...).Output()
			require.NoError(t, err)
			here := start(t, cgemu.Config{
				Args: tt.args, CPU: unicorn.DefaultModel, Caches: tt.caches, Branches: tt.caches != nil,
				Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LANG=C.UTF-8"},
			})
			assert.Equal(t, here.stdout, string(stdout))
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			sameProfile(t, here.profile, string(text))
		})
	}
}
