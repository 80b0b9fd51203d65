//go:build !linux || portable

package host

import (
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A socket is one of the host's.
type socket struct{}

func (s *socket) close() {}

func (s *socket) poll(uint32) uint32 { return 0 }

func (OwnNetwork) Socket(int) (Socket, linux.Errno) { return nil, linux.ENOSYS }

func (f FD) Connect(netip.AddrPort) linux.Errno { return linux.ENOSYS }

func (f FD) SendTo([]byte, netip.AddrPort) (int, linux.Errno) { return 0, linux.ENOSYS }

func (f FD) SocketError() linux.Errno { return linux.ENOSYS }

func (f FD) PendingBytes() int { return 0 }

func (f FD) Shutdown(int) linux.Errno { return linux.ENOSYS }

func (f FD) ReceiveFrom([]byte, uint32) (int, netip.AddrPort, linux.Errno) {
	return 0, netip.AddrPort{}, linux.ENOSYS
}
