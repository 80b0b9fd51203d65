package net

import (
	"bytes"
	"net/netip"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// maxUDP is the length of the longest datagram.
const maxUDP = 65507

// A udpSocket is a socket of UDP. A datagram is in the receiver's queue as soon as it is sent, or lost if there is no
// room.
type udpSocket struct {
	inetSocket
	// corked says that UDP_CORK is set. pieces is the part of a datagram that was sent before it was complete
	// (MSG_MORE, UDP_CORK), and piecesTo where it goes; nil if there is none.
	corked   bool
	pieces   []byte
	piecesTo netip.AddrPort
}

// Bind implements Socket.
func (s *udpSocket) Bind(t *task.Thread, name []byte) linux.Errno {
	return StackOf(t.Kernel).Inet.UDP.bindTo(t, s, name)
}

// autobind gives s a port if it has none.
func (s *udpSocket) autobind(t *task.Thread) linux.Errno {
	if s.hasPort {
		return 0
	}
	if StackOf(t.Kernel).Inet.UDP.claim(s) != 0 {
		return linux.EAGAIN
	}
	return 0
}

// route returns where a datagram to a name goes, or why it goes nowhere.
func (s *udpSocket) route(k *task.Kernel, name []byte) (netip.AddrPort, linux.Errno) {
	a, e := s.decode(name)
	if e == linux.EAFNOSUPPORT && s.Family == linux.AF_INET6 && familyOf(name) == linux.AF_INET {
		if s.v6only {
			return a, linux.ENETUNREACH
		}
		a, e = netip.AddrPortFrom(netip.AddrFrom4([4]byte(name[4:8])), uint16(name[2])<<8|uint16(name[3])), 0
	}
	if e == linux.EAFNOSUPPORT && s.Family == linux.AF_INET && familyOf(name) == linux.AF_UNSPEC {
		name = append([]byte{linux.AF_INET, 0}, name[2:]...)
		a, e = s.decode(name)
	}
	if e != 0 {
		return a, e
	}
	if a.Port() == 0 {
		return a, linux.EINVAL
	}
	if a.Addr() == broadcast && !s.Opts.broadcast {
		return a, linux.EACCES
	}
	if own := s.Local.Addr(); own.IsValid() && !own.IsUnspecified() && own.Is4() != a.Addr().Is4() {
		if own.Is4() {
			return a, linux.EAFNOSUPPORT
		}
		return a, linux.ENETUNREACH
	}
	return routeTo(k, a)
}

// Connect implements Socket.
func (s *udpSocket) Connect(t *task.Thread, name []byte) linux.Errno {
	if len(name) >= 2 && familyOf(name) == linux.AF_UNSPEC {
		s.disconnect(t)
		return 0
	}
	a, e := s.decode(name)
	if e != 0 {
		return e
	}
	if a.Addr() == broadcast && !s.Opts.broadcast {
		return linux.EACCES
	}
	to, e := routeTo(t.Kernel, a)
	if e != 0 {
		return e
	}
	if e := s.autobind(t); e != 0 {
		return e
	}
	s.host.close()
	if isExternal(t.Kernel, to.Addr()) {
		if e := s.host.open(t.Kernel, linux.SOCK_DGRAM); e != 0 {
			return e
		}
		if e := s.host.socket.Connect(to); e != 0 {
			return e
		}
	}
	s.setRemote(to)
	return 0
}

// disconnect makes s forget its peer, and what connect(2) has chosen of its address.
func (s *udpSocket) disconnect(t *task.Thread) {
	s.Remote = netip.AddrPort{}
	s.host.close()
	switch {
	case !s.bound && s.Local.IsValid():
		StackOf(t.Kernel).Inet.UDP.release(s)
		s.Local = netip.AddrPort{}
	case s.autoAddr:
		s.Local = netip.AddrPortFrom(s.Any(), s.Local.Port())
	}
	s.autoAddr = false
}

// Shutdown implements Socket.
func (s *udpSocket) Shutdown(_ *task.Thread, rcv, snd bool) linux.Errno {
	s.shut(rcv, snd)
	if !s.Remote.IsValid() {
		return linux.ENOTCONN
	}
	return 0
}

// Close implements files.File.
func (s *udpSocket) Close(k *task.Kernel) {
	StackOf(k).Inet.UDP.release(s)
	s.host.close()
	s.Queue.purge(k)
}

// Read implements files.File.
func (s *udpSocket) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &InMessage{V: v})
}

