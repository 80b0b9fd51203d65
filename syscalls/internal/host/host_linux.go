//go:build !portable

package host

import (
	"bytes"
	"cmp"
	"os"
	"path"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An FD is an open file of the host.
type FD int

// NoFD is no file.
const NoFD FD = -1

// Direct says that paths of the guest may be paths of this host, and those of open files be opened again.
const Direct = true

// HasRoot says that the host's files are at the places where guests look for them.
const HasRoot = true

// GuestPath is the guest's name of an absolute path.
func GuestPath(p string) string { return p }

// Again is the place of f itself, whatever its name leads to.
func (f FD) Again() Place { return Place{Dir: NoFD, Path: "/proc/self/fd/" + strconv.Itoa(int(f))} }

// ErrnoOf translates a host error. Linux has the same numbers on all hosts we can have.
func ErrnoOf(err error) linux.Errno {
	if err == nil {
		return 0
	}
	if e, ok := err.(unix.Errno); ok {
		return linux.Errno(e)
	}
	return linux.EIO
}

// retry calls f until it is not interrupted: our own signals are none of the guest's.
func retry(f func() error) linux.Errno {
	for {
		if err := f(); err != unix.EINTR {
			return ErrnoOf(err)
		}
	}
}

// openFlags pairs the guest's flags with the host's: they differ between architectures.
var openFlags = []struct{ guest, host int }{
	{linux.O_CREAT, unix.O_CREAT}, {linux.O_EXCL, unix.O_EXCL}, {linux.O_NOCTTY, unix.O_NOCTTY}, {linux.O_TRUNC, unix.O_TRUNC},
	{linux.O_APPEND, unix.O_APPEND}, {linux.O_NONBLOCK, unix.O_NONBLOCK}, {linux.O_DIRECTORY, unix.O_DIRECTORY},
	{linux.O_NOFOLLOW, unix.O_NOFOLLOW}, {linux.O_PATH, unix.O_PATH}, {linux.O_DSYNC, unix.O_DSYNC},
	{linux.O_TMPFILE &^ linux.O_DIRECTORY, unix.O_TMPFILE &^ unix.O_DIRECTORY},
}

func openFlagsOf(flags int) int {
	h := flags&linux.O_ACCMODE | unix.O_CLOEXEC | unix.O_LARGEFILE
	for _, f := range openFlags {
		if flags&f.guest == f.guest {
			h |= f.host
		}
	}
	return h
}

// FD is the directory that p's path begins at. Our own working directory is none that the guest has to do with.
func (p Place) FD() int {
	switch {
	case p.Dir != NoFD:
		return int(p.Dir)
	case !path.IsAbs(p.Path):
		panic("BUG: no directory for the path " + p.Path)
	}
	return unix.AT_FDCWD
}

// umasked is held while the umask is not ours: threads that have no own one (OwnUmask) share it.
var umasked sync.Mutex

// withUmask makes umask that of this thread until restore is called.
func withUmask(umask uint32) (restore func()) {
	umasked.Lock()
	old := unix.Umask(int(umask))
	return func() {
		unix.Umask(old)
		umasked.Unlock()
	}
}

// OwnUmask gives the calling thread, to which its goroutine is locked, an umask and a working directory that no other
// thread has, where the host allows it.
func OwnUmask() { _ = unix.Unshare(unix.CLONE_FS) }

// Open opens the file at p, with the guest's flags; one that it makes has the mode, less the umask.
func Open(p Place, flags int, mode, umask uint32) (FD, linux.Errno) {
	if flags&linux.O_CREAT != 0 || flags&linux.O_TMPFILE == linux.O_TMPFILE {
		defer withUmask(umask)()
	}
	if p.Final {
		flags |= linux.O_NOFOLLOW
		if q := p.Existing(); q != p && flags&linux.O_CREAT == 0 {
			p, flags = q, flags|linux.O_DIRECTORY
		}
	}
	var fd int
	e := retry(func() (err error) {
		fd, err = unix.Openat(p.FD(), p.Path, openFlagsOf(flags), mode)
		return err
	})
	if e != 0 {
		return NoFD, e
	}
	return FD(fd), 0
}

// MayWrite reports whether f is open for writing.
func (f FD) MayWrite() bool {
	flags, err := unix.FcntlInt(uintptr(f), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}

// SetBlocking undoes O_NONBLOCK.
func (f FD) SetBlocking() { _ = unix.SetNonblock(int(f), false) }

// Close is close(2).
func (f FD) Close() linux.Errno { return ErrnoOf(unix.Close(int(f))) }

// Dup returns another descriptor of the same open file.
func (f FD) Dup() (FD, linux.Errno) {
	fd, err := unix.FcntlInt(uintptr(f), unix.F_DUPFD_CLOEXEC, 3)
	return FD(fd), ErrnoOf(err)
}

// become makes f a descriptor of the file that o is one of.
func (f FD) become(o FD) linux.Errno {
	return ErrnoOf(unix.Dup3(int(o), int(f), unix.O_CLOEXEC))
}

// OSFile returns a new file for the same open file, for the caller to close.
func (f FD) OSFile(name string) (*os.File, linux.Errno) {
	d, e := f.Dup()
	if e != 0 {
		return nil, e
	}
	return os.NewFile(uintptr(d), name), 0
}

// FromFile returns a descriptor of f that lives on when f is closed.
func FromFile(f *os.File) (FD, linux.Errno) { return FD(f.Fd()).Dup() }

// OwnPipe opens a pipe or FIFO anew for writing that does not wait, as O_NONBLOCK of a descriptor would be that of all
// who have it. It fails for other files, and where there is no /proc.
func (f FD) OwnPipe() (FD, linux.Errno) {
	if st, e := f.Stat(); e != 0 || st.Mode&linux.S_IFMT != linux.S_IFIFO {
		return NoFD, linux.ENXIO
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(f)), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return NoFD, ErrnoOf(err)
	}
	return FD(fd), 0
}

// Readv reads at off, or at the file position if off is negative.
func (f FD) Readv(bufs [][]byte, off int64) (n int, e linux.Errno) {
	e = retry(func() (err error) {
		switch {
		case len(bufs) == 1 && off < 0:
			n, err = unix.Read(int(f), bufs[0])
		case len(bufs) == 1:
			n, err = unix.Pread(int(f), bufs[0], off)
		case off < 0:
			n, err = unix.Readv(int(f), bufs)
		default:
			n, err = unix.Preadv(int(f), bufs, off)
		}
		return err
	})
	return max(n, 0), e
}

// Writev writes at off, or at the file position if off is negative.
func (f FD) Writev(bufs [][]byte, off int64) (n int, e linux.Errno) {
	e = retry(func() (err error) {
		switch {
		case len(bufs) == 1 && off < 0:
			n, err = unix.Write(int(f), bufs[0])
		case len(bufs) == 1:
			n, err = unix.Pwrite(int(f), bufs[0], off)
		case off < 0:
			n, err = unix.Writev(int(f), bufs)
		default:
			n, err = unix.Pwritev(int(f), bufs, off)
		}
		return err
	})
	return max(n, 0), e
}

// Lseek is lseek(2).
func (f FD) Lseek(off int64, whence int) (int64, linux.Errno) {
	n, err := unix.Seek(int(f), off, whence)
	return n, ErrnoOf(err)
}

func statOf(s *unix.Stat_t) Stat {
	return Stat{
		Dev: uint64(s.Dev), Ino: s.Ino, Mode: s.Mode, Nlink: uint64(s.Nlink), UID: s.Uid, GID: s.Gid,
		Rdev: uint64(s.Rdev), Size: s.Size, Sparse: s.Mode&unix.S_IFMT == unix.S_IFREG && s.Blocks*512 < s.Size, Times: Times{timeOf(s.Atim), timeOf(s.Mtim), timeOf(s.Ctim)},
	}
}

// Stat is fstat(2).
func (f FD) Stat() (Stat, linux.Errno) {
	var s unix.Stat_t
	err := unix.Fstat(int(f), &s)
	return statOf(&s), ErrnoOf(err)
}

// flags are those of a call that follows a link if follow is set.
func (p Place) flags(follow bool) int {
	if follow && !p.Final {
		return 0
	}
	return unix.AT_SYMLINK_NOFOLLOW
}

// StatAt describes the file at p; follow says whether a link at its end is followed, here and below.
func StatAt(p Place, follow bool) (Stat, linux.Errno) {
	var s unix.Stat_t
	err := unix.Fstatat(p.FD(), p.Existing().Path, &s, p.flags(follow))
	return statOf(&s), ErrnoOf(err)
}

// OnPseudoFS reports whether f lies on procfs or sysfs, and its path there.
func (f FD) OnPseudoFS() (string, bool) {
	var s unix.Statfs_t
	if unix.Fstatfs(int(f), &s) != nil || s.Type != unix.PROC_SUPER_MAGIC && s.Type != unix.SYSFS_MAGIC {
		return "", false
	}
	return f.Path(), true
}

// OnTmpfs reports whether f lies on a tmpfs.
func (f FD) OnTmpfs() bool {
	var s unix.Statfs_t
	return unix.Fstatfs(int(f), &s) == nil && s.Type == unix.TMPFS_MAGIC
}

// Path returns the host's canonical path of f.
func (f FD) Path() string {
	s, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f)))
	return s
}

