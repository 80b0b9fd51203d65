//go:build linux && amd64

package syscalls_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	perlProcesses = `
print ` + "`echo a b`" + `; system("sh", "-c", "exit 7"); print $? >> 8, "\n";
open(P, "-|", "ls", "/etc/default"); print <P>; close P; print "status $?\n";
if (($p = fork) == 0) { exit 5 } waitpid($p, 0); print $? >> 8, "\n";
system("kill -9 \$\$"); print "$?\n";
$x = ` + "`/nonexistent/x`" + `; print defined $x ? 1 : 0, " $?\n";
$SIG{CHLD} = sub { print "child\n" }; if (!($p = fork)) { exit 0 } sleep 1; print waitpid($p, 0) == $p ? "ok" : "no", "\n";
$SIG{ALRM} = sub { die "alarm\n" }; alarm 1; eval { system("sleep", "5") }; print $@;`

	pythonSubprocess = `
import asyncio, os, subprocess as s
print(s.check_output(["echo", "x"]), s.run("exit 3", shell=True).returncode)
p = s.Popen(["cat"], stdin=s.PIPE, stdout=s.PIPE)
print(len(p.communicate(b"abc" * 100000)[0]))
try: s.run(["/nonexistent"])
except FileNotFoundError as e: print(e)
print(os.waitpid(os.posix_spawn("/bin/false", ["false"], {}), 0)[1])
async def main():
  p = await asyncio.create_subprocess_exec("sh", "-c", "echo out; echo err >&2; exit 6", stdout=s.PIPE, stderr=s.PIPE)
  print(await p.communicate(), p.returncode)
asyncio.run(main())`

	pythonPool = `
import multiprocessing as m
def square(x): return x * x
def add(v):
  for _ in range(100):
    with v.get_lock(): v.value += 1
m.set_start_method("fork")
with m.Pool(3) as p: print(p.map(square, range(20)))
v = m.Value("i", 0)
ps = [m.Process(target=add, args=(v,)) for _ in range(3)]
for p in ps: p.start()
for p in ps: p.join()
print(v.value)`

	makeProject = `
cd $(mktemp -d); printf '#include <stdio.h>\nint b(int); int main(){printf("%d\\n",b(20));return 0;}' >a.c
echo 'int b(int x){return x+1;}' >b.c
printf 'prog: a.o b.o\n\tgcc -o prog a.o b.o\n%%.o: %%.c\n\tgcc -O1 -c $<\n' >Makefile
make -j2 2>&1 | sort; ./prog; make; rm -r $PWD`

	gitCommit = `
cd $(mktemp -d); export HOME=$PWD GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z
git init -q . && echo x >f && git add f
printf '#!/bin/sh\necho hook ran\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
git commit -q -m one; git log --oneline | cat; git fsck; rm -rf $PWD`
)

