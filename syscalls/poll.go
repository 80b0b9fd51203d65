package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A watch is a file and the events that someone waits for.
type watch struct {
	file   files.File
	events uint32
}

// waitAny makes t wait until one of ws has an event. Their files stay open for that, but what the call finds then is
// that of the files that the descriptors refer to by then, as in Linux.
func waitAny(t *task.Thread, ws []watch, interrupted linux.Errno, resume func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	w := task.Wait{Deadline: t.Call.Deadline, OnSignal: interrupted}
	if files.Of(t).Call.Held == nil {
		for _, x := range ws {
			files.Of(t).Call.Hold(x.file)
		}
	}
	w.Ready = func() bool {
		for _, x := range ws {
			if x.file.Poll(t)&(x.events|linux.POLLERR|linux.POLLHUP) != 0 {
				return true
			}
		}
		return false
	}
	w.Hosts = func(fds []host.PollFD) []host.PollFD {
		for _, x := range ws {
			fds = x.file.HostWaits(fds, x.events)
		}
		return fds
	}
	return t.Block(w, resume)
}

// setDeadline sets the call's deadline; d negative means never.
func setDeadline(t *task.Thread, d int64) {
	t.Call.Deadline = task.Never
	if d >= 0 {
		t.Call.Deadline = t.Kernel.After(d)
	}
}

// sysPoll implements poll(2).
func sysPoll(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	d := int64(-1)
	if ms := a.Int(2); ms >= 0 {
		d = int64(ms) * 1e6
	}
	setDeadline(t, d)
	return poll(t, a.Addr(0), a.U32(1), d == 0)
}

// sysPpoll implements ppoll(2).
func sysPpoll(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(2) != 0 {
		var e linux.Errno
		if d, e = t.Timespec(a.Addr(2)); e != 0 {
			return 0, e
		}
	}
	if e := callMask(t, a.Addr(3), a.Uint(4)); e != 0 {
		return 0, e
	}
	setDeadline(t, d)
	ret, e := poll(t, a.Addr(0), a.U32(1), d == 0)
	ret, e = t.ReportTimeLeft(ret, e, a.Addr(2), task.Timespec)
	return dropMask(t, ret, e)
}

// callMask installs the signal mask that a call brings along.
func callMask(t *task.Thread, set emu.Addr, size uint64) linux.Errno {
	if set == 0 {
		return 0
	}
	if size != task.SigSetSize {
		return linux.EINVAL
	}
	m, e := t.In64(set)
	if e != 0 {
		return e
	}
	swapMask(t, task.SigSet(m))
	return 0
}

// dropMask ends a call that gave ret and e by taking the mask of callMask back when it is over; if a signal
// interrupted it, that happens after the handler.
func dropMask(t *task.Thread, ret uint64, e linux.Errno) (uint64, linux.Errno) {
	return t.Then(ret, e, func(ret uint64, e linux.Errno) (uint64, linux.Errno) {
		if t.OldMask != nil && !t.HasSignal() {
			t.Mask, t.OldMask = *t.OldMask, nil
		}
		return ret, e
	})
}

func poll(t *task.Thread, at emu.Addr, n uint32, now bool) (uint64, linux.Errno) {
	if uint64(n) > t.Process.Limits[linux.RLIMIT_NOFILE].Cur {
		return 0, linux.EINVAL
	}
	b, e := t.CopyIn(at, int(n)*8)
	if e != 0 {
		return 0, e
	}
	interrupted := linux.ERESTARTNOHAND
	if outEvents(t, at, b) != 0 { // what is there is written back
		interrupted = linux.EFAULT // the events are told when a signal ends the call, too
	}
	count, ws := pollAll(t, b)
	if count > 0 || now {
		return count, outEvents(t, at, b)
	}
	var again func() (uint64, linux.Errno)
	again = func() (uint64, linux.Errno) {
		count, _ := pollAll(t, b)
		if count > 0 || t.TimedOut() {
			return count, outEvents(t, at, b)
		}
		return waitAny(t, ws, interrupted, again)
	}
	return waitAny(t, ws, interrupted, again)
}

