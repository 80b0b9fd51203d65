package net

import (
	"bytes"
	"math"
	"net/netip"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

const (
	nlmHeader      = 16  // struct nlmsghdr
	sockaddrNlSize = 12  // struct sockaddr_nl
	rtmLast        = 123 // the last request of rtnetlink(7)
)

// A netlinkSocket is a socket of AF_NETLINK. That of NETLINK_ROUTE answers questions about interfaces, addresses and
// routes, that of NETLINK_KOBJECT_UEVENT waits for news of devices. What it would be told as a member of groups never
// happens.
type netlinkSocket struct {
	sockBase
	// portID is its address (netlink(7), nl_pid), 0 until it is bound.
	portID uint32
	// groups has a bit for each group that it is a member of, the first in bit 0.
	groups uint64
	// filtered says that it has a filter for what it would be told.
	filtered bool
}

func newNetlinkSocket(t *task.Thread, typ, proto, flags int) (Socket, linux.Errno) {
	if typ != linux.SOCK_RAW && typ != linux.SOCK_DGRAM {
		return nil, linux.ESOCKTNOSUPPORT
	}
	if proto != linux.NETLINK_ROUTE && proto != linux.NETLINK_KOBJECT_UEVENT {
		return nil, linux.EPROTONOSUPPORT
	}
	s := &netlinkSocket{}
	s.Opts.init(SockBuf, SockBuf)
	s.init(t.Kernel, linux.AF_NETLINK, typ, proto, flags)
	return s, 0
}

// netlinkName is a struct sockaddr_nl.
func netlinkName(portID, groups uint32) []byte {
	var b linux.Pack
	b.U16(linux.AF_NETLINK)
	b.U16(0)
	b.U32(portID)
	b.U32(groups)
	return b
}

// LocalName implements Socket.
func (s *netlinkSocket) LocalName() []byte { return netlinkName(s.portID, uint32(s.groups)) }

// PeerName implements Socket: it is the kernel.
func (s *netlinkSocket) PeerName() ([]byte, linux.Errno) { return netlinkName(0, 0), 0 }

// Bind implements Socket.
func (s *netlinkSocket) Bind(t *task.Thread, name []byte) linux.Errno {
	if len(name) < sockaddrNlSize || familyOf(name) != linux.AF_NETLINK {
		return linux.EINVAL
	}
	switch id := linux.Uint32(name[4:]); {
	case s.portID != 0 && id != s.portID:
		return linux.EINVAL
	case s.portID != 0:
	case id == 0:
		s.autobind(t)
	case !StackOf(t.Kernel).netlink.take(s, id):
		return linux.EADDRINUSE
	}
	s.groups = s.groups&^math.MaxUint32 | uint64(linux.Uint32(name[8:]))
	return 0
}

// option implements Socket.
func (s *netlinkSocket) option(_ *task.Thread, level, name int) ([]byte, bool) {
	if level != linux.SOL_NETLINK || name != linux.NETLINK_LIST_MEMBERSHIPS {
		return nil, false
	}
	var b linux.Pack
	b.U64(s.groups)
	return b[:(s.lastGroup()+31)/32*4], true
}

// setOption implements Socket.
func (s *netlinkSocket) setOption(_ *task.Thread, level, name int, value uint32) (linux.Errno, bool) {
	switch {
	case level == linux.SOL_SOCKET && s.proto == linux.NETLINK_KOBJECT_UEVENT && name == linux.SO_DETACH_FILTER:
		if !s.filtered {
			return linux.ENOENT, true
		}
		s.filtered = false
		return 0, true
	case level != linux.SOL_NETLINK || name != linux.NETLINK_ADD_MEMBERSHIP && name != linux.NETLINK_DROP_MEMBERSHIP:
		return 0, false
	}
	if value == 0 || value > s.lastGroup() {
		return linux.EINVAL, true
	}
	bit := uint64(1) << (value - 1)
	if s.groups &^= bit; name == linux.NETLINK_ADD_MEMBERSHIP {
		s.groups |= bit
	}
	return 0, true
}

// AttachFilter is SO_ATTACH_FILTER, with the struct sock_fprog at at. Only sockets to which nothing comes have filters:
// nothing is executed.
func AttachFilter(t *task.Thread, s Socket, at emu.Addr, n int) linux.Errno {
	const programSize, insnSize, maxInsns, class, ret = 16, 8, 4096, 7, 6
	k, ok := s.(*netlinkSocket)
	if !ok || k.proto != linux.NETLINK_KOBJECT_UEVENT {
		return linux.ENOPROTOOPT
	}
	if n != programSize {
		return linux.EINVAL
	}
	x, e := t.CopyIn(at, programSize)
	if e != 0 {
		return e
	}
	count, insns := int(linux.Uint16(x)), emu.Addr(linux.Uint64(x[8:]))
	if insns == 0 || count == 0 || count > maxInsns {
		return linux.EINVAL
	}
	if x, e = t.CopyIn(insns, count*insnSize); e != 0 {
		return e
	}
	if linux.Uint16(x[len(x)-insnSize:])&class != ret {
		return linux.EINVAL
	}
	k.filtered = true
	return 0
}

// lastGroup is the last group that s may be a member of.
func (s *netlinkSocket) lastGroup() uint32 {
	if s.proto == linux.NETLINK_ROUTE {
		return linux.RTNLGRP_MAX
	}
	return 32
}

// A netlinkAddress is that of a socket: sockets of one protocol have different ones.
type netlinkAddress struct {
	proto  int
	portID uint32
}

// netlinkAddresses are those that are taken.
type netlinkAddresses struct {
	taken map[netlinkAddress]bool
	// next is where a free one is looked for next, downwards from firstNetlinkPort, if it may not be a process' id.
	next int32
}

// firstNetlinkPort is the largest of these. Linux begins anywhere below.
const firstNetlinkPort = -4097

func (n *netlinkAddresses) init() {
	*n = netlinkAddresses{map[netlinkAddress]bool{}, firstNetlinkPort}
}

// take gives s an address, if nobody has it.
func (n *netlinkAddresses) take(s *netlinkSocket, id uint32) bool {
	a := netlinkAddress{s.proto, id}
	if n.taken[a] {
		return false
	}
	n.taken[a], s.portID = true, id
	return true
}

// autobind gives s an address if it has none: its process' id, unless that is taken.
func (s *netlinkSocket) autobind(t *task.Thread) {
	n := &StackOf(t.Kernel).netlink
	if s.portID != 0 || n.take(s, uint32(t.Process.PID)) {
		return
	}
	for !n.take(s, uint32(n.next)) {
		if n.next--; n.next >= 0 { // below the least number
			n.next = firstNetlinkPort
		}
	}
}

// Connect implements Socket.
func (s *netlinkSocket) Connect(t *task.Thread, name []byte) linux.Errno {
	if len(name) < sockaddrNlSize || familyOf(name) != linux.AF_NETLINK {
		return linux.EINVAL
	}
	s.autobind(t)
	return 0
}

// Close implements files.File.
func (s *netlinkSocket) Close(k *task.Kernel) {
	s.Queue.purge(k)
	if s.portID != 0 {
		delete(StackOf(k).netlink.taken, netlinkAddress{s.proto, s.portID})
	}
}

// Read implements files.File.
func (s *netlinkSocket) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.receive(t, &InMessage{V: v})
}

