package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// This file has the calls about how long a file is and what of it is in memory or on the disk. What they look at first
// decides which error the wrong kind of file gets (fs/open.c, fs/sync.c, mm/fadvise.c, mm/readahead.c).

// openFile returns what fd refers to, unless it only names a file (O_PATH).
func (t *Thread) openFile(fd int) (file, linux.Errno) {
	f, e := t.file(fd)
	if e == 0 && f.base().flags&linux.O_PATH != 0 {
		return nil, linux.EBADF
	}
	return f, e
}

// sysFtruncate implements ftruncate(2).
func sysFtruncate(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Long(1) < 0 {
		return 0, linux.EINVAL
	}
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	h, ok := f.(*hostFile)
	if !ok || !h.isRegular() || !h.writable() {
		return 0, linux.EINVAL
	}
	if e := t.mayBecome(h, a.Long(1)); e != 0 {
		return 0, e
	}
	return t.modified(h, h.fd.truncate(a.Long(1)))
}

// modified finishes a call that changed h, or failed.
func (t *Thread) modified(h *hostFile, e linux.Errno) (uint64, linux.Errno) {
	if e == 0 {
		t.k.fileEvent(h, linux.IN_MODIFY)
	}
	return 0, e
}

// fallocates reports whether fallocate(2) has such a mode.
func fallocates(mode uint32) bool {
	switch mode {
	case 0, linux.FALLOC_FL_KEEP_SIZE, linux.FALLOC_FL_ZERO_RANGE, linux.FALLOC_FL_ZERO_RANGE | linux.FALLOC_FL_KEEP_SIZE, linux.FALLOC_FL_UNSHARE_RANGE, linux.FALLOC_FL_UNSHARE_RANGE | linux.FALLOC_FL_KEEP_SIZE,
		linux.FALLOC_FL_PUNCH_HOLE | linux.FALLOC_FL_KEEP_SIZE, linux.FALLOC_FL_COLLAPSE_RANGE, linux.FALLOC_FL_INSERT_RANGE:
		return true
	}
	return false
}

// sysFallocate implements fallocate(2).
func sysFallocate(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	st, e := f.stat(t)
	mode, off, n := a.U32(1), a.Long(2), a.Long(3)
	h, ok := f.(*hostFile)
	switch {
	case e != 0:
		return 0, e
	case off < 0 || n <= 0:
		return 0, linux.EINVAL
	case !fallocates(mode):
		return 0, linux.EOPNOTSUPP
	case !f.base().writable():
		return 0, linux.EBADF
	case st.mode&linux.S_IFMT == linux.S_IFIFO:
		return 0, linux.ESPIPE
	case !ok || !h.isRegular():
		return 0, linux.ENODEV
	case off+n < 0:
		return 0, linux.EFBIG
	}
	if mode&linux.FALLOC_FL_UNSHARE_RANGE != 0 {
		// Few file systems can, and the others say so before they look at the limit.
		if e := h.allocate(mode|linux.FALLOC_FL_KEEP_SIZE, 0, 1); e != 0 {
			return 0, e
		}
	}
	const elsewhere = linux.FALLOC_FL_COLLAPSE_RANGE | linux.FALLOC_FL_INSERT_RANGE // the file does not end at off+n then
	if mode&(linux.FALLOC_FL_KEEP_SIZE|elsewhere) == 0 {
		if e := t.mayBecome(h, off+n); e != 0 {
			return 0, e
		}
	}
	return t.modified(h, h.allocate(mode, off, n))
}

// sysFsync implements fsync(2) and fdatasync(2): the guest's data is the host's already, and no count depends on the disk.
func sysFsync(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	h, ok := f.(*hostFile)
	if !ok {
		return 0, linux.EINVAL
	}
	return 0, h.sync()
}

// sysSyncfs implements syncfs(2), for which any file of a file system will do.
func sysSyncfs(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if h, ok := f.(*hostFile); ok && (h.isRegular() || h.isDir()) {
		return 0, h.sync()
	}
	return 0, 0
}

// sysSyncFileRange implements sync_file_range(2), as fsync.
func sysSyncFileRange(t *Thread, a Args) (uint64, linux.Errno) {
	const waitBefore, write, waitAfter = 1, 2, 4
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	off, n := a.Long(1), a.Long(2)
	if a.U32(3)&^(waitBefore|write|waitAfter) != 0 || off < 0 || off+n < off {
		return 0, linux.EINVAL
	}
	st, e := f.stat(t)
	if e != 0 {
		return 0, e
	}
	switch st.mode & linux.S_IFMT {
	case linux.S_IFREG, linux.S_IFBLK, linux.S_IFDIR, linux.S_IFLNK:
	default:
		return 0, linux.ESPIPE
	}
	if h, ok := f.(*hostFile); ok {
		return 0, h.sync()
	}
	return 0, 0
}

// lastAdvice is the last of posix_fadvise(2), POSIX_FADV_NOREUSE.
const lastAdvice = 5

// sysFadvise64 implements posix_fadvise(2): advice is checked and not needed.
func sysFadvise64(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if isPipe(f) {
		return 0, linux.ESPIPE
	}
	if a.U32(3) > lastAdvice || a.Long(2) < 0 {
		return 0, linux.EINVAL
	}
	return 0, 0
}

// sysReadahead implements readahead(2), which is advice, too.
func sysReadahead(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.openFile(a.Int(0))
	if e == 0 && !f.base().readable() {
		e = linux.EBADF
	}
	if e != 0 {
		return 0, e
	}
	if st, e := f.stat(t); e != 0 || st.mode&linux.S_IFMT != linux.S_IFREG || a.Long(2) < 0 {
		return 0, linux.EINVAL
	}
	return 0, 0
}
