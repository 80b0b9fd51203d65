//go:build oracles

package dwarfmap

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/cgemu/cgemu/cgout"
)

// The oracle is Valgrind itself: Cachegrind counts instructions by file, function and
// line. Naming the addresses of those that cgemu executes with Lookup must give
// Cachegrind's file, to the last line.

var referenceArgs = []string{"--vex-guest-chase=no", "--vex-iropt-level=0"}

// valgrind runs a tool of Valgrind in dir with an empty environment. When two threads want one lock Go's runtime
// executes RDTSCP, which Valgrind 3.19 does not know: such a run is repeated.
func valgrind(t *testing.T, dir string, args ...string) (stdout, stderr []byte) {
	t.Helper()
	for try := 1; ; try++ {
		cmd := exec.Command("/usr/bin/valgrind.bin", args...)
		cmd.Dir = dir
		cmd.Env = []string{}
		var out, errb bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errb
		err := cmd.Run()
		if err != nil && try < 10 && strings.Contains(errb.String(), "unhandled instruction bytes: 0xF 0x1 0xF9") {
			continue
		}
		require.NoError(t, err, "%s\n%s", cmd, errb.String())
		return out.Bytes(), errb.Bytes()
	}
}

type key struct {
	file, fn string
	line     int
}

// reference returns what Cachegrind counts, without lines that are zero.
func reference(t *testing.T, dir string, command ...string) map[key]int {
	out := filepath.Join(t.TempDir(), "out")
	valgrind(t, dir, append(append(referenceArgs, "--tool=cachegrind", "--cache-sim=no",
		"--cachegrind-out-file="+out), command...)...)
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	counts := map[key]int{}
	var k key
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "fl="):
			k.file = line[3:]
		case strings.HasPrefix(line, "fn="):
			k.fn = line[3:]
		case line[0] >= '0' && line[0] <= '9':
			f := strings.Fields(line)
			k.line, err = strconv.Atoi(f[0])
			require.NoError(t, err)
			n, err := strconv.Atoi(f[1])
			require.NoError(t, err)
			if n != 0 {
				counts[k] = n
			}
		}
	}
	return counts
}

// sharedDir has what several tests use.
var sharedDir string

// TestMain makes sharedDir, and removes it.
func TestMain(m *testing.M) {
	var err error
	if sharedDir, err = os.MkdirTemp("", "dwarfmap"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(sharedDir)
	os.Exit(status)
}

// builtCgemu builds the command, once, and returns its path.
var builtCgemu = sync.OnceValues(func() (string, error) {
	path := filepath.Join(sharedDir, "cgemu")
	out, err := exec.Command("go", "build", "-trimpath", "-o", path, "../cmd/cgemu").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return path, err
})

// valgrindCPU is the CPU that Valgrind shows on this host: it has RDRAND and RDSEED where the host does.
func valgrindCPU() string {
	model := "valgrind"
	if !cpu.X86.HasRDRAND {
		model += ",-rdrand"
	}
	if !cpu.X86.HasRDSEED {
		model += ",-rdseed"
	}
	return model
}

// executed runs a program under cgemu, as under Valgrind, and returns the instructions that were executed, with how
// often.
func executed(t *testing.T, dir string, command ...string) []cgout.Insn {
	t.Helper()
	cgemu, err := builtCgemu()
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "out")
	tool(t, dir, cgemu, append([]string{
		"-q", "--compat=valgrind", "--cpu=" + valgrindCPU(), "--cpus=" + strconv.Itoa(runtime.NumCPU()), "--env=LD_PRELOAD=/usr/libexec/valgrind/vgpreload_core-amd64-linux.so",
		"--cache-sim=no", "--dump-instr=yes", "--cachegrind-out-file=" + out,
	}, command...)...)
	f, err := os.Open(out + cgout.InsnsSuffix)
	require.NoError(t, err)
	defer f.Close()
	insns, err := cgout.ReadInsns(out, f)
	require.NoError(t, err)
	require.Equal(t, []string{"Ir"}, insns.Events)
	require.Greater(t, len(insns.List), 20)
	return insns.List
}

