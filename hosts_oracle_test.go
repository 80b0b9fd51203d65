//go:build oracles && linux && amd64

package cgemu_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A hostRow is a program that builds for other hosts run, and options.
type hostRow struct {
	name    string
	options []string
	args    []string
}

// sources are programs that say hello, by the name of what is built of them, and how they are built: OUT is that, SRC
// is the source.
var sources = map[string]struct{ file, text, build string }{
	"hello-c": {"hello.c", `#include <stdio.h>
int main(int argc, char **argv) { printf("hello %s %.3f\n", argv[1], argc / 3.0); return argc; }
`, "gcc -O1 -g -static -o OUT SRC"},
	"hello-go": {"hello.go", `package main

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	var all sync.WaitGroup
	sums := make([]int, 4)
	for i := range sums {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range 1000 {
				sums[i] += n * i
			}
		}()
	}
	all.Wait()
	dir, err := os.Getwd()
	fmt.Println("hello", os.Args[1], sums, dir != "", err)
	os.Exit(3)
}
`, "env GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go build -o OUT SRC"},
	"hello-rust": {"hello.rs", `use std::collections::BTreeMap;
fn main() {
    let mut words = BTreeMap::new();
    for w in "a rose is a rose is a rose".split(' ') { *words.entry(w).or_insert(0) += 1; }
    let sum: u64 = std::thread::spawn(|| (1..1000u64).sum()).join().unwrap();
    println!("hello {:?} {:?} {}", std::env::args().nth(1), words, sum);
    std::fs::write("rust.txt", "written").unwrap();
    println!("{}", std::fs::read_to_string("rust.txt").unwrap());
    std::fs::remove_file("rust.txt").unwrap();
    std::process::exit(4);
}
`, "rustc -O -C target-feature=+crt-static -o OUT SRC"},
}

// hostPrograms builds the sources in dir, and puts other static programs there.
func hostPrograms(t *testing.T, dir string) {
	src := t.TempDir()
	for name, s := range sources {
		file := filepath.Join(src, s.file)
		require.NoError(t, os.WriteFile(file, []byte(s.text), 0o644))
		args := strings.Fields(strings.NewReplacer("OUT", filepath.Join(dir, name), "SRC", file).Replace(s.build))
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", s.build, out)
	}
	for _, p := range []string{demo, guest, avx512, "testdata/approx", "testdata/vectors/bin/t34_jit", "testdata/vectors/bin/t39_mix", "/bin/bash-static", "/bin/busybox"} {
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(p)), b, 0o755))
	}
}

// smallImage makes a tar of a root with bash, perl, python3 with its bytecode, which takes long to make, and sqlite3 of
// this machine.
func smallImage(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "root.tar")
	script := `set -e
programs="/usr/bin/bash /usr/bin/perl /usr/bin/python3.11 /usr/bin/sqlite3 /usr/bin/sort /usr/bin/tr /usr/bin/cat /usr/bin/ls /usr/bin/rm"
modules=/usr/lib/python3.11/lib-dynload
libs=$(for p in $programs $modules/_socket*.so $modules/_json*.so; do ldd $p; done | grep -o '/[^ ]*' | sort -u)
tar -C / --dereference --hard-dereference --transform 's,^usr/bin/python3.11,usr/bin/python3,' -cf "$1" --exclude='*/test' --exclude='*/config-3.11*' \
	$(for f in $programs $libs /usr/lib/x86_64-linux-gnu/perl-base /usr/lib/python3.11; do echo ${f#/}; done) 2>&1`
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

