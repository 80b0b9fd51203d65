package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// msgCompat is a flag of send(2) and recv(2) that only the kernel sets, for 32-bit programs (MSG_CMSG_COMPAT).
const msgCompat = 0x80000000

// sysSendto implements sendto(2).
func sysSendto(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if !uio.UserRange(a.Uint(1), min(a.Uint(2), uio.MaxRW)) {
		return 0, linux.EFAULT
	}
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	m := &net.OutMessage{V: t.Call.Single(a.Addr(1), a.Uint(2)), Flags: a.U32(3), Cred: net.Credential(t)}
	if a.Addr(4) != 0 {
		if m.Name, e = net.Sockaddr(t, a.Addr(4), a.Int(5)); e != 0 {
			return 0, e
		}
	}
	return net.Transmit(t, s, m)
}

// sysRecvfrom implements recvfrom(2).
func sysRecvfrom(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if !uio.UserRange(a.Uint(1), min(a.Uint(2), uio.MaxRW)) {
		return 0, linux.EFAULT
	}
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	m := &net.InMessage{V: t.Call.Single(a.Addr(1), a.Uint(2)), Flags: a.U32(3)}
	n, e := net.Receive(t, s, m)
	return t.Then(n, e, func(n uint64, e linux.Errno) (uint64, linux.Errno) {
		net.DropFiles(t, m.Files)
		if e == 0 && a.Addr(4) != 0 {
			e = net.OutSockaddr(t, m.Name, a.Addr(4), a.Addr(5))
		}
		return n, e
	})
}

// sysSendmsg implements sendmsg(2).
func sysSendmsg(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(2)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return net.Sendmsg(t, s, a.Addr(1), a.U32(2))
}

// sysRecvmsg implements recvmsg(2).
func sysRecvmsg(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(2)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return net.Recvmsg(t, s, a.Addr(1), a.U32(2))
}

// sysSendmmsg implements sendmmsg(2).
func sysSendmmsg(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(3)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return net.EachMessage(t, a.Addr(1), uint64(a.U32(2)), func(at emu.Addr) (uint64, linux.Errno) {
		return net.Sendmsg(t, s, at, a.U32(3))
	})
}

// sysRecvmmsg implements recvmmsg(2).
func sysRecvmmsg(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(3)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	end := int64(task.Never)
	if a.Addr(4) != 0 {
		d, e := t.Timespec(a.Addr(4))
		if e != 0 {
			return 0, e
		}
		end = t.Kernel.After(d)
	}
	flags := a.U32(3)
	return net.EachMessage(t, a.Addr(1), uint64(a.U32(2)), func(at emu.Addr) (uint64, linux.Errno) {
		if t.Call.Messages > 0 {
			// "The timeout is checked only after the receipt of each datagram" - recvmmsg(2)
			if end != task.Never && t.Kernel.Now() >= end {
				return 0, linux.EAGAIN
			}
			if flags&linux.MSG_WAITFORONE != 0 {
				flags |= linux.MSG_DONTWAIT
			}
		}
		return net.Recvmsg(t, s, at, flags&^linux.MSG_WAITFORONE)
	})
}
