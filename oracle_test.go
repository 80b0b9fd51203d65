//go:build oracles && linux && amd64

package cgemu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// Valgrind, without Debian's wrapper, which adds variables, and what it preloads.
const (
	valgrind = "/usr/bin/valgrind.bin"
	preload  = "LD_PRELOAD=/usr/libexec/valgrind/vgpreload_core-amd64-linux.so"
)

// reference is Cachegrind with the options by which docs/counting.md defines our counts.
var reference = []string{
	valgrind, "--tool=cachegrind", "--vex-guest-chase=no", "--vex-iropt-level=0", "--cache-sim=no",
	"-q", "--log-file=/dev/null",
}

// namespaces runs a command where it finds what it finds in cgemu's world: pid 1000, child of
// 999, the host name, and /proc/filesystems, the file $1.
const namespaces = `
hostname cgemu
mount --bind "$1" /proc/filesystems
shift
echo 998 >/proc/sys/kernel/ns_last_pid
sh -c '"$@"; exit $?' sh "$@"
exit $?`

// An ended is how a command ended.
type ended struct {
	stdout, stderr string
	status         int
}

// run runs a command with files for its output, as startFor does for guests.
func run(t *testing.T, dir string, env []string, args ...string) ended {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var files [2]*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		defer f.Close()
		files[i] = f
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", args[0], err)
	}
	e := ended{status: cmd.ProcessState.ExitCode()}
	for i, text := range []*string{&e.stdout, &e.stderr} {
		b, err := os.ReadFile(files[i].Name())
		require.NoError(t, err)
		*text = string(b)
	}
	return e
}

// build runs a compiler.
func build(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", strings.Join(args, " "), out)
}

// guestRun runs a program under cgemu, its output in files.
func guestRun(t *testing.T, cfg cgemu.Config) (ended, ran) {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	cfg.Stderr = stderr
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := startFor(t, ctx, cfg)
	require.False(t, r.Exit.Interrupted, "timeout")
	text, err := os.ReadFile(stderr.Name())
	require.NoError(t, err)
	return ended{r.stdout, string(text), r.Exit.Status()}, r
}

// counted is the normal form of a profile a reference wrote.
func counted(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return normal(string(b))
}

// like Valgrind shows itself to a program.
func compat(t *testing.T, cfg cgemu.Config) cgemu.Config {
	cfg.CPU, cfg.Compat, cfg.CPUs = "valgrind", true, runtime.NumCPU()
	return cfg
}

// printsFloats has the programs that print floating-point numbers. musl does it by x87
// arithmetic, which Valgrind does with fewer bits than the hardware: other digits, other branches.
var printsFloats = []string{"float.c", "int128.c", "printf.c", "qsort.c", "avx2.c"}

// A staticProgram is a source file and what compiles it.
type staticProgram struct{ src, compiler string }

// staticPrograms are the programs of testdata/oracle.
func staticPrograms(t *testing.T) (list []staticProgram) {
	sources, err := filepath.Glob("testdata/oracle/*.c*")
	require.NoError(t, err)
	for _, src := range sources {
		compilers := []string{"gcc -O0", "gcc -O2", "musl-gcc -O2"}
		if slices.Contains(printsFloats, filepath.Base(src)) {
			compilers = compilers[:2]
		}
		if strings.HasSuffix(src, ".cc") {
			compilers = []string{"g++ -O0", "g++ -O2"}
		}
		for _, c := range compilers {
			list = append(list, staticProgram{src, c})
		}
	}
	require.GreaterOrEqual(t, len(list), 25)
	return list
}

func (p staticProgram) String() string { return filepath.Base(p.src) + " " + p.compiler }

// compiling is held while a program is compiled: tests that run side by side want the same ones.
var compiling sync.Mutex

