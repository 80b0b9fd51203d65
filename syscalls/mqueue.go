package syscalls

import (
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// mqName reads the name of a message queue: one component, without slashes.
func mqName(t *task.Thread, a emu.Addr) (string, linux.Errno) {
	name, e := t.Path(a)
	switch {
	case e != 0:
		return "", e
	case name == "":
		return "", linux.ENOENT
	case strings.Contains(name, "/") || name == "." || name == "..":
		return "", linux.EACCES
	case len(name) > 255:
		return "", linux.ENAMETOOLONG
	}
	return name, 0
}

// sysMqOpen implements mq_open(2).
func sysMqOpen(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	name, e := mqName(t, a.Addr(0))
	if e != 0 {
		return 0, e
	}
	flags := a.Int(1)
	q := ipc.NamespaceOf(t.Kernel).Queues[name]
	switch {
	case q != nil && flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL:
		return 0, linux.EEXIST
	case q == nil && flags&linux.O_CREAT == 0:
		return 0, linux.ENOENT
	case q == nil:
		if q, e = ipc.NewQueue(t, name, a.U32(2), a.Addr(3)); e != 0 {
			return 0, e
		}
	case flags&linux.O_ACCMODE == linux.O_ACCMODE:
		return 0, linux.EINVAL
	default:
		want := [...]uint32{linux.O_RDONLY: 4, linux.O_WRONLY: 2, linux.O_RDWR: 6}[flags&linux.O_ACCMODE]
		if want&^(q.Mode>>6) != 0 {
			return 0, linux.EACCES
		}
	}
	return files.Install(t, ipc.NewQueueFile(files.FileBase{Flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), Path: "/" + name}, q), flags|linux.O_CLOEXEC)
}

// sysMqUnlink implements mq_unlink(2).
func sysMqUnlink(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	name, e := mqName(t, a.Addr(0))
	if e != 0 {
		return 0, e
	}
	if ipc.NamespaceOf(t.Kernel).Queues[name] == nil {
		return 0, linux.ENOENT
	}
	ipc.NamespaceOf(t.Kernel).UnlinkQueue(name)
	return 0, 0
}

// getQueue returns the message queue behind descriptor fd.
func getQueue(t *task.Thread, fd int) (*ipc.QueueFile, linux.Errno) {
	f, e := files.GetRawFile(t, fd)
	if e != 0 {
		return nil, e
	}
	if m, ok := f.(*ipc.QueueFile); ok {
		return m, 0
	}
	return nil, linux.EBADF
}

// mqDeadline sets the deadline of t's call from an absolute time of the wall clock.
func mqDeadline(t *task.Thread, a emu.Addr) linux.Errno {
	t.Call.Deadline = task.Never
	if a == 0 {
		return 0
	}
	at, e := t.Timespec(a)
	if e == 0 {
		t.Call.Deadline = t.Kernel.After(max(at-t.Kernel.Wall(), 0))
	}
	return e
}

// sysMqTimedsend implements mq_timedsend(2).
func sysMqTimedsend(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if e := mqDeadline(t, a.Addr(4)); e != 0 {
		return 0, e
	}
	priority := a.U32(3)
	if priority >= ipc.MqPriorities {
		return 0, linux.EINVAL
	}
	f, e := getQueue(t, a.Int(0))
	switch {
	case e != 0:
		return 0, e
	case !f.Writable():
		return 0, linux.EBADF
	case a.Uint(2) > uint64(f.Q.MaxSize):
		return 0, linux.EMSGSIZE
	}
	text, e := t.CopyIn(a.Addr(1), int(a.Uint(2)))
	if e != 0 {
		return 0, e
	}
	return ipc.SendToQueue(t, f, ipc.QueueMessage{Priority: priority, Text: text})
}

// sysMqTimedreceive implements mq_timedreceive(2).
func sysMqTimedreceive(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if e := mqDeadline(t, a.Addr(4)); e != 0 {
		return 0, e
	}
	f, e := getQueue(t, a.Int(0))
	switch {
	case e != 0:
		return 0, e
	case !f.Readable():
		return 0, linux.EBADF
	case a.Uint(2) < uint64(f.Q.MaxSize):
		return 0, linux.EMSGSIZE
	}
	return ipc.ReceiveFromQueue(t, f, a)
}

// sysMqNotify implements mq_notify(2) for signals. SIGEV_THREAD is refused: it needs a netlink socket of its own kind.
func sysMqNotify(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	n := &ipc.QueueNotify{Process: t.Process}
	if a.Addr(1) != 0 {
		b, e := t.CopyIn(a.Addr(1), 64)
		if e != 0 {
			return 0, e
		}
		n.Value, n.Signo, n.How = linux.Uint64(b), int(int32(linux.Uint32(b[8:]))), int(linux.Uint32(b[12:]))
		if n.How != linux.SIGEV_SIGNAL && n.How != linux.SIGEV_NONE || n.How == linux.SIGEV_SIGNAL && (n.Signo < 0 || n.Signo > linux.NSIG) {
			return 0, linux.EINVAL
		}
	}
	f, e := getQueue(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	n.File = f
	switch q := f.Q; {
	case a.Addr(1) == 0 && (q.Notify == nil || q.Notify.Process != t.Process):
	case a.Addr(1) == 0:
		q.Notify = nil
	case q.Notify != nil:
		return 0, linux.EBUSY
	default:
		q.Notify = n
	}
	return 0, 0
}

// sysMqGetsetattr implements mq_getsetattr(2).
func sysMqGetsetattr(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	var set []byte
	if a.Addr(1) != 0 {
		var e linux.Errno
		if set, e = t.CopyIn(a.Addr(1), 64); e != 0 {
			return 0, e
		}
		if linux.Uint64(set)&^linux.O_NONBLOCK != 0 {
			return 0, linux.EINVAL
		}
	}
	f, e := getQueue(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	old := linux.U64s(uint64(f.Flags&linux.O_NONBLOCK), uint64(f.Q.MaxMsg), uint64(f.Q.MaxSize), uint64(len(f.Q.Messages)), 0, 0, 0, 0)
	if set != nil {
		f.Flags = f.Flags&^linux.O_NONBLOCK | int(linux.Uint64(set))
	}
	return 0, t.CopyOutIf(a.Addr(2), old)
}
