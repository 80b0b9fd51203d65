package linux

// Messages of netlink(7) and rtnetlink(7).
const (
	NETLINK_ROUTE = 0

	NLMSG_ERROR = 2
	NLMSG_DONE  = 3

	NLM_F_REQUEST = 1
	NLM_F_MULTI   = 2
	NLM_F_ACK     = 4
	NLM_F_DUMP    = 0x300

	RTM_NEWLINK  = 16
	RTM_GETLINK  = 18
	RTM_NEWADDR  = 20
	RTM_GETADDR  = 22
	RTM_NEWROUTE = 24
	RTM_GETROUTE = 26

	IFLA_IFNAME = 3
)

// Attributes and values of a route (include/uapi/linux/rtnetlink.h).
const (
	RTA_DST      = 1
	RTA_OIF      = 4
	RTA_GATEWAY  = 5
	RTA_PRIORITY = 6
	RTA_PREFSRC  = 7
	RTA_TABLE    = 15

	RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST           = 1, 2, 3
	RT_TABLE_MAIN, RT_TABLE_LOCAL                   = 254, 255
	RT_SCOPE_UNIVERSE, RT_SCOPE_LINK, RT_SCOPE_HOST = 0, 253, 254
	RTPROT_KERNEL, RTPROT_BOOT                      = 2, 3
)
