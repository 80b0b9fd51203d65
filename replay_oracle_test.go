//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// replayPrograms are what TestReplay records, in a directory in which setup was done.
var replayPrograms = []struct{ name, setup, run string }{
	{"static C", "cc -g -O1 -static -o prog w.c", "./prog <in"},
	{"dynamic C", "cc -g -O1 -o prog w.c", "./prog <in"},
	{"separate debug file", "cc -g -o prog w.c; objcopy --only-keep-debug prog prog.debug; strip prog; objcopy --add-gnu-debuglink=prog.debug prog", "./prog <in"},
	{"shell", "seq 300 >n", "sort -r n | head -20 | while read x; do echo $((x * 2)); done | tee out | wc -l; ls -lai; test -e no"},
	{"files", "mkdir d d/e; seq 9 >d/a; ln d/a d/b; ln -s a d/c; mkfifo d/f", "cp -a d g; rm -r d; ls -laR; mv g/a h; stat g/b; mkdir -p m/n; stat m; echo x >>g/b; cat h; chmod 600 h; ls -l"},
	{"perl", "seq 300 >n", `perl -MPOSIX -e 'open F, "n"; $h{$_ % 7}++ while <F>; print map { "$_ $h{$_}\n" } sort keys %h; print strftime("%F", localtime)'`},
	{"python", "echo 'import json, os, sys; print(json.dumps(sorted(os.listdir(\"/etc\"))[:3]), sys.stdin.read())' >prog.py", "/usr/bin/python3 prog.py <in"},
	{"git", `git init -q .; git add in; GIT_COMMITTER_DATE=2020-01-01T00:00Z GIT_AUTHOR_DATE=2020-01-01T00:00Z git -c user.name=a -c user.email=b commit -qm one`, "git log --stat; git status; echo x >>in; git diff"},
	{"compiler", "true", "gcc -O1 -g -c w.c && size w.o"},
	{"assembler", "cc -S w.c", "as -o w.o w.s; objdump -d w.o | tail -3"},
	{"find", "true", "find /usr/share/doc -maxdepth 2 -name 'lib*' -newer /etc/passwd | wc -l"},
	{"go", "GOFLAGS=-mod=mod GO111MODULE=off go build -o prog w.go", "./prog"},
	{"accounts", "true", "id; whoami; getent passwd root; hostname; date; ulimit -n; ls -l /proc/self/fd; cat /proc/self/maps | head -3; df; cat /etc/shadow | wc -l"},
}

const replayC = `
#include <stdio.h>
#include <stdlib.h>
static int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }
int main(void) { char b[99]; while (fgets(b, 99, stdin)) printf("%d\n", work(atoi(b))); return 3; }
`

const replayGo = `
package main

import ("fmt"; "os"; "sync")

func main() {
	var wg sync.WaitGroup
	c := make(chan int, 9)
	for i := 0; i < 9; i++ {
		wg.Add(1)
		go func(i int) { defer wg.Done(); b, _ := os.ReadFile("in"); c <- i * len(b) }(i)
	}
	wg.Wait()
	close(c)
	sum := 0
	for x := range c { sum += x }
	fmt.Println(sum)
}
`

// newJail makes a directory that has nothing but cgemu.
func newJail(t *testing.T) string {
	if !oracles {
		t.Skip("with the tag oracles")
	}
	jail := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(jail, "cgemu"), "./cmd/cgemu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, dir := range []string{"proc", "dev", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(jail, dir), 0o700))
	}
	return jail
}

// newWork makes a directory with files for programs, in which setup was done.
func newWork(t *testing.T, setup string, files map[string]string) string {
	work := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(work, name), []byte(text), 0o600))
	}
	cmd := exec.Command("bash", "-c", setup)
	cmd.Dir = work
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return work
}

// replay records what bash is told, in a directory, by the command that record leads to, and repeats it in jail,
// without a network. It returns what both left: the profiles are the same.
func replay(t *testing.T, jail, work, run string, between func(), record ...string) (want, got left) {
	profiles := t.TempDir()
	record = append(record, "--record="+filepath.Join(jail, "run.tar"), "--cachegrind-out-file="+profiles+"/%p", "bash", "-c", run)
	cmd := exec.Command(record[0], record[1:]...)
	cmd.Dir = work
	want = outcome(t, cmd)
	between()
	// A namespace of its own has the mounts that the emptied directory needs, until the process ends. Anyone may make it as
	// root of a namespace of users, who mounts the /proc of one of processes, and makes no devices.
	script := `mount -t proc proc "$0/proc" && mount -t tmpfs dev "$0/dev" && : >"$0/dev/null" && mount --bind /dev/null "$0/dev/null" &&
		PATH=$PATH:/usr/sbin exec chroot "$0" /cgemu --replay=/run.tar --cachegrind-out-file=/tmp/%p`
	isolated := []string{"--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", script, jail}
	if os.Geteuid() != 0 {
		isolated = slices.Insert(isolated, 0, "--map-root-user")
	}
	got = outcome(t, exec.Command("unshare", isolated...))
	names, err := os.ReadDir(profiles)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, n := range names {
		a, err := os.ReadFile(filepath.Join(profiles, n.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(jail, "tmp", n.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), "the profile %s differs", n.Name())
		require.NoError(t, os.Remove(filepath.Join(jail, "tmp", n.Name())))
	}
	return want, got
}

// TestReplay records programs, and repeats them in a directory that is all there is, for a process without any of the
// host's files: what they write, how they end, and the profiles of all processes are the same.
func TestReplay(t *testing.T) {
	t.Parallel()
	jail := newJail(t)
	for _, p := range replayPrograms {
		t.Run(p.name, func(t *testing.T) {
			work := newWork(t, p.setup, map[string]string{"w.c": replayC, "w.go": replayGo, "in": "10\n20\n"})
			want, got := replay(t, jail, work, p.run, func() {}, filepath.Join(jail, "cgemu"))
			require.Equal(t, want, got)
		})
	}
}

// A left is what a command left.
type left struct {
	stdout, stderr string
	status         int
}

func outcome(t *testing.T, cmd *exec.Cmd) left {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	tooLong := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	require.True(t, tooLong.Stop(), "%v stood still: %s%s", cmd.Args, &stdout, &stderr)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		require.NoError(t, err)
	}
	require.NotEqual(t, 125, cmd.ProcessState.ExitCode(), stderr.String())
	return left{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
