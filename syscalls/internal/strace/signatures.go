package strace

import (
	"fmt"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// Signatures say what the arguments of a call are: a kind for each, of argKinds or flagSets. A call that is not here
// shows six numbers.
var Signatures = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"read": "fd out lu", "write": "fd in lu", "open": "path oflags cmode", "close": "fd", "stat": "path stat", "fstat": "fd stat",
		"lstat": "path stat", "poll": "pollfds d d", "lseek": "fd ld whence", "mmap": "ptr lu prot mapflags fd x",
		"mprotect": "ptr lu prot", "munmap": "ptr lu", "brk": "ptr", "rt_sigaction": "signo sigact sigact d",
		"rt_sigprocmask": "sighow sigset sigset d", "rt_sigreturn": "", "ioctl": "fd ioctl ptr", "pread64": "fd out lu ld",
		"pwrite64": "fd in lu ld", "readv": "fd iov d", "writev": "fd iov d", "access": "path amode", "pipe": "fds",
		"select": "d ptr ptr ptr tv", "sched_yield": "", "mremap": "ptr lu lu mremapflags ptr", "msync": "ptr lu msyncflags",
		"mincore": "ptr lu ptr", "madvise": "ptr lu advice", "dup": "fd", "dup2": "fd fd", "pause": "", "nanosleep": "ts ptr",
		"getitimer": "d ptr", "alarm": "d", "setitimer": "d ptr ptr", "getpid": "", "sendfile": "fd fd ptr lu", "socket": "d d d",
		"clone": "x ptr ptr ptr x", "fork": "", "vfork": "", "execve": "path argv envv", "exit": "d", "wait4": "d ptr d ptr",
		"kill": "d signo", "uname": "uname", "fcntl": "fd fcntl x", "flock": "fd d", "fsync": "fd", "fdatasync": "fd",
		"truncate": "path ld", "ftruncate": "fd ld", "getdents": "fd ptr lu", "getcwd": "out lu", "chdir": "path", "fchdir": "fd",
		"rename": "path path", "mkdir": "path mode", "rmdir": "path", "creat": "path mode", "link": "path path", "unlink": "path",
		"symlink": "path path", "readlink": "path out lu", "chmod": "path mode", "fchmod": "fd mode", "chown": "path d d",
		"fchown": "fd d d", "lchown": "path d d", "umask": "mode", "gettimeofday": "tv ptr", "getrlimit": "resource rlim",
		"getrusage": "d ptr", "sysinfo": "ptr", "times": "ptr", "getuid": "", "getgid": "", "setuid": "d", "setgid": "d",
		"geteuid": "", "getegid": "", "setpgid": "d d", "getppid": "", "getpgrp": "", "setsid": "", "getgroups": "d ptr",
		"getresuid": "ptr ptr ptr", "getresgid": "ptr ptr ptr", "getpgid": "d", "getsid": "d", "rt_sigpending": "sigset d",
		"rt_sigtimedwait": "sigset ptr ts d", "rt_sigqueueinfo": "d signo ptr", "rt_sigsuspend": "sigset d", "sigaltstack": "ptr ptr",
		"statfs": "path ptr", "fstatfs": "fd ptr", "prctl": "d x x x x", "arch_prctl": "archcode x", "setrlimit": "resource rlim",
		"sync": "", "gettid": "", "tkill": "d signo", "time": "ptr", "futex": "ptr futexop d futex3 futex4 futex5", "futex_waitv": "ptr d x ts d",
		"sched_setaffinity": "d lu ptr", "sched_getaffinity": "d lu ptr", "getdents64": "fd ptr lu", "set_tid_address": "ptr",
		"fadvise64": "fd ld ld d", "timer_create": "clock ptr ptr", "timer_settime": "d d ptr ptr", "timer_gettime": "d ptr",
		"timer_getoverrun": "d", "timer_delete": "d", "clock_gettime": "clock ts", "clock_getres": "clock ts",
		"clock_nanosleep": "clock d ts ptr", "exit_group": "d", "epoll_create": "d", "epoll_wait": "fd ptr d d",
		"epoll_ctl": "fd epollop fd ptr", "tgkill": "d d signo", "utimes": "path ptr", "openat": "at path oflags cmode",
		"mkdirat": "at path mode", "mknodat": "at path mode x", "fchownat": "at path d d atflags", "newfstatat": "at path stat atflags",
		"unlinkat": "at path unlinkflags", "renameat": "at path at path", "linkat": "at path at path atflags", "symlinkat": "path at path",
		"readlinkat": "at path out lu", "fchmodat": "at path mode", "faccessat": "at path amode", "pselect6": "d ptr ptr ptr ts ptr",
		"ppoll": "pollfds d ts sigset lu", "set_robust_list": "ptr lu", "get_robust_list": "d ptr ptr", "splice": "fd ptr fd ptr lu x",
		"utimensat": "at path ptr atflags", "epoll_pwait": "fd ptr d d sigset lu", "timerfd_create": "clock oflags", "eventfd": "d",
		"fallocate": "fd x ld ld", "timerfd_settime": "fd d ptr ptr", "timerfd_gettime": "fd ptr", "eventfd2": "d x",
		"epoll_create1": "oflags", "dup3": "fd fd oflags", "pipe2": "fds oflags", "preadv": "fd iov d ld", "pwritev": "fd iov d ld",
		"prlimit64": "d resource rlim rlim", "renameat2": "at path at path x", "getrandom": "out lu x", "memfd_create": "str x",
		"execveat": "at path argv envv atflags", "copy_file_range": "fd ptr fd ptr lu x", "statx": "at path atflags x ptr",
		"rseq": "ptr lu x x", "clone3": "ptr lu", "close_range": "d d x", "faccessat2": "at path amode atflags", "membarrier": "d x d",
		"getcpu": "ptr ptr ptr", "sched_getparam": "d ptr", "sched_getscheduler": "d", "getpriority": "d d", "waitid": "d d ptr x ptr",
		"socketpair": "d d d fds", "sendto": "fd in lu x ptr d", "recvfrom": "fd out lu x ptr ptr", "shutdown": "fd d",
		"shmget": "x lu x", "shmat": "d ptr x", "shmctl": "d d ptr", "shmdt": "ptr", "semget": "x d x", "semop": "d ptr lu",
		"semctl": "d d d ptr", "semtimedop": "d ptr lu ts", "msgget": "x x", "msgsnd": "d ptr lu x", "msgrcv": "d ptr lu ld x",
		"msgctl": "d d ptr", "mq_open": "path oflags cmode ptr", "mq_unlink": "path", "mq_timedsend": "fd in lu d ts",
		"mq_timedreceive": "fd out lu ptr ts", "mq_notify": "fd ptr", "mq_getsetattr": "fd ptr ptr", "inotify_init": "",
		"inotify_init1": "x", "inotify_add_watch": "fd path x", "inotify_rm_watch": "fd d", "openat2": "at path ptr lu",
		"tee": "fd fd lu x", "vmsplice": "fd iov d x", "process_vm_readv": "d iov d ptr lu x",
		"process_vm_writev": "d iov d ptr lu x", "pidfd_getfd": "fd fd x", "sched_getattr": "d ptr d d",
		"sched_setattr": "d ptr d", "unshare": "x", "setxattr": "path path in lu x", "lsetxattr": "path path in lu x",
		"fsetxattr": "fd path in lu x", "getxattr": "path path ptr lu", "lgetxattr": "path path ptr lu",
		"fgetxattr": "fd path ptr lu", "listxattr": "path ptr lu", "llistxattr": "path ptr lu", "flistxattr": "fd ptr lu",
		"removexattr": "path path", "lremovexattr": "path path", "fremovexattr": "fd path",
	}
})

