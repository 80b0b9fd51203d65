package ipc

import (
	"fmt"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// Limits of POSIX message queues (mq_overview(7)).
const (
	mqMaxMsg    = 10
	mqMaxSize   = 8192
	mqMaxQueues = 256
	// mqOverhead is what Linux adds to each message that a queue may have: a struct msg_msg and a struct
	// posix_msg_tree_node.
	mqOverhead = 48 + 48
	// MqPriorities is the number of priorities (MQ_PRIO_MAX).
	MqPriorities = 32768
)

// A Queue is a POSIX message queue.
type Queue struct {
	ino  uint64
	Mode uint32
	// MaxMsg bounds the number of messages, MaxSize the bytes of one.
	MaxMsg  int
	MaxSize int
	// users is how many refer to it: open files, and its name.
	users int
	// Messages are in order of priority, those of one priority in order of arrival.
	Messages []QueueMessage
	// Notify says whom to tell, once, of a message that arrives in the empty queue while nobody waits for it; nil for
	// nobody.
	Notify *QueueNotify
	files.Wakeups
}

// A QueueMessage is a message of a POSIX queue.
type QueueMessage struct {
	Priority uint32
	Text     []byte
}

// A QueueNotify is what mq_notify(3) has asked for.
type QueueNotify struct {
	// Process is the process to tell.
	Process *task.Process
	// File is the open queue it was asked with. Closing that ends it.
	File *QueueFile
	// How is SIGEV_SIGNAL or SIGEV_NONE; Signo and Value are the signal's.
	How   int
	Signo int
	Value uint64
}

// A QueueFile is an open message queue. Reading it tells of the queue, as a file of /dev/mqueue does.
type QueueFile struct {
	files.FileBase
	Q   *Queue
	pos int64
}

// NewQueue makes a queue with a name, and the struct mq_attr at a if that is not null.
func NewQueue(t *task.Thread, name string, mode uint32, a emu.Addr) (*Queue, linux.Errno) {
	n := NamespaceOf(t.Kernel)
	if len(n.Queues) >= mqMaxQueues {
		return nil, linux.ENOSPC
	}
	q := &Queue{MaxMsg: mqMaxMsg, MaxSize: mqMaxSize, Mode: mode & 0o777 &^ files.Of(t).Umask}
	if a != 0 {
		b, e := t.CopyIn(a, 64)
		if e != 0 {
			return nil, e
		}
		most, size := int64(linux.Uint64(b[8:])), int64(linux.Uint64(b[16:]))
		if most <= 0 || size <= 0 || most > mqMaxMsg || size > mqMaxSize {
			return nil, linux.EINVAL
		}
		q.MaxMsg, q.MaxSize = int(most), int(size)
	}
	if n.queueBytes+q.bytes() > t.Process.Limits[linux.RLIMIT_MSGQUEUE].Cur {
		files.Of(t).Call.AtLimit = true
		return nil, linux.EMFILE
	}
	n.queueBytes += q.bytes()
	q.ino, q.users = files.SystemOf(t.Kernel).Inodes.Unnamed(), 1
	n.Queues[name] = q
	return q, 0
}

// bytes is what q may take.
func (q *Queue) bytes() uint64 { return uint64(q.MaxMsg) * uint64(q.MaxSize+mqOverhead) }

// leave takes a user from q.
func (n *Namespace) leave(q *Queue) {
	if q.users--; q.users == 0 {
		n.queueBytes -= q.bytes()
	}
}

// UnlinkQueue takes the name from a queue that has it.
func (n *Namespace) UnlinkQueue(name string) {
	n.leave(n.Queues[name])
	delete(n.Queues, name)
}

// NewQueueFile opens q.
func NewQueueFile(b files.FileBase, q *Queue) *QueueFile {
	q.users++
	return &QueueFile{FileBase: b, Q: q}
}

// SendToQueue puts m into f's queue. It waits for room until t.Call.Deadline.
func SendToQueue(t *task.Thread, f *QueueFile, m QueueMessage) (uint64, linux.Errno) {
	q := f.Q
	if len(q.Messages) >= q.MaxMsg {
		switch {
		case f.Nonblock():
			return 0, linux.EAGAIN
		case t.TimedOut():
			return 0, linux.ETIMEDOUT
		}
		files.Of(t).Call.Hold(f)
		w := task.Wait{Deadline: t.Call.Deadline, Ready: func() bool { return len(q.Messages) < q.MaxMsg }}
		return t.Block(w, func() (uint64, linux.Errno) { return SendToQueue(t, f, m) })
	}
	i := slices.IndexFunc(q.Messages, func(o QueueMessage) bool { return o.Priority < m.Priority })
	if i < 0 {
		i = len(q.Messages)
	}
	q.Messages = slices.Insert(q.Messages, i, m)
	if !q.hasReceiver(t.Kernel) {
		q.Wake(linux.POLLIN | linux.POLLOUT)
		if len(q.Messages) == 1 {
			q.notify(t)
		}
	}
	return 0, 0
}

// hasReceiver reports whether a thread waits for a message.
func (q *Queue) hasReceiver(k *task.Kernel) bool {
	return slices.ContainsFunc(k.Waiting, func(t *task.Thread) bool { return t.Call.Wait.On == any(q) })
}

// notify tells whoever has asked for it by mq_notify(3) that from has sent a message.
func (q *Queue) notify(from *task.Thread) {
	n := q.Notify
	if n == nil {
		return
	}
	q.Notify = nil
	if n.How == linux.SIGEV_SIGNAL {
		s := task.InfoFromProcess(from.Process, n.Signo, linux.SI_MESGQ)
		linux.PutUint64(s.Fields[8:], n.Value)
		n.Process.Send(s)
	}
}

// ReceiveFromQueue takes the first message of f's queue. It waits for one until t.Call.Deadline.
func ReceiveFromQueue(t *task.Thread, f *QueueFile, a uio.Args) (uint64, linux.Errno) {
	q := f.Q
	if len(q.Messages) == 0 {
		switch {
		case f.Nonblock():
			return 0, linux.EAGAIN
		case t.TimedOut():
			return 0, linux.ETIMEDOUT
		}
		files.Of(t).Call.Hold(f)
		w := task.Wait{Deadline: t.Call.Deadline, On: q, Ready: func() bool { return len(q.Messages) > 0 }}
		return t.Block(w, func() (uint64, linux.Errno) { return ReceiveFromQueue(t, f, a) })
	}
	m := q.Messages[0]
	q.Messages = slices.Delete(q.Messages, 0, 1)
	q.Wake(linux.POLLIN | linux.POLLOUT)
	if a.Addr(3) != 0 {
		if e := t.Out32(a.Addr(3), m.Priority); e != 0 {
			return 0, e
		}
	}
	return uint64(len(m.Text)), t.CopyOut(a.Addr(1), m.Text)
}

// Traits implements files.File.
func (*QueueFile) Traits() files.Traits { return files.Unwritable }

// Read implements files.File.
func (f *QueueFile) Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	size := 0
	for _, m := range f.Q.Messages {
		size += len(m.Text)
	}
	var how, signo, pid int
	if n := f.Q.Notify; n != nil {
		how, signo, pid = n.How, n.Signo, n.Process.PID
	}
	text := fmt.Sprintf("QSIZE:%-10d NOTIFY:%-5d SIGNO:%-5d NOTIFY_PID:%-6d\n", size, how, signo, pid)
	at := off
	if off < 0 {
		at = f.pos
	}
	n, e := t.Scatter(v, []byte(text)[min(at, int64(len(text))):])
	if off < 0 {
		f.pos += int64(n)
	}
	return uint64(n), e
}

