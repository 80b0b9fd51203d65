package syscalls

import (
	"bytes"
	"net/netip"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// maxUDP is the most that one datagram carries.
const maxUDP = 65507

// A udpSocket is a socket of UDP. A datagram is in the receiver's queue when it is sent, or lost.
type udpSocket struct {
	inetSocket
	// corked says that UDP_CORK is set. pieces is what was sent of a datagram that is not whole (MSG_MORE), and
	// piecesTo where it goes; nil if there is none.
	corked   bool
	pieces   []byte
	piecesTo netip.AddrPort
}

func (s *udpSocket) bind(t *Thread, name []byte) linux.Errno {
	return netOf(t.k).inet.udp.bindTo(t, s, name)
}

// autobind gives s a port, if it has none.
func (s *udpSocket) autobind(t *Thread) linux.Errno {
	if s.ported {
		return 0
	}
	if netOf(t.k).inet.udp.claim(s) != 0 {
		return linux.EAGAIN
	}
	return 0
}

// route returns where a datagram to a name goes, or why it cannot.
func (s *udpSocket) route(k *Kernel, name []byte) (netip.AddrPort, linux.Errno) {
	a, e := s.decode(name)
	if e == linux.EAFNOSUPPORT && s.family == linux.AF_INET6 && familyOf(name) == linux.AF_INET {
		if s.v6only {
			return a, linux.ENETUNREACH
		}
		a, e = netip.AddrPortFrom(netip.AddrFrom4([4]byte(name[4:8])), uint16(name[2])<<8|uint16(name[3])), 0
	}
	if e == linux.EAFNOSUPPORT && s.family == linux.AF_INET && familyOf(name) == linux.AF_UNSPEC {
		name = append([]byte{linux.AF_INET, 0}, name[2:]...)
		a, e = s.decode(name)
	}
	if e != 0 {
		return a, e
	}
	if a.Port() == 0 {
		return a, linux.EINVAL
	}
	if a.Addr() == broadcast && !s.opts.broadcast {
		return a, linux.EACCES
	}
	if own := s.local.Addr(); own.IsValid() && !own.IsUnspecified() && own.Is4() != a.Addr().Is4() {
		if own.Is4() {
			return a, linux.EAFNOSUPPORT
		}
		return a, linux.ENETUNREACH
	}
	return k.routeTo(a)
}

func (s *udpSocket) connect(t *Thread, name []byte) linux.Errno {
	if len(name) >= 2 && familyOf(name) == linux.AF_UNSPEC {
		s.disconnect(t)
		return 0
	}
	a, e := s.decode(name)
	if e != 0 {
		return e
	}
	if a.Addr() == broadcast && !s.opts.broadcast {
		return linux.EACCES
	}
	to, e := t.k.routeTo(a)
	if e != 0 {
		return e
	}
	if e := s.autobind(t); e != 0 {
		return e
	}
	s.outside.close()
	if t.k.isOutside(to.Addr()) {
		if e := s.outside.open(linux.SOCK_DGRAM); e != 0 {
			return e
		}
		if e := s.outside.fd.connect(to); e != 0 {
			return e
		}
	}
	s.join(to)
	return 0
}

func (s *udpSocket) disconnect(t *Thread) {
	s.remote = netip.AddrPort{}
	s.outside.close()
	switch {
	case !s.bound && s.local.IsValid():
		netOf(t.k).inet.udp.release(s)
		s.local = netip.AddrPort{}
	case s.chosen:
		s.local = netip.AddrPortFrom(s.any(), s.local.Port())
	}
	s.chosen = false
}

func (s *udpSocket) shutdown(_ *Thread, rcv, snd bool) linux.Errno {
	s.shut(rcv, snd)
	if !s.remote.IsValid() {
		return linux.ENOTCONN
	}
	return 0
}

func (s *udpSocket) close(k *Kernel) {
	netOf(k).inet.udp.release(s)
	s.outside.close()
	s.queue.purge(k)
}

func (s *udpSocket) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &inMessage{v: v})
}

func (s *udpSocket) write(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &outMessage{v: v})
}

