package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysEpollCreate implements epoll_create(2).
func sysEpollCreate(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(0) <= 0 {
		return 0, linux.EINVAL
	}
	return epollCreate(t, 0)
}

// sysEpollCreate1 implements epoll_create1(2).
func sysEpollCreate1(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(0)&^linux.O_CLOEXEC != 0 {
		return 0, linux.EINVAL
	}
	return epollCreate(t, a.Int(0))
}

func epollCreate(t *task.Thread, flags int) (uint64, linux.Errno) {
	f := &files.EpollFile{FileBase: files.FileBase{Flags: linux.O_RDWR, Path: "anon_inode:[eventpoll]"}}
	files.SystemOf(t.Kernel).Epolls = append(files.SystemOf(t.Kernel).Epolls, f)
	return files.Install(t, f, flags)
}

// sysEpollCtl implements epoll_ctl(2).
func sysEpollCtl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	op, fd := a.Int(1), a.Int(2)
	var events uint32
	var data uint64
	if op != linux.EPOLL_CTL_DEL {
		b, e := t.CopyIn(a.Addr(3), 12)
		if e != 0 {
			return 0, e
		}
		events, data = linux.Uint32(b), linux.Uint64(b[4:])
	}
	if _, e := files.GetFile(t, a.Int(0)); e != 0 {
		return 0, e
	}
	f, e := files.GetFile(t, fd)
	if e != 0 {
		return 0, e
	}
	if !pollable(f) {
		return 0, linux.EPERM
	}
	ep, e := files.GetEpoll(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f == files.File(ep) || op != linux.EPOLL_CTL_DEL && events&linux.EPOLLEXCLUSIVE != 0 && !mayExclude(f, op, events) {
		return 0, linux.EINVAL
	}
	i := slices.IndexFunc(ep.Items, func(it *files.EpollItem) bool { return it.File == f && it.FD == fd })
	switch {
	case op == linux.EPOLL_CTL_ADD && i >= 0:
		return 0, linux.EEXIST
	case op == linux.EPOLL_CTL_ADD && files.EpollLoops(t.Kernel, ep, f):
		return 0, linux.ELOOP
	case op == linux.EPOLL_CTL_ADD:
		ep.Add(&files.EpollItem{File: f, FD: fd, Events: events, Data: data})
	case op != linux.EPOLL_CTL_MOD && op != linux.EPOLL_CTL_DEL:
		return 0, linux.EINVAL
	case i < 0:
		return 0, linux.ENOENT
	case op == linux.EPOLL_CTL_MOD && ep.Items[i].Events&linux.EPOLLEXCLUSIVE != 0:
		return 0, linux.EINVAL
	case op == linux.EPOLL_CTL_MOD:
		it := ep.Items[i]
		ep.Comings += it.File.Wakes(it.Events)
		it.Events, it.Data, it.Seen = events, data, 0
	case op == linux.EPOLL_CTL_DEL:
		it := ep.Items[i]
		ep.Remove(func(o *files.EpollItem) bool { return o == it })
	}
	return 0, 0
}

// pollable reports whether f has anything to wait for.
func pollable(f files.File) bool {
	return f.Traits()&files.Unpollable == 0
}

// mayExclude reports whether EPOLLEXCLUSIVE goes with the rest: only where a file is added that is no epoll, and only
// with events that wake whoever waits.
func mayExclude(f files.File, op int, events uint32) bool {
	_, nested := f.(*files.EpollFile)
	return op == linux.EPOLL_CTL_ADD && !nested && events&^(linux.POLLIN|linux.POLLOUT|linux.POLLERR|linux.POLLHUP|linux.EPOLLWAKEUP|linux.EPOLLET|linux.EPOLLEXCLUSIVE) == 0
}

// sysEpollWait implements epoll_wait(2).
func sysEpollWait(t *task.Thread, a uio.Args) (uint64, linux.Errno) { return epollWaitMs(t, a) }

func epollWaitMs(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	d := int64(-1)
	if ms := a.Int(3); ms >= 0 {
		d = int64(ms) * 1e6
	}
	setDeadline(t, d)
	return files.EpollWait(t, a, d == 0)
}

// sysEpollPwait implements epoll_pwait(2).
func sysEpollPwait(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if e := callMask(t, a.Addr(4), a.Uint(5)); e != 0 {
		return 0, e
	}
	n, e := epollWaitMs(t, a)
	return dropMask(t, n, e)
}

// sysEpollPwait2 implements epoll_pwait2(2).
func sysEpollPwait2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(3) != 0 {
		var e linux.Errno
		if d, e = t.Timespec(a.Addr(3)); e != 0 {
			return 0, e
		}
	}
	if e := callMask(t, a.Addr(4), a.Uint(5)); e != 0 {
		return 0, e
	}
	setDeadline(t, d)
	n, e := files.EpollWait(t, a, d == 0)
	return dropMask(t, n, e)
}
