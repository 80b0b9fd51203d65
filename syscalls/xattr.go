package syscalls

import (
	"cmp"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An xattrTarget is what a call on extended attributes is about.
type xattrTarget struct {
	// A link at the end of the place is followed if follow is set.
	fileAt
	follow bool
	// changed is called after a change.
	changed func()
}

// xattrPath returns the target that a path names.
func (t *Thread) xattrPath(a emu.Addr, follow, change bool) (xattrTarget, linux.Errno) {
	s, e := t.path(a)
	if e != 0 {
		return xattrTarget{}, e
	}
	l, e := t.find(linux.AT_FDCWD, s, follow, change)
	if e == 0 && l.node != nil {
		if l, e = l.magic(follow); e != 0 {
			e = linux.EOPNOTSUPP
		}
	}
	if e == 0 && change {
		e = t.mayChange(l)
	}
	return xattrTarget{l.fileAt, follow, func() { t.k.event(l, follow, linux.IN_ATTRIB) }}, e
}

// xattrFile returns the target that a descriptor names.
func (t *Thread) xattrFile(fd int, change bool) (xattrTarget, linux.Errno) {
	f, e := t.file(fd)
	if e != 0 {
		return xattrTarget{}, e
	}
	h, ok := f.(*hostFile)
	switch {
	case f.base().flags&linux.O_PATH != 0:
		return xattrTarget{}, linux.EBADF
	case !ok:
		return xattrTarget{}, noXattr(t, f, change)
	case change && h.fixed(t):
		return xattrTarget{}, linux.EROFS
	}
	return xattrTarget{h.again(), true, func() { t.k.fileEvent(h, linux.IN_ATTRIB) }}, 0
}

// noXattr is what calls on extended attributes of a file of ours give: "only for regular files and directories" - xattr(7)
func noXattr(t *Thread, f file, change bool) linux.Errno {
	st, e := f.stat(t)
	switch kind := st.mode & linux.S_IFMT; {
	case e != 0 || kind == linux.S_IFREG || kind == linux.S_IFDIR:
		return linux.EOPNOTSUPP
	case change:
		return linux.EPERM
	}
	return linux.ENODATA
}

// xattrName reads an attribute's name. Those that are not the user's are the host's business.
func (t *Thread) xattrName(a emu.Addr) (string, linux.Errno) {
	name, ok := t.p.mem.ReadString(a, linux.XATTR_NAME_MAX+1)
	switch {
	case !ok:
		return "", linux.EFAULT
	case name == "" || len(name) > linux.XATTR_NAME_MAX:
		return "", linux.ERANGE
	case !strings.HasPrefix(name, "user."):
		return "", linux.EOPNOTSUPP
	case name == "user.":
		return "", linux.EINVAL
	}
	return name, 0
}

// xattrOf reads the name of an attribute of a file that was found, or not with e.
func (t *Thread) xattrOf(e linux.Errno, a emu.Addr) (string, linux.Errno) {
	name, ne := t.xattrName(a)
	if ne != 0 && ne != linux.EOPNOTSUPP && ne != linux.EINVAL {
		return "", ne
	}
	return name, cmp.Or(e, ne)
}

func (t *Thread) setxattr(x xattrTarget, e linux.Errno, a Args) (uint64, linux.Errno) {
	flags := a.Int(4)
	if flags&^(linux.XATTR_CREATE|linux.XATTR_REPLACE) != 0 {
		return 0, linux.EINVAL
	}
	name, ne := t.xattrName(a.Addr(1))
	if ne != 0 && ne != linux.EOPNOTSUPP && ne != linux.EINVAL {
		return 0, ne
	}
	if a.Uint(3) > linux.XATTR_SIZE_MAX {
		return 0, linux.E2BIG
	}
	value, ve := t.copyIn(a.Addr(2), int(a.Uint(3)))
	for _, e := range []linux.Errno{ve, e, ne} {
		if e != 0 {
			return 0, e
		}
	}
	if e = x.setxattr(name, value, flags, x.follow); e == 0 {
		x.changed()
	}
	return 0, e
}

func (t *Thread) getxattr(x xattrTarget, e linux.Errno, a Args) (uint64, linux.Errno) {
	name, e := t.xattrOf(e, a.Addr(1))
	if e != 0 {
		return 0, e
	}
	value, e := x.getxattr(name, x.follow)
	return t.xattrOut(value, e, a.Addr(2), a.Uint(3))
}

// xattrOut returns b in a buffer of size bytes, or how large it has to be.
func (t *Thread) xattrOut(b []byte, e linux.Errno, at emu.Addr, size uint64) (uint64, linux.Errno) {
	switch {
	case e != 0:
		return 0, e
	case size == 0:
		return uint64(len(b)), 0
	case uint64(len(b)) > size:
		return 0, linux.ERANGE
	}
	return uint64(len(b)), t.copyOut(at, b)
}

// listxattr lists the user's attributes, in order.
func (t *Thread) listxattr(x xattrTarget, e linux.Errno, a Args) (uint64, linux.Errno) {
	if e != 0 {
		return 0, e
	}
	names, e := x.listxattr(x.follow)
	var b []byte
	for _, name := range names {
		if strings.HasPrefix(name, "user.") {
			b = append(append(b, name...), 0)
		}
	}
	return t.xattrOut(b, e, a.Addr(1), a.Uint(2))
}

func (t *Thread) removexattr(x xattrTarget, e linux.Errno, a Args) (uint64, linux.Errno) {
	name, e := t.xattrOf(e, a.Addr(1))
	if e != 0 {
		return 0, e
	}
	if e = x.removexattr(name, x.follow); e == 0 {
		x.changed()
	}
	return 0, e
}

// An xattrCall does what calls on a file's attributes do, once the file was found or not.
type xattrCall func(t *Thread, x xattrTarget, e linux.Errno, a Args) (uint64, linux.Errno)

// xattrOnPath, xattrOnLink and xattrOnFD make calls that name the file in one of three ways.
func xattrOnPath(change bool, do xattrCall) handler {
	return func(t *Thread, a Args) (uint64, linux.Errno) {
		x, e := t.xattrPath(a.Addr(0), true, change)
		return do(t, x, e, a)
	}
}

func xattrOnLink(change bool, do xattrCall) handler {
	return func(t *Thread, a Args) (uint64, linux.Errno) {
		x, e := t.xattrPath(a.Addr(0), false, change)
		return do(t, x, e, a)
	}
}

func xattrOnFD(change bool, do xattrCall) handler {
	return func(t *Thread, a Args) (uint64, linux.Errno) {
		x, e := t.xattrFile(a.Int(0), change)
		return do(t, x, e, a)
	}
}
