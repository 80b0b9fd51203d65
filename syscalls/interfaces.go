package syscalls

import "net/netip"

// A netInterface is a network interface of the guest.
type netInterface struct {
	name   string
	index  uint32
	flags  uint32 // IFF_UP and so on
	hwType uint16 // ARPHRD_
	mtu    uint32
	addrs  []netip.Prefix
}

// loopback is the interface there always is, unless there is no network.
var loopback = netInterface{
	name: "lo", index: 1, flags: 0x49, hwType: 772, mtu: 65536,
	addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")},
}

// ethernet is the one that leads to the host's network: as behind a router that translates addresses,
// so that what the guest sees of itself is the same on every host.
var ethernet = netInterface{
	name: "eth0", index: 2, flags: 0x1043, hwType: 1, mtu: 1500,
	addrs: []netip.Prefix{netip.MustParsePrefix("10.0.2.15/24")},
}

// interfaces are the guest's.
func (k *Kernel) interfaces() []*netInterface {
	switch netOf(k).network {
	case NetworkNone:
		return nil
	case NetworkHost:
		return []*netInterface{&loopback, &ethernet}
	}
	return []*netInterface{&loopback}
}

// ip4 is i's IPv4 address.
func (i *netInterface) ip4() netip.Prefix { return i.addrs[0] }

// netmask is p's mask.
func netmask(p netip.Prefix) [4]byte {
	var m [4]byte
	for i := range p.Bits() {
		m[i/8] |= 0x80 >> (i % 8)
	}
	return m
}

// broadcast4 is p's broadcast address; a loopback interface has none.
func (i *netInterface) broadcast4() [4]byte {
	const hasBroadcast = 2 // IFF_BROADCAST
	var b [4]byte
	if i.flags&hasBroadcast != 0 {
		a, m := i.ip4().Addr().As4(), netmask(i.ip4())
		for k := range b {
			b[k] = a[k] | ^m[k]
		}
	}
	return b
}

// isLocal reports whether a is an address of the guest.
func (k *Kernel) isLocal(a netip.Addr) bool {
	return a.IsLoopback() || netOf(k).network == NetworkHost && a == ethernet.ip4().Addr()
}

// isOutside reports whether a is one that the host's network is asked for.
func (k *Kernel) isOutside(a netip.Addr) bool {
	return netOf(k).network == NetworkHost && a.Is4() && !a.IsUnspecified() && !a.IsMulticast() && a != broadcast && !k.isLocal(a)
}