// hostRows are programs in dir and in an image, which every host can run.
func hostRows(t *testing.T, dir, image string) []hostRow {
	const isolated = "--isolate"
	image = "--image=" + image
	bound := func() string { return "--bind=" + t.TempDir() + ":/work" }
	return []hostRow{
		{"demo", []string{isolated}, []string{dir + "/demo"}},
		{"demo simulated", []string{isolated, "--cache-sim=yes", "--branch-sim=yes"}, []string{dir + "/demo"}},
		{"hello in C", []string{isolated}, []string{dir + "/hello-c", "a b"}},
		{"hello in Go", []string{isolated}, []string{dir + "/hello-go", "a b"}},
		{"hello in Rust", []string{isolated}, []string{dir + "/hello-rust", "a b"}},
		{"threads", []string{isolated}, []string{dir + "/guest", "threads"}},
		{"signals", []string{isolated}, []string{dir + "/guest", "signals"}},
		{"faults", []string{isolated}, []string{dir + "/guest", "faults", "100"}},
		{"approximations", []string{isolated}, []string{dir + "/approx"}},
		{"AVX-512", []string{isolated, "--cpu=v4"}, []string{dir + "/" + filepath.Base(avx512)}},
		{"code that changes", []string{isolated, "--cache-sim=yes"}, []string{dir + "/t34_jit"}},
		{"a mix", []string{isolated, "--cache-sim=yes", "--branch-sim=yes"}, []string{dir + "/t39_mix"}},
		{"static bash", []string{isolated, "-e", "LC_ALL=C"}, []string{dir + "/bash-static", "-c",
			`cd /tmp; f() { local i; for ((i = 0; i < 5; i++)); do echo "$1 $i"; done; }; f a >x; f b >>x; while read -r l n; do s=$((s + n)); done <x; echo $s
x=$(f c | while read -r l n; do echo -n $n; done); echo $x; (exit 7); echo $?; trap 'echo usr1' USR1; kill -USR1 $$; printf '%s\n' *; pwd; exit 5`}},
		{"busybox", []string{isolated}, []string{dir + "/busybox", "sh", "-c",
			`B=` + dir + `/busybox; $B seq 20 | $B sort -rn | $B head -3; $B mkdir -p a/b; echo x >a/b/c; $B ln -s c a/b/d; $B cat a/b/d; $B find a | $B sort
$B tar cf a.tar a; $B rm -r a; $B tar xf a.tar; $B ls -R a; $B cp a/b/c e; $B mv e f; $B wc f; $B sha256sum f; $B awk 'BEGIN { printf "%.4f\n", 2 ^ 0.5 }'; $B test -e e; echo $?`}},
		{"bash", []string{image}, []string{
			"bash", "-c", "ls /usr; for i in 1 2 3; do echo $((i * i)); done | sort -r; x=$(echo a b c | tr a-z A-Z); echo $x >/tmp/f; cat /tmp/f; exit 3"}},
		{"names", []string{image, bound()}, []string{
			"bash", "-c", "cd /work; for n in Makefile makefile MAKEFILE aux x:y end. '<a|b>'; do echo $n >$n; done; cat *; ls; printf '%s\n' [a-m]*; >n; ls -a; rm -- *; ls -a"}},
		{"links", []string{image, bound()}, []string{"bash", "-c", `cd /work; perl -e '$| = 1;
sub text { open(my $f, $_[0], $_[1]) or die "$_[1]: $!"; print $f $_[2]; close $f }
mkdir "d" or die; text(">", "d/f", "text\n");
my @links = (file => "d/f", dir => "d", gone => "a/b:c", root => "/usr/bin", "d/up" => "../dir/f", loop => "loop");
while (my ($at, $to) = splice(@links, 0, 2)) { symlink $to, $at; print "$at ", readlink($at), " ", -e $at ? 1 : 0, -d $at ? 1 : 0, " ", (lstat $at)[7], "\n" }
rename "file", "moved"; chmod 0600, "moved"; text(">>", "moved", "more\n"); open(my $f, "<", "d/up"); print <$f>;
sub list { opendir(my $d, "."); sort grep { !/^\.+$/ } readdir $d }
for (list()) { my $l = -l $_ ? 1 : 0; print "$_ $l ", !$l && -d $_ ? 1 : 0, "\n" }
unlink "dir"; link "gone", "again"; print join(" ", list()), " ", readlink("again"), "\n"'; cat moved; rm -f again gone loop moved root d/*; perl -e 'rmdir "d" or die'; echo *`}},
		{"sqlite3 on the host's files", []string{image, bound()}, []string{"bash", "-c", `cd /work; q() { sqlite3 data.db "$@" || echo status $?; }
q "create table t (n integer primary key, w text); with recursive c(x) as (select 1 union all select x + 1 from c where x < 60) insert into t select x, 'word' || x % 17 from c;"
q "pragma journal_mode = wal; begin; delete from t where n % 3 = 0; commit; create index i on t (w); select w, count(*), sum(n) from t group by w order by w limit 5; pragma integrity_check; vacuum; select count(*) from t; select nothing;"; ls; cat data.db | tr -cd a-z | tr d D | sort | tr -s 'a-zA-Z'; rm data.db*`}},
		{"perl", []string{image}, []string{"perl", "-e",
			`my %h; $h{$_ % 17} += sqrt($_) for 1..300; printf "%s %.15g\n", $_, $h{$_} for sort keys %h; fork or exit 2; wait; print $? >> 8, "\n"`}},
		{"python, pipes and sockets", []string{image}, []string{"python3", "-S", "-c", `
import json, os, socket, threading
print(json.dumps({'a': [1.5, None]}), sorted(os.listdir('/'))); print(sum(0.1 * i for i in range(1000)))
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, b'from the child')
    os._exit(6)
print(os.read(r, 100), os.waitstatus_to_exitcode(os.wait()[1]))
a, b = socket.socketpair()
a.sendall(b'pair'); print(b.recv(10))
server = socket.create_server(('127.0.0.1', 0))
def serve():
    for i in range(3):
        c, _ = server.accept()
        with c:
            c.sendall(c.recv(100).upper())
thread = threading.Thread(target=serve); thread.start()
for word in (b'one', b'two', b'three'):
    with socket.create_connection(server.getsockname()) as c:
        c.sendall(word); print(c.recv(100))
thread.join()
`}},
	}
}

