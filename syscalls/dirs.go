package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// lister is a directory that can be read.
type lister interface {
	List(t *task.Thread) ([]files.DirEntry, linux.Errno)
	Position() *int64
}

type hostDir struct{ *files.HostFile }

func (d hostDir) List(t *task.Thread) ([]files.DirEntry, linux.Errno) {
	return d.HostFile.List(t.Kernel)
}

func (d hostDir) Position() *int64 { return &d.HostFile.Pos }

// directory returns the directory behind fd.
func directory(t *task.Thread, fd int) (lister, linux.Errno) {
	f, e := files.GetRawFile(t, fd)
	if e != 0 {
		return nil, e
	}
	if f.Base().Flags&linux.O_PATH != 0 {
		return nil, linux.EBADF
	}
	switch f := f.(type) {
	case *files.HostFile:
		if f.IsDir() {
			return hostDir{f}, 0
		}
	case *files.VirtualDir:
		return f, 0
	}
	return nil, linux.ENOTDIR
}

// sysGetdents64 implements getdents64(2). Entries come sorted by name.
func sysGetdents64(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return getdents(t, a, func(b *linux.Pack, d files.DirEntry, next int64) {
		size := (19 + len(d.Name) + 1 + 7) &^ 7
		b.U64(d.Ino)
		b.I64(next)
		b.U16(uint16(size))
		b.U8(d.Type)
		b.Str(d.Name, size-19)
	})
}

// sysGetdents implements getdents(2), whose entries end with their type.
func sysGetdents(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return getdents(t, a, func(b *linux.Pack, d files.DirEntry, next int64) {
		size := (18 + len(d.Name) + 2 + 7) &^ 7
		b.U64(d.Ino)
		b.I64(next)
		b.U16(uint16(size))
		b.Str(d.Name, size-19)
		b.U8(d.Type)
	})
}

func getdents(t *task.Thread, a uio.Args, encode func(*linux.Pack, files.DirEntry, int64)) (uint64, linux.Errno) {
	d, e := directory(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	entries, e := d.List(t)
	if e != 0 {
		return 0, e
	}
	room := min(a.Int(2), 1<<20) // below 0 nothing fits
	var b linux.Pack
	pos := d.Position()
	at := *pos
	for ; at < int64(len(entries)); at++ {
		n := len(b)
		encode(&b, entries[at], at+1)
		if len(b) > room {
			b = b[:n]
			if n == 0 {
				return 0, linux.EINVAL
			}
			break
		}
	}
	// Where the memory ends the entries in front of it are told.
	if got := t.Process.Mem.Write(a.Addr(1), b); got < len(b) {
		b = b[:0]
		for at = *pos; at < int64(len(entries)); at++ {
			n := len(b)
			if encode(&b, entries[at], at+1); len(b) > got {
				b = b[:n]
				break
			}
		}
		if len(b) == 0 {
			return 0, linux.EFAULT
		}
	}
	if h, ok := d.(hostDir); ok {
		files.Accessed(t.Kernel, h.HostFile)
		files.FileEvent(t.Kernel, h.HostFile, linux.IN_ACCESS)
	}
	*pos = at
	return uint64(len(b)), 0
}

// sysGetcwd implements getcwd(2): the result counts the terminator.
func sysGetcwd(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	cwd, e := files.CwdPath(t)
	if e != 0 {
		return 0, e
	}
	b := append([]byte(cwd), 0)
	if uint64(len(b)) > a.Uint(1) {
		return 0, linux.ERANGE
	}
	return uint64(len(b)), t.CopyOut(a.Addr(0), b)
}

// sysChdir implements chdir(2).
func sysChdir(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := t.Path(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	l, e := files.Locate(t, linux.AT_FDCWD, s, true)
	if e != 0 {
		return 0, e
	}
	return 0, files.Chdir(t, l)
}

// sysFchdir implements fchdir(2).
func sysFchdir(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	d, e := files.Start(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if a.Int(0) == linux.AT_FDCWD {
		return 0, linux.EBADF
	}
	if d.Virtual {
		files.Of(t).SetCwd(d)
		return 0, 0
	}
	return 0, files.Chdir(t, files.Location{FileAt: d.At("."), Private: d.Private})
}

// sysMkdir implements mkdir(2).
func sysMkdir(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return mkdir(t, linux.AT_FDCWD, a.Addr(0), a.U32(1))
}

// sysMkdirat implements mkdirat(2).
func sysMkdirat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return mkdir(t, a.Int(0), a.Addr(1), a.U32(2))
}

func mkdir(t *task.Thread, dirfd int, name emu.Addr, mode uint32) (uint64, linux.Errno) {
	l, e := newName(t, dirfd, name)
	if e != 0 {
		return 0, e
	}
	return files.Made(t.Kernel, l, l.Create(linux.S_IFDIR|mode&0o1777, files.Of(t).Umask))
}

// sysMknod implements mknod(2).
func sysMknod(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return mknod(t, linux.AT_FDCWD, a.Addr(0), a.U32(1))
}

// sysMknodat implements mknodat(2).
func sysMknodat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return mknod(t, a.Int(0), a.Addr(1), a.U32(2))
}

// mknod makes files and named pipes; devices are for the superuser, which the guest is not.
func mknod(t *task.Thread, dirfd int, name emu.Addr, mode uint32) (uint64, linux.Errno) {
	kind := mode & linux.S_IFMT
	switch kind { // what there is to be made is looked at before the name
	case 0, linux.S_IFREG, linux.S_IFIFO, linux.S_IFSOCK, linux.S_IFCHR, linux.S_IFBLK:
	case linux.S_IFDIR:
		return 0, linux.EPERM
	default:
		return 0, linux.EINVAL
	}
	l, e := newName(t, dirfd, name)
	if e != 0 {
		return 0, e
	}
	if kind == linux.S_IFCHR || kind == linux.S_IFBLK {
		return 0, cmp.Or(l.Makeable(), linux.EPERM)
	}
	return files.Made(t.Kernel, l, l.Create(mode, files.Of(t).Umask))
}

// sysUnlink implements unlink(2).
func sysUnlink(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return unlink(t, linux.AT_FDCWD, a.Addr(0), false)
}

// sysRmdir implements rmdir(2).
func sysRmdir(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return unlink(t, linux.AT_FDCWD, a.Addr(0), true)
}

// sysUnlinkat implements unlinkat(2).
func sysUnlinkat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(2)&^linux.AT_REMOVEDIR != 0 {
		return 0, linux.EINVAL
	}
	return unlink(t, a.Int(0), a.Addr(1), a.Int(2)&linux.AT_REMOVEDIR != 0)
}