func (s *udpSocket) send(t *Thread, m *outMessage) (uint64, linux.Errno) {
	to := s.remote
	n := total(m.v)
	if e := s.autobind(t); e != 0 {
		return 0, e
	}
	switch {
	case n > 0xffff:
		return 0, linux.EMSGSIZE
	case m.flags&linux.MSG_OOB != 0:
		return 0, linux.EOPNOTSUPP
	case m.name != nil:
		var e linux.Errno
		if to, e = s.route(t.k, m.name); e != 0 {
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
	if t.k.isOutside(to.Addr()) {
		if e := s.outside.open(linux.SOCK_DGRAM); e != 0 {
			return 0, e
		}
		if m.name == nil {
			to = netip.AddrPort{} // the host knows
		}
		return s.outside.send(t, m.v, to)
	}
	b, e := t.gather(m.v, n)
	if e == 0 && uint64(len(b)) < n {
		e = linux.EFAULT
	}
	if e != 0 {
		return 0, e
	}
	if s.pieces = append(s.pieces, b...); s.pieces == nil {
		s.pieces = []byte{}
	}
	if s.piecesTo = to; m.flags&linux.MSG_MORE == 0 && !s.corked {
		s.flush(t.k, s.header(m.hops, m.class))
	}
	return n, 0
}

// flush sends the datagram that was sent in pieces.
func (s *udpSocket) flush(k *Kernel, h ipHeader) {
	b := s.pieces
	s.pieces = nil
	s.deliver(k, b, s.piecesTo, h)
	s.count(linux.POLLOUT) // the room that it took is free, since it has arrived or is lost
}

func (s *udpSocket) option(t *Thread, level, name int) ([]byte, bool) {
	if level == linux.SOL_UDP && name == linux.UDP_CORK {
		var b pack
		b.u32(boolean(s.corked))
		return b, true
	}
	return s.inetSocket.option(t, level, name)
}

func (s *udpSocket) setOption(t *Thread, level, name int, v uint32) (linux.Errno, bool) {
	if level != linux.SOL_UDP || name != linux.UDP_CORK {
		return s.inetSocket.setOption(t, level, name, v)
	}
	if s.corked = v != 0; !s.corked && s.pieces != nil {
		s.flush(t.k, s.header(headerField(0), headerField(0)))
	}
	return 0, true
}

// deliver puts a datagram into the queue of whom it is for.
func (s *udpSocket) deliver(k *Kernel, b []byte, to netip.AddrPort, h ipHeader) {
	from := s.local
	if a := from.Addr(); a.IsUnspecified() || a.Is4() != to.Addr().Is4() {
		from = netip.AddrPortFrom(source(to.Addr()), from.Port())
	}
	o, ok := netOf(k).inet.udp.find(from, to, func(inetFile) bool { return true }).(*udpSocket)
	if !ok {
		// Where the socket is not connected Linux tells with IP_RECVERR only.
		if s.remote == to {
			s.fail(linux.ECONNREFUSED)
		}
		return
	}
	if o.queue.bytes+len(o.queue.packets)*packetCost+len(b) > o.opts.rcvBuf {
		return // lost
	}
	o.queue.put(&packet{data: b, from: o.encode(from), to: o.encode(to), header: h})
	o.wake(linux.POLLIN)
}

func (s *udpSocket) writeRaw(t *Thread, b []byte, _ int64) (int, linux.Errno) {
	switch {
	case !s.remote.IsValid():
		return 0, linux.EDESTADDRREQ
	case s.err != 0:
		return 0, s.takeErr()
	case s.sndShut:
		return 0, linux.EPIPE
	case len(b) > maxUDP:
		return 0, linux.EMSGSIZE
	}
	s.deliver(t.k, bytes.Clone(b), s.remote, s.header(0, 0))
	return len(b), 0
}

func (s *udpSocket) readRaw(_ *Thread, b []byte, _ int64) (int, linux.Errno) {
	if s.queue.empty() {
		return 0, s.nothing(&inMessage{})
	}
	n := copy(b, s.queue.first().data)
	s.queue.pop()
	return n, 0
}

// nothing is what receiving gives when the queue is empty.
func (s *udpSocket) nothing(m *inMessage) linux.Errno {
	switch {
	case s.err != 0:
		return s.takeErr()
	case s.rcvShut && !s.nonblock() && m.flags&linux.MSG_DONTWAIT == 0:
		return 0
	}
	return linux.EAGAIN
}

func (s *udpSocket) receive(t *Thread, m *inMessage) (uint64, linux.Errno) {
	if m.flags&linux.MSG_ERRQUEUE != 0 {
		return 0, linux.EAGAIN
	}
	if s.err == 0 && s.queue.empty() && s.outside.used() {
		n, from, e := s.outside.receive(t, m)
		if e == 0 {
			m.name = s.encode(from)
		}
		return n, e
	}
	if s.err != 0 || s.queue.empty() {
		return 0, s.nothing(m)
	}
	p := s.queue.first()
	n, e := s.queue.receivePacket(t, m)
	if e == 0 {
		m.control = s.packetInfo(p)
	}
	return n, e
}

func (s *udpSocket) poll(*Thread) uint32 {
	ev := s.shutEvents() | linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND
	if !s.queue.empty() {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if s.outside.used() {
		ev |= s.outside.fd.poll(linux.POLLIN | linux.POLLRDNORM)
	}
	return ev
}

func (s *udpSocket) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch req {
	case linux.FIONREAD:
		n := s.queue.firstSize()
		if n == 0 && s.outside.used() {
			n = s.outside.fd.pendingBytes()
		}
		return 0, t.out32(arg, uint32(n))
	case linux.TIOCOUTQ:
		return 0, t.out32(arg, 0)
	}
	return t.socketIoctl(req, arg)
}
