//go:build oracles && linux && amd64

package cgemu_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// guestEnv is the environment of the programs below.
var guestEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LANG=C.UTF-8", "PERL_HASH_SEED=0", "PYTHONHASHSEED=0"}

// agree runs a program with several engines and wants equal profiles, output and status, of all processes.
func agree(t *testing.T, engines []string, cfg cgemu.Config) {
	t.Helper()
	cfg.TraceChildren, cfg.Env, cfg.Overlay = true, guestEnv, true
	var want ran
	for i, engine := range engines {
		cfg.Engine = engine
		ended, got := guestRun(t, cfg)
		if i == 0 {
			want = got
			continue
		}
		assert.Equal(t, want.stdout, ended.stdout)
		assert.Equal(t, want.Exit, got.Exit)
		sameProfile(t, want.profile, got.profile)
		require.Len(t, got.Children, len(want.Children))
		for i := range want.Children {
			sameProfile(t, text(t, want.Children[i]), text(t, got.Children[i]))
		}
	}
}

// TestEnginesAgreeStatic compares the engines on the programs of testdata/oracle and testdata/simulation, with and
// without simulations.
func TestEnginesAgreeStatic(t *testing.T) {
	t.Parallel()
	list := staticPrograms(t)
	sources, err := filepath.Glob("testdata/simulation/*.c*")
	require.NoError(t, err)
	for _, src := range sources {
		compilers := []string{"gcc -O2", "gcc -O0", "musl-gcc -O2"}
		if strings.HasSuffix(src, ".cc") {
			compilers = []string{"g++ -O2"}
		}
		for _, c := range compilers {
			list = append(list, staticProgram{src, c})
		}
	}
	require.GreaterOrEqual(t, len(list), 60)
	for _, p := range list {
		t.Run(p.String(), func(t *testing.T) {
			dir := t.TempDir()
			p.build(t, dir)
			cfg := cgemu.Config{Path: filepath.Join(dir, "prog"), Args: []string{"./prog"}, Dir: dir}
			agree(t, fullEngines, cfg)
			cfg.Caches, cfg.Branches = &bigCaches, true
			agree(t, fullEngines, cfg)
		})
	}
}

