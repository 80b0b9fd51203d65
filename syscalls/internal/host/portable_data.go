//go:build !linux || portable

package host

import (
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Readv reads at off, or at the file position if off is negative.
func (f FD) Readv(bufs [][]byte, off int64) (n int, e linux.Errno) {
	h, e := f.os()
	if e != 0 {
		return 0, e
	}
	return each(bufs, off, func(b []byte, off int64) (int, error) {
		if off < 0 {
			return transfer(h, b, false)
		}
		return h.ReadAt(b, off)
	})
}

// Writev writes at off, or at the file position if off is negative; at the end, if the file was opened with O_APPEND.
func (f FD) Writev(bufs [][]byte, off int64) (n int, e linux.Errno) {
	h, e := f.os()
	if e != 0 {
		return 0, e
	}
	o := f.file()
	if e := o.mayWrite(bufs, off); e != 0 {
		return 0, e
	}
	atEnd := o.flags&linux.O_APPEND != 0
	if _, ok := isRegular(h); ok && atEnd {
		if off >= 0 { // pwrite(2) appends, too, but leaves the position
			at, err := h.Seek(0, io.SeekCurrent)
			if err != nil {
				return 0, ErrnoOf(err)
			}
			defer h.Seek(at, io.SeekStart)
		}
		if !o.appends {
			if _, err := h.Seek(0, io.SeekEnd); err != nil {
				return 0, ErrnoOf(err)
			}
		}
	}
	return each(bufs, off, func(b []byte, off int64) (int, error) {
		if off < 0 || atEnd {
			return transfer(h, b, true)
		}
		return h.WriteAt(b, off)
	})
}

// each calls do for each of bufs until one is not done whole. An error behind the first bytes is not told: it will come
// again.
func each(bufs [][]byte, off int64, do func(b []byte, off int64) (int, error)) (done int, e linux.Errno) {
	for _, b := range bufs {
		at := off
		if off >= 0 {
			at += int64(done)
		}
		n, err := do(b, at) // 0 at the end of the file
		done += max(n, 0)
		if err == io.EOF {
			return done, 0
		}
		if err != nil && done == 0 {
			return 0, ErrnoOf(err)
		}
		if n < len(b) || err != nil {
			return done, 0
		}
	}
	return done, 0
}

// isRegular reports whether the file is one.
func isRegular(h *os.File) (size int64, ok bool) {
	info, err := h.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// Lseek is lseek(2). No file is known to have holes.
func (f FD) Lseek(off int64, whence int) (int64, linux.Errno) {
	h, e := f.os()
	if e != 0 {
		return 0, e
	}
	size, ok := isRegular(h)
	switch {
	case !ok && !seeksDevices(h):
		return 0, linux.ESPIPE
	case whence == linux.SEEK_DATA || whence == linux.SEEK_HOLE:
		if off < 0 || off >= size {
			return 0, linux.ENXIO
		}
		if whence == linux.SEEK_HOLE {
			off = size
		}
		whence = linux.SEEK_SET
	case whence < 0 || whence > linux.SEEK_HOLE:
		return 0, linux.EINVAL
	}
	n, err := h.Seek(off, whence)
	if err != nil {
		return 0, linux.EINVAL
	}
	return n, 0
}

// seeksDevices reports whether h is a device that has positions.
func seeksDevices(h *os.File) bool {
	info, err := h.Stat()
	return err == nil && info.Mode()&fs.ModeDevice != 0 && info.Mode()&fs.ModeCharDevice == 0
}

// Truncate makes the file size bytes long.
func (f FD) Truncate(size int64) linux.Errno {
	h, e := f.os()
	if e != 0 {
		return e
	}
	if size < 0 {
		return linux.EINVAL
	}
	if now, ok := isRegular(h); ok {
		if o := f.file(); size < now && o.sealed(linux.F_SEAL_SHRINK) || size > now && o.sealed(linux.F_SEAL_GROW) {
			return linux.EPERM
		}
	}
	return ErrnoOf(h.Truncate(size))
}

// Allocate is fallocate(2), by writing zeros: no blocks are kept, and none given back.
func (f FD) Allocate(mode uint32, off, n int64) linux.Errno {
	const keepSize, punchHole, zeroRange = 1, 2, 0x10
	h, e := f.os()
	if e != 0 {
		return e
	}
	switch {
	case off < 0 || n <= 0:
		return linux.EINVAL
	case off > math.MaxInt64-n:
		return linux.EFBIG
	}
	size, ok := isRegular(h)
	if !ok {
		return linux.ENODEV
	}
	keep := mode&keepSize != 0
	switch mode &^ keepSize {
	case 0:
		if keep || off+n <= size {
			return 0
		}
		return f.Truncate(off + n)
	case punchHole, zeroRange:
		if mode&^keepSize == punchHole && !keep {
			return linux.EOPNOTSUPP
		}
		if !keep && off+n > size {
			if e := f.Truncate(off + n); e != 0 {
				return e
			}
			size = off + n
		}
		return f.file().zero(off, min(off+n, size))
	}
	return linux.EOPNOTSUPP
}

// zero makes [from, to) zero.
func (o *file) zero(from, to int64) linux.Errno {
	if o.sealed(linux.F_SEAL_WRITE | linux.F_SEAL_FUTURE_WRITE) {
		return linux.EPERM
	}
	h := o.f
	if o.appends {
		anew, e := o.anew()
		if e != 0 {
			return e
		}
		defer anew.Close()
		h = anew
	}
	zeros := make([]byte, 1<<16)
	for from < to {
		n, err := h.WriteAt(zeros[:min(int64(len(zeros)), to-from)], from)
		if err != nil {
			return ErrnoOf(err)
		}
		from += int64(n)
	}
	return 0
}

// Sync writes what the file contains to the disk.
func (f FD) Sync() linux.Errno {
	h, e := f.os()
	if e != 0 {
		return e
	}
	if e = ErrnoOf(h.Sync()); e == linux.EACCES {
		return 0 // Windows does that for what is open for writing only; a directory has nothing to write
	}
	return e
}

// SetAppend sets or clears O_APPEND. The host does not do it: what others write between finding the end and writing
// there is overwritten.
func (f FD) SetAppend(on bool) linux.Errno {
	h, e := f.os()
	if e != 0 {
		return e
	}
	o := f.file()
	if on {
		o.flags |= linux.O_APPEND
		return 0
	}
	if !o.appends {
		o.flags &^= linux.O_APPEND
		return 0
	}
	anew, e := o.anew()
	if e != 0 {
		return e
	}
	at, err := h.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = anew.Seek(at, io.SeekStart)
	}
	if err != nil {
		anew.Close()
		return ErrnoOf(err)
	}
	o.f, o.flags, o.appends = anew, o.flags&^linux.O_APPEND, false
	return ErrnoOf(h.Close())
}

// Memfd makes a file that is in no directory which the guest knows, with flags of memfd_create(2).
func Memfd(_ string, flags uint32) (FD, linux.Errno) {
	const allowSealing, known = 2, 3
	if flags&^known != 0 {
		return NoFD, linux.EINVAL
	}
	dir, err := filepath.Abs(os.TempDir())
	if err != nil {
		return NoFD, ErrnoOf(err)
	}
	f, err := os.CreateTemp(dir, "cgemu-*")
	if err != nil {
		return NoFD, ErrnoOf(err)
	}
	_ = f.Chmod(0o777) // which some hosts do not know
	f.Close()          // it could not be removed while it is open in this way
	fd, e := Open(Place{Dir: NoFD, Path: f.Name()}, linux.O_RDWR, 0, 0)
	if e != 0 {
		_ = os.Remove(f.Name()) // the error of Open says what is wrong
		return NoFD, e
	}
	o := fd.file()
	o.seals = new(uint32)
	if flags&allowSealing == 0 {
		*o.seals = linux.F_SEAL_SEAL
	}
	o.temporary = o.at.remove() != nil // a host may not remove what is open
	return fd, 0
}

// Fcntl is for F_ADD_SEALS and F_GET_SEALS. The size of a FIFO is not known.
func (f FD) Fcntl(cmd int, arg uint64) (uint64, linux.Errno) {
	const all = linux.F_SEAL_SEAL | linux.F_SEAL_SHRINK | linux.F_SEAL_GROW | linux.F_SEAL_WRITE | linux.F_SEAL_FUTURE_WRITE
	o := f.file()
	switch {
	case o == nil:
		return 0, linux.EBADF
	case o.seals == nil:
		return 0, linux.EINVAL
	case cmd == linux.F_GET_SEALS:
		return uint64(*o.seals), 0
	case cmd != linux.F_ADD_SEALS || arg&^all != 0:
		return 0, linux.EINVAL
	case o.sealed(linux.F_SEAL_SEAL):
		return 0, linux.EPERM
	}
	*o.seals |= uint32(arg)
	return 0, 0
}

// sealed reports whether o has one of seals.
func (o *file) sealed(seals uint32) bool { return o.seals != nil && *o.seals&seals != 0 }

// Sealed reports whether f must not be written to, and so not be mapped for that.
func (f FD) Sealed() bool {
	o := f.file()
	return o != nil && o.sealed(linux.F_SEAL_WRITE|linux.F_SEAL_FUTURE_WRITE)
}

// mayWrite says whether seals allow a write at off, or where o is.
func (o *file) mayWrite(bufs [][]byte, off int64) linux.Errno {
	switch {
	case o.seals == nil || *o.seals == 0:
		return 0
	case o.sealed(linux.F_SEAL_WRITE | linux.F_SEAL_FUTURE_WRITE):
		return linux.EPERM
	case !o.sealed(linux.F_SEAL_GROW):
		return 0
	}
	if off < 0 {
		var err error
		if off, err = o.f.Seek(0, io.SeekCurrent); err != nil {
			return ErrnoOf(err)
		}
	}
	for _, b := range bufs {
		off += int64(len(b))
	}
	if size, _ := isRegular(o.f); off > size {
		return linux.EPERM
	}
	return 0
}

// Flock is flock(2), among those that this process has open.
func (f FD) Flock(op int) linux.Errno {
	const shared, exclusive, unlocked, nonblocking = 1, 2, 8, 4
	o := f.file()
	if o == nil {
		return linux.EBADF
	}
	st, e := f.Stat()
	if e != 0 {
		return e
	}
	op &^= nonblocking
	if op == unlocked {
		unlock(o)
		return 0
	}
	if op != shared && op != exclusive {
		return linux.EINVAL
	}
	locks.Lock()
	defer locks.Unlock()
	id := FileID{Dev: st.Dev, Ino: st.Ino}
	for holder := range locks.held[id] {
		if holder != o && (op == exclusive || holder.lock == exclusive) {
			return linux.EAGAIN
		}
	}
	if locks.held[id] == nil {
		locks.held[id] = map[*file]bool{}
	}
	locks.held[id][o], o.lock, o.locked = true, op, id
	return 0
}

func unlock(o *file) {
	locks.Lock()
	defer locks.Unlock()
	if o.lock == 0 {
		return
	}
	delete(locks.held[o.locked], o)
	if len(locks.held[o.locked]) == 0 {
		delete(locks.held, o.locked)
	}
	o.lock = 0
}

// MayWrite reports whether f is open for writing.
func (f FD) MayWrite() bool {
	o := f.file()
	return o != nil && o.flags&linux.O_ACCMODE != linux.O_RDONLY
}

// SetBlocking has nothing to undo.
func (f FD) SetBlocking() {}

// OnPseudoFS, OnTmpfs: no host has what Linux has.
func (f FD) OnPseudoFS() (string, bool) { return "", false }

func (f FD) OnTmpfs() bool { return false }

// OwnUmask does nothing: settle sees to it that a umask does not matter.
func OwnUmask() {}

// Auxv is nothing that other hosts have.
func Auxv() []byte { return nil }

// User is the user who runs us; one that Linux could have, where the host has none.
func User() (uid, gid uint32) {
	if os.Geteuid() < 0 {
		return 1000, 1000
	}
	return uint32(os.Geteuid()), uint32(os.Getegid())
}

// Poll returns the events of f that are there now.
func (f FD) Poll(events uint32) uint32 {
	o := f.file()
	switch {
	case o == nil:
		return linux.POLLNVAL
	case o.f == nil:
		return linux.POLLNVAL
	}
	if _, ok := isRegular(o.f); ok {
		return events & (linux.POLLIN | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM)
	}
	return ready(o.f, events)
}

// Pauses between looks at what PollWait waits for.
const (
	firstPause = 50 * time.Microsecond
	lastPause  = 5 * time.Millisecond
)

// PollWait waits until one of fds is ready, at most d nanoseconds, and reports whether one is. It looks again and
// again: not every host can wait for files, terminals, sockets at once.
func PollWait(fds []PollFD, d int64) bool {
	if len(fds) == 0 {
		time.Sleep(time.Duration(d))
		return false
	}
	end := time.Now().Add(time.Duration(d))
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		for _, f := range fds {
			if f.On != Pollable(NoFD) && f.On.Poll(f.Events) != 0 {
				return true
			}
		}
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		time.Sleep(min(pause, left))
	}
}
