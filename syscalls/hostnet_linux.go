package syscalls

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// hostSocket makes a socket of AF_INET that does not block.
func hostSocket(typ int) (hostFD, linux.Errno) {
	fd, err := unix.Socket(unix.AF_INET, typ|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return noFD, errnoOf(err)
	}
	return hostFD(fd), 0
}

func sockaddrOf(a netip.AddrPort) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

func (f hostFD) connect(a netip.AddrPort) linux.Errno {
	return retry(func() error { return unix.Connect(int(f), sockaddrOf(a)) })
}

// sendTo sends b to an address, or, if that is not valid, to where f is connected to.
func (f hostFD) sendTo(b []byte, to netip.AddrPort) (n int, e linux.Errno) {
	var sa unix.Sockaddr
	if to.IsValid() {
		sa = sockaddrOf(to)
	}
	e = retry(func() (err error) {
		n, err = unix.SendmsgN(int(f), b, nil, sa, unix.MSG_NOSIGNAL)
		return err
	})
	return max(n, 0), e
}

func (f hostFD) receiveFrom(b []byte, flags uint32) (n int, from netip.AddrPort, e linux.Errno) {
	var sa unix.Sockaddr
	e = retry(func() (err error) {
		n, sa, err = unix.Recvfrom(int(f), b, int(flags))
		return err
	})
	if sa, ok := sa.(*unix.SockaddrInet4); ok {
		from = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	}
	return n, from, e
}

// socketError is SO_ERROR.
func (f hostFD) socketError() linux.Errno {
	n, err := unix.GetsockoptInt(int(f), unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return errnoOf(err)
	}
	return linux.Errno(n)
}

// pendingBytes is FIONREAD.
func (f hostFD) pendingBytes() int {
	n, _ := unix.IoctlGetInt(int(f), linux.FIONREAD)
	return n
}

func (f hostFD) shutdown(how int) linux.Errno { return errnoOf(unix.Shutdown(int(f), how)) }