// build makes dir/prog, which is compiled once for all tests.
func (p staticProgram) build(t *testing.T, dir string) {
	compiling.Lock()
	defer compiling.Unlock()
	shared := filepath.Join(sharedDir(), strings.ReplaceAll(p.String(), "/", "-"))
	if _, err := os.Stat(filepath.Join(shared, "prog")); err != nil {
		abs, err := filepath.Abs(p.src)
		require.NoError(t, err)
		args := append(strings.Fields(p.compiler), "-static", "-g", "-w", "-o", "prog", abs, "-lm")
		switch filepath.Base(p.src) {
		case "avx2.c", "vector.c":
			args = append(args, "-mavx2", "-mfma")
		}
		require.NoError(t, os.MkdirAll(shared, 0o700))
		build(t, shared, args...)
	}
	require.NoError(t, os.Link(filepath.Join(shared, "prog"), filepath.Join(dir, "prog")))
}

// TestOracleStatic compiles testdata/oracle statically and compares with Cachegrind, the whole file.
func TestOracleStatic(t *testing.T) {
	t.Parallel()
	for _, p := range staticPrograms(t) {
		t.Run(p.String(), func(t *testing.T) {
			dir := t.TempDir()
			p.build(t, dir)
			want := run(t, dir, []string{}, append(slices.Clone(reference), "--cachegrind-out-file=ref", "./prog")...)
			got, r := guestRun(t, compat(t, cgemu.Config{
				Path: "./prog", Args: []string{"./prog"}, Dir: dir, Env: []string{preload},
			}))
			assert.Equal(t, want, got)
			assert.NotEmpty(t, got.stdout)
			sameProfile(t, counted(t, filepath.Join(dir, "ref")), normal(r.profile))
		})
	}
}

// files makes what the programs of the tests below read.
func files(t *testing.T) (dir string) {
	dir = t.TempDir()
	makeApart(t, dir, "tree", "one", "two")
	var numbers, text strings.Builder
	for i := range 500 {
		fmt.Fprintln(&numbers, i*7919%1000)
		fmt.Fprintf(&text, "line %d of a text, %x\n", i, i*i*i)
	}
	for name, data := range map[string]string{
		"numbers": numbers.String(), "text": text.String(), "json": `{"a":[1,2,{"b":"x"}],"c":null}`,
		"f.c":               "struct s { int a, b; };\nint f(struct s *p, int n) { int r = 0; while (n--) r += p[n].a * p[n].b; return r; }\n",
		"f.s":               ".globl f\nf: lea 1(%rdi),%rax\n ret\n.data\n.quad f, 42\n",
		"calc":              "scale=50\nsqrt(2)\nfor (i = 1; i < 20; i++) i ^ i\n",
		"tree/one/two/file": "x\n",
		"hello.go":          "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\", len(map[int]int{1: 2})) }\n",
		"hello.rs":          "fn main() { println!(\"hello {}\", std::env::args().count()); }\n",
		"sort.rs":           "fn main() { let mut v: Vec<u64> = (0..5000u64).map(|x| x.wrapping_mul(2654435761) % 10007).collect(); v.sort(); println!(\"{} {:?}\", v.len(), &v[..5]); }\n",
		"T.java":            "public class T { public static void main(String[] a) { System.out.println(\"hello \" + a.length); } }\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
	}
	for _, cmd := range []string{
		"gzip -nkf text", "bzip2 -kf text", "xz -kf text", "zstd -qf text", "tar cf tree.tar --sort=name tree",
		"gcc -c f.s -o f.o", "cp f.o linked.o",
		"mkdir repo", "git -C repo init -q", "cp text repo/f", "git -C repo add f",
		gitDates + "git -C repo -c user.name=x -c user.email=x@y commit -qm first",
		gitDates + "git -C repo -c user.name=x -c user.email=x@y commit -qm second --allow-empty",
	} {
		build(t, dir, strings.Fields(cmd)...)
	}
	return dir
}

