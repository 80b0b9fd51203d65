package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysMsgget implements msgget(2).
func sysMsgget(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return ipc.NamespaceOf(t.Kernel).Msg.Get(t, a.Int(0), a.Int(1), ipc.MaxMsg, func(*ipc.SysVQueue) bool { return true },
		func(o ipc.Object) (*ipc.SysVQueue, linux.Errno) {
			return &ipc.SysVQueue{Object: o, Limit: ipc.MsgMnb}, 0
		})
}

// sysMsgsnd implements msgsnd(2).
func sysMsgsnd(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	size := a.Long(2)
	typ, e := t.In64(a.Addr(1))
	if e != 0 {
		return 0, e
	}
	if size < 0 || size > ipc.MsgMax || a.Int(0) < 0 || int64(typ) < 1 {
		return 0, linux.EINVAL
	}
	text, e := t.CopyIn(a.Addr(1)+8, int(size))
	if e != 0 {
		return 0, e
	}
	q, e := ipc.NamespaceOf(t.Kernel).Msg.Find(a.Int(0))
	if e == 0 {
		e = q.Allows(ipc.Write)
	}
	if e != 0 {
		return 0, e
	}
	return ipc.MsgSend(t, q, ipc.Message{Type: int64(typ), Text: text}, a.Int(3))
}

// sysMsgrcv implements msgrcv(2).
func sysMsgrcv(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	size, flags := a.Long(2), a.Int(4)
	if a.Int(0) < 0 || size < 0 || flags&linux.MSG_COPY != 0 && (flags&linux.MSG_EXCEPT != 0 || flags&linux.IPC_NOWAIT == 0) {
		return 0, linux.EINVAL
	}
	q, e := ipc.NamespaceOf(t.Kernel).Msg.Find(a.Int(0))
	if e == 0 {
		e = q.Allows(ipc.Read)
	}
	if e != 0 {
		return 0, e
	}
	return ipc.MsgReceive(t, q, a)
}

// sysMsgctl implements msgctl(2).
func sysMsgctl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	id, cmd, buf := a.Int(0), a.Int(1), a.Addr(2)
	if id < 0 || cmd < 0 {
		return 0, linux.EINVAL
	}
	x := &ipc.NamespaceOf(t.Kernel).Msg
	switch cmd {
	case linux.IPC_INFO, linux.MSG_INFO:
		pool, headers, bytes := ipc.MsgMnb*32000>>10, ipc.MsgMnb, ipc.MsgMnb
		if cmd == linux.MSG_INFO {
			pool, headers, bytes = len(x.List), 0, 0
			for _, q := range x.List {
				headers, bytes = headers+len(q.Messages), bytes+q.Bytes
			}
		}
		var b linux.Pack
		for _, n := range []int{pool, headers, ipc.MsgMax, ipc.MsgMnb, 32000, 16, bytes} {
			b.U32(uint32(n))
		}
		b.U32(0xffff) // msgseg, 16 bits
		return x.Last(), t.CopyOut(buf, b)
	case linux.MSG_STAT:
		return x.Stat(t, x.At, id, ipc.Read, buf)
	case linux.MSG_STAT_ANY:
		return x.Stat(t, x.At, id, 0, buf)
	case linux.IPC_STAT:
		_, e := x.Stat(t, x.Find, id, ipc.Read, buf)
		return 0, e
	}
	q, e := x.Find(id)
	if e != 0 {
		return 0, e
	}
	switch cmd {
	case linux.IPC_SET:
		limit, e := t.In64(buf + 88)
		if e != 0 {
			return 0, e
		}
		if limit > ipc.MsgMnb {
			return 0, linux.EPERM // only the superuser may raise it
		}
		if e := q.SetPermissions(t, buf); e != 0 {
			return 0, e
		}
		q.Limit = int(limit)
		return 0, 0
	case linux.IPC_RMID:
		x.Remove(id)
		return 0, 0
	}
	return 0, linux.EINVAL
}
