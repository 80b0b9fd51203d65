package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An rlimit is a limit of getrlimit(2): the one in force, and how far a process may raise it.
type rlimit struct{ Cur, Max uint64 }

// defaultLimits are those of a usual login, the same on every host.
var defaultLimits = [linux.RLIM_NLIMITS]rlimit{
	linux.RLIMIT_CPU:        {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_FSIZE:      {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_DATA:       {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_STACK:      {8 << 20, linux.RLIM_INFINITY},
	linux.RLIMIT_CORE:       {0, linux.RLIM_INFINITY},
	linux.RLIMIT_RSS:        {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_NPROC:      {31_000, 31_000},
	linux.RLIMIT_NOFILE:     {1024, MaxFiles},
	linux.RLIMIT_MEMLOCK:    {8 << 20, 8 << 20},
	linux.RLIMIT_AS:         {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_LOCKS:      {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
	linux.RLIMIT_SIGPENDING: {31_000, 31_000},
	linux.RLIMIT_MSGQUEUE:   {819_200, 819_200},
	linux.RLIMIT_NICE:       {0, 0},
	linux.RLIMIT_RTPRIO:     {0, 0},
	linux.RLIMIT_RTTIME:     {linux.RLIM_INFINITY, linux.RLIM_INFINITY},
}

// MaxFiles is the hard limit of open files.
const MaxFiles = 1 << 20

// reservedFiles is how many of the host's descriptors cgemu itself may need; where there are few, half of them.
const reservedFiles = 256

// hostFiles is how many files a process may have open whatever its limit is, since every open host file takes one of
// the host's descriptors.
func hostFiles() uint64 {
	all := host.FileLimit()
	return min(all-min(reservedFiles, all/2), MaxFiles)
}

// Encode is l as a struct rlimit64.
func (l rlimit) Encode() []byte {
	var b linux.Pack
	b.U64(l.Cur)
	b.U64(l.Max)
	return b
}

// SetLimit reads a struct rlimit64 at at and makes it p's limit of resource res.
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

// watchCPU makes RLIMIT_CPU act from now on: SIGXCPU at the soft limit and at each second after it, SIGKILL at the hard
// limit (kernel/time/posix-cpu-timers.c, check_process_timers).
func (p *Process) watchCPU() {
	const second = 1_000_000_000
	p.Kernel.Disarm(&p.cpuLimit)
	l := &p.Limits[linux.RLIMIT_CPU]
	if l.Cur == linux.RLIM_INFINITY && l.Max == linux.RLIM_INFINITY {
		return
	}
	at := int64(Never)
	if next := l.Cur; next < MaxSeconds {
		at = int64(next) * second
	}
	p.cpuLimit = Timer{Process: p, CPU: &cpuClock{Process: p}, cpuTarget: at}
	p.cpuLimit.Fire = func(uint64) {
		s := &SigInfo{Signo: linux.SIGXCPU, Code: linux.SI_KERNEL, preferred: p.Kernel.Current}
		if used := uint64(p.Usage().Total() / second); used >= l.Max {
			s.Signo = linux.SIGKILL
		} else {
			l.Cur++
			p.watchCPU()
		}
		p.Send(s)
	}
	p.Kernel.Timers = append(p.Kernel.Timers, &p.cpuLimit)
}

// stackCounts is how much of a stack counts as mapped: Linux maps stacks page by page as they grow, cgemu all at once.
const stackCounts = 132 << 10

// isData reports whether v counts for RLIMIT_DATA: it is private and writable ("data_vm" in mm/mmap.c).
func isData(v *mem.VMA) bool { return v.Prot&mem.Write != 0 && !v.Shared && !v.GrowsDown }

// MayMap reports whether p may map all more bytes, data of them private and writable, within RLIMIT_AS and RLIMIT_DATA.
// With data <= 0, RLIMIT_DATA is not looked at.
func (p *Process) MayMap(all, data int64) bool {
	as, ds := p.Limits[linux.RLIMIT_AS].Cur, p.Limits[linux.RLIMIT_DATA].Cur
	if as == linux.RLIM_INFINITY && ds == linux.RLIM_INFINITY {
		return true
	}
	moreData := data > 0
	for _, v := range p.Mem.VMAs() {
		n := int64(v.Len())
		if v.GrowsDown {
			n = min(n, stackCounts)
		}
		all += n
		if isData(&v) {
			data += n
		}
	}
	return uint64(all) <= as && (!moreData || uint64(data) <= ds)
}

// mappedIn is how many bytes of [lo, hi) are mapped, and how many of these are data (isData).
func (p *Process) mappedIn(lo, hi emu.Addr) (all, data int64) {
	for _, v := range p.Mem.Within(lo, hi) {
		n := int64(min(hi, v.Hi) - max(lo, v.Lo))
		all += n
		if isData(&v) {
			data += n
		}
	}
	return all, data
}

// MayMapOver reports whether v may be mapped in place of what is there, within the limits of MayMap.
func (p *Process) MayMapOver(v *mem.VMA) bool {
	old, oldData := p.mappedIn(v.Lo, v.Hi)
	data := int64(0)
	if isData(v) {
		data = int64(v.Len())
	}
	return p.MayMap(int64(v.Len())-old, data-oldData)
}

// MayResize reports whether v may grow by n bytes, within the limits of MayMap.
func (p *Process) MayResize(v *mem.VMA, n int64) bool {
	if isData(v) {
		return p.MayMap(n, n)
	}
	return p.MayMap(n, 0)
}

// MayProtect reports whether the mappings in [lo, hi) may get prot, within RLIMIT_DATA.
func (p *Process) MayProtect(lo, hi emu.Addr, prot mem.Prot) bool {
	more := int64(0)
	for _, v := range p.Mem.Within(lo, hi) {
		was := isData(&v)
		v.Prot = prot
		if !was && isData(&v) {
			more += int64(min(hi, v.Hi) - max(lo, v.Lo))
		}
	}
	return more == 0 || p.MayMap(0, more)
}

// Locked is how many bytes of p's memory are locked. Nothing is ever swapped out, so locking has no other effect.
func (p *Process) Locked() (n uint64) {
	for _, v := range p.Vmas() {
		if v.Locked {
			n += v.Len()
		}
	}
	return n
}

// mayClone reports whether RLIMIT_NPROC allows another thread or process. Zombies count, too.
func (p *Process) mayClone() bool {
	limit := p.Limits[linux.RLIMIT_NPROC].Cur
	if limit == linux.RLIM_INFINITY {
		return true
	}
	if p.Kernel.IDs < limit {
		return true // so many have never been made
	}
	n := uint64(0)
	for _, o := range p.Kernel.Processes {
		n += uint64(o.Live())
	}
	return n < limit
}

// QueuedSignals is what RLIMIT_SIGPENDING limits: the queued signals, and the timers that may have to queue one.
func (k *Kernel) QueuedSignals() (n uint64) {
	for _, p := range k.Processes {
		n += uint64(len(p.Pending.infos))
		for _, t := range p.Threads {
			n += uint64(len(t.Pending.infos))
		}
		for _, pt := range p.Posix {
			if !pt.queued {
				n++
			}
		}
	}
	return n
}

// queue puts s into q, the queue of p or of one of its threads. Beyond RLIMIT_SIGPENDING, a signal sent by a process
// loses its siginfo, and a real-time signal is refused (kernel/signal.c, __send_signal_locked).
func (p *Process) queue(q *SigQueue, s *SigInfo) linux.Errno {
	sig := int(s.Signo)
	if s.Timer == nil && (sig >= linux.SIGRTMIN || s.Code < 0) && p.Kernel.QueuedSignals() >= p.Limits[linux.RLIMIT_SIGPENDING].Cur {
		if sig >= linux.SIGRTMIN && s.Code != linux.SI_USER {
			return linux.EAGAIN
		}
		if q.Set.Has(sig) {
			return 0
		}
		s = &SigInfo{Signo: s.Signo}
	}
	if q.add(s) {
		p.Signalled++
	}
	return 0
}
