package syscalls

import (
	"bytes"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const (
	ifnameSize  = 16   // IFNAMSIZ
	ifreqSize   = 40   // struct ifreq
	txQueueSize = 1000 // what SIOCGIFTXQLEN tells of the loopback interface
)

func (s *sockBase) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	return t.socketIoctl(req, arg)
}

// socketIoctl answers requests about interfaces.
func (t *Thread) socketIoctl(req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch {
	case req == linux.SIOCGIFCONF:
		return 0, t.listInterfaces(arg)
	case req <= linux.SIOCATMARK || req > linux.SIOCGIFTXQLEN:
		return 0, linux.ENOTTY
	}
	b, e := t.copyIn(arg, ifreqSize)
	if e != 0 {
		return 0, e
	}
	name, _, _ := bytes.Cut(b[:ifnameSize], []byte{0})
	all := t.k.interfaces()
	at := slices.IndexFunc(all, func(i *netInterface) bool {
		if req == linux.SIOCGIFNAME {
			return i.index == le32(b[ifnameSize:])
		}
		return i.name == string(name)
	})
	if at < 0 {
		return 0, linux.ENODEV
	}
	if req == linux.SIOCGIFNAME {
		var name pack
		name.str(all[at].name, ifnameSize)
		return 0, t.copyOut(arg, name)
	}
	out := all[at].answer(req)
	if out == nil {
		return 0, linux.EPERM // what changes an interface is for the superuser
	}
	return 0, t.copyOut(arg+ifnameSize, out)
}

// ifAddress is an IPv4 address as a struct sockaddr.
func ifAddress(a [4]byte) []byte {
	var b pack
	b.u16(linux.AF_INET)
	b.u16(0)
	b = append(b, a[:]...)
	b.zero(8)
	return b
}

// answer is what follows the name in the answer to a request about i; nil for none.
func (i *netInterface) answer(req uint32) []byte {
	var out pack
	switch req {
	case linux.SIOCGIFFLAGS:
		out.u16(uint16(i.flags))
	case linux.SIOCGIFADDR, linux.SIOCGIFDSTADDR:
		return ifAddress(i.ip4().Addr().As4())
	case linux.SIOCGIFBRDADDR:
		return ifAddress(i.broadcast4())
	case linux.SIOCGIFNETMASK:
		return ifAddress(netmask(i.ip4()))
	case linux.SIOCGIFMETRIC:
		out.u32(0)
	case linux.SIOCGIFMTU:
		out.u32(i.mtu)
	case linux.SIOCGIFHWADDR:
		out.u16(i.hwType)
		out.zero(14)
	case linux.SIOCGIFINDEX:
		out.u32(i.index)
	case linux.SIOCGIFTXQLEN:
		out.u32(txQueueSize)
	}
	return out
}

// listInterfaces is SIOCGIFCONF: what has an IPv4 address.
func (t *Thread) listInterfaces(at emu.Addr) linux.Errno {
	b, e := t.copyIn(at, 16)
	if e != 0 {
		return e
	}
	room, to := int(int32(le32(b))), emu.Addr(le64(b[8:]))
	var out pack
	for _, i := range t.k.interfaces() {
		if to != 0 && room-len(out) < ifreqSize {
			break
		}
		out.str(i.name, ifnameSize)
		out = append(out, ifAddress(i.ip4().Addr().As4())...)
		out.zero(-len(out) & 7)
	}
	if to != 0 {
		if e := t.copyOut(to, out); e != 0 {
			return e
		}
	}
	return t.out32(at, uint32(len(out)))
}
