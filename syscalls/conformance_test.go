//go:build linux && amd64

package syscalls_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/internal/testhost"
	"github.com/cgemu/cgemu/syscalls"
)

// engineName is the engine that all programs run with: with -engine=interp the other one has to conform.
var engineName = flag.String("engine", "", "the engine to run programs with")

// With -engine=interp -hostpage=65536 they run as on a host with pages of 64 KiB.
func init() {
	flag.Func("hostpage", "run programs as on a host with pages of so many bytes", func(text string) error {
		n, err := strconv.Atoi(text)
		mem.HostPage = emu.Addr(n)
		return err
	})
}

// guestRun runs a program under cgemu and returns its output and status.
func guestRun(t *testing.T, args []string, env []string, change ...func(*cgemu.Config)) (string, int) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer in.Close()
	var log bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // no program takes a minute: it is for those that hang
	defer cancel()
	cfg := cgemu.Config{
		Path: args[0], Args: args, Env: env, CPU: "v3", CPUs: 1, Stdin: in, Stdout: out, Stderr: out, Log: &log,
		TraceChildren: true, HostStdio: true, HostEtc: true, Engine: *engineName,
	}
	for _, c := range change {
		c(&cfg)
	}
	starting.RLock()
	res, err := cgemu.Run(ctx, cfg)
	starting.RUnlock()
	require.NoError(t, err)
	require.False(t, res.Exit.Interrupted, "it hangs")
	for line := range strings.Lines(log.String()) {
		require.Contains(t, line, "an unknown instruction") // which is natively none either
	}
	b, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return string(b), res.Exit.Status()
}

// TestMain keeps descriptors that this process inherited, as those of a CI runner, from the
// programs it starts: they would be open there and not under cgemu. A host older than
// Linux 5.11 cannot do that, and rarely has any.
func TestMain(m *testing.M) {
	testhost.Settle()
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	os.Exit(m.Run())
}

// starting is held by who starts a program, and for reading while a guest runs: until it calls execve(2) a new process
// has all descriptors of this one, and what guests open and close here, FIFOs and files with locks, is open there
// meanwhile.
var starting sync.RWMutex

// nativeRun runs the same natively.
func nativeRun(t *testing.T, args []string, env []string) (string, int) {
	t.Helper()
	out, status, err := runNatively(args, env)
	require.NoError(t, err)
	return out, status
}

// runNatively returns a program's output, of both streams, and its status, 128 more than the signal if one ended it.
func runNatively(args []string, env []string) (out string, status int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append([]string{}, env...)
	// A program that hangs is ended with all that it has started, which hold its output.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	starting.Lock()
	err = cmd.Start()
	starting.Unlock()
	if err != nil {
		return "", 0, err
	}
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		return "", 0, err
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return b.String(), 128 + int(ws.Signal()), nil
	}
	return b.String(), ws.ExitStatus(), nil
}

// muslLacks has what Debian 12's musl (1.2.3) has not, and which program needs it.
var muslLacks = map[string]string{"files": "statx", "threads": "pthread_cond_clockwait"}

// sinceLinux has which Linux a program is about.
var sinceLinux = map[string][2]int{"timers": {6, 13}, "numa": {5, 15}}

// requireLinux skips the test on a host that is older.
func requireLinux(t *testing.T, since [2]int) {
	t.Helper()
	var u unix.Utsname
	require.NoError(t, unix.Uname(&u))
	release := unix.ByteSliceToString(u.Release[:])
	var v [2]int
	_, err := fmt.Sscanf(release, "%d.%d", &v[0], &v[1])
	require.NoError(t, err, release)
	if slices.Compare(v[:], since[:]) < 0 {
		t.Skipf("Linux %s is older than %d.%d", release, since[0], since[1])
	}
}

// interpreted has the programs that are about what an engine does. With the tag oracles the interpreter runs all of
// them.
var interpreted = map[string]bool{
	"badframes": true, "behindeof": true, "cutcode": true, "codebeside": true, "cutdata": true, "filemaps": true, "misaligned": true, "signals": true, "stepping": true, "undecodable": true,
}

// TestConformance runs testdata/guest/*.c natively and under cgemu, against several C libraries: equal output. With the
// tag oracles, which has another one, they are interpreted.
func TestConformance(t *testing.T) {
	exercised, err := syscalls.Exercised()
	require.NoError(t, err)
	sources, err := filepath.Glob("testdata/guest/*.c")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	compilers := [][]string{{"gcc"}, {"gcc", "-static"}}
	if oracles {
		compilers = [][]string{{"musl-gcc", "-static"}}
	}
	for _, cc := range compilers {
		if _, err := exec.LookPath(cc[0]); err != nil {
			require.False(t, oracles, "%s is not installed", cc[0])
			continue
		}
		t.Run(strings.Join(cc, ""), func(t *testing.T) {
			natives := newNatives()
			for _, src := range sources {
				name := strings.TrimSuffix(filepath.Base(src), ".c")
				t.Run(name, func(t *testing.T) {
					c := natives.start(t, name, cc)
					t.Parallel() // half of the time they wait
					natives.Wait()
					c.compare(t, exercised[name])
				})
			}
		})
	}
}

