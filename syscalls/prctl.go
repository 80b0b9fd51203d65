package syscalls

import "github.com/cgemu/cgemu/emu"

// Operations of prctl(2).
const (
	prSetPdeathsig  = 1
	prGetPdeathsig  = 2
	prGetDumpable   = 3
	prSetDumpable   = 4
	prGetKeepcaps   = 7
	prSetKeepcaps   = 8
	prGetTiming     = 13
	prSetTiming     = 14
	prSetName       = 15
	prGetName       = 16
	prGetSeccomp    = 21
	prCapbsetRead   = 23
	prCapbsetDrop   = 24
	prGetTSC        = 25
	prSetTSC        = 26
	prGetSecurebits = 27
	prSetSecurebits = 28
	prSetTimerslack = 29
	prGetTimerslack = 30
	prPerfOff       = 31
	prPerfOn        = 32
	prMceKill       = 33
	prMceKillGet    = 34
	prSetMM         = 35
	prSetSubreaper  = 36
	prGetSubreaper  = 37
	prSetNoNewPrivs = 38
	prGetNoNewPrivs = 39
	prGetTidAddress = 40
	prSetThpDisable = 41
	prGetThpDisable = 42
	prCapAmbient    = 47
	prSetIOFlusher  = 57
	prGetIOFlusher  = 58
	prSetVMA        = 0x53564d41
	prSetPtracer    = 0x59616d61
)

// lastCap is the last capability there is (CAP_LAST_CAP).
const lastCap = 40

// prctlUsed is how many arguments an operation has that says something about the others: that they must be 0.
var prctlUsed = map[int]int{
	prSetNoNewPrivs: 1, prGetNoNewPrivs: 0, prSetThpDisable: 1, prGetThpDisable: 0, prCapAmbient: 2, prMceKill: 2, prMceKillGet: 0,
}

// sysPrctl implements prctl(2), as far as it concerns names and small settings.
func sysPrctl(t *Thread, a Args) (uint64, Errno) {
	op, arg := a.Int(0), a.Uint(1)
	if used, ok := prctlUsed[op]; ok {
		for _, x := range a[1+used : 5] {
			if x != 0 {
				return 0, EINVAL
			}
		}
	}
	switch op {
	case prSetName:
		s, ok := t.p.mem.ReadString(emu.Addr(arg), 16)
		if !ok {
			return 0, EFAULT
		}
		t.setComm(s)
		return 0, 0
	case prGetName:
		var b pack
		b.str(t.comm, 16)
		return 0, t.copyOut(emu.Addr(arg), b)
	case prGetTidAddress:
		return 0, t.out64(emu.Addr(arg), uint64(t.clearTID))
	case prGetPdeathsig:
		return 0, t.out32(emu.Addr(arg), uint32(t.pdeathsig))
	case prGetSubreaper:
		return 0, t.out32(emu.Addr(arg), uint32(t.p.subreaper))
	case prSetVMA, prSetPtracer, prGetSeccomp, prGetTiming:
		return 0, 0
	case prGetSecurebits:
		const keepCaps = 4
		return t.keepCaps << keepCaps, 0
	case prPerfOff, prPerfOn:
		return 0, 0 // there are no events
	case prSetMM:
		const auxv, exeMap, mapSize = 12, 14, 15
		if a.Uint(4) != 0 || a.Uint(3) != 0 && arg != auxv && arg != exeMap && arg != mapSize {
			return 0, EINVAL
		}
		return 0, EPERM
	case prSetSecurebits, prCapbsetDrop, prSetIOFlusher, prGetIOFlusher:
		return 0, EPERM
	case prCapbsetRead, prCapAmbient, prMceKill, prMceKillGet, prSetTiming, prGetTSC, prSetTSC:
		return t.prctlFixed(op, a)
	}
	return t.prctlSetting(op, arg)
}

// prctlFixed does the operations on what cannot be another way here.
func (t *Thread) prctlFixed(op int, a Args) (uint64, Errno) {
	const tscEnable, mceDefault = 1, 2
	arg := a.Uint(1)
	switch op {
	case prCapbsetRead:
		if arg > lastCap {
			return 0, EINVAL
		}
	case prCapAmbient:
		return 0, capAmbient(arg, a.Uint(2))
	case prMceKill:
		const clear, set = 0, 1
		if arg > set || arg == clear && a.Uint(2) != 0 || arg == set && a.Uint(2) > mceDefault {
			return 0, EINVAL
		}
	case prMceKillGet:
		return mceDefault, 0
	case prSetTiming:
		if arg != 0 { // PR_TIMING_STATISTICAL
			return 0, EINVAL
		}
	case prGetTSC:
		return 0, t.out32(emu.Addr(arg), tscEnable)
	case prSetTSC:
		if arg != tscEnable {
			return 0, EINVAL
		}
	}
	return 0, 0
}

// capAmbient is PR_CAP_AMBIENT: no capability can be raised, since none is there.
func capAmbient(op, c uint64) Errno {
	const isSet, raise, lower, clearAll = 1, 2, 3, 4
	switch {
	case op == clearAll && c == 0:
		return 0
	case op < isSet || op > lower || c > lastCap:
		return EINVAL
	case op == raise:
		return EPERM
	}
	return 0
}

// prctlSetting does the operations that set or get a variable.
func (t *Thread) prctlSetting(op int, arg uint64) (uint64, Errno) {
	v := t.setting(op)
	if v == nil {
		return 0, EINVAL
	}
	switch op {
	case prGetDumpable, prGetTimerslack, prGetNoNewPrivs, prGetThpDisable, prGetKeepcaps:
		return *v, 0
	case prSetDumpable, prSetKeepcaps:
		if arg > 1 {
			return 0, EINVAL
		}
	case prSetNoNewPrivs:
		if arg != 1 {
			return 0, EINVAL
		}
	case prSetThpDisable, prSetSubreaper:
		arg = min(arg, 1)
	case prSetTimerslack:
		if int64(arg) <= 0 {
			arg = t.defaultSlack
		}
	case prSetPdeathsig:
		if arg > sigMax {
			return 0, EINVAL
		}
	}
	*v = arg
	return 0, 0
}

// setting is the variable that a pair of prctl operations sets and gets.
func (t *Thread) setting(op int) *uint64 {
	switch op {
	case prGetDumpable, prSetDumpable:
		return &t.p.dumpable
	case prGetTimerslack, prSetTimerslack:
		return &t.timerSlack
	case prGetKeepcaps, prSetKeepcaps:
		return &t.keepCaps
	case prGetNoNewPrivs, prSetNoNewPrivs:
		return &t.p.noNewPriv
	case prGetThpDisable, prSetThpDisable:
		return &t.p.thpOff
	case prSetPdeathsig:
		return &t.pdeathsig
	case prSetSubreaper:
		return &t.p.subreaper
	}
	return nil
}
