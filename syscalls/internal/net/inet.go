package net

import (
	"net/netip"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// Ports of TCP and UDP.
const (
	// FirstPort and LastPort bound the ports that connect(2) and bind(2) choose (net.ipv4.ip_local_port_range).
	FirstPort = 32768
	LastPort  = 60999
	// PrivilegedPort is the first port that everyone may bind.
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

// An inetSocket is what sockets of TCP and UDP have in common. An IPv4 address is kept as one, not as mapped into IPv6,
// for a socket of AF_INET6, too.
type inetSocket struct {
	sockBase
	// Local is the socket's address, Remote its peer's; the zero AddrPort for none.
	Local, Remote netip.AddrPort
	// hasPort says that the socket is in its protocol's PortTable, under Local's port; bound says that bind(2) gave it
	// that port, so that it keeps it when it is disconnected.
	hasPort, bound bool
	// autoAddr says that connect(2) chose Local's address. It is forgotten when the socket is disconnected.
	autoAddr  bool
	v6only    bool
	listening bool
	// host is the host's socket that it talks through, if its peer is on another machine.
	host hostConn
}

// An inetFile is a TCPSocket or a UDPSocket.
type inetFile interface {
	Socket
	Inet() *inetSocket
}

// Inet implements inetFile.
func (s *inetSocket) Inet() *inetSocket { return s }

// A PortTable has the sockets of one protocol by their local ports; those of one port are in the order in which they
// got it.
type PortTable struct {
	Sockets map[uint16][]inetFile
	// Next is the port to be chosen next for a socket that asks for any.
	Next uint16
}

// A Stack is the network of a kernel.
type Stack struct {
	network Network
	// Unix finds sockets of AF_UNIX by name, Inet those of TCP and UDP by port.
	Unix    unixNames
	Inet    inetStack
	netlink netlinkAddresses
}

// NewStack returns a network in which there are no sockets yet.
func NewStack(n Network) *Stack {
	s := &Stack{network: n}
	s.Unix.init()
	s.Inet.init()
	s.netlink.init()
	return s
}

// StackOf returns the network of k.
func StackOf(k *task.Kernel) *Stack { return k.Net.(*Stack) }

// An inetStack has the sockets of TCP and UDP that have ports.
type inetStack struct{ TCP, UDP PortTable }

func (n *inetStack) init() {
	n.TCP = PortTable{Sockets: map[uint16][]inetFile{}, Next: FirstPort}
	n.UDP = PortTable{Sockets: map[uint16][]inetFile{}, Next: FirstPort}
}

// newInetSocket makes a socket of TCP or UDP.
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
		s := &udpSocket{}
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

// Any is the unspecified address of s's family: that of a socket that has none.
func (s *inetSocket) Any() netip.Addr {
	if s.Family == linux.AF_INET {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// encode is a as a struct sockaddr_in or sockaddr_in6, depending on s's family.
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

// decode reads a name of s's family. An IPv4 address mapped into IPv6 comes back as an IPv4 address.
func (s *inetSocket) decode(b []byte) (netip.AddrPort, linux.Errno) {
	if len(b) < 4 {
		return netip.AddrPort{}, linux.EINVAL
	}
	port := uint16(b[2])<<8 | uint16(b[3])
	fam := familyOf(b)
	switch {
	case s.Family == linux.AF_INET && len(b) < sinSize,
		s.Family == linux.AF_INET6 && fam != linux.AF_INET && len(b) < sin6SizeOld, len(b) < sinSize:
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

// destination is the address that a packet to a goes to. An unspecified address stands for this machine.
func destination(a netip.Addr) netip.Addr {
	switch {
	case !a.IsUnspecified():
		return a
	case a.Is4():
		return loopback4
	}
	return loopback6
}

// source is the address of this machine from which packets to dst come.
func source(dst netip.Addr) netip.Addr {
	switch {
	case dst.Is6():
		return loopback6
	case dst.IsLoopback():
		return loopback4
	}
	return ethernet.IP4().Addr()
}

// LocalName implements Socket.
func (s *inetSocket) LocalName() []byte { return s.encode(s.Local) }

// PeerName implements Socket.
func (s *inetSocket) PeerName() ([]byte, linux.Errno) {
	if !s.Remote.IsValid() {
		return nil, linux.ENOTCONN
	}
	return s.encode(s.Remote), 0
}

// families reports from which versions of IP s can receive.
func (s *inetSocket) families() (v4, v6 bool) {
	a := s.Local.Addr()
	if !a.IsValid() {
		a = s.Any()
	}
	return a.Is4() || a.IsUnspecified() && !s.v6only, a.Is6()
}

// overlaps reports whether one packet could be for either of s and o, if they had the same port.
func (s *inetSocket) overlaps(o *inetSocket) bool {
	a4, a6 := s.families()
	b4, b6 := o.families()
	if !(a4 && b4) && !(a6 && b6) {
		return false
	}
	a, b := s.Local.Addr(), o.Local.Addr()
	return !a.IsValid() || !b.IsValid() || a.IsUnspecified() || b.IsUnspecified() || a == b
}

// conflicts reports whether s may not have its port since o has it (inet_csk_bind_conflict).
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

// score says how well s fits a packet from src to dst, 0 for not at all (compute_score in net/ipv4 and net/ipv6).
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

// find returns the socket, among those that fits accepts, that gets a packet from src to dst; nil if there is none.
// Among sockets that share a port by SO_REUSEPORT, the sender's port decides.
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

// routeTo returns where a packet to a goes, or why it goes nowhere.
func routeTo(k *task.Kernel, a netip.AddrPort) (netip.AddrPort, linux.Errno) {
	dst := destination(a.Addr())
	if !isLocal(k, dst) && !isExternal(k, dst) {
		return a, linux.ENETUNREACH
	}
	return netip.AddrPortFrom(dst, a.Port()), 0
}

// setRemote connects s to remote, and gives it a local address if it has none.
func (s *inetSocket) setRemote(remote netip.AddrPort) {
	s.Remote = remote
	if a := s.Local.Addr(); !a.IsValid() || a.IsUnspecified() {
		s.Local = netip.AddrPortFrom(source(remote.Addr()), s.Local.Port())
		s.autoAddr = true
	}
}

// option implements Socket.
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

// setOption implements Socket.
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
	case optionKey{linux.SOL_IP, linux.IP_ADD_MEMBERSHIP}, optionKey{linux.SOL_IP, linux.IP_DROP_MEMBERSHIP},
		optionKey{linux.SOL_IPV6, linux.IPV6_JOIN_GROUP}, optionKey{linux.SOL_IPV6, linux.IPV6_LEAVE_GROUP}:
		return linux.ENODEV, true // no interface does multicast
	}
	return 0, false
}
