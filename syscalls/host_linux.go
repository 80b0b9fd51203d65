package syscalls

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

// A hostFD is an open file of the host.
type hostFD int

const noFD hostFD = -1

// errnoOf translates a host error. Linux has the same numbers on all hosts we can have.
func errnoOf(err error) linux.Errno {
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
			return errnoOf(err)
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

func hostOpenFlags(flags int) int {
	h := flags&linux.O_ACCMODE | unix.O_CLOEXEC | unix.O_LARGEFILE
	for _, f := range openFlags {
		if flags&f.guest == f.guest {
			h |= f.host
		}
	}
	return h
}

// fd is the directory that p's path begins at. Our own working directory is none that the guest has to do with.
func (p place) fd() int {
	switch {
	case p.dir != noFD:
		return int(p.dir)
	case !path.IsAbs(p.path):
		panic("BUG: no directory for the path " + p.path)
	}
	return unix.AT_FDCWD
}

// umasked is held while the umask is not ours: threads that have no own one (ownUmask) share it.
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

// ownUmask gives the calling thread, to which its goroutine is locked, an umask and a working directory that no other thread
// has, where the host allows it.
func ownUmask() { _ = unix.Unshare(unix.CLONE_FS) }

func hostOpen(p place, flags int, mode, umask uint32) (hostFD, linux.Errno) {
	if flags&linux.O_CREAT != 0 || flags&linux.O_TMPFILE == linux.O_TMPFILE {
		defer withUmask(umask)()
	}
	if p.final {
		flags |= linux.O_NOFOLLOW
		if q := p.existing(); q != p && flags&linux.O_CREAT == 0 {
			p, flags = q, flags|linux.O_DIRECTORY
		}
	}
	var fd int
	e := retry(func() (err error) {
		fd, err = unix.Openat(p.fd(), p.path, hostOpenFlags(flags), mode)
		return err
	})
	if e != 0 {
		return noFD, e
	}
	return hostFD(fd), 0
}

// mayWrite reports whether f is open for writing.
func (f hostFD) mayWrite() bool {
	flags, err := unix.FcntlInt(uintptr(f), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}

// setBlocking undoes O_NONBLOCK.
func (f hostFD) setBlocking() { _ = unix.SetNonblock(int(f), false) }

func (f hostFD) close() linux.Errno { return errnoOf(unix.Close(int(f))) }

func (f hostFD) dup() (hostFD, linux.Errno) {
	fd, err := unix.FcntlInt(uintptr(f), unix.F_DUPFD_CLOEXEC, 3)
	return hostFD(fd), errnoOf(err)
}

// become makes f a descriptor of the file that o is one of.
func (f hostFD) become(o hostFD) linux.Errno {
	return errnoOf(unix.Dup3(int(o), int(f), unix.O_CLOEXEC))
}

// osFile returns a new file for the same open file, for the caller to close.
func (f hostFD) osFile(name string) (*os.File, linux.Errno) {
	d, e := f.dup()
	if e != 0 {
		return nil, e
	}
	return os.NewFile(uintptr(d), name), 0
}

// hostOf returns a descriptor of f that lives on when f is closed.
func hostOf(f *os.File) (hostFD, linux.Errno) { return hostFD(f.Fd()).dup() }

// readv reads at off, or at the file position if off is negative.
func (f hostFD) readv(bufs [][]byte, off int64) (n int, e linux.Errno) {
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

// writev writes at off, or at the file position if off is negative.
func (f hostFD) writev(bufs [][]byte, off int64) (n int, e linux.Errno) {
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

func (f hostFD) seek(off int64, whence int) (int64, linux.Errno) {
	n, err := unix.Seek(int(f), off, whence)
	return n, errnoOf(err)
}

func statOf(s *unix.Stat_t) hostStat {
	return hostStat{
		dev: uint64(s.Dev), ino: s.Ino, mode: s.Mode, nlink: uint64(s.Nlink), uid: s.Uid, gid: s.Gid,
		rdev: uint64(s.Rdev), size: s.Size, fileTimes: fileTimes{hostTime(s.Atim), hostTime(s.Mtim), hostTime(s.Ctim)},
	}
}

func (f hostFD) stat() (hostStat, linux.Errno) {
	var s unix.Stat_t
	err := unix.Fstat(int(f), &s)
	return statOf(&s), errnoOf(err)
}

// flags are those of a call that follows a link if follow is set.
func (p place) flags(follow bool) int {
	if follow && !p.final {
		return 0
	}
	return unix.AT_SYMLINK_NOFOLLOW
}

func hostStatAt(p place, follow bool) (hostStat, linux.Errno) {
	var s unix.Stat_t
	err := unix.Fstatat(p.fd(), p.existing().path, &s, p.flags(follow))
	return statOf(&s), errnoOf(err)
}

// onPseudoFS reports whether f lies on procfs or sysfs, and its path there.
func (f hostFD) onPseudoFS() (string, bool) {
	var s unix.Statfs_t
	if unix.Fstatfs(int(f), &s) != nil || s.Type != unix.PROC_SUPER_MAGIC && s.Type != unix.SYSFS_MAGIC {
		return "", false
	}
	return f.path(), true
}

// path returns the host's canonical path of f.
func (f hostFD) path() string {
	s, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f)))
	return s
}

// isTerminal reports whether f is one.
func (f hostFD) isTerminal() bool {
	_, err := unix.IoctlGetTermios(int(f), unix.TCGETS)
	return err == nil
}

// readDir returns all entries but "." and "..", in the host's order.
func (f hostFD) readDir() ([]hostDirent, linux.Errno) {
	if _, e := f.seek(0, linux.SEEK_SET); e != 0 {
		return nil, e
	}
	var out []hostDirent
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
		for b := buf[:n]; len(b) > 19; b = b[le16(b[16:]):] {
			name := b[19:le16(b[16:])]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if s := string(name); s != "." && s != ".." {
				out = append(out, hostDirent{name: s, ino: le64(b), typ: b[18]})
			}
		}
	}
}

