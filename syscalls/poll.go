package syscalls

import "github.com/cgemu/cgemu/emu"

// A watch is a file and the events that someone waits for.
type watch struct {
	file   file
	events uint32
}

// waitAny parks t until one of ws has an event.
func (t *Thread) waitAny(ws []watch, interrupted Errno) (uint64, Errno) {
	w := wait{deadline: t.call.deadline, interrupted: interrupted}
	w.ready = func() bool {
		for _, x := range ws {
			if x.file.poll(t)&(x.events|pollERR|pollHUP) != 0 {
				return true
			}
		}
		return false
	}
	w.hosts = func(fds []hostPoll) []hostPoll {
		for _, x := range ws {
			fds = hostWait(fds, x.file, x.events)
		}
		return fds
	}
	return t.block(w)
}

// setDeadline sets the call's deadline when it is first made; d negative means never.
func (t *Thread) setDeadline(d int64) {
	if t.call.again {
		return
	}
	t.call.deadline = never
	if d >= 0 {
		t.call.deadline = t.k.after(d)
	}
}

// sysPoll implements poll(2).
func sysPoll(t *Thread, a Args) (uint64, Errno) {
	d := int64(-1)
	if ms := a.Int(2); ms >= 0 {
		d = int64(ms) * 1e6
	}
	t.setDeadline(d)
	return t.poll(a.Addr(0), a.U32(1), d == 0)
}

// sysPpoll implements ppoll(2).
func sysPpoll(t *Thread, a Args) (uint64, Errno) {
	d := int64(-1)
	if a.Addr(2) != 0 && !t.call.again {
		var e Errno
		if d, e = t.timespec(a.Addr(2)); e != 0 {
			return 0, e
		}
	}
	if e := t.callMask(a.Addr(3), a.Uint(4)); e != 0 {
		return 0, e
	}
	t.setDeadline(d)
	ret, e := t.poll(a.Addr(0), a.U32(1), d == 0)
	t.dropMask(e)
	return ret, e
}

// callMask installs the signal mask that a call brings along.
func (t *Thread) callMask(set emu.Addr, size uint64) Errno {
	if set == 0 || t.call.again {
		return 0
	}
	if size != sigSetSize {
		return EINVAL
	}
	m, e := t.in64(set)
	if e != 0 {
		return e
	}
	t.swapMask(sigSet(m))
	return 0
}

// dropMask takes the mask of callMask back when the call is over; if a signal
// interrupted it, that happens after the handler.
func (t *Thread) dropMask(e Errno) {
	if e != eBlocked && t.oldMask != nil && !t.hasSignal() {
		t.mask, t.oldMask = *t.oldMask, nil
	}
}

func (t *Thread) poll(at emu.Addr, n uint32, now bool) (uint64, Errno) {
	if uint64(n) > t.p.limits[rlimitNofile].cur {
		return 0, EINVAL
	}
	b, e := t.copyIn(at, int(n)*8)
	if e != 0 {
		return 0, e
	}
	var ws []watch
	var count uint64
	for i := range int(n) {
		ent := b[i*8:]
		fd, events := int(int32(le32(ent))), uint32(le16(ent[4:]))
		var got uint32
		if fd >= 0 {
			f, e := t.file(fd)
			if e != 0 || f.base().flags&oPATH != 0 {
				got = pollNVAL
			} else {
				got = f.poll(t) & (events | pollERR | pollHUP)
				ws = append(ws, watch{f, events})
			}
		}
		put16(ent[6:], uint16(got))
		if got != 0 {
			count++
		}
	}
	if count > 0 || now || t.timedOut() {
		return count, t.copyOut(at, b)
	}
	return t.waitAny(ws, eRESTARTNOHAND)
}

// sysSelect implements select(2).
func sysSelect(t *Thread, a Args) (uint64, Errno) {
	d := int64(-1)
	if a.Addr(4) != 0 && !t.call.again {
		var e Errno
		if d, e = t.timeval(a.Addr(4)); e != 0 {
			return 0, e
		}
	}
	t.setDeadline(d)
	ret, e := t.selectFDs(a, d == 0)
	if e != eBlocked && a.Addr(4) != 0 {
		t.copyOut(a.Addr(4), timeval(t.left()))
	}
	return ret, e
}

// sysPselect6 implements pselect(2).
func sysPselect6(t *Thread, a Args) (uint64, Errno) {
	d := int64(-1)
	if a.Addr(4) != 0 && !t.call.again {
		var e Errno
		if d, e = t.timespec(a.Addr(4)); e != 0 {
			return 0, e
		}
	}
	if a.Addr(5) != 0 {
		b, e := t.copyIn(a.Addr(5), 16)
		if e != 0 {
			return 0, e
		}
		if e := t.callMask(emu.Addr(le64(b)), le64(b[8:])); e != 0 {
			return 0, e
		}
	}
	t.setDeadline(d)
	ret, e := t.selectFDs(a, d == 0)
	if e != eBlocked && a.Addr(4) != 0 {
		t.copyOut(a.Addr(4), timespec(t.left()))
	}
	t.dropMask(e)
	return ret, e
}

// left is how much of the call's timeout is left.
func (t *Thread) left() int64 {
	if t.call.deadline == never {
		return 0
	}
	return max(t.call.deadline-t.k.now(), 0)
}

// What select's three sets ask for (fs/select.c).
var selectEvents = [3]uint32{
	pollRDN | pollRDB | pollIN | pollHUP | pollERR | pollNVAL,
	pollWRB | pollWRN | pollOUT | pollERR | pollNVAL,
	pollPRI | pollNVAL,
}

func (t *Thread) selectFDs(a Args, now bool) (uint64, Errno) {
	n := a.Int(0)
	if n < 0 {
		return 0, EINVAL
	}
	n = min(n, t.p.fds.size())
	size := (n + 63) / 64 * 8
	var in, out [3][]byte
	for i := range in {
		if at := a.Addr(1 + i); at != 0 {
			var e Errno
			if in[i], e = t.copyIn(at, size); e != 0 {
				return 0, e
			}
			out[i] = make([]byte, size)
		}
	}
	var ws []watch
	var count uint64
	for fd := range n {
		var want uint32
		for i := range in {
			if in[i] != nil && in[i][fd/8]>>(fd%8)&1 != 0 {
				want |= selectEvents[i]
			}
		}
		if want == 0 {
			continue
		}
		f, e := t.file(fd)
		if e != 0 {
			return 0, e
		}
		got := uint32(pollNVAL)
		if f.base().flags&oPATH == 0 {
			got = f.poll(t)
			ws = append(ws, watch{f, want})
		}
		for i := range in {
			if in[i] != nil && in[i][fd/8]>>(fd%8)&1 != 0 && got&selectEvents[i] != 0 {
				out[i][fd/8] |= 1 << (fd % 8)
				count++
			}
		}
	}
	if count == 0 && !now && !t.timedOut() {
		return t.waitAny(ws, eRESTARTNOHAND)
	}
	for i := range out {
		if out[i] != nil {
			if e := t.copyOut(a.Addr(1+i), out[i]); e != 0 {
				return 0, e
			}
		}
	}
	return count, 0
}
