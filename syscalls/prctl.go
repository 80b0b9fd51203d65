package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// lastCap is the last capability there is (CAP_LAST_CAP).
const lastCap = 40

// prctlUsed is how many arguments an operation has that says something about the others: that they must be 0.
var prctlUsed = map[int]int{
	linux.PR_SET_NO_NEW_PRIVS: 1, linux.PR_GET_NO_NEW_PRIVS: 0, linux.PR_SET_THP_DISABLE: 1, linux.PR_GET_THP_DISABLE: 0, linux.PR_CAP_AMBIENT: 2, linux.PR_MCE_KILL: 2, linux.PR_MCE_KILL_GET: 0,
}

// sysPrctl implements prctl(2), as far as it concerns names and small settings.
func sysPrctl(t *Thread, a Args) (uint64, linux.Errno) {
	op, arg := a.Int(0), a.Uint(1)
	if used, ok := prctlUsed[op]; ok {
		for _, x := range a[1+used : 5] {
			if x != 0 {
				return 0, linux.EINVAL
			}
		}
	}
	switch op {
	case linux.PR_SET_NAME:
		s, ok := t.p.mem.ReadString(emu.Addr(arg), 16)
		if !ok {
			return 0, linux.EFAULT
		}
		t.setComm(s)
		return 0, 0
	case linux.PR_GET_NAME:
		var b pack
		b.str(t.comm, 16)
		return 0, t.copyOut(emu.Addr(arg), b)
	case linux.PR_GET_TID_ADDRESS:
		return 0, t.out64(emu.Addr(arg), uint64(t.clearTID))
	case linux.PR_GET_PDEATHSIG:
		return 0, t.out32(emu.Addr(arg), uint32(t.pdeathsig))
	case linux.PR_GET_CHILD_SUBREAPER:
		return 0, t.out32(emu.Addr(arg), uint32(t.p.subreaper))
	case linux.PR_SET_VMA, linux.PR_SET_PTRACER, linux.PR_GET_SECCOMP, linux.PR_GET_TIMING:
		return 0, 0
	case linux.PR_GET_SECUREBITS:
		const keepCaps = 4
		return t.keepCaps << keepCaps, 0
	case linux.PR_TASK_PERF_EVENTS_DISABLE, linux.PR_TASK_PERF_EVENTS_ENABLE:
		return 0, 0 // there are no events
	case linux.PR_SET_MM:
		const auxv, exeMap, mapSize = 12, 14, 15
		if a.Uint(4) != 0 || a.Uint(3) != 0 && arg != auxv && arg != exeMap && arg != mapSize {
			return 0, linux.EINVAL
		}
		return 0, linux.EPERM
	case linux.PR_SET_SECUREBITS, linux.PR_CAPBSET_DROP, linux.PR_SET_IO_FLUSHER, linux.PR_GET_IO_FLUSHER:
		return 0, linux.EPERM
	case linux.PR_CAPBSET_READ, linux.PR_CAP_AMBIENT, linux.PR_MCE_KILL, linux.PR_MCE_KILL_GET, linux.PR_SET_TIMING, linux.PR_GET_TSC, linux.PR_SET_TSC:
		return t.prctlFixed(op, a)
	}
	return t.prctlSetting(op, arg)
}

// prctlFixed does the operations on what cannot be another way here.
func (t *Thread) prctlFixed(op int, a Args) (uint64, linux.Errno) {
	const tscEnable, mceDefault = 1, 2
	arg := a.Uint(1)
	switch op {
	case linux.PR_CAPBSET_READ:
		if arg > lastCap {
			return 0, linux.EINVAL
		}
	case linux.PR_CAP_AMBIENT:
		return 0, capAmbient(arg, a.Uint(2))
	case linux.PR_MCE_KILL:
		const clear, set = 0, 1
		if arg > set || arg == clear && a.Uint(2) != 0 || arg == set && a.Uint(2) > mceDefault {
			return 0, linux.EINVAL
		}
	case linux.PR_MCE_KILL_GET:
		return mceDefault, 0
	case linux.PR_SET_TIMING:
		if arg != 0 { // PR_TIMING_STATISTICAL
			return 0, linux.EINVAL
		}
	case linux.PR_GET_TSC:
		return 0, t.out32(emu.Addr(arg), tscEnable)
	case linux.PR_SET_TSC:
		if arg != tscEnable {
			return 0, linux.EINVAL
		}
	}
	return 0, 0
}

// capAmbient is PR_CAP_AMBIENT: no capability can be raised, since none is there.
func capAmbient(op, c uint64) linux.Errno {
	const isSet, raise, lower, clearAll = 1, 2, 3, 4
	switch {
	case op == clearAll && c == 0:
		return 0
	case op < isSet || op > lower || c > lastCap:
		return linux.EINVAL
	case op == raise:
		return linux.EPERM
	}
	return 0
}

// prctlSetting does the operations that set or get a variable.
func (t *Thread) prctlSetting(op int, arg uint64) (uint64, linux.Errno) {
	v := t.setting(op)
	if v == nil {
		return 0, linux.EINVAL
	}
	switch op {
	case linux.PR_GET_DUMPABLE, linux.PR_GET_TIMERSLACK, linux.PR_GET_NO_NEW_PRIVS, linux.PR_GET_THP_DISABLE, linux.PR_GET_KEEPCAPS:
		return *v, 0
	case linux.PR_SET_DUMPABLE, linux.PR_SET_KEEPCAPS:
		if arg > 1 {
			return 0, linux.EINVAL
		}
	case linux.PR_SET_NO_NEW_PRIVS:
		if arg != 1 {
			return 0, linux.EINVAL
		}
	case linux.PR_SET_THP_DISABLE, linux.PR_SET_CHILD_SUBREAPER:
		arg = min(arg, 1)
	case linux.PR_SET_TIMERSLACK:
		if arg == 0 {
			arg = t.defaultSlack
		}
	case linux.PR_SET_PDEATHSIG:
		if arg > linux.NSIG {
			return 0, linux.EINVAL
		}
	}
	*v = arg
	return 0, 0
}

// setting is the variable that a pair of prctl operations sets and gets.
func (t *Thread) setting(op int) *uint64 {
	switch op {
	case linux.PR_GET_DUMPABLE, linux.PR_SET_DUMPABLE:
		return &t.p.dumpable
	case linux.PR_GET_TIMERSLACK, linux.PR_SET_TIMERSLACK:
		return &t.timerSlack
	case linux.PR_GET_KEEPCAPS, linux.PR_SET_KEEPCAPS:
		return &t.keepCaps
	case linux.PR_GET_NO_NEW_PRIVS, linux.PR_SET_NO_NEW_PRIVS:
		return &t.p.noNewPriv
	case linux.PR_GET_THP_DISABLE, linux.PR_SET_THP_DISABLE:
		return &t.p.thpOff
	case linux.PR_SET_PDEATHSIG:
		return &t.pdeathsig
	case linux.PR_SET_CHILD_SUBREAPER:
		return &t.p.subreaper
	}
	return nil
}
