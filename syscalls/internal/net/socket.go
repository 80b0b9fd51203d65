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
	// sockMax bounds the types of socket(2) (SOCK_MAX).
	sockMax = 11
	// SockTypes masks the type of socket(2), without SOCK_CLOEXEC and SOCK_NONBLOCK (SOCK_TYPE_MASK).
	SockTypes = 0xf
	// maxSockaddr is the size of struct sockaddr_storage.
	maxSockaddr = 128
)

// A Network says which network a guest has.
type Network uint8

// The networks there are.
const (
	// NetworkLoopback is a network of one machine, inside this kernel.
	NetworkLoopback Network = iota
	// NetworkNone leaves the guest only AF_UNIX.
	NetworkNone
	// NetworkHost reaches other machines over the host. Runs are not reproducible then.
	NetworkHost
)

// A Socket is a file made by socket(2). What one sends is in the other's queue when the call returns. Like
// those of other files, its methods do not wait, but for Connect: they return EAGAIN.
type Socket interface {
	files.File
	// Sock is what all sockets have.
	Sock() *sockBase
	// Bind gives the socket a name.
	Bind(t *task.Thread, name []byte) linux.Errno
	// Listen makes it accept connections, of which backlog may wait.
	Listen(t *task.Thread, backlog int) linux.Errno
	// accept returns a socket for the connection that has waited longest.
	accept(t *task.Thread) (Socket, linux.Errno)
	// Connect connects the socket to a name. It is the only method that may wait itself: it then returns what
	// Thread.Block returns.
	Connect(t *task.Thread, name []byte) linux.Errno
	// Shutdown ends receiving, sending or both.
	Shutdown(t *task.Thread, rcv, snd bool) linux.Errno
	// send sends m, or as much of it as there is room for. EAGAIN says that something is left.
	send(t *task.Thread, m *OutMessage) (uint64, linux.Errno)
	// receive receives into m what has arrived.
	receive(t *task.Thread, m *InMessage) (uint64, linux.Errno)
	// LocalName is the socket's own name, PeerName that of the other end.
	LocalName() []byte
	PeerName() ([]byte, linux.Errno)
	// option and setOption are for options that not all sockets have. They report whether the option is one of theirs.
	option(t *task.Thread, level, name int) ([]byte, bool)
	setOption(t *task.Thread, level, name int, value uint32) (linux.Errno, bool)
}

// A sockBase is what all sockets have. Its methods are those of a socket without connections.
type sockBase struct {
	files.FileBase
	// Family, Type and proto are the arguments of socket(2).
	Family, Type, proto int
	// Ino is the inode that fstat(2) shows.
	Ino uint64
	// perm are the bits of its mode, 0777, that fchmod(2) has changed.
	perm uint32
	// err is an error that no call has told yet: the next call or SO_ERROR does.
	err linux.Errno
	// rcvShut says that nothing more will arrive, sndShut that nothing can be sent any more.
	rcvShut, sndShut bool
	// Queue is what the socket has received and nobody has read.
	Queue packetQueue
	// unread is how much room what was sent still takes in the queues of others (AF_UNIX): sndBuf bounds it.
	unread int
	// noSpace says that there was no room to send. When there is room again, a signal tells those who asked for it
	// (SOCKWQ_ASYNC_NOSPACE).
	noSpace bool
	// Opts are the socket's options.
	Opts sockOptions
}

// Traits implements files.File.
func (b *sockBase) Traits() files.Traits { return files.Streaming }

// SetMode is fchmod(2): it changes the bits that fstat(2) shows.
func (b *sockBase) SetMode(mode uint32) { b.perm = mode ^ 0o777 }

// Sock implements Socket.
func (s *sockBase) Sock() *sockBase { return s }

// Announcer makes O_ASYNC work: files.Wakeups has those who are to be told.
func (s *sockBase) Announcer() *files.Wakeups { return &s.Wakeups }

