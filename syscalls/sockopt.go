package syscalls

import (
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
)

// Options of SOL_SOCKET (include/uapi/asm-generic/socket.h).
const (
	soDebug       = 1
	soReuseaddr   = 2
	soType        = 3
	soError       = 4
	soDontroute   = 5
	soBroadcast   = 6
	soSndbuf      = 7
	soRcvbuf      = 8
	soKeepalive   = 9
	soOobinline   = 10
	soPriority    = 12
	soLinger      = 13
	soReuseport   = 15
	soPasscred    = 16
	soPeercred    = 17
	soRcvlowat    = 18
	soSndlowat    = 19
	soRcvtimeo    = 20
	soSndtimeo    = 21
	soBindtodev   = 25
	soTimestamp   = 29
	soAcceptconn  = 30
	soPeersec     = 31
	soSndbufforce = 32
	soRcvbufforce = 33
	soMark        = 36
	soProtocol    = 38
	soDomain      = 39
	soIncomingCPU = 49
	soZerocopy    = 60
)

const (
	solIP   = 0
	solTCP  = 6
	solUDP  = 17
	solIPv6 = 41
)

// Sizes of buffers (net.core.wmem_default and _max; SOCK_MIN_SNDBUF, SOCK_MIN_RCVBUF).
const (
	sockBuf    = 212992
	minSockBuf = 4608
	minRcvBuf  = 2304
)

// A sockOptions has the options that do something.
type sockOptions struct {
	sndBuf, rcvBuf         int
	sndTimeout, rcvTimeout int64 // nanoseconds, 0 for none
	lowWater               int   // SO_RCVLOWAT
	reuseAddr, reusePort   bool
	passCred, broadcast    bool
	linger, lingerOn       uint32
	device                 string // SO_BINDTODEVICE
	// values are those that are only remembered.
	values map[optionKey]uint32
}

type optionKey struct{ level, name int }

// remembered are options that only remember what they are set to: the least, the greatest and
// the first value. Those with a family are unknown to others.
var remembered = map[optionKey]struct {
	low, high, first int32
	family, typ      int
}{
	{solSocket, soDebug}: {0, 1, 0, 0, 0}, {solSocket, soDontroute}: {0, 1, 0, 0, 0}, {solSocket, soKeepalive}: {0, 1, 0, 0, 0},
	{solSocket, soOobinline}: {0, 1, 0, 0, 0}, {solSocket, soPriority}: {0, 6, 0, 0, 0}, {solSocket, soTimestamp}: {0, 1, 0, 0, 0},
	{solSocket, soIncomingCPU}: {-1, 1 << 20, -1, 0, 0}, {solSocket, soZerocopy}: {0, 1, 0, 0, 0}, {solSocket, soMark}: {0, 0, 0, 0, 0},

	{solTCP, 1}:  {0, 1, 0, afInet, sockStream},                // TCP_NODELAY
	{solTCP, 2}:  {88, 32767, 32768, afInet, sockStream},       // TCP_MAXSEG
	{solTCP, 3}:  {0, 1, 0, afInet, sockStream},                // TCP_CORK
	{solTCP, 4}:  {1, 32767, 7200, afInet, sockStream},         // TCP_KEEPIDLE
	{solTCP, 5}:  {1, 32767, 75, afInet, sockStream},           // TCP_KEEPINTVL
	{solTCP, 6}:  {1, 127, 9, afInet, sockStream},              // TCP_KEEPCNT
	{solTCP, 7}:  {1, 127, 6, afInet, sockStream},              // TCP_SYNCNT
	{solTCP, 8}:  {-1, 1 << 30, 60, afInet, sockStream},        // TCP_LINGER2
	{solTCP, 9}:  {0, 1 << 30, 0, afInet, sockStream},          // TCP_DEFER_ACCEPT
	{solTCP, 10}: {0, 1 << 30, 65536, afInet, sockStream},      // TCP_WINDOW_CLAMP
	{solTCP, 12}: {0, 1, 1, afInet, sockStream},                // TCP_QUICKACK
	{solTCP, 18}: {0, 1 << 30, 0, afInet, sockStream},          // TCP_USER_TIMEOUT
	{solTCP, 23}: {0, somaxconn, 0, afInet, sockStream},        // TCP_FASTOPEN
	{solTCP, 25}: {-1 << 31, 1<<31 - 1, 0, afInet, sockStream}, // TCP_NOTSENT_LOWAT
	{solTCP, 30}: {0, 1, 0, afInet, sockStream},                // TCP_FASTOPEN_CONNECT

	{solIP, 1}:  {0, 255, 0, afInet, 0},   // IP_TOS
	{solIP, 2}:  {-1, 255, 64, afInet, 0}, // IP_TTL
	{solIP, 8}:  {0, 1, 0, afInet, 0},     // IP_PKTINFO
	{solIP, 10}: {0, 5, 1, afInet, 0},     // IP_MTU_DISCOVER
	{solIP, 11}: {0, 1, 0, afInet, 0},     // IP_RECVERR
	{solIP, 12}: {0, 1, 0, afInet, 0},     // IP_RECVTTL
	{solIP, 13}: {0, 1, 0, afInet, 0},     // IP_RECVTOS
	{solIP, 15}: {0, 1, 0, afInet, 0},     // IP_FREEBIND
	{solIP, 24}: {0, 1, 0, afInet, 0},     // IP_BIND_ADDRESS_NO_PORT
	{solIP, 33}: {-1, 255, 1, afInet, 0},  // IP_MULTICAST_TTL
	{solIP, 34}: {0, 1, 1, afInet, 0},     // IP_MULTICAST_LOOP
	{solIP, 49}: {0, 1, 1, afInet, 0},     // IP_MULTICAST_ALL

	{solIPv6, 16}: {-1, 255, 64, afInet6, 0}, // IPV6_UNICAST_HOPS
	{solIPv6, 18}: {-1, 255, 1, afInet6, 0},  // IPV6_MULTICAST_HOPS
	{solIPv6, 19}: {0, 1, 1, afInet6, 0},     // IPV6_MULTICAST_LOOP
	{solIPv6, 23}: {0, 5, 1, afInet6, 0},     // IPV6_MTU_DISCOVER
	{solIPv6, 25}: {0, 1, 0, afInet6, 0},     // IPV6_RECVERR
	{solIPv6, 49}: {0, 1, 0, afInet6, 0},     // IPV6_RECVPKTINFO
	{solIPv6, 51}: {0, 1, 0, afInet6, 0},     // IPV6_RECVHOPLIMIT
	{solIPv6, 66}: {0, 1, 0, afInet6, 0},     // IPV6_RECVTCLASS
	{solIPv6, 67}: {-1, 255, 0, afInet6, 0},  // IPV6_TCLASS
}