// Write implements files.File.
func (s *udpSocket) Write(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &OutMessage{V: v})
}

// send implements Socket.
func (s *udpSocket) send(t *task.Thread, m *OutMessage) (uint64, linux.Errno) {
	to := s.Remote
	n := uio.Total(m.V)
	if e := s.autobind(t); e != 0 {
		return 0, e
	}
	switch {
	case n > 0xffff:
		return 0, linux.EMSGSIZE
	case m.Flags&linux.MSG_OOB != 0:
		return 0, linux.EOPNOTSUPP
	case m.Name != nil:
		var e linux.Errno
		if to, e = s.route(t.Kernel, m.Name); e != 0 {
			return 0, e
		}
	case !to.IsValid():
		return 0, linux.EDESTADDRREQ
	}
	if e := s.takeErr(); e != 0 {
		return 0, e
	}
	if s.sndShut {
		return 0, linux.EPIPE
	}
	if n+uint64(len(s.pieces)) > maxUDP {
		s.pieces = nil
		return 0, linux.EMSGSIZE
	}
	if s.pieces != nil {
		to = s.piecesTo
	}
	if isExternal(t.Kernel, to.Addr()) {
		if e := s.host.open(t.Kernel, linux.SOCK_DGRAM); e != 0 {
			return 0, e
		}
		if m.Name == nil {
			to = netip.AddrPort{} // where the host's socket is connected
		}
		return s.host.send(t, s, m.V, to)
	}
	b, e := t.Gather(m.V, n)
	if e == 0 && uint64(len(b)) < n {
		e = linux.EFAULT
	}
	if e != 0 {
		return 0, e
	}
	if s.pieces = append(s.pieces, b...); s.pieces == nil {
		s.pieces = []byte{}
	}
	if s.piecesTo = to; m.Flags&linux.MSG_MORE == 0 && !s.corked {
		s.flush(t.Kernel, s.header(m.hops, m.class))
	}
	return n, 0
}

// flush sends the datagram whose pieces were sent.
func (s *udpSocket) flush(k *task.Kernel, h ipHeader) {
	b := s.pieces
	s.pieces = nil
	s.deliver(k, b, s.piecesTo, h)
	s.Count(linux.POLLOUT) // its room is free: it has arrived or is lost
}

// option implements Socket.
func (s *udpSocket) option(t *task.Thread, level, name int) ([]byte, bool) {
	if level == linux.SOL_UDP && name == linux.UDP_CORK {
		var b linux.Pack
		b.U32(Boolean(s.corked))
		return b, true
	}
	return s.inetSocket.option(t, level, name)
}

// setOption implements Socket.
func (s *udpSocket) setOption(t *task.Thread, level, name int, v uint32) (linux.Errno, bool) {
	if level != linux.SOL_UDP || name != linux.UDP_CORK {
		return s.inetSocket.setOption(t, level, name, v)
	}
	if s.corked = v != 0; !s.corked && s.pieces != nil {
		s.flush(t.Kernel, s.header(headerField(0), headerField(0)))
	}
	return 0, true
}

