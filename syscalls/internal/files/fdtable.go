package files

import (
	"math/bits"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

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
	tf := Of(t)
	fd := tf.FDs.Lowest(low)
	tf.Call.AtLimit = fd >= int(min(t.Process.Limits[linux.RLIMIT_NOFILE].Cur, task.MaxFiles))
	if tf.Call.AtLimit || uint64(tf.FDs.Lowest(0)) >= t.Kernel.HostFiles {
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

// Reserve takes the descriptor that t's call will give to the file that it opens, as Linux does before it looks for
// one: nobody else gets it while the call waits.
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

// Install gives a descriptor to a new file, the one that was reserved if there is one. The file is closed if there is
// no room.
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

// GetFile returns what fd refers to, unless it only names a file (O_PATH).
func GetFile(t *task.Thread, fd int) (File, linux.Errno) {
	f, e := GetRawFile(t, fd)
	if e == 0 && f.Base().Flags&linux.O_PATH != 0 {
		return nil, linux.EBADF
	}
	return f, e
}

// copy returns a table of the same open files.
func (ft *FDTable) copy() *FDTable {
	n := NewFDTable()
	for fd, ent := range ft.Entries {
		if ent.File != nil {
			n.Set(fd, ent.File, ent.Cloexec)
		}
	}
	return n
}

// Unshared returns a table that one thread alone has.
func (ft *FDTable) Unshared() *FDTable {
	if ft.users == 1 {
		return ft
	}
	ft.users--
	return ft.copy()
}

// leave drops a thread's share of the table, and closes it with the last.
func (ft *FDTable) leave(k *task.Kernel) {
	if ft.users--; ft.users == 0 {
		ft.closeAll(k)
	}
}
