package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysSocket implements socket(2).
func sysSocket(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	family, typ, proto := a.Int(0), a.Int(1), a.Int(2)
	if typ&^(net.SockTypes|linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	s, e := net.NewSocket(t, family, typ, proto)
	if e != 0 {
		return 0, e
	}
	return files.Install(t, s, typ&linux.O_CLOEXEC)
}

// sysSocketpair implements socketpair(2).
func sysSocketpair(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	typ := a.Int(1)
	if typ&^(net.SockTypes|linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	// Linux reserves the descriptors, and writes their numbers, before it makes the sockets.
	if fd, e := files.FreeFD(t, 0); e != 0 {
		return 0, e
	} else if _, e := files.FreeFD(t, fd+1); e != 0 {
		return 0, e
	}
	if e := t.CopyOut(a.Addr(3), make([]byte, 8)); e != 0 {
		return 0, e
	}
	var ends [2]*net.UnixSocket
	var fds linux.Pack
	for i := range ends {
		s, e := net.NewSocket(t, a.Int(0), typ, a.Int(2))
		if e != 0 {
			return 0, e
		}
		u, ok := s.(*net.UnixSocket)
		if !ok {
			s.Close(t.Kernel)
			return 0, linux.EOPNOTSUPP
		}
		u.Cred = net.Credential(t)
		ends[i] = u
	}
	net.JoinUnix(ends[0], ends[1])
	for i, s := range ends {
		fd, e := files.Install(t, s, typ&linux.O_CLOEXEC)
		if e != 0 {
			if i > 0 {
				files.Of(t).FDs.Close(t.Kernel, int(linux.Uint32(fds)))
			} else {
				ends[1].Close(t.Kernel)
			}
			return 0, e
		}
		fds.U32(uint32(fd))
	}
	if e := t.CopyOut(a.Addr(3), fds); e != 0 {
		files.Of(t).FDs.Close(t.Kernel, int(linux.Uint32(fds)))
		files.Of(t).FDs.Close(t.Kernel, int(linux.Uint32(fds[4:])))
		return 0, e
	}
	return 0, 0
}

// sysBind implements bind(2).
func sysBind(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	name, e := net.Sockaddr(t, a.Addr(1), a.Int(2))
	if e != 0 {
		return 0, e
	}
	return 0, s.Bind(t, name)
}

// sysListen implements listen(2).
func sysListen(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, s.Listen(t, int(min(a.U32(1), linux.SOMAXCONN)))
}

// sysConnect implements connect(2).
func sysConnect(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if _, e := files.GetFile(t, a.Int(0)); e != 0 {
		return 0, e
	}
	name, e := net.Sockaddr(t, a.Addr(1), a.Int(2))
	if e != 0 {
		return 0, e
	}
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	net.SocketDeadline(t, s.Sock().Opts.SndTimeout)
	return 0, s.Connect(t, name)
}

// sysAccept implements accept(2).
func sysAccept(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return net.Accept(t, a.Int(0), a.Addr(1), a.Addr(2), 0)
}

// sysAccept4 implements accept4(2).
func sysAccept4(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(3)&^(linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	return net.Accept(t, a.Int(0), a.Addr(1), a.Addr(2), a.Int(3))
}

// sysShutdown implements shutdown(2).
func sysShutdown(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	how := a.U32(1)
	if how > 2 {
		return 0, linux.EINVAL
	}
	return 0, s.Shutdown(t, how != 1, how != 0)
}

// sysGetsockname implements getsockname(2).
func sysGetsockname(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, net.OutSockaddr(t, s.LocalName(), a.Addr(1), a.Addr(2))
}

// sysGetpeername implements getpeername(2).
func sysGetpeername(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	name, e := s.PeerName()
	if e != 0 {
		return 0, e
	}
	return 0, net.OutSockaddr(t, name, a.Addr(1), a.Addr(2))
}
