//go:build linux && amd64

package sandbox

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestMain is the test, or a process that a test confines.
func TestMain(m *testing.M) {
	switch os.Getenv("SANDBOX_TEST") {
	case "calls":
		everyCall()
	case "":
		os.Exit(m.Run())
	}
}

// lastCall is behind all numbers of system calls there are.
const lastCall = 600

// everyCall confines itself, makes every system call that is not allowed, with arguments that have no effect, and
// prints those that were made.
func everyCall() {
	list := calls(Policy{}, 7)
	if w := Confine(Policy{ReadAll: true}); w.NoSeccomp != nil {
		fmt.Println(w)
		return
	}
	for nr := uintptr(0); nr < lastCall; nr++ {
		// uretprobe and uprobe are for the kernel's own traps: from anywhere else they are illegal instructions,
		// whatever a filter says.
		if nr == 335 || nr == 336 || slices.ContainsFunc(list, func(c call) bool { return uintptr(c.nr) == nr }) {
			continue
		}
		for _, nr := range []uintptr{nr, nr | 1<<30} { // those of x32, too
			const bad = ^uintptr(0)
			_, _, e := unix.RawSyscall6(nr, bad, bad, bad, bad, bad, bad)
			if want := unix.EPERM; e != want && !(nr == unix.SYS_CLONE3 && e == unix.ENOSYS) {
				fmt.Printf("call %#x: %v\n", nr, e)
			}
		}
	}
	fmt.Println("done")
}

// TestEveryCall makes all system calls that are not in the list.
func TestEveryCall(t *testing.T) {
	if err := Available().NoSeccomp; err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "SANDBOX_TEST=calls")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "done\n", string(out))
}

// decide says what the filter of p returns for a call.
func decide(t *testing.T, p Policy, abi int, nr uint32, args ...uint64) uint32 {
	t.Helper()
	prog, err := program(calls(p, abi))
	require.NoError(t, err)
	raw := make([]bpf.RawInstruction, len(prog))
	for i, f := range prog {
		raw[i] = bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}
	}
	code, ok := bpf.Disassemble(raw)
	require.True(t, ok)
	vm, err := bpf.NewVM(code)
	require.NoError(t, err)
	// The virtual machine reads in network order.
	word := func(x uint32) []byte { return []byte{byte(x >> 24), byte(x >> 16), byte(x >> 8), byte(x)} }
	data := slices.Concat(word(nr), word(unix.AUDIT_ARCH_X86_64), make([]byte, 8))
	for i := range 6 {
		var a uint64
		if i < len(args) {
			a = args[i]
		}
		data = slices.Concat(data, word(uint32(a)), word(uint32(a>>32)))
	}
	n, err := vm.Run(data)
	require.NoError(t, err)
	return uint32(n)
}

