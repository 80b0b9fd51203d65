package syscalls

import (
	"bytes"

	"github.com/cgemu/cgemu/emu"
)

// Requests about sockets and interfaces (include/uapi/linux/sockios.h).
const (
	siocAtmark      = 0x8905
	siocGifname     = 0x8910
	siocGifconf     = 0x8912
	siocGifflags    = 0x8913
	siocGifaddr     = 0x8915
	siocGifdstaddr  = 0x8917
	siocGifbrdaddr  = 0x8919
	siocGifnetmask  = 0x891b
	siocGifmetric   = 0x891d
	siocGifmtu      = 0x8921
	siocGifhwaddr   = 0x8927
	siocGifindex    = 0x8933
	siocGiftxqlen   = 0x8942
	ifnameSize      = 16
	ifreqSize       = 40
	loFlags         = 0x49 // IFF_UP, IFF_LOOPBACK, IFF_RUNNING
	arphrdLoopback  = 772
	loopbackTxqueue = 1000
)

func (s *sockBase) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, Errno) {
	return t.socketIoctl(req, arg)
}

// socketIoctl answers requests about interfaces, of which there is one, lo; or none.
func (t *Thread) socketIoctl(req uint32, arg emu.Addr) (uint64, Errno) {
	const first, last = siocAtmark + 1, siocGiftxqlen
	switch {
	case req == fioAsync:
		return 0, 0
	case req == siocGifconf:
		return 0, t.interfaces(arg)
	case req == siocGifname:
		b, e := t.copyIn(arg, ifreqSize)
		if e != 0 {
			return 0, e
		}
		if le32(b[ifnameSize:]) != loIndex || t.k.cfg.Network == NetworkNone {
			return 0, ENODEV
		}
		var name pack
		name.str("lo", ifnameSize)
		return 0, t.copyOut(arg, name)
	case req < first || req > last:
		return 0, ENOTTY
	}
	b, e := t.copyIn(arg, ifreqSize)
	if e != 0 {
		return 0, e
	}
	name, _, _ := bytes.Cut(b[:ifnameSize], []byte{0})
	if string(name) != "lo" || t.k.cfg.Network == NetworkNone {
		return 0, ENODEV
	}
	address := func(a [4]byte) pack {
		var b pack
		b.u16(afInet)
		b.u16(0)
		b = append(b, a[:]...)
		b.zero(8)
		return b
	}
	var out pack
	switch req {
	case siocGifflags:
		out.u16(loFlags)
	case siocGifaddr, siocGifdstaddr:
		out = address(loopback4.As4())
	case siocGifbrdaddr:
		out = address([4]byte{})
	case siocGifnetmask:
		out = address([4]byte{255})
	case siocGifmetric:
		out.u32(0)
	case siocGifmtu:
		out.u32(loopbackMTU)
	case siocGifhwaddr:
		out.u16(arphrdLoopback)
		out.zero(14)
	case siocGifindex:
		out.u32(loIndex)
	case siocGiftxqlen:
		out.u32(loopbackTxqueue)
	default:
		return 0, EPERM // what changes them is for the superuser
	}
	return 0, t.copyOut(arg+ifnameSize, out)
}

// interfaces is SIOCGIFCONF: what has an IPv4 address.
func (t *Thread) interfaces(at emu.Addr) Errno {
	b, e := t.copyIn(at, 16)
	if e != 0 {
		return e
	}
	room, to := int(int32(le32(b))), emu.Addr(le64(b[8:]))
	var out pack
	if t.k.cfg.Network != NetworkNone {
		out.str("lo", ifnameSize)
		out.u16(afInet)
		out.u16(0)
		a := loopback4.As4()
		out = append(out, a[:]...)
		out.zero(ifreqSize - len(out))
	}
	switch {
	case to == 0:
	case room < len(out):
		out = nil
		fallthrough
	default:
		if e := t.copyOut(to, out); e != 0 {
			return e
		}
	}
	return t.out32(at, uint32(len(out)))
}
