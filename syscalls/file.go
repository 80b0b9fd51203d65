package syscalls

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A file is an open file description. Methods get the position to work at, or
// -1 for the file's own. A call that must wait returns EAGAIN, whatever
// O_NONBLOCK says; poll tells when it will not.
type file interface {
	base() *fileBase
	// name is the guest's name of it, as /proc/self/fd shows.
	name(k *Kernel) string
	read(t *Thread, v []iovec, off int64) (uint64, linux.Errno)
	write(t *Thread, v []iovec, off int64) (uint64, linux.Errno)
	seek(t *Thread, off int64, whence int) (int64, linux.Errno)
	stat(t *Thread) (stat, linux.Errno)
	// poll returns the events that are there.
	poll(t *Thread) uint32
	// wakes is how often one of events was announced.
	wakes(events uint32) uint64
	// waits is what a transfer of n bytes that returned EAGAIN waits for: the zero value for poll's saying that one of
	// events is there.
	waits(t *Thread, events uint32, n uint64) wait
	// hostWaits appends to fds what to wait for on the host for events, if they depend on the host.
	hostWaits(fds []hostPoll, events uint32) []hostPoll
	// traits are what is odd about files of this kind.
	traits() traits
	ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno)
	// setFlags sets the flags that F_SETFL changes.
	setFlags(flags int) linux.Errno
	// close is called when the last descriptor goes away.
	close(k *Kernel)
}

// The traits of a kind of file.
type traits uint8

const (
	unreadable   traits = 1 << iota // read(2) is EINVAL before it looks at the memory
	unwritable                      // write(2) is
	positioned                      // offsets are taken, though it cannot be sought (FMODE_PREAD)
	unpositioned                    // offsets are not taken, though it can be sought
	unpollable                      // there is nothing to wait for, and epoll takes it not
	streaming                       // it has no positions at all (FMODE_LSEEK)
	uniform                         // it is a device that is the same at all positions
	wholeWrites                     // a write that has waited goes on until all is written
)

// A waiter reads and writes by rules of its own when it has to wait, as sockets do, whose waits have timeouts.
type waiter interface {
	readWaiting(t *Thread, v []iovec) (uint64, linux.Errno)
	writeWaiting(t *Thread, v []iovec) (uint64, linux.Errno)
}

// quiet puts something that never happens in the place of what was appended to fds from its length before on.
func quiet(fds []hostPoll, before int) []hostPoll {
	if len(fds) > before {
		fds = append(fds[:before], hostPoll{fd: noFD})
	}
	return fds
}

// An owned file has an inode that belongs to the guest's user, as pipes and sockets have.
type owned interface {
	// setMode is fchmod(2).
	setMode(mode uint32)
}

// A referenced file is told when a reference to it was dropped that was not the last.
type referenced interface{ dropped(k *Kernel) }

// A fileBase is what all open file descriptions have. It supplies the methods
// of file with what a file of no abilities does.
type fileBase struct {
	flags int
	refs  int
	// path is the guest's name of it, "" if the host has to be asked.
	path string
	wakeups
	owner fileOwner
	// watches is how many epoll instances watch it, and for how many descriptors each.
	watches int
}

// The wakeups of a file are how often something came to read and room came to write, for EPOLLET, and who is told of it by
// a signal.
type wakeups struct {
	comings, goings uint64
	told            []*asyncFile
}

// wake notes that something came to read (POLLIN), or room to write (POLLOUT), as Linux wakes those who wait for it, and
// tells who wants to be told by a signal.
func (n *wakeups) wake(events uint32) {
	n.count(events)
	n.announce(events)
}

// count is wake for what no signal tells of.
func (n *wakeups) count(events uint32) {
	if events&linux.POLLIN != 0 {
		n.comings++
	}
	if events&linux.POLLOUT != 0 {
		n.goings++
	}
}

func (n *wakeups) wakes(events uint32) uint64 {
	var sum uint64
	if events&(linux.POLLIN|linux.POLLRDNORM|linux.POLLRDHUP) != 0 {
		sum += n.comings
	}
	if events&(linux.POLLOUT|linux.POLLWRNORM) != 0 {
		sum += n.goings
	}
	return sum
}

func (b *fileBase) base() *fileBase { return b }

func (b *fileBase) name(*Kernel) string { return b.path }

