package syscalls

// An ipHeader is what of a packet's header programs set and see (ip(7), ipv6(7)).
type ipHeader struct {
	hops, class uint8
}

// Options and control messages about it (include/uapi/linux/in.h, in6.h).
const (
	ipTOS            = 1
	ipTTL            = 2
	ipPktinfo        = 8
	ipRecvTTL        = 12
	ipRecvTOS        = 13
	ipv6UnicastHops  = 16
	ipv6Recvpktinfo  = 49
	ipv6Pktinfo      = 50
	ipv6Recvhoplimit = 51
	ipv6Hoplimit     = 52
	ipv6Recvtclass   = 66
	ipv6Tclass       = 67
)

const defaultHops = 64

// A headerField is 1 more than its value, or 0: as the socket has it.
type headerField int

// or returns the field's value, or that of an option.
func (f headerField) or(option uint32) int {
	if f == 0 {
		return int(int32(option))
	}
	return int(f - 1)
}

// header is that of a packet that s sends, of which a call's control messages may have said something.
func (s *udpSocket) header(hops, class headerField) ipHeader {
	hopsKey, classKey := optionKey{solIP, ipTTL}, optionKey{solIP, ipTOS}
	if s.family == afInet6 {
		hopsKey, classKey = optionKey{solIPv6, ipv6UnicastHops}, optionKey{solIPv6, ipv6Tclass}
	}
	h := ipHeader{defaultHops, uint8(max(class.or(s.opts.values[classKey]), 0))}
	if n := hops.or(s.opts.values[hopsKey]); n > 0 {
		h.hops = uint8(n)
	}
	return h
}

// sendHeaderControl takes a control message about the header (net/ipv4/ip_sockglue.c, ip_cmsg_send; net/ipv6/datagram.c,
// ip6_datagram_send_ctl).
func (m *outMessage) sendHeaderControl(c controlMessage) Errno {
	value := -1
	switch len(c.data) {
	case 1:
		value = int(c.data[0])
	case 4:
		value = int(int32(le32(c.data)))
	}
	field := headerField(value + 1)
	switch key := (optionKey{int(c.level), int(c.typ)}); {
	case key == optionKey{solIP, ipPktinfo}, key == optionKey{solIPv6, ipv6Pktinfo}:
		return 0
	case key == optionKey{solIP, ipTOS} && value >= 0 && value <= 255:
		m.class = field
		return 0
	case len(c.data) != 4:
	case key == optionKey{solIPv6, ipv6Tclass} && value >= -1 && value <= 255:
		m.class = field
		return 0
	case key == optionKey{solIP, ipTTL} && value > 0 && value <= 255, key == optionKey{solIPv6, ipv6Hoplimit} && value >= -1 && value <= 255:
		m.hops = field
		return 0
	}
	return EINVAL
}

// level is that of the options of s' network protocol.
func (s *udpSocket) level() int {
	if s.family == afInet6 {
		return solIPv6
	}
	return solIP
}

// packetInfo are the control messages that tell where a datagram was sent to, and of its header.
func (s *udpSocket) packetInfo(p *packet) (msgs []controlMessage) {
	level := s.level()
	add := func(option, typ int, data func(*pack)) {
		if s.opts.values[optionKey{level, option}] != 0 {
			var b pack
			data(&b)
			msgs = append(msgs, controlMessage{uint32(level), uint32(typ), b})
		}
	}
	hops := func(b *pack) { b.u32(uint32(p.header.hops)) }
	if s.family == afInet {
		add(ipPktinfo, ipPktinfo, func(b *pack) {
			b.u32(loopback.index)
			*b = append(*b, p.to[4:8]...) // the local address
			*b = append(*b, p.to[4:8]...)
		})
		add(ipRecvTTL, ipTTL, hops)
		add(ipRecvTOS, ipTOS, func(b *pack) { b.u8(p.header.class) })
		return msgs
	}
	add(ipv6Recvpktinfo, ipv6Pktinfo, func(b *pack) {
		*b = append(*b, p.to[8:24]...)
		b.u32(loopback.index)
	})
	add(ipv6Recvhoplimit, ipv6Hoplimit, hops)
	add(ipv6Recvtclass, ipv6Tclass, func(b *pack) { b.u32(uint32(p.header.class)) })
	return msgs
}
