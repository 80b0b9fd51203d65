package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An epollItem is a file an epoll instance watches.
type epollItem struct {
	file   file
	fd     int
	events uint32
	data   uint64
	// seen are the events already reported, for EPOLLET, and wakes how often they had been announced: an
	// event is reported again after it was gone, or when it was announced again.
	seen  uint32
	wakes uint64
}

// An epollFile is an epoll instance. Items are kept in the order in which they were added.
type epollFile struct {
	fileBase
	items []*epollItem
}

// wakes is how often its files had wakeups, including those that it watches no more.
func (f *epollFile) wakes(uint32) uint64 {
	n := f.comings
	for _, it := range f.items {
		n += it.file.wakes(it.events)
	}
	return n
}

// remove ends the watches that match.
func (f *epollFile) remove(match func(*epollItem) bool) {
	f.items = slices.DeleteFunc(f.items, func(it *epollItem) bool {
		if match(it) {
			f.comings += it.file.wakes(it.events)
			it.file.base().watches--
			return true
		}
		return false
	})
}

// sysEpollCreate implements epoll_create(2).
func sysEpollCreate(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(0) <= 0 {
		return 0, linux.EINVAL
	}
	return t.epollCreate(0)
}

// sysEpollCreate1 implements epoll_create1(2).
func sysEpollCreate1(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(0)&^linux.O_CLOEXEC != 0 {
		return 0, linux.EINVAL
	}
	return t.epollCreate(a.Int(0))
}

func (t *Thread) epollCreate(flags int) (uint64, linux.Errno) {
	f := &epollFile{fileBase: fileBase{flags: linux.O_RDWR, path: "anon_inode:[eventpoll]"}}
	fsOf(t.k).epolls = append(fsOf(t.k).epolls, f)
	return t.install(f, flags)
}

// ioctl knows none of the parameters for polling network devices (since Linux 6.9).
func (f *epollFile) ioctl(*Thread, uint32, emu.Addr) (uint64, linux.Errno) { return 0, linux.EINVAL }

// hostWaits is for POLLIN what its files wait for. Nothing else ever comes.
func (f *epollFile) hostWaits(fds []hostPoll, events uint32) []hostPoll {
	before := len(fds)
	for _, it := range f.items {
		fds = it.hostWaits(fds)
	}
	if events&linux.POLLIN == 0 {
		fds = quiet(fds, before)
	}
	return fds
}

func (*epollFile) traits() traits { return unreadable | unwritable | unpositioned }

func (f *epollFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *epollFile) close(k *Kernel) {
	f.remove(func(*epollItem) bool { return true })
	fsOf(k).epolls = slices.DeleteFunc(fsOf(k).epolls, func(o *epollFile) bool { return o == f })
}

// forgetEpoll removes a closed file from all epoll instances.
func (k *Kernel) forgetEpoll(f file) {
	delete(fsOf(k).exclusive, f)
	for _, ep := range fsOf(k).epolls {
		ep.remove(func(it *epollItem) bool { return it.file == f })
	}
}

func (t *Thread) epollFile(fd int) (*epollFile, linux.Errno) {
	f, e := t.openFile(fd)
	if e != 0 {
		return nil, e
	}
	ep, ok := f.(*epollFile)
	if !ok {
		return nil, linux.EINVAL
	}
	return ep, 0
}

// maxNested is how many epolls may watch one another in a row.
const maxNested = 5

// loops reports whether f, if ep watched it, would watch itself or make the row too long.
func (k *Kernel) loops(ep *epollFile, f file) bool {
	to, ok := f.(*epollFile)
	if !ok {
		return false
	}
	down := to.nested(ep)
	return down == 0 || k.nestedIn(ep)+down > maxNested
}

// nested returns how many epolls watch one another in a row from ep on; 0 if not is one of them.
func (ep *epollFile) nested(not *epollFile) int {
	if ep == not {
		return 0
	}
	longest := 0
	for _, it := range ep.items {
		if o, ok := it.file.(*epollFile); ok {
			n := o.nested(not)
			if n == 0 {
				return 0
			}
			longest = max(longest, n)
		}
	}
	return 1 + longest
}

// nestedIn returns how many do in a row up to ep.
func (k *Kernel) nestedIn(ep *epollFile) int {
	longest := 0
	for ft := range k.fdTables() {
		for _, ent := range ft.fds {
			if o, ok := ent.file.(*epollFile); ok && slices.ContainsFunc(o.items, func(it *epollItem) bool { return it.file == file(ep) }) {
				longest = max(longest, k.nestedIn(o))
			}
		}
	}
	return 1 + longest
}

