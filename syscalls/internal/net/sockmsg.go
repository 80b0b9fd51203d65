package net

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// An OutMessage is what a call sends.
type OutMessage struct {
	// V is the memory to send, Flags are MSG_*.
	V     []uio.Iovec
	Flags uint32
	// Name is the receiver's name, nil for the socket's peer.
	Name  []byte
	files []files.File
	// Cred says who sends; credSet says that the program itself has said it.
	Cred    credential
	credSet bool
	// hops and class are what control messages ask for the header of a UDP packet.
	hops, class headerField
	// packet is a copy of V's memory, made at the first attempt to send a message of AF_UNIX: later attempts send the
	// same.
	packet []byte
	// ready reports whether the message can be sent, where poll(2) does not tell that after EAGAIN.
	ready func() bool
}

// An InMessage is what a call receives.
type InMessage struct {
	// V is the memory to receive into, Flags are MSG_*.
	V     []uio.Iovec
	Flags uint32
	// more says that the call has received something before: where it would fail, it just ends.
	more bool

	// out, and the fields below it, are filled in by receive: flags of the message (MSG_TRUNC and so on), the sender's
	// name, descriptors, credentials and control messages.
	out     uint32
	Name    []byte
	Files   []files.File
	cred    credential
	control []controlMessage
	// bare says that nothing comes along: it is the end of what a SOCK_SEQPACKET has.
	bare bool
}

// Transmit sends m, and waits as long as the socket's timeout allows. t.Call.Done is what was sent before waiting.
func Transmit(t *task.Thread, s Socket, m *OutMessage) (uint64, linux.Errno) {
	SocketDeadline(t, s.Sock().Opts.SndTimeout)
	return transmitRest(t, s, m)
}

// transmitRest goes on with Transmit.
func transmitRest(t *task.Thread, s Socket, m *OutMessage) (uint64, linux.Errno) {
	b := s.Sock()
	n, e := s.send(t, m)
	b.noSpace = b.noSpace || e == linux.EAGAIN
	if n > 0 {
		m.V, m.files = uio.Skip(m.V, n), nil
	}
	t.Call.Done += n
	done := t.Call.Done
	switch {
	case e == linux.EAGAIN && !b.Nonblock() && m.Flags&linux.MSG_DONTWAIT == 0 && !t.TimedOut():
		ret, e := waitSocket(t, s, linux.POLLOUT, m.ready, func() (uint64, linux.Errno) { return transmitRest(t, s, m) }, m.files...)
		t.Call.Wait.Partial = done
		return ret, e
	case e != 0 && done > 0:
		e = 0
	case e == linux.EPIPE && b.Type == linux.SOCK_STREAM && m.Flags&linux.MSG_NOSIGNAL == 0:
		t.Send(task.InfoFromProcess(t.Process, linux.SIGPIPE, linux.SI_USER))
	}
	return done, e
}

// ReadWaiting is read(2) of a socket. What it and WriteWaiting do while they wait depends on the socket's timeouts.
func (s *TCPSocket) ReadWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return receiveBytes(t, s, v)
}

// ReadWaiting is read(2) of a socket.
func (s *udpSocket) ReadWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return receiveBytes(t, s, v)
}

// ReadWaiting is read(2) of a socket.
func (s *UnixSocket) ReadWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return receiveBytes(t, s, v)
}

// ReadWaiting is read(2) of a socket.
func (s *netlinkSocket) ReadWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return receiveBytes(t, s, v)
}

// WriteWaiting is write(2) of a socket.
func (s *TCPSocket) WriteWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return transmitBytes(t, s, v)
}

// WriteWaiting is write(2) of a socket.
func (s *udpSocket) WriteWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return transmitBytes(t, s, v)
}

// WriteWaiting is write(2) of a socket.
func (s *UnixSocket) WriteWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return transmitBytes(t, s, v)
}

// WriteWaiting is write(2) of a socket.
func (s *netlinkSocket) WriteWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	return transmitBytes(t, s, v)
}

