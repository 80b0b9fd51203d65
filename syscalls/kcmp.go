package syscalls

import "cmp"

// What kcmp(2) compares.
const (
	kcmpFile    = 0
	kcmpVM      = 1
	kcmpFiles   = 2
	kcmpFS      = 3
	kcmpSighand = 4
	kcmpIO      = 5
	kcmpSysvsem = 6
)

// sysKcmp implements kcmp(2): 0 if two processes share something, else 1 or 2, for which is the lesser: Linux orders by hidden
// addresses, we by the numbers that they were asked for.
func sysKcmp(t *Thread, a Args) (uint64, Errno) {
	p, q := t.k.processOf(a.Int(0)), t.k.processOf(a.Int(1))
	if p == nil || q == nil || p.exited || q.exited {
		return 0, ESRCH
	}
	same, first, second := false, p.pid, q.pid
	switch a.Int(2) {
	case kcmpFile:
		f, e := p.fds.file(a.Int(3))
		if e != 0 {
			return 0, e
		}
		g, e := q.fds.file(a.Int(4))
		if e != 0 {
			return 0, e
		}
		same = f == g
		if p == q {
			first, second = a.Int(3), a.Int(4)
		}
	case kcmpVM:
		same = p.machine == q.machine
	case kcmpFiles:
		same = p.fds == q.fds
	case kcmpFS:
		same = p.fsInfo == q.fsInfo
	case kcmpSighand:
		same = p.signals == q.signals
	case kcmpIO, kcmpSysvsem:
		same = p == q
	default:
		return 0, EINVAL
	}
	switch {
	case same:
		return 0, 0
	case cmp.Less(first, second):
		return 1, 0
	}
	return 2, 0
}