// Write implements files.File.
func (s *netlinkSocket) Write(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return s.send(t, &OutMessage{V: v})
}

// send implements Socket. The answers are in s's own queue when it returns.
func (s *netlinkSocket) send(t *task.Thread, m *OutMessage) (uint64, linux.Errno) {
	b, e := t.Gather(m.V, 64<<10)
	if e != 0 {
		return 0, e
	}
	s.autobind(t)
	for at := b; len(at) >= nlmHeader; {
		n := int(linux.Uint32(at))
		if n < nlmHeader || n > len(at) {
			break
		}
		if flags := linux.Uint16(at[6:]); flags&linux.NLM_F_REQUEST != 0 {
			s.reply(t.Kernel, at[:n])
		}
		at = at[min((n+3)&^3, len(at)):]
	}
	return uio.Total(m.V), 0
}

// reply puts the answer to a request into s's own queue.
func (s *netlinkSocket) reply(k *task.Kernel, req []byte) {
	typ, seq := linux.Uint16(req[4:]), linux.Uint32(req[8:])
	if s.proto == linux.NETLINK_KOBJECT_UEVENT { // news are for the superuser to tell
		if typ >= linux.NLMSG_MIN_TYPE {
			s.replyError(req, linux.EPERM)
		}
		return
	}
	if linux.Uint16(req[6:])&linux.NLM_F_DUMP != 0 {
		s.put(s.dump(k, req))
		var done, zero linux.Pack
		zero.U32(0)
		s.message(&done, linux.NLMSG_DONE, linux.NLM_F_MULTI, seq, zero)
		s.put(done)
		return
	}
	const ifinfoSize = 16
	if typ == linux.RTM_GETLINK && len(req) >= nlmHeader+ifinfoSize {
		index, name := linux.Uint32(req[nlmHeader+4:]), attrText(req[nlmHeader+ifinfoSize:], linux.IFLA_IFNAME)
		for _, i := range Interfaces(k) {
			if index == i.Index || index == 0 && name == i.Name {
				var out linux.Pack
				s.message(&out, linux.RTM_NEWLINK, 0, seq, i.link())
				s.put(out)
				return
			}
		}
		s.replyError(req, linux.ENODEV)
		return
	}
	switch {
	case typ == linux.RTM_GETROUTE:
		s.replyRoute(k, req)
	case typ <= rtmLast && typ&3 != 2: // what changes something is for the superuser
		s.replyError(req, linux.EPERM)
	default:
		s.replyError(req, linux.EOPNOTSUPP)
	}
}

