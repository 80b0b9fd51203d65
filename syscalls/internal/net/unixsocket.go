package net

import (
	"bytes"
	"container/list"
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// sunPath is where struct sockaddr_un has its path, sunMax its size.
const (
	sunPath = 2
	sunMax  = 110
)

// A UnixSocket is a socket of AF_UNIX.
type UnixSocket struct {
	sockBase
	// Path is what follows the family in its name: a path with the zero that ends it, or an abstract name, which begins
	// with a zero; nil for none.
	Path []byte
	// inode is its socket file, held open so that the host gives the inode number, by which key finds the socket, to no
	// other file. Hosts other than Linux have no such descriptor: see Unlinked.
	inode files.FileRef
	key   host.FileID
	// peer is the socket at the other end, or the one that datagrams go to.
	peer *UnixSocket
	// Connected says that it was made one of a pair. It stays one when the peer closes.
	Connected, Listening, closed bool
	backlog                      int
	// acceptQueue has, for a listener, the connections that nobody has accepted.
	acceptQueue []*UnixSocket
	// listed is its element of unixNames.All.
	listed *list.Element
	// Cred is who listens or has connected, peerCred who has done so at the other end.
	Cred, peerCred credential
}

// A unixNames finds sockets of AF_UNIX by name.
type unixNames struct {
	// files has those whose name is a path, by the file.
	files map[host.FileID]*UnixSocket
	// abstract has those with an abstract name (abstractKey).
	abstract map[string]*UnixSocket
	// auto is how many names autobind has given.
	auto int
	// All has all sockets of AF_UNIX in order of creation.
	All list.List
	inflight
}

func (n *unixNames) init() {
	n.files, n.abstract = map[host.FileID]*UnixSocket{}, map[string]*UnixSocket{}
}

// Unlinked has the socket of a file without links be found no more: hosts other than Linux may give its inode number to
// the next file.
func (n *unixNames) Unlinked(file host.FileID) { delete(n.files, file) }

// abstractKey is the key of an abstract name: each type of socket has names of its own.
func abstractKey(typ int, path []byte) string { return strconv.Itoa(typ) + string(path) }

// newUnixSocket makes a socket of AF_UNIX.
func newUnixSocket(t *task.Thread, typ, proto, flags int) (Socket, linux.Errno) {
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
	s := unixSocket(t.Kernel, typ)
	s.init(t.Kernel, linux.AF_UNIX, typ, 0, flags)
	return s, 0
}

// unixSocket returns a socket of AF_UNIX without an inode.
func unixSocket(k *task.Kernel, typ int) *UnixSocket {
	s := &UnixSocket{inode: files.NoFile, peerCred: noPeer}
	s.Family, s.Type = linux.AF_UNIX, typ
	s.Opts.init(SockBuf, SockBuf)
	s.listed = StackOf(k).Unix.All.PushBack(s)
	return s
}

// JoinUnix makes a and b a pair, as socketpair(2) does.
func JoinUnix(a, b *UnixSocket) {
	a.peer, b.peer = b, a
	a.Connected, b.Connected = true, true
	a.peerCred, b.peerCred = b.Cred, a.Cred
}

// datagrams reports whether s sends datagrams.
func (s *UnixSocket) datagrams() bool { return s.Type == linux.SOCK_DGRAM }

// unixName encodes a name.
func unixName(path []byte) []byte {
	var b linux.Pack
	b.U16(linux.AF_UNIX)
	return append(b, path...)
}

// LocalName implements Socket.
func (s *UnixSocket) LocalName() []byte { return unixName(s.Path) }

// PeerName implements Socket.
func (s *UnixSocket) PeerName() ([]byte, linux.Errno) {
	if s.peer == nil {
		return nil, linux.ENOTCONN
	}
	return s.peer.LocalName(), 0
}

// checkUnixName is EINVAL unless name is one of AF_UNIX.
func checkUnixName(name []byte) linux.Errno {
	if len(name) <= sunPath || len(name) > sunMax || familyOf(name) != linux.AF_UNIX {
		return linux.EINVAL
	}
	return 0
}

// Bind implements Socket. A path becomes a socket file of the host (RATIONALE.md, "Why are socket files real?").
func (s *UnixSocket) Bind(t *task.Thread, name []byte) linux.Errno {
	if len(name) == sunPath && familyOf(name) == linux.AF_UNIX {
		if s.Path == nil {
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
		case s.Path != nil:
			return linux.EINVAL
		case StackOf(t.Kernel).Unix.abstract[abstractKey(s.Type, path)] != nil:
			return linux.EADDRINUSE
		}
		s.setAbstract(t, path)
		return 0
	}
	file, _, _ := bytes.Cut(path, []byte{0})
	return s.bindFile(t, string(file))
}

// setAbstract gives s an abstract name.
func (s *UnixSocket) setAbstract(t *task.Thread, path []byte) {
	s.Path = path
	StackOf(t.Kernel).Unix.abstract[abstractKey(s.Type, path)] = s
}

// autobind gives s the next free name of five hexadecimal digits (unix(7), "Autobind feature").
func (s *UnixSocket) autobind(t *task.Thread) {
	for {
		path := fmt.Appendf(nil, "\x00%05x", StackOf(t.Kernel).Unix.auto&0xfffff)
		StackOf(t.Kernel).Unix.auto++
		if StackOf(t.Kernel).Unix.abstract[abstractKey(s.Type, path)] == nil {
			s.setAbstract(t, path)
			return
		}
	}
}

// bindFile makes a socket file, whose name s gets.
func (s *UnixSocket) bindFile(t *task.Thread, file string) linux.Errno {
	l, e := files.Find(t, linux.AT_FDCWD, file, files.LookupParent|files.LookupChange)
	if e != 0 {
		return e
	}
	if l.Node != nil {
		_, e = l.Magic(false)
	}
	switch {
	case e == linux.ENOENT:
		return e
	case l.Node != nil, l.NoName != "":
		return linux.EADDRINUSE
	}
	if s.Path != nil {
		if _, e := l.Stat(false); e == 0 {
			return linux.EADDRINUSE
		}
		return linux.EINVAL
	}
	if e = files.MayMake(t, l); e == 0 {
		_, e = files.Made(t.Kernel, l, l.Create(linux.S_IFSOCK|0o777, files.Of(t).Umask))
	}
	switch e {
	case 0:
	case linux.EEXIST:
		return linux.EADDRINUSE
	default:
		return e
	}
	r, e := l.Open(linux.O_PATH|linux.O_NOFOLLOW, 0, 0)
	if e != 0 {
		return e
	}
	st, e := r.Stat()
	if e != 0 {
		r.Close()
		return e
	}
	s.inode, s.key, s.Path = r, host.FileID{Dev: st.Dev, Ino: st.Ino}, append([]byte(file), 0)
	StackOf(t.Kernel).Unix.files[s.key] = s
	return 0
}

// findUnix returns the socket with a name, for one of type typ.
func findUnix(t *task.Thread, name []byte, typ int) (*UnixSocket, linux.Errno) {
	path := name[sunPath:]
	if path[0] == 0 {
		if s := StackOf(t.Kernel).Unix.abstract[abstractKey(typ, path)]; s != nil {
			return s, 0
		}
		return nil, linux.ECONNREFUSED
	}
	file, _, _ := bytes.Cut(path, []byte{0})
	l, e := files.Locate(t, linux.AT_FDCWD, string(file), true)
	if e != 0 {
		return nil, e
	}
	if l.Node != nil {
		return nil, linux.ECONNREFUSED
	}
	st, e := l.Stat(true)
	if e != 0 {
		return nil, e
	}
	const mayWrite = 2
	if e := l.Access(mayWrite, true); e != 0 {
		return nil, e
	}
	s := StackOf(t.Kernel).Unix.files[host.FileID{Dev: st.Dev, Ino: st.Ino}]
	switch {
	case s == nil:
		return nil, linux.ECONNREFUSED
	case s.Type != typ:
		return nil, linux.EPROTOTYPE
	}
	return s, 0
}

// Listen implements Socket.
func (s *UnixSocket) Listen(t *task.Thread, backlog int) linux.Errno {
	switch {
	case s.datagrams():
		return linux.EOPNOTSUPP
	case s.Path == nil || s.Connected:
		return linux.EINVAL
	}
	s.Listening, s.Cred, s.backlog = true, Credential(t), backlog
	return 0
}

// full reports whether nobody can connect, or send datagrams, to s until it has accepted or received some.
func (s *UnixSocket) full() bool {
	if s.datagrams() {
		const maxDgrams = 10 // net.unix.max_dgram_qlen
		return len(s.Queue.Packets) > maxDgrams
	}
	return len(s.acceptQueue) > s.backlog
}

// Connect implements Socket.
func (s *UnixSocket) Connect(t *task.Thread, name []byte) linux.Errno {
	if s.datagrams() {
		return s.connectDatagrams(t, name)
	}
	if e := checkUnixName(name); e != 0 {
		return e
	}
	l, e := findUnix(t, name, s.Type)
	switch {
	case e != 0:
		return e
	case !l.Listening || l.rcvShut:
		return linux.ECONNREFUSED
	case l.full():
		if s.Nonblock() || t.TimedOut() {
			return linux.EAGAIN
		}
		ready := func() bool { return !l.full() || !l.Listening || l.closed }
		_, e := waitSocket(t, s, 0, ready, func() (uint64, linux.Errno) { return 0, s.Connect(t, name) })
		return e
	case s.Connected:
		return linux.EISCONN
	case s.Listening:
		return linux.EINVAL
	}
	o := unixSocket(t.Kernel, s.Type)
	o.Path, o.Cred = l.Path, l.Cred
	o.Opts.passCred = l.Opts.passCred
	s.Cred = Credential(t)
	JoinUnix(s, o)
	l.acceptQueue = append(l.acceptQueue, o)
	l.Wake(linux.POLLIN)
	return 0
}

// connectDatagrams sets or, for AF_UNSPEC, forgets where s sends datagrams to.
func (s *UnixSocket) connectDatagrams(t *task.Thread, name []byte) linux.Errno {
	var to *UnixSocket
	if familyOf(name) != linux.AF_UNSPEC || len(name) < 2 {
		if e := checkUnixName(name); e != 0 {
			return e
		}
		var e linux.Errno
		if to, e = findUnix(t, name, s.Type); e != 0 {
			return e
		}
		if to.peer != nil && to.peer != s {
			return linux.EPERM
		}
	}
	old := s.peer
	s.peer, s.Connected = to, to != nil
	if old != nil {
		s.Count(linux.POLLOUT) // wakes those who waited for the old peer's queue
	}
	if old != nil && old != to {
		s.disconnected(t.Kernel, old)
	}
	return 0
}

// disconnected drops what s has received, since its peer is no longer old (unix_dgram_disconnected).
func (s *UnixSocket) disconnected(k *task.Kernel, old *UnixSocket) {
	if s.Queue.empty() {
		return
	}
	s.Queue.purge(k)
	if !old.closed && old.peer == s {
		old.fail(linux.ECONNRESET)
	}
}

// accept implements Socket.
func (s *UnixSocket) accept(t *task.Thread) (Socket, linux.Errno) {
	switch {
	case s.datagrams():
		return nil, linux.EOPNOTSUPP
	case !s.Listening:
		return nil, linux.EINVAL
	case len(s.acceptQueue) == 0 && s.rcvShut && !s.Nonblock():
		return nil, linux.EINVAL
	case len(s.acceptQueue) == 0:
		return nil, linux.EAGAIN
	}
	o := s.acceptQueue[0]
	s.acceptQueue = s.acceptQueue[1:]
	return o, 0
}

// Shutdown implements Socket.
func (s *UnixSocket) Shutdown(_ *task.Thread, rcv, snd bool) linux.Errno {
	s.shut(rcv, snd)
	if p := s.peer; p != nil && !s.datagrams() {
		p.shut(snd, rcv)
		switch {
		case rcv && snd:
			p.Announce(linux.POLLHUP)
		case snd:
			p.Announce(linux.POLLIN)
		}
	}
	return 0
}

// Close implements files.File.
func (s *UnixSocket) Close(k *task.Kernel) {
	s.closed = true
	if !s.inode.None() {
		if StackOf(k).Unix.files[s.key] == s {
			delete(StackOf(k).Unix.files, s.key)
		}
		s.inode.Close()
	} else if s.Path != nil && StackOf(k).Unix.abstract[abstractKey(s.Type, s.Path)] == s {
		delete(StackOf(k).Unix.abstract, abstractKey(s.Type, s.Path))
	}
	StackOf(k).Unix.forget(s)
	for _, o := range s.acceptQueue {
		o.disconnectPeer(true)
		o.Queue.purge(k)
		StackOf(k).Unix.forget(o)
	}
	s.acceptQueue, s.Listening = nil, false
	s.disconnectPeer(!s.Queue.empty())
	s.Queue.purge(k)
	s.Count(linux.POLLIN | linux.POLLOUT)
}

// disconnectPeer tells the peer that s is gone. lost says that something was not received, which resets the connection.
func (s *UnixSocket) disconnectPeer(lost bool) {
	s.closed = true
	p := s.peer
	if s.peer = nil; p == nil || s.datagrams() {
		return
	}
	if lost {
		p.err = linux.ECONNRESET
	}
	p.shut(true, true)
	p.Announce(linux.POLLHUP)
}

// forget takes s out of the list of all.
func (n *unixNames) forget(s *UnixSocket) {
	if s.listed != nil {
		n.All.Remove(s.listed)
		s.listed = nil
	}
}

// Each calls yield for all sockets of AF_UNIX in order of creation.
func (n *unixNames) Each(yield func(*UnixSocket) bool) {
	for e := n.All.Front(); e != nil && yield(e.Value.(*UnixSocket)); e = e.Next() {
	}
}

// option implements Socket.
func (s *UnixSocket) option(_ *task.Thread, level, name int) ([]byte, bool) {
	if level != linux.SOL_SOCKET {
		return nil, false
	}
	switch name {
	case linux.SO_PEERCRED:
		return s.peerCred.encode(), true
	case linux.SO_ACCEPTCONN:
		var b linux.Pack
		b.U32(Boolean(s.Listening))
		return b, true
	}
	return nil, false
}
