package host

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// FileLimit is how many handles a process of Windows may have, about: memory is used up sooner.
func FileLimit() uint64 { return 1 << 24 }

// symlink makes a file that says where it leads: Windows has links for users with a privilege only, and changes what
// they say.
func (s spot) symlink(target string) error {
	f, err := s.top.root.OpenFile(s.rel, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(linkText(target))
	if err2 := f.Close(); err == nil {
		err = err2
	}
	name, err2 := windows.UTF16PtrFromString(longPath(s.path()))
	if err == nil {
		err = err2
	}
	if err == nil {
		err = windows.SetFileAttributes(name, windows.FILE_ATTRIBUTE_SYSTEM)
	}
	if err != nil {
		_ = s.top.root.Remove(s.rel) // what is wrong is said
	}
	return err
}

// isLinkFile reports whether info may be that of a file which says where it leads.
func isLinkFile(info fs.FileInfo) bool {
	data, ok := info.Sys().(*syscall.Win32FileAttributeData)
	return ok && data.FileAttributes&windows.FILE_ATTRIBUTE_SYSTEM != 0
}

// nonblocking is no flag that Windows has.
const nonblocking = 0

// hostPath is a guest's path in the host's spelling, guestName a name of the host's in the guest's.
func hostPath(p string) string { return inPath(p, windowsName) }

func guestName(name string) string { return linuxName(name) }

// HasRoot says that the host's files are at the places where guests look for them.
const HasRoot = false

// GuestPath is the guest's name of an absolute path: C:\a\b is /c/a/b, \\server\share\b is /server/share/b.
func GuestPath(p string) string { return driveToPath(p) }

// foldsCase says that files whose names differ in case only are one.
const foldsCase = true

// trueName is the name of the file at s as the directory has it.
func trueName(s spot) string {
	name, err := windows.UTF16PtrFromString(longPath(s.path()))
	if err != nil {
		return ""
	}
	var found windows.Win32finddata
	h, err := windows.FindFirstFile(name, &found)
	if err != nil {
		return ""
	}
	_ = windows.FindClose(h)
	return windows.UTF16ToString(found.FileName[:])
}

// identify adds to st what package os has no names for.
func identify(st *Stat, info fs.FileInfo, s spot, f *os.File) {
	st.UID, st.GID = User()
	st.Mode = st.Mode&^0o777 | permissions(info, s)
	id := windows.ByHandleFileInformation{}
	if f != nil {
		if isNull(f) {
			st.Mode, st.Rdev = linux.S_IFCHR|0o666, nullDevice
			return
		}
		if windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &id) != nil {
			return
		}
	} else if e := inspect(s, &id); e != nil {
		return
	}
	st.Dev, st.Ino = uint64(id.VolumeSerialNumber)+1, uint64(id.FileIndexHigh)<<32|uint64(id.FileIndexLow)
	if st.IsDir() == 0 {
		st.Nlink = uint64(id.NumberOfLinks)
	} else {
		st.Size = 4096 // Windows says 0; this is what ext4 has of small ones
	}
	st.Atime, st.Mtime = timeOf(id.LastAccessTime), timeOf(id.LastWriteTime)
	st.Ctime = st.Mtime
}

// inspect asks for what is at s, a link itself.
func inspect(s spot, id *windows.ByHandleFileInformation) error {
	name, err := windows.UTF16PtrFromString(longPath(s.path()))
	if err != nil {
		return err
	}
	const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES, shared, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.GetFileInformationByHandle(h, id)
}

