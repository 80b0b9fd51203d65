package syscalls

import (
	stdnet "net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestHostStreamTruncated has a guest throw away what comes from another machine: its memory stays what it is.
func TestHostStreamTruncated(t *testing.T) {
	var ip stdnet.IP
	addrs, err := stdnet.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if n, ok := a.(*stdnet.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			ip = n.IP.To4()
		}
	}
	if ip == nil {
		t.Skip("the host has no other IPv4 address than 127.0.0.1")
	}
	l, err := stdnet.ListenTCP("tcp4", &stdnet.TCPAddr{IP: ip})
	require.NoError(t, err)
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("abcdefgh"))
			defer c.Close()
			_, _ = c.Read(make([]byte, 1))
		}
	}()
	g := newGuest(t, func(c *Config) { c.Network = NetworkHost })
	s := g.ok(nr("socket"), linux.AF_INET, linux.SOCK_STREAM, 0)
	port := l.Addr().(*stdnet.TCPAddr).Port
	g.ok(nr("connect"), s, g.bytes(append([]byte{linux.AF_INET, 0, byte(port >> 8), byte(port), ip[0], ip[1], ip[2], ip[3]}, make([]byte, 8)...)), 16)
	at := g.str("memory")
	require.EqualValues(t, 8, g.ok(nr("recvfrom"), s, g.room(8), 8, linux.MSG_PEEK|linux.MSG_WAITALL, 0, 0))
	require.EqualValues(t, 5, g.ok(nr("recvfrom"), s, at, 5, linux.MSG_TRUNC, 0, 0))
	require.Equal(t, "memory", string(g.peek(at, 6)))
	require.EqualValues(t, 3, g.ok(nr("recvfrom"), s, at, 5, 0, 0, 0))
	require.Equal(t, "fghory", string(g.peek(at, 6)))
}