// requireHost skips the test if the host cannot run the program.
func requireHost(t *testing.T, name string) {
	switch name {
	case "inet6":
		l, err := net.Listen("tcp6", "[::1]:0")
		if err != nil {
			t.Skip(err)
		}
		l.Close()
	case "numa":
		if nodes, err := os.ReadFile("/sys/devices/system/node/online"); err != nil || string(nodes) != "0\n" {
			t.Skipf("the host has other nodes than the guest: %q, %v", nodes, err)
		}
		if _, _, e := unix.Syscall(unix.SYS_GET_MEMPOLICY, 0, 0, 0); e != 0 { // ENOSYS, or EPERM in containers
			t.Skip("get_mempolicy: ", e)
		}
	case "large":
		if legacyLayout() {
			t.Skip("ulimit -s unlimited: Linux gives out the lower third of all addresses last, and natively others")
		}
	case "messages", "ownfiles":
		requireRoot(t)
	case "calls", "scheduling":
		requireRoot(t)
		if nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || nice != 20 { // the system call's way to say 0
			t.Skip("the tests run with another priority than the guest")
		}
	case "memfile":
		if err := writeConstant(); err != nil { // proc_mem.force_override of the kernel's command line
			t.Skip(err)
		}
	}
	requireLinux(t, sinceLinux[name])
}

// stackLimit is the limit with which the tests were started, by which Linux chose where mappings go.
var stackLimit = func() (l syscall.Rlimit) {
	_ = syscall.Getrlimit(syscall.RLIMIT_STACK, &l)
	return l
}()

// legacyLayout reports whether mappings go upwards from a third of all addresses on.
func legacyLayout() bool { return stackLimit.Cur == math.MaxUint64 }

// requireRoot skips the test if who runs it has not the privileges that the guest acts as if it had.
func requireRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("natively it needs privileges")
	}
}

// writeConstant writes to memory of this process that may only be read, by way of /proc/self/mem.
func writeConstant() error {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer unix.Munmap(page)
	f, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte{1}, int64(reflect.ValueOf(page).Pointer()))
	return err
}

// natives are the programs of a test that are run natively, all before the first guest: see starting.
type natives struct {
	sync.WaitGroup
	slots chan struct{}
}

func newNatives() *natives { return &natives{slots: make(chan struct{}, runtime.NumCPU())} }

// start begins to compile a program, by cc, and to run it: what came of it is known when Wait has returned.
func (n *natives) start(t *testing.T, name string, cc []string) *conformance {
	requireHost(t, name)
	c := &conformance{name: name, prog: filepath.Join(t.TempDir(), name), cc: cc}
	n.Go(func() {
		n.slots <- struct{}{}
		defer func() { <-n.slots }()
		c.runNatively()
	})
	return c
}

// A conformance is a program that is to write the same as a guest that it writes natively.
type conformance struct {
	name, prog string
	cc         []string // compiles it
	compileErr error
	runErr     error
	want       string
	status     int
}

// runNatively compiles the program and runs it.
func (c *conformance) runNatively() {
	args := slices.Concat(c.cc, []string{"-O1", "-w", "-pthread", "-o", c.prog, "testdata/guest/" + c.name + ".c"})
	if out, status, err := runNatively(args, os.Environ()); err != nil || status != 0 {
		c.compileErr = fmt.Errorf("%v: status %d, error %v: %s", args, status, err, out)
		return
	}
	c.want, c.status, c.runErr = runNatively([]string{c.prog}, nil)
}

// requireRun skips the test if the program was not compiled, which with the tag oracles is a failure.
func (c *conformance) requireRun(t *testing.T) {
	if c.compileErr != nil {
		require.False(t, oracles && !(c.cc[0] == "musl-gcc" && muslLacks[c.name] != ""), "%v", c.compileErr)
		t.Skip(c.compileErr)
	}
	require.NoError(t, c.runErr)
}

// unalignedState is what badframes says of a signal frame's state that is not aligned. FXRSTOR refuses it, as cgemu does
// on each host, but a kernel under PVM may load it (a Zen 5's does).
var unalignedState = regexp.MustCompile(`(?m)^(unaligned: )fcw .*$`)

// expected is what the program writes natively, but for what only a kernel under PVM does.
func (c *conformance) expected() string {
	return unalignedState.ReplaceAllString(c.want, "${1}signal 11, code 128, flags 44")
}

// compare runs the program as a guest.
func (c *conformance) compare(t *testing.T, exercised []string) {
	c.requireRun(t)
	dynamic := len(c.cc) == 1
	made := callNames{}
	for _, run := range conformanceRuns(c.name, dynamic, made) {
		got, gotStatus := guestRun(t, []string{c.prog}, nil, run.change)
		for range 2 { // a busy host may be late, with what goes through a terminal above all: it is asked again
			if c.expected() != got {
				c.want, c.status = nativeRun(t, []string{c.prog}, nil)
			}
		}
		assertOutput(t, c.name, c.expected(), got, run.where)
		assert.Equal(t, c.status, gotStatus, run.where)
	}
	if dynamic && !oracles { // a static library may do without a call
		for _, call := range exercised {
			assert.Contains(t, made, call, "testdata/exercised.txt says that the program makes it")
		}
	}
}

