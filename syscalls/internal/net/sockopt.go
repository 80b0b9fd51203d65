package net

import (
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// Sizes of buffers (net.core.wmem_default and wmem_max; SOCK_MIN_SNDBUF, SOCK_MIN_RCVBUF).
const (
	// SockBuf is the default and the maximum of both buffers.
	SockBuf    = 212992
	minSockBuf = 4608
	minRcvBuf  = 2304
)

// A sockOptions has the options of a socket.
type sockOptions struct {
	sndBuf, rcvBuf         int
	SndTimeout, RcvTimeout int64 // nanoseconds, 0 for none
	lowWater               int   // SO_RCVLOWAT
	reuseAddr, reusePort   bool
	passCred, broadcast    bool
	linger, lingerOn       uint32
	device                 string // SO_BINDTODEVICE
	// values has those that are only remembered, by level and name; first value if it is not there.
	values map[optionKey]uint32
}

// An optionKey names an option: its level and its number there.
type optionKey struct{ level, name int }

// remembered are the options that have no effect but to be remembered: their least, greatest and first value. Those
// with a family or a type are unknown to other sockets.
var remembered = map[optionKey]struct {
	low, high, first int32
	family, typ      int
}{
	{linux.SOL_SOCKET, linux.SO_DEBUG}: {0, 1, 0, 0, 0}, {linux.SOL_SOCKET, linux.SO_DONTROUTE}: {0, 1, 0, 0, 0}, {linux.SOL_SOCKET, linux.SO_KEEPALIVE}: {0, 1, 0, 0, 0},
	{linux.SOL_SOCKET, linux.SO_OOBINLINE}: {0, 1, 0, 0, 0}, {linux.SOL_SOCKET, linux.SO_PRIORITY}: {0, 6, 0, 0, 0}, {linux.SOL_SOCKET, linux.SO_TIMESTAMP}: {0, 1, 0, 0, 0},
	{linux.SOL_SOCKET, linux.SO_INCOMING_CPU}: {-1, 1 << 20, -1, 0, 0}, {linux.SOL_SOCKET, linux.SO_ZEROCOPY}: {0, 1, 0, 0, 0}, {linux.SOL_SOCKET, linux.SO_MARK}: {0, 0, 0, 0, 0},

	{linux.SOL_TCP, 1}:  {0, 1, 0, linux.AF_INET, linux.SOCK_STREAM},                // TCP_NODELAY
	{linux.SOL_TCP, 2}:  {88, 32767, 32768, linux.AF_INET, linux.SOCK_STREAM},       // TCP_MAXSEG
	{linux.SOL_TCP, 3}:  {0, 1, 0, linux.AF_INET, linux.SOCK_STREAM},                // TCP_CORK
	{linux.SOL_TCP, 4}:  {1, 32767, 7200, linux.AF_INET, linux.SOCK_STREAM},         // TCP_KEEPIDLE
	{linux.SOL_TCP, 5}:  {1, 32767, 75, linux.AF_INET, linux.SOCK_STREAM},           // TCP_KEEPINTVL
	{linux.SOL_TCP, 6}:  {1, 127, 9, linux.AF_INET, linux.SOCK_STREAM},              // TCP_KEEPCNT
	{linux.SOL_TCP, 7}:  {1, 127, 6, linux.AF_INET, linux.SOCK_STREAM},              // TCP_SYNCNT
	{linux.SOL_TCP, 8}:  {-1, 1 << 30, 60, linux.AF_INET, linux.SOCK_STREAM},        // TCP_LINGER2
	{linux.SOL_TCP, 9}:  {0, 1 << 30, 0, linux.AF_INET, linux.SOCK_STREAM},          // TCP_DEFER_ACCEPT
	{linux.SOL_TCP, 10}: {0, 1 << 30, 65536, linux.AF_INET, linux.SOCK_STREAM},      // TCP_WINDOW_CLAMP
	{linux.SOL_TCP, 12}: {0, 1, 1, linux.AF_INET, linux.SOCK_STREAM},                // TCP_QUICKACK
	{linux.SOL_TCP, 18}: {0, 1 << 30, 0, linux.AF_INET, linux.SOCK_STREAM},          // TCP_USER_TIMEOUT
	{linux.SOL_TCP, 23}: {0, linux.SOMAXCONN, 0, linux.AF_INET, linux.SOCK_STREAM},  // TCP_FASTOPEN
	{linux.SOL_TCP, 25}: {-1 << 31, 1<<31 - 1, 0, linux.AF_INET, linux.SOCK_STREAM}, // TCP_NOTSENT_LOWAT
	{linux.SOL_TCP, 30}: {0, 1, 0, linux.AF_INET, linux.SOCK_STREAM},                // TCP_FASTOPEN_CONNECT

	{linux.SOL_IP, 1}:  {0, 255, 0, linux.AF_INET, 0},                             // IP_TOS
	{linux.SOL_IP, 2}:  {-1, 255, 64, linux.AF_INET, 0},                           // IP_TTL
	{linux.SOL_IP, 8}:  {0, 1, 0, linux.AF_INET, 0},                               // IP_PKTINFO
	{linux.SOL_IP, 10}: {0, 5, 1, linux.AF_INET, 0},                               // IP_MTU_DISCOVER
	{linux.SOL_IP, 11}: {0, 1, 0, linux.AF_INET, 0},                               // IP_RECVERR
	{linux.SOL_IP, 12}: {0, 1, 0, linux.AF_INET, 0},                               // IP_RECVTTL
	{linux.SOL_IP, 13}: {0, 1, 0, linux.AF_INET, 0},                               // IP_RECVTOS
	{linux.SOL_IP, 15}: {0, 1, 0, linux.AF_INET, 0},                               // IP_FREEBIND
	{linux.SOL_IP, 24}: {0, 1, 0, linux.AF_INET, 0},                               // IP_BIND_ADDRESS_NO_PORT
	{linux.SOL_IP, 32}: {-1 << 31, 1<<31 - 1, 0, linux.AF_INET, linux.SOCK_DGRAM}, // IP_MULTICAST_IF
	{linux.SOL_IP, 33}: {-1, 255, 1, linux.AF_INET, 0},                            // IP_MULTICAST_TTL
	{linux.SOL_IP, 34}: {0, 1, 1, linux.AF_INET, 0},                               // IP_MULTICAST_LOOP
	{linux.SOL_IP, 49}: {0, 1, 1, linux.AF_INET, 0},                               // IP_MULTICAST_ALL

	{linux.SOL_IPV6, 16}: {-1, 255, 64, linux.AF_INET6, 0},            // IPV6_UNICAST_HOPS
	{linux.SOL_IPV6, 17}: {0, 1, 0, linux.AF_INET6, linux.SOCK_DGRAM}, // IPV6_MULTICAST_IF
	{linux.SOL_IPV6, 18}: {-1, 255, 1, linux.AF_INET6, 0},             // IPV6_MULTICAST_HOPS
	{linux.SOL_IPV6, 19}: {0, 1, 1, linux.AF_INET6, 0},                // IPV6_MULTICAST_LOOP
	{linux.SOL_IPV6, 23}: {0, 5, 1, linux.AF_INET6, 0},                // IPV6_MTU_DISCOVER
	{linux.SOL_IPV6, 25}: {0, 1, 0, linux.AF_INET6, 0},                // IPV6_RECVERR
	{linux.SOL_IPV6, 49}: {0, 1, 0, linux.AF_INET6, 0},                // IPV6_RECVPKTINFO
	{linux.SOL_IPV6, 51}: {0, 1, 0, linux.AF_INET6, 0},                // IPV6_RECVHOPLIMIT
	{linux.SOL_IPV6, 66}: {0, 1, 0, linux.AF_INET6, 0},                // IPV6_RECVTCLASS
	{linux.SOL_IPV6, 67}: {-1, 255, 0, linux.AF_INET6, 0},             // IPV6_TCLASS

	{linux.SOL_NETLINK, 3}: {0, 1, 0, linux.AF_NETLINK, 0}, // NETLINK_PKTINFO
	{linux.SOL_NETLINK, 5}: {0, 1, 0, linux.AF_NETLINK, 0}, // NETLINK_NO_ENOBUFS
}

// init sets what a new socket has.
func (o *sockOptions) init(snd, rcv int) {
	*o = sockOptions{sndBuf: snd, rcvBuf: rcv, lowWater: 1, values: map[optionKey]uint32{}}
}

// inherit gives an accepted socket the options of its listener.
func (o *sockOptions) inherit(l *sockOptions) {
	values := map[optionKey]uint32{}
	for k, v := range l.values {
		values[k] = v
	}
	*o = *l
	o.values = values
}

// knows reports whether an option of a family and a type, 0 for any, is one of s's.
func (s *sockBase) knows(family, typ int) bool {
	return family == 0 || (family == s.Family || family == linux.AF_INET && s.Family == linux.AF_INET6) && (typ == 0 || typ == s.Type)
}

// noOption is the error of getsockopt(2) for an option that s does not have.
func (s *sockBase) noOption(level int) linux.Errno {
	inet := s.Family == linux.AF_INET || s.Family == linux.AF_INET6
	if level == linux.SOL_SOCKET ||
		inet && (level == linux.SOL_IP || level == s.proto || level == linux.SOL_IPV6 && s.Family == linux.AF_INET6) {
		return linux.ENOPROTOOPT
	}
	return linux.EOPNOTSUPP
}

// setOption implements Socket.
func (s *sockBase) setOption(*task.Thread, int, int, uint32) (linux.Errno, bool) { return 0, false }

// Option is the value of an option, as getsockopt(2) returns it.
func Option(t *task.Thread, s Socket, level, name int) ([]byte, linux.Errno) {
	if b, ok := s.option(t, level, name); ok {
		return b, 0
	}
	b := s.Sock()
	var out linux.Pack
	if r, ok := remembered[optionKey{level, name}]; ok && b.knows(r.family, r.typ) {
		v, ok := b.Opts.values[optionKey{level, name}]
		if !ok {
			v = uint32(r.first)
		}
		out.U32(v)
		return out, 0
	}
	if level != linux.SOL_SOCKET {
		return nil, b.noOption(level)
	}
	switch name {
	case linux.SO_LINGER:
		out.U32(b.Opts.lingerOn)
		out.U32(b.Opts.linger)
		return out, 0
	case linux.SO_BINDTODEVICE:
		if b.Opts.device == "" {
			return nil, 0
		}
		return append([]byte(b.Opts.device), 0), 0
	case linux.SO_RCVTIMEO:
		return task.Timeval(b.Opts.RcvTimeout), 0
	case linux.SO_SNDTIMEO:
		return task.Timeval(b.Opts.SndTimeout), 0
	case linux.SO_PEERCRED:
		return noPeer.encode(), 0
	}
	values := map[int]uint32{
		linux.SO_TYPE: uint32(b.Type), linux.SO_PROTOCOL: uint32(b.proto), linux.SO_DOMAIN: uint32(b.Family), linux.SO_ACCEPTCONN: 0,
		linux.SO_REUSEADDR: Boolean(b.Opts.reuseAddr), linux.SO_REUSEPORT: Boolean(b.Opts.reusePort), linux.SO_PASSCRED: Boolean(b.Opts.passCred),
		linux.SO_BROADCAST: Boolean(b.Opts.broadcast), linux.SO_SNDBUF: uint32(b.Opts.sndBuf), linux.SO_RCVBUF: uint32(b.Opts.rcvBuf),
		linux.SO_RCVLOWAT: uint32(b.Opts.lowWater), linux.SO_SNDLOWAT: 1,
	}
	if name == linux.SO_ERROR {
		out.U32(uint32(b.takeErr()))
		return out, 0
	}
	v, ok := values[name]
	if !ok {
		return nil, linux.ENOPROTOOPT
	}
	out.U32(v)
	return out, 0
}

// Boolean is the value of an option that is on or off.
func Boolean(x bool) uint32 {
	if x {
		return 1
	}
	return 0
}

// BindToDevice is SO_BINDTODEVICE. It has no other effect than to be remembered, as there is one interface that can be
// the right one.
func BindToDevice(t *task.Thread, b *sockBase, at emu.Addr, n int) linux.Errno {
	const nameSize = 16 // IFNAMSIZ
	x, e := t.CopyIn(at, min(n, nameSize-1))
	if e != 0 {
		return e
	}
	name, _, _ := strings.Cut(string(x), "\x00")
	if name != "" && !slices.ContainsFunc(Interfaces(t.Kernel), func(i *Interface) bool { return i.Name == name }) {
		return linux.ENODEV
	}
	b.Opts.device = name
	return 0
}

// SetLinger is SO_LINGER, with the struct linger at at.
func SetLinger(t *task.Thread, b *sockBase, at emu.Addr, n int) linux.Errno {
	if n < 8 {
		return linux.EINVAL
	}
	x, e := t.CopyIn(at, 8)
	if e != 0 {
		return e
	}
	b.Opts.lingerOn, b.Opts.linger = min(linux.Uint32(x), 1), linux.Uint32(x[4:])
	return 0
}

// SetOption sets an option whose value is a number.
func SetOption(t *task.Thread, s Socket, level, name int, v uint32) linux.Errno {
	if e, ok := s.setOption(t, level, name, v); ok {
		return e
	}
	b := s.Sock()
	if r, ok := remembered[optionKey{level, name}]; ok && b.knows(r.family, r.typ) {
		x := int32(v)
		if r.low == 0 && r.high == 1 {
			x = int32(min(v, 1))
		}
		if x < r.low || x > r.high {
			if level == linux.SOL_SOCKET {
				return linux.EPERM // what the superuser may set
			}
			return linux.EINVAL
		}
		b.Opts.values[optionKey{level, name}] = uint32(x)
		return 0
	}
	if level != linux.SOL_SOCKET {
		if b.Family == linux.AF_UNIX || b.Family == linux.AF_NETLINK {
			return linux.EOPNOTSUPP
		}
		return linux.ENOPROTOOPT
	}
	switch name {
	case linux.SO_REUSEADDR:
		b.Opts.reuseAddr = v != 0
	case linux.SO_REUSEPORT:
		b.Opts.reusePort = v != 0
	case linux.SO_PASSCRED:
		b.Opts.passCred = v != 0
	case linux.SO_BROADCAST:
		b.Opts.broadcast = v != 0
	case linux.SO_SNDBUF:
		// "The kernel doubles this value" - socket(7)
		b.Opts.sndBuf = max(int(min(v, SockBuf))*2, minSockBuf)
		b.writeSpace()
	case linux.SO_RCVBUF:
		b.Opts.rcvBuf = max(int(min(v, SockBuf))*2, minRcvBuf)
	case linux.SO_RCVLOWAT:
		b.Opts.lowWater = max(int(int32(v)), 1)
	case linux.SO_SNDBUFFORCE, linux.SO_RCVBUFFORCE:
		return linux.EPERM
	default:
		return linux.ENOPROTOOPT
	}
	return 0
}
