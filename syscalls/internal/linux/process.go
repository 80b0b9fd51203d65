package linux

// Flags of clone(2).
const (
	CLONE_VM             = 0x100
	CLONE_FS             = 0x200
	CLONE_FILES          = 0x400
	CLONE_SIGHAND        = 0x800
	CLONE_PIDFD          = 0x1000
	CLONE_VFORK          = 0x4000
	CLONE_PARENT         = 0x8000
	CLONE_THREAD         = 0x10000
	CLONE_SYSVSEM        = 0x40000
	CLONE_SETTLS         = 0x80000
	CLONE_PARENT_SETTID  = 0x100000
	CLONE_CHILD_CLEARTID = 0x200000
	CLONE_DETACHED       = 0x400000
	CLONE_CHILD_SETTID   = 0x1000000
	CLONE_NEWNS          = 0x20000
	CLONE_NEWUSER        = 0x10000000
	CLONE_IO             = 0x80000000
	CLONE_CLEAR_SIGHAND  = 0x100000000 // clone3 alone
	CLONE_INTO_CGROUP    = 0x200000000
)

// What kcmp(2) compares.
const (
	KCMP_FILE    = 0
	KCMP_VM      = 1
	KCMP_FILES   = 2
	KCMP_FS      = 3
	KCMP_SIGHAND = 4
	KCMP_IO      = 5
	KCMP_SYSVSEM = 6
)

// Resources of getrlimit(2).
const (
	RLIMIT_CPU        = 0
	RLIMIT_FSIZE      = 1
	RLIMIT_DATA       = 2
	RLIMIT_STACK      = 3
	RLIMIT_CORE       = 4
	RLIMIT_RSS        = 5
	RLIMIT_NPROC      = 6
	RLIMIT_NOFILE     = 7
	RLIMIT_MEMLOCK    = 8
	RLIMIT_AS         = 9
	RLIMIT_LOCKS      = 10
	RLIMIT_SIGPENDING = 11
	RLIMIT_MSGQUEUE   = 12
	RLIMIT_NICE       = 13
	RLIMIT_RTPRIO     = 14
	RLIMIT_RTTIME     = 15
	RLIM_NLIMITS      = 16

	RLIM_INFINITY = 1<<64 - 1
)

// Operations of arch_prctl(2).
const (
	ARCH_SET_GS = 0x1001
	ARCH_SET_FS = 0x1002
	ARCH_GET_FS = 0x1003
	ARCH_GET_GS = 0x1004
)

// Flags of personality(2) that have an effect.
const (
	ADDR_NO_RANDOMIZE = 0x40000 // execve(2) puts the heap behind the program
	READ_IMPLIES_EXEC = 0x400000
)

// Flags of getrandom(2).
const (
	GRND_NONBLOCK = 1
	GRND_RANDOM   = 2
	GRND_INSECURE = 4
)

// Options of wait4(2) and waitid(2).
const (
	WNOHANG    = 1
	WSTOPPED   = 2 // WUNTRACED
	WEXITED    = 4
	WCONTINUED = 8
	WNOWAIT    = 0x01000000
	WNOTHREAD  = 0x20000000
	WALL       = 0x40000000
	WCLONE     = 0x80000000
)

// What waitid(2) waits for.
const (
	P_ALL   = 0
	P_PID   = 1
	P_PGID  = 2
	P_PIDFD = 3
)
