package syscalls

import (
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const (
	sockMax     = 11  // types of socket(2) are below it (SOCK_MAX)
	sockTypes   = 0xf // the bits of a type, without SOCK_CLOEXEC and SOCK_NONBLOCK (SOCK_TYPE_MASK)
	maxSockaddr = 128 // struct sockaddr_storage
)

// A Network says what network the guest has.
type Network uint8

// Networks.
const (
	// NetworkLoopback is a network of one machine, inside the guest's kernel.
	NetworkLoopback Network = iota
	// NetworkNone leaves AF_UNIX.
	NetworkNone
	// NetworkHost asks the host for what lies beyond. Runs are no longer reproducible.
	NetworkHost
)

// A socket is a file of socket(2). Nothing travels: what one sends is in the other's queue
// when the call returns. As with other files, a call that must wait returns EAGAIN.
type socket interface {
	file
	sock() *sockBase
	bind(t *Thread, name []byte) linux.Errno
	listen(t *Thread, backlog int) linux.Errno
	// accept returns a socket for the first that waits to be accepted.
	accept(t *Thread) (socket, linux.Errno)
	// connect returns what block returns if it has to wait, and is called again then.
	connect(t *Thread, name []byte) linux.Errno
	// shutdown ends receiving, sending or both.
	shutdown(t *Thread, rcv, snd bool) linux.Errno
	send(t *Thread, m *outMessage) (uint64, linux.Errno)
	receive(t *Thread, m *inMessage) (uint64, linux.Errno)
	localName() []byte
	peerName() ([]byte, linux.Errno)
	// option and setOption are for options that not all sockets have: they report whether it is one of theirs.
	option(t *Thread, level, name int) ([]byte, bool)
	setOption(t *Thread, level, name int, value uint32) (linux.Errno, bool)
}

// A sockBase is what all sockets have. It supplies what a socket without connections does.
type sockBase struct {
	fileBase
	family, typ, proto int
	ino                uint64
	// perm is what fchmod(2) changed of its mode, 0777.
	perm uint32
	// err is what happened since the last call, for the next one or SO_ERROR.
	err linux.Errno
	// rcvShut says that nothing more comes, sndShut that nothing can be sent.
	rcvShut, sndShut bool
	queue            packetQueue
	// unread is what others still have in their queues of what was sent (AF_UNIX).
	unread int
	// crowded says that there was no room to send: a signal tells when there is again (SOCKWQ_ASYNC_NOSPACE).
	crowded bool
	opts    sockOptions
}

func (b *sockBase) traits() traits { return streaming }

func (b *sockBase) setMode(mode uint32) { b.perm = mode ^ 0o777 }

func (s *sockBase) sock() *sockBase { return s }

func (s *sockBase) announcer() *wakeups { return &s.wakeups }

// init makes s a socket of its own inode.
func (s *sockBase) init(k *Kernel, family, typ, proto, flags int) {
	s.ino = fsOf(k).inodes.unnamed()
	s.fileBase = fileBase{flags: linux.O_RDWR | flags&linux.O_NONBLOCK, path: "socket:[" + strconv.Itoa(int(s.ino)) + "]"}
	s.family, s.typ, s.proto = family, typ, proto
}

func (s *sockBase) listen(*Thread, int) linux.Errno          { return linux.EOPNOTSUPP }
func (s *sockBase) accept(*Thread) (socket, linux.Errno)     { return nil, linux.EOPNOTSUPP }
func (s *sockBase) shutdown(*Thread, bool, bool) linux.Errno { return linux.EOPNOTSUPP }

// takeErr returns what happened since the last call, once.
func (s *sockBase) takeErr() linux.Errno {
	e := s.err
	s.err = 0
	return e
}

// fail notes what happened to the socket, and wakes who waits for it.
func (s *sockBase) fail(e linux.Errno) {
	s.err = e
	s.count(linux.POLLIN | linux.POLLOUT)
	s.announce(linux.POLLERR)
}

// shut notes that a direction is closed, and wakes who waits for it.
func (s *sockBase) shut(rcv, snd bool) {
	s.rcvShut, s.sndShut = s.rcvShut || rcv, s.sndShut || snd
	s.count(linux.POLLIN | linux.POLLOUT)
}

// emptied notes that there is room to send again.
func (s *sockBase) emptied() {
	s.count(linux.POLLOUT)
	if s.crowded {
		s.crowded = false
		s.announce(linux.POLLOUT)
	}
}

// shutEvents are the events that closed directions and errors make.
func (s *sockBase) shutEvents() uint32 {
	var ev uint32
	if s.err != 0 {
		ev |= linux.POLLERR
	}
	if s.rcvShut {
		ev |= linux.POLLIN | linux.POLLRDNORM | linux.POLLRDHUP
		if s.sndShut {
			ev |= linux.POLLHUP
		}
	}
	return ev
}

func (s *sockBase) stat(t *Thread) (stat, linux.Errno) {
	st, _ := s.fileBase.stat(t)
	st.dev, st.ino, st.mode = sockDev, s.ino, linux.S_IFSOCK|s.perm^0o777
	return st, 0
}

// newSocket makes a socket, or says why there is none.
func (t *Thread) newSocket(family, typ, proto int) (socket, linux.Errno) {
	flags := typ & linux.O_NONBLOCK
	typ &= sockTypes
	switch {
	case family < 0 || family >= linux.AF_MAX:
		return nil, linux.EAFNOSUPPORT
	case typ >= sockMax:
		return nil, linux.EINVAL
	case family == linux.AF_UNIX:
		return t.newUnixSocket(typ, proto, flags)
	case family == linux.AF_PACKET, family == linux.AF_INET && typ == linux.SOCK_PACKET:
		return nil, linux.EPERM
	case netOf(t.k).network == NetworkNone:
	case family == linux.AF_INET || family == linux.AF_INET6:
		return t.newInetSocket(family, typ, proto, flags)
	case family == linux.AF_NETLINK:
		return t.newNetlinkSocket(typ, proto, flags)
	}
	return nil, linux.EAFNOSUPPORT
}

// sysSocket implements socket(2).
func sysSocket(t *Thread, a Args) (uint64, linux.Errno) {
	family, typ, proto := a.Int(0), a.Int(1), a.Int(2)
	if typ&^(sockTypes|linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	s, e := t.newSocket(family, typ, proto)
	if e != 0 {
		return 0, e
	}
	return t.install(s, typ&linux.O_CLOEXEC)
}

// sysSocketpair implements socketpair(2).
func sysSocketpair(t *Thread, a Args) (uint64, linux.Errno) {
	typ := a.Int(1)
	if typ&^(sockTypes|linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	// Descriptors are kept free and told before anything else.
	if fd, e := t.freeFD(0); e != 0 {
		return 0, e
	} else if _, e := t.freeFD(fd + 1); e != 0 {
		return 0, e
	}
	if e := t.copyOut(a.Addr(3), make([]byte, 8)); e != 0 {
		return 0, e
	}
	var ends [2]*unixSocket
	var fds pack
	for i := range ends {
		s, e := t.newSocket(a.Int(0), typ, a.Int(2))
		if e != 0 {
			return 0, e
		}
		u, ok := s.(*unixSocket)
		if !ok {
			s.close(t.k)
			return 0, linux.EOPNOTSUPP
		}
		u.cred = t.credential()
		ends[i] = u
	}
	joinUnix(ends[0], ends[1])
	for i, s := range ends {
		fd, e := t.install(s, typ&linux.O_CLOEXEC)
		if e != 0 {
			if i > 0 {
				filesOf(t).fds.close(t.k, int(le32(fds)))
			} else {
				ends[1].close(t.k)
			}
			return 0, e
		}
		fds.u32(uint32(fd))
	}
	if e := t.copyOut(a.Addr(3), fds); e != 0 {
		filesOf(t).fds.close(t.k, int(le32(fds)))
		filesOf(t).fds.close(t.k, int(le32(fds[4:])))
		return 0, e
	}
	return 0, 0
}

// socket returns the socket behind fd.
func (t *Thread) socket(fd int) (socket, linux.Errno) {
	f, e := t.file(fd)
	if e != 0 {
		return nil, e
	}
	if f.base().flags&linux.O_PATH != 0 {
		return nil, linux.EBADF
	}
	s, ok := f.(socket)
	if !ok {
		return nil, linux.ENOTSOCK
	}
	return s, 0
}

// sockaddr reads a socket's name.
func (t *Thread) sockaddr(at emu.Addr, n int) ([]byte, linux.Errno) {
	if n < 0 || n > maxSockaddr {
		return nil, linux.EINVAL
	}
	return t.copyIn(at, n)
}

// outSockaddr gives name to a caller who has room for *lenAt bytes.
func (t *Thread) outSockaddr(name []byte, at, lenAt emu.Addr) linux.Errno {
	n, e := t.in32(lenAt)
	if e != 0 {
		return e
	}
	if int32(n) < 0 {
		return linux.EINVAL
	}
	if e := t.copyOut(at, name[:min(int(n), len(name))]); e != 0 {
		return e
	}
	return t.out32(lenAt, uint32(len(name)))
}

// familyOf is the address family of a name, AF_UNSPEC of one that is too short for any.
func familyOf(name []byte) int {
	if len(name) < 2 {
		return linux.AF_UNSPEC
	}
	return int(le16(name))
}

// sysBind implements bind(2).
func sysBind(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	name, e := t.sockaddr(a.Addr(1), a.Int(2))
	if e != 0 {
		return 0, e
	}
	return 0, s.bind(t, name)
}

// sysListen implements listen(2).
func sysListen(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, s.listen(t, int(min(a.U32(1), linux.SOMAXCONN)))
}

// sysConnect implements connect(2).
func sysConnect(t *Thread, a Args) (uint64, linux.Errno) {
	if _, e := t.openFile(a.Int(0)); e != 0 {
		return 0, e
	}
	name, e := t.sockaddr(a.Addr(1), a.Int(2))
	if e != 0 {
		return 0, e
	}
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	t.socketDeadline(s.sock().opts.sndTimeout)
	return 0, s.connect(t, name)
}

// sysAccept implements accept(2).
func sysAccept(t *Thread, a Args) (uint64, linux.Errno) {
	return t.accept(a.Int(0), a.Addr(1), a.Addr(2), 0)
}

// sysAccept4 implements accept4(2).
func sysAccept4(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(3)&^(linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	return t.accept(a.Int(0), a.Addr(1), a.Addr(2), a.Int(3))
}

func (t *Thread) accept(fd int, at, lenAt emu.Addr, flags int) (uint64, linux.Errno) {
	l, e := t.socket(fd)
	if e != 0 {
		return 0, e
	}
	if e := t.reserve(); e != 0 {
		return 0, e
	}
	t.socketDeadline(l.sock().opts.rcvTimeout)
	return t.acceptFrom(l, at, lenAt, flags)
}

// acceptFrom gives a descriptor to the first that waits to be accepted by l, and waits for one.
func (t *Thread) acceptFrom(l socket, at, lenAt emu.Addr, flags int) (uint64, linux.Errno) {
	s, e := l.accept(t)
	if e == linux.EAGAIN && !l.base().nonblock() && !t.timedOut() {
		return t.waitSocket(l, linux.POLLIN, nil, func() (uint64, linux.Errno) { return t.acceptFrom(l, at, lenAt, flags) })
	}
	if e != 0 {
		return 0, e
	}
	b := s.sock()
	b.init(t.k, b.family, b.typ, b.proto, flags)
	if at != 0 {
		name, e := s.peerName()
		if e != 0 {
			// It has been closed or reset meanwhile: its name is still known, if it had one.
			name = b.unnamed()
		}
		if e := t.outSockaddr(name, at, lenAt); e != 0 {
			s.close(t.k)
			return 0, e
		}
	}
	return t.install(s, flags)
}

// unnamed is the name of a socket of s's family that has none.
func (s *sockBase) unnamed() []byte {
	var b pack
	b.u16(uint16(s.family))
	return b
}

// sysShutdown implements shutdown(2).
func sysShutdown(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	how := a.U32(1)
	if how > 2 {
		return 0, linux.EINVAL
	}
	return 0, s.shutdown(t, how != 1, how != 0)
}

// sysGetsockname implements getsockname(2).
func sysGetsockname(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.outSockaddr(s.localName(), a.Addr(1), a.Addr(2))
}

// sysGetpeername implements getpeername(2).
func sysGetpeername(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	name, e := s.peerName()
	if e != 0 {
		return 0, e
	}
	return 0, t.outSockaddr(name, a.Addr(1), a.Addr(2))
}

// socketDeadline sets the call's deadline from the timeout of a socket: 0 means for ever.
func (t *Thread) socketDeadline(timeout int64) {
	t.call.deadline = never
	if timeout > 0 {
		t.call.deadline = t.k.after(timeout)
	}
}

// waitSocket parks t until s has one of events. ready, if set, decides instead of the events.
func (t *Thread) waitSocket(s socket, events uint32, ready func() bool, resume func() (uint64, linux.Errno), with ...file,
) (uint64, linux.Errno) {
	if ready == nil {
		ready = func() bool {
			return s.poll(t)&(events|linux.POLLERR|linux.POLLHUP) != 0 || events&linux.POLLOUT != 0 && s.sock().sndShut
		}
	}
	filesOf(t).call.hold(append(with, s)...)
	w := wait{
		ready: ready, deadline: t.call.deadline,
		hosts: func(fds []hostPoll) []hostPoll { return s.hostWaits(fds, events) },
	}
	if t.call.deadline != never {
		// "the following interfaces are never restarted […] when a timeout has been set" - signal(7)
		w.interrupted = linux.EINTR
	}
	return t.block(w, resume)
}
