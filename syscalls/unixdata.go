package syscalls

import (
	"bytes"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// unixPiece is how much of a stream goes into one packet (UNIX_SKB_FRAGS_SZ).
const unixPiece = 32 << 10

func (s *unixSocket) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &inMessage{v: v})
}

func (s *unixSocket) write(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &outMessage{v: v, cred: t.credential()})
}

// unixCost is what a packet of n bytes takes of its sender's buffer: what is little goes into the smallest there is.
func unixCost(n int) int {
	const little = 192
	if n <= little {
		return packetCost
	}
	return n + packetCost
}

// hand puts a packet into to's queue.
func (s *unixSocket) hand(to *unixSocket, data []byte, m *outMessage) {
	p := &packet{data: data, cred: m.cred, files: m.files, sender: &s.sockBase, origin: s, cost: unixCost(len(data))}
	for _, f := range m.files {
		f.base().refs++
	}
	s.unread += p.cost
	to.queue.put(p)
	to.wake(linux.POLLIN)
}

func (s *unixSocket) send(t *Thread, m *outMessage) (uint64, linux.Errno) {
	if m.flags&linux.MSG_OOB != 0 {
		return 0, linux.EOPNOTSUPP
	}
	if s.opts.passCred && s.path == nil && !s.datagrams() {
		s.autobind(t)
	}
	switch s.typ {
	case linux.SOCK_STREAM:
		return s.sendStream(t, m)
	case linux.SOCK_SEQPACKET:
		if e := s.takeErr(); e != 0 {
			return 0, e
		}
		if !s.connected {
			return 0, linux.ENOTCONN
		}
		m.name = nil
	}
	return s.sendPacket(t, m)
}

func (s *unixSocket) sendStream(t *Thread, m *outMessage) (uint64, linux.Errno) {
	switch {
	case m.name != nil && s.connected:
		return 0, linux.EISCONN
	case m.name != nil:
		return 0, linux.EOPNOTSUPP
	case !s.connected:
		return 0, linux.ENOTCONN
	}
	n := total(m.v)
	var done uint64
	if s.sndShut {
		return 0, linux.EPIPE
	}
	for done < n {
		if s.unread >= s.opts.sndBuf {
			return done, linux.EAGAIN
		}
		b, e := t.gather(skip(m.v, done), unixPiece)
		if e == 0 && uint64(len(b)) < min(n-done, unixPiece) {
			e = linux.EFAULT // a piece is sent whole, or not at all
		}
		if e != 0 {
			return done, e
		}
		s.hand(s.peer, b, m)
		m.files = nil
		done += uint64(len(b))
	}
	return done, 0
}

// sendPacket sends all of m at once.
func (s *unixSocket) sendPacket(t *Thread, m *outMessage) (uint64, linux.Errno) {
	if m.name != nil {
		if e := checkUnixName(m.name); e != 0 {
			return 0, e
		}
	}
	n := total(m.v)
	if n > uint64(s.opts.sndBuf-32) {
		return 0, linux.EMSGSIZE
	}
	if e := s.takeErr(); e != 0 {
		return 0, e
	}
	if s.sndShut {
		return 0, linux.EPIPE
	}
	if s.unread >= s.opts.sndBuf {
		return 0, linux.EAGAIN
	}
	if m.packet == nil {
		b, e := t.gather(m.v, n)
		if e == 0 && uint64(len(b)) < n {
			e = linux.EFAULT
		}
		if e != 0 {
			return 0, e
		}
		m.packet = b
	}
	to, e := s.receiver(t, m)
	if e != 0 {
		s.count(linux.POLLOUT) // the room that the packet had taken is free
		return 0, e
	}
	s.hand(to, m.packet, m)
	return n, 0
}

// receiver is who gets a packet.
func (s *unixSocket) receiver(t *Thread, m *outMessage) (*unixSocket, linux.Errno) {
	to := s.peer
	if m.name != nil {
		var e linux.Errno
		if to, e = t.findUnix(m.name, s.typ); e != 0 {
			return nil, e
		}
	}
	switch {
	case to == nil:
		return nil, linux.ENOTCONN
	case to.closed:
		if s.datagrams() && to == s.peer {
			s.peer, s.connected = nil, false
			s.disconnected(t.k, to)
		}
		return nil, linux.ECONNREFUSED
	case to.peer != nil && to.peer != s:
		return nil, linux.EPERM
	case to.rcvShut:
		return nil, linux.EPIPE
	case s.datagrams() && to != s && to.peer != s && to.full():
		m.ready = func() bool { return !to.full() || to.closed || to.rcvShut || s.sndShut }
		return nil, linux.EAGAIN
	}
	return to, 0
}

// writeRaw sends bytes of ours.
func (s *unixSocket) writeRaw(t *Thread, b []byte, _ int64) (int, linux.Errno) {
	switch {
	case !s.connected || s.peer == nil && !s.sndShut:
		return 0, linux.ENOTCONN
	case s.sndShut:
		t.send(infoFromProcess(t.p, linux.SIGPIPE, linux.SI_USER))
		return 0, linux.EPIPE
	case s.unread >= s.opts.sndBuf || s.datagrams() && s.peer.full():
		return 0, linux.EAGAIN
	}
	b = b[:min(len(b), unixPiece)]
	s.hand(s.peer, bytes.Clone(b), &outMessage{cred: t.credential()})
	return len(b), 0
}

