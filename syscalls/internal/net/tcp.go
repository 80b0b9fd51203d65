package net

import (
	"net/netip"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// How far a sender of TCP may be ahead of the receiver: the sizes of the two buffers (net.ipv4.tcp_wmem, tcp_rmem) and
// what is on the way besides.
const (
	tcpSndBuf = 16384
	tcpRcvBuf = 131072
	tcpFlight = 2 << 20
)

// SynTimeout is how long connect(2) waits for an answer (tcp(7), tcp_syn_retries: "approximately 127 seconds").
const SynTimeout = 127e9

// A tcpState is the state of a TCP socket, as far as calls can tell states apart.
type tcpState uint8

const (
	tcpClosed tcpState = iota
	tcpConnecting
	tcpConnected
)

// A socketState is how far connect(2) is with a socket (include/uapi/linux/net.h, socket_state).
type socketState uint8

const (
	sockUnconnected socketState = iota
	// sockConnecting says that connect(2) has begun, and that no call has told how it ended.
	sockConnecting
	// sockConnected says that the socket is connected, or was.
	sockConnected
	// sockDisconnecting says that it was shut down while it was connecting.
	sockDisconnecting
)

// A TCPSocket is a socket of TCP.
type TCPSocket struct {
	inetSocket
	state     tcpState
	sockState socketState
	// peer is the other end, nil once that is closed, for connections to other machines, and without a connection.
	peer    *TCPSocket
	backlog int
	// acceptQueue has, for a listener, the connections that nobody has accepted; synQueue has the sockets that want to
	// connect and find it full.
	acceptQueue, synQueue []*TCPSocket
	// finReceived says that the peer has sent all it had (FIN).
	finReceived bool
	// synTimer ends an attempt to connect after SynTimeout.
	synTimer task.Timer
	// urgent is the urgent byte in the queue.
	urgent urgent
}

// newTCP returns a TCP socket without an inode.
func newTCP(family int) *TCPSocket {
	s := &TCPSocket{}
	s.Family, s.Type, s.proto = family, linux.SOCK_STREAM, linux.IPPROTO_TCP
	s.Opts.init(tcpSndBuf, tcpRcvBuf)
	return s
}

// Bind implements Socket.
func (s *TCPSocket) Bind(t *task.Thread, name []byte) linux.Errno {
	return StackOf(t.Kernel).Inet.TCP.bindTo(t, s, name)
}

// Listen implements Socket.
func (s *TCPSocket) Listen(t *task.Thread, backlog int) linux.Errno {
	if s.state != tcpClosed || s.sockState != sockUnconnected {
		return linux.EINVAL
	}
	if !s.listening {
		table := &StackOf(t.Kernel).Inet.TCP
		if !s.hasPort {
			if e := table.claim(s); e != 0 {
				return e
			}
		}
		s.listening = true
		for _, o := range table.Sockets[s.Local.Port()] {
			if o.Inet() != &s.inetSocket && o.Inet().listening && s.conflicts(o.Inet()) {
				s.listening = false
				return linux.EADDRINUSE
			}
		}
	}
	s.backlog = backlog
	s.fillAcceptQueue(t.Kernel)
	return 0
}

// fillAcceptQueue connects the sockets of synQueue as long as there is room.
func (s *TCPSocket) fillAcceptQueue(k *task.Kernel) {
	for len(s.synQueue) > 0 && len(s.acceptQueue) <= s.backlog {
		c := s.synQueue[0]
		s.synQueue = s.synQueue[1:]
		k.Disarm(&c.synTimer)
		s.establish(k, c)
	}
}

// establish connects c to s, a listener.
func (s *TCPSocket) establish(k *task.Kernel, c *TCPSocket) {
	o := newTCP(s.Family)
	o.Opts.inherit(&s.Opts)
	o.v6only, o.Local, o.Remote = s.v6only, c.Remote, c.Local
	o.state, c.state, o.sockState = tcpConnected, tcpConnected, sockConnected
	o.peer, c.peer = c, o
	StackOf(k).Inet.TCP.add(o)
	s.acceptQueue = append(s.acceptQueue, o)
	c.Count(linux.POLLIN)
	c.Wake(linux.POLLOUT)
	s.Wake(linux.POLLIN)
	if o.rcvShut, o.sndShut = s.rcvShut, s.sndShut; o.sndShut {
		o.sendFin(k) // connections to a listener that was shut down are so, too
	}
}

// accept implements Socket.
func (s *TCPSocket) accept(t *task.Thread) (Socket, linux.Errno) {
	if !s.listening {
		return nil, linux.EINVAL
	}
	if len(s.acceptQueue) == 0 {
		return nil, linux.EAGAIN
	}
	o := s.acceptQueue[0]
	s.acceptQueue = s.acceptQueue[1:]
	s.fillAcceptQueue(t.Kernel)
	return o, 0
}

// Connect implements Socket.
func (s *TCPSocket) Connect(t *task.Thread, name []byte) linux.Errno {
	if len(name) >= 2 && familyOf(name) == linux.AF_UNSPEC {
		s.disconnect(t.Kernel)
		return 0
	}
	switch s.sockState {
	case sockConnected:
		return linux.EISCONN
	case sockDisconnecting:
		return linux.EINVAL
	case sockUnconnected:
		if e := s.startConnect(t, name); e != 0 {
			return e
		}
		if s.sockState = sockConnecting; s.Nonblock() {
			return linux.EINPROGRESS
		}
	}
	s.pollConnect(t.Kernel)
	switch {
	case s.state == tcpConnecting && s.Nonblock():
		return linux.EALREADY
	case s.state == tcpConnecting && t.TimedOut():
		return linux.EINPROGRESS
	case s.state == tcpConnecting:
		ready := func() bool { s.pollConnect(t.Kernel); return s.state != tcpConnecting }
		_, e := waitSocket(t, s, 0, ready, func() (uint64, linux.Errno) { return 0, s.Connect(t, name) })
		return e
	case s.state == tcpClosed:
		e := s.takeErr()
		if e == 0 {
			e = linux.ECONNABORTED
		}
		s.disconnect(t.Kernel)
		return e
	}
	s.sockState = sockConnected
	return 0
}

// startConnect begins to connect s to a name.
func (s *TCPSocket) startConnect(t *task.Thread, name []byte) linux.Errno {
	if s.listening || s.state != tcpClosed {
		return linux.EISCONN
	}
	a, e := s.decode(name)
	if e != 0 {
		return e
	}
	to, e := routeTo(t.Kernel, a)
	if e != 0 {
		return e
	}
	table := &StackOf(t.Kernel).Inet.TCP
	if !s.hasPort {
		s.Local = netip.AddrPort{}
		if e := table.claim(s); e != 0 {
			return linux.EADDRNOTAVAIL
		}
	}
	s.setRemote(to)
	if slices.ContainsFunc(table.Sockets[s.Local.Port()], func(o inetFile) bool {
		c := o.(*TCPSocket)
		return c != s && c.state != tcpClosed && c.Local == s.Local && c.Remote == to
	}) {
		s.unbind(t.Kernel)
		s.Remote = netip.AddrPort{}
		return linux.EADDRNOTAVAIL // there is such a connection
	}
	if isExternal(t.Kernel, to.Addr()) {
		return s.connectHost(t.Kernel, to)
	}
	if to == s.Local {
		s.peer, s.state = s, tcpConnected // a simultaneous open: the socket is its own peer
		s.Count(linux.POLLIN)
		s.Wake(linux.POLLOUT)
		if s.sndShut {
			s.sendFin(t.Kernel)
		}
		return 0
	}
	l, ok := table.find(s.Local, to, func(f inetFile) bool { return f.Inet().listening }).(*TCPSocket)
	if !ok {
		s.connectFailed(t.Kernel, linux.ECONNREFUSED)
		return 0
	}
	s.state = tcpConnecting
	l.synQueue = append(l.synQueue, s)
	s.synTimer.Process, s.synTimer.Fire = t.Process, func(uint64) {
		s.cancelConnect(t.Kernel)
		s.connectFailed(t.Kernel, linux.ETIMEDOUT)
	}
	t.Kernel.Arm(&s.synTimer, SynTimeout, 0)
	l.fillAcceptQueue(t.Kernel)
	return 0
}

// connectFailed ends an attempt to connect with error e.
func (s *TCPSocket) connectFailed(k *task.Kernel, e linux.Errno) {
	s.host.close()
	s.state, s.err = tcpClosed, e
	s.unbind(k)
	s.shut(true, true)
	s.Announce(linux.POLLERR)
}

// unbind takes back the port or the address that bind(2) has not given.
func (s *TCPSocket) unbind(k *task.Kernel) {
	switch {
	case !s.Local.IsValid():
	case !s.bound:
		StackOf(k).Inet.TCP.release(s)
		s.Local = netip.AddrPort{}
	case s.autoAddr:
		s.Local = netip.AddrPortFrom(s.Any(), s.Local.Port())
	}
	s.autoAddr = false
}

// cancelConnect takes back an attempt to connect that is waiting.
func (s *TCPSocket) cancelConnect(k *task.Kernel) {
	k.Disarm(&s.synTimer)
	for _, o := range StackOf(k).Inet.TCP.Sockets[s.Remote.Port()] {
		l := o.(*TCPSocket)
		l.synQueue = slices.DeleteFunc(l.synQueue, func(c *TCPSocket) bool { return c == s })
	}
}

// disconnect makes s a socket that was never connected (net/ipv4/tcp.c, tcp_disconnect).
func (s *TCPSocket) disconnect(k *task.Kernel) {
	s.cancelConnect(k)
	s.stopListening(k)
	s.host.close()
	if s.state != tcpClosed {
		s.err = linux.ECONNRESET
	}
	if p := s.peer; p != nil && s.state != tcpClosed {
		p.resetReceived(k)
	}
	s.Queue.purge(k)
	s.peer, s.Remote, s.state, s.sockState = nil, netip.AddrPort{}, tcpClosed, sockUnconnected
	s.rcvShut, s.sndShut, s.finReceived = false, false, false
	s.unbind(k)
	s.Count(linux.POLLIN | linux.POLLOUT)
	s.Announce(linux.POLLERR)
}

// resetReceived does what a reset from the peer does (net/ipv4/tcp_input.c, tcp_reset).
func (s *TCPSocket) resetReceived(k *task.Kernel) {
	s.peer, s.err = nil, linux.ECONNRESET
	if s.finReceived {
		s.err = linux.EPIPE
	}
	s.closeConnection(k)
	s.Announce(linux.POLLERR)
}

// closeConnection ends the connection. The port is free then unless bind(2) has given it; the socket keeps its name.
func (s *TCPSocket) closeConnection(k *task.Kernel) {
	s.state = tcpClosed
	if !s.bound {
		StackOf(k).Inet.TCP.release(s)
	}
	s.shut(true, true)
}

// stopListening refuses all connections that wait for s.
func (s *TCPSocket) stopListening(k *task.Kernel) {
	if !s.listening {
		return
	}
	s.listening = false
	for _, o := range s.acceptQueue {
		o.disconnect(k)
		StackOf(k).Inet.TCP.release(o)
	}
	for _, c := range s.synQueue {
		k.Disarm(&c.synTimer)
		c.connectFailed(k, linux.ECONNREFUSED)
	}
	s.acceptQueue, s.synQueue = nil, nil
}

// Shutdown implements Socket.
func (s *TCPSocket) Shutdown(t *task.Thread, rcv, snd bool) linux.Errno {
	if s.sockState == sockConnecting {
		if s.sockState = sockConnected; s.state != tcpConnected {
			s.sockState = sockDisconnecting
		}
	}
	switch {
	case s.listening && !rcv:
		s.Count(linux.POLLIN | linux.POLLOUT)
		return 0
	case s.listening, s.state == tcpConnecting:
		s.disconnect(t.Kernel)
		return 0
	case s.state == tcpClosed:
		s.shut(rcv, snd)
		return linux.ENOTCONN
	}
	s.shut(rcv, snd)
	if s.host.isOpen() {
		return s.host.shutdown(rcv, snd)
	}
	if snd {
		s.sendFin(t.Kernel)
	}
	return 0
}

// sendFin tells the peer that nothing more comes.
func (s *TCPSocket) sendFin(k *task.Kernel) {
	if p := s.peer; p != nil && !p.finReceived {
		p.finReceived = true
		p.shut(true, false)
		if p.sndShut {
			p.Announce(linux.POLLHUP)
		} else {
			p.Announce(linux.POLLIN)
		}
		p.Announce(linux.POLLIN) // once more, as data: Linux does so, too
	}
	s.closeIfBothFinished(k)
}

// closeIfBothFinished closes a connection that both ends have finished.
func (s *TCPSocket) closeIfBothFinished(k *task.Kernel) {
	p := s.peer
	switch {
	case p == nil && s.finReceived && s.sndShut:
		s.closeConnection(k)
	case p != nil && p.finReceived && s.finReceived:
		s.closeConnection(k)
		p.closeConnection(k)
	}
}

// PeerName implements Socket.
func (s *TCPSocket) PeerName() ([]byte, linux.Errno) {
	if s.state != tcpConnected {
		return nil, linux.ENOTCONN
	}
	return s.encode(s.Remote), 0
}

// Close implements files.File: it finishes the connection, or resets it if something was not received.
func (s *TCPSocket) Close(k *task.Kernel) {
	s.cancelConnect(k)
	s.stopListening(k)
	s.host.close()
	switch {
	case s.peer == nil:
	case !s.Queue.empty() || s.Opts.lingerOn != 0 && s.Opts.linger == 0:
		s.peer.resetReceived(k)
	default:
		s.sendFin(k)
		s.peer.peer = nil
	}
	s.Queue.purge(k)
	StackOf(k).Inet.TCP.release(s)
}

// tcpInfoSize is the size of struct tcp_info.
const tcpInfoSize = 248

// State is the state as Linux numbers it (include/net/tcp_states.h).
func (s *TCPSocket) State() byte {
	const established, synSent, finWait2, closed, closeWait, listen = 1, 2, 5, 7, 8, 10
	switch {
	case s.listening:
		return listen
	case s.state == tcpConnecting:
		return synSent
	case s.state == tcpClosed:
		return closed
	case s.finReceived:
		return closeWait
	case s.sndShut:
		return finWait2
	}
	return established
}

// option implements Socket.
func (s *TCPSocket) option(t *task.Thread, level, name int) ([]byte, bool) {
	if level == linux.SOL_TCP && name == linux.TCP_INFO {
		b := make([]byte, tcpInfoSize)
		b[0] = s.State()
		return b, true
	}
	if level == linux.SOL_SOCKET && name == linux.SO_ERROR {
		s.pollConnect(t.Kernel)
	}
	return s.inetSocket.option(t, level, name)
}

// Ioctl implements files.File.
func (s *TCPSocket) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch req {
	case linux.FIONREAD:
		if s.listening {
			return 0, linux.EINVAL
		}
		n := s.pendingBytes()
		if s.host.isOpen() {
			n = s.host.socket.PendingBytes()
		}
		return 0, t.Out32(arg, uint32(n))
	case linux.TIOCOUTQ:
		if s.listening {
			return 0, linux.EINVAL
		}
		return 0, t.Out32(arg, 0)
	case linux.SIOCATMARK:
		return 0, t.Out32(arg, Boolean(s.atMark()))
	}
	return socketIoctl(t, req, arg)
}
