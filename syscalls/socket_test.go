package syscalls

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
)

// sin is a struct sockaddr_in for 127.0.0.1.
func sin(port uint16) []byte {
	return []byte{linux.AF_INET, 0, byte(port >> 8), byte(port), 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
}

// TestNoNetwork leaves AF_UNIX.
func TestNoNetwork(t *testing.T) {
	g := newGuest(t, func(c *Config) { c.Network = net.NetworkNone })
	for _, family := range []uint64{linux.AF_INET, linux.AF_INET6, linux.AF_NETLINK} {
		g.fails(linux.EAFNOSUPPORT, nr("socket"), family, linux.SOCK_STREAM, 0)
	}
	s := g.ok(nr("socket"), linux.AF_UNIX, linux.SOCK_STREAM, 0)
	ifreq := g.bytes(append([]byte("lo"), make([]byte, 38)...))
	g.fails(linux.ENODEV, nr("ioctl"), s, linux.SIOCGIFINDEX, ifreq)
}

// TestPorts checks that ports are given in ascending order, from the first again after the last, and none twice.
func TestPorts(t *testing.T) {
	g := newGuest(t)
	name, length := g.bytes(sin(0)), g.room(8)
	port := func(fd uint64) int {
		g.ok(nr("bind"), fd, g.bytes(sin(0)), 16)
		require.Equal(t, 4, g.p.Mem.Write(emu.Addr(int(length)), []byte{16, 0, 0, 0}))
		g.ok(nr("getsockname"), fd, name, length)
		b := g.peek(name, 4)
		return int(b[2])<<8 | int(b[3])
	}
	open := func() uint64 { return g.ok(nr("socket"), linux.AF_INET, linux.SOCK_STREAM, 0) }
	a, b := open(), open()
	assert.Equal(t, net.FirstPort, port(a))
	assert.Equal(t, net.FirstPort+1, port(b))
	g.ok(nr("close"), a)
	assert.Equal(t, net.FirstPort+2, port(open()))
	net.StackOf(g.k).Inet.TCP.Next = net.LastPort
	assert.Equal(t, net.LastPort, port(open()))
	assert.Equal(t, net.FirstPort, port(open()))
	assert.Equal(t, net.FirstPort+3, port(open()))
	g.fails(linux.EADDRINUSE, nr("bind"), open(), g.bytes(sin(net.FirstPort)), 16)
	g.fails(linux.EACCES, nr("bind"), open(), g.bytes(sin(net.PrivilegedPort-1)), 16)
}

// TestMulticastInterface sets the interface of datagrams to groups, which is remembered.
func TestMulticastInterface(t *testing.T) {
	g := newGuest(t)
	value, length := g.room(4), g.bytes([]byte{4, 0, 0, 0})
	const multicastIF, multicastIF6 = 32, 17
	for _, tt := range []struct {
		family, level, name uint64
		value               []byte
	}{
		{linux.AF_INET, linux.SOL_IP, multicastIF, []byte{127, 0, 0, 1}},
		{linux.AF_INET6, linux.SOL_IPV6, multicastIF6, []byte{1, 0, 0, 0}},
	} {
		fd := g.ok(nr("socket"), tt.family, linux.SOCK_DGRAM, 0)
		g.ok(nr("setsockopt"), fd, tt.level, tt.name, g.bytes(tt.value), 4)
		g.ok(nr("getsockopt"), fd, tt.level, tt.name, value, length)
		assert.Equal(t, tt.value, g.peek(value, 4))
	}
}

// TestConnectTimeout checks that a connection for which the listener has no room ends when Linux gives up.
func TestConnectTimeout(t *testing.T) {
	g := newGuest(t)
	open := func() uint64 { return g.ok(nr("socket"), linux.AF_INET, linux.SOCK_STREAM, 0) }
	l := open()
	to := g.bytes(sin(4000))
	g.ok(nr("bind"), l, to, 16)
	g.ok(nr("listen"), l, 0)
	g.ok(nr("connect"), open(), to, 16)
	before := g.k.Now()
	c := open()
	g.fails(linux.ETIMEDOUT, nr("connect"), c, to, 16)
	assert.InDelta(t, net.SynTimeout, g.k.Now()-before, 1e6)
	assert.Empty(t, g.k.Timers)
	// With room for one more it goes through.
	g.ok(nr("accept"), l, 0, 0)
	g.ok(nr("connect"), c, to, 16)
}

// TestSmallWrites checks that bytes that are sent one by one are not kept one by one.
func TestSmallWrites(t *testing.T) {
	g := newGuest(t)
	l, c := g.ok(nr("socket"), linux.AF_INET, linux.SOCK_STREAM, 0), g.ok(nr("socket"), linux.AF_INET, linux.SOCK_STREAM, 0)
	to := g.bytes(sin(4000))
	g.ok(nr("bind"), l, to, 16)
	g.ok(nr("listen"), l, 1)
	g.ok(nr("connect"), c, to, 16)
	a := g.ok(nr("accept"), l, 0, 0)
	for i := range 100 {
		g.ok(nr("write"), c, g.bytes([]byte{byte(i)}), 1)
	}
	f, e := files.GetRawFile(g.th, int(a))
	require.Zero(t, e)
	assert.Len(t, f.(*net.TCPSocket).Queue.Packets, 1)
	buf := g.room(200)
	assert.EqualValues(t, 60, g.ok(nr("read"), a, buf, 60))
	g.ok(nr("write"), c, g.bytes([]byte{100}), 1)
	assert.EqualValues(t, 41, g.ok(nr("read"), a, buf+60, 140))
	for i, b := range g.peek(buf, 101) {
		assert.EqualValues(t, i, b)
	}
}

// TestPassedDescriptors checks that what is in flight is let go of when nobody can receive it any more.
func TestPassedDescriptors(t *testing.T) {
	g := newGuest(t)
	fds := g.room(8)
	g.ok(nr("socketpair"), linux.AF_UNIX, linux.SOCK_DGRAM, 0, fds)
	p := g.peek(fds, 8)
	a, b := uint64(linux.Uint32(p)), uint64(linux.Uint32(p[4:]))
	pipe := g.room(8)
	g.ok(nr("pipe"), pipe)
	q := g.peek(pipe, 8)
	var iov, ctl, hdr linux.Pack
	iov.U64(g.bytes([]byte("x")))
	iov.U64(1)
	ctl.U64(net.CmsgHeader + 4)
	ctl.U32(linux.SOL_SOCKET)
	ctl.U32(linux.SCM_RIGHTS)
	ctl.U32(linux.Uint32(q[4:]))
	ctl.Zero(4)
	hdr.Zero(16)
	hdr.U64(g.bytes(iov))
	hdr.U64(1)
	hdr.U64(g.bytes(ctl))
	hdr.U64(uint64(len(ctl)))
	hdr.Zero(8)
	g.ok(nr("sendmsg"), a, g.bytes(hdr), 0)
	g.ok(nr("close"), uint64(linux.Uint32(q[4:])))
	r := uint64(linux.Uint32(q))
	g.ok(nr("fcntl"), r, linux.F_SETFL, linux.O_NONBLOCK)
	g.fails(linux.EAGAIN, nr("read"), r, pipe, 1)
	g.ok(nr("close"), b)
	assert.Zero(t, g.ok(nr("read"), r, pipe, 1))
}
