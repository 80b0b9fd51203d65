package linux

// Control messages of sendmsg(2) and recvmsg(2): cmsg(3).
const (
	SOL_SOCKET = 1

	SCM_RIGHTS      = 1
	SCM_CREDENTIALS = 2

	// SCM_MAX_FD is how many descriptors one message carries.
	SCM_MAX_FD = 253
)

// Protocols of AF_INET and AF_INET6.
const (
	IPPROTO_TCP = 6
	IPPROTO_UDP = 17
)

// Options of SOL_IP and SOL_IPV6.
const (
	IPV6_V6ONLY        = 26
	IP_MTU             = 14
	IPV6_MTU           = 24
	IP_ADD_MEMBERSHIP  = 35
	IP_DROP_MEMBERSHIP = 36
	IPV6_JOIN_GROUP    = 20
	IPV6_LEAVE_GROUP   = 21
)

// Address families and types of socket(2).
const (
	AF_UNSPEC  = 0
	AF_UNIX    = 1
	AF_INET    = 2
	AF_INET6   = 10
	AF_NETLINK = 16
	AF_PACKET  = 17
	// SOCK_PACKET is AF_PACKET's old way, of AF_INET.
	SOCK_PACKET = 10
	AF_MAX      = 46

	SOCK_STREAM    = 1
	SOCK_DGRAM     = 2
	SOCK_RAW       = 3
	SOCK_RDM       = 4
	SOCK_SEQPACKET = 5

	SOMAXCONN = 4096
)

// Requests about sockets and interfaces (include/uapi/linux/sockios.h).
const (
	SIOCATMARK     = 0x8905
	SIOCGIFNAME    = 0x8910
	SIOCGIFCONF    = 0x8912
	SIOCGIFFLAGS   = 0x8913
	SIOCGIFADDR    = 0x8915
	SIOCGIFDSTADDR = 0x8917
	SIOCGIFBRDADDR = 0x8919
	SIOCGIFNETMASK = 0x891b
	SIOCGIFMETRIC  = 0x891d
	SIOCGIFMTU     = 0x8921
	SIOCGIFHWADDR  = 0x8927
	SIOCGIFINDEX   = 0x8933
	SIOCGIFTXQLEN  = 0x8942
)

// Flags of send(2) and recv(2).
const (
	MSG_OOB          = 0x01
	MSG_PEEK         = 0x02
	MSG_CTRUNC       = 0x08
	MSG_TRUNC        = 0x20
	MSG_DONTWAIT     = 0x40
	MSG_WAITALL      = 0x100
	MSG_ERRQUEUE     = 0x2000
	MSG_MORE         = 0x8000
	MSG_NOSIGNAL     = 0x4000
	MSG_WAITFORONE   = 0x10000
	MSG_CMSG_CLOEXEC = 0x40000000
)

// Options of SOL_SOCKET (include/uapi/asm-generic/socket.h).
const (
	SO_DEBUG        = 1
	SO_REUSEADDR    = 2
	SO_TYPE         = 3
	SO_ERROR        = 4
	SO_DONTROUTE    = 5
	SO_BROADCAST    = 6
	SO_SNDBUF       = 7
	SO_RCVBUF       = 8
	SO_KEEPALIVE    = 9
	SO_OOBINLINE    = 10
	SO_PRIORITY     = 12
	SO_LINGER       = 13
	SO_REUSEPORT    = 15
	SO_PASSCRED     = 16
	SO_PEERCRED     = 17
	SO_RCVLOWAT     = 18
	SO_SNDLOWAT     = 19
	SO_RCVTIMEO     = 20
	SO_SNDTIMEO     = 21
	SO_BINDTODEVICE = 25
	SO_TIMESTAMP    = 29
	SO_ACCEPTCONN   = 30
	SO_PEERSEC      = 31
	SO_SNDBUFFORCE  = 32
	SO_RCVBUFFORCE  = 33
	SO_MARK         = 36
	SO_PROTOCOL     = 38
	SO_DOMAIN       = 39
	SO_INCOMING_CPU = 49
	SO_ZEROCOPY     = 60
)

// Options for filters of what arrives.
const (
	SO_ATTACH_FILTER = 26
	SO_DETACH_FILTER = 27
)

// Levels of options, besides SOL_SOCKET.
const (
	SOL_IP   = 0
	SOL_TCP  = 6
	SOL_UDP  = 17
	SOL_IPV6 = 41
)

// TCP_INFO is the option of SOL_TCP that returns struct tcp_info.
const TCP_INFO = 11

// UDP_CORK is the option of SOL_UDP that joins what is sent into one datagram.
const UDP_CORK = 1

// Options and control messages about it (include/uapi/linux/in.h, in6.h).
const (
	IP_TOS            = 1
	IP_TTL            = 2
	IP_PKTINFO        = 8
	IP_RECVTTL        = 12
	IP_RECVTOS        = 13
	IPV6_UNICAST_HOPS = 16
	IPV6_RECVPKTINFO  = 49
	IPV6_PKTINFO      = 50
	IPV6_RECVHOPLIMIT = 51
	IPV6_HOPLIMIT     = 52
	IPV6_RECVTCLASS   = 66
	IPV6_TCLASS       = 67
)