// deliver puts a datagram into the queue of the socket that it is for.
func (s *udpSocket) deliver(k *task.Kernel, b []byte, to netip.AddrPort, h ipHeader) {
	from := s.Local
	if a := from.Addr(); a.IsUnspecified() || a.Is4() != to.Addr().Is4() {
		from = netip.AddrPortFrom(source(to.Addr()), from.Port())
	}
	o, ok := StackOf(k).Inet.UDP.find(from, to, func(inetFile) bool { return true }).(*udpSocket)
	if !ok {
		// Where the socket is not connected Linux tells with IP_RECVERR only.
		if s.Remote == to {
			s.fail(linux.ECONNREFUSED)
		}
		return
	}
	if o.Queue.Bytes+len(o.Queue.Packets)*packetCost+len(b) > o.Opts.rcvBuf {
		return // no room: the datagram is lost
	}
	o.Queue.put(&packet{data: b, from: o.encode(from), to: o.encode(to), header: h})
	o.Wake(linux.POLLIN)
}

// WriteRaw implements files.RawWriter.
func (s *udpSocket) WriteRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	switch {
	case !s.Remote.IsValid():
		return 0, linux.EDESTADDRREQ
	case s.err != 0:
		return 0, s.takeErr()
	case s.sndShut:
		return 0, linux.EPIPE
	case len(b) > maxUDP:
		return 0, linux.EMSGSIZE
	case isExternal(t.Kernel, s.Remote.Addr()):
		if e := s.host.open(t.Kernel, linux.SOCK_DGRAM); e != 0 { // connect(2) to elsewhere may have failed since
			return 0, e
		}
		return s.host.sendBytes(t, s, b, netip.AddrPort{})
	}
	s.deliver(t.Kernel, bytes.Clone(b), s.Remote, s.header(0, 0))
	return len(b), 0
}

// ReadRaw implements files.RawReader.
func (s *udpSocket) ReadRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if s.err == 0 && s.Queue.empty() && s.host.isOpen() {
		n, _, e := s.host.receiveBytes(t, s, b, 0)
		return n, e
	}
	if s.Queue.empty() {
		return 0, s.resultWhenEmpty(&InMessage{})
	}
	n := copy(b, s.Queue.first().data)
	s.Queue.pop()
	return n, 0
}

// resultWhenEmpty is what receiving gives when the queue is empty.
func (s *udpSocket) resultWhenEmpty(m *InMessage) linux.Errno {
	switch {
	case s.err != 0:
		return s.takeErr()
	case s.rcvShut && !s.Nonblock() && m.Flags&linux.MSG_DONTWAIT == 0:
		return 0
	}
	return linux.EAGAIN
}

// receive implements Socket.
func (s *udpSocket) receive(t *task.Thread, m *InMessage) (uint64, linux.Errno) {
	if m.Flags&linux.MSG_ERRQUEUE != 0 {
		return 0, linux.EAGAIN
	}
	if s.err == 0 && s.Queue.empty() && s.host.isOpen() {
		n, from, e := s.host.receive(t, s, m, false)
		if e == 0 {
			m.Name = s.encode(from)
		}
		return n, e
	}
	if s.err != 0 || s.Queue.empty() {
		return 0, s.resultWhenEmpty(m)
	}
	p := s.Queue.first()
	n, e := s.Queue.receivePacket(t, m)
	if e == 0 {
		m.control = s.packetInfo(p)
	}
	return n, e
}

// Poll implements files.File.
func (s *udpSocket) Poll(*task.Thread) uint32 {
	ev := s.shutEvents() | linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND
	if !s.Queue.empty() {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if s.host.isOpen() {
		ev |= s.host.socket.Poll(linux.POLLIN | linux.POLLRDNORM)
	}
	return ev
}

// Ioctl implements files.File.
func (s *udpSocket) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch req {
	case linux.FIONREAD:
		n := s.Queue.firstSize()
		if n == 0 && s.host.isOpen() {
			n = s.host.socket.PendingBytes()
		}
		return 0, t.Out32(arg, uint32(n))
	case linux.TIOCOUTQ:
		return 0, t.Out32(arg, 0)
	}
	return socketIoctl(t, req, arg)
}
