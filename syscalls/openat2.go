package syscalls

import (
	"path"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// resolveAll are all ways of openat2(2) to resolve a path (RESOLVE_).
const resolveAll = 0x3f

const openHowSize = 24 // struct open_how

// openFlags64 are the flags that openat2(2) knows.
const (
	openFlags64 = linux.O_ACCMODE | linux.O_CREAT | linux.O_EXCL | linux.O_NOCTTY | linux.O_TRUNC | linux.O_APPEND | linux.O_NONBLOCK | linux.O_SYNC | linux.O_DSYNC | linux.O_ASYNC | linux.O_DIRECT |
		linux.O_LARGEFILE | linux.O_DIRECTORY | linux.O_NOFOLLOW | linux.O_NOATIME | linux.O_CLOEXEC | linux.O_PATH | linux.O_TMPFILE
)

// sysOpenat2 implements openat2(2).
func sysOpenat2(t *Thread, a Args) (uint64, linux.Errno) {
	size := a.Uint(3)
	if size < openHowSize {
		return 0, linux.EINVAL
	}
	if size > 4096 {
		return 0, linux.E2BIG
	}
	b, e := t.copyIn(a.Addr(2), int(size))
	if e != 0 {
		return 0, e
	}
	for _, c := range b[openHowSize:] {
		if c != 0 {
			return 0, linux.E2BIG
		}
	}
	flags, mode, rules := int(le64(b)), le64(b[8:]), le64(b[16:])
	makes := flags&linux.O_CREAT != 0 || flags&linux.O_TMPFILE == linux.O_TMPFILE
	switch {
	case flags&^openFlags64 != 0, rules&^resolveAll != 0, rules&linux.RESOLVE_BENEATH != 0 && rules&linux.RESOLVE_IN_ROOT != 0,
		mode != 0 && !makes, mode&^0o7777 != 0, flags&linux.O_PATH != 0 && flags&^(linux.O_PATH|linux.O_DIRECTORY|linux.O_NOFOLLOW|linux.O_CLOEXEC) != 0,
		flags&linux.O_TMPFILE&^linux.O_DIRECTORY != 0 && (flags&linux.O_TMPFILE != linux.O_TMPFILE || flags&linux.O_ACCMODE == linux.O_RDONLY):
		return 0, linux.EINVAL
	case rules&linux.RESOLVE_CACHED != 0 && (makes || flags&linux.O_TRUNC != 0):
		return 0, linux.EAGAIN
	}
	s, e := t.path(a.Addr(1))
	if e == 0 && s == "" {
		e = linux.ENOENT
	}
	if e == 0 {
		e = t.reserve()
	}
	if e != 0 {
		return 0, e
	}
	follow := flags&linux.O_NOFOLLOW == 0 && flags&(linux.O_CREAT|linux.O_EXCL) != linux.O_CREAT|linux.O_EXCL
	l, e := t.locateBy(a.Int(0), s, follow, changing(flags), rules)
	if e != 0 {
		return 0, e
	}
	return t.openFound(l, flags, uint32(mode))
}

// locateBy is find by the rules of openat2(2).
func (t *Thread) locateBy(dirfd int, name string, follow, change bool, rules uint64) (location, linux.Errno) {
	rules &= linux.RESOLVE_NO_MAGICLINKS | linux.RESOLVE_NO_SYMLINKS | linux.RESOLVE_BENEATH | linux.RESOLVE_IN_ROOT
	if filesOf(t).noMagic = rules&linux.RESOLVE_NO_MAGICLINKS != 0; filesOf(t).noMagic {
		defer func() { filesOf(t).noMagic = false }()
	}
	if rules == 0 || name == "" {
		return t.find(dirfd, name, follow, change)
	}
	d, e := t.start(dirfd)
	switch {
	case e != 0 && path.IsAbs(name) && rules&(linux.RESOLVE_BENEATH|linux.RESOLVE_IN_ROOT) == 0:
		d = dirRef{fileRef: fsOf(t.k).root.ref()}
	case e != 0:
		return location{}, e
	case d.virtual:
		return t.find(dirfd, name, follow, change)
	}
	return t.resolveBy(d, name, follow, rules)
}
