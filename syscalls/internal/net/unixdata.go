package net

import (
	"bytes"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// unixPiece is how much of a stream goes into one packet (UNIX_SKB_FRAGS_SZ).
const unixPiece = 32 << 10

// Read implements files.File.
func (s *UnixSocket) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &InMessage{V: v})
}

// Write implements files.File.
func (s *UnixSocket) Write(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &OutMessage{V: v, Cred: Credential(t)})
}

// unixCost is how much of its sender's buffer a packet of n bytes takes. Small ones all take the same.
func unixCost(n int) int {
	const little = 192
	if n <= little {
		return packetCost
	}
	return n + packetCost
}

// deliver puts a packet into to's queue.
func (s *UnixSocket) deliver(to *UnixSocket, data []byte, m *OutMessage) {
	p := &packet{data: data, cred: m.Cred, files: m.files, sender: &s.sockBase, origin: s, cost: unixCost(len(data))}
	for _, f := range m.files {
		f.Base().Refs++
	}
	s.unread += p.cost
	to.Queue.put(p)
	to.Wake(linux.POLLIN)
}

// send implements Socket.
func (s *UnixSocket) send(t *task.Thread, m *OutMessage) (uint64, linux.Errno) {
	if m.Flags&linux.MSG_OOB != 0 {
		return 0, linux.EOPNOTSUPP
	}
	if len(m.Name) == 0 {
		m.Name = nil // other families look at an address without bytes, too
	}
	if s.Opts.passCred && s.Path == nil && !s.datagrams() {
		s.autobind(t)
	}
	switch s.Type {
	case linux.SOCK_STREAM:
		return s.sendStream(t, m)
	case linux.SOCK_SEQPACKET:
		if e := s.takeErr(); e != 0 {
			return 0, e
		}
		if !s.Connected {
			return 0, linux.ENOTCONN
		}
		m.Name = nil
	}
	return s.sendPacket(t, m)
}

// sendStream sends as many pieces of m as there is room for.
func (s *UnixSocket) sendStream(t *task.Thread, m *OutMessage) (uint64, linux.Errno) {
	switch {
	case m.Name != nil && s.Connected:
		return 0, linux.EISCONN
	case m.Name != nil:
		return 0, linux.EOPNOTSUPP
	case !s.Connected:
		return 0, linux.ENOTCONN
	}
	n := uio.Total(m.V)
	var done uint64
	if s.sndShut {
		return 0, linux.EPIPE
	}
	for done < n {
		if s.unread >= s.Opts.sndBuf {
			return done, linux.EAGAIN
		}
		b, e := t.Gather(uio.Skip(m.V, done), unixPiece)
		if e == 0 && uint64(len(b)) < min(n-done, unixPiece) {
			e = linux.EFAULT // a piece is sent whole, or not at all
		}
		if e != 0 {
			return done, e
		}
		s.deliver(s.peer, b, m)
		m.files = nil
		done += uint64(len(b))
	}
	return done, 0
}

// sendPacket sends all of m as one packet.
func (s *UnixSocket) sendPacket(t *task.Thread, m *OutMessage) (uint64, linux.Errno) {
	if m.Name != nil {
		if e := checkUnixName(m.Name); e != 0 {
			return 0, e
		}
	}
	n := uio.Total(m.V)
	if n > uint64(s.Opts.sndBuf-32) {
		return 0, linux.EMSGSIZE
	}
	if e := s.takeErr(); e != 0 {
		return 0, e
	}
	if s.sndShut {
		return 0, linux.EPIPE
	}
	if s.unread >= s.Opts.sndBuf {
		return 0, linux.EAGAIN
	}
	if m.packet == nil {
		b, e := t.Gather(m.V, n)
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
		s.Count(linux.POLLOUT) // the room reserved for the packet is free again
		return 0, e
	}
	s.deliver(to, m.packet, m)
	return n, 0
}

