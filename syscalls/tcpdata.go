package syscalls

import (
	"bytes"
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

func (s *tcpSocket) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &inMessage{v: v})
}

func (s *tcpSocket) write(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &outMessage{v: v})
}

// room is how much may be sent: as far as the sender may be ahead.
func (s *tcpSocket) room() int {
	if s.peer == nil {
		return s.window()
	}
	return max(s.window()-s.peer.queue.bytes, 0)
}

func (s *tcpSocket) window() int {
	if s.peer == nil || s.opts.sndBuf == tcpSndBuf && s.peer.opts.rcvBuf == tcpRcvBuf {
		return tcpFlight
	}
	// Buffers of a size that the program has set do not grow.
	return s.opts.sndBuf + s.peer.opts.rcvBuf/2
}

// cannotSend is why nothing can be sent; EAGAIN until the connection is there.
func (s *tcpSocket) cannotSend() linux.Errno {
	switch {
	case s.state == tcpConnecting:
		return linux.EAGAIN
	case s.sndShut || s.err != 0 || s.state == tcpClosed:
		if e := s.takeErr(); e != 0 {
			return e
		}
		return linux.EPIPE
	}
	return 0
}

// hand gives b to the peer. If that has closed, it answers with a reset.
func (s *tcpSocket) hand(k *Kernel, b []byte) {
	p := s.peer
	switch {
	case p == nil:
		s.aborted(k)
		return
	case p.rcvShut && p.sndShut && !p.finished:
		// It wants no more ("MUST send a RST to show that data was lost" - RFC 1122, 4.2.2.13).
		s.aborted(k)
		p.aborted(k)
		return
	}
	p.queue.putBytes(b)
	p.wake(linux.POLLIN)
}

func (s *tcpSocket) send(t *Thread, m *outMessage) (uint64, linux.Errno) {
	if e := s.cannotSend(); e != 0 {
		return 0, e
	}
	if m.flags&linux.MSG_OOB != 0 && s.outside.used() {
		return 0, linux.EOPNOTSUPP
	}
	n := total(m.v)
	if n == 0 {
		return 0, 0
	}
	if s.outside.used() {
		return s.outside.sendAll(t, m.v)
	}
	room := uint64(s.room())
	if room == 0 {
		return 0, linux.EAGAIN
	}
	b, e := t.gather(m.v, room)
	if e != 0 {
		return 0, e
	}
	if m.flags&linux.MSG_OOB != 0 && uint64(len(b)) == n {
		s.sendUrgent(t.k, b)
	} else {
		s.hand(t.k, b)
	}
	if uint64(len(b)) < n && uint64(len(b)) == room {
		return uint64(len(b)), linux.EAGAIN
	}
	return uint64(len(b)), 0
}

func (s *tcpSocket) writeRaw(t *Thread, b []byte, _ int64) (int, linux.Errno) {
	if e := s.cannotSend(); e != 0 {
		if e == linux.EPIPE {
			t.send(infoFromProcess(t.p, linux.SIGPIPE, linux.SI_USER))
		}
		return 0, e
	}
	if s.outside.used() {
		return s.outside.fd.sendTo(b, netip.AddrPort{})
	}
	n := min(len(b), s.room())
	if n == 0 {
		return 0, linux.EAGAIN
	}
	s.hand(t.k, bytes.Clone(b[:n]))
	return n, 0
}

func (s *tcpSocket) rawRoom() int {
	if s.state != tcpConnected || s.sndShut || s.err != 0 {
		return 1
	}
	return s.room()
}

// taken is called after something was received: the peer may have room again.
func (s *tcpSocket) taken(before int) {
	p := s.peer
	if p != nil && before > p.window()*2/3 && p.writable() {
		p.emptied()
	}
}

// writable reports whether poll says so: a third of the room is free (sk_stream_is_writeable).
func (s *tcpSocket) writable() bool { return s.room() >= s.window()/3 }

func (s *tcpSocket) readRaw(_ *Thread, b []byte, _ int64) (int, linux.Errno) {
	if s.outside.used() && s.state == tcpConnected {
		n, _, e := s.outside.fd.receiveFrom(b, 0)
		return n, e
	}
	before := s.queue.bytes
	most := min(len(b), s.passMark())
	if s.queue.empty() {
		return 0, s.nothing(&inMessage{})
	}
	n := copy(b[:most], s.queue.first().data)
	s.pass(n)
	s.taken(before)
	return n, 0
}

// nothing is what receiving gives when the queue is empty: 0 for the end.
func (s *tcpSocket) nothing(m *inMessage) linux.Errno {
	switch {
	case m.more && (s.err != 0 || s.rcvShut):
		return 0
	case s.finished:
		return 0
	case s.err != 0:
		return s.takeErr()
	case s.rcvShut:
		return 0
	case s.state == tcpClosed:
		return linux.ENOTCONN
	}
	return linux.EAGAIN
}

func (s *tcpSocket) receive(t *Thread, m *inMessage) (uint64, linux.Errno) {
	switch {
	case m.flags&linux.MSG_ERRQUEUE != 0:
		return 0, linux.EAGAIN
	case s.listening:
		return 0, linux.ENOTCONN
	case s.outside.used() && s.state == tcpConnected:
		n, _, e := s.outside.receive(t, m)
		return n, e
	case m.flags&linux.MSG_OOB != 0:
		return s.receiveUrgent(t, m)
	}
	before, want := s.queue.bytes, min(total(m.v), uint64(s.passMark()))
	if s.queue.empty() {
		return 0, s.nothing(m)
	}
	defer s.taken(before)
	v, at := m.v, 0
	var done uint64
	for done < want && at < len(s.queue.packets) {
		p := s.queue.packets[at]
		n := int(min(uint64(len(p.data)), want-done))
		if m.flags&linux.MSG_TRUNC == 0 {
			got, e := t.scatter(v, p.data[:n])
			if e != 0 {
				if done > 0 {
					break
				}
				return 0, e
			}
			n = got
			v = skip(v, uint64(n))
		}
		done += uint64(n)
		if m.flags&linux.MSG_PEEK != 0 {
			at++
		} else {
			s.pass(n)
		}
	}
	return done, 0
}

func (s *tcpSocket) poll(t *Thread) uint32 {
	if s.listening {
		if len(s.pending) > 0 {
			return linux.POLLIN | linux.POLLRDNORM
		}
		return 0
	}
	s.progress(t.k)
	ev := s.shutEvents()
	if s.outside.used() && s.state == tcpConnected {
		return ev | s.outside.fd.poll(linux.POLLIN|linux.POLLPRI|linux.POLLOUT|linux.POLLRDNORM|linux.POLLWRNORM|linux.POLLRDHUP)
	}
	if s.state == tcpClosed {
		ev |= linux.POLLHUP
	}
	if s.state == tcpConnecting {
		return ev
	}
	ev |= s.readEvents()
	if s.sndShut || s.writable() {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	} else {
		s.crowded = true
	}
	return ev
}
