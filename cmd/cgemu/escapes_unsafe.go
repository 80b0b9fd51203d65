//go:build escapes && linux && amd64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// In builds with the tag escapes, which tests make, cgemu has no first wall, or does itself what a guest would do that
// had got out of its own: it makes system calls of the host. CGEMU_ESCAPE says which of the two:
//
//	second      no first wall
//	inside      the calls of escapes are made when the second wall stands
//	control     they are made without any wall
//
// CGEMU_OUTSIDE is a directory with files for them, CGEMU_INSIDE another that the policy allows to be changed, or "".
func init() {
	switch os.Getenv("CGEMU_ESCAPE") {
	case "second":
		firstWall = false
	case "inside":
		insideWalls = tryAll
	case "control":
		tryAll()
	}
}

// An escape is an attempt to get out: try returns nil if it could be done. Each has a file of its own, out, to do it
// to: with the text "text".
type escape struct {
	name string
	// kind is 'r' for what reads, 'w' for what changes, 'p' for what concerns other processes, 'n' for the network.
	kind byte
	try  func(out string) error
}

// tryAll makes those of the kinds in CGEMU_KINDS and prints what became of each.
func tryAll() {
	for i, a := range escapes {
		if !strings.Contains(os.Getenv("CGEMU_KINDS"), string(a.kind)) {
			continue
		}
		outcome := "ESCAPED"
		if err := a.try(fmt.Sprintf("%s/f%d", os.Getenv("CGEMU_OUTSIDE"), i)); err != nil {
			outcome = "held: " + err.Error()
		}
		fmt.Printf("%c %s: %s\n", a.kind, a.name, outcome)
	}
	os.Exit(0)
}

// inside is a name in the directory that may be changed, or beside out if there is none.
func inside(out, name string) string {
	if dir := os.Getenv("CGEMU_INSIDE"); dir != "" {
		return filepath.Join(dir, name)
	}
	return out + name
}

func opens(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// open is an attempt to open the file.
func open(flags int) func(string) error { return func(out string) error { return opens(out, flags) } }

// withFD is an attempt that begins with a descriptor of the file.
func withFD(flags int, try func(fd int, out string) error) func(string) error {
	return func(out string) error {
		fd, err := unix.Open(out, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return try(fd, out)
	}
}

func raw(nr uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0, 0, 0, 0)
	if _, _, e := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5]); e != 0 {
		return e
	}
	return nil
}