// pollAll fills in the events of b, which has structs pollfd, and returns how many have any, and what to wait for.
func pollAll(t *task.Thread, b []byte) (count uint64, ws []watch) {
	for ; len(b) > 0; b = b[8:] {
		fd, events := int(int32(linux.Uint32(b))), uint32(linux.Uint16(b[4:]))
		var got uint32
		if fd >= 0 {
			f, e := files.GetRawFile(t, fd)
			if e != 0 || f.Base().Flags&linux.O_PATH != 0 {
				got = linux.POLLNVAL
			} else {
				got = f.Poll(t) & (events | linux.POLLERR | linux.POLLHUP)
				ws = append(ws, watch{f, events})
			}
		}
		linux.PutUint16(b[6:], uint16(got))
		if got != 0 {
			count++
		}
	}
	return count, ws
}

// outEvents writes the events of b to where it came from, and nothing else: another thread may have changed the rest.
func outEvents(t *task.Thread, at emu.Addr, b []byte) linux.Errno {
	if !uio.UserRange(uint64(at), uint64(len(b))) {
		return linux.EFAULT
	}
	for i := 0; i < len(b); i += 8 {
		if e := t.CopyOut(at+emu.Addr(i)+6, b[i+6:i+8]); e != 0 {
			return e
		}
	}
	return 0
}

// sysSelect implements select(2).
func sysSelect(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(4) != 0 {
		var e linux.Errno
		if d, e = selectTime(t, a.Addr(4)); e != 0 {
			return 0, e
		}
	}
	setDeadline(t, d)
	ret, e := selectFDs(t, a, d == 0)
	return t.ReportTimeLeft(ret, e, a.Addr(4), task.Timeval)
}

// selectTime reads a struct timeval, whose microseconds may be more than a second's.
func selectTime(t *task.Thread, at emu.Addr) (int64, linux.Errno) {
	b, e := t.CopyIn(at, 16)
	if e != 0 {
		return 0, e
	}
	const million = 1_000_000
	sec, usec := int64(linux.Uint64(b)), int64(linux.Uint64(b[8:]))
	if sec += usec / million; sec < 0 || usec < 0 {
		return 0, linux.EINVAL
	}
	return min(sec, task.MaxSeconds)*1e9 + usec%million*1000, 0
}

// sysPselect6 implements pselect(2).
func sysPselect6(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Addr(5) != 0 {
		if _, e := t.CopyIn(a.Addr(5), 16); e != 0 {
			return 0, e
		}
	}
	d := int64(-1)
	if a.Addr(4) != 0 {
		var e linux.Errno
		if d, e = t.Timespec(a.Addr(4)); e != 0 {
			return 0, e
		}
	}
	if a.Addr(5) != 0 {
		b, e := t.CopyIn(a.Addr(5), 16)
		if e != 0 {
			return 0, e
		}
		if e := callMask(t, emu.Addr(linux.Uint64(b)), linux.Uint64(b[8:])); e != 0 {
			return 0, e
		}
	}
	setDeadline(t, d)
	ret, e := selectFDs(t, a, d == 0)
	ret, e = t.ReportTimeLeft(ret, e, a.Addr(4), task.Timespec)
	return dropMask(t, ret, e)
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

func selectFDs(t *task.Thread, a uio.Args, now bool) (uint64, linux.Errno) {
	n := a.Int(0)
	if n < 0 {
		return 0, linux.EINVAL
	}
	s := &selection{n: min(n, files.Of(t).FDs.Size())}
	size := (s.n + 63) / 64 * 8
	for i := range s.in {
		if at := a.Addr(1 + i); at != 0 {
			var e linux.Errno
			if s.in[i], e = t.CopyIn(at, size); e != 0 {
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
		if count > 0 || t.TimedOut() {
			return count, s.copyOut(t, a)
		}
		return waitAny(t, ws, linux.ERESTARTNOHAND, again)
	}
	return waitAny(t, ws, linux.ERESTARTNOHAND, again)
}

// look finds what there is, and what to wait for. A descriptor that is not open is an error the first time only; one
// that was closed later has all events.
func (s *selection) look(t *task.Thread, first bool) (count uint64, ws []watch, e linux.Errno) {
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
		f, e := files.GetRawFile(t, fd)
		if e != 0 && first {
			return 0, nil, e
		}
		got := uint32(linux.POLLNVAL)
		if e == 0 && f.Base().Flags&linux.O_PATH == 0 {
			got = f.Poll(t)
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
func (s *selection) copyOut(t *task.Thread, a uio.Args) linux.Errno {
	for i, out := range s.out {
		if out != nil {
			if e := t.CopyOut(a.Addr(1+i), out); e != 0 {
				return e
			}
		}
	}
	return 0
}
