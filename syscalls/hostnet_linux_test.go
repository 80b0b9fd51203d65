package syscalls

import (
	stdnet "net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestHostStreamTruncated has a guest throw away what comes from another machine: its memory stays what it is.
func TestHostStreamTruncated(t *testing.T) {
	ip := otherAddress(t)
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
	g.ok(nr("connect"), s, g.sockaddr(ip, l.Addr().(*stdnet.TCPAddr).Port), 16)
	at := g.str("memory")
	require.EqualValues(t, 8, g.ok(nr("recvfrom"), s, g.room(8), 8, linux.MSG_PEEK|linux.MSG_WAITALL, 0, 0))
	require.EqualValues(t, 5, g.ok(nr("recvfrom"), s, at, 5, linux.MSG_TRUNC, 0, 0))
	require.Equal(t, "memory", string(g.peek(at, 6)))
	require.EqualValues(t, 3, g.ok(nr("recvfrom"), s, at, 5, 0, 0, 0))
	require.Equal(t, "fghory", string(g.peek(at, 6)))
}
