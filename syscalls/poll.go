package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A watch is a file and the events that someone waits for.
type watch struct {
	file   file
	events uint32
}

// waitAny parks t until one of ws has an event. Their files stay open for that, but what the call finds then is that
// of the files that the descriptors refer to by then, as in Linux.
func (t *Thread) waitAny(ws []watch, interrupted linux.Errno, resume func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	w := wait{deadline: t.call.deadline, interrupted: interrupted}
	if filesOf(t).call.held == nil {
		for _, x := range ws {
			filesOf(t).call.hold(x.file)
		}
	}
	w.ready = func() bool {
		for _, x := range ws {
			if x.file.poll(t)&(x.events|linux.POLLERR|linux.POLLHUP) != 0 {
				return true
			}
		}
		return false
	}
	w.hosts = func(fds []hostPoll) []hostPoll {
		for _, x := range ws {
			fds = x.file.hostWaits(fds, x.events)
		}
		return fds
	}
	return t.block(w, resume)
}

// setDeadline sets the call's deadline; d negative means never.
func (t *Thread) setDeadline(d int64) {
	t.call.deadline = never
	if d >= 0 {
		t.call.deadline = t.k.after(d)
	}
}

// sysPoll implements poll(2).
func sysPoll(t *Thread, a Args) (uint64, linux.Errno) {
	d := int64(-1)
	if ms := a.Int(2); ms >= 0 {
		d = int64(ms) * 1e6
	}
	t.setDeadline(d)
	return t.poll(a.Addr(0), a.U32(1), d == 0)
}

// sysPpoll implements ppoll(2).
func sysPpoll(t *Thread, a Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(2) != 0 {
		var e linux.Errno
		if d, e = t.timespec(a.Addr(2)); e != 0 {
			return 0, e
		}
	}
	if e := t.callMask(a.Addr(3), a.Uint(4)); e != 0 {
		return 0, e
	}
	t.setDeadline(d)
	ret, e := t.poll(a.Addr(0), a.U32(1), d == 0)
	ret, e = t.tellLeft(ret, e, a.Addr(2), timespec)
	return t.dropMask(ret, e)
}

// tellLeft ends a call that gave ret and e by telling how much of its timeout at is left, when it is over or a signal
// interrupts it. The timeout need not be writable.
func (t *Thread) tellLeft(ret uint64, e linux.Errno, at emu.Addr, encode func(int64) []byte) (uint64, linux.Errno) {
	if at == 0 {
		return ret, e
	}
	left := func() { t.copyOut(at, encode(max(t.call.deadline-t.k.now(), 0))) }
	if e == eBlocked {
		t.call.wait.cancel = func(timeout bool) {
			if !timeout {
				left()
			}
		}
		resume := t.call.resume
		t.call.resume = func() (uint64, linux.Errno) {
			ret, e := resume()
			return t.tellLeft(ret, e, at, encode)
		}
		return ret, e
	}
	left()
	return ret, e
}

// callMask installs the signal mask that a call brings along.
func (t *Thread) callMask(set emu.Addr, size uint64) linux.Errno {
	if set == 0 {
		return 0
	}
	if size != sigSetSize {
		return linux.EINVAL
	}
	m, e := t.in64(set)
	if e != 0 {
		return e
	}
	t.swapMask(sigSet(m))
	return 0
}

// dropMask ends a call that gave ret and e by taking the mask of callMask back when it is over; if a signal
// interrupted it, that happens after the handler.
func (t *Thread) dropMask(ret uint64, e linux.Errno) (uint64, linux.Errno) {
	return t.then(ret, e, func(ret uint64, e linux.Errno) (uint64, linux.Errno) {
		if t.oldMask != nil && !t.hasSignal() {
			t.mask, t.oldMask = *t.oldMask, nil
		}
		return ret, e
	})
}

func (t *Thread) poll(at emu.Addr, n uint32, now bool) (uint64, linux.Errno) {
	if uint64(n) > t.p.limits[linux.RLIMIT_NOFILE].cur {
		return 0, linux.EINVAL
	}
	b, e := t.copyIn(at, int(n)*8)
	if e != 0 {
		return 0, e
	}
	interrupted := linux.ERESTARTNOHAND
	if t.outEvents(at, b) != 0 { // what is there is written back
		interrupted = linux.EFAULT // the events are told when a signal ends the call, too
	}
	count, ws := t.pollAll(b)
	if count > 0 || now {
		return count, t.outEvents(at, b)
	}
	var again func() (uint64, linux.Errno)
	again = func() (uint64, linux.Errno) {
		count, _ := t.pollAll(b)
		if count > 0 || t.timedOut() {
			return count, t.outEvents(at, b)
		}
		return t.waitAny(ws, interrupted, again)
	}
	return t.waitAny(ws, interrupted, again)
}

// pollAll fills in the events of b, which has structs pollfd, and returns how many have any, and what to wait for.
func (t *Thread) pollAll(b []byte) (count uint64, ws []watch) {
	for ; len(b) > 0; b = b[8:] {
		fd, events := int(int32(le32(b))), uint32(le16(b[4:]))
		var got uint32
		if fd >= 0 {
			f, e := t.file(fd)
			if e != 0 || f.base().flags&linux.O_PATH != 0 {
				got = linux.POLLNVAL
			} else {
				got = f.poll(t) & (events | linux.POLLERR | linux.POLLHUP)
				ws = append(ws, watch{f, events})
			}
		}
		put16(b[6:], uint16(got))
		if got != 0 {
			count++
		}
	}
	return count, ws
}