// transmitBytes is Transmit for write(2).
func transmitBytes(t *task.Thread, s Socket, v []uio.Iovec) (uint64, linux.Errno) {
	return Transmit(t, s, &OutMessage{V: v, Cred: Credential(t)})
}

// Receive receives into m, and waits as long as the socket's timeout allows. t.Call.Done is what was received before
// waiting.
func Receive(t *task.Thread, s Socket, m *InMessage) (uint64, linux.Errno) {
	if b := s.Sock(); m.Flags&linux.MSG_ERRQUEUE != 0 && (b.Family == linux.AF_INET || b.Family == linux.AF_INET6) {
		return 0, linux.EAGAIN // errors are not queued, and not waited for
	}
	SocketDeadline(t, s.Sock().Opts.RcvTimeout)
	want := uint64(1)
	if b := s.Sock(); b.Type == linux.SOCK_STREAM {
		want = min(uint64(b.Opts.lowWater), uio.Total(m.V))
		if m.Flags&(linux.MSG_WAITALL|linux.MSG_PEEK) == linux.MSG_WAITALL {
			want = uio.Total(m.V)
		}
	}
	return receiveRest(t, s, m, want)
}

// receiveRest goes on with Receive until there are want bytes.
func receiveRest(t *task.Thread, s Socket, m *InMessage, want uint64) (uint64, linux.Errno) {
	b, all := s.Sock(), m.V
	if t.Call.Done > 0 {
		m.V, m.more = uio.Skip(all, t.Call.Done), true
	}
	n, e := s.receive(t, m)
	m.V = all
	t.Call.Done += n
	done := t.Call.Done
	if e == 0 && (n == 0 || b.Type != linux.SOCK_STREAM || done >= want || len(m.Files) > 0) {
		return done, 0
	}
	if (e == 0 || e == linux.EAGAIN) && !b.Nonblock() && m.Flags&linux.MSG_DONTWAIT == 0 && !t.TimedOut() {
		if m.Flags&linux.MSG_PEEK != 0 {
			t.Call.Done = 0 // what was peeked at is still in the queue
			done = 0
		}
		ret, e := waitSocket(t, s, linux.POLLIN, nil, func() (uint64, linux.Errno) { return receiveRest(t, s, m, want) })
		t.Call.Wait.Partial = done
		return ret, e
	}
	if done > 0 {
		e = 0
	}
	return done, e
}

// receiveBytes is Receive for read(2), which takes nothing that comes along.
func receiveBytes(t *task.Thread, s Socket, v []uio.Iovec) (uint64, linux.Errno) {
	if uio.Total(v) == 0 {
		return 0, 0 // recv(2) of no bytes would wait
	}
	m := &InMessage{V: v}
	n, e := Receive(t, s, m)
	if len(m.Files) == 0 && e != task.EBlocked {
		return n, e
	}
	return t.Then(n, e, func(n uint64, e linux.Errno) (uint64, linux.Errno) {
		DropFiles(t, m.Files)
		return n, e
	})
}

// msghdrSize is the size of struct msghdr.
const msghdrSize = 56

// A msghdr is a struct msghdr as it lies in memory.
type msghdr []byte

func (h msghdr) name() emu.Addr { return emu.Addr(linux.Uint64(h)) }

func (h msghdr) nameLen() int { return int(int32(linux.Uint32(h[8:]))) }

func (h msghdr) iov() emu.Addr { return emu.Addr(linux.Uint64(h[16:])) }

func (h msghdr) iovLen() uint64 { return linux.Uint64(h[24:]) }

func (h msghdr) control() emu.Addr { return emu.Addr(linux.Uint64(h[32:])) }

func (h msghdr) controlLen() uint64 { return linux.Uint64(h[40:]) }

// message reads the struct msghdr at at, and its iovecs.
func message(t *task.Thread, at emu.Addr) (msghdr, []uio.Iovec, linux.Errno) {
	b, e := t.CopyIn(at, msghdrSize)
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
	v, e := t.Iovecs(h.iov(), h.iovLen())
	return h, v, e
}

