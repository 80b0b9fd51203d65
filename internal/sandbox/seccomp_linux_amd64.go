package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (seccomp(2)); of an argument the low half comes first.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
)

// What a filter returns. A call that is not allowed fails with EPERM: see RATIONALE.md, "What does the second wall
// do?".
const (
	allow = unix.SECCOMP_RET_ALLOW
	deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// absent is for what the C library does in another way if the kernel lacks it.
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	kill   = unix.SECCOMP_RET_KILL_PROCESS
)

// A call is a system call that is allowed, if its arguments pass all tests.
type call struct {
	nr    uint32
	tests []test
}

// A test asks that the low half of an argument, with mask, is one of values; if null is set, that all of it is 0.
type test struct {
	arg    int
	mask   uint32
	values []uint32
	null   bool
	// not turns it round.
	not bool
}

func is(arg int, values ...uint32) test { return test{arg: arg, mask: ^uint32(0), values: values} }

func plain(list ...uint32) (calls []call) {
	for _, nr := range list {
		calls = append(calls, call{nr: nr})
	}
	return calls
}

// runtimeCalls are what the Go runtime, the engines and the address space make.
var runtimeCalls = plain(
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE,
	unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_FUTEX, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SIGALTSTACK, unix.SYS_RT_SIGACTION,
	unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RESTART_SYSCALL, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_GETPID,
	unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETRANDOM, unix.SYS_GETRLIMIT,
	unix.SYS_GETRUSAGE, unix.SYS_SYSINFO, unix.SYS_UNAME, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_PIPE2, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS,
)

// archSetGS is arch_prctl's ARCH_SET_GS: the engine jit sets the GS base so where user code may not.
const archSetGS = 0x1001

// fileCalls are what serves the guest's files. Landlock says which.
var fileCalls = plain(
	unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_PREADV2,
	unix.SYS_PWRITEV2, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FSTATFS, unix.SYS_READLINKAT,
	unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_UNLINKAT,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FSYNC,
	unix.SYS_FDATASYNC, unix.SYS_FLOCK, unix.SYS_UMASK, unix.SYS_MEMFD_CREATE, unix.SYS_POLL, unix.SYS_PPOLL, unix.SYS_GETXATTR,
	unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR, unix.SYS_SENDFILE,
	unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE, unix.SYS_DUP, unix.SYS_DUP3,
)

// attributeCalls change attributes of a file that is open; a descriptor of O_PATH will not do for any. Their kin that
// take paths are allowed nowhere, as Landlock does not look at them.
var attributeCalls = []call{
	{nr: unix.SYS_FCHMOD}, {nr: unix.SYS_FSETXATTR}, {nr: unix.SYS_FREMOVEXATTR},
	{nr: unix.SYS_UTIMENSAT, tests: []test{{arg: 1, null: true}}},
}

// networkCalls serve TCP and UDP sockets that connect to other hosts.
var networkCalls = append(plain(unix.SYS_CONNECT, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_GETSOCKOPT,
	unix.SYS_SETSOCKOPT, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_SHUTDOWN),
	call{unix.SYS_SOCKET, []test{is(0, unix.AF_INET), {arg: 1, mask: 0xf, values: []uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM}}}})

// fcntls are the commands of fcntl(2): none that locks, leases, or sends signals.
var fcntls = []uint32{
	unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_ADD_SEALS, unix.F_GET_SEALS,
	unix.F_GETPIPE_SZ, unix.F_SETPIPE_SZ,
}

// pagemapScan is the request PAGEMAP_SCAN: which of our own pages are in use.
const pagemapScan = 0xc0606610

// ioctls are the requests of ioctl(2): the terminal's settings and size, how much there is to read, and what emu/mem
// asks for a fork. TIOCSTI types at the terminal.
var ioctls = []uint32{
	unix.TCGETS, unix.TCSETS, unix.TCSETSW, unix.TCSETSF, unix.TIOCGWINSZ, unix.TIOCSWINSZ, unix.TIOCINQ, unix.TIOCOUTQ, pagemapScan,
}