func text(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

var times = []unix.Timespec{{Sec: 1}, {Sec: 1}}

var parent = os.Getppid()

// forks makes a process with clone(2), which ends at once.
func forks(flags uintptr) error {
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

func makes(typ uint32, dev int) func(string) error {
	return func(out string) error { return unix.Mknod(out+"-new", typ|0o600, dev) }
}

func socket(domain, typ int, use func(fd int) error) func(string) error {
	return func(string) error {
		fd, err := unix.Socket(domain, typ|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return use(fd)
	}
}

func port() int {
	n := 0
	fmt.Sscan(os.Getenv("CGEMU_PORT"), &n)
	return n
}

// inherited is a descriptor of the directory of the files, which cgemu was started with. It is none that cgemu itself
// comes to.
const inherited = 60

var escapes = []escape{
	{"open to read", 'r', open(unix.O_RDONLY)},
	{"open with openat2", 'r', func(out string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, out, &unix.OpenHow{})
		unix.Close(fd)
		return err
	}},
	{"open over /proc/self/root", 'r', func(out string) error { return opens("/proc/self/root"+out, 0) }},
	{"open over /proc/self/cwd", 'r', func(out string) error { return opens("/proc/self/cwd/../../../../../../.."+out, 0) }},
	{"open over the parent's root", 'r', func(out string) error { return opens(fmt.Sprintf("/proc/%d/root%s", parent, out), 0) }},
	{"open again what is open as a path", 'r', withFD(unix.O_PATH, func(fd int, _ string) error {
		return opens(fmt.Sprintf("/proc/self/fd/%d", fd), 0)
	})},
	{"open beside a directory's path", 'r', func(out string) error {
		dir, err := unix.Open(filepath.Dir(out), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		fd, err := unix.Openat(dir, filepath.Base(out), unix.O_CLOEXEC, 0)
		unix.Close(fd)
		return err
	}},
	{"change directory, then open", 'r', func(out string) error {
		if err := unix.Chdir(filepath.Dir(out)); err != nil {
			return err
		}
		return opens(filepath.Base(out), 0)
	}},
	{"list the directory", 'r', func(out string) error { return opens(filepath.Dir(out), unix.O_DIRECTORY) }},
	{"list what was inherited", 'r', func(string) error { return opens(fmt.Sprintf("/proc/self/fd/%d", inherited), unix.O_DIRECTORY) }},
	{"open beside what was inherited", 'r', func(out string) error {
		fd, err := unix.Openat(inherited, filepath.Base(out), unix.O_CLOEXEC, 0)
		unix.Close(fd)
		return err
	}},
	{"list /", 'r', func(string) error { return opens("/", unix.O_DIRECTORY) }},
	{"read /etc/passwd", 'r', func(string) error { return opens("/etc/passwd", 0) }},
	{"read the parent's environment", 'r', func(string) error { return opens(fmt.Sprintf("/proc/%d/environ", parent), 0) }},
	{"read the parent's mappings", 'r', func(string) error { return opens(fmt.Sprintf("/proc/%d/maps", parent), 0) }},
	{"read the kernel's options", 'r', func(string) error { return opens("/proc/cmdline", 0) }},
	{"link to where may be read, and read", 'r', func(out string) error {
		if err := unix.Link(out, inside(out, "-link")); err != nil {
			return err
		}
		return opens(inside(out, "-link"), 0)
	}},
	{"move to where may be read, and read", 'r', func(out string) error {
		if err := unix.Rename(out, inside(out, "-moved")); err != nil {
			return err
		}
		return opens(inside(out, "-moved"), 0)
	}},
	{"a link that leads there", 'r', func(out string) error {
		name := inside(out, "-symlink")
		if err := unix.Symlink(out, name); err != nil {
			return err
		}
		return opens(name, 0)
	}},

	{"open to write", 'w', open(unix.O_WRONLY)},
	{"open to read and write", 'w', open(unix.O_RDWR)},
	{"open to append", 'w', open(unix.O_WRONLY | unix.O_APPEND)},
	{"open to truncate", 'w', open(unix.O_WRONLY | unix.O_TRUNC)},
	{"open to read and truncate", 'w', open(unix.O_RDONLY | unix.O_TRUNC)},
	{"open with open(2)", 'w', func(out string) error { return raw(unix.SYS_OPEN, text(out), unix.O_WRONLY) }},
	{"creat", 'w', func(out string) error { return raw(unix.SYS_CREAT, text(out), 0o600) }},
	{"make a file", 'w', func(out string) error { return opens(out+"-new", unix.O_CREAT|unix.O_WRONLY) }},
	{"make a file to read", 'w', func(out string) error { return opens(out+"-new", unix.O_CREAT) }},
	{"make a file without a name", 'w', func(out string) error { return opens(filepath.Dir(out), unix.O_TMPFILE|unix.O_RDWR) }},
	{"open again to write", 'w', withFD(unix.O_PATH, func(fd int, _ string) error {
		return opens(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR)
	})},
	{"truncate", 'w', func(out string) error { return unix.Truncate(out, 0) }},
	{"unlink", 'w', func(out string) error { return unix.Unlink(out) }},
	{"mkdir", 'w', func(out string) error { return unix.Mkdir(out+"-new", 0o700) }},
	{"rmdir", 'w', func(out string) error { return unix.Rmdir(filepath.Dir(out) + "/dir") }},
	{"symlink", 'w', func(out string) error { return unix.Symlink("x", out+"-new") }},
	{"mknod a file", 'w', makes(unix.S_IFREG, 0)},
	{"mknod a FIFO", 'w', makes(unix.S_IFIFO, 0)},
	{"mknod a socket", 'w', makes(unix.S_IFSOCK, 0)},
	{"mknod a device", 'w', makes(unix.S_IFCHR, 1<<8|3)},
	{"mknod a disk", 'w', makes(unix.S_IFBLK, 7<<8)},
	{"mknod a device where files may be made", 'w', func(out string) error {
		return unix.Mknod(inside(out, "-disk"), unix.S_IFBLK|0o600, 7<<8)
	}},
	{"change what was inherited", 'w', func(string) error { return unix.Mkdirat(inherited, "new", 0o700) }},
	{"link", 'w', func(out string) error { return unix.Link(out, out+"-new") }},
	{"link what is open as a path", 'w', withFD(unix.O_PATH, func(fd int, out string) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, out+"-new", unix.AT_SYMLINK_FOLLOW)
	})},
	{"link a memfd", 'w', func(out string) error {
		fd, err := unix.MemfdCreate("m", 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, out+"-new", unix.AT_SYMLINK_FOLLOW)
	}},
	{"rename", 'w', func(out string) error { return unix.Rename(out, out+"-new") }},
	{"rename with flags", 'w', func(out string) error {
		return unix.Renameat2(unix.AT_FDCWD, out, unix.AT_FDCWD, out+"-new", unix.RENAME_NOREPLACE)
	}},
	{"exchange", 'w', func(out string) error {
		return unix.Renameat2(unix.AT_FDCWD, out, unix.AT_FDCWD, filepath.Dir(out)+"/fifo", unix.RENAME_EXCHANGE)
	}},
	{"chmod", 'w', func(out string) error { return raw(unix.SYS_CHMOD, text(out), 0o777) }},
	{"fchmodat", 'w', func(out string) error { return unix.Fchmodat(unix.AT_FDCWD, out, 0o777, 0) }},
	{"fchmodat2", 'w', func(out string) error { return unix.Fchmodat(unix.AT_FDCWD, out, 0o777, unix.AT_SYMLINK_NOFOLLOW) }},
	{"fchmod", 'w', withFD(unix.O_RDONLY, func(fd int, _ string) error { return unix.Fchmod(fd, 0o777) })},
	{"chown", 'w', func(out string) error { return unix.Chown(out, os.Getuid(), os.Getgid()) }},
	{"lchown", 'w', func(out string) error { return unix.Lchown(out, os.Getuid(), os.Getgid()) }},
	{"fchown", 'w', withFD(unix.O_RDONLY, func(fd int, _ string) error { return unix.Fchown(fd, os.Getuid(), os.Getgid()) })},
	{"utimensat", 'w', func(out string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, out, times, 0) }},
	{"utimes", 'w', func(out string) error { return raw(unix.SYS_UTIMES, text(out), 0) }},
	{"futimens", 'w', withFD(unix.O_RDONLY, func(fd int, _ string) error {
		return raw(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times[0])), 0)
	})},
	{"setxattr", 'w', func(out string) error { return unix.Setxattr(out, "user.a", []byte("b"), 0) }},
	{"lsetxattr", 'w', func(out string) error { return unix.Lsetxattr(out, "user.a", []byte("b"), 0) }},
	{"fsetxattr", 'w', withFD(unix.O_RDONLY, func(fd int, _ string) error { return unix.Fsetxattr(fd, "user.a", []byte("b"), 0) })},
	{"flags of the inode", 'w', withFD(unix.O_RDONLY, func(fd int, _ string) error {
		flags := uint32(0x40) // FS_NODUMP_FL
		return raw(unix.SYS_IOCTL, uintptr(fd), unix.FS_IOC_SETFLAGS, uintptr(unsafe.Pointer(&flags)))
	})},
	{"ftruncate what is open to read", 'w', withFD(unix.O_RDONLY, func(fd int, _ string) error { return unix.Ftruncate(fd, 0) })},
	{"a lease", 'w', withFD(unix.O_RDONLY, func(fd int, _ string) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		return err
	})},
	{"write to a FIFO", 'w', func(out string) error { return opens(filepath.Dir(out)+"/fifo", unix.O_RDWR) }},
	{"write to a device", 'w', func(string) error { return opens("/dev/zero", unix.O_WRONLY) }},
	{"write to the kernel's log", 'w', func(string) error { return opens("/dev/kmsg", unix.O_WRONLY) }},
	{"write to a setting", 'w', func(string) error { return opens("/proc/self/oom_score_adj", unix.O_WRONLY) }},
	{"mount", 'p', func(out string) error { return unix.Mount(out, out, "", unix.MS_BIND, "") }},
	{"chroot", 'p', func(out string) error { return raw(unix.SYS_CHROOT, text("/")) }},
	{"unshare", 'p', func(string) error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUTS) }},

	{"fork", 'p', func(string) error { return forks(0) }},
	{"clone3", 'p', func(string) error { return raw(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&[16]uint64{})), 64) }},
	{"execve", 'p', func(string) error { return raw(unix.SYS_EXECVE, text("/none"), 0, 0) }},
	{"execveat", 'p', func(string) error { return raw(unix.SYS_EXECVEAT, ^uintptr(99), text("/none"), 0, 0, 0) }},
	{"kill the parent", 'p', func(string) error { return unix.Kill(parent, 0) }},
	{"kill the group", 'p', func(string) error { return unix.Kill(0, 0) }},
	{"tgkill the parent", 'p', func(string) error { return unix.Tgkill(parent, parent, 0) }},
	{"queue a signal", 'p', func(string) error { return raw(unix.SYS_RT_SIGQUEUEINFO, uintptr(parent), 0, 0) }},
	{"pidfd of the parent", 'p', func(string) error {
		fd, err := unix.PidfdOpen(parent, 0)
		unix.Close(fd)
		return err
	}},
	{"ptrace", 'p', func(string) error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(parent)) }},
	{"read the parent's memory", 'p', func(string) error {
		return raw(unix.SYS_PROCESS_VM_READV, uintptr(parent), 0, 0, 0, 0, 0)
	}},
	{"the parent's limits", 'p', func(string) error { return unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{}) }},
	{"own limits", 'p', func(string) error {
		return unix.Prlimit(0, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}},
	{"signals by F_SETOWN", 'p', func(string) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, parent)
		return err
	}},
	{"shared memory of System V", 'p', func(string) error {
		_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		return err
	}},
	{"a message queue", 'p', func(string) error { return raw(unix.SYS_MQ_UNLINK, text("none")) }},
	{"io_uring", 'p', func(string) error { return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&[64]uint64{}))) }},
	{"bpf", 'p', func(string) error { return raw(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&[16]uint64{1, 1 << 32})), 1) }},
	{"perf events", 'p', func(string) error { return raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, ^uintptr(0), ^uintptr(0), 0) }},
	{"keys", 'p', func(string) error { return raw(unix.SYS_KEYCTL, 0, 0, 0) }},
	{"userfaultfd", 'p', func(string) error { return raw(unix.SYS_USERFAULTFD, 1) }},
	{"prctl", 'p', func(string) error { return unix.Prctl(unix.PR_SET_NAME, text("x"), 0, 0, 0) }},

	{"connect to TCP", 'n', socket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port(), Addr: [4]byte{127, 0, 0, 1}})
	})},
	{"listen", 'n', socket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
		return unix.Listen(fd, 1)
	})},
	{"listen without a name", 'n', socket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error { return unix.Listen(fd, 1) })},
	{"send by UDP", 'n', socket(unix.AF_INET, unix.SOCK_DGRAM, func(fd int) error {
		return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrInet4{Port: port(), Addr: [4]byte{127, 0, 0, 1}})
	})},
	{"a socket of IPv6", 'n', socket(unix.AF_INET6, unix.SOCK_STREAM, func(int) error { return nil })},
	{"a raw socket", 'n', socket(unix.AF_INET, unix.SOCK_RAW, func(int) error { return nil })},
	{"netlink", 'n', socket(unix.AF_NETLINK, unix.SOCK_RAW, func(int) error { return nil })},
	{"connect to a socket file", 'n', socket(unix.AF_UNIX, unix.SOCK_STREAM, func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrUnix{Name: os.Getenv("CGEMU_OUTSIDE") + "/sock"})
	})},
	{"connect to an abstract socket", 'n', socket(unix.AF_UNIX, unix.SOCK_STREAM, func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + os.Getenv("CGEMU_OUTSIDE")})
	})},
	{"a pair of sockets", 'n', func(string) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	}},
}
