package syscalls

import (
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// What uname(2) says of the virtual machine. The release is one that has every
// call in the table that glibc asks for by version.
const (
	unameRelease = "6.12.0-cgemu"
	unameVersion = "#1 SMP cgemu"
)

// sysUname implements uname(2).
func sysUname(t *Thread, a Args) (uint64, linux.Errno) {
	var b pack
	for _, s := range []string{"Linux", hostName, unameRelease, unameVersion, "x86_64", "(none)"} {
		b.str(s, 65)
	}
	return 0, t.copyOut(a.Addr(0), b)
}

type rlimit struct{ cur, max uint64 }

// defaultLimits are those of a usual login, the same on every host.
var defaultLimits = [linux.RLIM_NLIMITS]rlimit{
	linux.RLIMIT_CPU:        {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_FSIZE:      {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_DATA:       {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_STACK:      {8 << 20, linux.RLIM_INFINITY},
	linux.RLIMIT_CORE:       {0, linux.RLIM_INFINITY},
	5:                       {linux.RLIM_INFINITY, linux.RLIM_INFINITY}, // RSS
	linux.RLIMIT_NPROC:      {31_000, 31_000},
	linux.RLIMIT_NOFILE:     {1024, maxFiles}, // see fileLimit
	linux.RLIMIT_MEMLOCK:    {8 << 20, 8 << 20},
	linux.RLIMIT_AS:         {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	10:                      {linux.RLIM_INFINITY, linux.RLIM_INFINITY}, // LOCKS
	linux.RLIMIT_SIGPENDING: {31_000, 31_000},                           // SIGPENDING
	12:                      {819_200, 819_200},                         // MSGQUEUE
	13:                      {0, 0},                                     // NICE
	14:                      {0, 0},                                     // RTPRIO
	15:                      {linux.RLIM_INFINITY, linux.RLIM_INFINITY}, // RTTIME
}

// maxFiles is RLIMIT_NOFILE's hard limit where the host has as many descriptors, and those that we need besides:
// reservedFiles.
const (
	maxFiles      = 1 << 20
	reservedFiles = 256
)

// fileLimit is RLIMIT_NOFILE at the start. Every open file of the host takes one of its descriptors.
func fileLimit() rlimit {
	all := hostFileLimit()
	if all > reservedFiles {
		all -= reservedFiles
	}
	hard := min(all, maxFiles)
	return rlimit{min(defaultLimits[linux.RLIMIT_NOFILE].cur, hard), hard}
}

func (l rlimit) encode() []byte {
	var b pack
	b.u64(l.cur)
	b.u64(l.max)
	return b
}

// sysGetrlimit implements getrlimit(2).
func sysGetrlimit(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(0) >= linux.RLIM_NLIMITS {
		return 0, linux.EINVAL
	}
	return 0, t.copyOut(a.Addr(1), t.p.limits[a.U32(0)].encode())
}

// sysSetrlimit implements setrlimit(2).
func sysSetrlimit(t *Thread, a Args) (uint64, linux.Errno) {
	return t.setLimit(t.p, a.U32(0), a.Addr(1))
}

func (t *Thread) setLimit(p *Process, res uint32, at emu.Addr) (uint64, linux.Errno) {
	b, e := t.copyIn(at, 16)
	if e != 0 {
		return 0, e
	}
	if res >= linux.RLIM_NLIMITS {
		return 0, linux.EINVAL
	}
	l := rlimit{le64(b), le64(b[8:])}
	switch {
	case l.cur > l.max:
		return 0, linux.EINVAL
	case l.max > p.limits[res].max:
		return 0, linux.EPERM
	}
	if p.limits[res] = l; res == linux.RLIMIT_CPU {
		p.watchCPU()
	}
	return 0, 0
}

// sysPrlimit64 implements prlimit(2).
func sysPrlimit64(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Addr(2) != 0 {
		if _, e := t.copyIn(a.Addr(2), 16); e != 0 {
			return 0, e
		}
	}
	p := t.named(a.Int(0))
	if p == nil {
		return 0, linux.ESRCH
	}
	if a.U32(1) >= linux.RLIM_NLIMITS {
		return 0, linux.EINVAL
	}
	old := p.limits[a.U32(1)].encode()
	if a.Addr(2) != 0 {
		if _, e := t.setLimit(p, a.U32(1), a.Addr(2)); e != 0 {
			return 0, e
		}
	}
	return 0, t.copyOutIf(a.Addr(3), old)
}

// memTotal is the virtual machine's memory; half of it is free.
const memTotal = 8 << 30

// sysSysinfo implements sysinfo(2).
func sysSysinfo(t *Thread, a Args) (uint64, linux.Errno) {
	var b pack
	b.i64(t.k.now() / 1e9)
	b.zero(24) // loads
	b.u64(memTotal)
	b.u64(memTotal / 2)
	b.zero(32) // shared, buffers, swap
	b.u16(1)   // processes
	b.zero(22)
	b.u32(1) // unit
	b.zero(4)
	return 0, t.copyOut(a.Addr(0), b)
}

// sysGetcpu implements getcpu(2): the first CPU the thread may run on, and node 0.
func sysGetcpu(t *Thread, a Args) (uint64, linux.Errno) {
	var cpu pack
	cpu.u32(uint32(t.cpus().first()))
	if e := t.copyOutIf(a.Addr(0), cpu); e != 0 {
		return 0, e
	}
	return 0, t.copyOutIf(a.Addr(1), make([]byte, 4))
}

// sysArchPrctl implements arch_prctl(2).
func sysArchPrctl(t *Thread, a Args) (uint64, linux.Errno) {
	switch addr := a.Uint(1); a.Int(0) {
	case linux.ARCH_SET_FS, linux.ARCH_SET_GS:
		if addr >= taskSize {
			return 0, linux.EPERM
		}
		if a.Int(0) == linux.ARCH_SET_FS {
			t.cpu.FSBase = addr
		} else {
			t.cpu.GSBase = addr
		}
		return 0, 0
	case linux.ARCH_GET_FS:
		return 0, t.out64(a.Addr(1), t.cpu.FSBase)
	case linux.ARCH_GET_GS:
		return 0, t.out64(a.Addr(1), t.cpu.GSBase)
	}
	// CET, CPUID faulting and the like: an older kernel's answer.
	return 0, linux.EINVAL
}

// sysSetTidAddress implements set_tid_address(2).
func sysSetTidAddress(t *Thread, a Args) (uint64, linux.Errno) {
	t.clearTID = a.Addr(0)
	return uint64(t.tid), 0
}

// sysExit implements exit(2), which ends one thread.
func sysExit(t *Thread, a Args) (uint64, linux.Errno) {
	t.exit(a.Int(0) & 0xff)
	return 0, eNoReturn
}

// sysExitGroup implements exit_group(2).
func sysExitGroup(t *Thread, a Args) (uint64, linux.Errno) {
	t.p.end(Exit{Code: a.Int(0) & 0xff})
	return 0, eNoReturn
}

// exit ends t, and its process with the last thread.
func (t *Thread) exit(code int) {
	t.dead = true
	t.releaseLocks()
	t.clearChildTID()
	t.files.leave(t.k)
	if t.p.forget(t); len(t.p.threads) > 1 || !t.p.threads[0].dead {
		return
	}
	t.p.end(Exit{Code: code})
}

// clearChildTID tells others in t's memory that t has ended (set_tid_address(2)).
func (t *Thread) clearChildTID() {
	if t.clearTID == 0 {
		return
	}
	t.out32(t.clearTID, 0)
	if key, e := t.futexKey(t.clearTID, 0); e == 0 {
		t.k.wakeFutex(key, 1, linux.FUTEX_BITSET_MATCH_ANY)
	}
}

// sysPersonality implements personality(2), for Linux with any flags.
func sysPersonality(t *Thread, a Args) (uint64, linux.Errno) {
	old := uint64(t.p.persona)
	switch p := a.U32(0); {
	case p == 1<<32-1:
	case p&^0x7ff0000 != 0:
		return 0, linux.EINVAL
	default:
		t.p.persona = p
	}
	return old, 0
}

// cmdline joins strings as /proc/self/cmdline and environ have them.
func cmdline(list []string) []byte {
	if len(list) == 0 {
		return nil
	}
	return []byte(strings.Join(list, "\x00") + "\x00")
}
