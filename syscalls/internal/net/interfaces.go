package net

import (
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// An Interface is a network interface of the guest.
type Interface struct {
	// Name and Index identify the interface, Addrs are its addresses with their networks.
	Name  string
	Index uint32
	// flags are IFF_UP and so on; hwType is an ARPHRD_*.
	flags  uint32
	hwType uint16
	mtu    uint32
	Addrs  []netip.Prefix
}

// Loopback is the interface that is always there, unless there is no network.
var Loopback = Interface{
	Name: "lo", Index: 1, flags: 0x49, hwType: 772, mtu: 65536,
	Addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")},
}

// ethernet leads to the host's network, as if behind a router that translates addresses: what the guest sees of it is
// the same on every host.
var ethernet = Interface{
	Name: "eth0", Index: 2, flags: 0x1043, hwType: 1, mtu: 1500,
	Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.2.15/24")},
}

// Interfaces are those that the guest has, in order of their indexes.
func Interfaces(k *task.Kernel) []*Interface {
	switch StackOf(k).network {
	case NetworkNone:
		return nil
	case NetworkHost:
		return []*Interface{&Loopback, &ethernet}
	}
	return []*Interface{&Loopback}
}

// IP4 is i's IPv4 address.
func (i *Interface) IP4() netip.Prefix { return i.Addrs[0] }

// Netmask is the netmask of p, an IPv4 prefix.
func Netmask(p netip.Prefix) [4]byte {
	var m [4]byte
	for i := range p.Bits() {
		m[i/8] |= 0x80 >> (i % 8)
	}
	return m
}

// broadcast4 is i's broadcast address, zero for the loopback.
func (i *Interface) broadcast4() [4]byte {
	const hasBroadcast = 2 // IFF_BROADCAST
	var b [4]byte
	if i.flags&hasBroadcast != 0 {
		a, m := i.IP4().Addr().As4(), Netmask(i.IP4())
		for k := range b {
			b[k] = a[k] | ^m[k]
		}
	}
	return b
}

// isLocal reports whether a is an address of the guest's machine.
func isLocal(k *task.Kernel, a netip.Addr) bool {
	return a.IsLoopback() || StackOf(k).network == NetworkHost && a == ethernet.IP4().Addr()
}

// isExternal reports whether a is an address that is reached over the host's network.
func isExternal(k *task.Kernel, a netip.Addr) bool {
	return StackOf(k).network == NetworkHost && a.Is4() && !a.IsUnspecified() && !a.IsMulticast() && a != broadcast && !isLocal(k, a)
}