// enginePrograms are programs as they are installed: interpreters, compilers, compression, cryptography, databases,
// virtual machines, and threads, signals and processes.
func enginePrograms(t *testing.T) [][]string {
	return [][]string{
		{"bash", "-c", `f() { echo $(( $1 * 2 )); }; for i in 1 2 3; do f $i; done | sort -r; (exit 3); kill -USR1 $$`},
		{"dash", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); done; echo $i | cat"},
		{"perl", "-e", `$s += sin($_) * exp(-$_ / 100) + log($_) ** 1.3 for 1 .. 2000; printf "%.17g\n", $s; $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; sleep 5`},
		{"/usr/bin/python3", "-S", "-c", "import struct\nx = 1\nfor i in range(3000): x = (x * 6364136223846793005 + 1) % 2**64; print(repr(struct.unpack('d', x.to_bytes(8, 'little'))[0]))"},
		{"/usr/bin/python3", "-c", "import threading, subprocess, zlib, math, signal\nts = [threading.Thread(target=lambda: [math.gamma(x / 7) for x in range(1, 300)]) for _ in range(3)]\n[t.start() for t in ts]; [t.join() for t in ts]\nprint(subprocess.run(['echo', 'x'], capture_output=True), zlib.crc32(b'x' * 100000))\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm')); signal.alarm(1); signal.pause()"},
		{"sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where x < 500) select sum(x), avg(x * 1.1), printf('%.15g %e', max(x) / 7.0, 1.0 / max(x)) from c;"},
		{"gawk", `{ s[$1 % 10] += $1 * 1.7 } END { for (i in s) printf "%s %.15g %.3e\n", i, s[i], exp(i) }`, "numbers"},
		{"mawk", `{ s += $1 * 1.5 } END { print s }`, "numbers"},
		{"sed", "-E", "s/([0-9]+) of/<\\1>/; y/abc/xyz/", "text"}, {"grep", "-nE", "(9[0-9]|1+) of.*[a-f]$", "text"}, {"sort", "-n", "numbers"},
		{"gzip", "-9nc", "text"}, {"gzip", "-dc", "text.gz"}, {"bzip2", "-c", "text"}, {"bzip2", "-dc", "text.bz2"}, {"xz", "-c", "text"}, {"xz", "-dc", "text.xz"},
		{"zstd", "-qc", "text"}, {"zstd", "-qdc", "text.zst"}, {"tar", "tf", "tree.tar"}, {"od", "-Ad", "-tfL", "text"}, {"seq", "-f", "%.15Lg", "1", "0.37", "50"},
		{"sha512sum", "text"}, {"b2sum", "text"}, {"cksum", "text"}, {"factor", "1234567890123456789"}, {"bc", "-q", "calc"}, {"jq", "-c", ".a[2].b, (.a | length)", "json"},
		{"openssl", "dgst", "-sha3-512", "text"}, {"openssl", "dgst", "-blake2b512", "text"}, {"openssl", "enc", "-aes-256-ctr", "-K", "00", "-iv", "00", "-in", "text"},
		{"openssl", "enc", "-chacha20", "-K", "00", "-iv", "00", "-in", "text"}, {"openssl", "prime", "-generate", "-bits", "128"},
		{"git", "-C", "repo", "-c", "safe.directory=*", "log", "-p"},
		{cc1(t), "-quiet", "-O2", "f.c", "-o", "-"}, {"gcc", "-O2", "-shared", "f.c", "-o", "f.so"}, {"as", "f.s", "-o", "f2.o"}, {"objdump", "-d", "f.o"},
		{"ruby", "-e", "puts (1..20).map { |x| Math.sin(x) }.sum; Thread.new { puts 2 ** 200 }.join"},
		{"node", "--jitless", "-e", "console.log([3, 1, 2].sort(), 0.1 + 0.2)"},
		{"node", "-e", "let s = 0; for (let i = 0; i < 1e5; i++) s += Math.sqrt(i); console.log(s)"},
		{"java", "-XX:-UsePerfData", "-version"}, {"./hello-go"}, {"./sort-rs"}, {"./x87"}, {"./x87-musl"},
	}
}

// programsOf has what enginePrograms read.
func programsOf(t *testing.T) (dir string) {
	dir = files(t)
	src, err := filepath.Abs("testdata/native/longdouble.c")
	require.NoError(t, err)
	for _, args := range [][]string{
		{"go", "build", "-o", "hello-go", "hello.go"}, {"rustc", "-O", "-o", "sort-rs", "sort.rs"},
		{"gcc", "-O2", "-static", "-o", "x87", src, "-lm"}, {"musl-gcc", "-O2", "-static", "-o", "x87-musl", src, "-lm"},
	} {
		build(t, dir, args...)
	}
	return dir
}

// TestEnginesAgree runs programs as they are installed under each engine, and to their end under the one that compares
// the two.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	dir := programsOf(t)
	list := enginePrograms(t)
	require.GreaterOrEqual(t, len(list), 40)
	for _, args := range list {
		t.Run(strings.Join(args[:min(3, len(args))], " "), func(t *testing.T) {
			path := filepath.Join(dir, args[0])
			if !strings.Contains(args[0], "/") {
				var err error
				path, err = exec.LookPath(args[0])
				if args[0] == "ruby" && err != nil {
					t.Skip(err) // which CI does not install
				}
				require.NoError(t, err)
			} else if filepath.IsAbs(args[0]) {
				path = args[0]
			}
			agree(t, append(slices.Clone(fullEngines), cgemu.CheckEngine), cgemu.Config{Path: path, Args: args, Dir: dir})
		})
	}
}