func unlink(t *task.Thread, dirfd int, name emu.Addr, dir bool) (uint64, linux.Errno) {
	l, e := oldName(t, dirfd, name)
	if e != 0 {
		return 0, e
	}
	if l.NoName != "" {
		return 0, notRemoved(l.NoName, dir)
	}
	old, known := l.Stat(false)
	e = l.Unlink(dir)
	if e == 0 && known == 0 {
		files.Removed(t.Kernel, old)
		files.NameEvent(t.Kernel, l, linux.IN_DELETE|old.IsDir(), 0)
		files.SystemOf(t.Kernel).Inodes.Forget(old)
	}
	return 0, e
}

// notRemoved is why unlink(2), or rmdir(2) if dir is set, does not remove what ends with name, which is none.
func notRemoved(name string, dir bool) linux.Errno {
	switch {
	case !dir:
		return linux.EISDIR
	case name == ".":
		return linux.EINVAL
	case name == "..":
		return linux.ENOTEMPTY
	}
	return linux.EBUSY
}

// sysRename implements rename(2).
func sysRename(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return rename(t, linux.AT_FDCWD, a.Addr(0), linux.AT_FDCWD, a.Addr(1), 0)
}

// sysRenameat implements renameat(2).
func sysRenameat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return rename(t, a.Int(0), a.Addr(1), a.Int(2), a.Addr(3), 0)
}

// sysRenameat2 implements renameat2(2).
func sysRenameat2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return rename(t, a.Int(0), a.Addr(1), a.Int(2), a.Addr(3), a.U32(4))
}

// Flags of renameat2(2).
const renameNoreplace, renameExchange, renameWhiteout = 1, 2, 4

// mayMove finds errors of rename(2) in the order of Linux (do_renameat2): directories, mounts, what is no name, then
// the names themselves.
func mayMove(t *task.Thread, src, dst files.Location, flags uint32) linux.Errno {
	switch {
	case src.Mount() != dst.Mount():
		return cmp.Or(directoryThere(src), directoryThere(dst), linux.EXDEV)
	case src.NoName != "", dst.NoName != "" && flags&renameNoreplace == 0:
		return cmp.Or(directoryThere(src), directoryThere(dst), linux.EBUSY)
	case dst.NoName != "":
		return cmp.Or(directoryThere(src), linux.EEXIST)
	}
	e := mayTake(t, src)
	if e != 0 && e != linux.EROFS { // the other may be worse
		return e
	}
	if e := mayTake(t, dst); e != 0 {
		return cmp.Or(directoryThere(src), e)
	}
	if e == 0 && flags&renameWhiteout != 0 {
		e = linux.EINVAL // a file system without whiteouts
	}
	return e
}

func rename(t *task.Thread, fromDir int, from emu.Addr, toDir int, to emu.Addr, flags uint32) (uint64, linux.Errno) {
	if flags&^(renameNoreplace|renameExchange|renameWhiteout) != 0 || flags&renameExchange != 0 && flags != renameExchange {
		return 0, linux.EINVAL
	}
	src, e := parentOf(t, fromDir, from)
	if e != 0 {
		return 0, e
	}
	dst, e := parentOf(t, toDir, to)
	if e != 0 {
		return 0, cmp.Or(directoryThere(src), e)
	}
	if e := mayMove(t, src, dst, flags); e != 0 {
		return 0, e
	}
	old, replaced := dst.Stat(false)
	was, _ := src.Stat(false)
	e = src.Rename(dst.FileAt, flags)
	if e == 0 {
		files.Moved(t.Kernel, src, dst, was, old, replaced == 0 && flags&renameExchange == 0)
	}
	if e == 0 && replaced == 0 && flags&renameExchange == 0 && (old.Ino != was.Ino || old.Dev != was.Dev) {
		files.SystemOf(t.Kernel).Inodes.Forget(old)
	}
	return 0, e
}