// receiver is the socket that gets m.
func (s *UnixSocket) receiver(t *task.Thread, m *OutMessage) (*UnixSocket, linux.Errno) {
	to := s.peer
	if m.Name != nil {
		var e linux.Errno
		if to, e = findUnix(t, m.Name, s.Type); e != 0 {
			return nil, e
		}
	}
	switch {
	case to == nil:
		return nil, linux.ENOTCONN
	case to.closed:
		if s.datagrams() && to == s.peer {
			s.peer, s.Connected = nil, false
			s.disconnected(t.Kernel, to)
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

// WriteRaw implements files.RawWriter.
func (s *UnixSocket) WriteRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	switch {
	case !s.Connected || s.peer == nil && !s.sndShut:
		return 0, linux.ENOTCONN
	case s.sndShut:
		t.Send(task.InfoFromProcess(t.Process, linux.SIGPIPE, linux.SI_USER))
		return 0, linux.EPIPE
	case s.unread >= s.Opts.sndBuf || s.datagrams() && s.peer.full():
		return 0, linux.EAGAIN
	}
	b = b[:min(len(b), unixPiece)]
	s.deliver(s.peer, bytes.Clone(b), &OutMessage{Cred: Credential(t)})
	return len(b), 0
}

// RawRoom implements files.Limited.
func (s *UnixSocket) RawRoom() int {
	switch {
	case !s.Connected || s.sndShut || s.peer == nil:
		return 1
	case s.unread >= s.Opts.sndBuf || s.datagrams() && s.peer.full():
		return 0
	}
	return unixPiece
}

// ReadRaw implements files.RawReader.
func (s *UnixSocket) ReadRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if e := s.cannotReceive(); e != 0 {
		return 0, e
	}
	if s.Queue.empty() {
		return 0, s.resultWhenEmpty(&InMessage{})
	}
	p := s.Queue.first()
	n := copy(b, p.data)
	if s.Type != linux.SOCK_STREAM {
		p.data = p.data[:n] // the rest of a message is lost
	}
	if n == len(p.data) {
		DropFiles(t, p.files)
	}
	s.Queue.take(n)
	return n, 0
}

// resultWhenEmpty is what receiving gives when the queue is empty: 0 for the end of the stream.
func (s *UnixSocket) resultWhenEmpty(m *InMessage) linux.Errno {
	if s.err != 0 {
		if m.more {
			return 0
		}
		return s.takeErr()
	}
	if s.rcvShut && (!s.datagrams() || !s.Nonblock() && m.Flags&linux.MSG_DONTWAIT == 0) {
		return 0
	}
	return linux.EAGAIN
}

// cannotReceive is the error of receiving from a socket that is not connected, 0 if it can receive.
func (s *UnixSocket) cannotReceive() linux.Errno {
	switch {
	case s.Connected || s.datagrams():
		return 0
	case s.Type == linux.SOCK_STREAM:
		return linux.EINVAL
	}
	return linux.ENOTCONN
}

// receive implements Socket.
func (s *UnixSocket) receive(t *task.Thread, m *InMessage) (uint64, linux.Errno) {
	switch {
	case m.Flags&linux.MSG_ERRQUEUE != 0:
		return 0, linux.EAGAIN
	case m.Flags&linux.MSG_OOB != 0 && s.Type == linux.SOCK_STREAM:
		return 0, linux.EINVAL
	case m.Flags&linux.MSG_OOB != 0:
		return 0, linux.EOPNOTSUPP
	}
	if e := s.cannotReceive(); e != 0 {
		return 0, e
	}
	m.bare = s.Queue.empty() && s.Type == linux.SOCK_SEQPACKET
	if s.Queue.empty() {
		return 0, s.resultWhenEmpty(m)
	}
	if s.Type == linux.SOCK_STREAM {
		return s.receiveStream(t, m)
	}
	return s.Queue.receivePacket(t, m)
}

// receiveStream takes bytes out of as many packets as there is room for, but not beyond one with descriptors nor, if
// the receiver wants credentials, beyond those of one sender.
func (s *UnixSocket) receiveStream(t *task.Thread, m *InMessage) (uint64, linux.Errno) {
	want, v, at := uio.Total(m.V), m.V, 0
	var done uint64
	for done < want {
		if at >= len(s.Queue.Packets) {
			break
		}
		p := s.Queue.Packets[at]
		if done > 0 && s.Opts.passCred && p.cred != m.cred {
			break
		}
		part := p.data[:min(uint64(len(p.data)), want-done)]
		n, e := t.Scatter(v, part)
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
		v = uio.Skip(v, uint64(n))
		m.cred, m.Name = p.cred, p.name()
		files := p.files
		if m.Flags&linux.MSG_PEEK != 0 {
			m.peekFiles(files)
			at++
		} else {
			m.Files, p.files = files, nil
			s.Queue.take(n)
		}
		if len(files) > 0 {
			break
		}
	}
	return done, 0
}

// peekFiles gives m descriptors that stay in the queue, too.
func (m *InMessage) peekFiles(sent []files.File) {
	for _, f := range sent {
		f.Base().Refs++
	}
	m.Files = append([]files.File(nil), sent...)
}

// receivePacket takes one packet. What does not fit is lost.
func (q *packetQueue) receivePacket(t *task.Thread, m *InMessage) (uint64, linux.Errno) {
	p := q.first()
	size := uint64(len(p.data))
	n, e := t.Scatter(m.V, p.data)
	if e == 0 && uint64(n) < min(size, uint64(uio.Total(m.V))) {
		e = linux.EFAULT
	}
	if e != 0 {
		if m.Flags&linux.MSG_PEEK == 0 { // nobody gets it
			q.pop()
			p.drop(t.Kernel)
		}
		return 0, e
	}
	m.cred, m.Name = p.cred, p.name()
	if uint64(n) < size {
		m.out |= linux.MSG_TRUNC
	}
	if m.Flags&linux.MSG_PEEK != 0 {
		m.peekFiles(p.files)
	} else {
		m.Files, p.files = p.files, nil
		q.pop()
	}
	if m.Flags&linux.MSG_TRUNC != 0 {
		return size, 0
	}
	return uint64(n), 0
}

// Poll implements files.File.
func (s *UnixSocket) Poll(*task.Thread) uint32 {
	ev := s.shutEvents()
	if !s.Queue.empty() || len(s.acceptQueue) > 0 {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if !s.datagrams() && !s.Connected && !s.Listening {
		ev |= linux.POLLHUP
	}
	if s.noSpace = s.noSpace || !s.unixWritable(); s.Listening || !s.unixWritable() {
		return ev
	}
	if p := s.peer; s.datagrams() && p != nil && p.peer != s && p.full() {
		return ev
	}
	return ev | linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND
}

// Ioctl implements files.File.
func (s *UnixSocket) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch req {
	case linux.FIONREAD:
		if s.Listening {
			return 0, linux.EINVAL
		}
		n := s.Queue.Bytes
		if s.datagrams() {
			n = s.Queue.firstSize()
		}
		return 0, t.Out32(arg, uint32(n))
	case linux.TIOCOUTQ:
		return 0, t.Out32(arg, uint32(s.unread))
	}
	return socketIoctl(t, req, arg)
}
