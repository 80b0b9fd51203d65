package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// lister is a directory that can be read.
type lister interface {
	list(t *Thread) ([]dirEntry, linux.Errno)
	position() *int64
}

type hostDir struct{ *hostFile }

func (d hostDir) list(t *Thread) ([]dirEntry, linux.Errno) { return d.hostFile.list(t.k) }
func (d hostDir) position() *int64                         { return &d.hostFile.pos }

// directory returns the directory behind fd.
func (t *Thread) directory(fd int) (lister, linux.Errno) {
	f, e := t.file(fd)
	if e != 0 {
		return nil, e
	}
	if f.base().flags&linux.O_PATH != 0 {
		return nil, linux.EBADF
	}
	switch f := f.(type) {
	case *hostFile:
		if f.isDir() {
			return hostDir{f}, 0
		}
	case *virtualDir:
		return f, 0
	}
	return nil, linux.ENOTDIR
}

// sysGetdents64 implements getdents64(2). Entries come sorted by name.
func sysGetdents64(t *Thread, a Args) (uint64, linux.Errno) {
	return t.getdents(a, func(b *pack, d dirEntry, next int64) {
		size := (19 + len(d.name) + 1 + 7) &^ 7
		b.u64(d.ino)
		b.i64(next)
		b.u16(uint16(size))
		b.u8(d.typ)
		b.str(d.name, size-19)
	})
}

// sysGetdents implements getdents(2), whose entries end with their type.
func sysGetdents(t *Thread, a Args) (uint64, linux.Errno) {
	return t.getdents(a, func(b *pack, d dirEntry, next int64) {
		size := (18 + len(d.name) + 2 + 7) &^ 7
		b.u64(d.ino)
		b.i64(next)
		b.u16(uint16(size))
		b.str(d.name, size-19)
		b.u8(d.typ)
	})
}

func (t *Thread) getdents(a Args, encode func(*pack, dirEntry, int64)) (uint64, linux.Errno) {
	d, e := t.directory(a.Int(0))
	if e != 0 {
		return 0, e
	}
	entries, e := d.list(t)
	if e != 0 {
		return 0, e
	}
	room := min(a.Int(2), 1<<20) // below 0 nothing fits
	var b pack
	pos := d.position()
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
	if got := t.p.mem.Write(a.Addr(1), b); got < len(b) {
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
		t.k.accessed(h.hostFile)
		t.k.fileEvent(h.hostFile, linux.IN_ACCESS)
	}
	*pos = at
	return uint64(len(b)), 0
}

// sysGetcwd implements getcwd(2): the result counts the terminator.
func sysGetcwd(t *Thread, a Args) (uint64, linux.Errno) {
	cwd, e := t.cwdPath()
	if e != 0 {
		return 0, e
	}
	b := append([]byte(cwd), 0)
	if uint64(len(b)) > a.Uint(1) {
		return 0, linux.ERANGE
	}
	return uint64(len(b)), t.copyOut(a.Addr(0), b)
}

// cwdPath is the guest's name of the working directory, which may have been moved or removed since t went there:
// ENOENT and what /proc/PID/cwd shows if it was removed or is no longer below the guest's root, ENAMETOOLONG if the name is
// longer than PATH_MAX.
func (t *Thread) cwdPath() (string, linux.Errno) {
	if filesOf(t).cwd.virtual {
		return filesOf(t).cwd.path, 0
	}
	cwd := filesOf(t).cwd.fileRef
	if cwd.node != nil {
		name, ok := cwd.node.Path()
		switch {
		case !ok:
			return name + " (deleted)", linux.ENOENT
		case len(name) >= linux.PATH_MAX:
			return "", linux.ENAMETOOLONG
		}
		return name, 0
	}
	name := cwd.fd.path()
	if name == "" {
		return "", linux.ENAMETOOLONG
	}
	if _, ok := t.k.below(name); fsOf(t.k).root.only && !ok {
		return filesOf(t).cwd.path, linux.ENOENT
	}
	if st, e := cwd.stat(); e == 0 && st.nlink == 0 {
		return t.k.guestPath(name), linux.ENOENT
	}
	return t.k.guestPath(name), 0
}