// name counts instructions by what Lookup says of their addresses.
func name(t *testing.T, opts Options, insns []cgout.Insn) map[key]int {
	objects := map[string]*Object{}
	got := map[key]int{}
	for _, in := range insns {
		k := key{Unknown, Unknown, 0}
		if in.Object != "" {
			o := objects[in.Object]
			if o == nil {
				var err error
				o, err = Open(in.Object, opts)
				require.NoError(t, err)
				t.Cleanup(func() { o.Close(); require.NoError(t, o.Err()) })
				objects[in.Object] = o
			}
			loc := o.Lookup(in.Addr)
			k = key{loc.File, loc.Func, loc.Line}
		}
		got[k] += int(in.Counts[0])
	}
	require.NotEmpty(t, objects)
	return got
}

// compare fails if two counts differ. It allows none of the differences that
// chance makes between two runs of Valgrind, so programs must be without it.
// Where ignore is not nil, it says which lines to leave out.
func compare(t *testing.T, want, got map[key]int, ignore func(key) bool) {
	t.Helper()
	for _, counts := range []map[key]int{want, got} {
		maps.DeleteFunc(counts, func(k key, _ int) bool { return ignore != nil && ignore(k) })
	}
	var diff []string
	for k, n := range want {
		if got[k] != n {
			diff = append(diff, fmt.Sprintf("%v: %d, want %d", k, got[k], n))
		}
	}
	for k, n := range got {
		if _, ok := want[k]; !ok {
			diff = append(diff, fmt.Sprintf("%v: %d, want none", k, n))
		}
	}
	slices.Sort(diff)
	require.Empty(t, diff[:min(len(diff), 30)], "%d of %d differ", len(diff), len(want))
}

// check compares the two for a command, options of Valgrind before it.
func check(t *testing.T, dir string, opts Options, command ...string) {
	t.Helper()
	checkBut(t, nil, dir, opts, command...)
}

// checkBut is check that leaves lines out.
func checkBut(t *testing.T, ignore func(key) bool, dir string, opts Options, command ...string) {
	t.Helper()
	want := reference(t, dir, command...)
	first := slices.IndexFunc(command, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	compare(t, want, name(t, opts, executed(t, dir, command[first:]...)), ignore)
}

var defaults = Options{Demangle: true}

// tool runs a compiler.
func tool(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", cmd, out)
}

func sources(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src, err := filepath.Abs("testdata/src")
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(dir, os.DirFS(src)))
	return dir
}

func TestOracleC(t *testing.T) {
	for _, flags := range []string{
		"-g -O0", "-g -O2", "-gdwarf-2 -O1", "-gdwarf-3 -O2", "-gdwarf-4 -O2", "-gdwarf-5 -O3", "-O2",
		"-g -O2 -static", "-g -O2 -static-pie", "-g -gdwarf-4 -O2 -gz=zlib", "-g -O2 -ffunction-sections -Wl,--gc-sections",
		"-g -O2 -fdebug-prefix-map=/tmp=rel", "-g1 -O2", "-g -O2 -flto",
	} {
		t.Run(flags, func(t *testing.T) {
			dir := sources(t)
			for _, name := range []string{"one.c", "sub/two.c"} {
				args := append(strings.Fields(flags), "-o", "prog-"+filepath.Base(name))
				if name == "one.c" {
					args = append(args, "one.c", "sub/two.c", "three.S", "-Isub/../inc")
				} else {
					args = append(args, "-DMAIN", dir+"/sub/two.c", "-Iinc")
				}
				tool(t, dir, "gcc", args...)
				check(t, dir, defaults, "./prog-"+filepath.Base(name))
			}
		})
	}
}

func TestOracleCxx(t *testing.T) {
	// Binding libstdc++ takes ten times as many instructions as the program, and so does throwing where nothing but
	// -static is said.
	for _, flags := range []string{"-g -O0 -static-libstdc++", "-g -O2", "-gdwarf-4 -O2 -static-pie", "-O1 -static-libstdc++"} {
		t.Run(flags, func(t *testing.T) {
			dir := sources(t)
			tool(t, dir, "g++", append(strings.Fields(flags), "-std=c++17", "-o", "prog", "main.cc")...)
			check(t, dir, defaults, "./prog")
		})
	}
	t.Run("not demangled", func(t *testing.T) {
		dir := sources(t)
		tool(t, dir, "g++", "-g", "-O1", "-static-libstdc++", "-std=c++17", "-o", "prog", "main.cc")
		args := []string{"--demangle=no", "--show-below-main=yes", "./prog"}
		check(t, dir, Options{ShowBelowMain: true}, args...)
	})
}

