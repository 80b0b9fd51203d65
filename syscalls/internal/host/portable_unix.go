//go:build unix && (!linux || portable)

package host

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// FileLimit is how many descriptors we may have.
func FileLimit() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return uint64(l.Cur) // a signed number on some hosts
}

// symlink makes a link at s.
func (s spot) symlink(target string) error { return s.top.root.Symlink(target, s.rel) }

// isLinkFile reports whether info may be that of a text in place of a link.
func isLinkFile(fs.FileInfo) bool { return false }

// nonblocking is the flag with which a FIFO is opened without waiting for somebody at its other end.
const nonblocking = unix.O_NONBLOCK

// hostPath and guestName: names are the guest's own, but for letters that exact has moved.
func hostPath(p string) string { return p }

func guestName(name string) string {
	if foldsCase {
		return linuxName(name)
	}
	return name
}

// foldsCase says that files whose names differ in case only are one, as macOS has it unless a disk was made otherwise.
const foldsCase = runtime.GOOS == "darwin"

// trueName is the name of the file at s as the directory has it, or s' own if that has the same file under it in
// another normalization.
func trueName(s spot) string {
	name := path.Base(s.rel)
	d, err := s.top.root.Open(path.Dir(s.rel))
	if err != nil {
		return name
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil || slices.Contains(names, name) {
		return name
	}
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return name
}

// HasRoot says that the host's files are at the places where guests look for them.
const HasRoot = runtime.GOOS == "linux"

// GuestPath is the guest's name of an absolute path.
func GuestPath(p string) string { return p }

// identify adds to st what package os has no names for.
func identify(st *Stat, info fs.FileInfo, _ spot, _ *os.File) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		st.Dev, st.Ino, st.Nlink, st.UID, st.GID = uint64(s.Dev), uint64(s.Ino), uint64(s.Nlink), s.Uid, s.Gid
		st.Rdev = linux.Makedev(deviceParts(uint64(s.Rdev)))
		st.Times = timesOf(s)
	}
}

func timeOf(t syscall.Timespec) Time { return Time{int64(t.Sec), int32(t.Nsec), true} }

// statOfStream describes a file of which package os has failed to: it fails.
func statOfStream(_ *os.File, err error) (Stat, linux.Errno) { return Stat{}, ErrnoOf(err) }

// OpenTerminal opens the terminal that we run on.
func OpenTerminal(flags int) (FD, linux.Errno) {
	return Open(Place{Dir: NoFD, Path: "/dev/tty"}, flags, 0, 0)
}

// setMode changes the permissions of the file at s. The host remembers what is renamed or removed.
func setMode(s spot, mode uint32) error { return s.top.root.Chmod(s.rel, fileMode(mode, 0)) }

// setOpenMode changes the permissions of an open file.
func setOpenMode(o *file, mode uint32) error { return o.f.Chmod(fileMode(mode, 0)) }

func removed(spot) {}

func renamed(_, _ spot) {}

// mkspecial makes a FIFO or a socket file, which package os cannot.
func mkspecial(s spot, kind uint32) error {
	if kind == linux.S_IFIFO {
		return unix.Mkfifo(s.path(), 0o600)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path()})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// control calls do with f's descriptor, which stays as it is.
func control(f *os.File, do func(fd int)) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(func(fd uintptr) { do(int(fd)) })
}

// duplicate is dup(2).
func duplicate(f *os.File) (d *os.File, err error) {
	cerr := control(f, func(fd int) {
		var n int
		if n, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err == nil {
			d = os.NewFile(uintptr(n), f.Name())
		}
	})
	return d, errors.Join(err, cerr)
}

// transfer reads or writes where f is, and does not wait for a FIFO as package os does.
func transfer(f *os.File, b []byte, write bool) (n int, err error) {
	do := unix.Read
	if write {
		do = unix.Write
	}
	cerr := control(f, func(fd int) {
		for {
			if n, err = do(fd, b); err != unix.EINTR {
				return
			}
		}
	})
	return max(n, 0), errors.Join(err, cerr)
}

// accessOf is the access mode with which f was opened, with O_APPEND if it was.
func accessOf(f *os.File) (mode int) {
	_ = control(f, func(fd int) {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return
		}
		mode = flags & unix.O_ACCMODE
		if flags&unix.O_APPEND != 0 {
			mode |= linux.O_APPEND
		}
	})
	return mode
}

// pollEvents pairs events of Linux with those of this host that poll(2) is asked for. The others have numbers of their
// own on each.
var pollEvents = []struct {
	linux uint32
	host  int16
}{
	{linux.POLLIN | linux.POLLRDNORM, unix.POLLIN}, {linux.POLLPRI, unix.POLLPRI}, {linux.POLLOUT | linux.POLLWRNORM, unix.POLLOUT},
}

// PipeRoom is how much a pipe takes at once that poll(2) says can be written: PIPE_BUF of macOS and FreeBSD.
const PipeRoom = 512

// ready asks poll(2), and select(2) where that does not know the file, as macOS's does not know terminals.
func ready(f *os.File, events uint32) (now uint32) {
	_ = control(f, func(fd int) {
		list := []unix.PollFd{{Fd: int32(fd)}}
		for _, p := range pollEvents {
			if events&p.linux != 0 {
				list[0].Events |= p.host
			}
		}
		_, _ = unix.Poll(list, 0)
		got := list[0].Revents
		if got&unix.POLLNVAL != 0 {
			now = selected(fd, events)
			return
		}
		for _, p := range pollEvents {
			if got&p.host != 0 {
				now |= events & p.linux
			}
		}
		now |= uint32(got & (unix.POLLERR | unix.POLLHUP)) // which have the same numbers everywhere
	})
	return now
}

