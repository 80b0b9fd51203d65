package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysPrctl implements prctl(2) for names and small settings.
func sysPrctl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	op, arg := a.Int(0), a.Uint(1)
	if used, ok := task.PrctlUsed[op]; ok {
		for _, x := range a[1+used : 5] {
			if x != 0 {
				return 0, linux.EINVAL
			}
		}
	}
	switch op {
	case linux.PR_SET_NAME:
		s, ok := t.Process.Mem.ReadString(emu.Addr(arg), 16)
		if !ok {
			return 0, linux.EFAULT
		}
		t.SetComm(s)
		return 0, 0
	case linux.PR_GET_NAME:
		var b linux.Pack
		b.Str(t.Comm, 16)
		return 0, t.CopyOut(emu.Addr(arg), b)
	case linux.PR_GET_TID_ADDRESS:
		return 0, t.Out64(emu.Addr(arg), uint64(t.ClearTID))
	case linux.PR_GET_PDEATHSIG:
		return 0, t.Out32(emu.Addr(arg), uint32(t.Pdeathsig))
	case linux.PR_GET_CHILD_SUBREAPER:
		return 0, t.Out32(emu.Addr(arg), uint32(t.Process.Subreaper))
	case linux.PR_SET_VMA, linux.PR_SET_PTRACER, linux.PR_GET_SECCOMP, linux.PR_GET_TIMING:
		return 0, 0
	case linux.PR_GET_SECUREBITS:
		const keepCaps = 4
		return t.KeepCaps << keepCaps, 0
	case linux.PR_TASK_PERF_EVENTS_DISABLE, linux.PR_TASK_PERF_EVENTS_ENABLE:
		return 0, 0 // there are no performance events to switch
	case linux.PR_SET_MM:
		return 0, setMM(t, arg, a)
	case linux.PR_SET_SECUREBITS, linux.PR_CAPBSET_DROP, linux.PR_SET_IO_FLUSHER, linux.PR_GET_IO_FLUSHER:
		return 0, linux.EPERM
	case linux.PR_CAPBSET_READ, linux.PR_CAP_AMBIENT, linux.PR_MCE_KILL, linux.PR_MCE_KILL_GET, linux.PR_SET_TIMING, linux.PR_GET_TSC, linux.PR_SET_TSC:
		return t.PrctlFixed(op, a)
	}
	return t.PrctlSetting(op, arg)
}

// setMM is PR_SET_MM. Where the parts of a process lie cannot be told to the guest's kernel, as it cannot without
// privileges; what Linux looks at before that is looked at.
func setMM(t *task.Thread, op uint64, a uio.Args) linux.Errno {
	const auxv, wholeMap, mapSize, sizeOfMap, addresses, lowest = 12, 14, 15, 104, 11, 65536
	switch {
	case a.Uint(4) != 0 || a.Uint(3) != 0 && op != auxv && op != wholeMap && op != mapSize:
		return linux.EINVAL
	case op == mapSize:
		return t.Out32(a.Addr(2), sizeOfMap)
	case op == wholeMap && a.Uint(3) != sizeOfMap:
		return linux.EINVAL
	case op == wholeMap:
		b, e := t.CopyIn(a.Addr(2), sizeOfMap)
		if e != 0 {
			return e
		}
		for i := range addresses {
			if at := linux.Uint64(b[8*i:]); at < lowest || at >= uio.TaskSize {
				return linux.EINVAL
			}
		}
	}
	return linux.EPERM
}
