package syscalls

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// procNet is /proc/net: sockets, and the one interface there is.
var procNet = dirNode(map[string]*vnode{
	"tcp":      fileNode(func(t *Thread) []byte { return inetText(t, &netOf(t.k).inet.tcp, linux.AF_INET) }),
	"tcp6":     fileNode(func(t *Thread) []byte { return inetText(t, &netOf(t.k).inet.tcp, linux.AF_INET6) }),
	"udp":      fileNode(func(t *Thread) []byte { return inetText(t, &netOf(t.k).inet.udp, linux.AF_INET) }),
	"udp6":     fileNode(func(t *Thread) []byte { return inetText(t, &netOf(t.k).inet.udp, linux.AF_INET6) }),
	"unix":     fileNode(unixText),
	"dev":      fileNode(devText),
	"route":    fileNode(routeText),
	"if_inet6": fileNode(inet6Text),
	"snmp": countersNode("Ip Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates",
		"Icmp InMsgs InErrors OutMsgs OutErrors", "Tcp RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors",
		"Udp InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors"),
	"netstat":   countersNode("TcpExt SyncookiesSent SyncookiesRecv SyncookiesFailed TCPTimeouts", "IpExt InNoRoutes InOctets OutOctets"),
	"sockstat":  textNode("sockets: used 0\nTCP: inuse 0 orphan 0 tw 0 alloc 0 mem 0\nUDP: inuse 0 mem 0\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n"),
	"protocols": textNode("protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de sh ss gs se re sp bi br ha uh gp em\n"),
	"raw":       textNode("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"),
	"packet":    textNode("sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"),
	"netlink":   textNode("sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"),
	"arp":       textNode("IP address       HW type     Flags       HW address            Mask     Device\n"),
})

// hexAddress is an address as /proc/net shows it: words of 32 bits, in the order of the machine.
func hexAddress(a netip.AddrPort, family int) string {
	ip := a.Addr().AsSlice()
	if family == linux.AF_INET6 {
		x := a.Addr().As16()
		ip = x[:]
	}
	var b strings.Builder
	for ; len(ip) > 0; ip = ip[4:] {
		fmt.Fprintf(&b, "%08X", le32(ip))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port())
}

// inetText lists the sockets of p that have a port, and are of a family, by port.
func inetText(t *Thread, p *portTable, family int) []byte {
	var ports []uint16
	for port := range p.sockets {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	width, remote := 13, "rem_address"
	if family == linux.AF_INET6 {
		width, remote = 37, "remote_address"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  sl  %-*s %-*s st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n",
		width, "local_address", width, remote)
	n := 0
	for _, port := range ports {
		for _, f := range p.sockets[port] {
			s := f.inet()
			if s.family != family {
				continue
			}
			remote := s.remote
			if !remote.IsValid() {
				remote = netip.AddrPortFrom(s.any(), 0)
			}
			const closed = 7
			state := byte(closed)
			if c, ok := f.(*tcpSocket); ok {
				state = c.phase()
			}
			fmt.Fprintf(&b, "%4d: %s %s %02X 00000000:%08X 00:00000000 00000000 %5d        0 %d 1 0000000000000000\n",
				n, hexAddress(s.local, family), hexAddress(remote, family), state, s.queue.bytes, t.k.uid, s.ino)
			n++
		}
	}
	return []byte(b.String())
}

// unixText lists the sockets of AF_UNIX, in order of making.
func unixText(t *Thread) []byte {
	const accepts, unconnected, connected = 0x10000, 1, 3
	var b strings.Builder
	b.WriteString("Num       RefCount Protocol Flags    Type St Inode Path\n")
	for s := range netOf(t.k).unix.each {
		flags, state := 0, unconnected
		if s.listening {
			flags = accepts
		}
		if s.connected {
			state = connected
		}
		fmt.Fprintf(&b, "0000000000000000: 00000002 00000000 %08X %04X %02X %5d", flags, s.typ, state, s.ino)
		if len(s.path) > 0 {
			path := strings.ReplaceAll(strings.TrimSuffix(string(s.path[1:]), "\x00"), "\x00", "@")
			first := s.path[0]
			if first == 0 {
				first = '@'
			}
			b.WriteString(" " + string(first) + path)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

func devText(t *Thread) []byte {
	text := "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
	for _, i := range t.k.interfaces() {
		text += fmt.Sprintf("%6s:", i.name) +
			"       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n"
	}
	return []byte(text)
}

func inet6Text(t *Thread) []byte {
	var b strings.Builder
	for _, i := range t.k.interfaces() {
		for _, p := range i.addrs {
			if p.Addr().Is6() {
				const scopeHost, permanent = 0x10, 0x80
				fmt.Fprintf(&b, "%x %02x %02x %02x %02x %8s\n", p.Addr().AsSlice(), i.index, p.Bits(), scopeHost, permanent, i.name)
			}
		}
	}
	return []byte(b.String())
}

// routeText lists the routes of the interfaces that are no loopback: to what is near, and by the first address there to all else.
func routeText(t *Thread) []byte {
	var b strings.Builder
	line := func(fields string) { fmt.Fprintf(&b, "%-127s\n", fields) }
	line("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT")
	for _, i := range t.k.interfaces() {
		if i == &loopback {
			continue
		}
		const up, gateway = 1, 3
		mask, near := netmask(i.ip4()), i.ip4().Masked().Addr()
		router, network := near.Next().As4(), near.As4()
		line(fmt.Sprintf("%s\t%08X\t%08X\t%04X\t0\t0\t0\t%08X\t0\t0\t0", i.name, 0, le32(router[:]), gateway, 0))
		line(fmt.Sprintf("%s\t%08X\t%08X\t%04X\t0\t0\t0\t%08X\t0\t0\t0", i.name, le32(network[:]), 0, up, le32(mask[:])))
	}
	return []byte(b.String())
}