func hostReadlink(p place) (string, linux.Errno) {
	buf := make([]byte, linux.PATH_MAX)
	n, err := unix.Readlinkat(p.fd(), p.existing().path, buf)
	if err != nil {
		return "", errnoOf(err)
	}
	return string(buf[:n]), 0
}

func hostMkdir(p place, mode, umask uint32) linux.Errno {
	defer withUmask(umask)()
	return errnoOf(unix.Mkdirat(p.fd(), p.path, mode))
}

func hostMknod(p place, mode, umask uint32) linux.Errno {
	defer withUmask(umask)()
	return errnoOf(unix.Mknodat(p.fd(), p.path, mode, 0))
}

func hostUnlink(p place, dir bool) linux.Errno {
	flags := 0
	if dir {
		flags = unix.AT_REMOVEDIR
	}
	return errnoOf(unix.Unlinkat(p.fd(), p.path, flags))
}

func hostRename(from, to place, flags uint32) linux.Errno {
	if flags == 0 {
		return errnoOf(unix.Renameat(from.fd(), from.path, to.fd(), to.path))
	}
	return errnoOf(unix.Renameat2(from.fd(), from.path, to.fd(), to.path, uint(flags)))
}

func hostLink(from, to place, follow bool) linux.Errno {
	flags := 0
	if follow && !from.final {
		flags = unix.AT_SYMLINK_FOLLOW
	}
	return errnoOf(unix.Linkat(from.fd(), from.path, to.fd(), to.path, flags))
}

func hostSymlink(target string, p place) linux.Errno {
	return errnoOf(unix.Symlinkat(target, p.fd(), p.path))
}

// byDescriptor reports whether attributes are changed by descriptors only: internal/sandbox refuses the calls that take a path. It is
// asked when one has failed.
var byDescriptor = sync.OnceValue(func() bool { return unix.Fchmodat(-1, ".", 0, 0) == unix.EPERM })

