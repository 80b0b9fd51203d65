//go:build !portable

package host

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// OwnNetwork is the host's network itself.
type OwnNetwork struct{}

// Close implements Network. The host sends what it was given.
func (*OwnNetwork) Close() {}

// Socket implements Network.
func (*OwnNetwork) Socket(typ int) (Socket, linux.Errno) {
	fd, err := unix.Socket(unix.AF_INET, typ|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, ErrnoOf(err)
	}
	return FD(fd), 0
}

func sockaddrOf(a netip.AddrPort) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// Connect implements Socket.
func (f FD) Connect(a netip.AddrPort) linux.Errno {
	return retry(func() error { return unix.Connect(int(f), sockaddrOf(a)) })
}

// SendTo implements Socket.
func (f FD) SendTo(b []byte, to netip.AddrPort) (n int, e linux.Errno) {
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

// ReceiveFrom implements Socket.
func (f FD) ReceiveFrom(b []byte, flags uint32) (n int, from netip.AddrPort, e linux.Errno) {
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

// SocketError implements Socket.
func (f FD) SocketError() linux.Errno {
	n, err := unix.GetsockoptInt(int(f), unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return ErrnoOf(err)
	}
	return linux.Errno(n)
}

// PendingBytes implements Socket.
func (f FD) PendingBytes() int {
	n, _ := unix.IoctlGetInt(int(f), linux.FIONREAD)
	return n
}

// Shutdown implements Socket.
func (f FD) Shutdown(how int) linux.Errno { return ErrnoOf(unix.Shutdown(int(f), how)) }
