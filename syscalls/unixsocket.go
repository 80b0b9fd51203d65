package syscalls

import (
	"bytes"
	"container/list"
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// sunPath is where struct sockaddr_un has its path, sunMax its size.
const (
	sunPath = 2
	sunMax  = 110
)

// A unixSocket is a socket of AF_UNIX.
type unixSocket struct {
	sockBase
	// path is what follows the family in its name: a path with its end, or an abstract name,
	// which begins with a zero; nil for none.
	path []byte
	// inode is its socket file, held so that the host gives its number to no other.
	inode fileRef
	key   inodeKey
	// peer is who is at the other end, or where datagrams go.
	peer *unixSocket
	// connected says that it is one of a pair; it stays so when the peer closes.
	connected, listening, closed bool
	backlog                      int
	pending                      []*unixSocket // connected, not accepted
	// listed is its place in the list of all.
	listed *list.Element
	// cred is who listens or has connected, peerCred who that is at the other end.
	cred, peerCred credential
}

// A unixNames finds sockets of AF_UNIX by name.
type unixNames struct {
	files    map[inodeKey]*unixSocket
	abstract map[string]*unixSocket // by type and name
	auto     int                    // names given by autobind
	all      list.List              // in order of making, for /proc/net/unix
	inflight
}

func (n *unixNames) init() {
	n.files, n.abstract = map[inodeKey]*unixSocket{}, map[string]*unixSocket{}
}

// abstractKey is how an abstract name is found: each type has names of its own.
func abstractKey(typ int, path []byte) string { return strconv.Itoa(typ) + string(path) }

func (t *Thread) newUnixSocket(typ, proto, flags int) (socket, linux.Errno) {
	if proto != 0 && proto != linux.AF_UNIX {
		return nil, linux.EPROTONOSUPPORT
	}
	switch typ {
	case linux.SOCK_RAW:
		typ = linux.SOCK_DGRAM // "for BSD compatibility" (net/unix/af_unix.c)
	case linux.SOCK_STREAM, linux.SOCK_DGRAM, linux.SOCK_SEQPACKET:
	default:
		return nil, linux.ESOCKTNOSUPPORT
	}
	s := t.k.unixSocket(typ)
	s.init(t.k, linux.AF_UNIX, typ, 0, flags)
	return s, 0
}

func (k *Kernel) unixSocket(typ int) *unixSocket {
	s := &unixSocket{inode: noFile, peerCred: noPeer}
	s.family, s.typ = linux.AF_UNIX, typ
	s.opts.init(sockBuf, sockBuf)
	s.listed = netOf(k).unix.all.PushBack(s)
	return s
}

// joinUnix makes a and b a pair, as socketpair(2) does.
func joinUnix(a, b *unixSocket) {
	a.peer, b.peer = b, a
	a.connected, b.connected = true, true
	a.peerCred, b.peerCred = b.cred, a.cred
}

func (s *unixSocket) datagrams() bool { return s.typ == linux.SOCK_DGRAM }

// unixName encodes a name.
func unixName(path []byte) []byte {
	var b pack
	b.u16(linux.AF_UNIX)
	return append(b, path...)
}

func (s *unixSocket) localName() []byte { return unixName(s.path) }

func (s *unixSocket) peerName() ([]byte, linux.Errno) {
	if s.peer == nil {
		return nil, linux.ENOTCONN
	}
	return s.peer.localName(), 0
}

// checkUnixName refuses what is no name of AF_UNIX.
func checkUnixName(name []byte) linux.Errno {
	if len(name) <= sunPath || len(name) > sunMax || familyOf(name) != linux.AF_UNIX {
		return linux.EINVAL
	}
	return 0
}

// bind implements bind(2). A path becomes a socket file of the host: see RATIONALE.md, "Why are socket files real?".
func (s *unixSocket) bind(t *Thread, name []byte) linux.Errno {
	if len(name) == sunPath && familyOf(name) == linux.AF_UNIX {
		if s.path == nil {
			s.autobind(t)
		}
		return 0
	}
	if e := checkUnixName(name); e != 0 {
		return e
	}
	path := name[sunPath:]
	if path[0] == 0 {
		switch {
		case s.path != nil:
			return linux.EINVAL
		case netOf(t.k).unix.abstract[abstractKey(s.typ, path)] != nil:
			return linux.EADDRINUSE
		}
		s.setAbstract(t, path)
		return 0
	}
	file, _, _ := bytes.Cut(path, []byte{0})
	return s.bindFile(t, string(file))
}

func (s *unixSocket) setAbstract(t *Thread, path []byte) {
	s.path = path
	netOf(t.k).unix.abstract[abstractKey(s.typ, path)] = s
}

// autobind gives s the next free name of five hexadecimal digits (unix(7), "Autobind feature").
func (s *unixSocket) autobind(t *Thread) {
	for {
		path := fmt.Appendf(nil, "\x00%05x", netOf(t.k).unix.auto&0xfffff)
		netOf(t.k).unix.auto++
		if netOf(t.k).unix.abstract[abstractKey(s.typ, path)] == nil {
			s.setAbstract(t, path)
			return
		}
	}
}

func (s *unixSocket) bindFile(t *Thread, file string) linux.Errno {
	l, e := t.find(linux.AT_FDCWD, file, false, true)
	if e != 0 {
		return e
	}
	if l.node != nil {
		return linux.EADDRINUSE
	}
	if s.path != nil {
		if _, e := l.stat(false); e == 0 {
			return linux.EADDRINUSE
		}
		return linux.EINVAL
	}
	if e = t.mayMake(l); e == 0 {
		_, e = t.k.made(l, l.create(linux.S_IFSOCK|0o777, filesOf(t).umask))
	}
	switch e {
	case 0:
	case linux.EEXIST:
		return linux.EADDRINUSE
	default:
		return e
	}
	r, e := l.open(linux.O_PATH|linux.O_NOFOLLOW, 0, 0)
	if e != 0 {
		return e
	}
	st, e := r.stat()
	if e != 0 {
		r.close()
		return e
	}
	s.inode, s.key, s.path = r, inodeKey{dev: st.dev, ino: st.ino}, append([]byte(file), 0)
	netOf(t.k).unix.files[s.key] = s
	return 0
}

// findUnix returns the socket of a name, for one of the given type.
func (t *Thread) findUnix(name []byte, typ int) (*unixSocket, linux.Errno) {
	path := name[sunPath:]
	if path[0] == 0 {
		if s := netOf(t.k).unix.abstract[abstractKey(typ, path)]; s != nil {
			return s, 0
		}
		return nil, linux.ECONNREFUSED
	}
	file, _, _ := bytes.Cut(path, []byte{0})
	l, e := t.locate(linux.AT_FDCWD, string(file), true)
	if e != 0 {
		return nil, e
	}
	if l.node != nil {
		return nil, linux.ECONNREFUSED
	}
	st, e := l.stat(true)
	if e != 0 {
		return nil, e
	}
	const mayWrite = 2
	if e := l.access(mayWrite, true); e != 0 {
		return nil, e
	}
	s := netOf(t.k).unix.files[inodeKey{dev: st.dev, ino: st.ino}]
	switch {
	case s == nil:
		return nil, linux.ECONNREFUSED
	case s.typ != typ:
		return nil, linux.EPROTOTYPE
	}
	return s, 0
}

func (s *unixSocket) listen(t *Thread, backlog int) linux.Errno {
	switch {
	case s.datagrams():
		return linux.EOPNOTSUPP
	case s.path == nil || s.connected:
		return linux.EINVAL
	}
	s.listening, s.cred, s.backlog = true, t.credential(), backlog
	return 0
}

// full reports whether nobody can connect or send to s before it has received something.
func (s *unixSocket) full() bool {
	if s.datagrams() {
		const maxDgrams = 10 // net.unix.max_dgram_qlen
		return len(s.queue.packets) > maxDgrams
	}
	return len(s.pending) > s.backlog
}

func (s *unixSocket) connect(t *Thread, name []byte) linux.Errno {
	if s.datagrams() {
		return s.connectDatagrams(t, name)
	}
	if e := checkUnixName(name); e != 0 {
		return e
	}
	l, e := t.findUnix(name, s.typ)
	switch {
	case e != 0:
		return e
	case !l.listening || l.rcvShut:
		return linux.ECONNREFUSED
	case l.full():
		if s.nonblock() || t.timedOut() {
			return linux.EAGAIN
		}
		ready := func() bool { return !l.full() || !l.listening || l.closed }
		_, e := t.waitSocket(s, 0, ready, func() (uint64, linux.Errno) { return 0, s.connect(t, name) })
		return e
	case s.connected:
		return linux.EISCONN
	case s.listening:
		return linux.EINVAL
	}
	o := t.k.unixSocket(s.typ)
	o.path, o.cred = l.path, l.cred
	o.opts.passCred = l.opts.passCred
	s.cred = t.credential()
	joinUnix(s, o)
	l.pending = append(l.pending, o)
	l.wake(linux.POLLIN)
	return 0
}

func (s *unixSocket) connectDatagrams(t *Thread, name []byte) linux.Errno {
	var to *unixSocket
	if familyOf(name) != linux.AF_UNSPEC || len(name) < 2 {
		if e := checkUnixName(name); e != 0 {
			return e
		}
		var e linux.Errno
		if to, e = t.findUnix(name, s.typ); e != 0 {
			return e
		}
		if to.peer != nil && to.peer != s {
			return linux.EPERM
		}
	}
	old := s.peer
	s.peer, s.connected = to, to != nil
	if old != nil {
		s.count(linux.POLLOUT) // who had waited for the old one's queue
	}
	if old != nil && old != to {
		s.disconnected(t.k, old)
	}
	return 0
}

// disconnected drops what s has received, since it has another peer than old now (unix_dgram_disconnected).
func (s *unixSocket) disconnected(k *Kernel, old *unixSocket) {
	if s.queue.empty() {
		return
	}
	s.queue.purge(k)
	if !old.closed && old.peer == s {
		old.fail(linux.ECONNRESET)
	}
}

func (s *unixSocket) accept(t *Thread) (socket, linux.Errno) {
	switch {
	case s.datagrams():
		return nil, linux.EOPNOTSUPP
	case !s.listening:
		return nil, linux.EINVAL
	case len(s.pending) == 0 && s.rcvShut && !s.nonblock():
		return nil, linux.EINVAL
	case len(s.pending) == 0:
		return nil, linux.EAGAIN
	}
	o := s.pending[0]
	s.pending = s.pending[1:]
	return o, 0
}

func (s *unixSocket) shutdown(_ *Thread, rcv, snd bool) linux.Errno {
	s.shut(rcv, snd)
	if p := s.peer; p != nil && !s.datagrams() {
		p.shut(snd, rcv)
		switch {
		case rcv && snd:
			p.announce(linux.POLLHUP)
		case snd:
			p.announce(linux.POLLIN)
		}
	}
	return 0
}

func (s *unixSocket) close(k *Kernel) {
	s.closed = true
	if !s.inode.none() {
		delete(netOf(k).unix.files, s.key)
		s.inode.close()
	} else if s.path != nil && netOf(k).unix.abstract[abstractKey(s.typ, s.path)] == s {
		delete(netOf(k).unix.abstract, abstractKey(s.typ, s.path))
	}
	netOf(k).unix.forget(s)
	for _, o := range s.pending {
		o.leave(true)
		o.queue.purge(k)
		netOf(k).unix.forget(o)
	}
	s.pending, s.listening = nil, false
	s.leave(!s.queue.empty())
	s.queue.purge(k)
	s.count(linux.POLLIN | linux.POLLOUT)
}

// leave tells the peer that s is gone; lost says that something was not received.
func (s *unixSocket) leave(lost bool) {
	s.closed = true
	p := s.peer
	if s.peer = nil; p == nil || s.datagrams() {
		return
	}
	if lost {
		p.err = linux.ECONNRESET
	}
	p.shut(true, true)
	p.announce(linux.POLLHUP)
}

func (n *unixNames) forget(s *unixSocket) {
	if s.listed != nil {
		n.all.Remove(s.listed)
		s.listed = nil
	}
}

// each goes through all sockets in order of making.
func (n *unixNames) each(yield func(*unixSocket) bool) {
	for e := n.all.Front(); e != nil && yield(e.Value.(*unixSocket)); e = e.Next() {
	}
}

func (s *unixSocket) option(_ *Thread, level, name int) ([]byte, bool) {
	if level != linux.SOL_SOCKET {
		return nil, false
	}
	switch name {
	case linux.SO_PEERCRED:
		return s.peerCred.encode(), true
	case linux.SO_ACCEPTCONN:
		var b pack
		b.u32(boolean(s.listening))
		return b, true
	}
	return nil, false
}
