package syscalls

import (
	"net/netip"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Ports that connect(2) and bind(2) choose (net.ipv4.ip_local_port_range), and the first that everyone may use.
const (
	firstPort      = 32768
	lastPort       = 60999
	privilegedPort = 1024
)

// Sizes of struct sockaddr_in and sockaddr_in6; the latter's scope id may be missing.
const (
	sinSize     = 16
	sin6Size    = 28
	sin6SizeOld = 24
)

var (
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopback6 = netip.IPv6Loopback()
	broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
)

// An inetSocket is what sockets of TCP and UDP have. An IPv4 address is kept as such, also by a
// socket of AF_INET6, which shows it as a mapped one.
type inetSocket struct {
	sockBase
	// local is its address, the zero AddrPort for none. ported says that its port is its own, bound
	// that bind(2) has made it so.
	local, remote netip.AddrPort
	ported, bound bool
	// chosen says that the address was chosen by connect(2).
	chosen    bool
	v6only    bool
	listening bool
	// outside is for what lies beyond the guest's own network.
	outside outside
}

// An inetFile is a tcpSocket or a udpSocket.
type inetFile interface {
	socket
	inet() *inetSocket
}

func (s *inetSocket) inet() *inetSocket { return s }

// A portTable has the sockets of a protocol that have a port, by port, in order of getting it.
type portTable struct {
	sockets map[uint16][]inetFile
	next    uint16
}

// A netStack is the network that the guest sees.
type netStack struct {
	network Network
	unix    unixNames
	inet    inetStack
}

func newNetStack(n Network) *netStack {
	s := &netStack{network: n}
	s.unix.init()
	s.inet.init()
	return s
}

// netOf returns the network of k.
func netOf(k *Kernel) *netStack { return k.net.(*netStack) }

// An inetStack is the guest's network: a loopback interface.
type inetStack struct{ tcp, udp portTable }

func (n *inetStack) init() {
	n.tcp = portTable{sockets: map[uint16][]inetFile{}, next: firstPort}
	n.udp = portTable{sockets: map[uint16][]inetFile{}, next: firstPort}
}

func (t *Thread) newInetSocket(family, typ, proto, flags int) (socket, linux.Errno) {
	const protoMax = 263 // IPPROTO_MAX
	switch {
	case proto < 0 || proto >= protoMax:
		return nil, linux.EINVAL
	case typ == linux.SOCK_STREAM && (proto == 0 || proto == linux.IPPROTO_TCP):
		s := newTCP(family)
		s.init(t.k, family, typ, linux.IPPROTO_TCP, flags)
		return s, 0
	case typ == linux.SOCK_DGRAM && (proto == 0 || proto == linux.IPPROTO_UDP):
		s := &udpSocket{}
		s.outside.fd = noFD
		s.opts.init(sockBuf, sockBuf)
		s.init(t.k, family, typ, linux.IPPROTO_UDP, flags)
		return s, 0
	case typ == linux.SOCK_STREAM || typ == linux.SOCK_DGRAM:
		return nil, linux.EPROTONOSUPPORT
	case typ == linux.SOCK_RAW && proto != 0:
		return nil, linux.EPERM // for the superuser
	case typ == linux.SOCK_RAW:
		return nil, linux.EPROTONOSUPPORT
	}
	return nil, linux.ESOCKTNOSUPPORT
}

// any is the address of a socket that has none.
func (s *inetSocket) any() netip.Addr {
	if s.family == linux.AF_INET {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// encode is a as a struct sockaddr_in or sockaddr_in6, as s' family is.
func (s *inetSocket) encode(a netip.AddrPort) []byte {
	var b pack
	b.u16(uint16(s.family))
	b = append(b, byte(a.Port()>>8), byte(a.Port()))
	addr := a.Addr()
	if !addr.IsValid() {
		addr = s.any()
	}
	if s.family == linux.AF_INET {
		ip := addr.As4()
		b = append(b, ip[:]...)
		b.zero(8)
		return b
	}
	ip := addr.As16()
	b.u32(0)
	b = append(b, ip[:]...)
	b.u32(0)
	return b
}

// decode reads a name. An IPv4 address comes back as one, also from a name of AF_INET6.
func (s *inetSocket) decode(b []byte) (netip.AddrPort, linux.Errno) {
	if len(b) < 4 {
		return netip.AddrPort{}, linux.EINVAL
	}
	port := uint16(b[2])<<8 | uint16(b[3])
	fam := familyOf(b)
	switch {
	case s.family == linux.AF_INET && len(b) < sinSize, s.family == linux.AF_INET6 && fam != linux.AF_INET && len(b) < sin6SizeOld, len(b) < sinSize:
		return netip.AddrPort{}, linux.EINVAL
	case s.family == linux.AF_INET && fam == linux.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), 0
	case s.family == linux.AF_INET6 && fam == linux.AF_INET6:
		a := netip.AddrFrom16([16]byte(b[8:24])).Unmap()
		if a.Is4() && s.v6only {
			return netip.AddrPort{}, linux.ENETUNREACH
		}
		return netip.AddrPortFrom(a, port), 0
	}
	return netip.AddrPort{}, linux.EAFNOSUPPORT
}

// destination is where a packet to a goes; an unspecified address is this machine.
func destination(a netip.Addr) netip.Addr {
	switch {
	case !a.IsUnspecified():
		return a
	case a.Is4():
		return loopback4
	}
	return loopback6
}

// source is the address of this machine that packets to dst come from.
func source(dst netip.Addr) netip.Addr {
	switch {
	case dst.Is6():
		return loopback6
	case dst.IsLoopback():
		return loopback4
	}
	return ethernet.ip4().Addr()
}

func (s *inetSocket) localName() []byte { return s.encode(s.local) }

func (s *inetSocket) peerName() ([]byte, linux.Errno) {
	if !s.remote.IsValid() {
		return nil, linux.ENOTCONN
	}
	return s.encode(s.remote), 0
}

// families reports which protocols s receives from.
func (s *inetSocket) families() (v4, v6 bool) {
	a := s.local.Addr()
	if !a.IsValid() {
		a = s.any()
	}
	return a.Is4() || a.IsUnspecified() && !s.v6only, a.Is6()
}

// overlaps reports whether a packet could be for both, their ports being equal.
func (s *inetSocket) overlaps(o *inetSocket) bool {
	a4, a6 := s.families()
	b4, b6 := o.families()
	if !(a4 && b4) && !(a6 && b6) {
		return false
	}
	a, b := s.local.Addr(), o.local.Addr()
	return !a.IsValid() || !b.IsValid() || a.IsUnspecified() || b.IsUnspecified() || a == b
}

// conflicts reports whether s may not have its port because o has it (inet_csk_bind_conflict).
func (s *inetSocket) conflicts(o *inetSocket) bool {
	if !s.overlaps(o) {
		return false
	}
	if s.opts.reuseAddr && o.opts.reuseAddr && (s.typ == linux.SOCK_DGRAM || !o.listening && !s.listening) {
		return false
	}
	return !s.opts.reusePort || !o.opts.reusePort
}

// claim gives f the port of its local address, or a free one if that is 0.
func (p *portTable) claim(f inetFile) linux.Errno {
	s := f.inet()
	if !s.local.IsValid() {
		s.local = netip.AddrPortFrom(s.any(), 0)
	}
	if port := s.local.Port(); port != 0 {
		for _, o := range p.sockets[port] {
			if s.conflicts(o.inet()) {
				return linux.EADDRINUSE
			}
		}
		p.add(f)
		return 0
	}
	for range lastPort - firstPort + 1 {
		port := p.next
		if p.next++; p.next > lastPort {
			p.next = firstPort
		}
		if len(p.sockets[port]) == 0 {
			s.local = netip.AddrPortFrom(s.local.Addr(), port)
			p.add(f)
			return 0
		}
	}
	return linux.EADDRINUSE
}

// add makes the port of f's local address its own.
func (p *portTable) add(f inetFile) {
	s := f.inet()
	s.ported = true
	p.sockets[s.local.Port()] = append(p.sockets[s.local.Port()], f)
}

// release takes f's port away, if it has one.
func (p *portTable) release(f inetFile) {
	if !f.inet().ported {
		return
	}
	f.inet().ported = false
	port := f.inet().local.Port()
	rest := slices.DeleteFunc(p.sockets[port], func(o inetFile) bool { return o == f })
	if p.sockets[port] = rest; len(rest) == 0 {
		delete(p.sockets, port)
	}
}

// bindTo implements bind(2) for f.
func (p *portTable) bindTo(t *Thread, f inetFile, name []byte) linux.Errno {
	s := f.inet()
	if s.family == linux.AF_INET && len(name) < sinSize || s.family == linux.AF_INET6 && len(name) < sin6SizeOld {
		return linux.EINVAL
	}
	a, e := s.decode(name)
	if e != 0 {
		// bind(2) takes AF_UNSPEC for AF_INET if the address is 0 (net/ipv4/af_inet.c, __inet_bind).
		if s.family != linux.AF_INET || familyOf(name) != linux.AF_UNSPEC || le32(name[4:]) != 0 {
			if e == linux.ENETUNREACH {
				e = linux.EINVAL
			}
			return e
		}
		a = netip.AddrPortFrom(s.any(), uint16(name[2])<<8|uint16(name[3]))
	}
	switch addr := a.Addr(); {
	case !addr.IsUnspecified() && !t.k.isLocal(addr):
		return linux.EADDRNOTAVAIL
	case a.Port() != 0 && a.Port() < privilegedPort:
		return linux.EACCES
	case s.ported:
		return linux.EINVAL
	}
	s.local = a
	if e := p.claim(f); e != 0 {
		s.local = netip.AddrPort{}
		return e
	}
	s.bound = true
	return 0
}

// score says how well s fits a packet from src to dst: 0 not at all (compute_score of net/ipv4 and net/ipv6).
func (s *inetSocket) score(src, dst netip.AddrPort) int {
	v4, v6 := s.families()
	if dst.Addr().Is4() && !v4 || dst.Addr().Is6() && !v6 {
		return 0
	}
	score := 1
	if s.family == linux.AF_INET {
		score++
	}
	if a := s.local.Addr(); a.IsValid() && !a.IsUnspecified() {
		if a != dst.Addr() {
			return 0
		}
		score += 4
	}
	if s.remote.IsValid() {
		if s.remote != src {
			return 0
		}
		score += 8
	}
	return score
}

// find returns who gets a packet from src to dst. Among sockets that share a port with SO_REUSEPORT the sender's port decides.
func (p *portTable) find(src, dst netip.AddrPort, fits func(inetFile) bool) inetFile {
	var best []inetFile
	top := 0
	for _, f := range p.sockets[dst.Port()] {
		if !fits(f) {
			continue
		}
		switch n := f.inet().score(src, dst); {
		case n > top:
			top, best = n, []inetFile{f}
		case n == top && n > 0:
			best = append(best, f)
		}
	}
	switch {
	case len(best) == 0:
		return nil
	case best[0].sock().opts.reusePort:
		return best[int(src.Port())%len(best)]
	}
	return best[len(best)-1] // the last one bound
}

// routeTo returns where a packet to a goes, or why it cannot.
func (k *Kernel) routeTo(a netip.AddrPort) (netip.AddrPort, linux.Errno) {
	dst := destination(a.Addr())
	if !k.isLocal(dst) && !k.isOutside(dst) {
		return a, linux.ENETUNREACH
	}
	return netip.AddrPortFrom(dst, a.Port()), 0
}

// join sets where s sends to, and from where.
func (s *inetSocket) join(remote netip.AddrPort) {
	s.remote = remote
	if a := s.local.Addr(); !a.IsValid() || a.IsUnspecified() {
		s.local = netip.AddrPortFrom(source(remote.Addr()), s.local.Port())
		s.chosen = true
	}
}

// option is the value of an option of TCP and UDP sockets.
func (s *inetSocket) option(_ *Thread, level, name int) ([]byte, bool) {
	var b pack
	switch (optionKey{level, name}) {
	case optionKey{linux.SOL_SOCKET, linux.SO_ACCEPTCONN}:
		b.u32(boolean(s.listening))
	case optionKey{linux.SOL_IPV6, linux.IPV6_V6ONLY}:
		if s.family != linux.AF_INET6 {
			return nil, false
		}
		b.u32(boolean(s.v6only))
	case optionKey{linux.SOL_IP, linux.IP_MTU}, optionKey{linux.SOL_IPV6, linux.IPV6_MTU}:
		if !s.remote.IsValid() {
			return nil, false
		}
		b.u32(loopback.mtu)
	default:
		return nil, false
	}
	return b, true
}

func (s *inetSocket) setOption(_ *Thread, level, name int, v uint32) (linux.Errno, bool) {
	switch (optionKey{level, name}) {
	case optionKey{linux.SOL_IPV6, linux.IPV6_V6ONLY}:
		if s.family != linux.AF_INET6 {
			return 0, false
		}
		if s.local.IsValid() {
			return linux.EINVAL, true
		}
		s.v6only = v != 0
		return 0, true
	case optionKey{linux.SOL_IP, linux.IP_ADD_MEMBERSHIP}, optionKey{linux.SOL_IP, linux.IP_DROP_MEMBERSHIP}, optionKey{linux.SOL_IPV6, linux.IPV6_JOIN_GROUP}, optionKey{linux.SOL_IPV6, linux.IPV6_LEAVE_GROUP}:
		return linux.ENODEV, true // no interface has groups
	}
	return 0, false
}
