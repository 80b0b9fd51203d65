package syscalls

import (
	"bytes"
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const (
	nlmHeader      = 16  // struct nlmsghdr
	sockaddrNlSize = 12  // struct sockaddr_nl
	rtmLast        = 123 // the last request of rtnetlink(7)
)

// A netlinkSocket is one of AF_NETLINK, NETLINK_ROUTE: it tells of interfaces, their addresses and routes.
type netlinkSocket struct {
	sockBase
	pid uint32
}

func (t *Thread) newNetlinkSocket(typ, proto, flags int) (socket, linux.Errno) {
	if typ != linux.SOCK_RAW && typ != linux.SOCK_DGRAM {
		return nil, linux.ESOCKTNOSUPPORT
	}
	if proto != linux.NETLINK_ROUTE {
		return nil, linux.EPROTONOSUPPORT
	}
	s := &netlinkSocket{}
	s.opts.init(sockBuf, sockBuf)
	s.init(t.k, linux.AF_NETLINK, typ, proto, flags)
	return s, 0
}

// netlinkName encodes a struct sockaddr_nl.
func netlinkName(pid uint32) []byte {
	var b pack
	b.u16(linux.AF_NETLINK)
	b.u16(0)
	b.u32(pid)
	b.u32(0)
	return b
}

func (s *netlinkSocket) localName() []byte               { return netlinkName(s.pid) }
func (s *netlinkSocket) peerName() ([]byte, linux.Errno) { return netlinkName(0), 0 }

func (s *netlinkSocket) bind(t *Thread, name []byte) linux.Errno {
	if len(name) < sockaddrNlSize || familyOf(name) != linux.AF_NETLINK {
		return linux.EINVAL
	}
	if pid := le32(name[4:]); pid != 0 {
		s.pid = pid
	} else {
		s.autobind(t)
	}
	return 0
}

// autobind gives s an id: its process' own, as far as anybody looks.
func (s *netlinkSocket) autobind(t *Thread) {
	if s.pid == 0 {
		s.pid = uint32(t.p.pid)
	}
}

func (s *netlinkSocket) connect(t *Thread, name []byte) linux.Errno {
	if len(name) < sockaddrNlSize || familyOf(name) != linux.AF_NETLINK {
		return linux.EINVAL
	}
	s.autobind(t)
	return 0
}

func (s *netlinkSocket) close(k *Kernel) { s.queue.purge(k) }

func (s *netlinkSocket) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &inMessage{v: v})
}

func (s *netlinkSocket) write(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &outMessage{v: v})
}

func (s *netlinkSocket) send(t *Thread, m *outMessage) (uint64, linux.Errno) {
	b, e := t.gather(m.v, 64<<10)
	if e != 0 {
		return 0, e
	}
	s.autobind(t)
	for at := b; len(at) >= nlmHeader; {
		n := int(le32(at))
		if n < nlmHeader || n > len(at) {
			break
		}
		if flags := le16(at[6:]); flags&linux.NLM_F_REQUEST != 0 {
			s.answer(t.k, at[:n])
		}
		at = at[min((n+3)&^3, len(at)):]
	}
	return total(m.v), 0
}

// answer puts the answer to a request into the queue.
func (s *netlinkSocket) answer(k *Kernel, req []byte) {
	typ, seq := le16(req[4:]), le32(req[8:])
	if le16(req[6:])&linux.NLM_F_DUMP != 0 {
		s.put(s.dump(k, req))
		var done, zero pack
		zero.u32(0)
		s.message(&done, linux.NLMSG_DONE, linux.NLM_F_MULTI, seq, zero)
		s.put(done)
		return
	}
	const ifinfoSize = 16
	if typ == linux.RTM_GETLINK && len(req) >= nlmHeader+ifinfoSize {
		index, name := le32(req[nlmHeader+4:]), attrText(req[nlmHeader+ifinfoSize:], linux.IFLA_IFNAME)
		for _, i := range k.interfaces() {
			if index == i.index || index == 0 && name == i.name {
				var out pack
				s.message(&out, linux.RTM_NEWLINK, 0, seq, i.link())
				s.put(out)
				return
			}
		}
		s.fault(req, linux.ENODEV)
		return
	}
	switch {
	case typ == linux.RTM_GETROUTE:
		s.answerRoute(k, req)
	case typ <= rtmLast && typ&3 != 2: // what changes something is for the superuser
		s.fault(req, linux.EPERM)
	default:
		s.fault(req, linux.EOPNOTSUPP)
	}
}