// sysLink implements link(2).
func sysLink(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return link(t, linux.AT_FDCWD, a.Addr(0), linux.AT_FDCWD, a.Addr(1), 0)
}

// sysLinkat implements linkat(2).
func sysLinkat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return link(t, a.Int(0), a.Addr(1), a.Int(2), a.Addr(3), a.Int(4))
}

func link(t *task.Thread, fromDir int, from emu.Addr, toDir int, to emu.Addr, flags int) (uint64, linux.Errno) {
	if flags&^(linux.AT_SYMLINK_FOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	follow := flags&linux.AT_SYMLINK_FOLLOW != 0
	s, e := t.Path(from)
	if e != 0 {
		return 0, e
	}
	var src files.Location
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		src, e = files.OpenedHere(t, fromDir) // since Linux 6.10
		follow = true
	} else {
		src, e = onHost(t, fromDir, from, files.Following(follow))
	}
	// A file of ours: that there is no link to it is seen after the new name.
	elsewhere := e == linux.EXDEV || e == linux.EPERM && src.Node != nil && src.Mount() != "/"
	if e != 0 && !elsewhere {
		return 0, e
	}
	dst, e := newName(t, toDir, to)
	if elsewhere {
		if e == 0 {
			e = dst.Missing()
		}
		return 0, cmp.Or(e, linux.EXDEV)
	}
	if e != 0 {
		if _, first := src.Stat(follow); first != 0 {
			e = first // the old name is looked up first
		}
		return 0, e
	}
	if src.Mount() != dst.Mount() {
		_, e := src.Stat(follow)
		return 0, cmp.Or(e, dst.Missing(), linux.EXDEV)
	}
	if e := src.Link(dst.FileAt, follow); e != 0 {
		return 0, e
	}
	if st, e := dst.Stat(false); e == 0 {
		files.ChangedInode(t.Kernel, files.SystemOf(t.Kernel).Inodes.Number(st.Dev, st.Ino))
		files.SelfEvent(t.Kernel, st, linux.IN_ATTRIB)
		files.NameEvent(t.Kernel, dst, linux.IN_CREATE, 0)
	}
	return 0, 0
}

// sysSymlink implements symlink(2).
func sysSymlink(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return symlink(t, a.Addr(0), linux.AT_FDCWD, a.Addr(1))
}

// sysSymlinkat implements symlinkat(2).
func sysSymlinkat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return symlink(t, a.Addr(0), a.Int(1), a.Addr(2))
}

func symlink(t *task.Thread, target emu.Addr, dirfd int, name emu.Addr) (uint64, linux.Errno) {
	s, e := t.Path(target)
	if e != 0 {
		return 0, e
	}
	if s == "" {
		return 0, linux.ENOENT
	}
	l, e := newName(t, dirfd, name)
	if e != 0 {
		return 0, e
	}
	return files.Made(t.Kernel, l, l.Symlink(s))
}

// sysReadlink implements readlink(2).
func sysReadlink(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return readlink(t, linux.AT_FDCWD, a.Addr(0), a.Addr(1), a.Int(2))
}

// sysReadlinkat implements readlinkat(2).
func sysReadlinkat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return readlink(t, a.Int(0), a.Addr(1), a.Addr(2), a.Int(3))
}

func readlink(t *task.Thread, dirfd int, name, buf emu.Addr, size int) (uint64, linux.Errno) {
	if size <= 0 {
		return 0, linux.EINVAL
	}
	s, e := t.Path(name)
	if e != 0 {
		return 0, e
	}
	var target string
	if s == "" {
		// An O_PATH descriptor of a link itself.
		if dirfd == linux.AT_FDCWD {
			return 0, linux.ENOENT
		}
		f, e := files.GetRawFile(t, dirfd)
		if e != 0 {
			return 0, e
		}
		h, ok := f.(*files.HostFile)
		if !ok {
			return 0, linux.ENOENT
		}
		if target, e = h.Readlink(); e != 0 {
			return 0, e
		}
		return finishReadlink(t, target, buf, size)
	}
	l, e := files.Locate(t, dirfd, s, false)
	switch {
	case e != 0:
		return 0, e
	case l.Node != nil && l.Node.Mode&linux.S_IFMT != linux.S_IFLNK:
		return 0, linux.EINVAL
	case l.Node != nil:
		if target = l.Node.Link(t); target == "" {
			return 0, linux.ENOENT
		}
	default:
		if target, e = l.Readlink(); e != 0 {
			return 0, e
		}
	}
	return finishReadlink(t, target, buf, size)
}

func finishReadlink(t *task.Thread, target string, buf emu.Addr, size int) (uint64, linux.Errno) {
	b := []byte(target)
	b = b[:min(len(b), size)]
	return uint64(len(b)), t.CopyOut(buf, b)
}
