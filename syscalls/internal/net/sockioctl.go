package net

import (
	"bytes"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

const (
	ifnameSize  = 16   // IFNAMSIZ
	ifreqSize   = 40   // struct ifreq
	txQueueSize = 1000 // SIOCGIFTXQLEN
)

// Ioctl implements files.File.
func (s *sockBase) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	return socketIoctl(t, req, arg)
}

// socketIoctl does the ioctls about interfaces (netdevice(7)).
func socketIoctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	switch {
	case req == linux.SIOCGIFCONF:
		return 0, listInterfaces(t, arg)
	case req <= linux.SIOCATMARK || req > linux.SIOCGIFTXQLEN:
		return 0, linux.ENOTTY
	}
	b, e := t.CopyIn(arg, ifreqSize)
	if e != 0 {
		return 0, e
	}
	name, _, _ := bytes.Cut(b[:ifnameSize], []byte{0})
	all := Interfaces(t.Kernel)
	at := slices.IndexFunc(all, func(i *Interface) bool {
		if req == linux.SIOCGIFNAME {
			return i.Index == linux.Uint32(b[ifnameSize:])
		}
		return i.Name == string(name)
	})
	if at < 0 {
		return 0, linux.ENODEV
	}
	if req == linux.SIOCGIFNAME {
		var name linux.Pack
		name.Str(all[at].Name, ifnameSize)
		return 0, t.CopyOut(arg, name)
	}
	out := all[at].ifreqReply(req)
	if out == nil {
		return 0, linux.EPERM // what changes an interface is for the superuser
	}
	return 0, t.CopyOut(arg+ifnameSize, out)
}

// ifAddress is an IPv4 address as a struct sockaddr.
func ifAddress(a [4]byte) []byte {
	var b linux.Pack
	b.U16(linux.AF_INET)
	b.U16(0)
	b = append(b, a[:]...)
	b.Zero(8)
	return b
}

// ifreqReply is what follows the name in the answer to a request about i; nil if there is no answer.
func (i *Interface) ifreqReply(req uint32) []byte {
	var out linux.Pack
	switch req {
	case linux.SIOCGIFFLAGS:
		out.U16(uint16(i.flags))
	case linux.SIOCGIFADDR, linux.SIOCGIFDSTADDR:
		return ifAddress(i.IP4().Addr().As4())
	case linux.SIOCGIFBRDADDR:
		return ifAddress(i.broadcast4())
	case linux.SIOCGIFNETMASK:
		return ifAddress(Netmask(i.IP4()))
	case linux.SIOCGIFMETRIC:
		out.U32(0)
	case linux.SIOCGIFMTU:
		out.U32(i.mtu)
	case linux.SIOCGIFHWADDR:
		out.U16(i.hwType)
		out.Zero(14)
	case linux.SIOCGIFINDEX:
		out.U32(i.Index)
	case linux.SIOCGIFTXQLEN:
		out.U32(txQueueSize)
	}
	return out
}

// listInterfaces is SIOCGIFCONF: it lists the interfaces that have an IPv4 address.
func listInterfaces(t *task.Thread, at emu.Addr) linux.Errno {
	b, e := t.CopyIn(at, 16)
	if e != 0 {
		return e
	}
	room, to := int(int32(linux.Uint32(b))), emu.Addr(linux.Uint64(b[8:]))
	var out linux.Pack
	for _, i := range Interfaces(t.Kernel) {
		if to != 0 && room-len(out) < ifreqSize {
			break
		}
		out.Str(i.Name, ifnameSize)
		out = append(out, ifAddress(i.IP4().Addr().As4())...)
		out.Zero(-len(out) & 7)
	}
	if to != 0 {
		if e := t.CopyOut(to, out); e != 0 {
			return e
		}
	}
	return t.Out32(at, uint32(len(out)))
}