// sysChdir implements chdir(2).
func sysChdir(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.path(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	l, e := t.locate(linux.AT_FDCWD, s, true)
	if e != 0 {
		return 0, e
	}
	return 0, t.chdir(l)
}

func (t *Thread) chdir(l location) linux.Errno {
	if l.node == nil {
		r, e := l.open(linux.O_PATH|linux.O_DIRECTORY, 0, 0)
		if e != 0 {
			return e
		}
		if e := r.at(".").access(1, true); e != 0 {
			r.close()
			return e
		}
		at, pseudo := r.onPseudoFS()
		if !pseudo {
			filesOf(t).setCwd(dirRef{fileRef: r, path: t.k.nameOf(r), private: l.private})
			return 0
		}
		r.close()
		if l, e = t.relocate(at); e != 0 {
			return e
		}
	}
	if l.node == nil || l.node.mode&linux.S_IFMT != linux.S_IFDIR {
		return linux.ENOTDIR
	}
	filesOf(t).setCwd(dirRef{fileRef: noFile, path: l.guest, virtual: true})
	return 0
}

// sysFchdir implements fchdir(2).
func sysFchdir(t *Thread, a Args) (uint64, linux.Errno) {
	d, e := t.start(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if a.Int(0) == linux.AT_FDCWD {
		return 0, linux.EBADF
	}
	if d.virtual {
		filesOf(t).setCwd(d)
		return 0, 0
	}
	return 0, t.chdir(location{fileAt: d.at("."), private: d.private})
}

// sysMkdir implements mkdir(2).
func sysMkdir(t *Thread, a Args) (uint64, linux.Errno) {
	return t.mkdir(linux.AT_FDCWD, a.Addr(0), a.U32(1))
}

// sysMkdirat implements mkdirat(2).
func sysMkdirat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.mkdir(a.Int(0), a.Addr(1), a.U32(2))
}

func (t *Thread) mkdir(dirfd int, name emu.Addr, mode uint32) (uint64, linux.Errno) {
	l, e := t.newName(dirfd, name)
	if e != 0 {
		return 0, e
	}
	return t.k.made(l, l.create(linux.S_IFDIR|mode&0o1777, filesOf(t).umask))
}

// sysMknod implements mknod(2).
func sysMknod(t *Thread, a Args) (uint64, linux.Errno) {
	return t.mknod(linux.AT_FDCWD, a.Addr(0), a.U32(1))
}

// sysMknodat implements mknodat(2).
func sysMknodat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.mknod(a.Int(0), a.Addr(1), a.U32(2))
}

// mknod makes files and named pipes; devices are for the superuser, which the guest is not.
func (t *Thread) mknod(dirfd int, name emu.Addr, mode uint32) (uint64, linux.Errno) {
	l, e := t.newName(dirfd, name)
	if e != 0 {
		return 0, e
	}
	switch mode & linux.S_IFMT {
	case 0, linux.S_IFREG, linux.S_IFIFO, linux.S_IFSOCK:
		return t.k.made(l, l.create(mode, filesOf(t).umask))
	case linux.S_IFCHR, linux.S_IFBLK, linux.S_IFDIR:
		return 0, linux.EPERM
	}
	return 0, linux.EINVAL
}

// sysUnlink implements unlink(2).
func sysUnlink(t *Thread, a Args) (uint64, linux.Errno) {
	return t.unlink(linux.AT_FDCWD, a.Addr(0), false)
}

// sysRmdir implements rmdir(2).
func sysRmdir(t *Thread, a Args) (uint64, linux.Errno) {
	return t.unlink(linux.AT_FDCWD, a.Addr(0), true)
}

// sysUnlinkat implements unlinkat(2).
func sysUnlinkat(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(2)&^linux.AT_REMOVEDIR != 0 {
		return 0, linux.EINVAL
	}
	return t.unlink(a.Int(0), a.Addr(1), a.Int(2)&linux.AT_REMOVEDIR != 0)
}