// A flagSet names bits, and values of a field that are not bits.
type flagSet struct {
	// values are the names of the bits in mask, taken as a number; none means no such field.
	mask   uint64
	values map[uint64]string
	bits   []flagBit
}

type flagBit struct {
	bit  uint64
	name string
}

// show shows v: "O_RDONLY|O_CLOEXEC"; unknown bits as a number.
func (f flagSet) show(v uint64) string {
	v = uint64(uint32(v))
	var out []string
	if name, ok := f.values[v&f.mask]; ok {
		out = append(out, name)
		v &^= f.mask
	}
	for _, b := range f.bits {
		if v&b.bit == b.bit {
			out = append(out, b.name)
			v &^= b.bit
		}
	}
	if v != 0 || len(out) == 0 {
		out = append(out, fmt.Sprintf("%#x", v))
	}
	if len(out) == 1 && out[0] == "0x0" {
		return "0"
	}
	return strings.Join(out, "|")
}

const allBits = 1<<32 - 1

// enum is a flagSet that is one value.
func enum(prefix, names string) flagSet {
	f := flagSet{mask: allBits, values: map[uint64]string{}}
	for i, n := range strings.Fields(names) {
		if n != "-" {
			f.values[uint64(i)] = prefix + n
		}
	}
	return f
}