// dump lists the interfaces, their addresses, or the routes over them.
func (s *netlinkSocket) dump(k *Kernel, req []byte) []byte {
	var out pack
	want := linux.AF_UNSPEC
	if len(req) > nlmHeader {
		want = int(req[nlmHeader])
	}
	seq := le32(req[8:])
	for _, i := range k.interfaces() {
		switch le16(req[4:]) {
		case linux.RTM_GETLINK:
			s.message(&out, linux.RTM_NEWLINK, linux.NLM_F_MULTI, seq, i.link())
		case linux.RTM_GETADDR:
			for _, p := range i.addrs {
				if want == linux.AF_UNSPEC || want == familyOfAddr(p.Addr()) {
					s.message(&out, linux.RTM_NEWADDR, linux.NLM_F_MULTI, seq, i.address(p))
				}
			}
		case linux.RTM_GETROUTE:
			for _, r := range i.routes() {
				if want == linux.AF_UNSPEC || want == familyOfAddr(r.dst.Addr()) {
					s.message(&out, linux.RTM_NEWROUTE, linux.NLM_F_MULTI, seq, r.encode())
				}
			}
		}
	}
	return out
}

func familyOfAddr(a netip.Addr) int {
	if a.Is4() {
		return linux.AF_INET
	}
	return linux.AF_INET6
}

// fault answers that req failed.
func (s *netlinkSocket) fault(req []byte, e linux.Errno) {
	var body, out pack
	body.u32(uint32(-int32(e)))
	body = append(body, req...)
	s.message(&out, linux.NLMSG_ERROR, 0, le32(req[8:]), body)
	s.put(out)
}

func (s *netlinkSocket) put(b []byte) {
	if len(b) > 0 {
		s.queue.put(&packet{data: b, from: netlinkName(0)})
		s.wake(linux.POLLIN)
	}
}

// message appends a netlink message to b.
func (s *netlinkSocket) message(b *pack, typ, flags uint16, seq uint32, body []byte) {
	b.u32(uint32(nlmHeader + len(body)))
	b.u16(typ)
	b.u16(flags)
	b.u32(seq)
	b.u32(s.pid)
	*b = append(*b, body...)
	b.zero(-len(body) & 3)
}

// attrText is the text of the attribute typ among attrs, "" if it is not there.
func attrText(attrs []byte, typ uint16) string {
	text, _, _ := bytes.Cut(attrData(attrs, typ), []byte{0})
	return string(text)
}

// attrData is what the attribute typ among attrs has, nil if it is not there.
func attrData(attrs []byte, typ uint16) []byte {
	for len(attrs) >= 4 {
		n := int(le16(attrs))
		if n < 4 || n > len(attrs) {
			break
		}
		if le16(attrs[2:]) == typ {
			return attrs[4:n]
		}
		attrs = attrs[min((n+3)&^3, len(attrs)):]
	}
	return nil
}

// attr appends a struct rtattr to b.
func (b *pack) attr(typ uint16, data []byte) {
	b.u16(uint16(4 + len(data)))
	b.u16(typ)
	*b = append(*b, data...)
	b.zero(-len(data) & 3)
}

// link is a struct ifinfomsg with attributes.
func (i *netInterface) link() []byte {
	const lowerUp = 1 << 16
	const iflaAddress, iflaBroadcast, iflaMTU, iflaTxqlen, iflaOperstate = 1, 2, 4, 13, 16
	var b, mtu, qlen pack
	b.u8(linux.AF_UNSPEC)
	b.u8(0)
	b.u16(i.hwType)
	b.u32(i.index)
	b.u32(i.flags | lowerUp)
	b.u32(0)
	b.attr(linux.IFLA_IFNAME, []byte(i.name+"\x00"))
	qlen.u32(txQueueSize)
	b.attr(iflaTxqlen, qlen)
	b.attr(iflaOperstate, []byte{0})
	mtu.u32(i.mtu)
	b.attr(iflaMTU, mtu)
	b.attr(iflaAddress, make([]byte, 6))
	b.attr(iflaBroadcast, make([]byte, 6))
	return b
}

// address is a struct ifaddrmsg with attributes, for one of i's addresses.
func (i *netInterface) address(p netip.Prefix) []byte {
	const permanent = 0x80
	const ifaAddress, ifaLocal, ifaLabel, ifaBroadcast, ifaFlags = 1, 2, 3, 4, 8
	var b, flags pack
	b.u8(uint8(familyOfAddr(p.Addr())))
	b.u8(uint8(p.Bits()))
	b.u8(permanent)
	if p.Addr().IsLoopback() {
		b.u8(linux.RT_SCOPE_HOST)
	} else {
		b.u8(linux.RT_SCOPE_UNIVERSE)
	}
	b.u32(i.index)
	b.attr(ifaAddress, p.Addr().AsSlice())
	if p.Addr().Is4() {
		b.attr(ifaLocal, p.Addr().AsSlice())
		if a := i.broadcast4(); a != [4]byte{} {
			b.attr(ifaBroadcast, a[:])
		}
		b.attr(ifaLabel, []byte(i.name+"\x00"))
	}
	flags.u32(permanent)
	b.attr(ifaFlags, flags)
	return b
}

func (s *netlinkSocket) receive(t *Thread, m *inMessage) (uint64, linux.Errno) {
	if s.queue.empty() {
		return 0, linux.EAGAIN
	}
	return s.queue.receivePacket(t, m)
}

func (s *netlinkSocket) poll(*Thread) uint32 {
	ev := s.shutEvents() | linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND
	if !s.queue.empty() {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	return ev
}