func (t *Thread) unlink(dirfd int, name emu.Addr, dir bool) (uint64, linux.Errno) {
	l, e := t.oldName(dirfd, name)
	if e != 0 {
		return 0, e
	}
	old, known := l.stat(false)
	e = l.unlink(dir)
	if e == 0 && known == 0 {
		t.k.removed(old)
		t.k.nameEvent(l, linux.IN_DELETE|old.isDir(), 0)
		fsOf(t.k).inodes.forget(old)
	}
	return 0, e
}

// sysRename implements rename(2).
func sysRename(t *Thread, a Args) (uint64, linux.Errno) {
	return t.rename(linux.AT_FDCWD, a.Addr(0), linux.AT_FDCWD, a.Addr(1), 0)
}

// sysRenameat implements renameat(2).
func sysRenameat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.rename(a.Int(0), a.Addr(1), a.Int(2), a.Addr(3), 0)
}

// sysRenameat2 implements renameat2(2).
func sysRenameat2(t *Thread, a Args) (uint64, linux.Errno) {
	return t.rename(a.Int(0), a.Addr(1), a.Int(2), a.Addr(3), a.U32(4))
}

func (t *Thread) rename(fromDir int, from emu.Addr, toDir int, to emu.Addr, flags uint32) (uint64, linux.Errno) {
	const renameNoreplace, renameExchange, renameWhiteout = 1, 2, 4
	if flags&^(renameNoreplace|renameExchange|renameWhiteout) != 0 || flags&renameExchange != 0 && flags != renameExchange {
		return 0, linux.EINVAL
	}
	src, e := t.oldName(fromDir, from)
	if e != 0 && e != linux.EROFS { // the other may be worse
		return 0, e
	}
	dst, e := t.oldName(toDir, to)
	if (e == 0 || e == linux.EROFS) && src.private != dst.private {
		e = linux.EXDEV // /dev/shm is a file system of its own, wherever the host has it
	}
	if e != 0 {
		// Where the old name leads is looked at first.
		if st, first := src.parent().stat(true); first != 0 {
			e = first
		} else if st.mode&linux.S_IFMT != linux.S_IFDIR {
			e = linux.ENOTDIR
		}
		return 0, e
	}
	if flags&renameWhiteout != 0 {
		return 0, linux.EINVAL // a file system without whiteouts
	}
	old, replaced := dst.stat(false)
	was, _ := src.stat(false)
	if dst.slash && replaced == 0 && flags == 0 && was.mode&linux.S_IFMT != linux.S_IFDIR && was.mode != 0 {
		return 0, linux.ENOTDIR
	}
	e = src.rename(dst.fileAt, flags)
	if e == 0 {
		t.k.moved(src, dst, was, old, replaced == 0 && flags&renameExchange == 0)
	}
	if e == 0 && replaced == 0 && flags&renameExchange == 0 && (old.ino != was.ino || old.dev != was.dev) {
		fsOf(t.k).inodes.forget(old)
	}
	return 0, e
}

// sysLink implements link(2).
func sysLink(t *Thread, a Args) (uint64, linux.Errno) {
	return t.link(linux.AT_FDCWD, a.Addr(0), linux.AT_FDCWD, a.Addr(1), 0)
}

// sysLinkat implements linkat(2).
func sysLinkat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.link(a.Int(0), a.Addr(1), a.Int(2), a.Addr(3), a.Int(4))
}

func (t *Thread) link(fromDir int, from emu.Addr, toDir int, to emu.Addr, flags int) (uint64, linux.Errno) {
	if flags&^(linux.AT_SYMLINK_FOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	follow := flags&linux.AT_SYMLINK_FOLLOW != 0
	s, e := t.path(from)
	if e != 0 {
		return 0, e
	}
	var src location
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		src, e = t.openedHere(fromDir) // since Linux 6.10
		follow = true
	} else {
		src, e = t.onHost(fromDir, from, follow)
	}
	elsewhere := e == linux.EXDEV // a file of ours: that there is no link to it is seen after the new name
	if e != 0 && !elsewhere {
		return 0, e
	}
	dst, e := t.newName(toDir, to)
	if elsewhere {
		return 0, cmp.Or(e, linux.EXDEV)
	}
	if e != 0 {
		if _, first := src.stat(follow); first != 0 {
			e = first // the old name is looked up first
		}
		return 0, e
	}
	if src.private != dst.private {
		if _, e := src.stat(follow); e != 0 {
			return 0, e
		}
		return 0, linux.EXDEV
	}
	if e := src.link(dst.fileAt, follow); e != 0 {
		return 0, e
	}
	if st, e := dst.stat(false); e == 0 {
		t.k.changedInode(fsOf(t.k).inodes.number(st.dev, st.ino))
		t.k.selfEvent(st, linux.IN_ATTRIB)
		t.k.nameEvent(dst, linux.IN_CREATE, 0)
	}
	return 0, 0
}

