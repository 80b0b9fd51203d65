package net

import (
	"bytes"
	"net/netip"
	"os"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A hostConn is the socket of the host that a guest's socket talks through to other machines. It does not block. The
// addresses that the guest sees are its own, as if behind a router that translates them.
type hostConn struct {
	// socket is the host's, nil for none.
	socket host.Socket
	// buf is room for what is received.
	buf []byte
}

// maxHostTransfer is how much is sent to or received from the host at once.
const maxHostTransfer = 64 << 10

// open makes a socket on the host if there is none.
func (o *hostConn) open(k *task.Kernel, typ int) (e linux.Errno) {
	if o.socket == nil {
		o.socket, e = k.Network.Socket(typ)
	}
	return e
}

// close closes the host's socket, if there is one.
func (o *hostConn) close() {
	if o.socket != nil {
		o.socket.Close()
		o.socket = nil
	}
}

// isOpen reports whether there is a socket on the host.
func (o *hostConn) isOpen() bool { return o.socket != nil }

// sendBytes sends what of b fits at once from s, to the given address or, if that is invalid, to where the socket is
// connected.
func (o *hostConn) sendBytes(t *task.Thread, s inetFile, b []byte, to netip.AddrPort) (int, linux.Errno) {
	n, e := o.socket.SendTo(b, to)
	if n < len(b) {
		files.Transferred(t.Kernel, s, linux.POLLOUT)
	}
	return n, e
}

// receiveBytes receives into b for s.
func (o *hostConn) receiveBytes(t *task.Thread, s inetFile, b []byte, flags uint32) (int, netip.AddrPort, linux.Errno) {
	n, from, e := o.socket.ReceiveFrom(b, flags)
	files.Transferred(t.Kernel, s, linux.POLLIN)
	return n, from, e
}

// send sends what of v fits at once from s, as sendBytes does.
func (o *hostConn) send(t *task.Thread, s inetFile, v []uio.Iovec, to netip.AddrPort) (uint64, linux.Errno) {
	b, e := t.Gather(v, maxHostTransfer)
	if e != 0 {
		return 0, e
	}
	n, e := o.sendBytes(t, s, b, to)
	return uint64(n), e
}

// receive receives into m, of a stream's bytes or a datagram for s. from is invalid for a stream.
func (o *hostConn) receive(t *task.Thread, s inetFile, m *InMessage, stream bool) (n uint64, from netip.AddrPort, e linux.Errno) {
	if o.buf == nil {
		o.buf = make([]byte, maxHostTransfer)
	}
	size := min(uio.Total(m.V), maxHostTransfer)
	flags := m.Flags & (linux.MSG_PEEK | linux.MSG_TRUNC)
	if stream {
		flags &^= linux.MSG_TRUNC
	}
	got, from, e := o.receiveBytes(t, s, o.buf[:size], flags)
	switch {
	case e != 0:
		return 0, from, e
	case stream && m.Flags&linux.MSG_TRUNC != 0:
		return uint64(got), from, 0 // thrown away: tcp(7), MSG_TRUNC
	}
	if uint64(got) > size {
		m.out |= linux.MSG_TRUNC
	}
	put, e := t.Scatter(m.V, o.buf[:min(uint64(got), size)])
	if m.Flags&linux.MSG_TRUNC != 0 {
		return uint64(got), from, e
	}
	return uint64(put), from, e
}

// sendAll is send for a stream: EAGAIN says that not all of v fitted.
func (o *hostConn) sendAll(t *task.Thread, s inetFile, v []uio.Iovec) (uint64, linux.Errno) {
	n := uio.Total(v)
	var done uint64
	for done < n {
		got, e := o.send(t, s, uio.Skip(v, done), netip.AddrPort{})
		done += got
		if e != 0 {
			return done, e
		}
	}
	return done, 0
}

// shutdown shuts down one direction or both.
func (o *hostConn) shutdown(rcv, snd bool) linux.Errno {
	const shutRD, shutWR, shutRDWR = 0, 1, 2
	switch {
	case rcv && snd:
		return o.socket.Shutdown(shutRDWR)
	case rcv:
		return o.socket.Shutdown(shutRD)
	}
	return o.socket.Shutdown(shutWR)
}

// connectHost begins to connect s to another machine.
func (s *TCPSocket) connectHost(k *task.Kernel, to netip.AddrPort) linux.Errno {
	if e := s.host.open(k, linux.SOCK_STREAM); e != 0 {
		return e
	}
	s.state = tcpConnecting
	if e := s.host.socket.Connect(to); e != 0 && e != linux.EINPROGRESS {
		s.disconnect(k)
		s.err = 0
		return e
	}
	return 0
}

// pollConnect asks the host, if s is being connected there, how that has ended.
func (s *TCPSocket) pollConnect(k *task.Kernel) {
	if s.state != tcpConnecting || !s.host.isOpen() || s.host.socket.Poll(linux.POLLOUT) == 0 {
		return
	}
	if e := s.host.socket.SocketError(); e != 0 {
		s.connectFailed(k, e)
		return
	}
	s.state = tcpConnected
	s.Wake(linux.POLLOUT)
}

// HostWaits implements files.File.
func (s *TCPSocket) HostWaits(fds []host.PollFD, events uint32) []host.PollFD {
	if s.state == tcpConnecting {
		events |= linux.POLLOUT
	}
	return s.host.hostWaits(fds, events)
}

// HostWaits implements files.File.
func (s *udpSocket) HostWaits(fds []host.PollFD, events uint32) []host.PollFD {
	return s.host.hostWaits(fds, events)
}

// hostWaits appends the host's socket, if there is one, to fds.
func (o *hostConn) hostWaits(fds []host.PollFD, events uint32) []host.PollFD {
	if o.isOpen() {
		fds = append(fds, host.PollFD{On: o.socket, Events: events})
	}
	return fds
}

// How the machine finds others is said in /etc: on the host's network, as the host's files do.
func init() {
	files.EtcNodes["hosts"] = files.DiskNode(func(t *task.Thread) []byte {
		own := "127.0.1.1 " + task.HostName + "\n"
		if StackOf(t.Kernel).network == NetworkHost {
			return append(hostText(t, "hosts"), own...)
		}
		return []byte("127.0.0.1 localhost\n" + own)
	})
	files.EtcNodes["resolv.conf"] = files.DiskNode(func(t *task.Thread) []byte {
		if StackOf(t.Kernel).network == NetworkHost {
			return hostText(t, "resolv.conf")
		}
		return []byte("# nobody to ask\n")
	})
}

// hostText is the text of a file of the host's /etc, to the end of its last line; nothing if it cannot be read. The
// text is the caller's.
func hostText(t *task.Thread, name string) []byte {
	return bytes.Clone(files.SystemOf(t.Kernel).RecordedEtc(name, func() []byte {
		text, err := os.ReadFile("/etc/" + name)
		if err != nil {
			return nil
		}
		if n := len(text); n > 0 && text[n-1] != '\n' {
			text = append(text, '\n')
		}
		return text
	}))
}
