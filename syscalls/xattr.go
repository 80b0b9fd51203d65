package syscalls

import (
	"cmp"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// An xattrTarget is what a call on extended attributes is about.
type xattrTarget struct {
	// A link at the end of the place is followed if follow is set.
	files.FileAt
	follow bool
	// changed is called after a change.
	changed func()
}

// xattrPath returns the target that a path names.
func xattrPath(t *task.Thread, a emu.Addr, follow, change bool) (xattrTarget, linux.Errno) {
	s, e := t.Path(a)
	if e != 0 {
		return xattrTarget{}, e
	}
	how := files.Following(follow)
	if change {
		how |= files.LookupChange
	}
	l, e := files.Find(t, linux.AT_FDCWD, s, how)
	if e == 0 && l.Node != nil {
		if l, e = l.Magic(follow); e != 0 {
			e = linux.EOPNOTSUPP
		}
	}
	if e == 0 && change {
		e = files.MayChange(t, l)
	}
	return xattrTarget{l.FileAt, follow, func() { event(t.Kernel, l, follow, linux.IN_ATTRIB) }}, e
}

// xattrFile returns the target that a descriptor names.
func xattrFile(t *task.Thread, fd int, change bool) (xattrTarget, linux.Errno) {
	f, e := files.GetRawFile(t, fd)
	if e != 0 {
		return xattrTarget{}, e
	}
	h, ok := f.(*files.HostFile)
	switch {
	case f.Base().Flags&linux.O_PATH != 0:
		return xattrTarget{}, linux.EBADF
	case !ok:
		return xattrTarget{}, noXattr(t, f, change)
	case change && h.Fixed(t):
		return xattrTarget{}, linux.EROFS
	}
	return xattrTarget{h.Again(), true, func() { files.FileEvent(t.Kernel, h, linux.IN_ATTRIB) }}, 0
}

// noXattr is what calls on extended attributes of a file of ours give: "only for regular files and directories" -
// xattr(7)
func noXattr(t *task.Thread, f files.File, change bool) linux.Errno {
	st, e := f.Stat(t)
	switch kind := st.Mode & linux.S_IFMT; {
	case e != 0 || kind == linux.S_IFREG || kind == linux.S_IFDIR:
		return linux.EOPNOTSUPP
	case change:
		return linux.EPERM
	}
	return linux.ENODATA
}

// xattrName reads an attribute's name. Those that are not the user's are the host's business.
func xattrName(t *task.Thread, a emu.Addr) (string, linux.Errno) {
	name, ok := t.Process.Mem.ReadString(a, linux.XATTR_NAME_MAX+1)
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
func xattrOf(t *task.Thread, e linux.Errno, a emu.Addr) (string, linux.Errno) {
	name, ne := xattrName(t, a)
	if ne != 0 && ne != linux.EOPNOTSUPP && ne != linux.EINVAL {
		return "", ne
	}
	return name, cmp.Or(e, ne)
}

func setxattr(t *task.Thread, x xattrTarget, e linux.Errno, a uio.Args) (uint64, linux.Errno) {
	flags := a.Int(4)
	if flags&^(linux.XATTR_CREATE|linux.XATTR_REPLACE) != 0 {
		return 0, linux.EINVAL
	}
	name, ne := xattrName(t, a.Addr(1))
	if ne != 0 && ne != linux.EOPNOTSUPP && ne != linux.EINVAL {
		return 0, ne
	}
	if a.Uint(3) > linux.XATTR_SIZE_MAX {
		return 0, linux.E2BIG
	}
	value, ve := t.CopyIn(a.Addr(2), int(a.Uint(3)))
	for _, e := range []linux.Errno{ve, e, ne} {
		if e != 0 {
			return 0, e
		}
	}
	if e = x.Setxattr(name, value, flags, x.follow); e == 0 {
		x.changed()
	}
	return 0, e
}

func getxattr(t *task.Thread, x xattrTarget, e linux.Errno, a uio.Args) (uint64, linux.Errno) {
	name, e := xattrOf(t, e, a.Addr(1))
	if e != 0 {
		return 0, e
	}
	value, e := x.Getxattr(name, x.follow)
	return xattrOut(t, value, e, a.Addr(2), a.Uint(3))
}

// xattrOut returns b in a buffer of size bytes, or how large it has to be.
func xattrOut(t *task.Thread, b []byte, e linux.Errno, at emu.Addr, size uint64) (uint64, linux.Errno) {
	switch {
	case e != 0:
		return 0, e
	case size == 0:
		return uint64(len(b)), 0
	case uint64(len(b)) > size:
		return 0, linux.ERANGE
	}
	return uint64(len(b)), t.CopyOut(at, b)
}

// listxattr lists the user's attributes, in order.
func listxattr(t *task.Thread, x xattrTarget, e linux.Errno, a uio.Args) (uint64, linux.Errno) {
	if e != 0 {
		return 0, e
	}
	names, e := x.Listxattr(x.follow)
	var b []byte
	for _, name := range names {
		if strings.HasPrefix(name, "user.") {
			b = append(append(b, name...), 0)
		}
	}
	return xattrOut(t, b, e, a.Addr(1), a.Uint(2))
}

func removexattr(t *task.Thread, x xattrTarget, e linux.Errno, a uio.Args) (uint64, linux.Errno) {
	name, e := xattrOf(t, e, a.Addr(1))
	if e != 0 {
		return 0, e
	}
	if e = x.Removexattr(name, x.follow); e == 0 {
		x.changed()
	}
	return 0, e
}

// An xattrCall does what calls on a file's attributes do, once the file was found or not.
type xattrCall func(t *task.Thread, x xattrTarget, e linux.Errno, a uio.Args) (uint64, linux.Errno)

// xattrOnPath, xattrOnLink and xattrOnFD make calls that name the file in one of three ways.
func xattrOnPath(change bool, do xattrCall) task.Handler {
	return func(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
		x, e := xattrPath(t, a.Addr(0), true, change)
		return do(t, x, e, a)
	}
}

func xattrOnLink(change bool, do xattrCall) task.Handler {
	return func(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
		x, e := xattrPath(t, a.Addr(0), false, change)
		return do(t, x, e, a)
	}
}

func xattrOnFD(change bool, do xattrCall) task.Handler {
	return func(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
		x, e := xattrFile(t, a.Int(0), change)
		return do(t, x, e, a)
	}
}