// makeApart makes directories, one in the other, that find has in different buckets of its table, of 41, of directories
// that it is in: one more in a bucket is one more allocation. The numbers of inodes decide that, which are the host's
// for the reference, and others for guests.
func makeApart(t *testing.T, dir string, names ...string) {
	const buckets = 41
	used := map[uint64]bool{}
	made := filepath.Join(dir, "made")
	require.NoError(t, os.Mkdir(made, 0o755))
	path := dir
	for i := 0; len(names) > 0; i++ {
		require.Less(t, i, 10_000, "inodes have numbers that are always in the same bucket")
		one := filepath.Join(made, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(one, 0o755))
		info, err := os.Stat(one)
		require.NoError(t, err)
		bucket := info.Sys().(*syscall.Stat_t).Ino % buckets
		if used[bucket] {
			continue // its inode stays in use, so that the next one has another
		}
		used[bucket] = true
		path = filepath.Join(path, names[0])
		require.NoError(t, os.Rename(one, path))
		names = names[1:]
	}
	require.NoError(t, os.RemoveAll(made))
}

// gitDates makes commits the same in each run: git looks them up by their hashes, in an order that is the host's.
const gitDates = "env GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z "

// cc1 is the path of gcc's compiler proper.
func cc1(t *testing.T) string {
	out, err := exec.CommandContext(t.Context(), "gcc", "-print-prog-name=cc1").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// runReference runs a program under a reference, which writes the profile ref, in namespaces.
func runReference(t *testing.T, dir string, reference, env []string, ref string, args []string) ended {
	t.Helper()
	none, _ := guestRun(t, cgemu.Config{Path: "/bin/cat", Args: []string{"cat", "/proc/filesystems"}})
	require.Zero(t, none.status)
	filesystems := filepath.Join(t.TempDir(), "filesystems")
	require.NoError(t, os.WriteFile(filesystems, []byte(none.stdout), 0o644))
	require.NoError(t, os.RemoveAll(ref))
	cmd := []string{"unshare", "--pid", "--fork", "--uts", "--mount", "--kill-child", "sh", "-c", namespaces, "sh", filesystems}
	// Anyone may make these as root of a namespace of users. The program is in one more, as the user that guests see.
	if uid := os.Geteuid(); uid != 0 {
		cmd = append(slices.Insert(cmd, 1, "--map-root-user"), "unshare", fmt.Sprintf("--map-user=%d", uid), fmt.Sprintf("--map-group=%d", os.Getegid()))
	}
	cmd = append(cmd, "env", "-i")
	cmd = append(cmd, env...)
	cmd = append(cmd, reference...)
	cmd = append(cmd, "--"+strings.TrimPrefix(reference[1], "--tool=")+"-out-file="+ref)
	return run(t, dir, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, append(cmd, args...)...)
}

// TestOracleDynamic compares whole profiles of programs as they are installed, the dynamic linker
// included. Arguments are chosen so that what Valgrind cannot show like cgemu does not matter:
// clocks, inode numbers, directory order, the machine's memory, /proc/self/maps.
func TestOracleDynamic(t *testing.T) {
	t.Parallel()
	dir := files(t)

	for _, tt := range []struct {
		args []string
		env  string
		// except has functions that differ, and why is the reason.
		except string
		why    string
	}{
		{args: []string{"/bin/true"}},
		{args: []string{"/bin/echo", "a", "b"}},
		{args: []string{"/bin/bash", "-c", `f() { echo $(( $1 * 2 )); }; for i in 1 2 3; do f $i; done; echo $$ $PPID; exit 3`}},
		{args: []string{"/bin/dash", "-c", "i=0; while [ $i -lt 20 ]; do i=$((i + 1)); done; echo $i"}},
		{args: []string{"/bin/sed", "-n", "s/line \\([0-9]*\\) of/\\1/p", "text"}},
		{args: []string{"/usr/bin/sort", "-S", "1M", "-n", "numbers"}},
		{args: []string{"/usr/bin/mawk", "{ s[$1 % 10] += $1 } END { for (i in s) print i, s[i] }", "numbers"}},
		{args: []string{"/bin/gzip", "-dc", "text.gz"}},
		{args: []string{"/bin/gzip", "-nc", "text"}},
		{args: []string{"/bin/bzip2", "-dc", "text.bz2"}},
		{args: []string{"/usr/bin/xz", "-dc", "text.xz"}},
		{args: []string{"/usr/bin/zstd", "-q", "--no-asyncio", "-dc", "text.zst"}},
		{args: []string{"/usr/bin/bc", "-q", "calc"}},
		{args: []string{"/bin/busybox", "wc", "text"}},
		{args: []string{"/usr/bin/sha256sum", "text"}},
		{args: []string{"/usr/bin/od", "-c", "json"}},
		{args: []string{"/bin/ls", "tree"}},
		{args: []string{"/bin/tar", "tf", "tree.tar"}},
		{args: []string{"/usr/bin/sqlite3", ":memory:", "create table t(a, b); insert into t values (1, 2), (3, 4); select sum(a * b) from t;"}},
		{
			args: []string{"/usr/bin/perl", "-e", `my %h; $h{$_ % 17} += $_ for 1..2000; print "$_ $h{$_}\n" for sort keys %h; printf "%.10f\n", sqrt 2`},
			env:  "PERL_HASH_SEED=0",
		},
		{args: []string{"/usr/bin/git", "-C", "repo", "log", "--format=%s"}},
		{args: []string{"/usr/bin/as", "f.s", "-o", "/dev/null"}},
		{args: []string{"/usr/bin/objdump", "-d", "f.o"}},
		{args: []string{"/usr/bin/readelf", "-a", "f.o"}},
		{args: []string{cc1(t), "-quiet", "-O2", "f.c", "-o", "-"}},
		{args: []string{"/usr/bin/gcc", "-dumpversion"}},
		{args: []string{"/usr/bin/ld", "-r", "f.o", "-o", "linked.o"}},
		{args: []string{"/usr/bin/git", "-C", "repo", "log", "-p", "--format=%s"}},
		{args: []string{"/usr/bin/openssl", "dgst", "-sha512", "text"}},
		{args: []string{"/usr/bin/openssl", "enc", "-aes-256-cbc", "-K", "00", "-iv", "00", "-in", "text", "-out", "/dev/null"}},
		{args: []string{"/usr/bin/iconv", "-f", "utf-8", "-t", "utf-16", "text"}},
		{args: []string{"/usr/bin/factor", "1234567890123456789", "99999999999999999989"}},
		{args: []string{"/usr/bin/tac", "text"}},
		{args: []string{"/bin/bash", "-c", `declare -A m; for ((i = 0; i < 200; i++)); do m[$((i % 37))]+=x; [[ $i =~ 7$ ]] && s+=${i//7/q}; done; echo ${#m[@]} ${#s} ${m[3]}`}},
		{
			args: []string{"/usr/bin/find", "tree", "-name", "f*"}, except: `^round_and_return$`,
			why: "strtod of the kernel's version in uname(2)",
		},
		{
			args: []string{"/usr/bin/python3", "-S", "-c", "print(sorted({i * i % 97 for i in range(1000)})[:5])"}, env: "PYTHONHASHSEED=0",
			except: `^(_int_|malloc|calloc|realloc|free|unlink_chunk|alloc_perturb|sysmalloc|\?\?\?$|_?Py|__mem|__str|_IO_default|unicode|.*readdir|.*getdents)`,
			why:    "directory order and inode numbers",
		},
	} {
		t.Run(filepath.Base(tt.args[0])+" "+strings.Join(tt.args[1:min(2, len(tt.args))], " "), func(t *testing.T) {
			var env []string
			if tt.env != "" {
				env = append(env, tt.env)
			}
			ref := filepath.Join(dir, "ref")
			want := runReference(t, dir, reference, env, ref, tt.args)
			got, r := guestRun(t, compat(t, cgemu.Config{Args: tt.args, Dir: dir, Env: append(env, preload)}))
			assert.Equal(t, want, got)
			if tt.except == "" {
				sameProfile(t, counted(t, ref), normal(r.profile))
				return
			}
			re := regexp.MustCompile(tt.except)
			a, b := functions(counted(t, ref), re), functions(normal(r.profile), re)
			assert.Equal(t, a, b)
			assert.Greater(t, len(a), 50)
		})
	}
}

// functions returns the Ir of the functions in a profile, but for those that re matches.
func functions(profile string, re *regexp.Regexp) map[string]uint64 {
	sums := map[string]uint64{}
	fn := ""
	for line := range strings.Lines(profile) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "fn="); ok {
			fn = name
			continue
		}
		var at, n uint64
		if k, _ := fmt.Sscanf(line, "%d %d", &at, &n); k == 2 && !re.MatchString(fn) {
			sums[fn] += n
		}
	}
	return sums
}

