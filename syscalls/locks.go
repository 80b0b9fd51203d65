package syscalls

import (
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
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

// meets reports whether two locks cannot be held together.
func (l *recordLock) meets(o *recordLock) bool {
	return l.owner != o.owner && l.overlaps(o) && (l.write || o.write)
}

func (l *recordLock) overlaps(o *recordLock) bool { return l.lo < o.hi && o.lo < l.hi }

// conflict returns the lock on file ino that l meets, the one with the lowest start of several, or nil.
func (k *Kernel) conflict(ino uint64, l *recordLock) *recordLock {
	return k.firstLock(ino, l.meets)
}

// held returns the lock on file ino that l's owner has in l's range: the first, or nil.
func (k *Kernel) held(ino uint64, l *recordLock) *recordLock {
	return k.firstLock(ino, func(o *recordLock) bool { return o.owner == l.owner && l.overlaps(o) })
}

func (k *Kernel) firstLock(ino uint64, is func(*recordLock) bool) (first *recordLock) {
	for _, o := range fsOf(k).locks[ino] {
		if is(o) && (first == nil || o.lo < first.lo) {
			first = o
		}
	}
	return first
}

// setLock replaces what l's owner has in its range by l, or by nothing.
func (k *Kernel) setLock(ino uint64, l *recordLock, unlock bool) {
	var rest []*recordLock
	for _, o := range fsOf(k).locks[ino] {
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
		delete(fsOf(k).locks, ino)
		return
	}
	fsOf(k).locks[ino] = rest
}

// dropLocks forgets the locks that owner has on f: "All locks associated with a file for a given process shall be
// removed when a file descriptor for that file is closed by that process" - POSIX, fcntl.
func (k *Kernel) dropLocks(f file, owner any) {
	h, ok := f.(*hostFile)
	if !ok || len(fsOf(k).locks[h.ino]) == 0 {
		return
	}
	k.setLock(h.ino, &recordLock{owner: owner, hi: math.MaxInt64}, true)
}

// A lockWait is a wait for a record lock, which it returns.
type lockWait func() *recordLock

// deadlocked reports whether t, by waiting for whoever holds l, would wait for itself.
func (t *Thread) deadlocked(l *recordLock) bool {
	for range t.k.procs {
		if l == nil || l.owner == any(filesOf(t).fds) {
			return l != nil
		}
		i := slices.IndexFunc(t.k.waiting, func(o *Thread) bool {
			_, locks := o.call.wait.on.(lockWait)
			return locks && any(filesOf(o).fds) == l.owner
		})
		if i < 0 {
			return false
		}
		l = t.k.waiting[i].call.wait.on.(lockWait)()
	}
	return false
}

// lock does what fcntl(2) does about record locks.
func (t *Thread) lock(f file, cmd int, at emu.Addr) (uint64, linux.Errno) {
	switch cmd {
	case linux.F_SETLK, linux.F_SETLKW, linux.F_OFD_SETLK, linux.F_OFD_SETLKW, linux.F_GETLK, linux.F_OFD_GETLK:
	case linux.F_GETLEASE:
		return linux.F_UNLCK, 0
	default:
		return 0, linux.EINVAL
	}
	b, e := t.copyIn(at, 32)
	if e != 0 {
		return 0, e
	}
	typ := le16(b)
	if cmd == linux.F_GETLK && typ >= linux.F_UNLCK {
		return 0, linux.EINVAL
	}
	l, e := t.lockRange(f, b)
	if e != 0 {
		return 0, e
	}
	if typ > linux.F_UNLCK {
		return 0, linux.EINVAL
	}
	get := cmd == linux.F_GETLK || cmd == linux.F_OFD_GETLK
	if !get && (typ == linux.F_RDLCK && !f.base().readable() || typ == linux.F_WRLCK && !f.base().writable()) {
		return 0, linux.EBADF
	}
	l.owner, l.pid, l.write = filesOf(t).fds, t.p.pid, typ == linux.F_WRLCK
	if cmd == linux.F_OFD_SETLK || cmd == linux.F_OFD_SETLKW || cmd == linux.F_OFD_GETLK {
		if le32(b[24:]) != 0 {
			return 0, linux.EINVAL
		}
		l.owner, l.pid = f, -1
	}
	h, ok := f.(*hostFile)
	if get {
		var o *recordLock
		switch {
		case !ok:
		case typ == linux.F_UNLCK: // of OFD locks only, since Linux 6.6: what the file itself has locked
			o = t.k.held(h.ino, l)
		default:
			o = t.k.conflict(h.ino, l)
		}
		describeLock(b, o)
		return 0, t.copyOut(at, b)
	}
	if !ok {
		return 0, 0
	}
	if typ == linux.F_UNLCK {
		t.k.setLock(h.ino, l, true)
		return 0, 0
	}
	return t.takeRecord(h, l, cmd == linux.F_SETLKW || cmd == linux.F_OFD_SETLKW)
}

// takeRecord locks a record of h, and waits for it if that is wanted.
func (t *Thread) takeRecord(h *hostFile, l *recordLock, wants bool) (uint64, linux.Errno) {
	meets := func() *recordLock { return t.k.conflict(h.ino, l) }
	switch in := meets(); {
	case in == nil:
		t.k.setLock(h.ino, l, false)
		return 0, 0
	case !wants:
		return 0, linux.EAGAIN
	case t.deadlocked(in):
		return 0, linux.EDEADLK
	}
	fd := int(int32(t.call.args[0]))
	filesOf(t).call.hold(h)
	w := wait{on: lockWait(meets), ready: func() bool { return meets() == nil }}
	return t.block(w, func() (uint64, linux.Errno) {
		ret, e := t.takeRecord(h, l, true)
		if f, _ := t.file(fd); e == 0 && f != file(h) {
			// It was closed meanwhile, and would keep the lock for ever (fs/locks.c, fcntl_setlk).
			t.k.setLock(h.ino, l, true)
			return 0, linux.EBADF
		}
		return ret, e
	})
}

// lockRange returns a lock of the range that a struct flock names.
func (t *Thread) lockRange(f file, b []byte) (*recordLock, linux.Errno) {
	start, n := int64(le64(b[8:])), int64(le64(b[16:]))
	var base int64
	switch le16(b[2:]) {
	case linux.SEEK_SET:
	case linux.SEEK_CUR:
		base, _ = f.seek(t, 0, linux.SEEK_CUR)
	case linux.SEEK_END:
		s, e := f.stat(t)
		if e != 0 {
			return nil, e
		}
		base = s.size
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
		put16(b, linux.F_UNLCK)
		return
	}
	put16(b, linux.F_RDLCK)
	if o.write {
		put16(b, linux.F_WRLCK)
	}
	put16(b[2:], linux.SEEK_SET)
	put64(b[8:], uint64(o.lo))
	put64(b[16:], 0)
	if o.hi != math.MaxInt64 {
		put64(b[16:], uint64(o.hi-o.lo))
	}
	put32(b[24:], uint32(int32(o.pid)))
}
