package linux

// Operations of epoll_ctl(2) and flags of its events.
const (
	EPOLL_CTL_ADD  = 1
	EPOLL_CTL_DEL  = 2
	EPOLL_CTL_MOD  = 3
	EPOLLEXCLUSIVE = 1 << 28
	EPOLLWAKEUP    = 1 << 29
	EPOLLONESHOT   = 1 << 30
	EPOLLET        = 1 << 31
	EPOLLRDHUP     = 0x2000
)