// TestProcesses runs programs that start others, natively and under cgemu: equal output.
func TestProcesses(t *testing.T) {
	env := []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	for name, args := range map[string][]string{
		"pipeline":     {"bash", "-c", `printf 'b\na\nb\n' | sort | uniq -c | head -2`},
		"substitution": {"bash", "-c", `x=$(echo hi); echo $x; (exit 3); echo $?`},
		"wc":           {"sh", "-c", `ls /etc | wc -l`},
		"statuses":     {"bash", "-c", `for i in 1 2 3; do (echo $i; exit $i) & wait $!; echo $?; done; false | true; echo ${PIPESTATUS[@]}`},
		"broken pipe":  {"bash", "-c", `yes | head -3; echo ${PIPESTATUS[@]}`},
		"background":   {"bash", "-c", `(sleep 0.2; echo late) & echo first; wait; echo end`},
		"descriptors":  {"bash", "-c", `diff <(echo a) <(echo b); cat <(seq 3); cat <<<here; read a b < <(echo 1 2); echo $b`},
		"coprocess":    {"bash", "-c", `coproc cat; echo zz >&${COPROC[1]}; read q <&${COPROC[0]}; echo $q`},
		"traps":        {"bash", "-c", `trap 'echo got' USR1; (kill -USR1 $$); trap 'echo bye' EXIT; (exit 2); echo $?`},
		"fifo":         {"sh", "-c", `d=$(mktemp -d); mkfifo $d/f; (echo through >$d/f) & cat $d/f; wait; cat $d/f & seq 20000 >$d/f; wait; rm -r $d`},
		"jobs":         {"bash", "-c", `set -m; sleep 1 & kill -STOP %1; sleep 0.1; jobs; kill -CONT %1; wait %1; echo $?`},
		"xargs":        {"sh", "-c", `seq 10 | xargs -n 3 -P 2 echo | sort`},
		"find":         {"find", "/etc/default", "-name", "a*", "-exec", "echo", "{}", ";"},
		"awk":          {"awk", `BEGIN { "echo x" | getline v; print v; system("echo sys"); print "b\na" | "sort"; close("sort"); print "end" }`},
		"timeout":      {"timeout", "0.1", "sleep", "100"},
		"setsid":       {"setsid", "-w", "sh", "-c", `echo new session; exit 4`},
		"tar":          {"sh", "-c", `tar cz -C /etc default | tar tz | sort`},
		"perl":         {"perl", "-e", perlProcesses},
		"python":       {"/usr/bin/python3", "-c", pythonSubprocess},
		"python pool":  {"/usr/bin/python3", "-c", pythonPool},
		"make":         {"sh", "-c", makeProject},
		"git":          {"bash", "-c", gitCommit},
	} {
		t.Run(name, func(t *testing.T) {
			args[0] = tool(t, args[0])
			for _, needed := range map[string][]string{"make": {"make", "gcc"}, "git": {"git"}}[name] {
				tool(t, needed)
			}
			alike(t)
			want, status := nativeRun(t, args, env)
			got, gotStatus := guestRun(t, args, env)
			assert.Equal(t, want, got)
			assert.Equal(t, status, gotStatus)
		})
	}
}

const goSpawns = `package main

import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	out, err := exec.Command("echo", "from go").CombinedOutput()
	fmt.Printf("%s %v\n", out, err)
	fmt.Println(exec.Command("sh", "-c", "exit 4").Run())
	_, err = exec.Command("/nonexistent").Output()
	fmt.Println(err)
	c := exec.Command("cat")
	in, _ := c.StdinPipe()
	c.Stdout = os.Stdout
	c.Start()
	fmt.Fprintln(in, "piped")
	in.Close()
	fmt.Println(c.Wait(), c.ProcessState)
	c = exec.Command("sleep", "100")
	c.Start()
	c.Process.Kill()
	fmt.Println(c.Wait())
}
`

const rustSpawns = `
use std::io::Write;
use std::process::{Command, Stdio};

fn main() {
    let o = Command::new("echo").arg("from rust").output().unwrap();
    println!("{:?} {:?}", o.status, String::from_utf8_lossy(&o.stdout));
    println!("{:?}", Command::new("sh").args(["-c", "exit 5"]).status().unwrap().code());
    println!("{:?}", Command::new("/nonexistent").spawn().err().unwrap().kind());
    let mut c = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    c.stdin.take().unwrap().write_all(b"piped").unwrap();
    println!("{:?}", String::from_utf8_lossy(&c.wait_with_output().unwrap().stdout));
    let mut k = Command::new("sleep").arg("100").spawn().unwrap();
    k.kill().unwrap();
    println!("{:?}", k.wait().unwrap());
}
`

// TestSpawners runs programs whose runtimes start processes in their own ways.
func TestSpawners(t *testing.T) {
	for _, tt := range []struct {
		tool, file, text string
		args             []string
	}{
		{"go", "s.go", goSpawns, []string{"build", "-o"}},
		{"rustc", "s.rs", rustSpawns, []string{"-o"}},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			tool(t, tt.tool)
			alike(t)
			dir := t.TempDir()
			src, prog := filepath.Join(dir, tt.file), filepath.Join(dir, "prog")
			require.NoError(t, os.WriteFile(src, []byte(tt.text), 0o644))
			out, err := exec.Command(tt.tool, append(tt.args, prog, src)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			env := []string{"PATH=/usr/bin:/bin"}
			want, status := nativeRun(t, []string{prog}, env)
			got, gotStatus := guestRun(t, []string{prog}, env)
			assert.Equal(t, want, got)
			assert.Equal(t, status, gotStatus)
		})
	}
}
