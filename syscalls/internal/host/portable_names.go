//go:build !linux || portable

package host

import (
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// statOf makes a Stat of what package os tells of the file at s, or of f if it is open.
func statOf(info fs.FileInfo, s spot, f *os.File) Stat {
	st := Stat{Mode: modeOf(info.Mode()), Nlink: 1, Size: info.Size()}
	t := info.ModTime()
	mtime := Time{t.Unix(), int32(t.Nanosecond()), true}
	st.Times = Times{mtime, mtime, mtime}
	identify(&st, info, s, f)
	return st
}

// modeOf is a mode of package os for Linux.
func modeOf(m fs.FileMode) uint32 {
	mode := uint32(m.Perm())
	for _, bit := range []struct {
		os    fs.FileMode
		linux uint32
	}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}} {
		if m&bit.os != 0 {
			mode |= bit.linux
		}
	}
	switch m.Type() {
	case 0:
		return mode | linux.S_IFREG
	case fs.ModeDir:
		return mode | linux.S_IFDIR
	case fs.ModeSymlink:
		return mode | linux.S_IFLNK
	case fs.ModeNamedPipe:
		return mode | linux.S_IFIFO
	case fs.ModeSocket:
		return mode | linux.S_IFSOCK
	case fs.ModeDevice:
		return mode | linux.S_IFBLK
	}
	return mode | linux.S_IFCHR
}

// Stat is fstat(2).
func (f FD) Stat() (Stat, linux.Errno) {
	o := f.file()
	switch {
	case o == nil:
		return Stat{}, linux.EBADF
	case o.f == nil:
		info, e := o.at.lstat()
		if e != 0 {
			return Stat{}, e
		}
		return statOf(info, o.at, nil), 0
	}
	info, err := o.f.Stat()
	if err != nil {
		return statOfStream(o.f, err)
	}
	st := statOf(info, o.at, o.f)
	if o.temporary {
		st.Nlink = 0
	}
	return st, 0
}

// StatAt describes the file at p, whatever follow says: the kernel finds out itself where links lead.
func StatAt(p Place, _ bool) (Stat, linux.Errno) {
	if p.Path == "." {
		return p.Dir.Stat()
	}
	s, e := p.spot()
	if e != 0 {
		return Stat{}, e
	}
	defer s.top.leave()
	info, e := s.lstat()
	if e != 0 {
		return Stat{}, e
	}
	return statOf(info, s, nil), 0
}

// at calls do with p's spot.
func (p Place) at(do func(s spot) error) linux.Errno {
	s, e := p.spot()
	if e != 0 {
		return e
	}
	defer s.top.leave()
	return ErrnoOf(do(s))
}

// Readlink is what the link at p leads to.
func Readlink(p Place) (target string, e linux.Errno) {
	e = p.at(func(s spot) error {
		info, e := s.lstat()
		if e != 0 {
			return e
		}
		if link, ok := info.(linkInfo); ok {
			target = link.target
			return nil
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return linux.EINVAL
		}
		var err error
		target, err = s.top.root.Readlink(s.rel)
		target = filepath.ToSlash(target)
		return err
	})
	return target, e
}

// Mkdir makes a directory with the mode, less the umask.
func Mkdir(p Place, mode, umask uint32) linux.Errno {
	return p.at(func(s spot) error {
		if err := s.top.root.Mkdir(s.rel, fs.FileMode(mode&^umask&0o777)); err != nil {
			return err
		}
		return orNil(s.settle(mode &^ umask))
	})
}

// Mknod makes a FIFO or a socket file where the host has such, or an empty file, by the type in mode.
func Mknod(p Place, mode, umask uint32) linux.Errno {
	switch mode & linux.S_IFMT {
	case linux.S_IFIFO, linux.S_IFSOCK:
		return p.at(func(s spot) error {
			if err := mkspecial(s, mode&linux.S_IFMT); err != nil {
				return err
			}
			return orNil(s.settle(mode &^ umask))
		})
	case linux.S_IFREG, 0:
		fd, e := Open(p, linux.O_CREAT|linux.O_EXCL|linux.O_WRONLY, mode, umask)
		if e != 0 {
			return e
		}
		return fd.Close()
	}
	return linux.EPERM
}