// TestOracleOutput compares output and exit status with the host's.
func TestOracleOutput(t *testing.T) {
	dir := files(t)
	build(t, dir, "go", "build", "-o", "hello-go", "hello.go")
	for name, compiler := range map[string]string{"x87": "gcc", "x87-musl": "musl-gcc"} {
		src, err := filepath.Abs("testdata/native/longdouble.c")
		require.NoError(t, err)
		build(t, dir, compiler, "-O2", "-static", "-o", name, src, "-lm")
	}
	build(t, dir, "rustc", "-O", "-o", "hello-rs", "hello.rs")
	build(t, dir, "rustc", "-O", "-o", "sort-rs", "sort.rs")
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LANG=C.UTF-8"}
	for _, args := range [][]string{
		{"bash", "-c", `a=(c b a); printf '%s|' "${a[@]^}" ${#a[*]}; [[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}; exit 42`},
		{"perl", "-e", `print join(",", map { sprintf "%.3g", $_ ** 0.5 } 1..20), "\n"; $_ = "aXbX"; print scalar(s/X/-/g), $_; die "dead\n"`},
		{"/usr/bin/python3", "-c", "import re, json, math, hashlib; print(re.findall('[a-c]+', 'abxxcab'), json.dumps({'a': [1.5, None]}), math.gamma(5.5), hashlib.sha256(b'x').hexdigest())"},
		{"/usr/bin/python3", "-c", "1/0"},
		{"sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where x < 50) select x, x * x % 17, printf('%.3f', 1.0 / x) from c order by 2, 1;"},
		{"gawk", `{ n[length($0)]++ } END { for (i in n) print i, n[i] }`, "numbers"},
		{"gawk", `BEGIN { printf "%.15g %s\n", atan2(0, -1), toupper(substr("hello", 2, 3)) } { s += $1 } END { print s }`, "numbers"},
		{"mawk", `{ s += $1 * 1.5 } END { print s }`, "numbers"},
		{"sed", "-E", "s/([0-9]+) of/<\\1>/; 3,5d; y/abc/xyz/", "text"},
		{"grep", "-nE", "(9[0-9]|1+) of.*[a-f]$", "text"},
		{"grep", "-q", "nowhere", "text"},
		{"sort", "-nr", "numbers"},
		{"sort", "-k3,3", "-t,", "text"},
		{"tar", "tf", "tree.tar"},
		{"gzip", "-9nc", "text"}, {"gzip", "-dc", "text.gz"},
		{"bzip2", "-c", "text"}, {"bzip2", "-dc", "text.bz2"},
		{"xz", "-c", "text"}, {"xz", "-dc", "text.xz"},
		{"zstd", "-qc", "text"}, {"zstd", "-qdc", "text.zst"},
		{"jq", "-c", ".a[2].b, (.a | length)", "json"},
		{"git", "-C", "repo", "-c", "safe.directory=*", "log", "--format=%s %an", "--stat"},
		{"bc", "-q", "calc"},
		{cc1(t), "-quiet", "-O2", "f.c", "-o", "-"},
		{"ls", "-1R", "tree"},
		{"find", "tree", "-type", "f"},
		{"busybox", "sha1sum", "text"},
		{"busybox", "awk", "{ s += $1 } END { print s }", "numbers"},
		{"./x87"}, {"./x87-musl"}, {"./hello-rs", "a"}, {"./sort-rs"}, {"./hello-go"},
		{"node", "--jitless", "-e", "console.log([3, 1, 2].sort(), 0.1 + 0.2)"},
		{"node", "-e", "let s = 0; for (let i = 0; i < 1e5; i++) s += Math.sqrt(i); console.log(s); process.exit(7)"},
	} {
		t.Run(strings.Join(args[:min(3, len(args))], " "), func(t *testing.T) {
			path := args[0]
			if !strings.Contains(path, "/") {
				p, err := exec.LookPath(path)
				require.NoError(t, err)
				path = p
			} else if strings.HasPrefix(path, "./") {
				path = filepath.Join(dir, path)
			}
			want := run(t, dir, env, append([]string{path}, args[1:]...)...)
			full := append([]string{path}, args[1:]...)
			got, _ := guestRun(t, cgemu.Config{Path: path, Args: full, Dir: dir, Env: env})
			assert.Equal(t, want, got)
		})
	}
}

