//go:build !linux || portable

package host

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Sockets over package net, whose calls wait: goroutines wait for them, and have what comes and goes in between. Queues
// are bounded: when they are full, the other side waits as it would for the host's.

const (
	// maxQueued is how many bytes wait to be received, or to be sent, at most.
	maxQueued = 256 << 10
	// maxDatagrams is how many datagrams wait to be received; more are lost.
	maxDatagrams = 256
	maxDatagram  = 64 << 10
	// lingering is how long a connection that was closed may take to take what was given to be sent.
	lingering = 30 * time.Second
)

// OwnNetwork is the host's network itself.
type OwnNetwork struct {
	// unsent are the connections that were closed before all was sent.
	unsent sync.WaitGroup
}

// Close implements Network: what was given to be sent would be lost with the process.
func (n *OwnNetwork) Close() { n.unsent.Wait() }

// Socket implements Network.
func (n *OwnNetwork) Socket(typ int) (Socket, linux.Errno) {
	switch typ & 0xf {
	case linux.SOCK_STREAM:
		s := &stream{n: n}
		s.changed.L = &s.mu
		return s, 0
	case linux.SOCK_DGRAM:
		return newDatagrams()
	}
	return nil, linux.EPROTONOSUPPORT
}

// A stream is a TCP connection.
type stream struct {
	n       *OwnNetwork
	mu      sync.Mutex
	changed sync.Cond
	conn    *net.TCPConn
	// giveUp ends connecting.
	giveUp context.CancelFunc
	// connecting is true from Connect until conn or err is there.
	connecting, closed bool
	err                linux.Errno
	in, out            []byte
	ended              bool // no more will come in
	// shut says that nothing is sent any more once out is empty.
	shut bool
	// lingers says that it was closed before all was sent.
	lingers bool
}

// Connect implements Socket.
func (s *stream) Connect(a netip.AddrPort) linux.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.connecting:
		return linux.EALREADY
	case s.conn != nil:
		return linux.EISCONN
	}
	s.connecting = true
	ctx, cancel := context.WithCancel(context.Background())
	s.giveUp = cancel
	go s.dial(ctx, a)
	return linux.EINPROGRESS
}

func (s *stream) dial(ctx context.Context, a netip.AddrPort) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", a.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connecting = false
	switch {
	case err != nil:
		s.err = ErrnoOf(err)
	case s.closed:
		c.Close()
	default:
		s.conn = c.(*net.TCPConn)
		go s.receive()
		go s.send()
	}
}

// receive takes what comes until nothing does, or nobody wants it.
func (s *stream) receive() {
	buf := make([]byte, maxDatagram)
	for {
		n, err := s.conn.Read(buf)
		s.mu.Lock()
		s.in = append(s.in, buf[:n]...)
		if err != nil {
			s.ended = true
			if err != io.EOF && !s.closed {
				s.err = ErrnoOf(err)
			}
			s.mu.Unlock()
			return
		}
		for len(s.in) >= maxQueued && !s.closed {
			s.changed.Wait()
		}
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return
		}
	}
}

// send sends what there is until the stream is closed, and closes the connection.
func (s *stream) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ended := false; ; {
		switch {
		case len(s.out) > 0:
			b := s.out
			s.mu.Unlock()
			n, err := s.conn.Write(b)
			s.mu.Lock()
			s.out = s.out[n:]
			if err != nil {
				s.out, s.shut = nil, true
				if s.err == 0 && !s.closed {
					s.err = ErrnoOf(err)
				}
			}
		case s.closed:
			s.conn.Close()
			if s.lingers {
				s.n.unsent.Done()
			}
			return
		case s.shut && !ended:
			_ = s.conn.CloseWrite() // the other side may be gone
			ended = true
		default:
			s.changed.Wait()
		}
	}
}

// SendTo implements Socket.
func (s *stream) SendTo(b []byte, _ netip.AddrPort) (int, linux.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != 0:
		return 0, s.takeError()
	case s.connecting:
		return 0, linux.EAGAIN
	case s.conn == nil || s.shut:
		return 0, linux.EPIPE
	}
	n := min(len(b), maxQueued-len(s.out))
	if n == 0 && len(b) > 0 {
		return 0, linux.EAGAIN
	}
	s.out = append(s.out, b[:n]...)
	s.changed.Broadcast()
	return n, 0
}

// ReceiveFrom implements Socket.
func (s *stream) ReceiveFrom(b []byte, flags uint32) (int, netip.AddrPort, linux.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var from netip.AddrPort
	switch {
	case len(s.in) > 0:
		n := copy(b, s.in)
		if flags&linux.MSG_PEEK == 0 {
			s.in = s.in[n:]
			s.changed.Broadcast()
		}
		return n, from, 0
	case s.err != 0:
		return 0, from, s.takeError()
	case s.ended:
		return 0, from, 0
	case s.conn == nil && !s.connecting:
		return 0, from, linux.ENOTCONN
	}
	return 0, from, linux.EAGAIN
}

// takeError tells an error once.
func (s *stream) takeError() linux.Errno {
	e := s.err
	s.err = 0
	return e
}

// SocketError implements Socket.
func (s *stream) SocketError() linux.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeError()
}

// PendingBytes implements Socket.
func (s *stream) PendingBytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.in)
}