// through changes attributes of the file at p over a descriptor. What cannot be opened, or has more to it than its content, is left
// alone.
func (p place) through(follow bool, change func(fd int) error) linux.Errno {
	st, e := hostStatAt(p, follow)
	switch kind := st.mode & linux.S_IFMT; {
	case e != 0:
		return e
	case kind != linux.S_IFREG && kind != linux.S_IFDIR:
		return linux.EPERM
	}
	flags := linux.O_NONBLOCK
	if !follow {
		flags |= linux.O_NOFOLLOW
	}
	fd, e := hostOpen(p, linux.O_RDONLY|flags, 0, 0)
	if e == linux.EACCES {
		fd, e = hostOpen(p, linux.O_WRONLY|flags, 0, 0)
	}
	if e != 0 {
		return linux.EPERM
	}
	defer fd.close()
	return errnoOf(change(int(fd)))
}

func hostChmod(p place, mode uint32, follow bool) linux.Errno {
	e := hostChmodPath(p, mode, follow)
	if e == linux.EPERM && byDescriptor() {
		e = p.through(follow, func(fd int) error { return unix.Fchmod(fd, mode) })
	}
	return e
}

func hostChmodPath(p place, mode uint32, follow bool) linux.Errno {
	if !p.final || !follow {
		return errnoOf(unix.Fchmodat(p.fd(), p.existing().path, mode, p.flags(follow)))
	}
	// Not every kernel changes the mode of what is no link without following links.
	fd, e := hostOpen(p, linux.O_PATH, 0, 0)
	if e != 0 {
		return e
	}
	defer fd.close()
	if st, e := fd.stat(); e != 0 || st.mode&linux.S_IFMT == linux.S_IFLNK {
		return cmp.Or(e, linux.ELOOP)
	}
	return hostChmodPath(fd.again(), mode, true)
}

// hostChown gives a file to a user and a group that are not nil.
func hostChown(p place, uid, gid *uint32, follow bool) linux.Errno {
	ids := [2]int{-1, -1}
	for i, id := range []*uint32{uid, gid} {
		if id != nil {
			ids[i] = int(*id)
		}
	}
	return errnoOf(unix.Fchownat(p.fd(), p.existing().path, ids[0], ids[1], p.flags(follow)))
}

func (f hostFD) chmod(mode uint32) linux.Errno {
	e := errnoOf(unix.Fchmod(int(f), mode))
	if e == linux.EBADF { // with O_PATH
		e = hostChmod(f.again(), mode, true)
	}
	return e
}

func hostTime(x unix.Timespec) fileTime { return fileTime{x.Sec, int32(x.Nsec), true} }

