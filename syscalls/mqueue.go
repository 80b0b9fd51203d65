package syscalls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Limits of POSIX message queues (mq_overview(7)).
const (
	mqMaxMsg     = 10
	mqMaxSize    = 8192
	mqPriorities = 32768
)

// An mqueue is a POSIX message queue.
type mqueue struct {
	ino      uint64
	mode     uint32
	maxMsg   int
	maxSize  int
	messages []mqMessage // by priority, then first come first served
	// notify is who is told of a message that comes when there is none, and nobody waits.
	notify *mqNotify
	wakeups
}

type mqMessage struct {
	priority uint32
	text     []byte
}

// An mqNotify is what mq_notify(3) asked for.
type mqNotify struct {
	p     *Process
	file  *mqFile
	how   int
	signo int
	value uint64
}

// An mqFile is an open message queue.
type mqFile struct {
	fileBase
	q   *mqueue
	pos int64
}

// mqName reads the name of a queue, which is one file's in a directory of its own.
func (t *Thread) mqName(a emu.Addr) (string, linux.Errno) {
	name, e := t.path(a)
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
func sysMqOpen(t *Thread, a Args) (uint64, linux.Errno) {
	name, e := t.mqName(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	flags := a.Int(1)
	q := ipcOf(t.k).queues[name]
	switch {
	case q != nil && flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL:
		return 0, linux.EEXIST
	case q == nil && flags&linux.O_CREAT == 0:
		return 0, linux.ENOENT
	case q == nil:
		if q, e = t.newQueue(a.U32(2), a.Addr(3)); e != 0 {
			return 0, e
		}
		ipcOf(t.k).queues[name] = q
	case flags&linux.O_ACCMODE == linux.O_ACCMODE:
		return 0, linux.EINVAL
	default:
		want := [...]uint32{linux.O_RDONLY: 4, linux.O_WRONLY: 2, linux.O_RDWR: 6}[flags&linux.O_ACCMODE]
		if want&^(q.mode>>6) != 0 {
			return 0, linux.EACCES
		}
	}
	return t.install(&mqFile{fileBase: fileBase{flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), path: "/" + name}, q: q}, flags|linux.O_CLOEXEC)
}

// newQueue makes a queue with the attributes at a, if there are any.
func (t *Thread) newQueue(mode uint32, a emu.Addr) (*mqueue, linux.Errno) {
	q := &mqueue{maxMsg: mqMaxMsg, maxSize: mqMaxSize, mode: mode & 0o777 &^ filesOf(t).umask}
	if a != 0 {
		b, e := t.copyIn(a, 64)
		if e != 0 {
			return nil, e
		}
		n, size := int64(le64(b[8:])), int64(le64(b[16:]))
		if n <= 0 || size <= 0 || n > mqMaxMsg || size > mqMaxSize {
			return nil, linux.EINVAL
		}
		q.maxMsg, q.maxSize = int(n), int(size)
	}
	q.ino = fsOf(t.k).inodes.unnamed()
	return q, 0
}

// sysMqUnlink implements mq_unlink(2).
func sysMqUnlink(t *Thread, a Args) (uint64, linux.Errno) {
	name, e := t.mqName(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	if ipcOf(t.k).queues[name] == nil {
		return 0, linux.ENOENT
	}
	delete(ipcOf(t.k).queues, name)
	return 0, 0
}

// mqFile returns the queue behind fd.
func (t *Thread) mqFile(fd int) (*mqFile, linux.Errno) {
	f, e := t.file(fd)
	if e != 0 {
		return nil, e
	}
	if m, ok := f.(*mqFile); ok {
		return m, 0
	}
	return nil, linux.EBADF
}

// mqDeadline sets the call's deadline from an absolute time of the wall clock.
func (t *Thread) mqDeadline(a emu.Addr) linux.Errno {
	t.call.deadline = never
	if a == 0 {
		return 0
	}
	at, e := t.timespec(a)
	if e == 0 {
		t.call.deadline = t.k.after(max(at-t.k.wall(), 0))
	}
	return e
}

// sysMqTimedsend implements mq_timedsend(2).
func sysMqTimedsend(t *Thread, a Args) (uint64, linux.Errno) {
	if e := t.mqDeadline(a.Addr(4)); e != 0 {
		return 0, e
	}
	priority := a.U32(3)
	if priority >= mqPriorities {
		return 0, linux.EINVAL
	}
	f, e := t.mqFile(a.Int(0))
	switch {
	case e != 0:
		return 0, e
	case !f.writable():
		return 0, linux.EBADF
	case a.Uint(2) > uint64(f.q.maxSize):
		return 0, linux.EMSGSIZE
	}
	text, e := t.copyIn(a.Addr(1), int(a.Uint(2)))
	if e != 0 {
		return 0, e
	}
	return t.mqSend(f, mqMessage{priority, text})
}

// mqSend puts m into f's queue, and waits until there is room.
func (t *Thread) mqSend(f *mqFile, m mqMessage) (uint64, linux.Errno) {
	q := f.q
	if len(q.messages) >= q.maxMsg {
		switch {
		case f.nonblock():
			return 0, linux.EAGAIN
		case t.timedOut():
			return 0, linux.ETIMEDOUT
		}
		filesOf(t).call.hold(f)
		w := wait{deadline: t.call.deadline, ready: func() bool { return len(q.messages) < q.maxMsg }}
		return t.block(w, func() (uint64, linux.Errno) { return t.mqSend(f, m) })
	}
	i := slices.IndexFunc(q.messages, func(o mqMessage) bool { return o.priority < m.priority })
	if i < 0 {
		i = len(q.messages)
	}
	q.messages = slices.Insert(q.messages, i, m)
	if !q.awaited(t.k) {
		q.wake(linux.POLLIN | linux.POLLOUT)
		if len(q.messages) == 1 {
			q.tell(t)
		}
	}
	return 0, 0
}

// awaited reports whether a thread waits for a message.
func (q *mqueue) awaited(k *Kernel) bool {
	return slices.ContainsFunc(k.waiting, func(t *Thread) bool { return t.call.wait.on == any(q) })
}

// tell sends what mq_notify(3) asked for, once.
func (q *mqueue) tell(from *Thread) {
	n := q.notify
	if n == nil {
		return
	}
	q.notify = nil
	if n.how == linux.SIGEV_SIGNAL {
		s := infoFromProcess(from.p, n.signo, linux.SI_MESGQ)
		put64(s.fields[8:], n.value)
		n.p.send(s)
	}
}

// sysMqTimedreceive implements mq_timedreceive(2).
func sysMqTimedreceive(t *Thread, a Args) (uint64, linux.Errno) {
	if e := t.mqDeadline(a.Addr(4)); e != 0 {
		return 0, e
	}
	f, e := t.mqFile(a.Int(0))
	switch {
	case e != 0:
		return 0, e
	case !f.readable():
		return 0, linux.EBADF
	case a.Uint(2) < uint64(f.q.maxSize):
		return 0, linux.EMSGSIZE
	}
	return t.mqReceive(f, a)
}

// mqReceive takes the first message of f's queue, and waits until there is one.
func (t *Thread) mqReceive(f *mqFile, a Args) (uint64, linux.Errno) {
	q := f.q
	if len(q.messages) == 0 {
		switch {
		case f.nonblock():
			return 0, linux.EAGAIN
		case t.timedOut():
			return 0, linux.ETIMEDOUT
		}
		filesOf(t).call.hold(f)
		w := wait{deadline: t.call.deadline, on: q, ready: func() bool { return len(q.messages) > 0 }}
		return t.block(w, func() (uint64, linux.Errno) { return t.mqReceive(f, a) })
	}
	m := q.messages[0]
	q.messages = slices.Delete(q.messages, 0, 1)
	q.wake(linux.POLLIN | linux.POLLOUT)
	if a.Addr(3) != 0 {
		if e := t.out32(a.Addr(3), m.priority); e != 0 {
			return 0, e
		}
	}
	return uint64(len(m.text)), t.copyOut(a.Addr(1), m.text)
}

// sysMqNotify implements mq_notify(2): signals; threads need a netlink socket.
func sysMqNotify(t *Thread, a Args) (uint64, linux.Errno) {
	n := &mqNotify{p: t.p}
	if a.Addr(1) != 0 {
		b, e := t.copyIn(a.Addr(1), 64)
		if e != 0 {
			return 0, e
		}
		n.value, n.signo, n.how = le64(b), int(int32(le32(b[8:]))), int(le32(b[12:]))
		if n.how != linux.SIGEV_SIGNAL && n.how != linux.SIGEV_NONE || n.how == linux.SIGEV_SIGNAL && (n.signo < 0 || n.signo > linux.NSIG) {
			return 0, linux.EINVAL
		}
	}
	f, e := t.mqFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	n.file = f
	switch q := f.q; {
	case a.Addr(1) == 0 && (q.notify == nil || q.notify.p != t.p):
	case a.Addr(1) == 0:
		q.notify = nil
	case q.notify != nil:
		return 0, linux.EBUSY
	default:
		q.notify = n
	}
	return 0, 0
}

// sysMqGetsetattr implements mq_getsetattr(2).
func sysMqGetsetattr(t *Thread, a Args) (uint64, linux.Errno) {
	var set []byte
	if a.Addr(1) != 0 {
		var e linux.Errno
		if set, e = t.copyIn(a.Addr(1), 64); e != 0 {
			return 0, e
		}
		if le64(set)&^linux.O_NONBLOCK != 0 {
			return 0, linux.EINVAL
		}
	}
	f, e := t.mqFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	old := u64s(uint64(f.flags&linux.O_NONBLOCK), uint64(f.q.maxMsg), uint64(f.q.maxSize), uint64(len(f.q.messages)), 0, 0, 0, 0)
	if set != nil {
		f.flags = f.flags&^linux.O_NONBLOCK | int(le64(set))
	}
	return 0, t.copyOutIf(a.Addr(2), old)
}

func (*mqFile) traits() traits { return unwritable }

// read tells of the queue.
func (f *mqFile) read(t *Thread, v []iovec, off int64) (uint64, linux.Errno) {
	size := 0
	for _, m := range f.q.messages {
		size += len(m.text)
	}
	var how, signo, pid int
	if n := f.q.notify; n != nil {
		how, signo, pid = n.how, n.signo, n.p.pid
	}
	text := fmt.Sprintf("QSIZE:%-10d NOTIFY:%-5d SIGNO:%-5d NOTIFY_PID:%-6d\n", size, how, signo, pid)
	at := off
	if off < 0 {
		at = f.pos
	}
	n, e := t.scatter(v, []byte(text)[min(at, int64(len(text))):])
	if off < 0 {
		f.pos += int64(n)
	}
	return uint64(n), e
}

func (f *mqFile) seek(_ *Thread, off int64, whence int) (int64, linux.Errno) {
	if whence == linux.SEEK_CUR {
		off += f.pos
	}
	if whence > linux.SEEK_CUR || off < 0 {
		return 0, linux.EINVAL
	}
	f.pos = off
	return off, 0
}

func (f *mqFile) stat(t *Thread) (stat, linux.Errno) {
	at := timeAt(t.k.clock.epoch)
	return stat{dev: mqueueDev, ino: f.q.ino, mode: linux.S_IFREG | f.q.mode, nlink: 1, uid: t.k.uid, gid: t.k.gid, size: 80, fileTimes: fileTimes{at, at, at}}, 0
}

func (f *mqFile) poll(*Thread) uint32 {
	var ev uint32
	if len(f.q.messages) > 0 {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if len(f.q.messages) < f.q.maxMsg {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	}
	return ev
}

func (f *mqFile) wakes(events uint32) uint64 { return f.q.wakes(events) }

func (f *mqFile) close(*Kernel) {
	if n := f.q.notify; n != nil && n.file == f {
		f.q.notify = nil
	}
}
