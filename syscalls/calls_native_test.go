//go:build linux && amd64

package syscalls_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/syscalls"
)

// guestUser is who runs what a guest runs; stranger is the user of the host that he is natively: nobody's.
const (
	guestUser = syscalls.DefaultUID
	stranger  = 61_000
)

// TestNativeCalls makes the calls of testdata/fuzz/calls.c natively and under cgemu: each must return the same and
// leave the same, but for what accepted lists.
func TestNativeCalls(t *testing.T) {
	if !oracles {
		t.Skip("with the tag oracles")
	}
	prog := compileC(t, "testdata/fuzz/calls.c", "-O1", "-w", "-static", "-fno-stack-protector")
	for seed := range uint64(*nativeSeeds) {
		compareCalls(t, prog, uint64(*firstSeed)+seed)
	}
}

// FuzzNativeCalls is TestNativeCalls for any seed.
func FuzzNativeCalls(f *testing.F) {
	prog := compileC(f, "testdata/fuzz/calls.c", "-O1", "-w", "-static", "-fno-stack-protector")
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { compareCalls(t, prog, seed) })
}

var (
	nativeSeeds = flag.Int("nativeseeds", 10, "how many programs of random calls are compared with the host")
	firstSeed   = flag.Int("firstseed", 0, "the first of their seeds")
)

// compareCalls compares the calls of one seed. On a busy host processes may meet in another order, so what differs is
// looked at three times.
func compareCalls(t *testing.T, prog string, seed uint64) {
	t.Helper()
	var differences []string
	for range 3 {
		if differences = compareOnce(t, prog, seed); len(differences) == 0 {
			return
		}
	}
	for _, d := range differences {
		t.Error(d)
	}
}

// compareOnce returns in what the calls of one seed differ. A process is compared up to the first call that is accepted
// to differ: what follows may depend on it.
func compareOnce(t *testing.T, prog string, seed uint64) (differences []string) {
	t.Helper()
	dir := scratchDir(t)
	args := []string{prog, strconv.FormatUint(seed, 10), "40", "100", "compare"}
	want, wantFiles := nativeCalls(t, args, dir)
	got, gotFiles := guestCalls(t, args, dir)
	for i := range want {
		if i >= len(got) {
			t.Fatalf("seed %d: process %d is missing", seed, i)
		}
		what, accepted := differ(want[i], got[i])
		switch {
		case accepted != "":
		case what != "":
			differences = append(differences, fmt.Sprintf("seed %d, process %d:\n%s", seed, i, what))
		default:
			own := fmt.Sprintf("/p%d", i)
			if want, got := below(wantFiles, own), below(gotFiles, own); !assert.ObjectsAreEqual(want, got) {
				differences = append(differences, fmt.Sprintf("seed %d, process %d has in its directory %v, natively %v", seed, i, got, want))
			}
		}
	}
	return differences
}

// below picks the files in a directory.
func below(files map[string]string, dir string) map[string]string {
	own := map[string]string{}
	for name, text := range files {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			own[name] = text
		}
	}
	return own
}

// differ tells how two runs of a process differ, and why that is accepted, if it is.
func differ(want, got []string) (what, accepted string) {
	for i := range want {
		if i >= len(got) || want[i] != got[i] {
			there := "nothing"
			if i < len(got) {
				there = got[i]
			}
			what = fmt.Sprintf("natively %s\nguest    %s", want[i], there)
			return what, acceptedWhy(strings.Split(want[i], "\t"), strings.Split(there, "\t"))
		}
	}
	return "", ""
}

// scratchDir makes a directory that the stranger may reach.
func scratchDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "calls")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return filepath.Join(dir, "scratch")
}

// fresh makes dir empty, with a file for output in front of it.
func fresh(t *testing.T, dir string, uid int) *os.File {
	t.Helper()
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Chown(dir, uid, uid))
	out, err := os.OpenFile(dir+".out", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	require.NoError(t, err)
	return out
}