// init makes s a socket with an inode of its own.
func (s *sockBase) init(k *task.Kernel, family, typ, proto, flags int) {
	s.Ino = files.SystemOf(k).Inodes.Unnamed()
	s.FileBase = files.FileBase{Flags: linux.O_RDWR | flags&linux.O_NONBLOCK, Path: "socket:[" + strconv.Itoa(int(s.Ino)) + "]"}
	s.Family, s.Type, s.proto = family, typ, proto
}

// Listen implements Socket.
func (s *sockBase) Listen(*task.Thread, int) linux.Errno { return linux.EOPNOTSUPP }

// accept implements Socket.
func (s *sockBase) accept(*task.Thread) (Socket, linux.Errno) { return nil, linux.EOPNOTSUPP }

// Shutdown implements Socket.
func (s *sockBase) Shutdown(*task.Thread, bool, bool) linux.Errno { return linux.EOPNOTSUPP }

// takeErr returns the pending error and forgets it.
func (s *sockBase) takeErr() linux.Errno {
	e := s.err
	s.err = 0
	return e
}

// fail sets the pending error, and wakes those who wait for s.
func (s *sockBase) fail(e linux.Errno) {
	s.err = e
	s.Count(linux.POLLIN | linux.POLLOUT)
	s.Announce(linux.POLLERR)
}

// shut closes directions, and wakes those who wait for s.
func (s *sockBase) shut(rcv, snd bool) {
	s.rcvShut, s.sndShut = s.rcvShut || rcv, s.sndShut || snd
	s.Count(linux.POLLIN | linux.POLLOUT)
}

// writeSpace is called when there is room to send again (sk_write_space).
func (s *sockBase) writeSpace() {
	s.Count(linux.POLLOUT)
	if s.noSpace {
		s.noSpace = false
		s.Announce(linux.POLLOUT)
	}
}

// shutEvents are the events of poll(2) that closed directions and errors make.
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

// Stat implements files.File.
func (s *sockBase) Stat(t *task.Thread) (files.Stat, linux.Errno) {
	st, _ := s.FileBase.Stat(t)
	st.Dev, st.Ino, st.Mode = files.SockDev, s.Ino, linux.S_IFSOCK|s.perm^0o777
	return st, 0
}

// NewSocket makes a socket, as socket(2) does.
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

// GetSocket returns the socket behind descriptor fd.
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

// Sockaddr reads a socket's name, n bytes at at.
func Sockaddr(t *task.Thread, at emu.Addr, n int) ([]byte, linux.Errno) {
	if n < 0 || n > maxSockaddr {
		return nil, linux.EINVAL
	}
	return t.CopyIn(at, n)
}

// OutSockaddr writes name to at, where there is room for as many bytes as lenAt says, and its length to lenAt.
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

// familyOf is the address family of a name, AF_UNSPEC if it is too short to have one.
func familyOf(name []byte) int {
	if len(name) < 2 {
		return linux.AF_UNSPEC
	}
	return int(linux.Uint16(name))
}

// Accept implements accept4(2).
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

// acceptFrom waits for a connection to l, and returns a descriptor for it.
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
			// The peer has closed or reset the connection meanwhile, and has no name any more.
			name = b.unnamed()
		}
		if e := OutSockaddr(t, name, at, lenAt); e != 0 {
			s.Close(t.Kernel)
			return 0, e
		}
	}
	return files.Install(t, s, flags)
}

// unnamed is the name of a socket of s's family that has no name.
func (s *sockBase) unnamed() []byte {
	var b linux.Pack
	b.U16(uint16(s.Family))
	return b
}

// SocketDeadline sets the deadline of t's call from a timeout of a socket; 0 stands for none.
func SocketDeadline(t *task.Thread, timeout int64) {
	t.Call.Deadline = task.Never
	if timeout > 0 {
		t.Call.Deadline = t.Kernel.After(timeout)
	}
}

// waitSocket makes t wait until s has one of events or, if ready is set, until that reports true. The files of with
// stay open meanwhile.
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
		w.OnSignal = linux.EINTR
	}
	return t.Block(w, resume)
}
