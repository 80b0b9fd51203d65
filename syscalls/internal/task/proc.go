package task

import (
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// What uname(2) says of the virtual machine. The release is one that has every
// call in the table that glibc asks for by version.
const (
	UnameRelease = "6.12.0-cgemu"
	UnameVersion = "#1 SMP cgemu"
)

type rlimit struct{ Cur, Max uint64 }

// defaultLimits are those of a usual login, the same on every host.
var defaultLimits = [linux.RLIM_NLIMITS]rlimit{
	linux.RLIMIT_CPU:        {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_FSIZE:      {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_DATA:       {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_STACK:      {8 << 20, linux.RLIM_INFINITY},
	linux.RLIMIT_CORE:       {0, linux.RLIM_INFINITY},
	5:                       {linux.RLIM_INFINITY, linux.RLIM_INFINITY}, // RSS
	linux.RLIMIT_NPROC:      {31_000, 31_000},
	linux.RLIMIT_NOFILE:     {1024, MaxFiles}, // see FileLimit
	linux.RLIMIT_MEMLOCK:    {8 << 20, 8 << 20},
	linux.RLIMIT_AS:         {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	10:                      {linux.RLIM_INFINITY, linux.RLIM_INFINITY}, // LOCKS
	linux.RLIMIT_SIGPENDING: {31_000, 31_000},                           // SIGPENDING
	12:                      {819_200, 819_200},                         // MSGQUEUE
	13:                      {0, 0},                                     // NICE
	14:                      {0, 0},                                     // RTPRIO
	15:                      {linux.RLIM_INFINITY, linux.RLIM_INFINITY}, // RTTIME
}

// MaxFiles is RLIMIT_NOFILE's hard limit where the host has as many descriptors, and those that we need besides:
// ReservedFiles.
const (
	MaxFiles      = 1 << 20
	ReservedFiles = 256
)

// FileLimit is RLIMIT_NOFILE at the start. Every open file of the host takes one of its descriptors.
func FileLimit() rlimit {
	all := host.FileLimit()
	if all > ReservedFiles {
		all -= ReservedFiles
	}
	hard := min(all, MaxFiles)
	return rlimit{min(defaultLimits[linux.RLIMIT_NOFILE].Cur, hard), hard}
}

func (l rlimit) Encode() []byte {
	var b linux.Pack
	b.U64(l.Cur)
	b.U64(l.Max)
	return b
}

func (t *Thread) SetLimit(p *Process, res uint32, at emu.Addr) (uint64, linux.Errno) {
	b, e := t.CopyIn(at, 16)
	if e != 0 {
		return 0, e
	}
	if res >= linux.RLIM_NLIMITS {
		return 0, linux.EINVAL
	}
	l := rlimit{linux.Uint64(b), linux.Uint64(b[8:])}
	switch {
	case l.Cur > l.Max:
		return 0, linux.EINVAL
	case l.Max > p.Limits[res].Max:
		return 0, linux.EPERM
	}
	if p.Limits[res] = l; res == linux.RLIMIT_CPU {
		p.watchCPU()
	}
	return 0, 0
}

// MemTotal is the virtual machine's memory; half of it is free.
const MemTotal = 8 << 30

// Exit ends t, and its process with the last thread.
func (t *Thread) Exit(code int) {
	t.Dead = true
	t.releaseLocks()
	t.clearChildTID()
	t.Files.Leave(t.Kernel)
	if t.Process.removeThread(t); len(t.Process.Threads) > 1 || !t.Process.Threads[0].Dead {
		return
	}
	t.Process.End(Exit{Code: code})
}

// clearChildTID tells others in t's memory that t has ended (set_tid_address(2)).
func (t *Thread) clearChildTID() {
	if t.ClearTID == 0 {
		return
	}
	t.Out32(t.ClearTID, 0)
	if key, e := t.FutexKey(t.ClearTID, 0); e == 0 {
		t.Kernel.wakeFutex(key, 1, linux.FUTEX_BITSET_MATCH_ANY)
	}
}

// Cmdline joins strings as /proc/self/cmdline and environ have them.
func Cmdline(list []string) []byte {
	if len(list) == 0 {
		return nil
	}
	return []byte(strings.Join(list, "\x00") + "\x00")
}