func (b *fileBase) read(*Thread, []iovec, int64) (uint64, linux.Errno)  { return 0, linux.EINVAL }
func (b *fileBase) write(*Thread, []iovec, int64) (uint64, linux.Errno) { return 0, linux.EINVAL }
func (b *fileBase) seek(*Thread, int64, int) (int64, linux.Errno)       { return 0, linux.ESPIPE }
func (b *fileBase) poll(*Thread) uint32 {
	return linux.POLLIN | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM
}
func (b *fileBase) ioctl(*Thread, uint32, emu.Addr) (uint64, linux.Errno) { return 0, linux.ENOTTY }
func (b *fileBase) setFlags(flags int) linux.Errno                        { b.flags = flags; return 0 }
func (b *fileBase) close(*Kernel)                                         {}
func (b *fileBase) waits(*Thread, uint32, uint64) wait                    { return wait{} }
func (b *fileBase) hostWaits(fds []hostPoll, _ uint32) []hostPoll         { return fds }
func (b *fileBase) traits() traits                                        { return 0 }
func (b *fileBase) stat(t *Thread) (stat, linux.Errno) {
	// An anonymous inode.
	return stat{dev: anonDev, ino: fsOf(t.k).inodes.anonymous, mode: 0o600, nlink: 1, uid: t.k.uid, gid: t.k.gid}, 0
}

// A file opened with O_ACCMODE itself, for ioctl(2) alone, can be neither read nor written.
func (b *fileBase) readable() bool {
	mode := b.flags & (linux.O_ACCMODE | linux.O_PATH)
	return mode == linux.O_RDONLY || mode == linux.O_RDWR
}

func (b *fileBase) writable() bool {
	mode := b.flags & (linux.O_ACCMODE | linux.O_PATH)
	return mode == linux.O_WRONLY || mode == linux.O_RDWR
}

func (b *fileBase) nonblock() bool { return b.flags&linux.O_NONBLOCK != 0 }

// positions reports whether f can be read and written at offsets (FMODE_PREAD, FMODE_PWRITE).
func positions(t *Thread, f file) bool {
	switch is := f.traits(); {
	case is&unpositioned != 0:
		return false
	case is&positioned != 0:
		return true
	}
	_, e := f.seek(t, 0, linux.SEEK_CUR)
	return e != linux.ESPIPE
}

// An fdEntry is a descriptor.
type fdEntry struct {
	file    file
	cloexec bool
}

// An fdTable has descriptors of one thread or more: commonly of all threads of a process (CLONE_FILES).
type fdTable struct {
	fds   []fdEntry
	users int // threads
	// taken has a bit for each descriptor that is not free, full one for each word of taken that has all its bits.
	taken, full []uint64
}

func newFDTable() *fdTable { return &fdTable{users: 1} }

// fdTables goes through the tables of all threads. Threads that share one mostly come in a row: it comes once for those.
func (k *Kernel) fdTables() iter.Seq[*fdTable] {
	return func(yield func(*fdTable) bool) {
		var last *fdTable
		for _, p := range k.procs {
			for _, t := range p.threads {
				if filesOf(t).fds != last && !yield(filesOf(t).fds) {
					return
				}
				last = filesOf(t).fds
			}
		}
	}
}

// take makes fd one that is not free.
func (ft *fdTable) take(fd int) {
	w := fd / 64
	if n := w + 1 - len(ft.taken); n > 0 {
		ft.taken = append(ft.taken, make([]uint64, n)...)
		ft.full = append(ft.full, make([]uint64, (len(ft.taken)+63)/64-len(ft.full))...)
	}
	if ft.taken[w] |= 1 << (fd % 64); ft.taken[w] == 1<<64-1 {
		ft.full[w/64] |= 1 << (w % 64)
	}
}

// free makes fd free again.
func (ft *fdTable) free(fd int) {
	w := fd / 64
	ft.taken[w] &^= 1 << (fd % 64)
	ft.full[w/64] &^= 1 << (w % 64)
}

// lowest returns the lowest free descriptor at or above low.
func (ft *fdTable) lowest(low int) int {
	w := low / 64
	if w >= len(ft.taken) {
		return low
	}
	if x := ft.taken[w] | (1<<(low%64) - 1); x != 1<<64-1 {
		return w*64 + bits.TrailingZeros64(^x)
	}
	w++
	for i := w / 64; i < len(ft.full); i++ {
		x := ft.full[i]
		if i == w/64 {
			x |= 1<<(w%64) - 1
		}
		if x != 1<<64-1 {
			if w = i*64 + bits.TrailingZeros64(^x); w < len(ft.taken) {
				return w*64 + bits.TrailingZeros64(^ft.taken[w])
			}
			break
		}
	}
	return len(ft.taken) * 64
}

// size is how many descriptors the kernel's table has room for: 64, or what the highest one
// ever made it grow to. select(2) does not look beyond it (fs/file.c, alloc_fdtable).
func (ft *fdTable) size() int {
	if len(ft.fds) <= 64 {
		return 64
	}
	return max(128, 1<<bits.Len(uint(len(ft.fds)-1)))
}