// selected asks select(2). What has a number beyond its sets is said to be ready.
func selected(fd int, events uint32) uint32 {
	const in, out = linux.POLLIN | linux.POLLRDNORM, linux.POLLOUT | linux.POLLWRNORM
	if fd >= unix.FD_SETSIZE {
		return events & (in | out)
	}
	var r, w unix.FdSet
	r.Set(fd)
	w.Set(fd)
	if _, err := unix.Select(fd+1, &r, &w, nil, &unix.Timeval{}); err != nil {
		return 0
	}
	var now uint32
	if r.IsSet(fd) {
		now |= in
	}
	if w.IsSet(fd) {
		now |= out
	}
	return now & events
}

// IsTerminal reports whether f is one.
func (f FD) IsTerminal() (yes bool) {
	h, e := f.os()
	if e != 0 {
		return false
	}
	_ = control(h, func(fd int) {
		_, err := unix.IoctlGetTermios(fd, getTermios)
		yes = err == nil
	})
	return yes
}

// Ioctl does the terminal requests of package files, whose argument is a structure of len(b) bytes.
func (f FD) Ioctl(req uint32, b []byte) linux.Errno {
	h, e := f.os()
	if e != 0 {
		return e
	}
	if err := control(h, func(fd int) { e = terminal(fd, req, b) }); err != nil {
		return ErrnoOf(err)
	}
	return e
}

// errnoOf translates the host's number of an error; 0 for what has none that Linux knows.
func errnoOf(err error) linux.Errno {
	var e syscall.Errno
	if !errors.As(err, &e) {
		return 0
	}
	if known, ok := errnos[e]; ok {
		return known
	}
	return ownErrnos[e]
}

// errnos are Linux's numbers of errors of this host. Those that only this one has, or has twice, are in ownErrnos.
var errnos = map[syscall.Errno]linux.Errno{
	unix.EPERM: linux.EPERM, unix.ENOENT: linux.ENOENT, unix.ESRCH: linux.ESRCH, unix.EINTR: linux.EINTR, unix.EIO: linux.EIO,
	unix.ENXIO: linux.ENXIO, unix.E2BIG: linux.E2BIG, unix.ENOEXEC: linux.ENOEXEC, unix.EBADF: linux.EBADF, unix.EAGAIN: linux.EAGAIN,
	unix.ENOMEM: linux.ENOMEM, unix.EACCES: linux.EACCES, unix.EFAULT: linux.EFAULT, unix.ENOTBLK: linux.ENOTBLK, unix.EBUSY: linux.EBUSY,
	unix.EEXIST: linux.EEXIST, unix.EXDEV: linux.EXDEV, unix.ENODEV: linux.ENODEV, unix.ENOTDIR: linux.ENOTDIR, unix.EISDIR: linux.EISDIR,
	unix.EINVAL: linux.EINVAL, unix.ENFILE: linux.ENFILE, unix.EMFILE: linux.EMFILE, unix.ENOTTY: linux.ENOTTY, unix.ETXTBSY: linux.ETXTBSY,
	unix.EFBIG: linux.EFBIG, unix.ENOSPC: linux.ENOSPC, unix.ESPIPE: linux.ESPIPE, unix.EROFS: linux.EROFS, unix.EMLINK: linux.EMLINK,
	unix.EPIPE: linux.EPIPE, unix.EDEADLK: linux.EDEADLK, unix.ENAMETOOLONG: linux.ENAMETOOLONG, unix.ENOLCK: linux.ENOLCK,
	unix.ENOSYS: linux.ENOSYS, unix.ENOTEMPTY: linux.ENOTEMPTY, unix.ELOOP: linux.ELOOP, unix.EOVERFLOW: linux.EOVERFLOW,
	unix.EILSEQ: linux.EILSEQ, unix.EOPNOTSUPP: linux.EOPNOTSUPP, unix.EADDRINUSE: linux.EADDRINUSE, unix.EADDRNOTAVAIL: linux.EADDRNOTAVAIL,
	unix.ENETDOWN: linux.ENETDOWN, unix.ENETUNREACH: linux.ENETUNREACH, unix.ECONNABORTED: linux.ECONNABORTED,
	unix.ECONNRESET: linux.ECONNRESET, unix.ENOBUFS: linux.ENOBUFS, unix.EISCONN: linux.EISCONN, unix.ENOTCONN: linux.ENOTCONN,
	unix.ETIMEDOUT: linux.ETIMEDOUT, unix.ECONNREFUSED: linux.ECONNREFUSED, unix.EHOSTDOWN: linux.EHOSTDOWN,
	unix.EHOSTUNREACH: linux.EHOSTUNREACH, unix.EALREADY: linux.EALREADY, unix.EINPROGRESS: linux.EINPROGRESS, unix.ESTALE: linux.ESTALE,
	unix.EDQUOT: linux.EDQUOT, unix.EMSGSIZE: linux.EMSGSIZE, unix.EAFNOSUPPORT: linux.EAFNOSUPPORT, unix.ENOTSOCK: linux.ENOTSOCK,
	unix.EDESTADDRREQ: linux.EDESTADDRREQ, unix.ESHUTDOWN: linux.ESHUTDOWN, unix.ENETRESET: linux.ENETRESET, unix.ENOPROTOOPT: linux.ENOPROTOOPT,
	unix.EPROTOTYPE: linux.EPROTOTYPE, unix.EPROTONOSUPPORT: linux.EPROTONOSUPPORT, unix.ERANGE: linux.ERANGE,
}