// Unlink removes the name p, which is a directory's if dir is set.
func Unlink(p Place, dir bool) linux.Errno {
	return p.at(func(s spot) error {
		info, err := s.top.root.Lstat(s.rel)
		switch {
		case err != nil:
			return err
		case dir && !info.IsDir():
			return linux.ENOTDIR
		case !dir && info.IsDir():
			return linux.EISDIR
		}
		if err = s.remove(); err == nil {
			removed(s)
		}
		return err
	})
}

// Rename is renameat2(2), of whose flags only RENAME_NOREPLACE is known.
func Rename(from, to Place, flags uint32) linux.Errno {
	if flags&^vfs.RenameNoReplace != 0 {
		return linux.EINVAL
	}
	return from.at(func(s spot) error {
		return orNil(to.at(func(d spot) error { return s.rename(d, flags != 0) }))
	})
}

func (s spot) rename(to spot, keep bool) error {
	if s.top != to.top {
		return linux.EXDEV
	}
	was, err := s.top.root.Lstat(s.rel)
	if err != nil {
		return err
	}
	if is, err := to.top.root.Lstat(to.rel); err == nil {
		switch {
		case keep:
			return linux.EEXIST
		case is.IsDir() && !was.IsDir():
			return linux.EISDIR
		case !is.IsDir() && was.IsDir():
			return linux.ENOTDIR
		case os.SameFile(was, is):
			return nil
		}
	}
	if err := s.renameTo(to); err != nil {
		return err
	}
	s.top.moved(s.rel, to.rel)
	return nil
}

// remove and renameTo do what package os does by the names from the top on, or, where the system below does not know
// that, as Wine and some file systems do not, by the whole path.
func (s spot) remove() error {
	err := s.top.root.Remove(s.rel)
	if ErrnoOf(err) == linux.EOPNOTSUPP {
		err = os.Remove(s.path())
	}
	return err
}

func (s spot) renameTo(to spot) error {
	err := s.top.root.Rename(s.rel, to.rel)
	if ErrnoOf(err) == linux.EOPNOTSUPP {
		err = os.Rename(s.path(), to.path())
	}
	return err
}

// Link gives the file at from another name.
func Link(from, to Place, _ bool) linux.Errno {
	return from.at(func(s spot) error {
		return orNil(to.at(func(d spot) error {
			if s.top != d.top {
				return linux.EXDEV
			}
			return s.top.root.Link(s.rel, d.rel)
		}))
	})
}

// Symlink makes p a symbolic link to target.
func Symlink(target string, p Place) linux.Errno {
	return p.at(func(s spot) error { return s.symlink(target) })
}

// ByDescriptor reports whether attributes are changed by descriptors only.
func ByDescriptor() bool { return false }

// notLink calls change, unless s is a link: package os would follow it.
func (p Place) notLink(change func(s spot) error) linux.Errno {
	return p.at(func(s spot) error {
		info, e := s.lstat()
		switch {
		case e != 0:
			return e
		case info.Mode()&fs.ModeSymlink != 0:
			return linux.EOPNOTSUPP
		}
		return change(s)
	})
}

// Chmod changes the mode of the file at p.
func Chmod(p Place, mode uint32, _ bool) linux.Errno {
	if p.Path == "." && p.Dir != NoFD {
		return p.Dir.Chmod(mode)
	}
	return p.notLink(func(s spot) error { return setMode(s, mode) })
}

// Chmod changes the mode of the file.
func (f FD) Chmod(mode uint32) linux.Errno {
	o := f.file()
	switch {
	case o == nil:
		return linux.EBADF
	case o.f != nil && o.at.top == nil:
		return ErrnoOf(o.f.Chmod(fileMode(mode, 0)))
	case o.f != nil:
		return ErrnoOf(setOpenMode(o, mode))
	}
	return ErrnoOf(setMode(o.at, mode))
}