// sysEpollCtl implements epoll_ctl(2).
func sysEpollCtl(t *Thread, a Args) (uint64, linux.Errno) {
	op, fd := a.Int(1), a.Int(2)
	var events uint32
	var data uint64
	if op != linux.EPOLL_CTL_DEL {
		b, e := t.copyIn(a.Addr(3), 12)
		if e != 0 {
			return 0, e
		}
		events, data = le32(b), le64(b[4:])
	}
	if _, e := t.openFile(a.Int(0)); e != 0 {
		return 0, e
	}
	f, e := t.openFile(fd)
	if e != 0 {
		return 0, e
	}
	if !pollable(f) {
		return 0, linux.EPERM
	}
	ep, e := t.epollFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f == file(ep) || op != linux.EPOLL_CTL_DEL && events&linux.EPOLLEXCLUSIVE != 0 && !mayExclude(f, op, events) {
		return 0, linux.EINVAL
	}
	i := slices.IndexFunc(ep.items, func(it *epollItem) bool { return it.file == f && it.fd == fd })
	switch {
	case op == linux.EPOLL_CTL_ADD && i >= 0:
		return 0, linux.EEXIST
	case op == linux.EPOLL_CTL_ADD && t.k.loops(ep, f):
		return 0, linux.ELOOP
	case op == linux.EPOLL_CTL_ADD:
		ep.items = append(ep.items, &epollItem{file: f, fd: fd, events: events, data: data})
		f.base().watches++
	case op != linux.EPOLL_CTL_MOD && op != linux.EPOLL_CTL_DEL:
		return 0, linux.EINVAL
	case i < 0:
		return 0, linux.ENOENT
	case op == linux.EPOLL_CTL_MOD && ep.items[i].events&linux.EPOLLEXCLUSIVE != 0:
		return 0, linux.EINVAL
	case op == linux.EPOLL_CTL_MOD:
		it := ep.items[i]
		ep.comings += it.file.wakes(it.events)
		it.events, it.data, it.seen = events, data, 0
	case op == linux.EPOLL_CTL_DEL:
		it := ep.items[i]
		ep.remove(func(o *epollItem) bool { return o == it })
	}
	return 0, 0
}

// pollable reports whether f has anything to wait for.
func pollable(f file) bool {
	return f.traits()&unpollable == 0
}

// mayExclude reports whether EPOLLEXCLUSIVE goes with the rest: only where a file is added that is no epoll, and only with
// events that wake whoever waits.
func mayExclude(f file, op int, events uint32) bool {
	_, nested := f.(*epollFile)
	return op == linux.EPOLL_CTL_ADD && !nested && events&^(linux.POLLIN|linux.POLLOUT|linux.POLLERR|linux.POLLHUP|linux.EPOLLWAKEUP|linux.EPOLLET|linux.EPOLLEXCLUSIVE) == 0
}

// An exclusiveWake says whom what a file announced has woken of those that wait with EPOLLEXCLUSIVE.
type exclusiveWake struct {
	wakes uint64
	woken *Thread
}

// wakesUp reports whether it ends t's wait. What was announced once wakes one of those that wait exclusively, and the others
// only when it is announced again; what only the host knows of wakes all.
func (it *epollItem) wakesUp(t *Thread) bool {
	if it.pending(t) == 0 {
		return false
	}
	if it.events&linux.EPOLLEXCLUSIVE == 0 || len(it.file.hostWaits(nil, it.events)) > 0 {
		return true
	}
	now := it.file.wakes(it.events)
	if last, ok := fsOf(t.k).exclusive[it.file]; ok && last.wakes == now {
		return last.woken == t
	}
	fsOf(t.k).exclusive[it.file] = exclusiveWake{now, t}
	return true
}

// pending returns the events of it that are to be reported.
func (it *epollItem) pending(t *Thread) uint32 {
	const flags = linux.EPOLLONESHOT | linux.EPOLLET | linux.EPOLLWAKEUP | linux.EPOLLEXCLUSIVE
	want := it.events &^ flags
	if want == 0 && it.events&linux.EPOLLONESHOT != 0 {
		return 0 // spent
	}
	got := it.file.poll(t) & (want | linux.POLLERR | linux.POLLHUP)
	if it.events&linux.EPOLLET != 0 {
		it.seen &= got
		if it.wakes == it.file.wakes(want) {
			got &^= it.seen
		}
	}
	return got
}

