package syscalls

import (
	"net/netip"
	"os"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An outside is what a socket has that talks to the host's network: a socket of the host, which does
// not block. Its names are the guest's own, as behind a router that translates addresses.
type outside struct {
	fd hostFD
	// buf is for what comes.
	buf []byte
}

// maxOutside is how much is sent or received at once.
const maxOutside = 64 << 10

// open makes o's socket, if it has none.
func (o *outside) open(typ int) linux.Errno {
	if o.fd != noFD {
		return 0
	}
	fd, e := hostSocket(typ)
	if e != 0 {
		return e
	}
	o.fd = fd
	return 0
}

func (o *outside) close() {
	if o.fd != noFD {
		o.fd.close()
		o.fd = noFD
	}
}

// used reports whether there is one.
func (o *outside) used() bool { return o.fd != noFD }

// send sends what of v fits at once, to an address or where the socket is connected to.
func (o *outside) send(t *Thread, v []iovec, to netip.AddrPort) (uint64, linux.Errno) {
	b, e := t.gather(v, maxOutside)
	if e != 0 {
		return 0, e
	}
	n, e := o.fd.sendTo(b, to)
	return uint64(n), e
}

// receive receives into v; from is invalid for a stream.
func (o *outside) receive(t *Thread, m *inMessage) (n uint64, from netip.AddrPort, e linux.Errno) {
	if o.buf == nil {
		o.buf = make([]byte, maxOutside)
	}
	size := min(total(m.v), maxOutside)
	got, from, e := o.fd.receiveFrom(o.buf[:size], m.flags&(linux.MSG_PEEK|linux.MSG_TRUNC))
	if e != 0 {
		return 0, from, e
	}
	if uint64(got) > size {
		m.out |= linux.MSG_TRUNC
	}
	put, e := t.scatter(m.v, o.buf[:min(uint64(got), size)])
	if m.flags&linux.MSG_TRUNC != 0 {
		return uint64(got), from, e
	}
	return uint64(put), from, e
}

// sendAll is send for a stream: EAGAIN says that not all fitted.
func (o *outside) sendAll(t *Thread, v []iovec) (uint64, linux.Errno) {
	n := total(v)
	var done uint64
	for done < n {
		got, e := o.send(t, skip(v, done), netip.AddrPort{})
		done += got
		if e != 0 {
			return done, e
		}
	}
	return done, 0
}

// end shuts directions of a connection down.
func (o *outside) end(rcv, snd bool) linux.Errno {
	const shutRD, shutWR, shutRDWR = 0, 1, 2
	switch {
	case rcv && snd:
		return o.fd.shutdown(shutRDWR)
	case rcv:
		return o.fd.shutdown(shutRD)
	}
	return o.fd.shutdown(shutWR)
}

// callOutside begins to connect to a host that is not the guest.
func (s *tcpSocket) callOutside(k *Kernel, to netip.AddrPort) linux.Errno {
	if e := s.outside.open(linux.SOCK_STREAM); e != 0 {
		return e
	}
	s.state = tcpConnecting
	if e := s.outside.fd.connect(to); e != 0 && e != linux.EINPROGRESS {
		s.disconnect(k)
		s.err = 0
		return e
	}
	return 0
}

// progress looks whether the host has connected s, or could not.
func (s *tcpSocket) progress(k *Kernel) {
	if s.state != tcpConnecting || !s.outside.used() || s.outside.fd.poll(linux.POLLOUT) == 0 {
		return
	}
	if e := s.outside.fd.socketError(); e != 0 {
		s.refused(k, e)
		return
	}
	s.state = tcpConnected
	s.wake(linux.POLLOUT)
}

func (s *tcpSocket) hostWaits(fds []hostPoll, events uint32) []hostPoll {
	if s.state == tcpConnecting {
		events |= linux.POLLOUT
	}
	return s.outside.hostWaits(fds, events)
}

func (s *udpSocket) hostWaits(fds []hostPoll, events uint32) []hostPoll {
	return s.outside.hostWaits(fds, events)
}

func (o *outside) hostWaits(fds []hostPoll, events uint32) []hostPoll {
	if o.used() {
		fds = append(fds, hostPoll{o.fd, events})
	}
	return fds
}

// How the machine finds others is said in /etc: on the host's network, as the host's files do.
func init() {
	etcNodes["hosts"] = diskNode(func(t *Thread) []byte {
		own := "127.0.1.1 " + hostName + "\n"
		if netOf(t.k).network == NetworkHost {
			return append(hostText("/etc/hosts"), own...)
		}
		return []byte("127.0.0.1 localhost\n" + own)
	})
	etcNodes["resolv.conf"] = diskNode(func(t *Thread) []byte {
		if netOf(t.k).network == NetworkHost {
			return hostText("/etc/resolv.conf")
		}
		return []byte("# nobody to ask\n")
	})
}

// hostText is what a text file of the host has, to the end of its last line; nothing if it cannot be read.
func hostText(name string) []byte {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}
