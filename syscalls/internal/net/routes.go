package net

import (
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// rtmSize is the size of struct rtmsg.
const rtmSize = 12

// A route says where packets to dst go: over dev, from source, and by router, if that is valid.
type route struct {
	dst                netip.Prefix
	dev                *Interface
	source, router     netip.Addr
	table, kind, scope uint8
	proto              uint8
	flags              uint32
}

// encode is r as a struct rtmsg with attributes.
func (r route) encode() []byte {
	var b linux.Pack
	b.U8(uint8(familyOfAddr(r.dst.Addr())))
	b.U8(uint8(r.dst.Bits()))
	b.U16(0)
	b.U8(r.table)
	b.U8(r.proto)
	b.U8(r.scope)
	b.U8(r.kind)
	b.U32(r.flags)
	number := func(typ uint16, x uint32) {
		var v linux.Pack
		v.U32(x)
		attr(&b, typ, v)
	}
	number(linux.RTA_TABLE, uint32(r.table))
	if r.dst.Bits() > 0 {
		attr(&b, linux.RTA_DST, r.dst.Addr().AsSlice())
	}
	if r.source.IsValid() {
		attr(&b, linux.RTA_PREFSRC, r.source.AsSlice())
	}
	if r.router.IsValid() {
		attr(&b, linux.RTA_GATEWAY, r.router.AsSlice())
	}
	if r.dst.Addr().Is6() {
		number(linux.RTA_PRIORITY, 0)
	}
	number(linux.RTA_OIF, r.dev.Index)
	return b
}

// hostPrefix is the prefix that only a has.
func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// routes are those that the kernel makes for the addresses of i, and a default route if i has a router.
func (i *Interface) routes() []route {
	var out []route
	for _, p := range i.Addrs {
		own, near := p.Addr(), p.Masked()
		local := route{
			dst: hostPrefix(own), dev: i, source: own, table: linux.RT_TABLE_LOCAL, kind: linux.RTN_LOCAL, scope: linux.RT_SCOPE_HOST,
			proto: linux.RTPROT_KERNEL,
		}
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
				dst: netip.PrefixFrom(netip.IPv4Unspecified(), 0), dev: i, router: near.Addr().Next(),
				table: linux.RT_TABLE_MAIN, kind: linux.RTN_UNICAST, proto: linux.RTPROT_BOOT,
			}
			all.dst, all.table, all.kind, all.scope = near, linux.RT_TABLE_MAIN, linux.RTN_UNICAST, linux.RT_SCOPE_LINK
			out = append(out, router)
		}
		mask, last := Netmask(p), own.As4()
		for k := range last {
			last[k] |= ^mask[k]
		}
		broadcast := local
		broadcast.dst, broadcast.kind, broadcast.scope = hostPrefix(netip.AddrFrom4(last)), linux.RTN_BROADCAST, linux.RT_SCOPE_LINK
		out = append(out, all, local, broadcast)
	}
	return out
}

// routeFor finds the route to an address: that with the longest prefix.
func routeFor(k *task.Kernel, to netip.Addr) (best route, ok bool) {
	for _, i := range Interfaces(k) {
		for _, r := range i.routes() {
			if r.dst.Contains(to) && (!ok || r.dst.Bits() > best.dst.Bits()) {
				best, ok = r, true
			}
		}
	}
	return best, ok
}

// replyRoute answers RTM_GETROUTE for one address with the route to it.
func (s *netlinkSocket) replyRoute(k *task.Kernel, req []byte) {
	const cloned, local = 0x200, 0x80000000
	var to netip.Addr
	if len(req) > nlmHeader+rtmSize {
		to, _ = netip.AddrFromSlice(attrData(req[nlmHeader+rtmSize:], linux.RTA_DST))
	}
	r, ok := routeFor(k, to)
	if !ok {
		s.replyError(req, linux.ENETUNREACH)
		return
	}
	r.dst = hostPrefix(to)
	r.source = source(to)
	if to.Is4() {
		r.proto, r.scope, r.table, r.flags = 0, linux.RT_SCOPE_UNIVERSE, linux.RT_TABLE_MAIN, cloned
		if r.kind == linux.RTN_LOCAL {
			r.flags |= local
		}
	}
	var out linux.Pack
	s.message(&out, linux.RTM_NEWROUTE, 0, linux.Uint32(req[8:]), r.encode())
	s.put(out)
}
