package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysUname implements uname(2).
func sysUname(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	var b linux.Pack
	for _, s := range []string{"Linux", task.HostName, task.UnameRelease, task.UnameVersion, "x86_64", "(none)"} {
		b.Str(s, 65)
	}
	return 0, t.CopyOut(a.Addr(0), b)
}

// sysGetrlimit implements getrlimit(2).
func sysGetrlimit(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(0) >= linux.RLIM_NLIMITS {
		return 0, linux.EINVAL
	}
	return 0, t.CopyOut(a.Addr(1), t.Process.Limits[a.U32(0)].Encode())
}

// sysSetrlimit implements setrlimit(2).
func sysSetrlimit(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return t.SetLimit(t.Process, a.U32(0), a.Addr(1))
}

// sysPrlimit64 implements prlimit(2).
func sysPrlimit64(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Addr(2) != 0 {
		if _, e := t.CopyIn(a.Addr(2), 16); e != 0 {
			return 0, e
		}
	}
	p := named(t, a.Int(0))
	if p == nil {
		return 0, linux.ESRCH
	}
	if a.U32(1) >= linux.RLIM_NLIMITS {
		return 0, linux.EINVAL
	}
	old := p.Limits[a.U32(1)].Encode()
	if a.Addr(2) != 0 {
		if _, e := t.SetLimit(p, a.U32(1), a.Addr(2)); e != 0 {
			return 0, e
		}
	}
	return 0, t.CopyOutIf(a.Addr(3), old)
}

// sysSysinfo implements sysinfo(2).
func sysSysinfo(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	var b linux.Pack
	b.I64(t.Kernel.Now() / 1e9)
	b.Zero(24) // loads
	b.U64(task.MemTotal)
	b.U64(task.MemTotal / 2)
	b.Zero(32) // shared, buffers, swap
	b.U16(1)   // processes
	b.Zero(22)
	b.U32(1) // unit
	b.Zero(4)
	return 0, t.CopyOut(a.Addr(0), b)
}

// sysGetcpu implements getcpu(2): the first CPU that the thread may run on, and node 0.
func sysGetcpu(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	var cpu linux.Pack
	cpu.U32(uint32(t.Cpus().First()))
	if e := t.CopyOutIf(a.Addr(0), cpu); e != 0 {
		return 0, e
	}
	return 0, t.CopyOutIf(a.Addr(1), make([]byte, 4))
}

// sysArchPrctl implements arch_prctl(2).
func sysArchPrctl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	switch addr := a.Uint(1); a.Int(0) {
	case linux.ARCH_SET_FS, linux.ARCH_SET_GS:
		if addr >= uio.TaskSize {
			return 0, linux.EPERM
		}
		if a.Int(0) == linux.ARCH_SET_FS {
			t.CPU.FSBase = addr
		} else {
			t.CPU.GSBase = addr
		}
		return 0, 0
	case linux.ARCH_GET_FS:
		return 0, t.Out64(a.Addr(1), t.CPU.FSBase)
	case linux.ARCH_GET_GS:
		return 0, t.Out64(a.Addr(1), t.CPU.GSBase)
	}
	// CET, CPUID faulting and others are not supported: the answer is that of a kernel that does not know them.
	return 0, linux.EINVAL
}

// sysSetTidAddress implements set_tid_address(2).
func sysSetTidAddress(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	t.ClearTID = a.Addr(0)
	return uint64(t.TID), 0
}

// sysExit implements exit(2), which ends one thread.
func sysExit(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	t.Exit(a.Int(0) & 0xff)
	return 0, task.ENoReturn
}

// sysExitGroup implements exit_group(2).
func sysExitGroup(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	t.Process.End(task.Exit{Code: a.Int(0) & 0xff})
	return 0, task.ENoReturn
}

// sysPersonality implements personality(2). It knows Linux alone, with all flags.
func sysPersonality(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	old := uint64(t.Process.Persona)
	switch p := a.U32(0); {
	case p == 1<<32-1:
	case p&^0x7ff0000 != 0:
		return 0, linux.EINVAL
	default:
		t.Process.Persona = p
	}
	return old, 0
}
