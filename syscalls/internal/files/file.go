package files

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A File is an open file description. Methods get the position to work at, or
// -1 for the file's own. A call that must wait returns EAGAIN, whatever
// O_NONBLOCK says; poll tells when it will not.
type File interface {
	Base() *FileBase
	// Name is the guest's name of it, as /proc/self/fd shows.
	Name(k *task.Kernel) string
	Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno)
	Write(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno)
	Seek(t *task.Thread, off int64, whence int) (int64, linux.Errno)
	Stat(t *task.Thread) (Stat, linux.Errno)
	// Poll returns the events that are there.
	Poll(t *task.Thread) uint32
	// Wakes is how often one of events was announced.
	Wakes(events uint32) uint64
	// Waits is what a transfer of n bytes that returned EAGAIN waits for: the zero value for poll's saying that one of
	// events is there.
	Waits(t *task.Thread, events uint32, n uint64) task.Wait
	// HostWaits appends to fds what to wait for on the host for events, if they depend on the host.
	HostWaits(fds []host.PollFD, events uint32) []host.PollFD
	// Traits are what is odd about files of this kind.
	Traits() Traits
	Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno)
	// SetFlags sets the flags that F_SETFL changes.
	SetFlags(flags int) linux.Errno
	// Close is called when the last descriptor goes away.
	Close(k *task.Kernel)
}

// The Traits of a kind of file.
type Traits uint8

const (
	Unreadable   Traits = 1 << iota // read(2) is EINVAL before it looks at the memory
	Unwritable                      // write(2) is
	positioned                      // offsets are taken, though it cannot be sought (FMODE_PREAD)
	unpositioned                    // offsets are not taken, though it can be sought
	Unpollable                      // there is nothing to wait for, and epoll takes it not
	Streaming                       // it has no positions at all (FMODE_LSEEK)
	Uniform                         // it is a device that is the same at all positions
	WholeWrites                     // a write that has waited goes on until all is written
)

// A waiter reads and writes by rules of its own when it has to wait, as sockets do, whose waits have timeouts.
type waiter interface {
	ReadWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno)
	WriteWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno)
}

// quiet puts something that never happens in the place of what was appended to fds from its length before on.
func quiet(fds []host.PollFD, before int) []host.PollFD {
	if len(fds) > before {
		fds = append(fds[:before], host.PollFD{FD: host.NoFD})
	}
	return fds
}

// An Owned file has an inode that belongs to the guest's user, as pipes and sockets have.
type Owned interface {
	// SetMode is fchmod(2).
	SetMode(mode uint32)
}

// A referenced file is told when a reference to it was dropped that was not the last.
type referenced interface{ Dropped(k *task.Kernel) }

// A FileBase is what all open file descriptions have. It supplies the methods
// of file with what a file of no abilities does.
type FileBase struct {
	Flags int
	Refs  int
	// Path is the guest's name of it, "" if the host has to be asked.
	Path string
	Wakeups
	Owner fileOwner
	// Watches is how many epoll instances watch it, and for how many descriptors each.
	Watches int
}

// The Wakeups of a file are how often something came to read and room came to write, for EPOLLET, and who is told of it by
// a signal.
type Wakeups struct {
	Comings, goings uint64
	told            []*asyncFile
}

// Wake notes that something came to read (POLLIN), or room to write (POLLOUT), as Linux wakes those who wait for it, and
// tells who wants to be told by a signal.
func (n *Wakeups) Wake(events uint32) {
	n.Count(events)
	n.Announce(events)
}

// Count is wake for what no signal tells of.
func (n *Wakeups) Count(events uint32) {
	if events&linux.POLLIN != 0 {
		n.Comings++
	}
	if events&linux.POLLOUT != 0 {
		n.goings++
	}
}

func (n *Wakeups) Wakes(events uint32) uint64 {
	var sum uint64
	if events&(linux.POLLIN|linux.POLLRDNORM|linux.POLLRDHUP) != 0 {
		sum += n.Comings
	}
	if events&(linux.POLLOUT|linux.POLLWRNORM) != 0 {
		sum += n.goings
	}
	return sum
}

func (b *FileBase) Base() *FileBase { return b }

func (b *FileBase) Name(*task.Kernel) string { return b.Path }

func (b *FileBase) Read(*task.Thread, []uio.Iovec, int64) (uint64, linux.Errno) {
	return 0, linux.EINVAL
}

func (b *FileBase) Write(*task.Thread, []uio.Iovec, int64) (uint64, linux.Errno) {
	return 0, linux.EINVAL
}