// TestOracleJava starts a virtual machine, without the file it would share with others that run meanwhile: its name has
// the PID.
func TestOracleJava(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("java")
	require.NoError(t, err)
	args := []string{path, "-XX:-UsePerfData", "-version"}
	want := run(t, "/", os.Environ(), args...)
	got, _ := guestRun(t, cgemu.Config{Path: path, Args: args, Dir: "/"})
	assert.Equal(t, want, got)
}

// threadPrograms start threads in four languages; all print the same number.
var threadPrograms = map[string]string{
	"threads.c": `
#include <pthread.h>
#include <stdio.h>
static long sum;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *f(void *p) {
	for (long i = 0; i < 2000; i++) { pthread_mutex_lock(&m); sum += (long)p * i; pthread_mutex_unlock(&m); }
	return 0;
}
int main(void) {
	pthread_t t[8];
	for (long i = 0; i < 8; i++) pthread_create(&t[i], 0, f, (void *)i);
	for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
	printf("%ld\n", sum);
	return 0;
}`,
	"threads.cc": `
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>
int main() {
	std::atomic<long> sum{0};
	std::mutex m;
	std::condition_variable c;
	int ready = 0;
	std::vector<std::thread> ts;
	for (long n = 0; n < 8; n++)
		ts.emplace_back([&, n] {
			{ std::unique_lock<std::mutex> l(m); ready++; c.notify_all(); c.wait(l, [&] { return ready == 8; }); }
			for (long i = 0; i < 2000; i++) sum += n * i;
		});
	for (auto &t : ts) t.join();
	std::printf("%ld\n", sum.load());
}`,
	"threads.rs": `
use std::sync::{mpsc, Arc, Mutex};
fn main() {
	let (tx, rx) = mpsc::channel();
	let all = Arc::new(Mutex::new(0u64));
	let ts: Vec<_> = (0..8u64).map(|n| {
		let (tx, all) = (tx.clone(), all.clone());
		std::thread::spawn(move || for i in 0..2000u64 { if i % 2 == 0 { tx.send(n * i).unwrap() } else { *all.lock().unwrap() += n * i } })
	}).collect();
	drop(tx);
	let sent: u64 = rx.iter().sum();
	for t in ts { t.join().unwrap() }
	println!("{}", sent + *all.lock().unwrap());
}`,
	"threads.go": `
package main

import (
	"fmt"
	"runtime"
	"sync"
)

func main() {
	if runtime.GOMAXPROCS(0) < 2 { panic("one processor") }
	c := make(chan int, 3)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() { for i := range 2000 { c <- n * i; if i % 500 == 0 { runtime.Gosched() } } })
	}
	go func() { wg.Wait(); close(c) }()
	sum := 0
	for x := range c { sum += x }
	fmt.Println(sum)
}`,
}

