package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Locked is how many bytes of p's memory are locked. Nothing is ever swapped: that they are counted is all that it means.
func (p *Process) Locked() (n uint64) {
	for _, v := range p.Vmas() {
		if v.Locked {
			n += v.Len()
		}
	}
	return n
}

// growStack makes the memory above a, if it was made with MAP_GROWSDOWN, grow down to a's page. Another mapping must be far
// enough below (stack_guard_gap), and RLIMIT_STACK allow it.
func (p *Process) growStack(a emu.Addr) bool {
	const guardGap = 256 * emu.PageSize
	if a < mem.MinAddr || a >= p.Mem.Limit() {
		return false
	}
	above := p.Mem.Within(a, p.Mem.Limit())
	if len(above) == 0 || !above[0].GrowsDown || above[0].Lo <= a {
		return false
	}
	v, lo := above[0], a.PageDown()
	if uint64(v.Hi-lo) > p.Limits[linux.RLIMIT_STACK].Cur {
		return false
	}
	for _, below := range p.Mem.Within(lo-min(lo, guardGap), lo) {
		if below.Prot != 0 && !below.GrowsDown {
			return false
		}
	}
	v.Lo, v.Hi = lo, v.Lo
	return p.MayMapOver(&v) && p.Mem.Map(v, nil) == nil
}

// Limits of resources that act (getrlimit(2)), but for RLIMIT_NOFILE and RLIMIT_STACK.

// stackCounts is what a stack counts of a process' memory: Linux maps it page by page, as it grows, we at once.
const stackCounts = 132 << 10

// isData says whether RLIMIT_DATA has to do with v: "data_vm", as mm/mmap.c has it.
func isData(v *mem.VMA) bool { return v.Prot&mem.Write != 0 && !v.Shared && !v.GrowsDown }

// MayMap says whether p's memory may be all bytes more, and of that data more private and writable: RLIMIT_AS and
// RLIMIT_DATA, which does not matter if data is not more than 0.
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

// mappedIn adds up what of [lo, hi) is mapped, and what of that is data.
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

// MayMapOver says whether v, which takes the place of what is there, is within the limits of p's memory.
func (p *Process) MayMapOver(v *mem.VMA) bool {
	old, oldData := p.mappedIn(v.Lo, v.Hi)
	data := int64(0)
	if isData(v) {
		data = int64(v.Len())
	}
	return p.MayMap(int64(v.Len())-old, data-oldData)
}

// MayResize says whether v may have n bytes more.
func (p *Process) MayResize(v *mem.VMA, n int64) bool {
	if isData(v) {
		return p.MayMap(n, n)
	}
	return p.MayMap(n, 0)
}

// MayProtect says whether private memory in [lo, hi) may become writable.
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

// mayClone says whether there may be another thread or process: RLIMIT_NPROC, which counts what is not waited for yet, too.
func (p *Process) mayClone() bool {
	limit := p.Limits[linux.RLIMIT_NPROC].Cur
	if limit == linux.RLIM_INFINITY {
		return true
	}
	if p.Kernel.IDs < limit {
		return true // there were not so many ever
	}
	n := uint64(0)
	for _, o := range p.Kernel.Processes {
		n += uint64(o.Live())
	}
	return n < limit
}

// QueuedSignals is how many signals are queued with what they say, and timers that have one to send.
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

// queue puts s into q, which is p's or one of its threads'. Past RLIMIT_SIGPENDING, signals of processes and real-time
// signals lose what they say, or are refused (kernel/signal.c, __send_signal_locked).
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
