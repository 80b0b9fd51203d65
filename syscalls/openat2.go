package syscalls

import (
	"path"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// resolveAll are all ways of openat2(2) to resolve a path (RESOLVE_).
const resolveAll = 0x3f

const openHowSize = 24 // struct open_how

// sysOpenat2 implements openat2(2).
func sysOpenat2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	size := a.Uint(3)
	if size < openHowSize {
		return 0, linux.EINVAL
	}
	if size > 4096 {
		return 0, linux.E2BIG
	}
	b, e := t.CopyIn(a.Addr(2), int(size))
	if e != 0 {
		return 0, e
	}
	for _, c := range b[openHowSize:] {
		if c != 0 {
			return 0, linux.E2BIG
		}
	}
	flags, mode, rules := int(linux.Uint64(b)), linux.Uint64(b[8:]), linux.Uint64(b[16:])
	makes := flags&linux.O_CREAT != 0 || flags&linux.O_TMPFILE == linux.O_TMPFILE
	switch {
	case flags&^files.OpenFlags64 != 0, rules&^resolveAll != 0, rules&linux.RESOLVE_BENEATH != 0 && rules&linux.RESOLVE_IN_ROOT != 0,
		mode != 0 && !makes, mode&^0o7777 != 0, flags&linux.O_PATH != 0 && flags&^(linux.O_PATH|linux.O_DIRECTORY|linux.O_NOFOLLOW|linux.O_CLOEXEC) != 0,
		flags&linux.O_TMPFILE&^linux.O_DIRECTORY != 0 && (flags&linux.O_TMPFILE != linux.O_TMPFILE || flags&linux.O_ACCMODE == linux.O_RDONLY):
		return 0, linux.EINVAL
	case rules&linux.RESOLVE_CACHED != 0 && (makes || flags&linux.O_TRUNC != 0):
		return 0, linux.EAGAIN
	}
	s, e := t.Path(a.Addr(1))
	if e == 0 && s == "" {
		e = linux.ENOENT
	}
	if e == 0 {
		e = files.Reserve(t)
	}
	if e != 0 {
		return 0, e
	}
	l, e := locateBy(t, a.Int(0), s, files.OpenLookup(flags), rules)
	if e != 0 {
		return 0, e
	}
	return openFound(t, l, flags, uint32(mode))
}

// locateBy is files.Find by the rules of openat2(2).
func locateBy(t *task.Thread, dirfd int, name string, how files.Lookup, rules uint64) (files.Location, linux.Errno) {
	rules &= linux.RESOLVE_NO_MAGICLINKS | linux.RESOLVE_NO_SYMLINKS | linux.RESOLVE_BENEATH | linux.RESOLVE_IN_ROOT
	if rules&linux.RESOLVE_NO_MAGICLINKS != 0 {
		how |= files.LookupNoMagic
	}
	if rules == 0 || name == "" {
		return files.Find(t, dirfd, name, how)
	}
	d, e := files.Start(t, dirfd)
	switch {
	case e != 0 && path.IsAbs(name) && rules&(linux.RESOLVE_BENEATH|linux.RESOLVE_IN_ROOT) == 0:
		d = files.DirRef{FileRef: files.SystemOf(t.Kernel).Root.Ref()}
	case e != 0:
		return files.Location{}, e
	case d.Virtual:
		return files.Find(t, dirfd, name, how)
	}
	return files.ResolveBy(t, d, name, how, rules)
}
