package files

import (
	"fmt"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// An EpollItem is a file an epoll instance watches.
type EpollItem struct {
	File   File
	FD     int
	Events uint32
	Data   uint64
	// Seen are the events already reported, for EPOLLET, and wakes how often they had been announced: an
	// event is reported again after it was gone, or when it was announced again.
	Seen  uint32
	wakes uint64
}

// An EpollFile is an epoll instance. Items are kept in the order in which they were added.
type EpollFile struct {
	FileBase
	Items []*EpollItem
	// watchers are the epoll instances that watch it, each as often as it does.
	watchers []*EpollFile
	// walk is the last walk through epoll instances that came here (EpollLoops), row what it found.
	walk uint64
	row  int
}

// Add begins to watch a file.
func (f *EpollFile) Add(it *EpollItem) {
	f.Items = append(f.Items, it)
	it.File.Base().Watches++
	if o, ok := it.File.(*EpollFile); ok {
		o.watchers = append(o.watchers, f)
	}
}

// Wakes is how often its files had wakeups, including those that it watches no more.
func (f *EpollFile) Wakes(uint32) uint64 {
	n := f.Comings
	for _, it := range f.Items {
		n += it.File.Wakes(it.Events)
	}
	return n
}

// Remove ends the watches that match.
func (f *EpollFile) Remove(match func(*EpollItem) bool) {
	f.Items = slices.DeleteFunc(f.Items, func(it *EpollItem) bool {
		if match(it) {
			f.Comings += it.File.Wakes(it.Events)
			it.File.Base().Watches--
			if o, ok := it.File.(*EpollFile); ok {
				i := slices.Index(o.watchers, f)
				o.watchers = slices.Delete(o.watchers, i, i+1)
			}
			return true
		}
		return false
	})
}

// Ioctl knows none of the parameters for polling network devices (since Linux 6.9).
func (f *EpollFile) Ioctl(*task.Thread, uint32, emu.Addr) (uint64, linux.Errno) {
	return 0, linux.EINVAL
}

// HostWaits is for POLLIN what its files wait for. Nothing else ever comes.
func (f *EpollFile) HostWaits(fds []host.PollFD, events uint32) []host.PollFD {
	before := len(fds)
	for _, it := range f.Items {
		fds = it.hostWaits(fds)
	}
	if events&linux.POLLIN == 0 {
		fds = quiet(fds, before)
	}
	return fds
}

func (*EpollFile) Traits() Traits { return Unreadable | Unwritable | unpositioned }

func (f *EpollFile) FDInfo() (b []byte) {
	for _, it := range f.Items {
		b = fmt.Appendf(b, "tfd: %8d events: %8x data: %16x  pos:0 ino:0 sdev:0\n", it.FD, it.Events, it.Data)
	}
	return b
}

func (f *EpollFile) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *EpollFile) Close(k *task.Kernel) {
	f.Remove(func(*EpollItem) bool { return true })
	SystemOf(k).Epolls = slices.DeleteFunc(SystemOf(k).Epolls, func(o *EpollFile) bool { return o == f })
}

// forgetEpoll removes a closed file from all epoll instances.
func forgetEpoll(k *task.Kernel, f File) {
	delete(SystemOf(k).exclusive, f)
	for _, ep := range SystemOf(k).Epolls {
		ep.Remove(func(it *EpollItem) bool { return it.File == f })
	}
}

// GetEpoll returns the epoll instance behind fd: EINVAL if that is another file.
func GetEpoll(t *task.Thread, fd int) (*EpollFile, linux.Errno) {
	f, e := GetFile(t, fd)
	if e != 0 {
		return nil, e
	}
	ep, ok := f.(*EpollFile)
	if !ok {
		return nil, linux.EINVAL
	}
	return ep, 0
}

// maxNested is how many epolls may watch one another in a row.
const maxNested = 5

// EpollLoops reports whether f, if ep watched it, would watch itself or make the row too long.
func EpollLoops(k *task.Kernel, ep *EpollFile, f File) bool {
	to, ok := f.(*EpollFile)
	if !ok {
		return false
	}
	walks := &SystemOf(k).epollWalks
	*walks++
	down := to.rowDown(*walks)
	if ep.walk == *walks {
		return true // it was met
	}
	*walks++
	return ep.rowUp(*walks)+down > maxNested
}

// rowDown returns how many epolls watch one another in a row from f on. Each is gone to once in a walk: there are no
// circles, but many ways.
func (f *EpollFile) rowDown(walk uint64) int {
	if f.walk == walk {
		return f.row
	}
	longest := 0
	for _, it := range f.Items {
		if o, ok := it.File.(*EpollFile); ok {
			longest = max(longest, o.rowDown(walk))
		}
	}
	f.walk, f.row = walk, 1+longest
	return f.row
}

// rowUp returns how many do in a row up to f.
func (f *EpollFile) rowUp(walk uint64) int {
	if f.walk == walk {
		return f.row
	}
	longest := 0
	for _, o := range f.watchers {
		longest = max(longest, o.rowUp(walk))
	}
	f.walk, f.row = walk, 1+longest
	return f.row
}

// An exclusiveWake says whom what a file announced has woken of those that wait with EPOLLEXCLUSIVE.
type exclusiveWake struct {
	wakes uint64
	woken *task.Thread
}

