package net

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// An urgent is the urgent byte of a stream (tcp(7), MSG_OOB; net/ipv4/tcp_input.c, tcp_check_urg). It lies in the
// queue, where reading passes over it. There is one at a time, the newest.
type urgent struct {
	state urgentState
	// after is how many bytes of the queue are in front of it.
	after int
}

// An urgentState says whether there is an urgent byte in the queue, and whether MSG_OOB has read it.
type urgentState uint8

const (
	urgentNone urgentState = iota
	urgentHere
	urgentRead
)

// markUrgent says that the last byte in p's queue is urgent.
func (p *TCPSocket) markUrgent(k *task.Kernel) {
	if p.urgent.state != urgentNone && p.urgent.after == 0 && !p.inline() && p.Queue.Bytes > 1 {
		p.consume(1) // the old urgent byte is the next one: it is lost
	}
	p.urgent = urgent{urgentHere, p.Queue.Bytes - 1}
	p.Wake(linux.POLLIN)
	files.SignalOwner(k, p.Owner, &task.SigInfo{Signo: linux.SIGURG, Code: linux.SI_KERNEL})
	p.Announce(linux.POLLPRI)
}

// inline reports whether urgent bytes are read like others (SO_OOBINLINE).
func (s *TCPSocket) inline() bool {
	return s.Opts.values[optionKey{linux.SOL_SOCKET, linux.SO_OOBINLINE}] != 0
}

// consume removes n bytes of the first packet: bytes in front of the urgent byte, or that byte as the first.
func (s *TCPSocket) consume(n int) {
	s.Queue.take(n)
	if s.urgent.state == urgentNone {
		return
	}
	if s.urgent.after < n {
		s.urgent = urgent{}
	} else {
		s.urgent.after -= n
	}
}

// skipUrgent removes the urgent byte if it is the next one and not to be read, and returns how many bytes can be read
// in a row.
func (s *TCPSocket) skipUrgent() int {
	switch u := s.urgent; {
	case u.state == urgentNone:
		return s.Queue.Bytes
	case u.after > 0:
		return u.after
	case !s.inline():
		s.consume(1)
	}
	return s.Queue.Bytes
}

// atMark reports whether the urgent byte is the next one (sockatmark(3)).
func (s *TCPSocket) atMark() bool { return s.urgent.state != urgentNone && s.urgent.after == 0 }

// pendingBytes is what FIONREAD tells: the bytes in front of the urgent byte.
func (s *TCPSocket) pendingBytes() int {
	if s.urgent.state == urgentNone || s.inline() {
		return s.Queue.Bytes
	}
	return s.urgent.after
}

// readEvents are the events of poll(2) for reading.
func (s *TCPSocket) readEvents() (ev uint32) {
	if s.urgent.state == urgentHere {
		ev = linux.POLLPRI
	}
	want := s.Opts.lowWater
	if s.atMark() && !s.inline() {
		want++
	}
	if s.Queue.Bytes >= want {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	return ev
}

// receiveUrgent receives the urgent byte (MSG_OOB).
func (s *TCPSocket) receiveUrgent(t *task.Thread, m *InMessage) (uint64, linux.Errno) {
	switch {
	case s.inline() || s.urgent.state != urgentHere:
		return 0, linux.EINVAL // also if it was read, or none has come
	case s.state == tcpClosed && !s.rcvShut:
		return 0, linux.ENOTCONN
	}
	b := s.Queue.at(s.urgent.after)
	if m.Flags&linux.MSG_PEEK == 0 {
		s.urgent.state = urgentRead
	}
	m.out |= linux.MSG_OOB
	if uio.Total(m.V) == 0 {
		m.out |= linux.MSG_TRUNC
		return 0, 0
	}
	n, e := t.Scatter(m.V, []byte{b})
	return uint64(n), e
}

// at returns byte i of a stream.
func (q *packetQueue) at(i int) byte {
	for _, p := range q.Packets {
		if i < len(p.data) {
			return p.data[i]
		}
		i -= len(p.data)
	}
	panic("BUG: a byte behind the end of a queue")
}

// sendUrgent sends b, whose last byte is urgent.
func (s *TCPSocket) sendUrgent(k *task.Kernel, b []byte) {
	p := s.peer
	before := 0
	if p != nil {
		before = p.Queue.Bytes
	}
	s.deliver(k, b)
	if p != nil && p.Queue.Bytes > before {
		p.markUrgent(k)
	}
}