func (b *FileBase) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, linux.ESPIPE }

func (b *FileBase) Poll(*task.Thread) uint32 {
	return linux.POLLIN | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM
}

func (b *FileBase) Ioctl(*task.Thread, uint32, emu.Addr) (uint64, linux.Errno) {
	return 0, linux.ENOTTY
}

func (b *FileBase) SetFlags(flags int) linux.Errno { b.Flags = flags; return 0 }

func (b *FileBase) Close(*task.Kernel) {}

func (b *FileBase) Waits(*task.Thread, uint32, uint64) task.Wait { return task.Wait{} }

func (b *FileBase) HostWaits(fds []host.PollFD, _ uint32) []host.PollFD { return fds }

func (b *FileBase) Traits() Traits { return 0 }

func (b *FileBase) Stat(t *task.Thread) (Stat, linux.Errno) {
	// An anonymous inode.
	return Stat{Dev: anonDev, Ino: SystemOf(t.Kernel).Inodes.anonymous, Mode: 0o600, Nlink: 1, UID: t.Kernel.UID, GID: t.Kernel.GID}, 0
}

// Readable reports whether it is open for reading. A file opened with O_ACCMODE itself, for ioctl(2) alone, can be neither read nor
// written.
func (b *FileBase) Readable() bool {
	mode := b.Flags & (linux.O_ACCMODE | linux.O_PATH)
	return mode == linux.O_RDONLY || mode == linux.O_RDWR
}

// Writable reports whether it is open for writing.
func (b *FileBase) Writable() bool {
	mode := b.Flags & (linux.O_ACCMODE | linux.O_PATH)
	return mode == linux.O_WRONLY || mode == linux.O_RDWR
}

// Nonblock reports whether O_NONBLOCK is set.
func (b *FileBase) Nonblock() bool { return b.Flags&linux.O_NONBLOCK != 0 }

// Positions reports whether f can be read and written at offsets (FMODE_PREAD, FMODE_PWRITE).
func Positions(t *task.Thread, f File) bool {
	switch is := f.Traits(); {
	case is&unpositioned != 0:
		return false
	case is&positioned != 0:
		return true
	}
	_, e := f.Seek(t, 0, linux.SEEK_CUR)
	return e != linux.ESPIPE
}

// An FDEntry is a descriptor.
type FDEntry struct {
	File    File
	Cloexec bool
}

// An FDTable has descriptors of one thread or more: commonly of all threads of a process (CLONE_FILES).
type FDTable struct {
	Entries []FDEntry
	users   int // threads
	// taken has a bit for each descriptor that is not free, full one for each word of taken that has all its bits.
	taken, full []uint64
}

// NewFDTable returns an empty table that one thread has.
func NewFDTable() *FDTable { return &FDTable{users: 1} }

// fdTables goes through the tables of all threads. Threads that share one mostly come in a row: it comes once for those.
func fdTables(k *task.Kernel) iter.Seq[*FDTable] {
	return func(yield func(*FDTable) bool) {
		var last *FDTable
		for _, p := range k.Processes {
			for _, t := range p.Threads {
				if Of(t).FDs != last && !yield(Of(t).FDs) {
					return
				}
				last = Of(t).FDs
			}
		}
	}
}