// hostWaits appends to fds what it waits for on the host. What EPOLLET has reported is left out: the host would say at
// once that it is still there, and no time would pass.
func (it *epollItem) hostWaits(fds []hostPoll) []hostPoll {
	events := it.events & 0xffff
	if events == 0 && it.events&linux.EPOLLONESHOT != 0 {
		return fds // spent
	}
	if it.events&linux.EPOLLET == 0 {
		return it.file.hostWaits(fds, events)
	}
	before := len(fds)
	fds = it.file.hostWaits(fds, events&^it.seen)
	if it.seen&(linux.POLLERR|linux.POLLHUP) != 0 {
		fds = quiet(fds, before) // poll(2) reports these, asked for or not; they may go, as when a FIFO is opened again
	}
	return fds
}

func (f *epollFile) poll(t *Thread) uint32 {
	for _, it := range f.items {
		if it.pending(t) != 0 {
			return linux.POLLIN | linux.POLLRDNORM
		}
	}
	return 0
}

// sysEpollWait implements epoll_wait(2).
func sysEpollWait(t *Thread, a Args) (uint64, linux.Errno) { return t.epollWaitMs(a) }

func (t *Thread) epollWaitMs(a Args) (uint64, linux.Errno) {
	d := int64(-1)
	if ms := a.Int(3); ms >= 0 {
		d = int64(ms) * 1e6
	}
	t.setDeadline(d)
	return t.epollWait(a, d == 0)
}

// sysEpollPwait implements epoll_pwait(2).
func sysEpollPwait(t *Thread, a Args) (uint64, linux.Errno) {
	if e := t.callMask(a.Addr(4), a.Uint(5)); e != 0 {
		return 0, e
	}
	n, e := t.epollWaitMs(a)
	return t.dropMask(n, e)
}

// sysEpollPwait2 implements epoll_pwait2(2).
func sysEpollPwait2(t *Thread, a Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(3) != 0 {
		var e linux.Errno
		if d, e = t.timespec(a.Addr(3)); e != 0 {
			return 0, e
		}
	}
	if e := t.callMask(a.Addr(4), a.Uint(5)); e != 0 {
		return 0, e
	}
	t.setDeadline(d)
	n, e := t.epollWait(a, d == 0)
	return t.dropMask(n, e)
}

// maxEvents is EP_MAX_EVENTS.
const maxEvents = (1<<31 - 1) / 12

func (t *Thread) epollWait(a Args, now bool) (uint64, linux.Errno) {
	if _, e := t.openFile(a.Int(0)); e != 0 {
		return 0, e
	}
	limit := a.Int(2)
	if limit <= 0 || limit > maxEvents {
		return 0, linux.EINVAL
	}
	if !userRange(a.Uint(1), uint64(limit)*12) {
		return 0, linux.EFAULT
	}
	ep, e := t.epollFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return t.harvest(ep, emu.Addr(a.Uint(1)), limit, now)
}

// harvest reports up to limit events of ep, and waits if there are none.
func (t *Thread) harvest(ep *epollFile, at emu.Addr, limit int, now bool) (uint64, linux.Errno) {
	var b pack
	var n uint64
	var reported []*epollItem
	for _, it := range ep.items {
		got := it.pending(t)
		if got == 0 || n >= uint64(limit) || t.timedOut() && !it.wakesUp(t) {
			continue
		}
		b.u32(got)
		b.u64(it.data)
		n++
		it.seen, it.wakes = it.seen|got, it.file.wakes(it.events)
		if it.events&linux.EPOLLONESHOT != 0 {
			it.events &= linux.EPOLLONESHOT | linux.EPOLLET
		}
		reported = append(reported, it)
	}
	if n > 0 {
		// Those not reached this time come first the next (fs/eventpoll.c, "round robin").
		rest := slices.DeleteFunc(slices.Clone(ep.items), func(it *epollItem) bool { return slices.Contains(reported, it) })
		ep.items = append(rest, reported...)
		return n, t.copyOut(at, b)
	}
	if now || t.timedOut() {
		return 0, 0
	}
	filesOf(t).call.hold(ep)
	return t.block(wait{
		deadline: t.call.deadline, interrupted: linux.EINTR,
		ready: func() bool {
			return slices.ContainsFunc(ep.items, func(it *epollItem) bool { return it.wakesUp(t) })
		},
		hosts: func(fds []hostPoll) []hostPoll { return ep.hostWaits(fds, linux.POLLIN) },
	}, func() (uint64, linux.Errno) { return t.harvest(ep, at, limit, now) })
}
