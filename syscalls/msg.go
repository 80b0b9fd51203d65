package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Limits of System V message queues: a message, a queue, in bytes.
const (
	msgMax = 8192  // MSGMAX
	msgMnb = 16384 // MSGMNB
)

// A message is one of System V's.
type message struct {
	typ  int64
	text []byte
}

// A msgQueue is a message queue.
type msgQueue struct {
	ipcObject
	messages       []message
	bytes, limit   int
	stime, rtime   int64
	sender, reader int
}

// sysMsgget implements msgget(2).
func sysMsgget(t *Thread, a Args) (uint64, linux.Errno) {
	return ipcOf(t.k).msg.get(t, a.Int(0), a.Int(1), func(*msgQueue) bool { return true },
		func(o ipcObject) (*msgQueue, linux.Errno) { return &msgQueue{ipcObject: o, limit: msgMnb}, 0 })
}

// room reports whether q takes n more bytes.
func (q *msgQueue) room(n int) bool { return q.bytes+n <= q.limit && len(q.messages)+1 <= q.limit }

// sysMsgsnd implements msgsnd(2).
func sysMsgsnd(t *Thread, a Args) (uint64, linux.Errno) {
	size := a.Long(2)
	typ, e := t.in64(a.Addr(1))
	if e != 0 {
		return 0, e
	}
	if size < 0 || size > msgMax || a.Int(0) < 0 || int64(typ) < 1 {
		return 0, linux.EINVAL
	}
	text, e := t.copyIn(a.Addr(1)+8, int(size))
	if e != 0 {
		return 0, e
	}
	q, e := ipcOf(t.k).msg.find(a.Int(0))
	if e == 0 {
		e = q.allows(ipcWrite)
	}
	if e != 0 {
		return 0, e
	}
	return t.msgSend(q, message{int64(typ), text}, a.Int(3))
}

// msgSend puts m into q, and waits until there is room.
func (t *Thread) msgSend(q *msgQueue, m message, flags int) (uint64, linux.Errno) {
	switch {
	case q.removed:
		return 0, linux.EIDRM
	case q.room(len(m.text)):
	case flags&linux.IPC_NOWAIT != 0:
		return 0, linux.EAGAIN
	default:
		ready := func() bool { return q.removed || q.room(len(m.text)) }
		return t.block(wait{interrupted: linux.ERESTARTNOHAND, ready: ready}, func() (uint64, linux.Errno) { return t.msgSend(q, m, flags) })
	}
	q.messages = append(q.messages, m)
	q.bytes += len(m.text)
	q.stime, q.sender = t.k.wall()/1e9, t.p.pid
	return 0, 0
}

// pick returns which message msgrcv(2) gets for typ, or -1.
func (q *msgQueue) pick(typ int64, flags int) int {
	switch {
	case flags&linux.MSG_COPY != 0:
		if typ < int64(len(q.messages)) {
			return int(typ)
		}
		return -1
	case typ == 0:
		return min(len(q.messages), 1) - 1
	case typ > 0:
		return slices.IndexFunc(q.messages, func(m message) bool { return (m.typ == typ) == (flags&linux.MSG_EXCEPT == 0) })
	}
	best := -1
	for i, m := range q.messages {
		if m.typ <= -typ && (best < 0 || m.typ < q.messages[best].typ) {
			best = i
		}
	}
	return best
}

// sysMsgrcv implements msgrcv(2).
func sysMsgrcv(t *Thread, a Args) (uint64, linux.Errno) {
	size, flags := a.Long(2), a.Int(4)
	if a.Int(0) < 0 || size < 0 || flags&linux.MSG_COPY != 0 && (flags&linux.MSG_EXCEPT != 0 || flags&linux.IPC_NOWAIT == 0) {
		return 0, linux.EINVAL
	}
	q, e := ipcOf(t.k).msg.find(a.Int(0))
	if e == 0 {
		e = q.allows(ipcRead)
	}
	if e != 0 {
		return 0, e
	}
	return t.msgReceive(q, a)
}

// msgReceive takes a message from q, and waits until there is one that is wanted.
func (t *Thread) msgReceive(q *msgQueue, a Args) (uint64, linux.Errno) {
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
		return t.block(wait{interrupted: linux.ERESTARTNOHAND, ready: ready}, func() (uint64, linux.Errno) { return t.msgReceive(q, a) })
	}
	m := q.messages[i]
	if int64(len(m.text)) > size && flags&linux.MSG_NOERROR == 0 {
		return 0, linux.E2BIG
	}
	if flags&linux.MSG_COPY == 0 {
		q.messages = slices.Delete(q.messages, i, i+1)
		q.bytes -= len(m.text)
		q.rtime, q.reader = t.k.wall()/1e9, t.p.pid
	}
	if e := t.out64(at, uint64(m.typ)); e != 0 {
		return 0, e
	}
	text := m.text[:min(int64(len(m.text)), size)]
	return uint64(len(text)), t.copyOut(at+8, text)
}

// sysMsgctl implements msgctl(2).
func sysMsgctl(t *Thread, a Args) (uint64, linux.Errno) {
	id, cmd, buf := a.Int(0), a.Int(1), a.Addr(2)
	if id < 0 || cmd < 0 {
		return 0, linux.EINVAL
	}
	x := &ipcOf(t.k).msg
	switch cmd {
	case linux.IPC_INFO, linux.MSG_INFO:
		pool, headers, bytes := msgMnb*32000>>10, msgMnb, msgMnb
		if cmd == linux.MSG_INFO {
			pool, headers, bytes = len(x.list), 0, 0
			for _, q := range x.list {
				headers, bytes = headers+len(q.messages), bytes+q.bytes
			}
		}
		var b pack
		for _, n := range []int{pool, headers, msgMax, msgMnb, 32000, 16, bytes} {
			b.u32(uint32(n))
		}
		b.u32(0xffff) // msgseg, 16 bits
		return x.last(), t.copyOut(buf, b)
	case linux.MSG_STAT:
		return x.stat(t, x.at, id, ipcRead, buf)
	case linux.MSG_STAT_ANY:
		return x.stat(t, x.at, id, 0, buf)
	case linux.IPC_STAT:
		_, e := x.stat(t, x.find, id, ipcRead, buf)
		return 0, e
	}
	q, e := x.find(id)
	if e != 0 {
		return 0, e
	}
	switch cmd {
	case linux.IPC_SET:
		limit, e := t.in64(buf + 88)
		if e != 0 {
			return 0, e
		}
		if limit > msgMnb {
			return 0, linux.EPERM // for the superuser, which the guest is not
		}
		if e := q.set(t, buf); e != 0 {
			return 0, e
		}
		q.limit = int(limit)
		return 0, 0
	case linux.IPC_RMID:
		x.remove(id)
		return 0, 0
	}
	return 0, linux.EINVAL
}

// encode is struct msqid64_ds (include/uapi/asm-generic/msgbuf.h).
func (q *msgQueue) encode(k *Kernel) []byte {
	b := q.permissions(k)
	for _, x := range []int64{q.stime, q.rtime, q.ctime, int64(q.bytes), int64(len(q.messages)), int64(q.limit)} {
		b.i64(x)
	}
	b.u32(uint32(q.sender))
	b.u32(uint32(q.reader))
	b.zero(16)
	return b
}