// init sets what a new socket has.
func (o *sockOptions) init(snd, rcv int) {
	*o = sockOptions{sndBuf: snd, rcvBuf: rcv, lowWater: 1, values: map[optionKey]uint32{}}
}

// inherit is what an accepted socket has of its listener's.
func (o *sockOptions) inherit(l *sockOptions) {
	values := map[optionKey]uint32{}
	for k, v := range l.values {
		values[k] = v
	}
	*o = *l
	o.values = values
}

// knows reports whether an option with a family is one of s's.
func (s *sockBase) knows(family, typ int) bool {
	return family == 0 || (family == s.family || family == afInet && s.family == afInet6) && (typ == 0 || typ == s.typ)
}

// noOption is the error of getsockopt(2) for an option that s does not have.
func (s *sockBase) noOption(level int) Errno {
	inet := s.family == afInet || s.family == afInet6
	if level == solSocket || inet && (level == solIP || level == s.proto || level == solIPv6 && s.family == afInet6) {
		return ENOPROTOOPT
	}
	return EOPNOTSUPP
}

func (s *sockBase) option(*Thread, int, int) ([]byte, bool)           { return nil, false }
func (s *sockBase) setOption(*Thread, int, int, uint32) (Errno, bool) { return 0, false }

// sysGetsockopt implements getsockopt(2).
func sysGetsockopt(t *Thread, a Args) (uint64, Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	level, name := a.Int(1), a.Int(2)
	n, e := t.in32(a.Addr(4))
	if e != 0 {
		return 0, e
	}
	if int32(n) < 0 {
		return 0, EINVAL
	}
	b, e := t.option(s, level, name)
	if e != 0 {
		return 0, e
	}
	b = b[:min(int(n), len(b))]
	if e := t.copyOut(a.Addr(3), b); e != 0 {
		return 0, e
	}
	return 0, t.out32(a.Addr(4), uint32(len(b)))
}

// option is the value of an option.
func (t *Thread) option(s socket, level, name int) ([]byte, Errno) {
	if b, ok := s.option(t, level, name); ok {
		return b, 0
	}
	b := s.sock()
	var out pack
	if r, ok := remembered[optionKey{level, name}]; ok && b.knows(r.family, r.typ) {
		v, ok := b.opts.values[optionKey{level, name}]
		if !ok {
			v = uint32(r.first)
		}
		out.u32(v)
		return out, 0
	}
	if level != solSocket {
		return nil, b.noOption(level)
	}
	switch name {
	case soLinger:
		out.u32(b.opts.lingerOn)
		out.u32(b.opts.linger)
		return out, 0
	case soBindtodev:
		if b.opts.device == "" {
			return nil, 0
		}
		return append([]byte(b.opts.device), 0), 0
	case soRcvtimeo:
		return timeval(b.opts.rcvTimeout), 0
	case soSndtimeo:
		return timeval(b.opts.sndTimeout), 0
	case soPeercred:
		return noPeer.encode(), 0
	}
	values := map[int]uint32{
		soType: uint32(b.typ), soProtocol: uint32(b.proto), soDomain: uint32(b.family), soAcceptconn: 0,
		soReuseaddr: boolean(b.opts.reuseAddr), soReuseport: boolean(b.opts.reusePort), soPasscred: boolean(b.opts.passCred),
		soBroadcast: boolean(b.opts.broadcast), soSndbuf: uint32(b.opts.sndBuf), soRcvbuf: uint32(b.opts.rcvBuf),
		soRcvlowat: uint32(b.opts.lowWater), soSndlowat: 1,
	}
	if name == soError {
		out.u32(uint32(b.takeErr()))
		return out, 0
	}
	v, ok := values[name]
	if !ok {
		return nil, ENOPROTOOPT
	}
	out.u32(v)
	return out, 0
}