// openedHere is where the file behind a descriptor is, by its own name.
func (t *Thread) openedHere(fd int) (location, linux.Errno) {
	if fd == linux.AT_FDCWD {
		return t.locate(fd, ".", true) // which cannot have another name
	}
	f, e := t.file(fd)
	if e != 0 {
		return location{}, e
	}
	h, ok := f.(*hostFile)
	if !ok {
		return location{}, linux.EXDEV
	}
	return location{fileAt: h.again(), guest: h.name(t.k), opened: h}, 0
}

// sysSymlink implements symlink(2).
func sysSymlink(t *Thread, a Args) (uint64, linux.Errno) {
	return t.symlink(a.Addr(0), linux.AT_FDCWD, a.Addr(1))
}

// sysSymlinkat implements symlinkat(2).
func sysSymlinkat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.symlink(a.Addr(0), a.Int(1), a.Addr(2))
}

func (t *Thread) symlink(target emu.Addr, dirfd int, name emu.Addr) (uint64, linux.Errno) {
	s, e := t.path(target)
	if e != 0 {
		return 0, e
	}
	if s == "" {
		return 0, linux.ENOENT
	}
	l, e := t.newName(dirfd, name)
	if e != 0 {
		return 0, e
	}
	return t.k.made(l, l.symlink(s))
}

// sysReadlink implements readlink(2).
func sysReadlink(t *Thread, a Args) (uint64, linux.Errno) {
	return t.readlink(linux.AT_FDCWD, a.Addr(0), a.Addr(1), a.Int(2))
}

// sysReadlinkat implements readlinkat(2).
func sysReadlinkat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.readlink(a.Int(0), a.Addr(1), a.Addr(2), a.Int(3))
}

func (t *Thread) readlink(dirfd int, name, buf emu.Addr, size int) (uint64, linux.Errno) {
	if size <= 0 {
		return 0, linux.EINVAL
	}
	s, e := t.path(name)
	if e != 0 {
		return 0, e
	}
	var target string
	if s == "" {
		// An O_PATH descriptor of a link itself.
		if dirfd == linux.AT_FDCWD {
			return 0, linux.ENOENT
		}
		f, e := t.file(dirfd)
		if e != 0 {
			return 0, e
		}
		h, ok := f.(*hostFile)
		if !ok {
			return 0, linux.ENOENT
		}
		if target, e = h.readlink(); e != 0 {
			return 0, e
		}
		return t.finishReadlink(target, buf, size)
	}
	l, e := t.locate(dirfd, s, false)
	switch {
	case e != 0:
		return 0, e
	case l.node != nil && l.node.mode&linux.S_IFMT != linux.S_IFLNK:
		return 0, linux.EINVAL
	case l.node != nil:
		if target = l.node.link(t); target == "" {
			return 0, linux.ENOENT
		}
	default:
		if target, e = l.readlink(); e != 0 {
			return 0, e
		}
	}
	return t.finishReadlink(target, buf, size)
}

func (t *Thread) finishReadlink(target string, buf emu.Addr, size int) (uint64, linux.Errno) {
	b := []byte(target)
	b = b[:min(len(b), size)]
	return uint64(len(b)), t.copyOut(buf, b)
}

// base is the last component of a path.
// atoi reads a decimal number, -1 if it is none.
func atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<30 {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	if s == "" {
		return -1
	}
	return n
}
