package files

import (
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A recordLock is a lock of fcntl(2). They are ours: what the guest's processes lock does not show on the host,
// nor the other way round.
type recordLock struct {
	// owner is a table of descriptors, as in Linux, or for OFD locks an open file.
	owner  any
	pid    int // -1 for OFD locks
	lo, hi int64
	write  bool
}

// ofd reports whether l is an OFD lock.
func (l *recordLock) ofd() bool { return l.pid == -1 }

// meets reports whether two locks cannot be held together.
func (l *recordLock) meets(o *recordLock) bool {
	return l.owner != o.owner && l.overlaps(o) && (l.write || o.write)
}

func (l *recordLock) overlaps(o *recordLock) bool { return l.lo < o.hi && o.lo < l.hi }

// conflict returns the lock on file ino that l meets, the one with the lowest start of several, or nil.
func conflict(k *task.Kernel, ino uint64, l *recordLock) *recordLock {
	return firstLock(k, ino, l.meets)
}

// held returns the lock on file ino that l's owner has in l's range: the first, or nil.
func held(k *task.Kernel, ino uint64, l *recordLock) *recordLock {
	return firstLock(k, ino, func(o *recordLock) bool { return o.owner == l.owner && l.overlaps(o) })
}

func firstLock(k *task.Kernel, ino uint64, is func(*recordLock) bool) (first *recordLock) {
	for _, o := range SystemOf(k).locks[ino] {
		if is(o) && (first == nil || o.lo < first.lo) {
			first = o
		}
	}
	return first
}

// touches reports whether o is l's owner's, of the same type, and overlaps it or lies beside it: the two are one lock,
// then.
func (l *recordLock) touches(o *recordLock) bool {
	return l.owner == o.owner && l.write == o.write && l.lo <= o.hi && o.lo <= l.hi
}

// setLock replaces what l's owner has in its range by l, or by nothing.
func setLock(k *task.Kernel, ino uint64, l *recordLock, unlock bool) {
	if !unlock {
		merged := *l
		for _, o := range SystemOf(k).locks[ino] {
			if l.touches(o) {
				merged.lo, merged.hi = min(merged.lo, o.lo), max(merged.hi, o.hi)
			}
		}
		l = &merged
	}
	var rest []*recordLock
	for _, o := range SystemOf(k).locks[ino] {
		if o.owner != l.owner || o.hi <= l.lo || o.lo >= l.hi {
			rest = append(rest, o)
			continue
		}
		if o.lo < l.lo {
			head := *o
			head.hi = l.lo
			rest = append(rest, &head)
		}
		if o.hi > l.hi {
			tail := *o
			tail.lo = l.hi
			rest = append(rest, &tail)
		}
	}
	if !unlock {
		rest = append(rest, l)
	}
	if len(rest) == 0 {
		delete(SystemOf(k).locks, ino)
		return
	}
	SystemOf(k).locks[ino] = rest
}

// dropLocks forgets the locks that owner has on f: "All locks associated with a file for a given process shall be
// removed when a file descriptor for that file is closed by that process" - POSIX, fcntl. One of O_PATH does not count.
func dropLocks(k *task.Kernel, f File, owner any) {
	h, ok := f.(*HostFile)
	if !ok || h.Flags&linux.O_PATH != 0 || len(SystemOf(k).locks[h.Ino]) == 0 {
		return
	}
	setLock(k, h.Ino, &recordLock{owner: owner, hi: math.MaxInt64}, true)
}

// A lockWait is a wait for a record lock: owner waits for the lock that in returns.
type lockWait struct {
	owner any
	in    func() *recordLock
}

// deadlocked reports whether the owner of l, by waiting for whoever holds in, would wait for itself. Of OFD locks,
// which belong to no process, Linux finds no deadlocks (posix_locks_deadlock). Each step is over another wait, but for
// a circle that l is not in.
func deadlocked(k *task.Kernel, l, in *recordLock) bool {
	if l.ofd() {
		return false
	}
	for range 1 + len(k.Waiting) {
		if in == nil || in.owner == l.owner {
			return in != nil
		}
		i := slices.IndexFunc(k.Waiting, func(o *task.Thread) bool {
			w, locks := o.Call.Wait.On.(lockWait)
			return locks && w.owner == in.owner
		})
		if i < 0 {
			return false
		}
		in = k.Waiting[i].Call.Wait.On.(lockWait).in()
	}
	return false
}

// Lock does what fcntl(2) does about record locks.
func Lock(t *task.Thread, f File, cmd int, at emu.Addr) (uint64, linux.Errno) {
	switch cmd {
	case linux.F_SETLK, linux.F_SETLKW, linux.F_OFD_SETLK, linux.F_OFD_SETLKW, linux.F_GETLK, linux.F_OFD_GETLK:
	case linux.F_GETLEASE:
		return linux.F_UNLCK, 0
	default:
		return 0, linux.EINVAL
	}
	b, e := t.CopyIn(at, 32)
	if e != 0 {
		return 0, e
	}
	typ := linux.Uint16(b)
	if cmd == linux.F_GETLK && typ >= linux.F_UNLCK {
		return 0, linux.EINVAL
	}
	l, e := lockRange(t, f, b)
	if e != 0 {
		return 0, e
	}
	if typ > linux.F_UNLCK {
		return 0, linux.EINVAL
	}
	get := cmd == linux.F_GETLK || cmd == linux.F_OFD_GETLK
	if !get && (typ == linux.F_RDLCK && !f.Base().Readable() || typ == linux.F_WRLCK && !f.Base().Writable()) {
		return 0, linux.EBADF
	}
	l.owner, l.pid, l.write = Of(t).FDs, t.Process.PID, typ == linux.F_WRLCK
	if cmd == linux.F_OFD_SETLK || cmd == linux.F_OFD_SETLKW || cmd == linux.F_OFD_GETLK {
		if linux.Uint32(b[24:]) != 0 {
			return 0, linux.EINVAL
		}
		l.owner, l.pid = f, -1
	}
	h, ok := f.(*HostFile)
	if get {
		var o *recordLock
		switch {
		case !ok:
		case typ == linux.F_UNLCK: // of OFD locks only, since Linux 6.6: what the file itself has locked
			o = held(t.Kernel, h.Ino, l)
		default:
			o = conflict(t.Kernel, h.Ino, l)
		}
		describeLock(b, o)
		return 0, t.CopyOut(at, b)
	}
	if !ok {
		return 0, 0
	}
	if typ == linux.F_UNLCK {
		setLock(t.Kernel, h.Ino, l, true)
		return 0, 0
	}
	return takeRecord(t, h, l, cmd == linux.F_SETLKW || cmd == linux.F_OFD_SETLKW)
}

// takeRecord locks a record of h, and waits for it if that is wanted.
func takeRecord(t *task.Thread, h *HostFile, l *recordLock, wants bool) (uint64, linux.Errno) {
	meets := func() *recordLock { return conflict(t.Kernel, h.Ino, l) }
	switch in := meets(); {
	case in == nil:
		setLock(t.Kernel, h.Ino, l, false)
		return 0, 0
	case !wants:
		return 0, linux.EAGAIN
	case deadlocked(t.Kernel, l, in):
		return 0, linux.EDEADLK
	}
	fd := int(int32(t.Call.Args[0]))
	Of(t).Call.Hold(h)
	w := task.Wait{On: lockWait{l.owner, meets}, Ready: func() bool { return meets() == nil }}
	return t.Block(w, func() (uint64, linux.Errno) {
		ret, e := takeRecord(t, h, l, true)
		if f, _ := GetRawFile(t, fd); e == 0 && !l.ofd() && f != File(h) {
			// It was closed meanwhile, and would keep the lock for ever (fs/locks.c, fcntl_setlk).
			setLock(t.Kernel, h.Ino, l, true)
			return 0, linux.EBADF
		}
		return ret, e
	})
}

// lockRange returns a lock of the range that a struct flock names.
func lockRange(t *task.Thread, f File, b []byte) (*recordLock, linux.Errno) {
	start, n := int64(linux.Uint64(b[8:])), int64(linux.Uint64(b[16:]))
	var base int64
	switch linux.Uint16(b[2:]) {
	case linux.SEEK_SET:
	case linux.SEEK_CUR:
		if at, e := f.Seek(t, 0, linux.SEEK_CUR); e == 0 {
			base = at
		}
	case linux.SEEK_END:
		s, e := f.Stat(t)
		if e != 0 {
			return nil, e
		}
		base = s.Size
	default:
		return nil, linux.EINVAL
	}
	if start > math.MaxInt64-base {
		return nil, linux.EOVERFLOW
	}
	if start += base; start < 0 {
		return nil, linux.EINVAL
	}
	if n > 0 && n-1 > math.MaxInt64-start {
		return nil, linux.EOVERFLOW
	}
	if n < 0 {
		if start+n < 0 {
			return nil, linux.EINVAL
		}
		start, n = start+n, -n
	}
	l := &recordLock{lo: start, hi: math.MaxInt64}
	if n > 0 && n < math.MaxInt64-start {
		l.hi = start + n
	}
	return l, 0
}

// describeLock makes b, a struct flock, describe o, or say that there is no such lock.
func describeLock(b []byte, o *recordLock) {
	if o == nil {
		linux.PutUint16(b, linux.F_UNLCK)
		return
	}
	linux.PutUint16(b, linux.F_RDLCK)
	if o.write {
		linux.PutUint16(b, linux.F_WRLCK)
	}
	linux.PutUint16(b[2:], linux.SEEK_SET)
	linux.PutUint64(b[8:], uint64(o.lo))
	linux.PutUint64(b[16:], 0)
	if o.hi != math.MaxInt64 {
		linux.PutUint64(b[16:], uint64(o.hi-o.lo))
	}
	linux.PutUint32(b[24:], uint32(int32(o.pid)))
}