// TestArguments checks the calls that are allowed with some arguments only.
func TestArguments(t *testing.T) {
	pid, all := uint64(os.Getpid()), uint64(1<<64-1)
	threads := uint64(unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND | unix.CLONE_FS | unix.CLONE_FILES)
	plain, changing, network := Policy{ReadOnly: true}, Policy{}, Policy{ReadOnly: true, Network: true}
	for _, c := range []struct {
		p    Policy
		abi  int
		nr   uint32
		args []uint64
		want bool
	}{
		{plain, 7, unix.SYS_READ, []uint64{all, all, all}, true},
		{plain, 7, unix.SYS_EXECVE, nil, false},
		{plain, 7, unix.SYS_CLONE, []uint64{threads}, true},
		{plain, 7, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, false},
		{plain, 7, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_VFORK}, false},
		{plain, 7, unix.SYS_CLONE, []uint64{threads | unix.CLONE_NEWNET}, false},
		{plain, 7, unix.SYS_TGKILL, []uint64{pid, 1}, true},
		{plain, 7, unix.SYS_TGKILL, []uint64{pid + 1, 1}, false},
		{plain, 7, unix.SYS_KILL, []uint64{pid}, true},
		{plain, 7, unix.SYS_KILL, []uint64{all}, false},
		{plain, 7, unix.SYS_KILL, []uint64{0}, false},
		{plain, 7, unix.SYS_PRCTL, []uint64{unix.PR_SET_VMA}, true},
		{plain, 7, unix.SYS_PRCTL, []uint64{unix.PR_SET_DUMPABLE, 1}, false},
		{plain, 7, unix.SYS_UNSHARE, []uint64{unix.CLONE_FS}, true},
		{plain, 7, unix.SYS_UNSHARE, []uint64{unix.CLONE_FS | unix.CLONE_NEWUSER}, false},
		{plain, 7, unix.SYS_PRLIMIT64, []uint64{0, 7, 0}, true},
		{plain, 7, unix.SYS_PRLIMIT64, []uint64{0, 7, 1}, false},
		{plain, 7, unix.SYS_PRLIMIT64, []uint64{0, 7, 1 << 32}, false},
		{plain, 7, unix.SYS_PRLIMIT64, []uint64{pid + 1, 7, 0}, false},
		{plain, 7, unix.SYS_FCNTL, []uint64{0, unix.F_GET_SEALS}, true},
		{plain, 7, unix.SYS_FCNTL, []uint64{0, unix.F_DUPFD}, true},
		{plain, 7, unix.SYS_FCNTL, []uint64{0, unix.F_SETOWN, pid}, false},
		{plain, 7, unix.SYS_FCNTL, []uint64{0, unix.F_SETLEASE}, false},
		{plain, 7, unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, true},
		{plain, 7, unix.SYS_IOCTL, []uint64{0, pagemapScan}, true},
		{plain, 7, unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, false},
		{plain, 7, unix.SYS_IOCTL, []uint64{0, unix.FICLONE}, false},
		{plain, 7, unix.SYS_IOCTL, []uint64{0, unix.FS_IOC_SETFLAGS}, false},
		{plain, 7, unix.SYS_FCHMOD, nil, false},
		{changing, 7, unix.SYS_FCHMOD, nil, true},
		{plain, 7, unix.SYS_UTIMENSAT, nil, false},
		{changing, 7, unix.SYS_UTIMENSAT, []uint64{3, 0}, true},
		{changing, 7, unix.SYS_UTIMENSAT, []uint64{3, 1}, false},
		{changing, 7, unix.SYS_UTIMENSAT, []uint64{3, 1 << 32}, false},
		{changing, 7, unix.SYS_FCHMODAT, nil, false},
		{changing, 7, unix.SYS_SETXATTR, nil, false},
		{changing, 7, unix.SYS_TRUNCATE, nil, false},
		{plain, 7, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, false},
		{network, 7, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, true},
		{network, 7, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM}, true},
		{network, 7, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW}, false},
		{network, 7, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, false},
		{network, 7, unix.SYS_BIND, nil, false},
		{network, 7, unix.SYS_LISTEN, nil, false},
		{plain, 7, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TRUNC}, true},
		{plain, 2, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TRUNC | unix.O_CLOEXEC}, false},
		{plain, 2, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TRUNC | unix.O_WRONLY}, true},
	} {
		got := decide(t, c.p, c.abi, c.nr, c.args...)
		require.Equal(t, c.want, got == uint32(allow), "%+v: %#x", c, got)
	}
	require.Equal(t, uint32(absent), decide(t, plain, 7, unix.SYS_CLONE3))
}

// TestCallsOnce checks that no call stands twice: the first would decide.
func TestCallsOnce(t *testing.T) {
	seen := map[uint32]bool{}
	for _, c := range calls(Policy{Network: true}, 1) {
		require.False(t, seen[c.nr], "call %d", c.nr)
		seen[c.nr] = true
	}
	require.Greater(t, len(slices.Collect(maps.Keys(seen))), 100)
}

// TestRightsByVersion checks what is asked of Landlock's versions.
func TestRightsByVersion(t *testing.T) {
	attr, names := handled(Policy{}, 1)
	require.Equal(t, "files", names)
	require.Zero(t, attr.Handled_access_fs&(unix.LANDLOCK_ACCESS_FS_REFER|unix.LANDLOCK_ACCESS_FS_TRUNCATE))
	require.Zero(t, attr.Handled_access_net|attr.Scoped)
	attr, names = handled(Policy{ReadAll: true, Network: true}, 6)
	require.Equal(t, "files, tcp, devices, signals, abstract sockets", names)
	require.Zero(t, attr.Handled_access_fs&readRights)
	require.EqualValues(t, unix.LANDLOCK_ACCESS_NET_BIND_TCP, attr.Handled_access_net)
	require.NotZero(t, attr.Handled_access_fs&unix.LANDLOCK_ACCESS_FS_EXECUTE)
}

// TestSaid checks what users are told.
func TestSaid(t *testing.T) {
	w := Walls{Landlock: "ABI 1: files", NoSeccomp: unix.ENOSYS}
	require.Equal(t, "landlock: ABI 1: files; no seccomp (function not implemented)", w.String())
	require.ErrorContains(t, w.Missing(), "no seccomp filter")
	require.NoError(t, Walls{}.Missing())
	require.False(t, strings.Contains(Walls{Seccomp: "97 calls"}.String(), "no "))
}
