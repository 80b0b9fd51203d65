package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// msgCompat is a flag of send(2) and recv(2) that is the kernel's own, for programs of 32 bits (MSG_CMSG_COMPAT).
const msgCompat = 0x80000000

// An outMessage is what a call sends.
type outMessage struct {
	v     []iovec
	flags uint32
	// name is where to, nil for the socket's peer.
	name  []byte
	files []file
	// cred says who sends; credSet that the program said it.
	cred    credential
	credSet bool
	// hops and class are for the header of UDP's packets.
	hops, class headerField
	// packet is what v has, copied when the first attempt was made to send it.
	packet []byte
	// ready tells when it can be sent, if send returned EAGAIN and poll does not tell.
	ready func() bool
}

// An inMessage is what a call receives.
type inMessage struct {
	v     []iovec
	flags uint32
	// more says that the call received something before: it ends where it would fail.
	more bool

	// What receive fills in: flags of the message, who sent it, what came along.
	out     uint32
	name    []byte
	files   []file
	cred    credential
	control []controlMessage
}

// transmit sends m, and waits if it must. What was sent before waiting is in t.call.done.
func (t *Thread) transmit(s socket, m *outMessage) (uint64, linux.Errno) {
	t.socketDeadline(s.sock().opts.sndTimeout)
	return t.transmitRest(s, m)
}

func (t *Thread) transmitRest(s socket, m *outMessage) (uint64, linux.Errno) {
	b := s.sock()
	n, e := s.send(t, m)
	b.crowded = b.crowded || e == linux.EAGAIN
	if n > 0 {
		m.v, m.files = skip(m.v, n), nil
	}
	t.call.done += n
	done := t.call.done
	switch {
	case e == linux.EAGAIN && !b.nonblock() && m.flags&linux.MSG_DONTWAIT == 0 && !t.timedOut():
		ret, e := t.waitSocket(s, linux.POLLOUT, m.ready, func() (uint64, linux.Errno) { return t.transmitRest(s, m) }, m.files...)
		t.call.wait.partial = done
		return ret, e
	case e != 0 && done > 0:
		e = 0
	case e == linux.EPIPE && b.typ == linux.SOCK_STREAM && m.flags&linux.MSG_NOSIGNAL == 0:
		t.send(infoFromProcess(t.p, linux.SIGPIPE, linux.SI_USER))
	}
	return done, e
}

// readWaiting and writeWaiting are read(2) and write(2) of a socket.
func (s *tcpSocket) readWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.receiveBytes(s, v)
}
func (s *udpSocket) readWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.receiveBytes(s, v)
}
func (s *unixSocket) readWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.receiveBytes(s, v)
}
func (s *netlinkSocket) readWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.receiveBytes(s, v)
}

func (s *tcpSocket) writeWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.transmitBytes(s, v)
}
func (s *udpSocket) writeWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.transmitBytes(s, v)
}
func (s *unixSocket) writeWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.transmitBytes(s, v)
}
func (s *netlinkSocket) writeWaiting(t *Thread, v []iovec) (uint64, linux.Errno) {
	return t.transmitBytes(s, v)
}

// transmitBytes is transmit for write(2).
func (t *Thread) transmitBytes(s socket, v []iovec) (uint64, linux.Errno) {
	return t.transmit(s, &outMessage{v: v, cred: t.credential()})
}

// receive receives m, and waits if it must. What was received before waiting is in t.call.done.
func (t *Thread) receive(s socket, m *inMessage) (uint64, linux.Errno) {
	if b := s.sock(); m.flags&linux.MSG_ERRQUEUE != 0 && (b.family == linux.AF_INET || b.family == linux.AF_INET6) {
		return 0, linux.EAGAIN // errors are not queued, and not waited for
	}
	t.socketDeadline(s.sock().opts.rcvTimeout)
	want := uint64(1)
	if b := s.sock(); b.typ == linux.SOCK_STREAM {
		want = min(uint64(b.opts.lowWater), total(m.v))
		if m.flags&(linux.MSG_WAITALL|linux.MSG_PEEK) == linux.MSG_WAITALL {
			want = total(m.v)
		}
	}
	return t.receiveRest(s, m, want)
}

