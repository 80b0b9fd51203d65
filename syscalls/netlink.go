package syscalls

import (
	"bytes"
	"net/netip"
)

// Messages of netlink(7) and rtnetlink(7).
const (
	netlinkRoute = 0

	nlmsgError = 2
	nlmsgDone  = 3
	nlmHeader  = 16

	nlmRequest = 1
	nlmMulti   = 2
	nlmAck     = 4
	nlmDump    = 0x300

	rtmNewlink  = 16
	rtmGetlink  = 18
	rtmNewaddr  = 20
	rtmGetaddr  = 22
	rtmNewroute = 24
	rtmGetroute = 26
	rtmLast     = 123

	sockaddrNlSize = 12

	iflaIfname = 3
)

// A netlinkSocket is one of AF_NETLINK, NETLINK_ROUTE: it tells of interfaces, their addresses and routes.
type netlinkSocket struct {
	sockBase
	pid uint32
}

func (t *Thread) newNetlinkSocket(typ, proto, flags int) (socket, Errno) {
	if typ != sockRaw && typ != sockDgram {
		return nil, ESOCKTNOSUPPORT
	}
	if proto != netlinkRoute {
		return nil, EPROTONOSUPPORT
	}
	s := &netlinkSocket{}
	s.opts.init(sockBuf, sockBuf)
	s.init(t.k, afNetlink, typ, proto, flags)
	return s, 0
}

// netlinkName encodes a struct sockaddr_nl.
func netlinkName(pid uint32) []byte {
	var b pack
	b.u16(afNetlink)
	b.u16(0)
	b.u32(pid)
	b.u32(0)
	return b
}

func (s *netlinkSocket) localName() []byte         { return netlinkName(s.pid) }
func (s *netlinkSocket) peerName() ([]byte, Errno) { return netlinkName(0), 0 }

func (s *netlinkSocket) bind(t *Thread, name []byte) Errno {
	if len(name) < sockaddrNlSize || familyOf(name) != afNetlink {
		return EINVAL
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

func (s *netlinkSocket) connect(t *Thread, name []byte) Errno {
	if len(name) < sockaddrNlSize || familyOf(name) != afNetlink {
		return EINVAL
	}
	s.autobind(t)
	return 0
}

func (s *netlinkSocket) close(k *Kernel) { s.queue.purge(k) }

func (s *netlinkSocket) read(t *Thread, v []iovec, _ int64) (uint64, Errno) {
	return s.receive(t, &inMessage{v: v})
}

func (s *netlinkSocket) write(t *Thread, v []iovec, _ int64) (uint64, Errno) {
	return s.send(t, &outMessage{v: v})
}

func (s *netlinkSocket) send(t *Thread, m *outMessage) (uint64, Errno) {
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
		if flags := le16(at[6:]); flags&nlmRequest != 0 {
			s.answer(t.k, at[:n])
		}
		at = at[min((n+3)&^3, len(at)):]
	}
	return total(m.v), 0
}

// answer puts the answer to a request into the queue.
func (s *netlinkSocket) answer(k *Kernel, req []byte) {
	typ, seq := le16(req[4:]), le32(req[8:])
	if le16(req[6:])&nlmDump != 0 {
		s.put(s.dump(k, req))
		var done, zero pack
		zero.u32(0)
		s.message(&done, nlmsgDone, nlmMulti, seq, zero)
		s.put(done)
		return
	}
	const ifinfoSize = 16
	if typ == rtmGetlink && len(req) >= nlmHeader+ifinfoSize {
		index, name := le32(req[nlmHeader+4:]), attrText(req[nlmHeader+ifinfoSize:], iflaIfname)
		for _, i := range k.interfaces() {
			if index == i.index || index == 0 && name == i.name {
				var out pack
				s.message(&out, rtmNewlink, 0, seq, i.link())
				s.put(out)
				return
			}
		}
		s.fault(req, ENODEV)
		return
	}
	switch {
	case typ == rtmGetroute:
		s.answerRoute(k, req)
	case typ <= rtmLast && typ&3 != 2: // what changes something is for the superuser
		s.fault(req, EPERM)
	default:
		s.fault(req, EOPNOTSUPP)
	}
}

// dump lists the interfaces, their addresses, or the routes over them.
func (s *netlinkSocket) dump(k *Kernel, req []byte) []byte {
	var out pack
	want := afUnspec
	if len(req) > nlmHeader {
		want = int(req[nlmHeader])
	}
	seq := le32(req[8:])
	for _, i := range k.interfaces() {
		switch le16(req[4:]) {
		case rtmGetlink:
			s.message(&out, rtmNewlink, nlmMulti, seq, i.link())
		case rtmGetaddr:
			for _, p := range i.addrs {
				if want == afUnspec || want == familyOfAddr(p.Addr()) {
					s.message(&out, rtmNewaddr, nlmMulti, seq, i.address(p))
				}
			}
		case rtmGetroute:
			for _, r := range i.routes() {
				if want == afUnspec || want == familyOfAddr(r.dst.Addr()) {
					s.message(&out, rtmNewroute, nlmMulti, seq, r.encode())
				}
			}
		}
	}
	return out
}

func familyOfAddr(a netip.Addr) int {
	if a.Is4() {
		return afInet
	}
	return afInet6
}

// fault answers that req failed.
func (s *netlinkSocket) fault(req []byte, e Errno) {
	var body, out pack
	body.u32(uint32(-int32(e)))
	body = append(body, req...)
	s.message(&out, nlmsgError, 0, le32(req[8:]), body)
	s.put(out)
}

func (s *netlinkSocket) put(b []byte) {
	if len(b) > 0 {
		s.queue.put(&packet{data: b, from: netlinkName(0)})
		s.wake(pollIN)
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
	b.u8(afUnspec)
	b.u8(0)
	b.u16(i.hwType)
	b.u32(i.index)
	b.u32(i.flags | lowerUp)
	b.u32(0)
	b.attr(iflaIfname, []byte(i.name+"\x00"))
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
		b.u8(scopeHost)
	} else {
		b.u8(scopeUniverse)
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

func (s *netlinkSocket) receive(t *Thread, m *inMessage) (uint64, Errno) {
	if s.queue.empty() {
		return 0, EAGAIN
	}
	return s.queue.receivePacket(t, m)
}

func (s *netlinkSocket) poll(*Thread) uint32 {
	ev := s.shutEvents() | pollOUT | pollWRN | pollWRB
	if !s.queue.empty() {
		ev |= pollIN | pollRDN
	}
	return ev
}
