package net

import (
	"net/netip"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// Ports that connect(2) and bind(2) choose (net.ipv4.ip_local_port_range), and the first that everyone may use.
const (
	FirstPort      = 32768
	LastPort       = 60999
	PrivilegedPort = 1024
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
	// Local is its address, the zero AddrPort for none. ported says that its port is its own, bound
	// that bind(2) has made it so.
	Local, Remote  netip.AddrPort
	hasPort, bound bool
	// autoAddr says that the address was chosen by connect(2).
	autoAddr  bool
	v6only    bool
	listening bool
	// host is for what lies beyond the guest's own network.
	host hostConn
}

// An inetFile is a TCPSocket or a UDPSocket.
type inetFile interface {
	Socket
	Inet() *inetSocket
}

func (s *inetSocket) Inet() *inetSocket { return s }

// A PortTable has the sockets of a protocol that have a port, by port, in order of getting it.
type PortTable struct {
	Sockets map[uint16][]inetFile
	Next    uint16
}

// A Stack is the network that the guest sees.
type Stack struct {
	network Network
	Unix    unixNames
	Inet    inetStack
}

func NewStack(n Network) *Stack {
	s := &Stack{network: n}
	s.Unix.init()
	s.Inet.init()
	return s
}

// StackOf returns the network of k.
func StackOf(k *task.Kernel) *Stack { return k.Net.(*Stack) }

// An inetStack is the guest's network: a loopback interface.
type inetStack struct{ TCP, UDP PortTable }

func (n *inetStack) init() {
	n.TCP = PortTable{Sockets: map[uint16][]inetFile{}, Next: FirstPort}
	n.UDP = PortTable{Sockets: map[uint16][]inetFile{}, Next: FirstPort}
}

func newInetSocket(t *task.Thread, family, typ, proto, flags int) (Socket, linux.Errno) {
	const protoMax = 263 // IPPROTO_MAX
	switch {
	case proto < 0 || proto >= protoMax:
		return nil, linux.EINVAL
	case typ == linux.SOCK_STREAM && (proto == 0 || proto == linux.IPPROTO_TCP):
		s := newTCP(family)
		s.init(t.Kernel, family, typ, linux.IPPROTO_TCP, flags)
		return s, 0
	case typ == linux.SOCK_DGRAM && (proto == 0 || proto == linux.IPPROTO_UDP):
		s := &UDPSocket{}
		s.host.fd = host.NoFD
		s.Opts.init(SockBuf, SockBuf)
		s.init(t.Kernel, family, typ, linux.IPPROTO_UDP, flags)
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

// Any is the address of a socket that has none.
func (s *inetSocket) Any() netip.Addr {
	if s.Family == linux.AF_INET {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// encode is a as a struct sockaddr_in or sockaddr_in6, as s' family is.
func (s *inetSocket) encode(a netip.AddrPort) []byte {
	var b linux.Pack
	b.U16(uint16(s.Family))
	b = append(b, byte(a.Port()>>8), byte(a.Port()))
	addr := a.Addr()
	if !addr.IsValid() {
		addr = s.Any()
	}
	if s.Family == linux.AF_INET {
		ip := addr.As4()
		b = append(b, ip[:]...)
		b.Zero(8)
		return b
	}
	ip := addr.As16()
	b.U32(0)
	b = append(b, ip[:]...)
	b.U32(0)
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
	case s.Family == linux.AF_INET && len(b) < sinSize, s.Family == linux.AF_INET6 && fam != linux.AF_INET && len(b) < sin6SizeOld, len(b) < sinSize:
		return netip.AddrPort{}, linux.EINVAL
	case s.Family == linux.AF_INET && fam == linux.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), 0
	case s.Family == linux.AF_INET6 && fam == linux.AF_INET6:
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
	return ethernet.IP4().Addr()
}

func (s *inetSocket) LocalName() []byte { return s.encode(s.Local) }

func (s *inetSocket) PeerName() ([]byte, linux.Errno) {
	if !s.Remote.IsValid() {
		return nil, linux.ENOTCONN
	}
	return s.encode(s.Remote), 0
}

// families reports which protocols s receives from.
func (s *inetSocket) families() (v4, v6 bool) {
	a := s.Local.Addr()
	if !a.IsValid() {
		a = s.Any()
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
	a, b := s.Local.Addr(), o.Local.Addr()
	return !a.IsValid() || !b.IsValid() || a.IsUnspecified() || b.IsUnspecified() || a == b
}

// conflicts reports whether s may not have its port because o has it (inet_csk_bind_conflict).
func (s *inetSocket) conflicts(o *inetSocket) bool {
	if !s.overlaps(o) {
		return false
	}
	if s.Opts.reuseAddr && o.Opts.reuseAddr && (s.Type == linux.SOCK_DGRAM || !o.listening && !s.listening) {
		return false
	}
	return !s.Opts.reusePort || !o.Opts.reusePort
}

// claim gives f the port of its local address, or a free one if that is 0.
func (p *PortTable) claim(f inetFile) linux.Errno {
	s := f.Inet()
	if !s.Local.IsValid() {
		s.Local = netip.AddrPortFrom(s.Any(), 0)
	}
	if port := s.Local.Port(); port != 0 {
		for _, o := range p.Sockets[port] {
			if s.conflicts(o.Inet()) {
				return linux.EADDRINUSE
			}
		}
		p.add(f)
		return 0
	}
	for range LastPort - FirstPort + 1 {
		port := p.Next
		if p.Next++; p.Next > LastPort {
			p.Next = FirstPort
		}
		if len(p.Sockets[port]) == 0 {
			s.Local = netip.AddrPortFrom(s.Local.Addr(), port)
			p.add(f)
			return 0
		}
	}
	return linux.EADDRINUSE
}

// add makes the port of f's local address its own.
func (p *PortTable) add(f inetFile) {
	s := f.Inet()
	s.hasPort = true
	p.Sockets[s.Local.Port()] = append(p.Sockets[s.Local.Port()], f)
}

// release takes f's port away, if it has one.
func (p *PortTable) release(f inetFile) {
	if !f.Inet().hasPort {
		return
	}
	f.Inet().hasPort = false
	port := f.Inet().Local.Port()
	rest := slices.DeleteFunc(p.Sockets[port], func(o inetFile) bool { return o == f })
	if p.Sockets[port] = rest; len(rest) == 0 {
		delete(p.Sockets, port)
	}
}

// bindTo implements bind(2) for f.
func (p *PortTable) bindTo(t *task.Thread, f inetFile, name []byte) linux.Errno {
	s := f.Inet()
	if s.Family == linux.AF_INET && len(name) < sinSize || s.Family == linux.AF_INET6 && len(name) < sin6SizeOld {
		return linux.EINVAL
	}
	a, e := s.decode(name)
	if e != 0 {
		// bind(2) takes AF_UNSPEC for AF_INET if the address is 0 (net/ipv4/af_inet.c, __inet_bind).
		if s.Family != linux.AF_INET || familyOf(name) != linux.AF_UNSPEC || linux.Uint32(name[4:]) != 0 {
			if e == linux.ENETUNREACH {
				e = linux.EINVAL
			}
			return e
		}
		a = netip.AddrPortFrom(s.Any(), uint16(name[2])<<8|uint16(name[3]))
	}
	switch addr := a.Addr(); {
	case !addr.IsUnspecified() && !isLocal(t.Kernel, addr):
		return linux.EADDRNOTAVAIL
	case a.Port() != 0 && a.Port() < PrivilegedPort:
		return linux.EACCES
	case s.hasPort:
		return linux.EINVAL
	}
	s.Local = a
	if e := p.claim(f); e != 0 {
		s.Local = netip.AddrPort{}
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
	if s.Family == linux.AF_INET {
		score++
	}
	if a := s.Local.Addr(); a.IsValid() && !a.IsUnspecified() {
		if a != dst.Addr() {
			return 0
		}
		score += 4
	}
	if s.Remote.IsValid() {
		if s.Remote != src {
			return 0
		}
		score += 8
	}
	return score
}

// find returns who gets a packet from src to dst. Among sockets that share a port with SO_REUSEPORT the sender's port decides.
func (p *PortTable) find(src, dst netip.AddrPort, fits func(inetFile) bool) inetFile {
	var best []inetFile
	top := 0
	for _, f := range p.Sockets[dst.Port()] {
		if !fits(f) {
			continue
		}
		switch n := f.Inet().score(src, dst); {
		case n > top:
			top, best = n, []inetFile{f}
		case n == top && n > 0:
			best = append(best, f)
		}
	}
	switch {
	case len(best) == 0:
		return nil
	case best[0].Sock().Opts.reusePort:
		return best[int(src.Port())%len(best)]
	}
	return best[len(best)-1] // the last one bound
}

// routeTo returns where a packet to a goes, or why it cannot.
func routeTo(k *task.Kernel, a netip.AddrPort) (netip.AddrPort, linux.Errno) {
	dst := destination(a.Addr())
	if !isLocal(k, dst) && !isExternal(k, dst) {
		return a, linux.ENETUNREACH
	}
	return netip.AddrPortFrom(dst, a.Port()), 0
}

// setRemote sets where s sends to, and from where.
func (s *inetSocket) setRemote(remote netip.AddrPort) {
	s.Remote = remote
	if a := s.Local.Addr(); !a.IsValid() || a.IsUnspecified() {
		s.Local = netip.AddrPortFrom(source(remote.Addr()), s.Local.Port())
		s.autoAddr = true
	}
}

// option is the value of an option of TCP and UDP sockets.
func (s *inetSocket) option(_ *task.Thread, level, name int) ([]byte, bool) {
	var b linux.Pack
	switch (optionKey{level, name}) {
	case optionKey{linux.SOL_SOCKET, linux.SO_ACCEPTCONN}:
		b.U32(Boolean(s.listening))
	case optionKey{linux.SOL_IPV6, linux.IPV6_V6ONLY}:
		if s.Family != linux.AF_INET6 {
			return nil, false
		}
		b.U32(Boolean(s.v6only))
	case optionKey{linux.SOL_IP, linux.IP_MTU}, optionKey{linux.SOL_IPV6, linux.IPV6_MTU}:
		if !s.Remote.IsValid() {
			return nil, false
		}
		b.U32(Loopback.mtu)
	default:
		return nil, false
	}
	return b, true
}

func (s *inetSocket) setOption(_ *task.Thread, level, name int, v uint32) (linux.Errno, bool) {
	switch (optionKey{level, name}) {
	case optionKey{linux.SOL_IPV6, linux.IPV6_V6ONLY}:
		if s.Family != linux.AF_INET6 {
			return 0, false
		}
		if s.Local.IsValid() {
			return linux.EINVAL, true
		}
		s.v6only = v != 0
		return 0, true
	case optionKey{linux.SOL_IP, linux.IP_ADD_MEMBERSHIP}, optionKey{linux.SOL_IP, linux.IP_DROP_MEMBERSHIP}, optionKey{linux.SOL_IPV6, linux.IPV6_JOIN_GROUP}, optionKey{linux.SOL_IPV6, linux.IPV6_LEAVE_GROUP}:
		return linux.ENODEV, true // no interface has groups
	}
	return 0, false
}
