package net

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An ipHeader has those fields of a packet's header that programs set and see (ip(7), ipv6(7)).
type ipHeader struct {
	hops, class uint8
}

// defaultHops is the hop limit of a packet if nothing else was asked for.
const defaultHops = 64

// A headerField is a field of a header that a call has asked for, plus 1; 0 if it has not asked.
type headerField int

// valueOr is what was asked for or, if nothing was, the socket's option.
func (f headerField) valueOr(option uint32) int {
	if f == 0 {
		return int(int32(option))
	}
	return int(f - 1)
}

// header is that of a packet that s sends, with the fields that the call has asked for.
func (s *udpSocket) header(hops, class headerField) ipHeader {
	hopsKey, classKey := optionKey{linux.SOL_IP, linux.IP_TTL}, optionKey{linux.SOL_IP, linux.IP_TOS}
	if s.Family == linux.AF_INET6 {
		hopsKey, classKey = optionKey{linux.SOL_IPV6, linux.IPV6_UNICAST_HOPS}, optionKey{linux.SOL_IPV6, linux.IPV6_TCLASS}
	}
	h := ipHeader{defaultHops, uint8(max(class.valueOr(s.Opts.values[classKey]), 0))}
	if n := hops.valueOr(s.Opts.values[hopsKey]); n > 0 {
		h.hops = uint8(n)
	}
	return h
}

// sendHeaderControl reads a control message about the header (net/ipv4/ip_sockglue.c, ip_cmsg_send;
// net/ipv6/datagram.c, ip6_datagram_send_ctl).
func (m *OutMessage) sendHeaderControl(c controlMessage) linux.Errno {
	value := -1
	switch len(c.data) {
	case 1:
		value = int(c.data[0])
	case 4:
		value = int(int32(linux.Uint32(c.data)))
	}
	field := headerField(value + 1)
	switch key := (optionKey{int(c.level), int(c.typ)}); {
	case key == optionKey{linux.SOL_IP, linux.IP_PKTINFO}, key == optionKey{linux.SOL_IPV6, linux.IPV6_PKTINFO}:
		return 0
	case key == optionKey{linux.SOL_IP, linux.IP_TOS} && value >= 0 && value <= 255:
		m.class = field
		return 0
	case len(c.data) != 4:
	case key == optionKey{linux.SOL_IPV6, linux.IPV6_TCLASS} && value >= -1 && value <= 255:
		m.class = field
		return 0
	case key == optionKey{linux.SOL_IP, linux.IP_TTL} && value > 0 && value <= 255,
		key == optionKey{linux.SOL_IPV6, linux.IPV6_HOPLIMIT} && value >= -1 && value <= 255:
		m.hops = field
		return 0
	}
	return linux.EINVAL
}

// level is the level of the options of s's network protocol.
func (s *udpSocket) level() int {
	if s.Family == linux.AF_INET6 {
		return linux.SOL_IPV6
	}
	return linux.SOL_IP
}

// packetInfo are the control messages that tell a receiver where a datagram was sent to, and fields of its header.
func (s *udpSocket) packetInfo(p *packet) (msgs []controlMessage) {
	level := s.level()
	add := func(option, typ int, data func(*linux.Pack)) {
		if s.Opts.values[optionKey{level, option}] != 0 {
			var b linux.Pack
			data(&b)
			msgs = append(msgs, controlMessage{uint32(level), uint32(typ), b})
		}
	}
	hops := func(b *linux.Pack) { b.U32(uint32(p.header.hops)) }
	if s.Family == linux.AF_INET {
		add(linux.IP_PKTINFO, linux.IP_PKTINFO, func(b *linux.Pack) {
			b.U32(Loopback.Index)
			*b = append(*b, p.to[4:8]...) // the local address
			*b = append(*b, p.to[4:8]...)
		})
		add(linux.IP_RECVTTL, linux.IP_TTL, hops)
		add(linux.IP_RECVTOS, linux.IP_TOS, func(b *linux.Pack) { b.U8(p.header.class) })
		return msgs
	}
	add(linux.IPV6_RECVPKTINFO, linux.IPV6_PKTINFO, func(b *linux.Pack) {
		*b = append(*b, p.to[8:24]...)
		b.U32(Loopback.Index)
	})
	add(linux.IPV6_RECVHOPLIMIT, linux.IPV6_HOPLIMIT, hops)
	add(linux.IPV6_RECVTCLASS, linux.IPV6_TCLASS, func(b *linux.Pack) { b.U32(uint32(p.header.class)) })
	return msgs
}
