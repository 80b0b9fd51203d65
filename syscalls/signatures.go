package syscalls

import (
	"fmt"
	"strings"
)

// signatures say how --strace shows the arguments of a call: a kind for each, from
// argKinds or flagSets. Calls that are not here show six numbers.
var signatures = map[string]string{
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

var flagSets = map[string]flagSet{
	"oflags": {mask: oACCMODE, values: map[uint64]string{oRDONLY: "O_RDONLY", oWRONLY: "O_WRONLY", oRDWR: "O_RDWR"}, bits: []flagBit{
		{oCREAT, "O_CREAT"}, {oEXCL, "O_EXCL"}, {oNOCTTY, "O_NOCTTY"}, {oTRUNC, "O_TRUNC"}, {oAPPEND, "O_APPEND"}, {oNONBLOCK, "O_NONBLOCK"},
		{oSYNC, "O_SYNC"}, {oDSYNC, "O_DSYNC"}, {oASYNC, "O_ASYNC"}, {oDIRECT, "O_DIRECT"}, {oLARGEFILE, "O_LARGEFILE"},
		{oTMPFILE, "O_TMPFILE"}, {oDIRECTORY, "O_DIRECTORY"}, {oNOFOLLOW, "O_NOFOLLOW"}, {oNOATIME, "O_NOATIME"}, {oCLOEXEC, "O_CLOEXEC"}, {oPATH, "O_PATH"},
	}},
	"prot": {mask: allBits, values: map[uint64]string{0: "PROT_NONE"}, bits: []flagBit{{1, "PROT_READ"}, {2, "PROT_WRITE"}, {4, "PROT_EXEC"}}},
	"mapflags": {mask: mapType, values: map[uint64]string{mapShared: "MAP_SHARED", mapPrivate: "MAP_PRIVATE", mapSharedValidate: "MAP_SHARED_VALIDATE"}, bits: []flagBit{
		{mapFixed, "MAP_FIXED"}, {mapAnonymous, "MAP_ANONYMOUS"}, {map32bit, "MAP_32BIT"}, {mapGrowsDown, "MAP_GROWSDOWN"},
		{0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"}, {0x2000, "MAP_LOCKED"}, {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"},
		{0x10000, "MAP_NONBLOCK"}, {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {mapFixedNoreplace, "MAP_FIXED_NOREPLACE"},
	}},
	"mremapflags": {bits: []flagBit{{mremapMaymove, "MREMAP_MAYMOVE"}, {mremapFixed, "MREMAP_FIXED"}, {mremapDontunmap, "MREMAP_DONTUNMAP"}}},
	"msyncflags":  {bits: []flagBit{{1, "MS_ASYNC"}, {2, "MS_INVALIDATE"}, {4, "MS_SYNC"}}},
	"amode":       {mask: allBits, values: map[uint64]string{0: "F_OK"}, bits: []flagBit{{4, "R_OK"}, {2, "W_OK"}, {1, "X_OK"}}},
	"atflags": {bits: []flagBit{
		{atSymlinkNofollow, "AT_SYMLINK_NOFOLLOW"}, {atEaccess, "AT_EACCESS"}, {atSymlinkFollow, "AT_SYMLINK_FOLLOW"},
		{atNoAutomount, "AT_NO_AUTOMOUNT"}, {atEmptyPath, "AT_EMPTY_PATH"},
	}},
	"unlinkflags": {bits: []flagBit{{atRemovedir, "AT_REMOVEDIR"}}},
	"pollev":      {bits: []flagBit{{pollIN, "POLLIN"}, {pollPRI, "POLLPRI"}, {pollOUT, "POLLOUT"}, {pollRDN, "POLLRDNORM"}, {pollRDH, "POLLRDHUP"}}},
	"saflags": {bits: []flagBit{
		{saRestorer, "SA_RESTORER"}, {saOnStack, "SA_ONSTACK"}, {saRestart, "SA_RESTART"}, {saNoDefer, "SA_NODEFER"},
		{saResetHand, "SA_RESETHAND"}, {saSigInfo, "SA_SIGINFO"}, {saNoCldStop, "SA_NOCLDSTOP"}, {saNoCldWait, "SA_NOCLDWAIT"},
	}},
	"whence":   enum("SEEK_", "SET CUR END DATA HOLE"),
	"sighow":   enum("SIG_", "BLOCK UNBLOCK SETMASK"),
	"clock":    enum("CLOCK_", "REALTIME MONOTONIC PROCESS_CPUTIME_ID THREAD_CPUTIME_ID MONOTONIC_RAW REALTIME_COARSE MONOTONIC_COARSE BOOTTIME REALTIME_ALARM BOOTTIME_ALARM - TAI"),
	"resource": enum("RLIMIT_", "CPU FSIZE DATA STACK CORE RSS NPROC NOFILE MEMLOCK AS LOCKS SIGPENDING MSGQUEUE NICE RTPRIO RTTIME"),
	"advice":   enum("MADV_", "NORMAL RANDOM SEQUENTIAL WILLNEED DONTNEED - - - FREE REMOVE DONTFORK DOFORK MERGEABLE UNMERGEABLE HUGEPAGE NOHUGEPAGE DONTDUMP DODUMP WIPEONFORK KEEPONFORK COLD PAGEOUT POPULATE_READ POPULATE_WRITE"),
	"epollop":  enum("EPOLL_CTL_", "- ADD DEL MOD"),
	"archcode": {mask: allBits, values: map[uint64]string{archSetGS: "ARCH_SET_GS", archSetFS: "ARCH_SET_FS", archGetFS: "ARCH_GET_FS", archGetGS: "ARCH_GET_GS", 0x3001: "0x3001 /* ARCH_??? */"}},
	"fcntl": {mask: allBits, values: map[uint64]string{
		fDupFD: "F_DUPFD", fGetFD: "F_GETFD", fSetFD: "F_SETFD", fGetFL: "F_GETFL", fSetFL: "F_SETFL", fGetLk: "F_GETLK", fSetLk: "F_SETLK", fSetLkW: "F_SETLKW",
		fSetOwn: "F_SETOWN", fGetOwn: "F_GETOWN", fDupFDCloexec: "F_DUPFD_CLOEXEC", fSetPipeSz: "F_SETPIPE_SZ", fGetPipeSz: "F_GETPIPE_SZ",
		fOfdGetLk: "F_OFD_GETLK", fOfdSetLk: "F_OFD_SETLK", fOfdSetLkW: "F_OFD_SETLKW", fAddSeals: "F_ADD_SEALS", fGetSeals: "F_GET_SEALS",
	}},
	"ioctl": {mask: allBits, values: map[uint64]string{
		tcGets: "TCGETS", tcSets: "TCSETS", tcSetsW: "TCSETSW", tcSetsF: "TCSETSF", tiocGWinsz: "TIOCGWINSZ", tiocSWinsz: "TIOCSWINSZ", tiocGPgrp: "TIOCGPGRP",
		tiocSPgrp: "TIOCSPGRP", fioNRead: "FIONREAD", fioNbio: "FIONBIO", fioClex: "FIOCLEX", fioNClex: "FIONCLEX", fioAsync: "FIOASYNC", fiClone: "FICLONE",
		tiocSctty: "TIOCSCTTY", tiocNotty: "TIOCNOTTY", tiocGSid: "TIOCGSID", tiocGPtn: "TIOCGPTN", tiocSPtLck: "TIOCSPTLCK", tiocGPtPeer: "TIOCGPTPEER",
	}},
}

// sigNames are the standard signals from 1 on.
var sigNames = strings.Fields("HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS")

// sigName is the name of a signal.
func sigName(sig int) string {
	switch {
	case sig >= 1 && sig <= len(sigNames):
		return "SIG" + sigNames[sig-1]
	case sig == sigRTMIN:
		return "SIGRTMIN"
	case sig > sigRTMIN && sig <= sigMax:
		return fmt.Sprintf("SIGRT_%d", sig-sigRTMIN)
	}
	return fmt.Sprint(sig)
}

// codeName is the name of a si_code.
func codeName(s *sigInfo) string {
	switch s.code {
	case siUser:
		return "SI_USER"
	case siKernel:
		return "SI_KERNEL"
	case siQueue:
		return "SI_QUEUE"
	case siTimer:
		return "SI_TIMER"
	case siTkill:
		return "SI_TKILL"
	}
	names := map[int32]string{
		sigSEGV: "SEGV_ MAPERR ACCERR", sigBUS: "BUS_ ADRALN ADRERR", sigILL: "ILL_ ILLOPC ILLOPN",
		sigFPE: "FPE_ INTDIV INTOVF FLTDIV FLTOVF FLTUND FLTRES FLTINV", sigTRAP: "TRAP_ BRKPT TRACE",
		sigCHLD: "CLD_ EXITED KILLED DUMPED TRAPPED STOPPED CONTINUED",
	}
	list := strings.Fields(names[s.signo])
	if s.code > 0 && int(s.code) < len(list) {
		return list[0] + list[s.code]
	}
	return fmt.Sprint(s.code)
}
