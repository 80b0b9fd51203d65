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

// sysKcmp implements kcmp(2): 0 if two threads share something, else 1 or 2, for which is the lesser: Linux orders by hidden
// addresses, we by the numbers that they were asked for.
func sysKcmp(t *Thread, a Args) (uint64, Errno) {
	o, r := t.k.threads[a.Int(0)], t.k.threads[a.Int(1)]
	if o == nil || r == nil {
		return 0, ESRCH
	}
	p, q := o.p, r.p
	same, first, second := false, a.Int(0), a.Int(1)
	switch a.Int(2) {
	case kcmpFile:
		f, e := o.fds.file(a.Int(3))
		if e != 0 {
			return 0, e
		}
		g, e := r.fds.file(a.Int(4))
		if e != 0 {
			return 0, e
		}
		same = f == g
		if o == r {
			first, second = a.Int(3), a.Int(4)
		}
	case kcmpVM:
		same = p.machine == q.machine
	case kcmpFiles:
		same = o.fds == r.fds
	case kcmpFS:
		same = o.fsInfo == r.fsInfo
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