// dump answers a request for all interfaces, addresses or routes.
func (s *netlinkSocket) dump(k *task.Kernel, req []byte) []byte {
	var out linux.Pack
	want := linux.AF_UNSPEC
	if len(req) > nlmHeader {
		want = int(req[nlmHeader])
	}
	seq := linux.Uint32(req[8:])
	for _, i := range Interfaces(k) {
		switch linux.Uint16(req[4:]) {
		case linux.RTM_GETLINK:
			s.message(&out, linux.RTM_NEWLINK, linux.NLM_F_MULTI, seq, i.link())
		case linux.RTM_GETADDR:
			for _, p := range i.Addrs {
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

// familyOfAddr is AF_INET or AF_INET6.
func familyOfAddr(a netip.Addr) int {
	if a.Is4() {
		return linux.AF_INET
	}
	return linux.AF_INET6
}

// replyError answers that req has failed with e.
func (s *netlinkSocket) replyError(req []byte, e linux.Errno) {
	var body, out linux.Pack
	body.U32(uint32(-int32(e)))
	body = append(body, req...)
	s.message(&out, linux.NLMSG_ERROR, 0, linux.Uint32(req[8:]), body)
	s.put(out)
}

// put puts messages into s's own queue.
func (s *netlinkSocket) put(b []byte) {
	if len(b) > 0 {
		s.Queue.put(&packet{data: b, from: netlinkName(0, 0)})
		s.Wake(linux.POLLIN)
	}
}

// message appends a netlink message to b.
func (s *netlinkSocket) message(b *linux.Pack, typ, flags uint16, seq uint32, body []byte) {
	b.U32(uint32(nlmHeader + len(body)))
	b.U16(typ)
	b.U16(flags)
	b.U32(seq)
	b.U32(s.portID)
	*b = append(*b, body...)
	b.Zero(-len(body) & 3)
}

// attrText is the text of attribute typ among attrs, "" if it is not there.
func attrText(attrs []byte, typ uint16) string {
	text, _, _ := bytes.Cut(attrData(attrs, typ), []byte{0})
	return string(text)
}

// attrData is the value of attribute typ among attrs, nil if it is not there.
func attrData(attrs []byte, typ uint16) []byte {
	for len(attrs) >= 4 {
		n := int(linux.Uint16(attrs))
		if n < 4 || n > len(attrs) {
			break
		}
		if linux.Uint16(attrs[2:]) == typ {
			return attrs[4:n]
		}
		attrs = attrs[min((n+3)&^3, len(attrs)):]
	}
	return nil
}

// attr appends a struct rtattr to b.
func attr(b *linux.Pack, typ uint16, data []byte) {
	b.U16(uint16(4 + len(data)))
	b.U16(typ)
	*b = append(*b, data...)
	b.Zero(-len(data) & 3)
}

// link is i as a struct ifinfomsg with attributes.
func (i *Interface) link() []byte {
	const lowerUp = 1 << 16
	const iflaAddress, iflaBroadcast, iflaMTU, iflaTxqlen, iflaOperstate = 1, 2, 4, 13, 16
	var b, mtu, qlen linux.Pack
	b.U8(linux.AF_UNSPEC)
	b.U8(0)
	b.U16(i.hwType)
	b.U32(i.Index)
	b.U32(i.flags | lowerUp)
	b.U32(0)
	attr(&b, linux.IFLA_IFNAME, []byte(i.Name+"\x00"))
	qlen.U32(txQueueSize)
	attr(&b, iflaTxqlen, qlen)
	attr(&b, iflaOperstate, []byte{0})
	mtu.U32(i.mtu)
	attr(&b, iflaMTU, mtu)
	attr(&b, iflaAddress, make([]byte, 6))
	attr(&b, iflaBroadcast, make([]byte, 6))
	return b
}

// address is p, an address of i, as a struct ifaddrmsg with attributes.
func (i *Interface) address(p netip.Prefix) []byte {
	const permanent = 0x80
	const ifaAddress, ifaLocal, ifaLabel, ifaBroadcast, ifaFlags = 1, 2, 3, 4, 8
	var b, flags linux.Pack
	b.U8(uint8(familyOfAddr(p.Addr())))
	b.U8(uint8(p.Bits()))
	b.U8(permanent)
	if p.Addr().IsLoopback() {
		b.U8(linux.RT_SCOPE_HOST)
	} else {
		b.U8(linux.RT_SCOPE_UNIVERSE)
	}
	b.U32(i.Index)
	attr(&b, ifaAddress, p.Addr().AsSlice())
	if p.Addr().Is4() {
		attr(&b, ifaLocal, p.Addr().AsSlice())
		if a := i.broadcast4(); a != [4]byte{} {
			attr(&b, ifaBroadcast, a[:])
		}
		attr(&b, ifaLabel, []byte(i.Name+"\x00"))
	}
	flags.U32(permanent)
	attr(&b, ifaFlags, flags)
	return b
}

// receive implements Socket.
func (s *netlinkSocket) receive(t *task.Thread, m *InMessage) (uint64, linux.Errno) {
	if s.Queue.empty() {
		return 0, linux.EAGAIN
	}
	return s.Queue.receivePacket(t, m)
}

// Poll implements files.File.
func (s *netlinkSocket) Poll(*task.Thread) uint32 {
	ev := s.shutEvents() | linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND
	if !s.Queue.empty() {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	return ev
}