// Sendmsg implements sendmsg(2) with the struct msghdr at at.
func Sendmsg(t *task.Thread, s Socket, at emu.Addr, flags uint32) (uint64, linux.Errno) {
	h, v, e := message(t, at)
	if e != 0 {
		return 0, e
	}
	m := &OutMessage{V: v, Flags: flags, Cred: Credential(t)}
	if h.name() != 0 && h.nameLen() > 0 {
		if m.Name, e = t.CopyIn(h.name(), min(h.nameLen(), maxSockaddr)); e != 0 {
			return 0, e
		}
	}
	if e := sendControl(t, s, m, h); e != 0 {
		return 0, e
	}
	return Transmit(t, s, m)
}

// Recvmsg implements recvmsg(2) with the struct msghdr at at.
func Recvmsg(t *task.Thread, s Socket, at emu.Addr, flags uint32) (uint64, linux.Errno) {
	h, v, e := message(t, at)
	if e != 0 {
		return 0, e
	}
	m := &InMessage{V: v, Flags: flags}
	n, e := Receive(t, s, m)
	return t.Then(n, e, func(n uint64, e linux.Errno) (uint64, linux.Errno) {
		if e != 0 {
			return n, e
		}
		return n, outMessage(t, s, m, h, at)
	})
}

// outMessage completes the struct msghdr at at, whose contents were h, after m was received: name, control messages,
// flags.
func outMessage(t *task.Thread, s Socket, m *InMessage, h msghdr, at emu.Addr) linux.Errno {
	m.out |= m.Flags & linux.MSG_CMSG_CLOEXEC
	used, e := receiveControl(t, s, m, h)
	if e != 0 {
		return e
	}
	if h.name() != 0 {
		if e := t.CopyOut(h.name(), m.Name[:min(h.nameLen(), len(m.Name))]); e != 0 {
			return e
		}
		linux.PutUint32(h[8:], uint32(len(m.Name)))
	}
	linux.PutUint64(h[40:], used)
	linux.PutUint32(h[48:], m.out)
	return t.CopyOut(at, h)
}

// mmsghdrSize is the size of struct mmsghdr: a msghdr and the number of bytes that were sent or received.
const mmsghdrSize = msghdrSize + 8

// EachMessage calls do for n struct mmsghdr at at, one after the other, and returns how many have succeeded. The first
// error after a success is not told.
func EachMessage(t *task.Thread, at emu.Addr, n uint64, do func(at emu.Addr) (uint64, linux.Errno)) (uint64, linux.Errno) {
	for n = min(n, linux.IOV_MAX); t.Call.Messages < n; {
		p := at + emu.Addr(t.Call.Messages*mmsghdrSize)
		size, e := do(p)
		if e == task.EBlocked {
			return messageLater(t, p, func() (uint64, linux.Errno) { return EachMessage(t, at, n, do) })
		}
		if e = messageDone(t, p, size, e); e != 0 {
			return messagesDone(t, e)
		}
	}
	return t.Call.Messages, 0
}

// messageLater makes a call whose message at p has to wait go on afterwards with rest.
func messageLater(t *task.Thread, p emu.Addr, rest func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	t.Call.Wait.Partial = t.Call.Messages
	resume := t.Call.Resume
	t.Call.Resume = func() (uint64, linux.Errno) {
		size, e := resume()
		if e == task.EBlocked {
			return messageLater(t, p, rest)
		}
		if e = messageDone(t, p, size, e); e != 0 {
			return messagesDone(t, e)
		}
		return rest()
	}
	return 0, task.EBlocked
}

// messageDone notes in the struct mmsghdr at p that size bytes of its message were sent or received, unless e is an
// error.
func messageDone(t *task.Thread, p emu.Addr, size uint64, e linux.Errno) linux.Errno {
	if e == 0 {
		e = t.Out32(p+msghdrSize, uint32(size))
	}
	if e == 0 {
		t.Call.Done = 0
		t.Call.Messages++
	}
	return e
}

// messagesDone is the result of a call that can do no more messages because of e.
func messagesDone(t *task.Thread, e linux.Errno) (uint64, linux.Errno) {
	if t.Call.Messages > 0 {
		return t.Call.Messages, 0
	}
	return 0, e
}