// calls are what p allows.
func calls(p Policy, abi int) []call {
	pid := uint32(os.Getpid())
	open := call{nr: unix.SYS_OPENAT}
	if abi < 3 { // O_TRUNC on a file that is opened for reading truncates it, and such a Landlock does not look
		open.tests = []test{{arg: 2, mask: unix.O_TRUNC | unix.O_ACCMODE, values: []uint32{unix.O_TRUNC}, not: true}}
	}
	const thread = unix.CLONE_VM | unix.CLONE_THREAD
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	list := append(runtimeCalls[:len(runtimeCalls):len(runtimeCalls)], fileCalls...)
	list = append(list, open,
		call{unix.SYS_CLONE, []test{{arg: 0, mask: thread | namespaces, values: []uint32{thread}}}},
		call{unix.SYS_TGKILL, []test{is(0, pid)}}, call{unix.SYS_KILL, []test{is(0, pid)}},
		// Of what threads share, an own umask alone.
		call{unix.SYS_UNSHARE, []test{is(0, unix.CLONE_FS)}},
		call{unix.SYS_PRCTL, []test{is(0, unix.PR_SET_VMA)}},
		call{unix.SYS_ARCH_PRCTL, []test{is(0, archSetGS)}},
		call{unix.SYS_PRLIMIT64, []test{is(0, 0, pid), {arg: 2, null: true}}},
		call{unix.SYS_FCNTL, []test{is(1, fcntls...)}},
		call{unix.SYS_IOCTL, []test{is(1, ioctls...)}},
	)
	if abi > 0 { // it is still to be made, and can only take away
		list = append(list, call{nr: unix.SYS_LANDLOCK_RESTRICT_SELF})
	}
	if !p.ReadOnly {
		list = append(list, attributeCalls...)
	}
	if p.Network {
		list = append(list, networkCalls...)
	}
	return list
}

// program is the filter that allows calls.
func program(list []call) ([]unix.SockFilter, error) {
	code := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AUDIT_ARCH_X86_64, SkipTrue: 1},
		bpf.RetConstant{Val: kill},
		bpf.LoadAbsolute{Off: dataNr, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		bpf.RetConstant{Val: absent},
	}
	for _, c := range list {
		body := c.body()
		if len(body) > 255 {
			return nil, fmt.Errorf("BUG: the tests of call %d take %d instructions", c.nr, len(body))
		}
		code = append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.nr, SkipTrue: uint8(len(body))})
		code = append(code, body...)
	}
	raw, err := bpf.Assemble(append(code, bpf.RetConstant{Val: deny}))
	if err != nil {
		return nil, err
	}
	prog := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		prog[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return prog, nil
}

// body is what is done for c: it returns.
func (c call) body() (code []bpf.Instruction) {
	for _, t := range c.tests {
		code = append(code, t.code()...)
	}
	return append(code, bpf.RetConstant{Val: allow})
}

// code goes on behind itself if the test passes, and otherwise denies.
func (t test) code() (code []bpf.Instruction) {
	low := uint32(dataArgs + 8*t.arg)
	denied := bpf.RetConstant{Val: deny}
	if t.null {
		for _, off := range []uint32{low, low + 4} {
			code = append(code, bpf.LoadAbsolute{Off: off, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, denied)
		}
		return code
	}
	code = append(code, bpf.LoadAbsolute{Off: low, Size: 4}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
	if t.not {
		return append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: t.values[0], SkipTrue: 1}, denied)
	}
	for i, v := range t.values {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(t.values) - i)})
	}
	return append(code, denied)
}

// seccompAvailable says why there can be no filter.
func seccompAvailable() error {
	if err := hasAction(deny & unix.SECCOMP_RET_ACTION_FULL); err != nil {
		if errors.Is(err, unix.ENOSYS) {
			err = errors.New("the kernel has none, or whoever runs this container forbids it")
		}
		return err
	}
	return nil
}

// filter installs the filter of p.
func filter(p Policy, abi int) (stands string, err error) {
	list := calls(p, abi)
	prog, err := program(list)
	if err != nil {
		return "", err
	}
	runtime.LockOSThread() // which has the privilege taken from it, and then from all others
	defer runtime.UnlockOSThread()
	if err := noNewPrivileges(); err != nil {
		return "", err
	}
	// Without SPEC_ALLOW older kernels slow the whole process down against attacks by speculation, which this is no
	// wall against.
	failed, err := setFilter(prog, unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW)
	if err != nil {
		return "", err
	}
	if failed != 0 {
		return "", fmt.Errorf("thread %d has a filter of its own", failed)
	}
	return fmt.Sprintf("%d calls", len(list)), nil
}
