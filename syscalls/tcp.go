package syscalls

import (
	"net/netip"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Sizes of a TCP socket's buffers (net.ipv4.tcp_wmem and tcp_rmem), and what is in flight besides:
// with these a sender can be ahead of the receiver.
const (
	tcpSndBuf = 16384
	tcpRcvBuf = 131072
	tcpFlight = 2 << 20
)

// synTimeout is how long a connection is tried to be made (tcp(7), tcp_syn_retries: "approximately 127 seconds").
const synTimeout = 127e9

// A tcpState is what a TCP socket is about, as far as calls can see.
type tcpState uint8

const (
	tcpClosed tcpState = iota
	tcpConnecting
	tcpConnected
)

// A sockUse is what connect(2) knows of a socket (include/uapi/linux/net.h, socket_state).
type sockUse uint8

const (
	useNone      sockUse = iota
	useCalling           // it has begun to connect and not yet said how that ended
	useConnected         // it is connected, or was
	useEnding            // it was shut down while it had begun to connect
)

// A tcpSocket is a socket of TCP.
type tcpSocket struct {
	inetSocket
	state tcpState
	use   sockUse
	// peer is the other end, nil once it is gone.
	peer    *tcpSocket
	backlog int
	// pending are connected and not accepted, callers try to connect and find pending full.
	pending, callers []*tcpSocket
	// finished says that the peer has sent all it had.
	finished bool
	giveUp   timer
	urgent   urgent
}

func newTCP(family int) *tcpSocket {
	s := &tcpSocket{}
	s.family, s.typ, s.proto = family, linux.SOCK_STREAM, linux.IPPROTO_TCP
	s.opts.init(tcpSndBuf, tcpRcvBuf)
	s.outside.fd = noFD
	return s
}

func (s *tcpSocket) bind(t *Thread, name []byte) linux.Errno {
	return netOf(t.k).inet.tcp.bindTo(t, s, name)
}

func (s *tcpSocket) listen(t *Thread, backlog int) linux.Errno {
	if s.state != tcpClosed || s.use != useNone {
		return linux.EINVAL
	}
	if !s.listening {
		table := &netOf(t.k).inet.tcp
		if !s.ported {
			if e := table.claim(s); e != 0 {
				return e
			}
		}
		s.listening = true
		for _, o := range table.sockets[s.local.Port()] {
			if o.inet() != &s.inetSocket && o.inet().listening && s.conflicts(o.inet()) {
				s.listening = false
				return linux.EADDRINUSE
			}
		}
	}
	s.backlog = backlog
	s.admit(t.k)
	return 0
}

// admit connects callers while there is room.
func (s *tcpSocket) admit(k *Kernel) {
	for len(s.callers) > 0 && len(s.pending) <= s.backlog {
		c := s.callers[0]
		s.callers = s.callers[1:]
		k.disarm(&c.giveUp)
		s.establish(k, c)
	}
}

// establish connects c to s, which listens.
func (s *tcpSocket) establish(k *Kernel, c *tcpSocket) {
	o := newTCP(s.family)
	o.opts.inherit(&s.opts)
	o.v6only, o.local, o.remote = s.v6only, c.remote, c.local
	o.state, c.state, o.use = tcpConnected, tcpConnected, useConnected
	o.peer, c.peer = c, o
	netOf(k).inet.tcp.add(o)
	s.pending = append(s.pending, o)
	c.count(linux.POLLIN)
	c.wake(linux.POLLOUT)
	s.wake(linux.POLLIN)
	if o.rcvShut, o.sndShut = s.rcvShut, s.sndShut; o.sndShut {
		o.finish(k) // a listener that was shut down has such children
	}
}

func (s *tcpSocket) accept(t *Thread) (socket, linux.Errno) {
	if !s.listening {
		return nil, linux.EINVAL
	}
	if len(s.pending) == 0 {
		return nil, linux.EAGAIN
	}
	o := s.pending[0]
	s.pending = s.pending[1:]
	s.admit(t.k)
	return o, 0
}

func (s *tcpSocket) connect(t *Thread, name []byte) linux.Errno {
	if len(name) >= 2 && familyOf(name) == linux.AF_UNSPEC {
		s.disconnect(t.k)
		return 0
	}
	switch s.use {
	case useConnected:
		return linux.EISCONN
	case useEnding:
		return linux.EINVAL
	case useNone:
		if e := s.call(t, name); e != 0 {
			return e
		}
		if s.use = useCalling; s.nonblock() {
			return linux.EINPROGRESS
		}
	}
	s.progress(t.k)
	switch {
	case s.state == tcpConnecting && s.nonblock():
		return linux.EALREADY
	case s.state == tcpConnecting && t.timedOut():
		return linux.EINPROGRESS
	case s.state == tcpConnecting:
		ready := func() bool { s.progress(t.k); return s.state != tcpConnecting }
		_, e := t.waitSocket(s, 0, ready, func() (uint64, linux.Errno) { return 0, s.connect(t, name) })
		return e
	case s.state == tcpClosed:
		e := s.takeErr()
		if e == 0 {
			e = linux.ECONNABORTED
		}
		s.disconnect(t.k)
		return e
	}
	s.use = useConnected
	return 0
}

// call begins to connect to a name.
func (s *tcpSocket) call(t *Thread, name []byte) linux.Errno {
	if s.listening || s.state != tcpClosed {
		return linux.EISCONN
	}
	a, e := s.decode(name)
	if e != 0 {
		return e
	}
	to, e := t.k.routeTo(a)
	if e != 0 {
		return e
	}
	table := &netOf(t.k).inet.tcp
	if !s.ported {
		s.local = netip.AddrPort{}
		if e := table.claim(s); e != 0 {
			return linux.EADDRNOTAVAIL
		}
	}
	s.join(to)
	if slices.ContainsFunc(table.sockets[s.local.Port()], func(o inetFile) bool {
		c := o.(*tcpSocket)
		return c != s && c.state != tcpClosed && c.local == s.local && c.remote == to
	}) {
		s.unbind(t.k)
		s.remote = netip.AddrPort{}
		return linux.EADDRNOTAVAIL // there is such a connection
	}
	if t.k.isOutside(to.Addr()) {
		return s.callOutside(t.k, to)
	}
	if to == s.local {
		s.peer, s.state = s, tcpConnected // both ends open at the same time
		s.count(linux.POLLIN)
		s.wake(linux.POLLOUT)
		if s.sndShut {
			s.finish(t.k)
		}
		return 0
	}
	l, ok := table.find(s.local, to, func(f inetFile) bool { return f.inet().listening }).(*tcpSocket)
	if !ok {
		s.refused(t.k, linux.ECONNREFUSED)
		return 0
	}
	s.state = tcpConnecting
	l.callers = append(l.callers, s)
	s.giveUp.p, s.giveUp.fire = t.p, func(uint64) {
		s.hangUp(t.k)
		s.refused(t.k, linux.ETIMEDOUT)
	}
	t.k.arm(&s.giveUp, synTimeout, 0)
	l.admit(t.k)
	return 0
}

// refused ends an attempt to connect.
func (s *tcpSocket) refused(k *Kernel, e linux.Errno) {
	s.outside.close()
	s.state, s.err = tcpClosed, e
	s.unbind(k)
	s.shut(true, true)
	s.announce(linux.POLLERR)
}

// unbind takes back a port and an address that bind(2) did not give.
func (s *tcpSocket) unbind(k *Kernel) {
	switch {
	case !s.local.IsValid():
	case !s.bound:
		netOf(k).inet.tcp.release(s)
		s.local = netip.AddrPort{}
	case s.chosen:
		s.local = netip.AddrPortFrom(s.any(), s.local.Port())
	}
	s.chosen = false
}

// hangUp ends an attempt to connect, from this side.
func (s *tcpSocket) hangUp(k *Kernel) {
	k.disarm(&s.giveUp)
	for _, o := range netOf(k).inet.tcp.sockets[s.remote.Port()] {
		l := o.(*tcpSocket)
		l.callers = slices.DeleteFunc(l.callers, func(c *tcpSocket) bool { return c == s })
	}
}

// disconnect makes s a socket that is not connected, and was never (net/ipv4/tcp.c, tcp_disconnect).
func (s *tcpSocket) disconnect(k *Kernel) {
	s.hangUp(k)
	s.stopListening(k)
	s.outside.close()
	if s.state != tcpClosed {
		s.err = linux.ECONNRESET
	}
	if p := s.peer; p != nil && s.state != tcpClosed {
		p.aborted(k)
	}
	s.queue.purge(k)
	s.peer, s.remote, s.state, s.use = nil, netip.AddrPort{}, tcpClosed, useNone
	s.rcvShut, s.sndShut, s.finished = false, false, false
	s.unbind(k)
	s.count(linux.POLLIN | linux.POLLOUT)
	s.announce(linux.POLLERR)
}

// aborted is what a reset from the peer does (net/ipv4/tcp_input.c, tcp_reset).
func (s *tcpSocket) aborted(k *Kernel) {
	s.peer, s.err = nil, linux.ECONNRESET
	if s.finished {
		s.err = linux.EPIPE
	}
	s.over(k)
	s.announce(linux.POLLERR)
}

// over ends the connection. Its port is free, if bind(2) has not given it, though the name stays.
func (s *tcpSocket) over(k *Kernel) {
	s.state = tcpClosed
	if !s.bound {
		netOf(k).inet.tcp.release(s)
	}
	s.shut(true, true)
}

func (s *tcpSocket) stopListening(k *Kernel) {
	if !s.listening {
		return
	}
	s.listening = false
	for _, o := range s.pending {
		o.disconnect(k)
		netOf(k).inet.tcp.release(o)
	}
	for _, c := range s.callers {
		k.disarm(&c.giveUp)
		c.refused(k, linux.ECONNREFUSED)
	}
	s.pending, s.callers = nil, nil
}

func (s *tcpSocket) shutdown(t *Thread, rcv, snd bool) linux.Errno {
	if s.use == useCalling {
		if s.use = useConnected; s.state != tcpConnected {
			s.use = useEnding
		}
	}
	switch {
	case s.listening && !rcv:
		s.count(linux.POLLIN | linux.POLLOUT)
		return 0
	case s.listening, s.state == tcpConnecting:
		s.disconnect(t.k)
		return 0
	case s.state == tcpClosed:
		s.shut(rcv, snd)
		return linux.ENOTCONN
	}
	s.shut(rcv, snd)
	if s.outside.used() {
		return s.outside.end(rcv, snd)
	}
	if snd {
		s.finish(t.k)
	}
	return 0
}

// finish tells the peer that nothing more comes.
func (s *tcpSocket) finish(k *Kernel) {
	if p := s.peer; p != nil && !p.finished {
		p.finished = true
		p.shut(true, false)
		if p.sndShut {
			p.announce(linux.POLLHUP)
		} else {
			p.announce(linux.POLLIN)
		}
		p.announce(linux.POLLIN) // once as data, as Linux does
	}
	s.ended(k)
}

// ended closes a connection that both have ended.
func (s *tcpSocket) ended(k *Kernel) {
	p := s.peer
	switch {
	case p == nil && s.finished && s.sndShut:
		s.over(k)
	case p != nil && p.finished && s.finished:
		s.over(k)
		p.over(k)
	}
}

func (s *tcpSocket) peerName() ([]byte, linux.Errno) {
	if s.state != tcpConnected {
		return nil, linux.ENOTCONN
	}
	return s.encode(s.remote), 0
}

func (s *tcpSocket) close(k *Kernel) {
	s.hangUp(k)
	s.stopListening(k)
	s.outside.close()
	switch {
	case s.peer == nil:
	case !s.queue.empty() || s.opts.lingerOn != 0 && s.opts.linger == 0:
		s.peer.aborted(k)
	default:
		s.finish(k)
		s.peer.peer = nil
	}
	s.queue.purge(k)
	netOf(k).inet.tcp.release(s)
}

// tcpInfoSize is the size of struct tcp_info.
const tcpInfoSize = 248

// phase is the state as the kernel numbers it (include/net/tcp_states.h).
func (s *tcpSocket) phase() byte {
	const established, synSent, finWait2, closed, closeWait, listen = 1, 2, 5, 7, 8, 10
	switch {
	case s.listening:
		return listen
	case s.state == tcpConnecting:
		return synSent
	case s.state == tcpClosed:
		return closed
	case s.finished:
		return closeWait
	case s.sndShut:
		return finWait2
	}
	return established
}

func (s *tcpSocket) option(t *Thread, level, name int) ([]byte, bool) {
	if level == linux.SOL_TCP && name == linux.TCP_INFO {
		b := make([]byte, tcpInfoSize)
		b[0] = s.phase()
		return b, true
	}
	if level == linux.SOL_SOCKET && name == linux.SO_ERROR {
		s.progress(t.k)
	}
	return s.inetSocket.option(t, level, name)
}

func (s *tcpSocket) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch req {
	case linux.FIONREAD:
		if s.listening {
			return 0, linux.EINVAL
		}
		n := s.pendingBytes()
		if s.outside.used() {
			n = s.outside.fd.pendingBytes()
		}
		return 0, t.out32(arg, uint32(n))
	case linux.TIOCOUTQ:
		if s.listening {
			return 0, linux.EINVAL
		}
		return 0, t.out32(arg, 0)
	case linux.SIOCATMARK:
		return 0, t.out32(arg, boolean(s.atMark()))
	}
	return t.socketIoctl(req, arg)
}