// IsTerminal reports whether f is one.
func (f FD) IsTerminal() bool {
	_, err := unix.IoctlGetTermios(int(f), unix.TCGETS)
	return err == nil
}

// ReadDir returns all entries but "." and "..", in the host's order.
func (f FD) ReadDir() ([]Dirent, linux.Errno) {
	if _, e := f.Lseek(0, linux.SEEK_SET); e != 0 {
		return nil, e
	}
	var out []Dirent
	buf := make([]byte, 64<<10)
	for {
		var n int
		if e := retry(func() (err error) { n, err = unix.Getdents(int(f), buf); return err }); e != 0 {
			return nil, e
		}
		if n <= 0 {
			return out, 0
		}
		// struct linux_dirent64: ino, off, reclen (16 bits), type (8), name.
		for b := buf[:n]; len(b) > 19; b = b[linux.Uint16(b[16:]):] {
			name := b[19:linux.Uint16(b[16:])]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if s := string(name); s != "." && s != ".." {
				out = append(out, Dirent{Name: s, Ino: linux.Uint64(b), Type: b[18]})
			}
		}
	}
}

// Readlink is what the link at p leads to.
func Readlink(p Place) (string, linux.Errno) {
	buf := make([]byte, linux.PATH_MAX)
	n, err := unix.Readlinkat(p.FD(), p.Existing().Path, buf)
	if err != nil {
		return "", ErrnoOf(err)
	}
	return string(buf[:n]), 0
}