// A conformanceRun is a way to run a conformance program.
type conformanceRun struct {
	where  string
	change func(c *cgemu.Config)
}

// fileless are programs that take long and are not about files: they run once, not with each way of having files.
var fileless = map[string]bool{"cpuclocks": true, "cputime": true, "forkmemory": true}

// rooted are programs that run with a root, too, the host's: it has its own way through a path, as "in memory" and
// "bound" have.
var rooted = map[string]bool{"lastnames": true}

// conformanceRuns are the ways to run one, of which the first writes a trace. With the tag oracles it is the
// interpreter alone: the tests without it have all others.
func conformanceRuns(name string, dynamic bool, trace io.Writer) []conformanceRun {
	interp := conformanceRun{"interpreted", func(c *cgemu.Config) { c.Engine = "interp" }}
	if oracles {
		return []conformanceRun{interp}
	}
	runs := []conformanceRun{{"natively", func(c *cgemu.Config) { c.Strace = trace }}}
	if interpreted[name] {
		runs = append(runs, interp)
	}
	if rooted[name] {
		runs = append(runs, conformanceRun{"rooted", func(c *cgemu.Config) { c.Root = "/" }})
	}
	if dynamic && !fileless[name] {
		runs = append(runs,
			conformanceRun{"in memory", func(c *cgemu.Config) { c.Overlay = true }},
			conformanceRun{"bound", func(c *cgemu.Config) { c.Binds = []cgemu.Bind{{Host: os.TempDir(), Guest: os.TempDir()}} }})
	}
	return runs
}

// assertOutput compares what a conformance program says with what it says natively. With the tag portable Linux has the
// files, pipes and memory that other hosts have, and lines differ as hostDiffers says.
func assertOutput(t *testing.T, name, want, got, where string) {
	d, listed := hostDiffers[name]
	if !listed {
		assert.Equal(t, want, got, where)
		return
	}
	lines := map[string]int{}
	for line := range strings.Lines(want) {
		lines[line]++
	}
	for line := range strings.Lines(got) {
		lines[line]--
	}
	n := 0
	for _, k := range lines {
		n += max(k, -k)
	}
	assert.LessOrEqual(t, n, d.lines, "%s: more lines differ: %s\nwant:\n%s\ngot:\n%s", where, d.why, want, got)
	if where == "natively" {
		assert.NotZero(t, n, "it differs no more: %s", d.why)
	}
}

// callNames collects which calls a trace has.
type callNames map[string]bool

func (m callNames) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "[pid") {
			_, line, _ = strings.Cut(line, "] ")
		}
		if name, _, ok := strings.Cut(line, "("); ok {
			m[name] = true
		}
	}
	return len(b), nil
}

// TestPrograms runs programs that most hosts have.
func TestPrograms(t *testing.T) {
	env := []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	for _, cmd := range []string{
		"/bin/true", "/bin/false", "/bin/echo hello world", "/bin/cat /etc/passwd /nonexistent", "/usr/bin/wc /etc/passwd",
		"/usr/bin/sort -r /etc/passwd", "/usr/bin/sha256sum /bin/true", "/bin/grep -n root /etc/passwd", "/bin/ls /etc",
		"/usr/bin/find /etc/default -maxdepth 1 -name a*", "/bin/sed s/root/toor/ /etc/group", "/usr/bin/od -c /etc/group",
		"/bin/gzip -c /etc/passwd", "/usr/bin/awk BEGIN{for(i=0;i<99;i++)s+=sqrt(i);print(s)}", "/bin/sleep 100",
		"/usr/bin/perl -e printf(\"%.9f\",atan2(1,1)*4)", "/usr/bin/sqlite3 :memory: select(6*7);",
		"/usr/bin/python3 -S -c print(sorted({3,1,2}))", "/bin/bash -c echo~$((6*7));kill~-USR1~$$",
		"/usr/bin/script -qc ls~--color~/usr;stty~-a /dev/null", "/usr/bin/python3 -Sc import~pty;pty.spawn(['/bin/echo','hi'])",
	} {
		args := strings.Fields(cmd)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		t.Run(filepath.Base(args[0]), func(t *testing.T) {
			if _, err := os.Stat(args[0]); err != nil {
				require.False(t, oracles, "%v", err)
				t.Skip(err)
			}
			var want string
			var status int
			if args[0] != "/bin/sleep" { // which would take its time
				want, status = nativeRun(t, args, env)
			}
			got, gotStatus := guestRun(t, args, env)
			assert.Equal(t, want, got)
			assert.Equal(t, status, gotStatus)
		})
	}
}
