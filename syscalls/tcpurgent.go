package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// An urgent is the urgent byte of a stream (tcp(7), MSG_OOB; net/ipv4/tcp_input.c, tcp_check_urg). It lies in the queue, and those
// that read the stream pass it by; the newest one counts.
type urgent struct {
	state urgentState
	// after is how many bytes of the queue lie in front of it.
	after int
}

type urgentState uint8

const (
	urgentNone urgentState = iota
	urgentHere
	urgentRead
)

// urge says that the last byte of what p has received is urgent.
func (p *tcpSocket) urge(k *Kernel) {
	if p.urgent.state != urgentNone && p.urgent.after == 0 && !p.inline() && p.queue.bytes > 1 {
		p.pass(1) // the reader is at the old one, which is lost
	}
	p.urgent = urgent{urgentHere, p.queue.bytes - 1}
	p.wake(linux.POLLIN)
	k.signalOwner(p.owner, &sigInfo{signo: linux.SIGURG, code: linux.SI_KERNEL})
	p.announce(linux.POLLPRI)
}

// inline reports whether urgent bytes are read as others are.
func (s *tcpSocket) inline() bool {
	return s.opts.values[optionKey{linux.SOL_SOCKET, linux.SO_OOBINLINE}] != 0
}

// pass takes n bytes of the first packet off the queue, those in front of the urgent byte, or that one as the first.
func (s *tcpSocket) pass(n int) {
	s.queue.take(n)
	if s.urgent.state == urgentNone {
		return
	}
	if s.urgent.after < n {
		s.urgent = urgent{}
	} else {
		s.urgent.after -= n
	}
}

// passMark passes by an urgent byte that is the next one, if the reader wants none, and returns how many bytes can be read in a row.
func (s *tcpSocket) passMark() int {
	switch u := s.urgent; {
	case u.state == urgentNone:
		return s.queue.bytes
	case u.after > 0:
		return u.after
	case !s.inline():
		s.pass(1)
	}
	return s.queue.bytes
}

// atMark reports whether the urgent byte is the next one.
func (s *tcpSocket) atMark() bool { return s.urgent.state != urgentNone && s.urgent.after == 0 }

// pendingBytes is what FIONREAD tells: what lies in front of the urgent byte.
func (s *tcpSocket) pendingBytes() int {
	if s.urgent.state == urgentNone || s.inline() {
		return s.queue.bytes
	}
	return s.urgent.after
}

// readEvents are what poll says of reading.
func (s *tcpSocket) readEvents() (ev uint32) {
	if s.urgent.state == urgentHere {
		ev = linux.POLLPRI
	}
	want := s.opts.lowWater
	if s.atMark() && !s.inline() {
		want++
	}
	if s.queue.bytes >= want {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	return ev
}

// receiveUrgent receives the urgent byte.
func (s *tcpSocket) receiveUrgent(t *Thread, m *inMessage) (uint64, linux.Errno) {
	switch {
	case s.inline() || s.urgent.state != urgentHere:
		return 0, linux.EINVAL // also if it was read, or none has come
	case s.state == tcpClosed && !s.rcvShut:
		return 0, linux.ENOTCONN
	}
	b := s.queue.at(s.urgent.after)
	if m.flags&linux.MSG_PEEK == 0 {
		s.urgent.state = urgentRead
	}
	m.out |= linux.MSG_OOB
	if total(m.v) == 0 {
		m.out |= linux.MSG_TRUNC
		return 0, 0
	}
	n, e := t.scatter(m.v, []byte{b})
	return uint64(n), e
}

// at returns a byte of a stream.
func (q *packetQueue) at(i int) byte {
	for _, p := range q.packets {
		if i < len(p.data) {
			return p.data[i]
		}
		i -= len(p.data)
	}
	panic("BUG: a byte behind the end of a queue")
}

// sendUrgent sends b, whose last byte is urgent.
func (s *tcpSocket) sendUrgent(k *Kernel, b []byte) {
	p := s.peer
	before := 0
	if p != nil {
		before = p.queue.bytes
	}
	s.hand(k, b)
	if p != nil && p.queue.bytes > before {
		p.urge(k)
	}
}