// Mkdir makes a directory with the mode, less the umask.
func Mkdir(p Place, mode, umask uint32) linux.Errno {
	defer withUmask(umask)()
	return ErrnoOf(unix.Mkdirat(p.FD(), p.Path, mode))
}

// Mknod makes a FIFO, a socket file or an empty file, by the type in mode.
func Mknod(p Place, mode, umask uint32) linux.Errno {
	defer withUmask(umask)()
	return ErrnoOf(unix.Mknodat(p.FD(), p.Path, mode, 0))
}

// Unlink removes the name p, which is a directory's if dir is set.
func Unlink(p Place, dir bool) linux.Errno {
	flags := 0
	if dir {
		flags = unix.AT_REMOVEDIR
	}
	return ErrnoOf(unix.Unlinkat(p.FD(), p.Path, flags))
}

// Rename is renameat2(2).
func Rename(from, to Place, flags uint32) linux.Errno {
	if flags == 0 {
		return ErrnoOf(unix.Renameat(from.FD(), from.Path, to.FD(), to.Path))
	}
	return ErrnoOf(unix.Renameat2(from.FD(), from.Path, to.FD(), to.Path, uint(flags)))
}

// Link gives the file at from another name.
func Link(from, to Place, follow bool) linux.Errno {
	flags := 0
	if follow && !from.Final {
		flags = unix.AT_SYMLINK_FOLLOW
	}
	return ErrnoOf(unix.Linkat(from.FD(), from.Path, to.FD(), to.Path, flags))
}

// Symlink makes p a symbolic link to target.
func Symlink(target string, p Place) linux.Errno {
	return ErrnoOf(unix.Symlinkat(target, p.FD(), p.Path))
}

// ByDescriptor reports whether attributes are changed by descriptors only: internal/sandbox refuses the calls that take
// a path. It is asked when one has failed.
var ByDescriptor = sync.OnceValue(func() bool { return unix.Fchmodat(-1, ".", 0, 0) == unix.EPERM })

// through changes attributes of the file at p over a descriptor. What cannot be opened, or has more to it than its
// content, is left alone.
func (p Place) through(follow bool, change func(fd int) error) linux.Errno {
	st, e := StatAt(p, follow)
	switch kind := st.Mode & linux.S_IFMT; {
	case e != 0:
		return e
	case kind != linux.S_IFREG && kind != linux.S_IFDIR:
		return linux.EPERM
	}
	flags := linux.O_NONBLOCK
	if !follow {
		flags |= linux.O_NOFOLLOW
	}
	fd, e := Open(p, linux.O_RDONLY|flags, 0, 0)
	if e == linux.EACCES {
		fd, e = Open(p, linux.O_WRONLY|flags, 0, 0)
	}
	if e != 0 {
		return linux.EPERM
	}
	defer fd.Close()
	return ErrnoOf(change(int(fd)))
}