// file returns what fd refers to.
func (ft *fdTable) file(fd int) (file, linux.Errno) {
	if fd < 0 || fd >= len(ft.fds) || ft.fds[fd].file == nil {
		return nil, linux.EBADF
	}
	return ft.fds[fd].file, 0
}

// freeFD is the lowest free descriptor at or above low.
func (t *Thread) freeFD(low int) (int, linux.Errno) {
	fd := filesOf(t).fds.lowest(low)
	if fd >= int(min(t.p.limits[linux.RLIMIT_NOFILE].cur, maxFiles)) {
		return -1, linux.EMFILE
	}
	return fd, 0
}

// addFD gives f the lowest free descriptor at or above low.
func (t *Thread) addFD(f file, low int, cloexec bool) (int, linux.Errno) {
	fd, e := t.freeFD(low)
	if e == 0 {
		filesOf(t).fds.set(fd, f, cloexec)
	}
	return fd, e
}

// A reservation is a descriptor that a call has taken before it has a file for it.
type reservation struct {
	in *fdTable
	fd int
}

func (r *reservation) release() {
	if r.in != nil {
		r.in.free(r.fd)
		r.in = nil
	}
}

// reserve takes the descriptor that t's call will give to the file that it opens, as Linux does before it looks for one:
// nobody else gets it while the call waits.
func (t *Thread) reserve() linux.Errno {
	fd, e := t.freeFD(0)
	if e == 0 {
		filesOf(t).fds.take(fd)
		filesOf(t).call.reserved = reservation{filesOf(t).fds, fd}
	}
	return e
}

// reserves reports whether fd is taken and has no file yet.
func (ft *fdTable) reserves(fd int) bool {
	_, e := ft.file(fd)
	return e != 0 && fd/64 < len(ft.taken) && ft.taken[fd/64]>>(fd%64)&1 != 0
}

// install gives a descriptor to a new file, the one that was reserved if there is one. The file is closed if there is no room.
func (t *Thread) install(f file, flags int) (uint64, linux.Errno) {
	if r := &filesOf(t).call.reserved; r.in != nil {
		fd := r.fd
		r.in.set(fd, f, flags&linux.O_CLOEXEC != 0)
		r.in = nil
		return uint64(fd), 0
	}
	fd, e := t.addFD(f, 0, flags&linux.O_CLOEXEC != 0)
	if e != 0 {
		f.close(t.k)
		return 0, e
	}
	return uint64(fd), 0
}

// set makes fd refer to f; it must be free.
func (ft *fdTable) set(fd int, f file, cloexec bool) {
	if n := fd + 1 - len(ft.fds); n > 0 {
		ft.fds = append(ft.fds, make([]fdEntry, n)...)
	}
	f.base().refs++
	ft.fds[fd] = fdEntry{f, cloexec}
	ft.take(fd)
}

// close frees fd.
func (ft *fdTable) close(k *Kernel, fd int) linux.Errno {
	f, e := ft.file(fd)
	if e != 0 {
		return e
	}
	ft.fds[fd] = fdEntry{}
	ft.free(fd)
	k.dropLocks(f, ft)
	release(k, f)
	return 0
}

// release drops a reference to f.
func release(k *Kernel, f file) {
	b := f.base()
	if b.refs--; b.refs == 0 {
		k.stopAsync(f)
		if b.watches > 0 {
			k.forgetEpoll(f)
		}
		k.dropLocks(f, f)
		f.close(k)
	} else if f, ok := f.(referenced); ok {
		f.dropped(k)
	}
}

// closeAll frees every descriptor.
func (ft *fdTable) closeAll(k *Kernel) {
	for fd := range ft.fds {
		ft.close(k, fd)
	}
	ft.fds, ft.taken, ft.full = nil, nil, nil
}

// closeOnExec frees descriptors that execve(2) closes.
func (ft *fdTable) closeOnExec(k *Kernel) {
	for fd, ent := range ft.fds {
		if ent.cloexec {
			ft.close(k, fd)
		}
	}
}

// open lists the descriptors in use.
func (ft *fdTable) open() []int {
	var out []int
	for fd, ent := range ft.fds {
		if ent.file != nil {
			out = append(out, fd)
		}
	}
	return slices.Clip(out)
}

// file returns the open file behind argument fd.
func (t *Thread) file(fd int) (file, linux.Errno) { return filesOf(t).fds.file(fd) }

// readable returns the file behind fd if it is open for reading.
func (t *Thread) readable(fd int) (file, linux.Errno) {
	f, e := t.file(fd)
	if e == 0 && !f.base().readable() {
		return nil, linux.EBADF
	}
	return f, e
}

// writable returns the file behind fd if it is open for writing.
func (t *Thread) writable(fd int) (file, linux.Errno) {
	f, e := t.file(fd)
	if e == 0 && !f.base().writable() {
		return nil, linux.EBADF
	}
	return f, e
}