// wakesUp reports whether it ends t's wait. What was announced once wakes one of those that wait exclusively, and the
// others only when it is announced again; what only the host knows of wakes all.
func (it *EpollItem) wakesUp(t *task.Thread) bool {
	if it.pending(t) == 0 {
		return false
	}
	if it.Events&linux.EPOLLEXCLUSIVE == 0 || len(it.File.HostWaits(nil, it.Events)) > 0 {
		return true
	}
	now := it.File.Wakes(it.Events)
	if last, ok := SystemOf(t.Kernel).exclusive[it.File]; ok && last.wakes == now {
		return last.woken == t
	}
	SystemOf(t.Kernel).exclusive[it.File] = exclusiveWake{now, t}
	return true
}

// pending returns the events of it that are to be reported.
func (it *EpollItem) pending(t *task.Thread) uint32 {
	const flags = linux.EPOLLONESHOT | linux.EPOLLET | linux.EPOLLWAKEUP | linux.EPOLLEXCLUSIVE
	want := it.Events &^ flags
	if want == 0 && it.Events&linux.EPOLLONESHOT != 0 {
		return 0 // spent
	}
	got := it.File.Poll(t) & (want | linux.POLLERR | linux.POLLHUP)
	if it.Events&linux.EPOLLET != 0 {
		it.Seen &= got
		if it.wakes == it.File.Wakes(want) {
			got &^= it.Seen
		}
	}
	return got
}

// reportAnew makes events of files be reported, though they were.
func (fs *System) reportAnew(which func(File) bool, events uint32) {
	if events&linux.POLLIN != 0 {
		events |= linux.POLLRDNORM
	}
	if events&linux.POLLOUT != 0 {
		events |= linux.POLLWRNORM
	}
	for _, ep := range fs.Epolls {
		for _, it := range ep.Items {
			if which(it.File) && it.Seen&events != 0 {
				it.Seen &^= events
				ep.Comings++ // for who watches ep
			}
		}
	}
}

// hostWaits appends to fds what it waits for on the host. What EPOLLET has reported is left out: the host would say at
// once that it is still there, and no time would pass.
func (it *EpollItem) hostWaits(fds []host.PollFD) []host.PollFD {
	events := it.Events & 0xffff
	if events == 0 && it.Events&linux.EPOLLONESHOT != 0 {
		return fds // spent
	}
	if it.Events&linux.EPOLLET == 0 {
		return it.File.HostWaits(fds, events)
	}
	before := len(fds)
	fds = it.File.HostWaits(fds, events&^it.Seen)
	if it.Seen&(linux.POLLERR|linux.POLLHUP) != 0 {
		fds = quiet(fds, before) // poll(2) reports these, asked for or not; they may go, as when a FIFO is opened again
	}
	return fds
}

func (f *EpollFile) Poll(t *task.Thread) uint32 {
	for _, it := range f.Items {
		if it.pending(t) != 0 {
			return linux.POLLIN | linux.POLLRDNORM
		}
	}
	return 0
}

// maxEvents is EP_MAX_EVENTS.
const maxEvents = (1<<31 - 1) / 12

// EpollWait is epoll_wait(2) with the arguments a: it reports what there is, and otherwise waits until the call's
// deadline, unless now is set.
func EpollWait(t *task.Thread, a uio.Args, now bool) (uint64, linux.Errno) {
	if _, e := GetFile(t, a.Int(0)); e != 0 {
		return 0, e
	}
	limit := a.Int(2)
	if limit <= 0 || limit > maxEvents {
		return 0, linux.EINVAL
	}
	if !uio.UserRange(a.Uint(1), uint64(limit)*12) {
		return 0, linux.EFAULT
	}
	ep, e := GetEpoll(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return harvest(t, ep, emu.Addr(a.Uint(1)), limit, now)
}

// harvest reports up to limit events of ep, and waits if there are none.
func harvest(t *task.Thread, ep *EpollFile, at emu.Addr, limit int, now bool) (uint64, linux.Errno) {
	var b linux.Pack
	var n uint64
	var reported []*EpollItem
	for _, it := range ep.Items {
		got := it.pending(t)
		if got == 0 || n >= uint64(limit) || t.TimedOut() && !it.wakesUp(t) {
			continue
		}
		b.U32(got)
		b.U64(it.Data)
		n++
		it.Seen, it.wakes = it.Seen|got, it.File.Wakes(it.Events)
		if it.Events&linux.EPOLLONESHOT != 0 {
			it.Events &= linux.EPOLLONESHOT | linux.EPOLLET
		}
		reported = append(reported, it)
	}
	if n > 0 {
		// Those not reached this time come first the next (fs/eventpoll.c, "round robin").
		rest, next := ep.Items[:0], reported // which are in the order of Items
		for _, it := range ep.Items {
			if len(next) > 0 && it == next[0] {
				next = next[1:]
			} else {
				rest = append(rest, it)
			}
		}
		ep.Items = append(rest, reported...)
		return n, t.CopyOut(at, b)
	}
	if now || t.TimedOut() {
		return 0, 0
	}
	Of(t).Call.Hold(ep)
	return t.Block(task.Wait{
		Deadline: t.Call.Deadline, OnSignal: linux.EINTR,
		Ready: func() bool {
			return slices.ContainsFunc(ep.Items, func(it *EpollItem) bool { return it.wakesUp(t) })
		},
		Hosts: func(fds []host.PollFD) []host.PollFD { return ep.HostWaits(fds, linux.POLLIN) },
	}, func() (uint64, linux.Errno) { return harvest(t, ep, at, limit, now) })
}