// nativeCalls runs the program natively: as a user whom nothing on the host belongs to, and who is the guest's where it
// runs; in namespaces for processes and IPC, which end with it.
func nativeCalls(t *testing.T, args []string, dir string) (procs [][]string, files map[string]string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only the superuser can be another user")
	}
	out := fresh(t, dir, stranger)
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	prog := filepath.Join(filepath.Dir(dir), "prog")
	b, err := os.ReadFile(args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(prog, b, 0o755))
	cmd := exec.CommandContext(ctx, prog, args[1:]...)
	var failed bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, out, &failed, []string{}
	// All ids are there, but the guest's user and the stranger have changed places.
	maps := []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: 0, Size: guestUser}, {ContainerID: guestUser, HostID: stranger, Size: 1},
		{ContainerID: guestUser + 1, HostID: guestUser + 1, Size: stranger - guestUser - 1}, {ContainerID: stranger, HostID: guestUser, Size: 1},
		{ContainerID: stranger + 1, HostID: stranger + 1, Size: math.MaxUint32 - stranger - 1},
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		UidMappings: maps, GidMappings: maps, GidMappingsEnableSetgroups: true,
		Credential: &syscall.Credential{Uid: guestUser, Gid: guestUser, Groups: []uint32{guestUser}},
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("the host has no user namespaces: %v", err)
	}
	require.NoError(t, cmd.Wait(), failed.String())
	return processes(t, out), left(t, dir)
}

// guestCalls runs the program under cgemu.
func guestCalls(t *testing.T, args []string, dir string) (procs [][]string, files map[string]string) {
	t.Helper()
	out := fresh(t, dir, 0)
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var log bytes.Buffer
	res, err := cgemu.Run(ctx, cgemu.Config{Path: args[0], Args: args, Dir: dir, Stdin: out, Stdout: out, Stderr: out, Log: io.Discard, Engine: *engineName})
	require.NoError(t, err)
	require.False(t, res.Exit.Interrupted, "it hangs")
	require.Zero(t, res.Exit.Status(), log.String())
	return processes(t, out), left(t, dir)
}

// processes takes apart what the program printed: the lines of each process.
func processes(t *testing.T, out *os.File) (procs [][]string) {
	t.Helper()
	b, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, call, ok := strings.Cut(id, ".")
		i, err := strconv.Atoi(n)
		require.True(t, ok && err == nil, line)
		for len(procs) <= i {
			procs = append(procs, nil)
		}
		procs[i] = append(procs[i], call+"\t"+rest)
	}
	return procs
}

// left describes the files below dir.
func left(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // made unreadable, by both
		}
		info, err := d.Info()
		require.NoError(t, err)
		// Who may change the owner of files keeps these bits when he writes, and the tests run as the superuser.
		text := (info.Mode() &^ (fs.ModeSetuid | fs.ModeSetgid)).String()
		switch {
		case d.Type().IsRegular():
			b, _ := os.ReadFile(path)
			text += fmt.Sprintf(" %d %x", len(b), b[:min(len(b), 64)])
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			text += " " + to
		}
		all[strings.TrimPrefix(path, dir)] = text
		return nil
	})
	return all
}

// acceptedWhy is why a call may return something else natively (want) than in the guest (got): both are lines of the
// program.
func acceptedWhy(want, got []string) string {
	if len(want) < 9 || len(got) < 9 {
		return ""
	}
	nr, _ := strconv.Atoi(want[1])
	for _, a := range acceptedCalls {
		if a.nr == nr && (a.first == "" || a.first == want[2]) && a.when(want[8], got[8]) {
			return a.why
		}
	}
	return ""
}

// anyResult accepts whatever the two sides returned, either accepts both results in either order.
func anyResult(_, _ string) bool { return true }

func either(a, b string) func(want, got string) bool {
	return func(want, got string) bool { return want == a && got == b || want == b && got == a }
}

