package ipc

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// Limits of System V message queues: a message, a queue, in bytes.
const (
	MsgMax = 8192  // MSGMAX
	MsgMnb = 16384 // MSGMNB
)

// A Message is a message of a System V queue.
type Message struct {
	Type int64
	Text []byte
}

// A SysVQueue is a System V message queue.
type SysVQueue struct {
	Object
	Messages []Message
	// Bytes is the length of all messages together, Limit what it may be (msg_qbytes).
	Bytes, Limit int
	// Stime and Rtime are when a message was last sent and received, Sender and Reader the processes that did it.
	Stime, Rtime   int64
	Sender, Reader int
}

// room reports whether a message of n bytes fits into q.
func (q *SysVQueue) room(n int) bool { return q.Bytes+n <= q.Limit && len(q.Messages)+1 <= q.Limit }

// MsgSend puts m into q, as msgsnd(2) does. It waits for room unless flags have IPC_NOWAIT.
func MsgSend(t *task.Thread, q *SysVQueue, m Message, flags int) (uint64, linux.Errno) {
	switch {
	case q.removed:
		return 0, linux.EIDRM
	case q.room(len(m.Text)):
	case flags&linux.IPC_NOWAIT != 0:
		return 0, linux.EAGAIN
	default:
		ready := func() bool { return q.removed || q.room(len(m.Text)) }
		w := task.Wait{OnSignal: linux.ERESTARTNOHAND, Ready: ready}
		return t.Block(w, func() (uint64, linux.Errno) { return MsgSend(t, q, m, flags) })
	}
	q.Messages = append(q.Messages, m)
	q.Bytes += len(m.Text)
	q.Stime, q.Sender = t.Kernel.Wall()/1e9, t.Process.PID
	return 0, 0
}

// pick is the index of the message that msgrcv(2) gets for typ, -1 if there is none.
func (q *SysVQueue) pick(typ int64, flags int) int {
	switch {
	case flags&linux.MSG_COPY != 0:
		if typ < int64(len(q.Messages)) {
			return int(typ)
		}
		return -1
	case typ == 0:
		return min(len(q.Messages), 1) - 1
	case typ > 0:
		return slices.IndexFunc(q.Messages, func(m Message) bool { return (m.Type == typ) == (flags&linux.MSG_EXCEPT == 0) })
	}
	best := -1
	for i, m := range q.Messages {
		if m.Type <= -typ && (best < 0 || m.Type < q.Messages[best].Type) {
			best = i
		}
	}
	return best
}

// MsgReceive takes a message from q, as msgrcv(2) with arguments a does. It waits for one unless IPC_NOWAIT is set.
func MsgReceive(t *task.Thread, q *SysVQueue, a uio.Args) (uint64, linux.Errno) {
	at, size, typ, flags := a.Addr(1), a.Long(2), a.Long(3), a.Int(4)
	i := q.pick(typ, flags)
	switch {
	case q.removed:
		return 0, linux.EIDRM
	case i >= 0:
	case flags&linux.IPC_NOWAIT != 0:
		return 0, linux.ENOMSG
	default:
		ready := func() bool { return q.removed || q.pick(typ, flags) >= 0 }
		w := task.Wait{OnSignal: linux.ERESTARTNOHAND, Ready: ready}
		return t.Block(w, func() (uint64, linux.Errno) { return MsgReceive(t, q, a) })
	}
	m := q.Messages[i]
	if int64(len(m.Text)) > size && flags&linux.MSG_NOERROR == 0 {
		return 0, linux.E2BIG
	}
	if flags&linux.MSG_COPY == 0 {
		q.Messages = slices.Delete(q.Messages, i, i+1)
		q.Bytes -= len(m.Text)
		q.Rtime, q.Reader = t.Kernel.Wall()/1e9, t.Process.PID
	}
	if e := t.Out64(at, uint64(m.Type)); e != 0 {
		return 0, e
	}
	text := m.Text[:min(int64(len(m.Text)), size)]
	return uint64(len(text)), t.CopyOut(at+8, text)
}

// encode is q as a struct msqid64_ds (include/uapi/asm-generic/msgbuf.h).
func (q *SysVQueue) encode(k *task.Kernel) []byte {
	b := q.permissions(k)
	for _, x := range []int64{q.Stime, q.Rtime, q.Ctime, int64(q.Bytes), int64(len(q.Messages)), int64(q.Limit)} {
		b.I64(x)
	}
	b.U32(uint32(q.Sender))
	b.U32(uint32(q.Reader))
	b.Zero(16)
	return b
}