// longPath is a path that may be longer than 260 characters.
func longPath(p string) string {
	if len(p) < windows.MAX_PATH-12 || p[0] == '\\' {
		return p
	}
	return `\\?\` + p
}

func timeOf(t windows.Filetime) Time {
	ns := t.Nanoseconds()
	return Time{ns / 1e9, int32(ns % 1e9), true}
}

// statOfStream describes a file of which package os has failed to: a standard one may be open for nothing but writing.
func statOfStream(f *os.File, err error) (Stat, linux.Errno) {
	kind, kerr := windows.GetFileType(windows.Handle(f.Fd()))
	if kerr != nil {
		return Stat{}, ErrnoOf(err)
	}
	st := Stat{Mode: linux.S_IFREG | 0o600, Nlink: 1}
	switch kind {
	case windows.FILE_TYPE_PIPE:
		st.Mode = linux.S_IFIFO | 0o600
	case windows.FILE_TYPE_CHAR:
		st.Mode = linux.S_IFCHR | 0o600
		if isNull(f) {
			st.Mode, st.Rdev = linux.S_IFCHR|0o666, nullDevice
		}
	}
	st.UID, st.GID = User()
	return st, 0
}

// nullDevice is the number of /dev/null.
const nullDevice = 1<<8 | 3

// isNull reports whether f is NUL: a device that is no console.
func isNull(f *os.File) bool {
	h := windows.Handle(f.Fd())
	kind, err := windows.GetFileType(h)
	var mode uint32
	return err == nil && kind == windows.FILE_TYPE_CHAR && windows.GetConsoleMode(h, &mode) != nil
}

// mkspecial makes nothing: Windows has neither FIFOs nor sockets in directories.
func mkspecial(spot, uint32) error { return linux.EPERM }

// duplicate makes another handle of an open file.
func duplicate(f *os.File) (*os.File, error) {
	p := windows.CurrentProcess()
	var h windows.Handle
	if err := windows.DuplicateHandle(p, windows.Handle(f.Fd()), p, &h, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), f.Name()), nil
}

// accessOf is the access mode with which a standard file was opened.
func accessOf(f *os.File) int {
	if f.Name() == os.Stdin.Name() {
		return linux.O_RDONLY
	}
	return linux.O_WRONLY
}

// transfer reads or writes where f is.
func transfer(f *os.File, b []byte, write bool) (int, error) {
	if write {
		return f.Write(b)
	}
	return f.Read(b)
}

// PipeRoom is how much a pipe takes at once that ready says can be written. That says so of all: whatever has no room
// waits.
const PipeRoom = 1 << 30

// ready tells what f is ready for. Writing is never waited for.
func ready(f *os.File, events uint32) uint32 {
	now := events & (linux.POLLOUT | linux.POLLWRNORM)
	h := windows.Handle(f.Fd())
	kind, err := windows.GetFileType(h)
	if err != nil {
		return linux.POLLERR
	}
	readable := true
	switch kind {
	case windows.FILE_TYPE_PIPE:
		n, err := peekPipe(h)
		if err != nil && err != windows.ERROR_ACCESS_DENIED { // which is that of an end to write to
			return now | linux.POLLHUP
		}
		readable = n > 0
	case windows.FILE_TYPE_CHAR:
		var mode, n uint32
		if windows.GetConsoleMode(h, &mode) == nil {
			readable = windows.GetNumberOfConsoleInputEvents(h, &n) == nil && n > 0
		}
	}
	if readable {
		now |= events & (linux.POLLIN | linux.POLLRDNORM)
	}
	return now
}

// IsTerminal reports whether f is a console.
func (f FD) IsTerminal() bool {
	h, e := f.os()
	var mode uint32
	return e == 0 && windows.GetConsoleMode(windows.Handle(h.Fd()), &mode) == nil
}

// errnoOf translates the host's number of an error; 0 for what has none that Linux knows.
func errnoOf(err error) linux.Errno {
	var e syscall.Errno
	if !errors.As(err, &e) {
		return 0
	}
	return errnos[e]
}

// errnos are Linux's numbers of errors of this host, and of those that package syscall has made up for it.
var errnos = map[syscall.Errno]linux.Errno{
	windows.ERROR_FILE_NOT_FOUND: linux.ENOENT, windows.ERROR_PATH_NOT_FOUND: linux.ENOENT, windows.ERROR_INVALID_NAME: linux.ENOENT,
	windows.ERROR_BAD_PATHNAME: linux.ENOENT, windows.ERROR_ACCESS_DENIED: linux.EACCES, windows.ERROR_SHARING_VIOLATION: linux.EBUSY,
	windows.ERROR_LOCK_VIOLATION: linux.EBUSY, windows.ERROR_FILE_EXISTS: linux.EEXIST, windows.ERROR_ALREADY_EXISTS: linux.EEXIST,
	windows.ERROR_DIR_NOT_EMPTY: linux.ENOTEMPTY, windows.ERROR_DIRECTORY: linux.ENOTDIR, windows.ERROR_DISK_FULL: linux.ENOSPC,
	windows.ERROR_HANDLE_DISK_FULL: linux.ENOSPC, windows.ERROR_BROKEN_PIPE: linux.EPIPE, windows.ERROR_NO_DATA: linux.EPIPE,
	windows.ERROR_FILENAME_EXCED_RANGE: linux.ENAMETOOLONG, windows.ERROR_NOT_SAME_DEVICE: linux.EXDEV,
	windows.ERROR_PRIVILEGE_NOT_HELD: linux.EPERM, windows.ERROR_TOO_MANY_OPEN_FILES: linux.EMFILE, windows.ERROR_NOT_ENOUGH_MEMORY: linux.ENOMEM,
	windows.ERROR_INVALID_PARAMETER: linux.EINVAL, windows.ERROR_NOT_SUPPORTED: linux.EOPNOTSUPP, windows.ERROR_INVALID_FUNCTION: linux.EOPNOTSUPP,
	windows.ERROR_TOO_MANY_LINKS: linux.EMLINK, windows.ERROR_WRITE_PROTECT: linux.EROFS, windows.ERROR_CANT_RESOLVE_FILENAME: linux.ELOOP,
	windows.ERROR_NETNAME_DELETED: linux.ECONNRESET, windows.ERROR_CONNECTION_REFUSED: linux.ECONNREFUSED, windows.ERROR_PORT_UNREACHABLE: linux.ECONNREFUSED,
	windows.ERROR_PIPE_NOT_CONNECTED: linux.EPIPE, windows.ERROR_CURRENT_DIRECTORY: linux.EBUSY, windows.ERROR_DELETE_PENDING: linux.ENOENT,
	windows.ERROR_FILE_TOO_LARGE: linux.EFBIG, windows.ERROR_DISK_QUOTA_EXCEEDED: linux.EDQUOT, windows.ERROR_COMMITMENT_LIMIT: linux.ENOMEM,
	windows.ERROR_USER_MAPPED_FILE: linux.EBUSY, windows.ERROR_NEGATIVE_SEEK: linux.EINVAL,
	windows.ERROR_NOACCESS: linux.EFAULT, windows.ERROR_INVALID_USER_BUFFER: linux.EFAULT, windows.ERROR_NOT_A_REPARSE_POINT: linux.EINVAL, windows.ERROR_INVALID_HANDLE: linux.EBADF,
	syscall.EISDIR: linux.EISDIR, syscall.ENOTEMPTY: linux.ENOTEMPTY, syscall.ELOOP: linux.ELOOP,
	syscall.EINVAL: linux.EINVAL, syscall.EPERM: linux.EPERM, syscall.EXDEV: linux.EXDEV, syscall.EBADF: linux.EBADF,
	syscall.ENAMETOOLONG: linux.ENAMETOOLONG, syscall.EPIPE: linux.EPIPE, syscall.ENOSYS: linux.ENOSYS,
	syscall.Errno(windows.WSAECONNREFUSED): linux.ECONNREFUSED, syscall.Errno(windows.WSAECONNRESET): linux.ECONNRESET,
	syscall.Errno(windows.WSAETIMEDOUT): linux.ETIMEDOUT, syscall.Errno(windows.WSAEHOSTUNREACH): linux.EHOSTUNREACH,
	syscall.Errno(windows.WSAENETUNREACH): linux.ENETUNREACH, syscall.Errno(windows.WSAECONNABORTED): linux.ECONNABORTED,
	syscall.Errno(windows.WSAEADDRINUSE): linux.EADDRINUSE, syscall.Errno(windows.WSAEACCES): linux.EACCES,
	syscall.Errno(windows.WSAEADDRNOTAVAIL): linux.EADDRNOTAVAIL, syscall.Errno(windows.WSAEMSGSIZE): linux.EMSGSIZE,
	syscall.Errno(windows.WSAENETDOWN): linux.ENETDOWN, syscall.Errno(windows.WSAENETRESET): linux.ENETRESET,
	syscall.Errno(windows.WSAENOBUFS): linux.ENOBUFS, syscall.Errno(windows.WSAENOTCONN): linux.ENOTCONN,
	syscall.Errno(windows.WSAEHOSTDOWN): linux.EHOSTDOWN, syscall.Errno(windows.WSAESHUTDOWN): linux.EPIPE,
	syscall.Errno(windows.WSAEINVAL): linux.EINVAL, syscall.Errno(windows.WSAEMFILE): linux.EMFILE,
}