// Seek implements files.File.
func (f *QueueFile) Seek(_ *task.Thread, off int64, whence int) (int64, linux.Errno) {
	if whence == linux.SEEK_CUR {
		off += f.pos
	}
	if whence > linux.SEEK_CUR || off < 0 {
		return 0, linux.EINVAL
	}
	f.pos = off
	return off, 0
}

// Stat implements files.File.
func (f *QueueFile) Stat(t *task.Thread) (files.Stat, linux.Errno) {
	at := files.TimeAt(t.Kernel.Clock.Epoch)
	return files.Stat{
		Dev: files.MqueueDev, Ino: f.Q.ino, Mode: linux.S_IFREG | f.Q.Mode, Nlink: 1, UID: t.Kernel.UID, GID: t.Kernel.GID,
		Size: 80, Times: host.Times{Atime: at, Mtime: at, Ctime: at},
	}, 0
}

// Poll implements files.File.
func (f *QueueFile) Poll(*task.Thread) uint32 {
	var ev uint32
	if len(f.Q.Messages) > 0 {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if len(f.Q.Messages) < f.Q.MaxMsg {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	}
	return ev
}

// Wakes implements files.File.
func (f *QueueFile) Wakes(events uint32) uint64 { return f.Q.Wakes(events) }

// Close implements files.File.
func (f *QueueFile) Close(k *task.Kernel) {
	NamespaceOf(k).leave(f.Q)
	if n := f.Q.Notify; n != nil && n.File == f {
		f.Q.Notify = nil
	}
}
