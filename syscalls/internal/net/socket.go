package net

import (
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

const (
	sockMax     = 11  // types of socket(2) are below it (SOCK_MAX)
	SockTypes   = 0xf // the bits of a type, without SOCK_CLOEXEC and SOCK_NONBLOCK (SOCK_TYPE_MASK)
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

// A Socket is a file of socket(2). Nothing travels: what one sends is in the other's queue
// when the call returns. As with other files, a call that must wait returns EAGAIN.
type Socket interface {
	files.File
	Sock() *sockBase
	Bind(t *task.Thread, name []byte) linux.Errno
	Listen(t *task.Thread, backlog int) linux.Errno
	// accept returns a socket for the first that waits to be accepted.
	accept(t *task.Thread) (Socket, linux.Errno)
	// Connect returns what block returns if it has to wait, and is called again then.
	Connect(t *task.Thread, name []byte) linux.Errno
	// Shutdown ends receiving, sending or both.
	Shutdown(t *task.Thread, rcv, snd bool) linux.Errno
	send(t *task.Thread, m *OutMessage) (uint64, linux.Errno)
	receive(t *task.Thread, m *InMessage) (uint64, linux.Errno)
	LocalName() []byte
	PeerName() ([]byte, linux.Errno)
	// option and SetOption are for options that not all sockets have: they report whether it is one of theirs.
	option(t *task.Thread, level, name int) ([]byte, bool)
	setOption(t *task.Thread, level, name int, value uint32) (linux.Errno, bool)
}

// A sockBase is what all sockets have. It supplies what a socket without connections does.
type sockBase struct {
	files.FileBase
	Family, Type, proto int
	Ino                 uint64
	// perm is what fchmod(2) changed of its mode, 0777.
	perm uint32
	// err is what happened since the last call, for the next one or SO_ERROR.
	err linux.Errno
	// rcvShut says that nothing more comes, sndShut that nothing can be sent.
	rcvShut, sndShut bool
	Queue            packetQueue
	// unread is what others still have in their queues of what was sent (AF_UNIX).
	unread int
	// noSpace says that there was no room to send: a signal tells when there is again (SOCKWQ_ASYNC_NOSPACE).
	noSpace bool
	Opts    sockOptions
}

func (b *sockBase) Traits() files.Traits { return files.Streaming }

func (b *sockBase) SetMode(mode uint32) { b.perm = mode ^ 0o777 }

func (s *sockBase) Sock() *sockBase { return s }

func (s *sockBase) Announcer() *files.Wakeups { return &s.Wakeups }

// init makes s a socket of its own inode.
func (s *sockBase) init(k *task.Kernel, family, typ, proto, flags int) {
	s.Ino = files.SystemOf(k).Inodes.Unnamed()
	s.FileBase = files.FileBase{Flags: linux.O_RDWR | flags&linux.O_NONBLOCK, Path: "socket:[" + strconv.Itoa(int(s.Ino)) + "]"}
	s.Family, s.Type, s.proto = family, typ, proto
}

func (s *sockBase) Listen(*task.Thread, int) linux.Errno { return linux.EOPNOTSUPP }

func (s *sockBase) accept(*task.Thread) (Socket, linux.Errno) { return nil, linux.EOPNOTSUPP }

func (s *sockBase) Shutdown(*task.Thread, bool, bool) linux.Errno { return linux.EOPNOTSUPP }

// takeErr returns what happened since the last call, once.
func (s *sockBase) takeErr() linux.Errno {
	e := s.err
	s.err = 0
	return e
}

// fail notes what happened to the socket, and wakes who waits for it.
func (s *sockBase) fail(e linux.Errno) {
	s.err = e
	s.Count(linux.POLLIN | linux.POLLOUT)
	s.Announce(linux.POLLERR)
}

// shut notes that a direction is closed, and wakes who waits for it.
func (s *sockBase) shut(rcv, snd bool) {
	s.rcvShut, s.sndShut = s.rcvShut || rcv, s.sndShut || snd
	s.Count(linux.POLLIN | linux.POLLOUT)
}

// writeSpace notes that there is room to send again.
func (s *sockBase) writeSpace() {
	s.Count(linux.POLLOUT)
	if s.noSpace {
		s.noSpace = false
		s.Announce(linux.POLLOUT)
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

func (s *sockBase) Stat(t *task.Thread) (files.Stat, linux.Errno) {
	st, _ := s.FileBase.Stat(t)
	st.Dev, st.Ino, st.Mode = files.SockDev, s.Ino, linux.S_IFSOCK|s.perm^0o777
	return st, 0
}

// NewSocket makes a socket, or says why there is none.
func NewSocket(t *task.Thread, family, typ, proto int) (Socket, linux.Errno) {
	flags := typ & linux.O_NONBLOCK
	typ &= SockTypes
	switch {
	case family < 0 || family >= linux.AF_MAX:
		return nil, linux.EAFNOSUPPORT
	case typ >= sockMax:
		return nil, linux.EINVAL
	case family == linux.AF_UNIX:
		return newUnixSocket(t, typ, proto, flags)
	case family == linux.AF_PACKET, family == linux.AF_INET && typ == linux.SOCK_PACKET:
		return nil, linux.EPERM
	case StackOf(t.Kernel).network == NetworkNone:
	case family == linux.AF_INET || family == linux.AF_INET6:
		return newInetSocket(t, family, typ, proto, flags)
	case family == linux.AF_NETLINK:
		return newNetlinkSocket(t, typ, proto, flags)
	}
	return nil, linux.EAFNOSUPPORT
}

// socket returns the socket behind fd.
func GetSocket(t *task.Thread, fd int) (Socket, linux.Errno) {
	f, e := files.GetRawFile(t, fd)
	if e != 0 {
		return nil, e
	}
	if f.Base().Flags&linux.O_PATH != 0 {
		return nil, linux.EBADF
	}
	s, ok := f.(Socket)
	if !ok {
		return nil, linux.ENOTSOCK
	}
	return s, 0
}

// Sockaddr reads a socket's name.
func Sockaddr(t *task.Thread, at emu.Addr, n int) ([]byte, linux.Errno) {
	if n < 0 || n > maxSockaddr {
		return nil, linux.EINVAL
	}
	return t.CopyIn(at, n)
}

// OutSockaddr gives name to a caller who has room for *lenAt bytes.
func OutSockaddr(t *task.Thread, name []byte, at, lenAt emu.Addr) linux.Errno {
	n, e := t.In32(lenAt)
	if e != 0 {
		return e
	}
	if int32(n) < 0 {
		return linux.EINVAL
	}
	if e := t.CopyOut(at, name[:min(int(n), len(name))]); e != 0 {
		return e
	}
	return t.Out32(lenAt, uint32(len(name)))
}

// familyOf is the address family of a name, AF_UNSPEC of one that is too short for any.
func familyOf(name []byte) int {
	if len(name) < 2 {
		return linux.AF_UNSPEC
	}
	return int(linux.Uint16(name))
}

func Accept(t *task.Thread, fd int, at, lenAt emu.Addr, flags int) (uint64, linux.Errno) {
	l, e := GetSocket(t, fd)
	if e != 0 {
		return 0, e
	}
	if e := files.Reserve(t); e != 0 {
		return 0, e
	}
	SocketDeadline(t, l.Sock().Opts.RcvTimeout)
	return acceptFrom(t, l, at, lenAt, flags)
}

// acceptFrom gives a descriptor to the first that waits to be accepted by l, and waits for one.
func acceptFrom(t *task.Thread, l Socket, at, lenAt emu.Addr, flags int) (uint64, linux.Errno) {
	s, e := l.accept(t)
	if e == linux.EAGAIN && !l.Base().Nonblock() && !t.TimedOut() {
		return waitSocket(t, l, linux.POLLIN, nil, func() (uint64, linux.Errno) { return acceptFrom(t, l, at, lenAt, flags) })
	}
	if e != 0 {
		return 0, e
	}
	b := s.Sock()
	b.init(t.Kernel, b.Family, b.Type, b.proto, flags)
	if at != 0 {
		name, e := s.PeerName()
		if e != 0 {
			// It has been closed or reset meanwhile: its name is still known, if it had one.
			name = b.unnamed()
		}
		if e := OutSockaddr(t, name, at, lenAt); e != 0 {
			s.Close(t.Kernel)
			return 0, e
		}
	}
	return files.Install(t, s, flags)
}

// unnamed is the name of a socket of s's family that has none.
func (s *sockBase) unnamed() []byte {
	var b linux.Pack
	b.U16(uint16(s.Family))
	return b
}

// SocketDeadline sets the call's deadline from the timeout of a socket: 0 means for ever.
func SocketDeadline(t *task.Thread, timeout int64) {
	t.Call.Deadline = task.Never
	if timeout > 0 {
		t.Call.Deadline = t.Kernel.After(timeout)
	}
}

// waitSocket parks t until s has one of events. ready, if set, decides instead of the events.
func waitSocket(t *task.Thread, s Socket, events uint32, ready func() bool, resume func() (uint64, linux.Errno), with ...files.File,
) (uint64, linux.Errno) {
	if ready == nil {
		ready = func() bool {
			return s.Poll(t)&(events|linux.POLLERR|linux.POLLHUP) != 0 || events&linux.POLLOUT != 0 && s.Sock().sndShut
		}
	}
	files.Of(t).Call.Hold(append(with, s)...)
	w := task.Wait{
		Ready: ready, Deadline: t.Call.Deadline,
		Hosts: func(fds []host.PollFD) []host.PollFD { return s.HostWaits(fds, events) },
	}
	if t.Call.Deadline != task.Never {
		// "the following interfaces are never restarted […] when a timeout has been set" - signal(7)
		w.Interrupted = linux.EINTR
	}
	return t.Block(w, resume)
}
