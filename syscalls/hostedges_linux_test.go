package syscalls

import (
	"io"
	stdnet "net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An edgeCase is a file of a guest's whose other end is the host's.
type edgeCase struct {
	g  *guest
	fd uint64
	// other is the host's end; end has nothing more come from it, nil where that cannot be told.
	other io.ReadWriter
	end   func()
}

// edgeCases are files that the guest reads without blocking.
var edgeCases = map[string]func(t *testing.T) edgeCase{
	"tcp": func(t *testing.T) edgeCase {
		ip := otherAddress(t)
		l, err := stdnet.ListenTCP("tcp4", &stdnet.TCPAddr{IP: ip})
		require.NoError(t, err)
		defer l.Close()
		g := newGuest(t, func(c *Config) { c.Network = NetworkHost })
		fd := g.ok(nr("socket"), linux.AF_INET, linux.SOCK_STREAM, 0)
		g.ok(nr("connect"), fd, g.sockaddr(ip, l.Addr().(*stdnet.TCPAddr).Port), 16)
		c, err := l.AcceptTCP()
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return edgeCase{g, fd, c, func() { require.NoError(t, c.CloseWrite()) }}
	},
	"udp": func(t *testing.T) edgeCase {
		ip := otherAddress(t)
		u, err := stdnet.ListenUDP("udp4", &stdnet.UDPAddr{IP: ip})
		require.NoError(t, err)
		t.Cleanup(func() { u.Close() })
		g := newGuest(t, func(c *Config) { c.Network = NetworkHost })
		fd := g.ok(nr("socket"), linux.AF_INET, linux.SOCK_DGRAM, 0)
		g.ok(nr("connect"), fd, g.sockaddr(ip, u.LocalAddr().(*stdnet.UDPAddr).Port), 16)
		g.ok(nr("write"), fd, g.str("x"), 1)
		_, from, err := u.ReadFromUDP(make([]byte, 1))
		require.NoError(t, err)
		return edgeCase{g, fd, writerTo{u, from}, nil}
	},
	"pipe": func(t *testing.T) edgeCase { return pipeCase(t, func(c *Config) { c.Files.HostStdio = true }) },
	"standard": func(t *testing.T) edgeCase {
		return pipeCase(t, func(c *Config) { c.Files.HostStdio, c.Files.PipedStdin = false, true })
	},
}

// come has something come from the host.
func (c edgeCase) come() {
	_, err := c.other.Write([]byte("x"))
	require.NoError(c.g.t, err)
	c.g.await(c.fd, linux.POLLIN)
}

// A writerTo writes datagrams to one address.
type writerTo struct {
	*stdnet.UDPConn
	to *stdnet.UDPAddr
}

func (w writerTo) Write(b []byte) (int, error) { return w.WriteToUDP(b, w.to) }

func pipeCase(t *testing.T, change func(*Config)) edgeCase {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	g := newGuest(t, change, func(c *Config) { c.Files.Stdin = r })
	return edgeCase{g, 0, w, func() { require.NoError(t, w.Close()) }}
}

// otherAddress is an address of the host's that is not the guest's.
func otherAddress(t *testing.T) stdnet.IP {
	addrs, err := stdnet.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if n, ok := a.(*stdnet.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.To4()
		}
	}
	t.Skip("the host has no other IPv4 address than 127.0.0.1")
	return nil
}

func (g *guest) sockaddr(ip stdnet.IP, port int) uint64 {
	return g.bytes(append([]byte{linux.AF_INET, 0, byte(port >> 8), byte(port), ip[0], ip[1], ip[2], ip[3]}, make([]byte, 8)...))
}

// watch makes an epoll instance that reports fd's edges.
func (g *guest) watch(fd uint64, events uint32) (ep uint64) {
	g.ok(nr("fcntl"), fd, linux.F_SETFL, linux.O_NONBLOCK)
	var b linux.Pack
	b.U32(events | linux.EPOLLET)
	b.U64(fd)
	ep = g.ok(nr("epoll_create1"), 0)
	g.ok(nr("epoll_ctl"), ep, linux.EPOLL_CTL_ADD, fd, g.bytes(b))
	return ep
}

// edges are the events that ep reports.
func (g *guest) edges(ep uint64) uint32 {
	at := g.room(12)
	if g.ok(nr("epoll_wait"), ep, at, 1, 0) == 0 {
		return 0
	}
	return linux.Uint32(g.peek(at, 4))
}

// await waits with poll(2), which epoll does not notice, until fd has one of events.
func (g *guest) await(fd uint64, events uint16) {
	var b linux.Pack
	b.U32(uint32(fd))
	b.U16(events)
	b.U16(0)
	at := g.bytes(b)
	require.Eventually(g.t, func() bool { return g.ok(nr("poll"), at, 1, 0) == 1 }, 10*time.Second, time.Millisecond)
}