// outEvents writes the events of b to where it came from, and nothing else: another thread may have changed the rest.
func (t *Thread) outEvents(at emu.Addr, b []byte) linux.Errno {
	if !userRange(uint64(at), uint64(len(b))) {
		return linux.EFAULT
	}
	for i := 0; i < len(b); i += 8 {
		if e := t.copyOut(at+emu.Addr(i)+6, b[i+6:i+8]); e != 0 {
			return e
		}
	}
	return 0
}

// sysSelect implements select(2).
func sysSelect(t *Thread, a Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(4) != 0 {
		var e linux.Errno
		if d, e = t.selectTime(a.Addr(4)); e != 0 {
			return 0, e
		}
	}
	t.setDeadline(d)
	ret, e := t.selectFDs(a, d == 0)
	return t.tellLeft(ret, e, a.Addr(4), timeval)
}

// selectTime reads a struct timeval, whose microseconds may be more than a second's.
func (t *Thread) selectTime(at emu.Addr) (int64, linux.Errno) {
	b, e := t.copyIn(at, 16)
	if e != 0 {
		return 0, e
	}
	const million = 1_000_000
	sec, usec := int64(le64(b)), int64(le64(b[8:]))
	if sec += usec / million; sec < 0 || usec < 0 {
		return 0, linux.EINVAL
	}
	return min(sec, maxSeconds)*1e9 + usec%million*1000, 0
}

// sysPselect6 implements pselect(2).
func sysPselect6(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Addr(5) != 0 {
		if _, e := t.copyIn(a.Addr(5), 16); e != 0 {
			return 0, e
		}
	}
	d := int64(-1)
	if a.Addr(4) != 0 {
		var e linux.Errno
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
	ret, e = t.tellLeft(ret, e, a.Addr(4), timespec)
	return t.dropMask(ret, e)
}

// What select's three sets ask for (fs/select.c).
var selectEvents = [3]uint32{
	linux.POLLRDNORM | linux.POLLRDBAND | linux.POLLIN | linux.POLLHUP | linux.POLLERR | linux.POLLNVAL,
	linux.POLLWRBAND | linux.POLLWRNORM | linux.POLLOUT | linux.POLLERR | linux.POLLNVAL,
	linux.POLLPRI | linux.POLLNVAL,
}

// A selection has what select(2) asks for, in three sets of descriptors, and what there is.
type selection struct {
	n       int
	in, out [3][]byte
}

func (t *Thread) selectFDs(a Args, now bool) (uint64, linux.Errno) {
	n := a.Int(0)
	if n < 0 {
		return 0, linux.EINVAL
	}
	s := &selection{n: min(n, filesOf(t).fds.size())}
	size := (s.n + 63) / 64 * 8
	for i := range s.in {
		if at := a.Addr(1 + i); at != 0 {
			var e linux.Errno
			if s.in[i], e = t.copyIn(at, size); e != 0 {
				return 0, e
			}
			s.out[i] = make([]byte, size)
		}
	}
	count, ws, e := s.look(t, true)
	if e != 0 {
		return 0, e
	}
	if count > 0 || now {
		return count, s.copyOut(t, a)
	}
	var again func() (uint64, linux.Errno)
	again = func() (uint64, linux.Errno) {
		count, _, _ := s.look(t, false)
		if count > 0 || t.timedOut() {
			return count, s.copyOut(t, a)
		}
		return t.waitAny(ws, linux.ERESTARTNOHAND, again)
	}
	return t.waitAny(ws, linux.ERESTARTNOHAND, again)
}

// look finds what there is, and what to wait for. A descriptor that is not open is an error the first time only; one
// that was closed later has all events.
func (s *selection) look(t *Thread, first bool) (count uint64, ws []watch, e linux.Errno) {
	for fd := range s.n {
		var want uint32
		for i, in := range s.in {
			if in != nil && in[fd/8]>>(fd%8)&1 != 0 {
				want |= selectEvents[i]
			}
		}
		if want == 0 {
			continue
		}
		f, e := t.file(fd)
		if e != 0 && first {
			return 0, nil, e
		}
		got := uint32(linux.POLLNVAL)
		if e == 0 && f.base().flags&linux.O_PATH == 0 {
			got = f.poll(t)
			ws = append(ws, watch{f, want})
		}
		for i, in := range s.in {
			if in != nil && in[fd/8]>>(fd%8)&1 != 0 && got&selectEvents[i] != 0 {
				s.out[i][fd/8] |= 1 << (fd % 8)
				count++
			}
		}
	}
	return count, ws, 0
}

// copyOut gives the answer to the caller.
func (s *selection) copyOut(t *Thread, a Args) linux.Errno {
	for i, out := range s.out {
		if out != nil {
			if e := t.copyOut(a.Addr(1+i), out); e != 0 {
				return e
			}
		}
	}
	return 0
}