// boolean is how an option tells whether x holds.
func boolean(x bool) uint32 {
	if x {
		return 1
	}
	return 0
}

// sysSetsockopt implements setsockopt(2).
func sysSetsockopt(t *Thread, a Args) (uint64, Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	level, name, at, n := a.Int(1), a.Int(2), a.Addr(3), a.Int(4)
	if n < 0 {
		return 0, EINVAL
	}
	b := s.sock()
	if level == solSocket {
		switch name {
		case soLinger:
			return 0, t.setLinger(b, at, n)
		case soRcvtimeo:
			return 0, t.setTimeout(&b.opts.rcvTimeout, at, n)
		case soSndtimeo:
			return 0, t.setTimeout(&b.opts.sndTimeout, at, n)
		case soBindtodev:
			return 0, t.bindToDevice(b, at, n)
		}
	}
	if n < 4 {
		// "optlen" may be that of a char for the options of IP (net/ipv4/ip_sockglue.c).
		if n == 0 || level != solIP {
			return 0, EINVAL
		}
		x, e := t.copyIn(at, 1)
		if e != 0 {
			return 0, e
		}
		return 0, t.setOption(s, level, name, uint32(x[0]))
	}
	v, e := t.in32(at)
	if e != 0 {
		return 0, e
	}
	return 0, t.setOption(s, level, name, v)
}

// bindToDevice notes which interface the socket is to use, of which one is the right one anyway.
func (t *Thread) bindToDevice(b *sockBase, at emu.Addr, n int) Errno {
	const nameSize = 16 // IFNAMSIZ
	x, e := t.copyIn(at, min(n, nameSize-1))
	if e != 0 {
		return e
	}
	name, _, _ := strings.Cut(string(x), "\x00")
	if name != "" && !slices.ContainsFunc(t.k.interfaces(), func(i *netInterface) bool { return i.name == name }) {
		return ENODEV
	}
	b.opts.device = name
	return 0
}

func (t *Thread) setLinger(b *sockBase, at emu.Addr, n int) Errno {
	if n < 8 {
		return EINVAL
	}
	x, e := t.copyIn(at, 8)
	if e != 0 {
		return e
	}
	b.opts.lingerOn, b.opts.linger = min(le32(x), 1), le32(x[4:])
	return 0
}

func (t *Thread) setTimeout(to *int64, at emu.Addr, n int) Errno {
	if n < 16 {
		return EINVAL
	}
	x, e := t.copyIn(at, 16)
	if e != 0 {
		return e
	}
	sec, usec := int64(le64(x)), int64(le64(x[8:]))
	if usec < 0 || usec >= 1e6 {
		return EDOM
	}
	const most = int64(never / 2 / 1_000_000_000)
	switch {
	case sec < 0:
		*to = 1 // it has passed already
	case sec > most:
		*to = 0
	default:
		*to = sec*1e9 + usec*1e3
	}
	return 0
}

// setOption sets an option whose value is a number.
func (t *Thread) setOption(s socket, level, name int, v uint32) Errno {
	if e, ok := s.setOption(t, level, name, v); ok {
		return e
	}
	b := s.sock()
	if r, ok := remembered[optionKey{level, name}]; ok && b.knows(r.family, r.typ) {
		x := int32(v)
		if r.low == 0 && r.high == 1 {
			x = int32(min(v, 1))
		}
		if x < r.low || x > r.high {
			if level == solSocket {
				return EPERM // what the superuser may set
			}
			return EINVAL
		}
		b.opts.values[optionKey{level, name}] = uint32(x)
		return 0
	}
	if level != solSocket {
		if b.family == afUnix || b.family == afNetlink {
			return EOPNOTSUPP
		}
		return ENOPROTOOPT
	}
	switch name {
	case soReuseaddr:
		b.opts.reuseAddr = v != 0
	case soReuseport:
		b.opts.reusePort = v != 0
	case soPasscred:
		b.opts.passCred = v != 0
	case soBroadcast:
		b.opts.broadcast = v != 0
	case soSndbuf:
		// "The kernel doubles this value" - socket(7)
		b.opts.sndBuf = max(int(min(v, sockBuf))*2, minSockBuf)
		b.emptied()
	case soRcvbuf:
		b.opts.rcvBuf = max(int(min(v, sockBuf))*2, minRcvBuf)
	case soRcvlowat:
		b.opts.lowWater = max(int(int32(v)), 1)
	case soSndbufforce, soRcvbufforce:
		return EPERM
	default:
		return ENOPROTOOPT
	}
	return 0
}
