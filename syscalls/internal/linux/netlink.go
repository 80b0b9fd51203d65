package linux

// Messages of netlink(7) and rtnetlink(7).
const (
	NETLINK_ROUTE          = 0
	NETLINK_KOBJECT_UEVENT = 15

	NLMSG_ERROR    = 2
	NLMSG_DONE     = 3
	NLMSG_MIN_TYPE = 16

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

// Options of netlink(7), and the last group of rtnetlink(7), as of Linux 5.18.
const (
	SOL_NETLINK = 270

	NETLINK_ADD_MEMBERSHIP   = 1
	NETLINK_DROP_MEMBERSHIP  = 2
	NETLINK_LIST_MEMBERSHIPS = 9

	RTNLGRP_MAX = 36
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