// Chmod changes the mode of the file at p.
func Chmod(p Place, mode uint32, follow bool) linux.Errno {
	e := chmodPath(p, mode, follow)
	if e == linux.EPERM && ByDescriptor() {
		e = p.through(follow, func(fd int) error { return unix.Fchmod(fd, mode) })
	}
	return e
}

func chmodPath(p Place, mode uint32, follow bool) linux.Errno {
	if !p.Final || !follow {
		return ErrnoOf(unix.Fchmodat(p.FD(), p.Existing().Path, mode, p.flags(follow)))
	}
	// Not every kernel changes the mode of what is no link without following links.
	fd, e := Open(p, linux.O_PATH, 0, 0)
	if e != 0 {
		return e
	}
	defer fd.Close()
	if st, e := fd.Stat(); e != 0 || st.Mode&linux.S_IFMT == linux.S_IFLNK {
		return cmp.Or(e, linux.ELOOP)
	}
	return chmodPath(fd.Again(), mode, true)
}

// chown gives a file to a user and a group that are not nil.
func chown(p Place, uid, gid *uint32, follow bool) linux.Errno {
	ids := [2]int{-1, -1}
	for i, id := range []*uint32{uid, gid} {
		if id != nil {
			ids[i] = int(*id)
		}
	}
	return ErrnoOf(unix.Fchownat(p.FD(), p.Existing().Path, ids[0], ids[1], p.flags(follow)))
}

// Chmod changes the mode of the file at p.
func (f FD) Chmod(mode uint32) linux.Errno {
	e := ErrnoOf(unix.Fchmod(int(f), mode))
	if e == linux.EBADF { // with O_PATH
		e = Chmod(f.Again(), mode, true)
	}
	return e
}

func timeOf(x unix.Timespec) Time { return Time{x.Sec, int32(x.Nsec), true} }

// timespec is x for utimensat(2), which leaves the file's time as it is if x is not set.
func (x Time) timespec() unix.Timespec {
	if !x.Set {
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	return unix.Timespec{Sec: x.Sec, Nsec: int64(x.Nsec)}
}

// Utimes sets the times of the file at p, those that are set.
func Utimes(p Place, atime, mtime Time, follow bool) linux.Errno {
	times := []unix.Timespec{atime.timespec(), mtime.timespec()}
	e := ErrnoOf(unix.UtimesNanoAt(p.FD(), p.Existing().Path, times, p.flags(follow)))
	if e == linux.EPERM && ByDescriptor() {
		e = p.through(follow, func(fd int) error { return futimens(fd, times) })
	}
	return e
}

// Utimes sets the times of the file at p, those that are set.
func (f FD) Utimes(atime, mtime Time) linux.Errno {
	return Utimes(f.Again(), atime, mtime, true)
}

// Truncate makes the file at p size bytes long.
func Truncate(p Place, size int64) linux.Errno {
	f, e := Open(p, linux.O_WRONLY|linux.O_NONBLOCK, 0, 0)
	if e != 0 {
		return e
	}
	defer f.Close()
	return f.Truncate(size)
}

// Truncate makes the file at p size bytes long.
func (f FD) Truncate(size int64) linux.Errno {
	return retry(func() error { return unix.Ftruncate(int(f), size) })
}

// Allocate is fallocate(2) with a mode of Linux's.
func (f FD) Allocate(mode uint32, off, n int64) linux.Errno {
	return retry(func() error { return unix.Fallocate(int(f), mode, off, n) })
}

// Access reports by what error, if any, the host's user may not do what mode says: R_OK, W_OK and X_OK.
func Access(p Place, mode uint32, follow bool) linux.Errno {
	return ErrnoOf(unix.Faccessat(p.FD(), p.Existing().Path, mode, p.flags(follow)))
}

// Sync writes what the file contains to the disk.
func (f FD) Sync() linux.Errno { return retry(func() error { return unix.Fsync(int(f)) }) }

// Flock is flock(2).
func (f FD) Flock(op int) linux.Errno { return ErrnoOf(unix.Flock(int(f), op)) }

// Fcntl is for F_ADD_SEALS, F_GET_SEALS, and the size of a FIFO: commands that have the same numbers on all hosts.
func (f FD) Fcntl(cmd int, arg uint64) (uint64, linux.Errno) {
	n, err := unix.FcntlInt(uintptr(f), cmd, int(arg))
	return uint64(max(n, 0)), ErrnoOf(err)
}

// Sealed reports whether f must not be written to. The host says so itself when it is.
func (f FD) Sealed() bool { return false }

// Setxattr sets an extended attribute; flags are XATTR_CREATE and XATTR_REPLACE.
func Setxattr(path, name string, value []byte, flags int, follow bool) linux.Errno {
	set := unix.Lsetxattr
	if follow {
		set = unix.Setxattr
	}
	e := ErrnoOf(set(path, name, value, flags))
	if e == linux.EPERM && ByDescriptor() {
		at := Place{Dir: NoFD, Path: path}
		e = at.through(follow, func(fd int) error { return unix.Fsetxattr(fd, name, value, flags) })
	}
	return e
}

// Getxattr returns the value of an extended attribute.
func Getxattr(path, name string, follow bool) ([]byte, linux.Errno) {
	get := unix.Lgetxattr
	if follow {
		get = unix.Getxattr
	}
	b := make([]byte, linux.XATTR_SIZE_MAX)
	n, err := get(path, name, b)
	return b[:max(n, 0)], ErrnoOf(err)
}

// Listxattr returns the names of extended attributes, each with a zero byte behind it.
func Listxattr(path string, follow bool) ([]byte, linux.Errno) {
	list := unix.Llistxattr
	if follow {
		list = unix.Listxattr
	}
	b := make([]byte, linux.XATTR_SIZE_MAX)
	n, err := list(path, b)
	return b[:max(n, 0)], ErrnoOf(err)
}

// Removexattr removes an extended attribute.
func Removexattr(path, name string, follow bool) linux.Errno {
	remove := unix.Lremovexattr
	if follow {
		remove = unix.Removexattr
	}
	e := ErrnoOf(remove(path, name))
	if e == linux.EPERM && ByDescriptor() {
		e = Place{Dir: NoFD, Path: path}.through(follow, func(fd int) error { return unix.Fremovexattr(fd, name) })
	}
	return e
}

// SetAppend sets or clears O_APPEND.
func (f FD) SetAppend(on bool) linux.Errno {
	flags, err := unix.FcntlInt(uintptr(f), unix.F_GETFL, 0)
	if err != nil {
		return ErrnoOf(err)
	}
	if flags &^= unix.O_APPEND; on {
		flags |= unix.O_APPEND
	}
	_, err = unix.FcntlInt(uintptr(f), unix.F_SETFL, flags)
	return ErrnoOf(err)
}

// FileLimit is how many descriptors we may have.
func FileLimit() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return l.Cur
}