// take makes fd one that is not free.
func (ft *FDTable) take(fd int) {
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
func (ft *FDTable) free(fd int) {
	w := fd / 64
	ft.taken[w] &^= 1 << (fd % 64)
	ft.full[w/64] &^= 1 << (w % 64)
}

// Lowest returns the lowest free descriptor at or above low.
func (ft *FDTable) Lowest(low int) int {
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

// Size is how many descriptors the kernel's table has room for: 64, or what the highest one
// ever made it grow to. select(2) does not look beyond it (fs/file.c, alloc_fdtable).
func (ft *FDTable) Size() int {
	if len(ft.Entries) <= 64 {
		return 64
	}
	return max(128, 1<<bits.Len(uint(len(ft.Entries)-1)))
}

// File returns what fd refers to.
func (ft *FDTable) File(fd int) (File, linux.Errno) {
	if fd < 0 || fd >= len(ft.Entries) || ft.Entries[fd].File == nil {
		return nil, linux.EBADF
	}
	return ft.Entries[fd].File, 0
}

// FreeFD is the lowest free descriptor at or above low.
func FreeFD(t *task.Thread, low int) (int, linux.Errno) {
	fd := Of(t).FDs.Lowest(low)
	if fd >= int(min(t.Process.Limits[linux.RLIMIT_NOFILE].Cur, task.MaxFiles)) {
		return -1, linux.EMFILE
	}
	return fd, 0
}

// AddFD gives f the lowest free descriptor at or above low.
func AddFD(t *task.Thread, f File, low int, cloexec bool) (int, linux.Errno) {
	fd, e := FreeFD(t, low)
	if e == 0 {
		Of(t).FDs.Set(fd, f, cloexec)
	}
	return fd, e
}

// A reservation is a descriptor that a call has taken before it has a file for it.
type reservation struct {
	in *FDTable
	fd int
}

func (r *reservation) release() {
	if r.in != nil {
		r.in.free(r.fd)
		r.in = nil
	}
}

// Reserve takes the descriptor that t's call will give to the file that it opens, as Linux does before it looks for one:
// nobody else gets it while the call waits.
func Reserve(t *task.Thread) linux.Errno {
	fd, e := FreeFD(t, 0)
	if e == 0 {
		Of(t).FDs.take(fd)
		Of(t).Call.reserved = reservation{Of(t).FDs, fd}
	}
	return e
}

// Reserves reports whether fd is taken and has no file yet.
func (ft *FDTable) Reserves(fd int) bool {
	_, e := ft.File(fd)
	return e != 0 && fd/64 < len(ft.taken) && ft.taken[fd/64]>>(fd%64)&1 != 0
}

// Install gives a descriptor to a new file, the one that was reserved if there is one. The file is closed if there is no room.
func Install(t *task.Thread, f File, flags int) (uint64, linux.Errno) {
	if r := &Of(t).Call.reserved; r.in != nil {
		fd := r.fd
		r.in.Set(fd, f, flags&linux.O_CLOEXEC != 0)
		r.in = nil
		return uint64(fd), 0
	}
	fd, e := AddFD(t, f, 0, flags&linux.O_CLOEXEC != 0)
	if e != 0 {
		f.Close(t.Kernel)
		return 0, e
	}
	return uint64(fd), 0
}

// Set makes fd refer to f; it must be free.
func (ft *FDTable) Set(fd int, f File, cloexec bool) {
	if n := fd + 1 - len(ft.Entries); n > 0 {
		ft.Entries = append(ft.Entries, make([]FDEntry, n)...)
	}
	f.Base().Refs++
	ft.Entries[fd] = FDEntry{f, cloexec}
	ft.take(fd)
}

// Close frees fd.
func (ft *FDTable) Close(k *task.Kernel, fd int) linux.Errno {
	f, e := ft.File(fd)
	if e != 0 {
		return e
	}
	ft.Entries[fd] = FDEntry{}
	ft.free(fd)
	dropLocks(k, f, ft)
	Release(k, f)
	return 0
}

// Release drops a reference to f.
func Release(k *task.Kernel, f File) {
	b := f.Base()
	if b.Refs--; b.Refs == 0 {
		stopAsync(k, f)
		if b.Watches > 0 {
			forgetEpoll(k, f)
		}
		dropLocks(k, f, f)
		f.Close(k)
	} else if f, ok := f.(referenced); ok {
		f.Dropped(k)
	}
}

// closeAll frees every descriptor.
func (ft *FDTable) closeAll(k *task.Kernel) {
	for fd := range ft.Entries {
		ft.Close(k, fd)
	}
	ft.Entries, ft.taken, ft.full = nil, nil, nil
}

// closeOnExec frees descriptors that execve(2) closes.
func (ft *FDTable) closeOnExec(k *task.Kernel) {
	for fd, ent := range ft.Entries {
		if ent.Cloexec {
			ft.Close(k, fd)
		}
	}
}

// Open lists the descriptors in use.
func (ft *FDTable) Open() []int {
	var out []int
	for fd, ent := range ft.Entries {
		if ent.File != nil {
			out = append(out, fd)
		}
	}
	return slices.Clip(out)
}

// GetRawFile returns what fd refers to, also if that only names a file (O_PATH).
func GetRawFile(t *task.Thread, fd int) (File, linux.Errno) { return Of(t).FDs.File(fd) }

// This file has the calls about how long a file is and what of it is in memory or on the disk. What they look at first
// decides which error the wrong kind of file gets (fs/open.c, fs/sync.c, mm/fadvise.c, mm/readahead.c).

// GetFile returns what fd refers to, unless it only names a file (O_PATH).
func GetFile(t *task.Thread, fd int) (File, linux.Errno) {
	f, e := GetRawFile(t, fd)
	if e == 0 && f.Base().Flags&linux.O_PATH != 0 {
		return nil, linux.EBADF
	}
	return f, e
}