// failed reports whether a result is an errno.
func failed(result string) bool { return strings.HasPrefix(result, "0xfffffffffffff") }

// unlike accepts one result natively and another in the guest, but not the other way round.
func unlike(natively, guest string) func(want, got string) bool {
	return func(want, got string) bool { return want == natively && got == guest }
}

// nice reports whether the tests run with a lower priority than most.
func nice() bool {
	prio, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	return err == nil && prio < 20 // the call returns 20 minus the nice value
}

const (
	none  = "0"
	intr  = "0xfffffffffffffffc"
	inval = "0xffffffffffffffea"
	perm  = "0xffffffffffffffff"

	overflow = "0xffffffffffffffb5"

	nomem = "0xfffffffffffffff4"
	nodev = "0xffffffffffffffed"
	badf  = "0xfffffffffffffff7"
	spipe = "0xffffffffffffffe3"

	afnosupport    = "0xffffffffffffff9f"
	protonosupport = "0xffffffffffffffa3"
	socktnosupport = "0xffffffffffffffa2"
	acces          = "0xfffffffffffffff3"

	srch  = "0xfffffffffffffffd"
	again = "0xfffffffffffffff5"
	fault = "0xfffffffffffffff2"

	notsup = "0xffffffffffffffa1"

	alarmClocks = "the clocks that wake a machine are there if it has hardware for them"
)

// noPairs are what socketpair(2) returns for families of which there are no pairs, or none for this user.
var noPairs = []string{perm, acces, nodev, protonosupport, socktnosupport, notsup}