// Shutdown implements Socket.
func (s *stream) Shutdown(how int) linux.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return linux.ENOTCONN
	}
	if how != 1 {
		_ = s.conn.CloseRead() // the other side may be gone
		s.ended = true
	}
	if how != 0 {
		s.shut = true
	}
	s.changed.Broadcast()
	return 0
}

// Close implements Socket. What was given to be sent is sent still, if the other side takes it before long.
func (s *stream) Close() linux.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.giveUp != nil {
		s.giveUp()
	}
	if s.conn != nil && len(s.out) > 0 {
		s.lingers = true
		s.n.unsent.Add(1)
		_ = s.conn.SetWriteDeadline(time.Now().Add(lingering)) // of a connection that is open
	}
	s.changed.Broadcast()
	return 0
}

// Poll implements Pollable.
func (s *stream) Poll(events uint32) uint32 {
	const in, out = linux.POLLIN | linux.POLLRDNORM, linux.POLLOUT | linux.POLLWRNORM
	s.mu.Lock()
	defer s.mu.Unlock()
	var now uint32
	if len(s.in) > 0 || s.ended || s.err != 0 {
		now |= in
	}
	if s.ended {
		now |= linux.POLLRDHUP
	}
	if s.conn != nil && len(s.out) < maxQueued || s.err != 0 {
		now |= out
	}
	now &= events
	switch {
	case s.err != 0:
		now |= linux.POLLERR
	case s.conn == nil && !s.connecting:
		now |= linux.POLLHUP | out&events
	case s.ended && s.shut:
		now |= linux.POLLHUP
	}
	return now
}

// datagrams is a UDP socket.
type datagrams struct {
	mu    sync.Mutex
	conn  *net.UDPConn
	to    netip.AddrPort // valid if it is connected
	queue []datagram
	err   linux.Errno
}

type datagram struct {
	b    []byte
	from netip.AddrPort
}

func newDatagrams() (Socket, linux.Errno) {
	c, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, ErrnoOf(err)
	}
	s := &datagrams{conn: c}
	go s.receive(c)
	return s, 0
}

// Connect implements Socket: from now on datagrams of others are not received.
func (s *datagrams) Connect(a netip.AddrPort) linux.Errno {
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(a))
	if err != nil {
		return ErrnoOf(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn.Close()
	s.conn, s.to = c, a
	go s.receive(c)
	return 0
}

// receive takes what comes until c is closed.
func (s *datagrams) receive(c *net.UDPConn) {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.mu.Lock()
		switch {
		case s.conn != c:
		case err != nil:
			s.err = ErrnoOf(err)
		case len(s.queue) < maxDatagrams:
			from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
			s.queue = append(s.queue, datagram{append([]byte(nil), buf[:n]...), from})
		}
		s.mu.Unlock()
		if err != nil {
			time.Sleep(lastPause) // it may come again at once
		}
	}
}

// SendTo implements Socket.
func (s *datagrams) SendTo(b []byte, to netip.AddrPort) (n int, e linux.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != 0 {
		e, s.err = s.err, 0
		return 0, e
	}
	var err error
	switch {
	case s.to.IsValid() && (!to.IsValid() || to == s.to):
		n, err = s.conn.Write(b)
	case s.to.IsValid():
		n, err = sendElsewhere(b, to)
	case to.IsValid():
		n, err = s.conn.WriteToUDPAddrPort(b, to)
	default:
		return 0, linux.EDESTADDRREQ
	}
	return n, ErrnoOf(err)
}

// sendElsewhere sends b for a socket that is connected to another address than to. What is answered it would not
// receive.
func sendElsewhere(b []byte, to netip.AddrPort) (int, error) {
	c, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.WriteToUDPAddrPort(b, to)
}

// ReceiveFrom implements Socket.
func (s *datagrams) ReceiveFrom(b []byte, flags uint32) (n int, from netip.AddrPort, e linux.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != 0 {
		e, s.err = s.err, 0
		return 0, from, e
	}
	if len(s.queue) == 0 {
		return 0, from, linux.EAGAIN
	}
	d := s.queue[0]
	if n = copy(b, d.b); flags&linux.MSG_TRUNC != 0 {
		n = len(d.b)
	}
	if flags&linux.MSG_PEEK == 0 {
		s.queue = s.queue[1:]
	}
	return n, d.from, 0
}

// SocketError implements Socket.
func (s *datagrams) SocketError() linux.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.err
	s.err = 0
	return e
}

// PendingBytes implements Socket.
func (s *datagrams) PendingBytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return 0
	}
	return len(s.queue[0].b)
}

// Shutdown implements Socket.
func (s *datagrams) Shutdown(int) linux.Errno {
	if !s.to.IsValid() {
		return linux.ENOTCONN
	}
	return 0
}

// Close implements Socket.
func (s *datagrams) Close() linux.Errno { return ErrnoOf(s.conn.Close()) }

// Poll implements Pollable.
func (s *datagrams) Poll(events uint32) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := uint32(linux.POLLOUT | linux.POLLWRNORM)
	if len(s.queue) > 0 || s.err != 0 {
		now |= linux.POLLIN | linux.POLLRDNORM
	}
	now &= events
	if s.err != 0 {
		now |= linux.POLLERR
	}
	return now
}
