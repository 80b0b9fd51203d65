package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Limits of resources that act (getrlimit(2)), but for RLIMIT_NOFILE and RLIMIT_STACK.

// stackCounts is what a stack counts of a process' memory: Linux maps it page by page, as it grows, we at once.
const stackCounts = 132 << 10

// isData says whether RLIMIT_DATA has to do with v: "data_vm", as mm/mmap.c has it.
func isData(v *mem.VMA) bool { return v.Prot&mem.Write != 0 && !v.Shared && !v.GrowsDown }

// mayMap says whether p's memory may be all bytes more, and of that data more private and writable: RLIMIT_AS and
// RLIMIT_DATA, which does not matter if data is not more than 0.
func (p *Process) mayMap(all, data int64) bool {
	as, ds := p.limits[linux.RLIMIT_AS].cur, p.limits[linux.RLIMIT_DATA].cur
	if as == linux.RLIM_INFINITY && ds == linux.RLIM_INFINITY {
		return true
	}
	moreData := data > 0
	for _, v := range p.mem.VMAs() {
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

// within adds up what of [lo, hi) is mapped, and what of that is data.
func (p *Process) within(lo, hi emu.Addr) (all, data int64) {
	for _, v := range p.mem.Within(lo, hi) {
		n := int64(min(hi, v.Hi) - max(lo, v.Lo))
		all += n
		if isData(&v) {
			data += n
		}
	}
	return all, data
}

// mayPlace says whether v, which takes the place of what is there, is within the limits of p's memory.
func (p *Process) mayPlace(v *mem.VMA) bool {
	old, oldData := p.within(v.Lo, v.Hi)
	data := int64(0)
	if isData(v) {
		data = int64(v.Len())
	}
	return p.mayMap(int64(v.Len())-old, data-oldData)
}

// mayResize says whether v may have n bytes more.
func (p *Process) mayResize(v *mem.VMA, n int64) bool {
	if isData(v) {
		return p.mayMap(n, n)
	}
	return p.mayMap(n, 0)
}

// mayProtect says whether private memory in [lo, hi) may become writable.
func (p *Process) mayProtect(lo, hi emu.Addr, prot mem.Prot) bool {
	more := int64(0)
	for _, v := range p.mem.Within(lo, hi) {
		was := isData(&v)
		v.Prot = prot
		if !was && isData(&v) {
			more += int64(min(hi, v.Hi) - max(lo, v.Lo))
		}
	}
	return more == 0 || p.mayMap(0, more)
}

// mayWrite says how many of n bytes may be written to h at off, or where it stands if off is negative: "The maximum size
// in bytes of files that the process may create. Attempts to extend a file beyond this limit result in delivery of
// a SIGXFSZ signal." - getrlimit(2)
func (t *Thread) mayWrite(h *hostFile, off int64, n uint64) (uint64, linux.Errno) {
	limit := t.p.limits[linux.RLIMIT_FSIZE].cur
	if limit == linux.RLIM_INFINITY || n == 0 || !h.isRegular() {
		return n, 0
	}
	switch {
	case h.flags&linux.O_APPEND != 0:
		st, e := h.fd.stat()
		if e != 0 {
			return 0, e
		}
		off = st.size
	case off < 0:
		var e linux.Errno
		if off, e = h.fd.seek(0, linux.SEEK_CUR); e != 0 {
			return 0, e
		}
	}
	if uint64(off) >= limit {
		return 0, t.tooBig()
	}
	return min(n, limit-uint64(off)), 0
}

// mayBecome is EFBIG if h may not grow to size.
func (t *Thread) mayBecome(h *hostFile, size int64) linux.Errno {
	if uint64(size) <= t.p.limits[linux.RLIMIT_FSIZE].cur {
		return 0
	}
	st, e := h.fd.stat()
	if e != 0 {
		return e
	}
	return t.mayGrow(st, size)
}

// mayGrow is mayBecome for a file of which st is known.
func (t *Thread) mayGrow(st hostStat, size int64) linux.Errno {
	if st.mode&linux.S_IFMT == linux.S_IFREG && size > st.size && uint64(size) > t.p.limits[linux.RLIMIT_FSIZE].cur {
		return t.tooBig()
	}
	return 0
}

func (t *Thread) tooBig() linux.Errno {
	t.send(infoFromProcess(t.p, linux.SIGXFSZ, linux.SI_USER))
	return linux.EFBIG
}

// mayClone says whether there may be another thread or process: RLIMIT_NPROC, which counts what is not waited for yet, too.
func (p *Process) mayClone() bool {
	limit := p.limits[linux.RLIMIT_NPROC].cur
	if limit == linux.RLIM_INFINITY {
		return true
	}
	if p.k.ids < limit {
		return true // there were not so many ever
	}
	n := uint64(0)
	for _, o := range p.k.procs {
		n += uint64(o.live())
	}
	return n < limit
}

// queuedSignals is how many signals are queued with what they say, and timers that have one to send.
func (k *Kernel) queuedSignals() (n uint64) {
	for _, p := range k.procs {
		n += uint64(len(p.pending.infos))
		for _, t := range p.threads {
			n += uint64(len(t.pending.infos))
		}
		for _, pt := range p.posix {
			if !pt.queued {
				n++
			}
		}
	}
	return n
}

// queue puts s into q, which is p's or one of its threads'. Past RLIMIT_SIGPENDING, signals of processes and real-time
// signals lose what they say, or are refused (kernel/signal.c, __send_signal_locked).
func (p *Process) queue(q *sigQueue, s *sigInfo) linux.Errno {
	sig := int(s.signo)
	if s.timer == nil && (sig >= linux.SIGRTMIN || s.code < 0) && p.k.queuedSignals() >= p.limits[linux.RLIMIT_SIGPENDING].cur {
		if sig >= linux.SIGRTMIN && s.code != linux.SI_USER {
			return linux.EAGAIN
		}
		if q.set.has(sig) {
			return 0
		}
		s = &sigInfo{signo: s.signo}
	}
	if q.add(s) {
		p.signalled++
	}
	return 0
}

// first returns the first n bytes of v.
func first(v []iovec, n uint64) []iovec {
	var out []iovec
	for _, x := range v {
		if n == 0 {
			break
		}
		x.n = min(x.n, n)
		n -= x.n
		out = append(out, x)
	}
	return out
}