// acceptedCalls are differences that stay.
var acceptedCalls = []struct {
	nr    int
	first string // the first argument, if it matters
	when  func(want, got string) bool
	why   string
}{
	{35, "", either(none, intr), "a sleep of little or no time is over before, or after, the signal that is to end it"},
	{230, "", either(none, intr), "a sleep of little or no time is over before, or after, the signal that is to end it"},
	{35, "", either(none, fault), "as before, and what is left cannot be written"},
	{230, "", either(none, fault), "as before, and what is left cannot be written"},
	{28, "0", unlike(inval, nomem), "natively the whole address space has [vvar], whose pages are the kernel's"},
	{17, "", unlike(spipe, inval), "pidfds have positions since Linux 6.9"},
	{18, "", unlike(spipe, inval), "pidfds have positions since Linux 6.9"},
	{295, "", unlike(spipe, inval), "pidfds have positions since Linux 6.9"},
	{296, "", unlike(spipe, inval), "pidfds have positions since Linux 6.9"},
	{19, "", unlike(inval, badf), "whether the iovecs are looked at before the mode changed in Linux 6.8"},
	{20, "", unlike(inval, badf), "whether the iovecs are looked at before the mode changed in Linux 6.8"},
	{228, "0x8", anyResult, alarmClocks}, {228, "0x9", anyResult, alarmClocks},
	{229, "0x8", anyResult, alarmClocks}, {229, "0x9", anyResult, alarmClocks},
	{230, "0x8", anyResult, alarmClocks}, {230, "0x9", anyResult, alarmClocks},
	{222, "0x8", anyResult, alarmClocks}, {222, "0x9", anyResult, alarmClocks},
	{319, "", func(_, got string) bool { return got == inval }, "no huge pages (MFD_HUGETLB)"},
	{141, "", func(want, got string) bool { return nice() && unlike(acces, none)(want, got) }, "natively it begins as nice as the tests are"},
	{146, "", either(none, inval), "SCHED_EXT is of Linux 6.12"},
	{147, "", either(none, inval), "SCHED_EXT is of Linux 6.12"},
	{318, "", anyResult, "a signal ends it after a page"},
	{40, "", func(want, got string) bool {
		return want == none || want == overflow || want == intr || !failed(want) && !failed(got)
	},
		"how long a file may be, and how far one is copied into itself, is up to the file system; what cannot be spliced to is seen when there is something"},
	{322, "", func(_, got string) bool { return got == inval }, "no AT_EXECVE_CHECK, which is of Linux 6.14"},
	{157, "0x17", anyResult, "the guest has no bounding set"},
	{91, "", either(notsup, perm), "anonymous inodes: the error changed in Linux 6.16"},
	{93, "", either(notsup, perm), "anonymous inodes: the error changed in Linux 6.16"},
	{260, "", either(notsup, perm), "anonymous inodes: the error changed in Linux 6.16"},
	{280, "", either(notsup, perm), "anonymous inodes: the error changed in Linux 6.16"},
	{261, "", either(notsup, perm), "anonymous inodes: the error changed in Linux 6.16"},
	{452, "", either(notsup, perm), "anonymous inodes: the error changed in Linux 6.16"},
	{93, "", unlike(notsup, none), "as before, where nothing is to be changed"},
	{260, "", unlike(notsup, none), "as before, where nothing is to be changed"},
	{274, "", func(want, _ string) bool { return want == perm }, "newer kernels take a list that begins at -1 for an errno"},
	{293, "", anyResult, "notification pipes (O_NOTIFICATION_PIPE) are another error where they are not configured"},
	{327, "", func(want, _ string) bool { return want == notsup }, "whether RWF_NOWAIT is there is up to the file system"},
	{328, "", func(want, _ string) bool { return want == notsup }, "whether RWF_NOWAIT is there is up to the file system"},
	{327, "", func(_, got string) bool { return got == notsup }, "RWF_NOSIGNAL is of Linux 6.18"},
	{328, "", func(_, got string) bool { return got == notsup }, "RWF_NOSIGNAL is of Linux 6.18"},
	{25, "", func(_, got string) bool { return got == fault }, "moving several mappings at once is of Linux 6.17"},
	{434, "", func(_, got string) bool { return got == inval }, "no PIDFD_THREAD, which is of Linux 6.9"},
	{25, "", either(inval, nomem), "a length beyond all addresses: the error changed in Linux 6.17"},
	{25, "", unlike(fault, inval), "the old length wraps: whether it is looked at before the target changed in Linux 6.17"},
	{157, "0x2", anyResult, "a number may be an address"},
	{131, "", func(want, got string) bool { return want == perm || got == perm }, "whether the thread is on it depends on where the stack lies"},
	{157, "0x4e", func(_, got string) bool { return got == inval }, "PR_FUTEX_HASH is of Linux 6.16"},
	{157, "0x1c", unlike(none, perm), "secure bits that need no privilege are of Linux 6.14"},
	{53, "", func(want, got string) bool { return slices.Contains(noPairs, want) && got == afnosupport },
		"which families of sockets there are is up to the kernel's configuration"},
	{53, "0x2", unlike(acces, protonosupport), "who may have ping sockets is up to the host's configuration"},
	{53, "0x10", unlike(notsup, protonosupport),
		"which protocols of netlink there are is up to the kernel's configuration"},
	{277, "", unlike(none, spipe), "pidfds are regular files since Linux 6.9"},
	{285, "", unlike(notsup, nodev), "pidfds: the error changed in Linux 6.9"},
	{77, "", unlike(notsup, inval), "pidfds: the error changed in Linux 6.9"},
	{324, "", func(want, got string) bool { return !failed(want) && !failed(got) }, "which barriers there are (MEMBARRIER_CMD_QUERY) is up to the kernel"},
	{324, "0x80", func(_, got string) bool { return got == inval }, "no barriers for restartable sequences (rseq), which the guest has not"},
	{324, "0x100", func(_, got string) bool { return got == inval }, "as before"},
	{222, "", anyResult, "which of several errors is seen first changed in Linux 6.15"},
	{316, "", func(_, got string) bool { return got == inval }, "no whiteouts (RENAME_WHITEOUT)"},
}
