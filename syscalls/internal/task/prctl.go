package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// LastCap is the last capability there is (CAP_LAST_CAP).
const LastCap = 40

// PrctlUsed is how many arguments an operation of prctl(2) has, for those that insist on the others being 0.
var PrctlUsed = map[int]int{
	linux.PR_SET_NO_NEW_PRIVS: 1, linux.PR_GET_NO_NEW_PRIVS: 0, linux.PR_SET_THP_DISABLE: 1, linux.PR_GET_THP_DISABLE: 0,
	linux.PR_CAP_AMBIENT: 2, linux.PR_MCE_KILL: 2, linux.PR_MCE_KILL_GET: 0,
}

// An mcePolicy is when a thread is killed because of an error of the memory, of which there are none here: as is usual,
// unless own is set.
type mcePolicy struct{ own, early bool }

const mceLate, mceEarly, mceDefault = 0, 1, 2

// set is PR_MCE_KILL. A policy that there is not is refused after the thread has got one of its own.
func (m *mcePolicy) set(op, policy uint64) linux.Errno {
	const clear, set = 0, 1
	if op > set || op == clear && policy != 0 {
		return linux.EINVAL
	}
	if m.own = op == set; !m.own {
		return 0
	}
	switch policy {
	case mceLate, mceEarly:
		m.early = policy == mceEarly
	case mceDefault:
		*m = mcePolicy{}
	default:
		return linux.EINVAL
	}
	return 0
}

// get is PR_MCE_KILL_GET.
func (m *mcePolicy) get() uint64 {
	switch {
	case !m.own:
		return mceDefault
	case m.early:
		return mceEarly
	}
	return mceLate
}

// PrctlFixed does the operations of prctl(2) on what cannot be changed in the virtual machine, or changes nothing
// there.
func (t *Thread) PrctlFixed(op int, a uio.Args) (uint64, linux.Errno) {
	const tscEnable = 1
	arg := a.Uint(1)
	switch op {
	case linux.PR_CAPBSET_READ:
		if arg > LastCap {
			return 0, linux.EINVAL
		}
	case linux.PR_CAP_AMBIENT:
		return 0, capAmbient(arg, a.Uint(2))
	case linux.PR_MCE_KILL:
		return 0, t.mceKill.set(arg, a.Uint(2))
	case linux.PR_MCE_KILL_GET:
		return t.mceKill.get(), 0
	case linux.PR_SET_TIMING:
		if arg != 0 { // PR_TIMING_STATISTICAL
			return 0, linux.EINVAL
		}
	case linux.PR_GET_TSC:
		return 0, t.Out32(emu.Addr(arg), tscEnable)
	case linux.PR_SET_TSC:
		if arg != tscEnable {
			return 0, linux.EINVAL
		}
	}
	return 0, 0
}

// capAmbient is PR_CAP_AMBIENT. No capability can be raised, since the guest has none.
func capAmbient(op, c uint64) linux.Errno {
	const isSet, raise, lower, clearAll = 1, 2, 3, 4
	switch {
	case op == clearAll && c == 0:
		return 0
	case op < isSet || op > lower || c > LastCap:
		return linux.EINVAL
	case op == raise:
		return linux.EPERM
	}
	return 0
}

// PrctlSetting does the operations of prctl(2) that set or get a variable.
func (t *Thread) PrctlSetting(op int, arg uint64) (uint64, linux.Errno) {
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

// setting is the variable that op sets or gets, nil if there is none.
func (t *Thread) setting(op int) *uint64 {
	switch op {
	case linux.PR_GET_DUMPABLE, linux.PR_SET_DUMPABLE:
		return &t.Process.dumpable
	case linux.PR_GET_TIMERSLACK, linux.PR_SET_TIMERSLACK:
		return &t.timerSlack
	case linux.PR_GET_KEEPCAPS, linux.PR_SET_KEEPCAPS:
		return &t.KeepCaps
	case linux.PR_GET_NO_NEW_PRIVS, linux.PR_SET_NO_NEW_PRIVS:
		return &t.Process.NoNewPriv
	case linux.PR_GET_THP_DISABLE, linux.PR_SET_THP_DISABLE:
		return &t.Process.thpOff
	case linux.PR_SET_PDEATHSIG:
		return &t.Pdeathsig
	case linux.PR_SET_CHILD_SUBREAPER:
		return &t.Process.Subreaper
	}
	return nil
}