// TestOracleThreads runs each of them 100 times: always the same profile.
func TestOracleThreads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, compiler := range map[string]string{
		"threads.c": "gcc -O2 -pthread -o threads.c.bin threads.c", "threads.cc": "g++ -O2 -pthread -o threads.cc.bin threads.cc",
		"threads.rs": "rustc -O -o threads.rs.bin threads.rs", "threads.go": "go build -o threads.go.bin threads.go",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(threadPrograms[name]), 0o644))
		build(t, dir, strings.Fields(compiler)...)
		t.Run(name, func(t *testing.T) {
			const times = 100
			cfg := cgemu.Config{Args: []string{filepath.Join(dir, name+".bin")}, CPUs: 4, Dir: dir}
			first := start(t, cfg)
			require.Equal(t, "55972000\n", first.stdout)
			for i := range times - 1 {
				again := start(t, cfg)
				require.Equal(t, first.stdout, again.stdout)
				require.Equal(t, first.Exit, again.Exit)
				sameProfile(t, first.profile, again.profile)
				if t.Failed() {
					t.Fatalf("run %d", i+2)
				}
			}
		})
	}
}

// TestOracleKilled kills cgemu at all times of its life: a profile is whole or not there.
func TestOracleKilled(t *testing.T) {
	dir := t.TempDir()
	bin := buildCommand(t, dir)
	prog, err := filepath.Abs(demo)
	require.NoError(t, err)
	begin := time.Now()
	whole := run(t, dir, nil, bin, "-q", "--cachegrind-out-file=whole", prog)
	took := time.Since(begin)
	require.Zero(t, whole.status)
	want, err := os.ReadFile(filepath.Join(dir, "whole"))
	require.NoError(t, err)
	var there, missing int
	for i := range 200 {
		out := filepath.Join(dir, fmt.Sprint("out", i))
		cmd := exec.CommandContext(t.Context(), bin, "-q", "--cachegrind-out-file="+out, prog)
		cmd.Stdout = io.Discard
		require.NoError(t, cmd.Start())
		time.Sleep(took * time.Duration(i) / 150)
		require.NoError(t, ignoreDone(cmd.Process.Kill()))
		cmd.Wait()
		got, err := os.ReadFile(out)
		switch {
		case errors.Is(err, os.ErrNotExist):
			missing++
		case err == nil && bytes.Equal(want, got):
			there++
		default:
			t.Errorf("%s: %d bytes of %d, %v", out, len(got), len(want), err)
		}
	}
	t.Logf("%d whole, %d missing", there, missing)
	require.NotZero(t, there)
	require.NotZero(t, missing)
}

// TestOracleNested runs cgemu under itself: its guest has the profile that it has otherwise, and a guest's children find
// what their parent has.
func TestOracleNested(t *testing.T) {
	dir := t.TempDir()
	bin := buildCommand(t, dir)
	prog, err := filepath.Abs(demo)
	require.NoError(t, err)
	own := []string{bin, "-q", "--no-cache", "--cachegrind-out-file=out.%p"}
	under := append([]string{bin, "-q", "--no-cache", "--cachegrind-out-file=outer"}, own...)
	profileOf := func(args []string) string {
		require.Zero(t, run(t, dir, nil, append(slices.Clone(args), prog)...).status)
		out := filepath.Join(dir, "out.1000")
		profile, err := os.ReadFile(out)
		require.NoError(t, err)
		require.NoError(t, os.Remove(out))
		return string(profile)
	}
	require.Equal(t, profileOf(own), profileOf(under))
	shell := run(t, dir, nil, append(under, "sh", "-c", "(exit 3); echo $?; echo through | cat; /bin/true; echo $?")...)
	require.Equal(t, "3\nthrough\n0\n", shell.stdout)
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