// sameOnHost runs rows with the command of another host, and with the jit here: what they say and what is counted are
// the same bytes.
func sameOnHost(t *testing.T, dir string, here, there []string, rows []hostRow) {
	for _, p := range rows {
		t.Run(p.name, func(t *testing.T) {
			want := filesOf(t, dir, append(here, "--engine=jit"), p.options, p.args)
			got := filesOf(t, dir, append(there, "--engine=interp"), p.options, p.args)
			require.Greater(t, len(want), 3, "a profile")
			for name, text := range want {
				sameProfile(t, text, got[name])
			}
			require.Len(t, got, len(want))
		})
	}
}

// work is the source of a program that is profiled for sameReports.
const work = `#include <stdio.h>
#include <stdlib.h>
static unsigned table[1 << 12];
static unsigned step(unsigned x) { return x * 1103515245 + 12345; }
int main(int argc, char **argv) {
	unsigned x = 1, sum = 0;
	for (int i = 0; i < 1000 * argc; i++)
		table[(x = step(x)) >> 20] += i;
	for (int i = 0; i < 1 << 12; i++)
		if (table[i] & 1)
			sum += table[i];
	printf("%u\n", sum);
}
`

// reports are command lines that show profiles: 1 and 2 are those of two runs, OUT a file.
var reports = []string{
	"annotate 1", "annotate --show=Ir,D1mr --threshold=5 1", "annotate --diff 1 2", "annotate --format=json 1", "annotate --format=csv 1", "annotate --format=markdown 1",
	"diff 1 2", "diff --table 1 2", "merge -o OUT 1 2", "annotate --html=OUT 1", "annotate --diff --html=OUT 1 2",
}

// sameReports has the command of another host show profiles, and the one here: the same bytes.
func sameReports(t *testing.T, here, there []string) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "work.c"), []byte(work), 0o644))
	gcc := exec.CommandContext(t.Context(), "gcc", "-O1", "-g", "-static", "-o", "work", "work.c")
	gcc.Dir = dir
	out, err := gcc.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for i, args := range [][]string{{"./work"}, {"./work", "more"}} {
		cmd := exec.CommandContext(t.Context(), here[0], append([]string{"-q", "--cache-sim=yes", "--cachegrind-out-file=" + strconv.Itoa(i+1), "--"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, report := range reports {
		t.Run(report, func(t *testing.T) {
			var of [2]string
			for i, command := range [][]string{here, there} {
				args := append(command[1:len(command):len(command)], strings.Fields(strings.ReplaceAll(report, "OUT", "report"))...)
				cmd := exec.CommandContext(t.Context(), command[0], args...)
				var stderr bytes.Buffer
				cmd.Dir, cmd.Stderr = dir, &stderr
				stdout, err := cmd.Output()
				require.NoError(t, err, "%s", stderr.String())
				require.Empty(t, stderr.String())
				of[i] = string(stdout)
				if b, err := os.ReadFile(filepath.Join(dir, "report")); err == nil {
					of[i] += string(b)
					require.NoError(t, os.Remove(filepath.Join(dir, "report")))
				}
			}
			require.Contains(t, of[0], "work.c")
			sameProfile(t, of[0], of[1])
		})
	}
}

// selftest runs a command's test of itself.
func selftest(t *testing.T, command []string) {
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:len(command):len(command)], "doctor", "--selftest")...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "ok       selftest: ")
}