// receiveRest is receive until there are want bytes.
func (t *Thread) receiveRest(s socket, m *inMessage, want uint64) (uint64, linux.Errno) {
	b, all := s.sock(), m.v
	if t.call.done > 0 {
		m.v, m.more = skip(all, t.call.done), true
	}
	n, e := s.receive(t, m)
	t.k.transferred(s, linux.POLLIN)
	m.v = all
	t.call.done += n
	done := t.call.done
	if e == 0 && (n == 0 || b.typ != linux.SOCK_STREAM || done >= want || len(m.files) > 0) {
		return done, 0
	}
	if (e == 0 || e == linux.EAGAIN) && !b.nonblock() && m.flags&linux.MSG_DONTWAIT == 0 && !t.timedOut() {
		if m.flags&linux.MSG_PEEK != 0 {
			t.call.done = 0 // it is still there
			done = 0
		}
		ret, e := t.waitSocket(s, linux.POLLIN, nil, func() (uint64, linux.Errno) { return t.receiveRest(s, m, want) })
		t.call.wait.partial = done
		return ret, e
	}
	if done > 0 {
		e = 0
	}
	return done, e
}

// receiveBytes is receive for read(2), which takes nothing that came along.
func (t *Thread) receiveBytes(s socket, v []iovec) (uint64, linux.Errno) {
	if total(v) == 0 {
		return 0, 0 // unlike recv(2) of no bytes, which waits
	}
	m := &inMessage{v: v}
	n, e := t.receive(s, m)
	if len(m.files) == 0 && e != eBlocked {
		return n, e
	}
	return t.then(n, e, func(n uint64, e linux.Errno) (uint64, linux.Errno) {
		t.dropFiles(m.files)
		return n, e
	})
}

// msghdr is struct msghdr of recvmsg(2), as it lies in memory.
const msghdrSize = 56

type msghdr []byte

func (h msghdr) name() emu.Addr     { return emu.Addr(le64(h)) }
func (h msghdr) nameLen() int       { return int(int32(le32(h[8:]))) }
func (h msghdr) iov() emu.Addr      { return emu.Addr(le64(h[16:])) }
func (h msghdr) iovLen() uint64     { return le64(h[24:]) }
func (h msghdr) control() emu.Addr  { return emu.Addr(le64(h[32:])) }
func (h msghdr) controlLen() uint64 { return le64(h[40:]) }

// message reads a struct msghdr and its iovecs.
func (t *Thread) message(at emu.Addr) (msghdr, []iovec, linux.Errno) {
	b, e := t.copyIn(at, msghdrSize)
	if e != 0 {
		return nil, nil, e
	}
	h := msghdr(b)
	if h.name() != 0 && h.nameLen() < 0 {
		return nil, nil, linux.EINVAL
	}
	if h.iovLen() > linux.IOV_MAX {
		return nil, nil, linux.EMSGSIZE
	}
	v, e := t.iovecs(h.iov(), h.iovLen())
	return h, v, e
}

// sysSendto implements sendto(2).
func sysSendto(t *Thread, a Args) (uint64, linux.Errno) {
	if !userRange(a.Uint(1), min(a.Uint(2), maxRW)) {
		return 0, linux.EFAULT
	}
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	m := &outMessage{v: one(a.Addr(1), a.Uint(2)), flags: a.U32(3), cred: t.credential()}
	if a.Addr(4) != 0 {
		if m.name, e = t.sockaddr(a.Addr(4), a.Int(5)); e != 0 {
			return 0, e
		}
	}
	return t.transmit(s, m)
}

// sysRecvfrom implements recvfrom(2).
func sysRecvfrom(t *Thread, a Args) (uint64, linux.Errno) {
	if !userRange(a.Uint(1), min(a.Uint(2), maxRW)) {
		return 0, linux.EFAULT
	}
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	m := &inMessage{v: one(a.Addr(1), a.Uint(2)), flags: a.U32(3)}
	n, e := t.receive(s, m)
	return t.then(n, e, func(n uint64, e linux.Errno) (uint64, linux.Errno) {
		t.dropFiles(m.files)
		if e == 0 && a.Addr(4) != 0 {
			e = t.outSockaddr(m.name, a.Addr(4), a.Addr(5))
		}
		return n, e
	})
}

// sysSendmsg implements sendmsg(2).
func sysSendmsg(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(2)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return t.sendmsg(s, a.Addr(1), a.U32(2))
}

func (t *Thread) sendmsg(s socket, at emu.Addr, flags uint32) (uint64, linux.Errno) {
	h, v, e := t.message(at)
	if e != 0 {
		return 0, e
	}
	m := &outMessage{v: v, flags: flags, cred: t.credential()}
	if h.name() != 0 && h.nameLen() > 0 {
		if m.name, e = t.copyIn(h.name(), min(h.nameLen(), maxSockaddr)); e != 0 {
			return 0, e
		}
	}
	if e := t.sendControl(s, m, h); e != 0 {
		return 0, e
	}
	return t.transmit(s, m)
}