func (s *unixSocket) rawRoom() int {
	switch {
	case !s.connected || s.sndShut || s.peer == nil:
		return 1
	case s.unread >= s.opts.sndBuf || s.datagrams() && s.peer.full():
		return 0
	}
	return unixPiece
}

func (s *unixSocket) readRaw(t *Thread, b []byte, _ int64) (int, linux.Errno) {
	if e := s.cannotReceive(); e != 0 {
		return 0, e
	}
	if s.queue.empty() {
		return 0, s.nothing(&inMessage{})
	}
	p := s.queue.first()
	n := copy(b, p.data)
	if s.typ != linux.SOCK_STREAM {
		p.data = p.data[:n] // the rest of a message is lost
	}
	if n == len(p.data) {
		t.dropFiles(p.files)
	}
	s.queue.take(n)
	return n, 0
}

// nothing is what receiving gives when the queue is empty: 0 for the end.
func (s *unixSocket) nothing(m *inMessage) linux.Errno {
	if s.err != 0 {
		if m.more {
			return 0
		}
		return s.takeErr()
	}
	if s.rcvShut && (!s.datagrams() || !s.nonblock() && m.flags&linux.MSG_DONTWAIT == 0) {
		return 0
	}
	return linux.EAGAIN
}

// cannotReceive is why a socket that is not connected cannot.
func (s *unixSocket) cannotReceive() linux.Errno {
	switch {
	case s.connected || s.datagrams():
		return 0
	case s.typ == linux.SOCK_STREAM:
		return linux.EINVAL
	}
	return linux.ENOTCONN
}

func (s *unixSocket) receive(t *Thread, m *inMessage) (uint64, linux.Errno) {
	switch {
	case m.flags&linux.MSG_ERRQUEUE != 0:
		return 0, linux.EAGAIN
	case m.flags&linux.MSG_OOB != 0 && s.typ == linux.SOCK_STREAM:
		return 0, linux.EINVAL
	case m.flags&linux.MSG_OOB != 0:
		return 0, linux.EOPNOTSUPP
	}
	if e := s.cannotReceive(); e != 0 {
		return 0, e
	}
	if s.queue.empty() {
		return 0, s.nothing(m)
	}
	if s.typ == linux.SOCK_STREAM {
		return s.receiveStream(t, m)
	}
	return s.queue.receivePacket(t, m)
}

// receiveStream takes bytes from as many packets as fit: up to one with descriptors, and, where the
// receiver wants to know, from one sender.
func (s *unixSocket) receiveStream(t *Thread, m *inMessage) (uint64, linux.Errno) {
	want, v, at := total(m.v), m.v, 0
	var done uint64
	for done < want {
		if at >= len(s.queue.packets) {
			break
		}
		p := s.queue.packets[at]
		if done > 0 && s.opts.passCred && p.cred != m.cred {
			break
		}
		part := p.data[:min(uint64(len(p.data)), want-done)]
		n, e := t.scatter(v, part)
		if e == 0 && n < len(part) {
			e = linux.EFAULT // as much of a piece as there was to be, or nothing
		}
		if e != 0 {
			if done > 0 {
				break
			}
			return 0, e
		}
		done += uint64(n)
		v = skip(v, uint64(n))
		m.cred, m.name = p.cred, p.name()
		files := p.files
		if m.flags&linux.MSG_PEEK != 0 {
			m.peekFiles(files)
			at++
		} else {
			m.files, p.files = files, nil
			s.queue.take(n)
		}
		if len(files) > 0 {
			break
		}
	}
	return done, 0
}

// peekFiles gives descriptors to a message and leaves them in the queue.
func (m *inMessage) peekFiles(sent []file) {
	for _, f := range sent {
		f.base().refs++
	}
	m.files = append([]file(nil), sent...)
}

// receivePacket takes one packet; what does not fit is lost.
func (q *packetQueue) receivePacket(t *Thread, m *inMessage) (uint64, linux.Errno) {
	p := q.first()
	size := uint64(len(p.data))
	n, e := t.scatter(m.v, p.data)
	if e != 0 {
		return 0, e
	}
	m.cred, m.name = p.cred, p.name()
	if uint64(n) < size {
		m.out |= linux.MSG_TRUNC
	}
	if m.flags&linux.MSG_PEEK != 0 {
		m.peekFiles(p.files)
	} else {
		m.files, p.files = p.files, nil
		q.pop()
	}
	if m.flags&linux.MSG_TRUNC != 0 {
		return size, 0
	}
	return uint64(n), 0
}

func (s *unixSocket) poll(*Thread) uint32 {
	ev := s.shutEvents()
	if !s.queue.empty() || len(s.pending) > 0 {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if !s.datagrams() && !s.connected && !s.listening {
		ev |= linux.POLLHUP
	}
	if s.crowded = s.crowded || !s.roomy(); s.listening || !s.roomy() {
		return ev
	}
	if p := s.peer; s.datagrams() && p != nil && p.peer != s && p.full() {
		return ev
	}
	return ev | linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND
}

func (s *unixSocket) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch req {
	case linux.FIONREAD:
		if s.listening {
			return 0, linux.EINVAL
		}
		n := s.queue.bytes
		if s.datagrams() {
			n = s.queue.firstSize()
		}
		return 0, t.out32(arg, uint32(n))
	case linux.TIOCOUTQ:
		return 0, t.out32(arg, uint32(s.unread))
	}
	return t.socketIoctl(req, arg)
}
