//go:build unix && (!linux || portable)

package host

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// connected returns a stream of n, and its other end.
func connected(t *testing.T, n *OwnNetwork) (*stream, *net.TCPConn) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s, e := n.Socket(linux.SOCK_STREAM)
	require.Zero(t, e)
	require.Equal(t, linux.EINPROGRESS, s.Connect(addressOf(l.Addr())))
	c, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.True(t, n.Wait([]PollFD{{On: s, Events: linux.POLLOUT}}, int64(time.Minute)))
	require.Zero(t, s.SocketError())
	return s.(*stream), c.(*net.TCPConn)
}

func addressOf(a net.Addr) netip.AddrPort { return netip.MustParseAddrPort(a.String()) }

// fill sends until the other side's buffers are full, and s' own; it returns how much.
func fill(n *OwnNetwork, s *stream) (sent int) {
	for room := true; room; room = n.Wait([]PollFD{{On: s, Events: linux.POLLOUT}}, int64(200*time.Millisecond)) {
		got, _ := s.SendTo(make([]byte, maxQueued), netip.AddrPort{})
		sent += got
	}
	return sent
}

// TestStreamShutThenClosed checks that a stream that has ended sending is closed when it is closed: the other side
// cannot write to it.
func TestStreamShutThenClosed(t *testing.T) {
	var n OwnNetwork
	s, c := connected(t, &n)
	require.Zero(t, s.Shutdown(1))
	_, err := c.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.Zero(t, s.Close())
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Minute)))
	for err = error(nil); err == nil; {
		_, err = c.Write(make([]byte, 1<<16))
	}
	require.False(t, err.(net.Error).Timeout(), err)
}

// TestStreamClosedWhileReceiving checks that a stream keeps nothing of what comes after it was closed, when the other
// side takes nothing more.
func TestStreamClosedWhileReceiving(t *testing.T) {
	var n OwnNetwork
	s, c := connected(t, &n)
	fill(&n, s)
	require.Zero(t, s.Close())
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Second)))
	for err := error(nil); err == nil; {
		_, err = c.Write(make([]byte, 1<<16))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.LessOrEqual(t, len(s.in), 2*maxQueued)
}

// TestStreamSentAtTheEnd checks that what was given to be sent is sent before the network is closed.
func TestStreamSentAtTheEnd(t *testing.T) {
	var n OwnNetwork
	s, c := connected(t, &n)
	sent := fill(&n, s)
	require.Zero(t, s.Close())
	read := make(chan int)
	go func() {
		got, _ := io.Copy(io.Discard, c)
		read <- int(got)
	}()
	n.Close()
	s.mu.Lock()
	require.Empty(t, s.out)
	s.mu.Unlock()
	require.Equal(t, sent, <-read)
}

// TestDatagramsElsewhere sends from a connected socket to another address than it is connected to.
func TestDatagramsElsewhere(t *testing.T) {
	var n OwnNetwork
	s, e := n.Socket(linux.SOCK_DGRAM)
	require.Zero(t, e)
	defer s.Close()
	var ends [2]*net.UDPConn
	for i := range ends {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
		ends[i] = c
	}
	require.Zero(t, s.Connect(addressOf(ends[0].LocalAddr())))
	for i, text := range []string{"to the first", "to the other"} {
		to := addressOf(ends[i].LocalAddr())
		got, e := s.SendTo([]byte(text), to)
		require.Zero(t, e)
		require.Equal(t, len(text), got)
		b := make([]byte, 64)
		got, err := ends[i].Read(b)
		require.NoError(t, err)
		require.Equal(t, text, string(b[:got]))
	}
}