// timespec is x for utimensat(2), which leaves the file's time as it is if x is not set.
func (x fileTime) timespec() unix.Timespec {
	if !x.set {
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	return unix.Timespec{Sec: x.sec, Nsec: int64(x.nsec)}
}

func hostUtimes(p place, atime, mtime fileTime, follow bool) linux.Errno {
	times := []unix.Timespec{atime.timespec(), mtime.timespec()}
	e := errnoOf(unix.UtimesNanoAt(p.fd(), p.existing().path, times, p.flags(follow)))
	if e == linux.EPERM && byDescriptor() {
		e = p.through(follow, func(fd int) error { return futimens(fd, times) })
	}
	return e
}

func (f hostFD) utimes(atime, mtime fileTime) linux.Errno {
	return hostUtimes(f.again(), atime, mtime, true)
}

func hostTruncate(p place, size int64) linux.Errno {
	f, e := hostOpen(p, linux.O_WRONLY|linux.O_NONBLOCK, 0, 0)
	if e != 0 {
		return e
	}
	defer f.close()
	return f.truncate(size)
}

func (f hostFD) truncate(size int64) linux.Errno {
	return retry(func() error { return unix.Ftruncate(int(f), size) })
}

func (f hostFD) allocate(mode uint32, off, n int64) linux.Errno {
	return retry(func() error { return unix.Fallocate(int(f), mode, off, n) })
}

func hostAccess(p place, mode uint32, follow bool) linux.Errno {
	return errnoOf(unix.Faccessat(p.fd(), p.existing().path, mode, p.flags(follow)))
}

func (f hostFD) sync() linux.Errno { return retry(func() error { return unix.Fsync(int(f)) }) }

func (f hostFD) flock(op int) linux.Errno { return errnoOf(unix.Flock(int(f), op)) }

// fcntl is for F_ADD_SEALS, F_GET_SEALS, and the size of a FIFO: commands that have the same numbers on all hosts.
func (f hostFD) fcntl(cmd int, arg uint64) (uint64, linux.Errno) {
	n, err := unix.FcntlInt(uintptr(f), cmd, int(arg))
	return uint64(max(n, 0)), errnoOf(err)
}

func hostSetxattr(path, name string, value []byte, flags int, follow bool) linux.Errno {
	set := unix.Lsetxattr
	if follow {
		set = unix.Setxattr
	}
	e := errnoOf(set(path, name, value, flags))
	if e == linux.EPERM && byDescriptor() {
		at := place{dir: noFD, path: path}
		e = at.through(follow, func(fd int) error { return unix.Fsetxattr(fd, name, value, flags) })
	}
	return e
}

func hostGetxattr(path, name string, follow bool) ([]byte, linux.Errno) {
	get := unix.Lgetxattr
	if follow {
		get = unix.Getxattr
	}
	b := make([]byte, linux.XATTR_SIZE_MAX)
	n, err := get(path, name, b)
	return b[:max(n, 0)], errnoOf(err)
}

func hostListxattr(path string, follow bool) ([]byte, linux.Errno) {
	list := unix.Llistxattr
	if follow {
		list = unix.Listxattr
	}
	b := make([]byte, linux.XATTR_SIZE_MAX)
	n, err := list(path, b)
	return b[:max(n, 0)], errnoOf(err)
}

func hostRemovexattr(path, name string, follow bool) linux.Errno {
	remove := unix.Lremovexattr
	if follow {
		remove = unix.Removexattr
	}
	e := errnoOf(remove(path, name))
	if e == linux.EPERM && byDescriptor() {
		e = place{dir: noFD, path: path}.through(follow, func(fd int) error { return unix.Fremovexattr(fd, name) })
	}
	return e
}

// setAppend sets or clears O_APPEND.
func (f hostFD) setAppend(on bool) linux.Errno {
	flags, err := unix.FcntlInt(uintptr(f), unix.F_GETFL, 0)
	if err != nil {
		return errnoOf(err)
	}
	if flags &^= unix.O_APPEND; on {
		flags |= unix.O_APPEND
	}
	_, err = unix.FcntlInt(uintptr(f), unix.F_SETFL, flags)
	return errnoOf(err)
}

// hostFileLimit is how many descriptors we may have.
func hostFileLimit() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return l.Cur
}

// hostMemfd makes an unnamed file in memory, with flags of memfd_create(2).
func hostMemfd(name string, flags uint32) (hostFD, linux.Errno) {
	fd, err := unix.MemfdCreate(name, int(flags)|unix.MFD_CLOEXEC)
	if err != nil {
		return noFD, errnoOf(err)
	}
	return hostFD(fd), 0
}

// hostOwnUID is the user who runs us: his files are the guest's own.
func hostOwnUID() (uid, gid uint32) { return uint32(os.Geteuid()), uint32(os.Getegid()) }

// poll returns the events of f that are there now.
func (f hostFD) poll(events uint32) uint32 {
	fds := []unix.PollFd{{Fd: int32(f), Events: int16(events)}}
	unix.Poll(fds, 0)
	return uint32(uint16(fds[0].Revents))
}

// hostPollWait waits until one of fds is ready, at most d nanoseconds, and
// reports whether one is.
func hostPollWait(fds []hostPoll, d int64) bool {
	if len(fds) == 0 {
		time.Sleep(time.Duration(d))
		return false
	}
	list := make([]unix.PollFd, len(fds))
	for i, f := range fds {
		list[i] = unix.PollFd{Fd: int32(f.fd), Events: int16(f.events)}
	}
	ts := unix.NsecToTimespec(d)
	n, err := unix.Ppoll(list, &ts, nil)
	return err == nil && n > 0
}

// ioctl passes a terminal request whose argument is a structure of len(b) bytes.
func (f hostFD) ioctl(req uint32, b []byte) linux.Errno { return hostIoctl(int(f), uintptr(req), b) }

// hostAuxv is our own auxiliary vector, in memory's format.
func hostAuxv() []byte {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return nil
	}
	return b
}
