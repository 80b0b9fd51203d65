package syscalls

import (
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// rtmSize is the size of struct rtmsg.
const rtmSize = 12

// A route says where datagrams to dst go: over an interface, to an address of its own, or by a router.
type route struct {
	dst                netip.Prefix
	dev                *netInterface
	source, router     netip.Addr
	table, kind, scope uint8
	proto              uint8
	flags              uint32
}

// encode is a struct rtmsg with attributes.
func (r route) encode() []byte {
	var b pack
	b.u8(uint8(familyOfAddr(r.dst.Addr())))
	b.u8(uint8(r.dst.Bits()))
	b.u16(0)
	b.u8(r.table)
	b.u8(r.proto)
	b.u8(r.scope)
	b.u8(r.kind)
	b.u32(r.flags)
	number := func(typ uint16, x uint32) {
		var v pack
		v.u32(x)
		b.attr(typ, v)
	}
	number(linux.RTA_TABLE, uint32(r.table))
	if r.dst.Bits() > 0 {
		b.attr(linux.RTA_DST, r.dst.Addr().AsSlice())
	}
	if r.source.IsValid() {
		b.attr(linux.RTA_PREFSRC, r.source.AsSlice())
	}
	if r.router.IsValid() {
		b.attr(linux.RTA_GATEWAY, r.router.AsSlice())
	}
	if r.dst.Addr().Is6() {
		number(linux.RTA_PRIORITY, 0)
	}
	number(linux.RTA_OIF, r.dev.index)
	return b
}

// host is the prefix of an address alone.
func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// routes are those that the kernel makes for the addresses of i, and the way over a router to all else.
func (i *netInterface) routes() []route {
	var out []route
	for _, p := range i.addrs {
		own, near := p.Addr(), p.Masked()
		local := route{dst: host(own), dev: i, source: own, table: linux.RT_TABLE_LOCAL, kind: linux.RTN_LOCAL, scope: linux.RT_SCOPE_HOST, proto: linux.RTPROT_KERNEL}
		if own.Is6() {
			local.source, local.scope = netip.Addr{}, linux.RT_SCOPE_UNIVERSE
			out = append(out, local)
			continue
		}
		all := local
		if own.IsLoopback() {
			all.dst = near
		} else {
			router := route{
				dst: netip.PrefixFrom(netip.IPv4Unspecified(), 0), dev: i, router: near.Addr().Next(), table: linux.RT_TABLE_MAIN, kind: linux.RTN_UNICAST, proto: linux.RTPROT_BOOT,
			}
			all.dst, all.table, all.kind, all.scope = near, linux.RT_TABLE_MAIN, linux.RTN_UNICAST, linux.RT_SCOPE_LINK
			out = append(out, router)
		}
		mask, last := netmask(p), own.As4()
		for k := range last {
			last[k] |= ^mask[k]
		}
		broadcast := local
		broadcast.dst, broadcast.kind, broadcast.scope = host(netip.AddrFrom4(last)), linux.RTN_BROADCAST, linux.RT_SCOPE_LINK
		out = append(out, all, local, broadcast)
	}
	return out
}

// routeFor finds the way to an address: the longest prefix that has it.
func (k *Kernel) routeFor(to netip.Addr) (best route, ok bool) {
	for _, i := range k.interfaces() {
		for _, r := range i.routes() {
			if r.dst.Contains(to) && (!ok || r.dst.Bits() > best.dst.Bits()) {
				best, ok = r, true
			}
		}
	}
	return best, ok
}

// answerRoute answers RTM_GETROUTE for one address, with a route for it alone.
func (s *netlinkSocket) answerRoute(k *Kernel, req []byte) {
	const cloned, local = 0x200, 0x80000000
	var to netip.Addr
	if len(req) > nlmHeader+rtmSize {
		to, _ = netip.AddrFromSlice(attrData(req[nlmHeader+rtmSize:], linux.RTA_DST))
	}
	r, ok := k.routeFor(to)
	if !ok {
		s.fault(req, linux.ENETUNREACH)
		return
	}
	r.dst = host(to)
	r.source = source(to)
	if to.Is4() {
		r.proto, r.scope, r.table, r.flags = 0, linux.RT_SCOPE_UNIVERSE, linux.RT_TABLE_MAIN, cloned
		if r.kind == linux.RTN_LOCAL {
			r.flags |= local
		}
	}
	var out pack
	s.message(&out, linux.RTM_NEWROUTE, 0, le32(req[8:]), r.encode())
	s.put(out)
}