var flagSets = sync.OnceValue(func() map[string]flagSet {
	return map[string]flagSet{
		"oflags": {mask: linux.O_ACCMODE, values: map[uint64]string{linux.O_RDONLY: "O_RDONLY", linux.O_WRONLY: "O_WRONLY", linux.O_RDWR: "O_RDWR"}, bits: []flagBit{
			{linux.O_CREAT, "O_CREAT"}, {linux.O_EXCL, "O_EXCL"}, {linux.O_NOCTTY, "O_NOCTTY"}, {linux.O_TRUNC, "O_TRUNC"}, {linux.O_APPEND, "O_APPEND"}, {linux.O_NONBLOCK, "O_NONBLOCK"},
			{linux.O_SYNC, "O_SYNC"}, {linux.O_DSYNC, "O_DSYNC"}, {linux.O_ASYNC, "O_ASYNC"}, {linux.O_DIRECT, "O_DIRECT"}, {linux.O_LARGEFILE, "O_LARGEFILE"},
			{linux.O_TMPFILE, "O_TMPFILE"}, {linux.O_DIRECTORY, "O_DIRECTORY"}, {linux.O_NOFOLLOW, "O_NOFOLLOW"}, {linux.O_NOATIME, "O_NOATIME"}, {linux.O_CLOEXEC, "O_CLOEXEC"}, {linux.O_PATH, "O_PATH"},
		}},
		"prot": {mask: allBits, values: map[uint64]string{0: "PROT_NONE"}, bits: []flagBit{{1, "PROT_READ"}, {2, "PROT_WRITE"}, {4, "PROT_EXEC"}}},
		"mapflags": {mask: linux.MAP_TYPE, values: map[uint64]string{linux.MAP_SHARED: "MAP_SHARED", linux.MAP_PRIVATE: "MAP_PRIVATE", linux.MAP_SHARED_VALIDATE: "MAP_SHARED_VALIDATE"}, bits: []flagBit{
			{linux.MAP_FIXED, "MAP_FIXED"}, {linux.MAP_ANONYMOUS, "MAP_ANONYMOUS"}, {linux.MAP_32BIT, "MAP_32BIT"}, {linux.MAP_GROWSDOWN, "MAP_GROWSDOWN"},
			{0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"}, {0x2000, "MAP_LOCKED"}, {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"},
			{0x10000, "MAP_NONBLOCK"}, {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {linux.MAP_FIXED_NOREPLACE, "MAP_FIXED_NOREPLACE"},
		}},
		"mremapflags": {bits: []flagBit{{linux.MREMAP_MAYMOVE, "MREMAP_MAYMOVE"}, {linux.MREMAP_FIXED, "MREMAP_FIXED"}, {linux.MREMAP_DONTUNMAP, "MREMAP_DONTUNMAP"}}},
		"msyncflags":  {bits: []flagBit{{1, "MS_ASYNC"}, {2, "MS_INVALIDATE"}, {4, "MS_SYNC"}}},
		"amode":       {mask: allBits, values: map[uint64]string{0: "F_OK"}, bits: []flagBit{{4, "R_OK"}, {2, "W_OK"}, {1, "X_OK"}}},
		"atflags": {bits: []flagBit{
			{linux.AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"}, {linux.AT_EACCESS, "AT_EACCESS"}, {linux.AT_SYMLINK_FOLLOW, "AT_SYMLINK_FOLLOW"},
			{linux.AT_NO_AUTOMOUNT, "AT_NO_AUTOMOUNT"}, {linux.AT_EMPTY_PATH, "AT_EMPTY_PATH"},
		}},
		"unlinkflags": {bits: []flagBit{{linux.AT_REMOVEDIR, "AT_REMOVEDIR"}}},
		"pollev":      {bits: []flagBit{{linux.POLLIN, "POLLIN"}, {linux.POLLPRI, "POLLPRI"}, {linux.POLLOUT, "POLLOUT"}, {linux.POLLRDNORM, "POLLRDNORM"}, {linux.POLLRDHUP, "POLLRDHUP"}}},
		"saflags": {bits: []flagBit{
			{linux.SA_RESTORER, "SA_RESTORER"}, {linux.SA_ONSTACK, "SA_ONSTACK"}, {linux.SA_RESTART, "SA_RESTART"}, {linux.SA_NODEFER, "SA_NODEFER"},
			{linux.SA_RESETHAND, "SA_RESETHAND"}, {linux.SA_SIGINFO, "SA_SIGINFO"}, {linux.SA_NOCLDSTOP, "SA_NOCLDSTOP"}, {linux.SA_NOCLDWAIT, "SA_NOCLDWAIT"},
		}},
		"whence":   enum("SEEK_", "SET CUR END DATA HOLE"),
		"sighow":   enum("SIG_", "BLOCK UNBLOCK SETMASK"),
		"clock":    enum("CLOCK_", "REALTIME MONOTONIC PROCESS_CPUTIME_ID THREAD_CPUTIME_ID MONOTONIC_RAW REALTIME_COARSE MONOTONIC_COARSE BOOTTIME REALTIME_ALARM BOOTTIME_ALARM - TAI"),
		"resource": enum("RLIMIT_", "CPU FSIZE DATA STACK CORE RSS NPROC NOFILE MEMLOCK AS LOCKS SIGPENDING MSGQUEUE NICE RTPRIO RTTIME"),
		"advice":   enum("MADV_", "NORMAL RANDOM SEQUENTIAL WILLNEED DONTNEED - - - FREE REMOVE DONTFORK DOFORK MERGEABLE UNMERGEABLE HUGEPAGE NOHUGEPAGE DONTDUMP DODUMP WIPEONFORK KEEPONFORK COLD PAGEOUT POPULATE_READ POPULATE_WRITE"),
		"epollop":  enum("EPOLL_CTL_", "- ADD DEL MOD"),
		"archcode": {mask: allBits, values: map[uint64]string{linux.ARCH_SET_GS: "ARCH_SET_GS", linux.ARCH_SET_FS: "ARCH_SET_FS", linux.ARCH_GET_FS: "ARCH_GET_FS", linux.ARCH_GET_GS: "ARCH_GET_GS", 0x3001: "0x3001 /* ARCH_??? */"}},
		"fcntl": {mask: allBits, values: map[uint64]string{
			linux.F_DUPFD: "F_DUPFD", linux.F_GETFD: "F_GETFD", linux.F_SETFD: "F_SETFD", linux.F_GETFL: "F_GETFL", linux.F_SETFL: "F_SETFL", linux.F_GETLK: "F_GETLK", linux.F_SETLK: "F_SETLK", linux.F_SETLKW: "F_SETLKW",
			linux.F_SETOWN: "F_SETOWN", linux.F_GETOWN: "F_GETOWN", linux.F_DUPFD_CLOEXEC: "F_DUPFD_CLOEXEC", linux.F_SETPIPE_SZ: "F_SETPIPE_SZ", linux.F_GETPIPE_SZ: "F_GETPIPE_SZ",
			linux.F_OFD_GETLK: "F_OFD_GETLK", linux.F_OFD_SETLK: "F_OFD_SETLK", linux.F_OFD_SETLKW: "F_OFD_SETLKW", linux.F_ADD_SEALS: "F_ADD_SEALS", linux.F_GET_SEALS: "F_GET_SEALS",
		}},
		"ioctl": {mask: allBits, values: map[uint64]string{
			linux.TCGETS: "TCGETS", linux.TCSETS: "TCSETS", linux.TCSETSW: "TCSETSW", linux.TCSETSF: "TCSETSF", linux.TIOCGWINSZ: "TIOCGWINSZ", linux.TIOCSWINSZ: "TIOCSWINSZ", linux.TIOCGPGRP: "TIOCGPGRP",
			linux.TIOCSPGRP: "TIOCSPGRP", linux.FIONREAD: "FIONREAD", linux.FIONBIO: "FIONBIO", linux.FIOCLEX: "FIOCLEX", linux.FIONCLEX: "FIONCLEX", linux.FIOASYNC: "FIOASYNC", linux.FICLONE: "FICLONE",
			linux.TIOCSCTTY: "TIOCSCTTY", linux.TIOCNOTTY: "TIOCNOTTY", linux.TIOCGSID: "TIOCGSID", linux.TIOCGPTN: "TIOCGPTN", linux.TIOCSPTLCK: "TIOCSPTLCK", linux.TIOCGPTPEER: "TIOCGPTPEER",
			linux.TIOCPKT: "TIOCPKT", linux.TIOCGPKT: "TIOCGPKT", linux.TCFLSH: "TCFLSH", linux.TCXONC: "TCXONC",
			linux.TCGETS2: "TCGETS2", linux.TCSETS2: "TCSETS2", linux.TCSETSW2: "TCSETSW2", linux.TCSETSF2: "TCSETSF2", linux.TIOCEXCL: "TIOCEXCL", linux.TIOCNXCL: "TIOCNXCL", linux.TIOCGEXCL: "TIOCGEXCL",
		}},
	}
})

// codeName is the name of a si_code.
func codeName(s *task.SigInfo) string {
	switch s.Code {
	case linux.SI_USER:
		return "SI_USER"
	case linux.SI_KERNEL:
		return "SI_KERNEL"
	case linux.SI_QUEUE:
		return "SI_QUEUE"
	case linux.SI_TIMER:
		return "SI_TIMER"
	case linux.SI_TKILL:
		return "SI_TKILL"
	}
	names := map[int32]string{
		linux.SIGSEGV: "SEGV_ MAPERR ACCERR", linux.SIGBUS: "BUS_ ADRALN ADRERR", linux.SIGILL: "ILL_ ILLOPC ILLOPN",
		linux.SIGFPE: "FPE_ INTDIV INTOVF FLTDIV FLTOVF FLTUND FLTRES FLTINV", linux.SIGTRAP: "TRAP_ BRKPT TRACE",
		linux.SIGCHLD: "CLD_ EXITED KILLED DUMPED TRAPPED STOPPED CONTINUED",
	}
	list := strings.Fields(names[s.Signo])
	if s.Code > 0 && int(s.Code) < len(list) {
		return list[0] + list[s.Code]
	}
	return fmt.Sprint(s.Code)
}
