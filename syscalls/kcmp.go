package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// sysKcmp implements kcmp(2): 0 if two threads share something, else 1 or 2, for which is the lesser: Linux orders by hidden
// addresses, we by the numbers that they were asked for.
func sysKcmp(t *Thread, a Args) (uint64, linux.Errno) {
	o, r := t.k.threads[a.Int(0)], t.k.threads[a.Int(1)]
	if o == nil || r == nil {
		return 0, linux.ESRCH
	}
	p, q := o.p, r.p
	same, first, second := false, a.Int(0), a.Int(1)
	switch a.Int(2) {
	case linux.KCMP_FILE:
		f, e := filesOf(o).fds.file(a.Int(3))
		if e != 0 {
			return 0, e
		}
		g, e := filesOf(r).fds.file(a.Int(4))
		if e != 0 {
			return 0, e
		}
		same = f == g
		if o == r {
			first, second = a.Int(3), a.Int(4)
		}
	case linux.KCMP_VM:
		same = p.machine == q.machine
	case linux.KCMP_FILES:
		same = filesOf(o).fds == filesOf(r).fds
	case linux.KCMP_FS:
		same = filesOf(o).fsInfo == filesOf(r).fsInfo
	case linux.KCMP_SIGHAND:
		same = p.signals == q.signals
	case linux.KCMP_IO, linux.KCMP_SYSVSEM:
		same = p == q
	default:
		return 0, linux.EINVAL
	}
	switch {
	case same:
		return 0, 0
	case cmp.Less(first, second):
		return 1, 0
	}
	return 2, 0
}