// chown gives a file to a user and a group that are not nil.
func chown(p Place, uid, gid *uint32, _ bool) linux.Errno {
	ids := [2]int{-1, -1}
	for i, id := range []*uint32{uid, gid} {
		if id != nil {
			ids[i] = int(*id)
		}
	}
	return p.at(func(s spot) error { return s.top.root.Lchown(s.rel, ids[0], ids[1]) })
}

// goTime is x for package os, which leaves a file's time as it is if that is zero, and has nanoseconds of 64 bits: the
// years 1678 to 2262.
func (x Time) goTime() time.Time {
	if !x.Set {
		return time.Time{}
	}
	const most = math.MaxInt64/1_000_000_000 - 1 // seconds
	return time.Unix(min(max(x.Sec, -most), most), int64(x.Nsec))
}

// Utimes sets the times of the file at p, those that are set.
func Utimes(p Place, atime, mtime Time, _ bool) linux.Errno {
	return p.notLink(func(s spot) error { return s.top.root.Chtimes(s.rel, atime.goTime(), mtime.goTime()) })
}

// Utimes sets the times of the file, those that are set, by its name: ENOENT if it has none any more.
func (f FD) Utimes(atime, mtime Time) linux.Errno {
	if o := f.file(); o != nil && o.f != nil && o.at.top != nil && !o.named() {
		return linux.ENOENT
	}
	return Utimes(f.Again(), atime, mtime, true)
}

// Truncate makes the file at p size bytes long.
func Truncate(p Place, size int64) linux.Errno {
	f, e := Open(p, linux.O_WRONLY, 0, 0)
	if e != 0 {
		return e
	}
	defer f.Close()
	return f.Truncate(size)
}

// Access reports by what error, if any, the host's user may not do what mask says: read (4), write (2) or execute (1).
func Access(p Place, mask uint32, follow bool) linux.Errno {
	st, e := StatAt(p, follow)
	if e != 0 {
		return e
	}
	uid, gid := User()
	groups, _ := os.Getgroups()
	var may uint32
	switch {
	case uid == 0 && (st.Mode&0o111 != 0 || st.IsDir() != 0):
		may = 7
	case uid == 0:
		may = 6
	case uid == st.UID:
		may = st.Mode >> 6 & 7
	case gid == st.GID || slices.Contains(groups, int(st.GID)):
		may = st.Mode >> 3 & 7
	default:
		may = st.Mode & 7
	}
	if mask&^may != 0 {
		return linux.EACCES
	}
	return 0
}

// ReadDir returns all entries but "." and "..", in the host's order.
func (f FD) ReadDir() ([]Dirent, linux.Errno) {
	o := f.file()
	if o == nil || o.at.top == nil {
		return nil, linux.EBADF
	}
	// Anew: an open directory's position is the host's.
	d, err := o.at.top.root.Open(o.at.rel)
	if err != nil {
		return nil, ErrnoOf(err)
	}
	defer d.Close()
	infos, err := d.Readdir(-1)
	if err != nil {
		return nil, ErrnoOf(err)
	}
	list := make([]Dirent, len(infos))
	for i, info := range infos {
		s := spot{o.at.top, path.Join(o.at.rel, info.Name())}
		st := statOf(s.orLink(info), s, nil)
		list[i] = Dirent{Name: guestName(info.Name()), Ino: st.Ino, Type: uint8(st.Mode >> 12)}
	}
	return list, 0
}

// Extended attributes: package os knows none.

func Setxattr(string, string, []byte, int, bool) linux.Errno { return linux.EOPNOTSUPP }

func Getxattr(string, string, bool) ([]byte, linux.Errno) { return nil, linux.EOPNOTSUPP }

func Listxattr(string, bool) ([]byte, linux.Errno) { return nil, linux.EOPNOTSUPP }

func Removexattr(string, string, bool) linux.Errno { return linux.EOPNOTSUPP }
