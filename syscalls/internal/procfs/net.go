package procfs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// procNet is /proc/net: the sockets, interfaces and routes there are.
var procNet = lateNode(func() *files.VNode {
	return files.DirNode(map[string]*files.VNode{
		"tcp":      files.FileNode(func(t *task.Thread) []byte { return inetText(t, &net.StackOf(t.Kernel).Inet.TCP, linux.AF_INET) }),
		"tcp6":     files.FileNode(func(t *task.Thread) []byte { return inetText(t, &net.StackOf(t.Kernel).Inet.TCP, linux.AF_INET6) }),
		"udp":      files.FileNode(func(t *task.Thread) []byte { return inetText(t, &net.StackOf(t.Kernel).Inet.UDP, linux.AF_INET) }),
		"udp6":     files.FileNode(func(t *task.Thread) []byte { return inetText(t, &net.StackOf(t.Kernel).Inet.UDP, linux.AF_INET6) }),
		"unix":     files.FileNode(unixText),
		"dev":      files.FileNode(devText),
		"route":    files.FileNode(routeText),
		"if_inet6": files.FileNode(inet6Text),
		"snmp": countersNode("Ip Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates",
			"Icmp InMsgs InErrors OutMsgs OutErrors", "Tcp RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors",
			"Udp InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors"),
		"netstat":   countersNode("TcpExt SyncookiesSent SyncookiesRecv SyncookiesFailed TCPTimeouts", "IpExt InNoRoutes InOctets OutOctets"),
		"sockstat":  files.TextNode("sockets: used 0\nTCP: inuse 0 orphan 0 tw 0 alloc 0 mem 0\nUDP: inuse 0 mem 0\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n"),
		"protocols": files.TextNode("protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de sh ss gs se re sp bi br ha uh gp em\n"),
		"raw":       files.TextNode("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"),
		"packet":    files.TextNode("sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"),
		"netlink":   files.TextNode("sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"),
		"arp":       files.TextNode("IP address       HW type     Flags       HW address            Mask     Device\n"),
	})
})

// hexAddress is an address as /proc/net shows it: words of 32 bits in the CPU's byte order.
func hexAddress(a netip.AddrPort, family int) string {
	ip := a.Addr().AsSlice()
	if family == linux.AF_INET6 {
		x := a.Addr().As16()
		ip = x[:]
	}
	var b strings.Builder
	for ; len(ip) > 0; ip = ip[4:] {
		fmt.Fprintf(&b, "%08X", linux.Uint32(ip))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port())
}

// inetText lists the sockets of p that are of a family and have a port, in order of ports.
func inetText(t *task.Thread, p *net.PortTable, family int) []byte {
	var ports []uint16
	for port := range p.Sockets {
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
		for _, f := range p.Sockets[port] {
			s := f.Inet()
			if s.Family != family {
				continue
			}
			remote := s.Remote
			if !remote.IsValid() {
				remote = netip.AddrPortFrom(s.Any(), 0)
			}
			const closed = 7
			state := byte(closed)
			if c, ok := f.(*net.TCPSocket); ok {
				state = c.State()
			}
			fmt.Fprintf(&b, "%4d: %s %s %02X 00000000:%08X 00:00000000 00000000 %5d        0 %d 1 0000000000000000\n",
				n, hexAddress(s.Local, family), hexAddress(remote, family), state, s.Queue.Bytes, t.Kernel.UID, s.Ino)
			n++
		}
	}
	return []byte(b.String())
}

// unixText lists the sockets of AF_UNIX in order of creation.
func unixText(t *task.Thread) []byte {
	const accepts, unconnected, connected = 0x10000, 1, 3
	var b strings.Builder
	b.WriteString("Num       RefCount Protocol Flags    Type St Inode Path\n")
	for s := range net.StackOf(t.Kernel).Unix.Each {
		flags, state := 0, unconnected
		if s.Listening {
			flags = accepts
		}
		if s.Connected {
			state = connected
		}
		fmt.Fprintf(&b, "0000000000000000: 00000002 00000000 %08X %04X %02X %5d", flags, s.Type, state, s.Ino)
		if len(s.Path) > 0 {
			path := strings.ReplaceAll(strings.TrimSuffix(string(s.Path[1:]), "\x00"), "\x00", "@")
			first := s.Path[0]
			if first == 0 {
				first = '@'
			}
			b.WriteString(" " + string(first) + path)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

func devText(t *task.Thread) []byte {
	text := "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
	for _, i := range net.Interfaces(t.Kernel) {
		text += fmt.Sprintf("%6s:", i.Name) +
			"       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n"
	}
	return []byte(text)
}

func inet6Text(t *task.Thread) []byte {
	var b strings.Builder
	for _, i := range net.Interfaces(t.Kernel) {
		for _, p := range i.Addrs {
			if p.Addr().Is6() {
				const scopeHost, permanent = 0x10, 0x80
				fmt.Fprintf(&b, "%x %02x %02x %02x %02x %8s\n", p.Addr().AsSlice(), i.Index, p.Bits(), scopeHost, permanent, i.Name)
			}
		}
	}
	return []byte(b.String())
}

// routeText lists the routes of all interfaces but the loopback: to the local network, and by its first address, the
// router, to everything else.
func routeText(t *task.Thread) []byte {
	var b strings.Builder
	line := func(fields string) { fmt.Fprintf(&b, "%-127s\n", fields) }
	line("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT")
	for _, i := range net.Interfaces(t.Kernel) {
		if i == &net.Loopback {
			continue
		}
		const up, gateway = 1, 3
		mask, near := net.Netmask(i.IP4()), i.IP4().Masked().Addr()
		router, network := near.Next().As4(), near.As4()
		line(fmt.Sprintf("%s\t%08X\t%08X\t%04X\t0\t0\t0\t%08X\t0\t0\t0", i.Name, 0, linux.Uint32(router[:]), gateway, 0))
		line(fmt.Sprintf("%s\t%08X\t%08X\t%04X\t0\t0\t0\t%08X\t0\t0\t0", i.Name, linux.Uint32(network[:]), 0, up, linux.Uint32(mask[:])))
	}
	return []byte(b.String())
}