func TestOracleRust(t *testing.T) {
	for _, flags := range []string{
		"-g -C symbol-mangling-version=v0", "-g -O -C symbol-mangling-version=v0",
		"-g -Z unstable-options -C symbol-mangling-version=legacy", "-C debuginfo=1 -O -C panic=abort",
	} {
		t.Run(flags, func(t *testing.T) {
			t.Setenv("RUSTC_BOOTSTRAP", "1") // allows -Z, which legacy names need
			dir := sources(t)
			tool(t, dir, "rustc", append(strings.Fields(flags), "-o", "prog", "main.rs")...)
			// Rust's start-up reads /proc/self/maps by way of libc.
			libc := func(k key) bool { return strings.HasPrefix(k.file, "./") || k.file == Unknown }
			checkBut(t, libc, dir, defaults, "./prog")
		})
	}
}

// TestOracleGo compares which lines there are, not how often they ran: threads
// of a Go program never run the same way twice.
func TestOracleGo(t *testing.T) {
	dir := sources(t)
	tool(t, dir, "go", "build", "-o", "prog", "main.go")
	want := reference(t, dir, "./prog")
	o, err := Open(filepath.Join(dir, "prog"), defaults)
	require.NoError(t, err)
	defer o.Close()
	got := map[key]bool{{Unknown, Unknown, 0}: true}
	for _, s := range o.execs.spans {
		for addr := s.lo; addr < s.hi; addr++ {
			loc := o.Lookup(addr)
			got[key{loc.File, loc.Func, loc.Line}] = true
		}
	}
	require.NoError(t, o.Err())
	require.Greater(t, len(want), 3000)
	for k := range want {
		require.True(t, got[k], "%v", k) // Contains would list all of got, each time
	}
}

// TestOracleDemangle compares demangled with c++filt -i (DMGL_ANSI|DMGL_PARAMS)
// over the symbols of large libraries. Names in libraries of LLVM may differ now
// and then, for these reasons:
//
//   - The address of a function as a template argument (XadL_Z…): the library
//     leaves out the function's type.
//   - Unresolved names in types (sr): the library counts them as substitutions,
//     so that S1_ and the like mean something else later.
//   - Parentheses around operands and called functions in expressions.
//   - An empty pack in the middle of parameters: libiberty leaves ", , ".
func TestOracleDemangle(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		most    float64 // share of names that may differ
	}{
		{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0},
		{"/usr/lib/gcc/x86_64-linux-gnu/*/libstdc++.a", 0},
		{"$(gcc -print-prog-name=cc1)", 0},
		{"$(rustc --print sysroot)/lib/{,x86_64-linux-gnu/}librustc_driver*.so", 0.0005}, // holds LLVM
	} {
		names := manglings(t, tt.pattern)
		require.NotEmpty(t, names, tt.pattern)
		cmd := exec.Command("c++filt", "-i")
		cmd.Stdin = strings.NewReader(strings.Join(names, "\n"))
		out, err := cmd.Output()
		require.NoError(t, err)
		wants := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		differ := 0
		for i, name := range names {
			if got := new(effort).demangled(name); got != wants[i] {
				differ++
				if tt.most == 0 {
					t.Errorf("%s\n got %s\nwant %s", name, got, wants[i])
				}
			}
		}
		t.Logf("%s: %d of %d names differ", tt.pattern, differ, len(names))
		require.LessOrEqual(t, float64(differ), tt.most*float64(len(names)), tt.pattern)
	}
}

// manglings returns the C++ and Rust symbols of files. The pattern is bash's.
func manglings(t *testing.T, pattern string) []string {
	// nm fails where it finds nothing, and for parts of an rlib.
	out, err := exec.Command("bash", "-c", "for f in "+pattern+"; do nm -D $f; nm $f; done 2>/dev/null; true").Output()
	require.NoError(t, err)
	names := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		name, _, _ := strings.Cut(line[strings.LastIndexByte(line, ' ')+1:], "@")
		if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