// TestHostEdges has more come from the host between a guest's reading and its next look at what EPOLLET reports. The
// host is never seen without something to read, and yet it is to be reported: nothing else ever would be.
func TestHostEdges(t *testing.T) {
	for name, open := range edgeCases {
		for how, read := range map[string]func(g *guest, fd uint64){
			"all":  func(g *guest, fd uint64) { g.ok(nr("read"), fd, g.room(10), 10) },
			"some": func(g *guest, fd uint64) { g.ok(nr("read"), fd, g.room(10), 1) },
			"until there is no more": func(g *guest, fd uint64) {
				g.ok(nr("read"), fd, g.room(10), 10)
				g.fails(linux.EAGAIN, nr("read"), fd, g.room(10), 10)
			},
			"into a pipe": func(g *guest, fd uint64) {
				pair := g.room(8)
				g.ok(nr("pipe2"), pair, 0)
				g.ok(nr("splice"), fd, 0, uint64(g.peek32(pair+4)), 0, 1, 0)
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				c := open(t)
				ep := c.g.watch(c.fd, linux.POLLIN)
				for range 3 {
					c.come()
					require.EqualValues(t, linux.POLLIN, c.g.edges(ep))
					require.Zero(t, c.g.edges(ep))
					read(c.g, c.fd)
				}
				if c.end != nil {
					c.end()
					c.g.await(c.fd, linux.POLLIN)
					require.NotZero(t, c.g.edges(ep))
					require.Zero(t, c.g.ok(nr("read"), c.fd, c.g.room(10), 10))
				}
			})
		}
	}
}

// TestNestedHostEdges has an epoll instance watch the one that watches a file of the host's, by edges both.
func TestNestedHostEdges(t *testing.T) {
	for name, open := range edgeCases {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			inner := c.g.watch(c.fd, linux.POLLIN)
			outer := c.g.watch(inner, linux.POLLIN)
			for range 3 {
				c.come()
				require.EqualValues(t, linux.POLLIN, c.g.edges(outer))
				require.Zero(t, c.g.edges(outer))
				require.EqualValues(t, linux.POLLIN, c.g.edges(inner))
				c.g.ok(nr("read"), c.fd, c.g.room(10), 10)
			}
		})
	}
}

// TestHostEdgesOfOthers has somebody else read what was reported, so that the guest finds nothing, and more come.
func TestHostEdgesOfOthers(t *testing.T) {
	for name, read := range map[string]func(g *guest, fd uint64){
		"read": func(g *guest, fd uint64) { g.fails(linux.EAGAIN, nr("read"), fd, g.room(10), 10) },
		"splice": func(g *guest, fd uint64) {
			pair := g.room(8)
			g.ok(nr("pipe2"), pair, 0)
			g.fails(linux.EAGAIN, nr("splice"), fd, 0, uint64(g.peek32(pair+4)), 0, 1, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			defer w.Close()
			g := newGuest(t, func(c *Config) { c.Files.Stdin = r })
			ep := g.watch(0, linux.POLLIN)
			for range 3 {
				_, err := w.Write([]byte("x"))
				require.NoError(t, err)
				require.EqualValues(t, linux.POLLIN, g.edges(ep))
				_, err = r.Read(make([]byte, 1))
				require.NoError(t, err)
				read(g, 0)
			}
		})
	}
}

// TestHostRoomEdges has the host read between a guest's attempt to write more than there is room for and its next look
// at what EPOLLET reports.
func TestHostRoomEdges(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) edgeCase{
		"tcp": edgeCases["tcp"],
		"pipe": func(t *testing.T) edgeCase {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			t.Cleanup(func() { r.Close(); w.Close() })
			return edgeCase{newGuest(t, func(c *Config) { c.Files.Stdout = w }), 1, r, nil}
		},
		"fifo": func(t *testing.T) edgeCase {
			g, fd, r := fifoCase(t)
			return edgeCase{g, fd, r, nil}
		},
	} {
		for how, size := range map[string]uint64{"all that fits": 1 << 20, "until there is no room": 1 << 12} {
			t.Run(name+"/"+how, func(t *testing.T) {
				c := open(t)
				ep := c.g.watch(c.fd, linux.POLLOUT)
				require.EqualValues(t, linux.POLLOUT, c.g.edges(ep))
				for range 3 {
					written := c.g.fill(c.fd, size)
					_, err := io.ReadFull(c.other, make([]byte, written))
					require.NoError(t, err)
					c.g.await(c.fd, linux.POLLOUT)
					require.EqualValues(t, linux.POLLOUT, c.g.edges(ep))
					require.Zero(t, c.g.edges(ep))
				}
			})
		}
	}
}

// fill writes size bytes at a time to fd, as long as there is room.
func (g *guest) fill(fd, size uint64) (written int) {
	const at = 0x20000000 // the heap: what is written does not matter
	for {
		n := g.call(nr("write"), fd, at, size)
		if n.err() == linux.EAGAIN {
			return written
		}
		require.Zero(g.t, n.err())
		if written += int(n); size > 1<<12 && uint64(n) < size {
			return written
		}
	}
}
