package net

import (
	"bytes"
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// Read implements files.File.
func (s *TCPSocket) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &InMessage{V: v})
}

// Write implements files.File.
func (s *TCPSocket) Write(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &OutMessage{V: v})
}

// room is how much may be sent now.
func (s *TCPSocket) room() int {
	if s.peer == nil {
		return s.window()
	}
	return max(s.window()-s.peer.Queue.Bytes, 0)
}

// window is how far s may be ahead of its peer.
func (s *TCPSocket) window() int {
	if s.peer == nil || s.Opts.sndBuf == tcpSndBuf && s.peer.Opts.rcvBuf == tcpRcvBuf {
		return tcpFlight
	}
	// A buffer whose size the program has set does not grow.
	return s.Opts.sndBuf + s.peer.Opts.rcvBuf/2
}

// cannotSend is why nothing can be sent, 0 if something can; EAGAIN until s is connected.
func (s *TCPSocket) cannotSend() linux.Errno {
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

// deliver puts b into the peer's queue. A peer that wants no more answers with a reset.
func (s *TCPSocket) deliver(k *task.Kernel, b []byte) {
	p := s.peer
	switch {
	case p == nil:
		s.resetReceived(k)
		return
	case p.rcvShut && p.sndShut && !p.finReceived:
		// The peer has closed ("MUST send a RST to show that data was lost" - RFC 1122, 4.2.2.13).
		s.resetReceived(k)
		p.resetReceived(k)
		return
	}
	p.Queue.putBytes(b)
	p.Wake(linux.POLLIN)
}

// send implements Socket.
func (s *TCPSocket) send(t *task.Thread, m *OutMessage) (uint64, linux.Errno) {
	if e := s.cannotSend(); e != 0 {
		return 0, e
	}
	if m.Flags&linux.MSG_OOB != 0 && s.host.isOpen() {
		return 0, linux.EOPNOTSUPP
	}
	n := uio.Total(m.V)
	if n == 0 {
		return 0, 0
	}
	if s.host.isOpen() {
		return s.host.sendAll(t, s, m.V)
	}
	room := uint64(s.room())
	if room == 0 {
		return 0, linux.EAGAIN
	}
	b, e := t.Gather(m.V, room)
	if e != 0 {
		return 0, e
	}
	if m.Flags&linux.MSG_OOB != 0 && uint64(len(b)) == n {
		s.sendUrgent(t.Kernel, b)
	} else {
		s.deliver(t.Kernel, b)
	}
	if uint64(len(b)) < n && uint64(len(b)) == room {
		return uint64(len(b)), linux.EAGAIN
	}
	return uint64(len(b)), 0
}

// WriteRaw implements files.RawWriter.
func (s *TCPSocket) WriteRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if e := s.cannotSend(); e != 0 {
		if e == linux.EPIPE {
			t.Send(task.InfoFromProcess(t.Process, linux.SIGPIPE, linux.SI_USER))
		}
		return 0, e
	}
	if s.host.isOpen() {
		return s.host.sendBytes(t, s, b, netip.AddrPort{})
	}
	n := min(len(b), s.room())
	if n == 0 {
		return 0, linux.EAGAIN
	}
	s.deliver(t.Kernel, bytes.Clone(b[:n]))
	return n, 0
}

// RawRoom implements files.Limited.
func (s *TCPSocket) RawRoom() int {
	if s.state != tcpConnected || s.sndShut || s.err != 0 {
		return 1
	}
	return s.room()
}

// updateWindow is called after something was received, when before bytes had been in the queue: it may have made room
// for the peer.
func (s *TCPSocket) updateWindow(before int) {
	p := s.peer
	if p != nil && before > p.window()*2/3 && p.writable() {
		p.writeSpace()
	}
}

// writable reports whether poll(2) says that s can be written: a third of the window is free (sk_stream_is_writeable).
func (s *TCPSocket) writable() bool { return s.room() >= s.window()/3 }

// ReadRaw implements files.RawReader.
func (s *TCPSocket) ReadRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if s.host.isOpen() && s.state == tcpConnected {
		n, _, e := s.host.receiveBytes(t, s, b, 0)
		return n, e
	}
	before := s.Queue.Bytes
	most := min(len(b), s.skipUrgent())
	if s.Queue.empty() {
		return 0, s.resultWhenEmpty(&InMessage{})
	}
	n := copy(b[:most], s.Queue.first().data)
	s.consume(n)
	s.updateWindow(before)
	return n, 0
}

// resultWhenEmpty is what receiving gives when the queue is empty: 0 for the end of the stream.
func (s *TCPSocket) resultWhenEmpty(m *InMessage) linux.Errno {
	switch {
	case m.more && (s.err != 0 || s.rcvShut):
		return 0
	case s.finReceived:
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

// receive implements Socket.
func (s *TCPSocket) receive(t *task.Thread, m *InMessage) (uint64, linux.Errno) {
	switch {
	case m.Flags&linux.MSG_ERRQUEUE != 0:
		return 0, linux.EAGAIN
	case s.listening:
		return 0, linux.ENOTCONN
	case s.host.isOpen() && s.state == tcpConnected:
		n, _, e := s.host.receive(t, s, m, true)
		return n, e
	case m.Flags&linux.MSG_OOB != 0:
		return s.receiveUrgent(t, m)
	}
	before, want := s.Queue.Bytes, min(uio.Total(m.V), uint64(s.skipUrgent()))
	if s.Queue.empty() {
		return 0, s.resultWhenEmpty(m)
	}
	defer s.updateWindow(before)
	v, at := m.V, 0
	var done uint64
	for done < want && at < len(s.Queue.Packets) {
		p := s.Queue.Packets[at]
		n := int(min(uint64(len(p.data)), want-done))
		if m.Flags&linux.MSG_TRUNC == 0 {
			got, e := t.Scatter(v, p.data[:n])
			if e != 0 {
				if done > 0 {
					break
				}
				return 0, e
			}
			n = got
			v = uio.Skip(v, uint64(n))
		}
		done += uint64(n)
		if m.Flags&linux.MSG_PEEK != 0 {
			at++
		} else {
			s.consume(n)
		}
	}
	return done, 0
}

// Poll implements files.File.
func (s *TCPSocket) Poll(t *task.Thread) uint32 {
	if s.listening {
		if len(s.acceptQueue) > 0 {
			return linux.POLLIN | linux.POLLRDNORM
		}
		return 0
	}
	s.pollConnect(t.Kernel)
	ev := s.shutEvents()
	if s.host.isOpen() && s.state == tcpConnected {
		return ev | s.host.socket.Poll(linux.POLLIN|linux.POLLPRI|linux.POLLOUT|linux.POLLRDNORM|linux.POLLWRNORM|linux.POLLRDHUP)
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
		s.noSpace = true
	}
	return ev
}
