package syscalls

import (
	"bytes"

	"github.com/cgemu/cgemu/emu"
)

// unixPiece is how much of a stream goes into one packet (UNIX_SKB_FRAGS_SZ).
const unixPiece = 32 << 10

func (s *unixSocket) read(t *Thread, v []iovec, _ int64) (uint64, Errno) {
	return s.receive(t, &inMessage{v: v})
}

func (s *unixSocket) write(t *Thread, v []iovec, _ int64) (uint64, Errno) {
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
	to.wake(pollIN)
}

func (s *unixSocket) send(t *Thread, m *outMessage) (uint64, Errno) {
	if m.flags&msgOOB != 0 {
		return 0, EOPNOTSUPP
	}
	if s.opts.passCred && s.path == nil && !s.datagrams() {
		s.autobind(t)
	}
	switch s.typ {
	case sockStream:
		return s.sendStream(t, m)
	case sockSeqpacket:
		if e := s.takeErr(); e != 0 {
			return 0, e
		}
		if !s.connected {
			return 0, ENOTCONN
		}
		m.name = nil
	}
	return s.sendPacket(t, m)
}

func (s *unixSocket) sendStream(t *Thread, m *outMessage) (uint64, Errno) {
	switch {
	case m.name != nil && s.connected:
		return 0, EISCONN
	case m.name != nil:
		return 0, EOPNOTSUPP
	case !s.connected:
		return 0, ENOTCONN
	}
	n := total(m.v)
	var done uint64
	if s.sndShut {
		return 0, EPIPE
	}
	for done < n {
		if s.unread >= s.opts.sndBuf {
			return done, EAGAIN
		}
		b, e := t.gather(skip(m.v, done), unixPiece)
		if e == 0 && uint64(len(b)) < min(n-done, unixPiece) {
			e = EFAULT // a piece is sent whole, or not at all
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
func (s *unixSocket) sendPacket(t *Thread, m *outMessage) (uint64, Errno) {
	if m.name != nil {
		if e := checkUnixName(m.name); e != 0 {
			return 0, e
		}
	}
	n := total(m.v)
	if n > uint64(s.opts.sndBuf-32) {
		return 0, EMSGSIZE
	}
	if e := s.takeErr(); e != 0 {
		return 0, e
	}
	if s.sndShut {
		return 0, EPIPE
	}
	if s.unread >= s.opts.sndBuf {
		return 0, EAGAIN
	}
	if m.packet == nil {
		b, e := t.gather(m.v, n)
		if e == 0 && uint64(len(b)) < n {
			e = EFAULT
		}
		if e != 0 {
			return 0, e
		}
		m.packet = b
	}
	to, e := s.receiver(t, m)
	if e != 0 {
		s.count(pollOUT) // the room that the packet had taken is free
		return 0, e
	}
	s.hand(to, m.packet, m)
	return n, 0
}

// receiver is who gets a packet.
func (s *unixSocket) receiver(t *Thread, m *outMessage) (*unixSocket, Errno) {
	to := s.peer
	if m.name != nil {
		var e Errno
		if to, e = t.findUnix(m.name, s.typ); e != 0 {
			return nil, e
		}
	}
	switch {
	case to == nil:
		return nil, ENOTCONN
	case to.closed:
		if s.datagrams() && to == s.peer {
			s.peer, s.connected = nil, false
			s.disconnected(t.k, to)
		}
		return nil, ECONNREFUSED
	case to.peer != nil && to.peer != s:
		return nil, EPERM
	case to.rcvShut:
		return nil, EPIPE
	case s.datagrams() && to != s && to.peer != s && to.full():
		m.ready = func() bool { return !to.full() || to.closed || to.rcvShut || s.sndShut }
		return nil, EAGAIN
	}
	return to, 0
}

// writeRaw sends bytes of ours.
func (s *unixSocket) writeRaw(t *Thread, b []byte, _ int64) (int, Errno) {
	switch {
	case !s.connected || s.peer == nil && !s.sndShut:
		return 0, ENOTCONN
	case s.sndShut:
		t.send(infoFromProcess(t.p, sigPIPE, siUser))
		return 0, EPIPE
	case s.unread >= s.opts.sndBuf || s.datagrams() && s.peer.full():
		return 0, EAGAIN
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

func (s *unixSocket) readRaw(t *Thread, b []byte, _ int64) (int, Errno) {
	if e := s.cannotReceive(); e != 0 {
		return 0, e
	}
	if s.queue.empty() {
		return 0, s.nothing(&inMessage{})
	}
	p := s.queue.first()
	n := copy(b, p.data)
	if s.typ != sockStream {
		p.data = p.data[:n] // the rest of a message is lost
	}
	if n == len(p.data) {
		t.dropFiles(p.files)
	}
	s.queue.take(n)
	return n, 0
}

// nothing is what receiving gives when the queue is empty: 0 for the end.
func (s *unixSocket) nothing(m *inMessage) Errno {
	if s.err != 0 {
		if m.more {
			return 0
		}
		return s.takeErr()
	}
	if s.rcvShut && (!s.datagrams() || !s.nonblock() && m.flags&msgDontwait == 0) {
		return 0
	}
	return EAGAIN
}

// cannotReceive is why a socket that is not connected cannot.
func (s *unixSocket) cannotReceive() Errno {
	switch {
	case s.connected || s.datagrams():
		return 0
	case s.typ == sockStream:
		return EINVAL
	}
	return ENOTCONN
}

func (s *unixSocket) receive(t *Thread, m *inMessage) (uint64, Errno) {
	switch {
	case m.flags&msgErrqueue != 0:
		return 0, EAGAIN
	case m.flags&msgOOB != 0 && s.typ == sockStream:
		return 0, EINVAL
	case m.flags&msgOOB != 0:
		return 0, EOPNOTSUPP
	}
	if e := s.cannotReceive(); e != 0 {
		return 0, e
	}
	if s.queue.empty() {
		return 0, s.nothing(m)
	}
	if s.typ == sockStream {
		return s.receiveStream(t, m)
	}
	return s.queue.receivePacket(t, m)
}

// receiveStream takes bytes from as many packets as fit: up to one with descriptors, and, where the
// receiver wants to know, from one sender.
func (s *unixSocket) receiveStream(t *Thread, m *inMessage) (uint64, Errno) {
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
			e = EFAULT // as much of a piece as there was to be, or nothing
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
		if m.flags&msgPeek != 0 {
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
func (m *inMessage) peekFiles(files []file) {
	for _, f := range files {
		f.base().refs++
	}
	m.files = append([]file(nil), files...)
}

// receivePacket takes one packet; what does not fit is lost.
func (q *packetQueue) receivePacket(t *Thread, m *inMessage) (uint64, Errno) {
	p := q.first()
	size := uint64(len(p.data))
	n, e := t.scatter(m.v, p.data)
	if e != 0 {
		return 0, e
	}
	m.cred, m.name = p.cred, p.name()
	if uint64(n) < size {
		m.out |= msgTrunc
	}
	if m.flags&msgPeek != 0 {
		m.peekFiles(p.files)
	} else {
		m.files, p.files = p.files, nil
		q.pop()
	}
	if m.flags&msgTrunc != 0 {
		return size, 0
	}
	return uint64(n), 0
}

func (s *unixSocket) poll(*Thread) uint32 {
	ev := s.shutEvents()
	if !s.queue.empty() || len(s.pending) > 0 {
		ev |= pollIN | pollRDN
	}
	if !s.datagrams() && !s.connected && !s.listening {
		ev |= pollHUP
	}
	if s.crowded = s.crowded || !s.roomy(); s.listening || !s.roomy() {
		return ev
	}
	if p := s.peer; s.datagrams() && p != nil && p.peer != s && p.full() {
		return ev
	}
	return ev | pollOUT | pollWRN | pollWRB
}

func (s *unixSocket) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, Errno) {
	switch req {
	case fioNRead:
		if s.listening {
			return 0, EINVAL
		}
		n := s.queue.bytes
		if s.datagrams() {
			n = s.queue.firstSize()
		}
		return 0, t.out32(arg, uint32(n))
	case tiocOutQ:
		return 0, t.out32(arg, uint32(s.unread))
	}
	return t.socketIoctl(req, arg)
}
