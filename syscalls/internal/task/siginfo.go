package task

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// A Layout says what the fields of a siginfo_t are (enum siginfo_layout).
type Layout uint8

const (
	LayoutKill  Layout = iota // pid, uid
	LayoutRT                  // pid, uid, value
	LayoutTimer               // timer's id, overrun, value
	LayoutPoll                // band, fd
	LayoutChild               // pid, uid, status, utime, stime
	LayoutFault               // address
	LayoutSys                 // address, number of the call, architecture
)

// ownCodes has the signals with values of si_code above 0 of their own: the highest one, and the layout.
var ownCodes = map[int32]struct {
	most   int32
	layout Layout
}{
	linux.SIGILL: {11, LayoutFault}, linux.SIGFPE: {15, LayoutFault}, linux.SIGSEGV: {10, LayoutFault}, linux.SIGBUS: {5, LayoutFault},
	linux.SIGTRAP: {6, LayoutFault}, linux.SIGCHLD: {6, LayoutChild}, linux.SIGIO: {linux.POLL_HUP, LayoutPoll}, linux.SIGSYS: {2, LayoutSys},
}

// Layout is what s has in its fields (siginfo_layout in kernel/signal.c).
func (s *SigInfo) Layout() Layout {
	own := ownCodes[s.Signo]
	switch {
	case s.Code == linux.SI_TIMER:
		return LayoutTimer
	case s.Code == linux.SI_SIGIO:
		return LayoutPoll
	case s.Code < 0:
		return LayoutRT
	case s.Code == linux.SI_USER, s.Code >= linux.SI_KERNEL:
	case s.Code <= own.most:
		return own.layout
	case s.Code <= linux.POLL_HUP:
		return LayoutPoll
	}
	return LayoutKill
}

// HasLSB reports whether s, which is of LayoutFault, tells how much of memory is broken.
func (s *SigInfo) HasLSB() bool {
	const mceActionRequired, mceActionOptional = 4, 5
	return s.Signo == linux.SIGBUS && (s.Code == mceActionRequired || s.Code == mceActionOptional)
}

// known reports whether Linux knows what s has in its fields (known_siginfo_layout).
func (s *SigInfo) known() bool {
	const deThread, asyncNL = -7, -60
	switch {
	case s.Code == linux.SI_KERNEL:
		return true
	case s.Code > linux.SI_USER:
		own, ok := ownCodes[s.Signo]
		if !ok {
			own.most = linux.POLL_HUP
		}
		return s.Code <= own.most
	}
	return s.Code >= deThread || s.Code == asyncNL
}