// Memfd makes an unnamed file in memory, with flags of memfd_create(2).
func Memfd(name string, flags uint32) (FD, linux.Errno) {
	fd, err := unix.MemfdCreate(name, int(flags)|unix.MFD_CLOEXEC)
	if err != nil {
		return NoFD, ErrnoOf(err)
	}
	return FD(fd), 0
}

// User is the user who runs us: his files are the guest's own.
func User() (uid, gid uint32) { return uint32(os.Geteuid()), uint32(os.Getegid()) }

// Poll returns the events of f that are there now.
func (f FD) Poll(events uint32) uint32 {
	fds := []unix.PollFd{{Fd: int32(f), Events: int16(events)}}
	unix.Poll(fds, 0)
	return uint32(uint16(fds[0].Revents))
}

// PipeRoom is how much a pipe takes at once that poll(2) says can be written: a page of it is free.
const PipeRoom = 4096

// PollWait waits until one of fds, which are FDs, is ready, at most d nanoseconds, and
// reports whether one is.
func PollWait(fds []PollFD, d int64) bool {
	if len(fds) == 0 {
		time.Sleep(time.Duration(d))
		return false
	}
	list := make([]unix.PollFd, len(fds))
	for i, f := range fds {
		list[i] = unix.PollFd{Fd: int32(f.On.(FD)), Events: int16(f.Events)}
	}
	ts := unix.NsecToTimespec(d)
	n, err := unix.Ppoll(list, &ts, nil)
	return err == nil && n > 0
}

// Ioctl passes a terminal request whose argument is a structure of len(b) bytes.
func (f FD) Ioctl(req uint32, b []byte) linux.Errno { return ioctl(int(f), uintptr(req), b) }

// OpenTerminal opens the terminal that we run on.
func OpenTerminal(flags int) (FD, linux.Errno) {
	return Open(Place{Dir: NoFD, Path: "/dev/tty"}, flags, 0, 0)
}

// Auxv is our own auxiliary vector, in memory's format.
func Auxv() []byte {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return nil
	}
	return b
}