// sysRecvmsg implements recvmsg(2).
func sysRecvmsg(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(2)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return t.recvmsg(s, a.Addr(1), a.U32(2))
}

func (t *Thread) recvmsg(s socket, at emu.Addr, flags uint32) (uint64, linux.Errno) {
	h, v, e := t.message(at)
	if e != 0 {
		return 0, e
	}
	m := &inMessage{v: v, flags: flags}
	n, e := t.receive(s, m)
	return t.then(n, e, func(n uint64, e linux.Errno) (uint64, linux.Errno) {
		if e != 0 {
			return n, e
		}
		return n, t.outMessage(s, m, h, at)
	})
}

// outMessage gives what came besides bytes to who gave the header h, which is at at.
func (t *Thread) outMessage(s socket, m *inMessage, h msghdr, at emu.Addr) linux.Errno {
	m.out |= m.flags & linux.MSG_CMSG_CLOEXEC
	used, e := t.receiveControl(s, m, h)
	if e != 0 {
		return e
	}
	if h.name() != 0 {
		if e := t.copyOut(h.name(), m.name[:min(h.nameLen(), len(m.name))]); e != 0 {
			return e
		}
		put32(h[8:], uint32(len(m.name)))
	}
	put64(h[40:], used)
	put32(h[48:], m.out)
	return t.copyOut(at, h)
}

// mmsghdrSize is the size of struct mmsghdr: a msghdr, and how many bytes were sent or received.
const mmsghdrSize = msghdrSize + 8

// eachMessage calls do for each of n struct mmsghdr, and returns how many it could do.
func (t *Thread) eachMessage(at emu.Addr, n uint64, do func(at emu.Addr) (uint64, linux.Errno)) (uint64, linux.Errno) {
	for n = min(n, linux.IOV_MAX); t.call.messages < n; {
		p := at + emu.Addr(t.call.messages*mmsghdrSize)
		size, e := do(p)
		if e == eBlocked {
			return t.messageLater(p, func() (uint64, linux.Errno) { return t.eachMessage(at, n, do) })
		}
		if e = t.messageDone(p, size, e); e != 0 {
			return t.messagesDone(e)
		}
	}
	return t.call.messages, 0
}

// messageLater lets a call that waits with a message go on, when that is done, with the rest.
func (t *Thread) messageLater(p emu.Addr, rest func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	t.call.wait.partial = t.call.messages
	resume := t.call.resume
	t.call.resume = func() (uint64, linux.Errno) {
		size, e := resume()
		if e == eBlocked {
			return t.messageLater(p, rest)
		}
		if e = t.messageDone(p, size, e); e != 0 {
			return t.messagesDone(e)
		}
		return rest()
	}
	return 0, eBlocked
}

// messageDone notes in the struct mmsghdr at p that size bytes of its message were sent or received, if e is none.
func (t *Thread) messageDone(p emu.Addr, size uint64, e linux.Errno) linux.Errno {
	if e == 0 {
		e = t.out32(p+msghdrSize, uint32(size))
	}
	if e == 0 {
		t.call.done = 0
		t.call.messages++
	}
	return e
}

// messagesDone is the result of a call that can do no more messages because of e.
func (t *Thread) messagesDone(e linux.Errno) (uint64, linux.Errno) {
	if t.call.messages > 0 {
		return t.call.messages, 0
	}
	return 0, e
}

// sysSendmmsg implements sendmmsg(2).
func sysSendmmsg(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(3)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return t.eachMessage(a.Addr(1), uint64(a.U32(2)), func(at emu.Addr) (uint64, linux.Errno) {
		return t.sendmsg(s, at, a.U32(3))
	})
}

// sysRecvmmsg implements recvmmsg(2).
func sysRecvmmsg(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(3)&msgCompat != 0 {
		return 0, linux.EINVAL
	}
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	end := int64(never)
	if a.Addr(4) != 0 {
		d, e := t.timespec(a.Addr(4))
		if e != 0 {
			return 0, e
		}
		end = t.k.after(d)
	}
	flags := a.U32(3)
	return t.eachMessage(a.Addr(1), uint64(a.U32(2)), func(at emu.Addr) (uint64, linux.Errno) {
		if t.call.messages > 0 {
			// "The timeout is checked only after the receipt of each datagram" - recvmmsg(2)
			if end != never && t.k.now() >= end {
				return 0, linux.EAGAIN
			}
			if flags&linux.MSG_WAITFORONE != 0 {
				flags |= linux.MSG_DONTWAIT
			}
		}
		return t.recvmsg(s, at, flags&^linux.MSG_WAITFORONE)
	})
}
