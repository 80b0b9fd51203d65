package syscalls

import (
	"math"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// This file has the calls about how long a file is and what of it is in memory or on the disk. What they look at first
// decides which error the wrong kind of file gets (fs/open.c, fs/sync.c, mm/fadvise.c, mm/readahead.c).

// sysFtruncate implements ftruncate(2).
func sysFtruncate(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Long(1) < 0 {
		return 0, linux.EINVAL
	}
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	h, ok := f.(*files.HostFile)
	if st, e := f.Stat(t); !ok && e == 0 && st.Mode&linux.S_IFMT == linux.S_IFREG && f.Base().Writable() {
		return 0, 0 // a file of ours has no length
	}
	if !ok || !h.IsRegular() || !h.Writable() {
		return 0, linux.EINVAL
	}
	if e := mayBecome(t, h, a.Long(1)); e != 0 {
		return 0, e
	}
	if e := h.FD.Truncate(a.Long(1)); e != 0 {
		return 0, e
	}
	finishChange(t, h, a.Long(1))
	return 0, 0
}

// finishChange is called after h was changed, perhaps its length. What pages from offset from on held is elsewhere, or
// gone.
func finishChange(t *task.Thread, h *files.HostFile, from int64) {
	files.Cut(t.Kernel, h.Ino, from)
	files.FileEvent(t.Kernel, h, linux.IN_MODIFY)
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
func sysFallocate(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	st, e := f.Stat(t)
	mode, off, n := a.U32(1), a.Long(2), a.Long(3)
	h, ok := f.(*files.HostFile)
	switch {
	case e != 0:
		return 0, e
	case off < 0 || n <= 0:
		return 0, linux.EINVAL
	case !fallocates(mode):
		return 0, linux.EOPNOTSUPP
	case !f.Base().Writable():
		return 0, linux.EBADF
	case st.Mode&linux.S_IFMT == linux.S_IFIFO:
		return 0, linux.ESPIPE
	case !ok || !h.IsRegular():
		return 0, linux.ENODEV
	case off+n < 0:
		return 0, linux.EFBIG
	}
	if mode&linux.FALLOC_FL_UNSHARE_RANGE != 0 {
		// Few file systems can, and the others say so before they look at the limit.
		if e := h.Allocate(mode|linux.FALLOC_FL_KEEP_SIZE, off+n-1, 1); e != 0 {
			return 0, e
		}
	}
	if limitsAllocation(h, mode) {
		if e := mayBecome(t, h, off+n); e != 0 {
			return 0, e
		}
	}
	from := int64(math.MaxInt64)
	if mode&(linux.FALLOC_FL_COLLAPSE_RANGE|linux.FALLOC_FL_INSERT_RANGE) != 0 {
		from = off
	}
	if e := h.Allocate(mode, off, n); e != 0 {
		return 0, e
	}
	finishChange(t, h, from)
	return 0, 0
}

// limitsAllocation reports whether fallocate(2) with mode looks at RLIMIT_FSIZE: where the file may end at the end of
// the range. A tmpfs has two modes, and looks also where it only reserves memory (shmem_fallocate in mm/shmem.c).
func limitsAllocation(h *files.HostFile, mode uint32) bool {
	switch mode {
	case 0:
		return true
	case linux.FALLOC_FL_KEEP_SIZE:
		return h.FD != host.NoFD && h.FD.OnTmpfs()
	case linux.FALLOC_FL_ZERO_RANGE, linux.FALLOC_FL_UNSHARE_RANGE:
		return h.FD == host.NoFD || !h.FD.OnTmpfs()
	}
	return false
}

// sysFsync implements fsync(2) and fdatasync(2): the guest's data is the host's already, and no count depends on the
// disk.
func sysFsync(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	h, ok := f.(*files.HostFile)
	if !ok {
		return 0, linux.EINVAL
	}
	return 0, h.Sync()
}

// sysSyncfs implements syncfs(2), for which any file of a file system will do.
func sysSyncfs(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if h, ok := f.(*files.HostFile); ok && (h.IsRegular() || h.IsDir()) {
		return 0, h.Sync()
	}
	return 0, 0
}

// sysSyncFileRange implements sync_file_range(2), as fsync.
func sysSyncFileRange(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const waitBefore, write, waitAfter = 1, 2, 4
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	off, n := a.Long(1), a.Long(2)
	if a.U32(3)&^(waitBefore|write|waitAfter) != 0 || off < 0 || off+n < off {
		return 0, linux.EINVAL
	}
	st, e := f.Stat(t)
	if e != 0 {
		return 0, e
	}
	switch st.Mode & linux.S_IFMT {
	case linux.S_IFREG, linux.S_IFBLK, linux.S_IFDIR, linux.S_IFLNK:
	default:
		return 0, linux.ESPIPE
	}
	if h, ok := f.(*files.HostFile); ok {
		return 0, h.Sync()
	}
	return 0, 0
}

// lastAdvice is the last of posix_fadvise(2), POSIX_FADV_NOREUSE.
const lastAdvice = 5

// sysFadvise64 implements posix_fadvise(2): advice is checked and not needed.
func sysFadvise64(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if files.IsPipe(f) {
		return 0, linux.ESPIPE
	}
	if a.U32(3) > lastAdvice || a.Long(2) < 0 {
		return 0, linux.EINVAL
	}
	return 0, 0
}

// sysReadahead implements readahead(2), which is advice, too.
func sysReadahead(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetFile(t, a.Int(0))
	if e == 0 && !f.Base().Readable() {
		e = linux.EBADF
	}
	if e != 0 {
		return 0, e
	}
	if st, e := f.Stat(t); e != 0 || st.Mode&linux.S_IFMT != linux.S_IFREG || a.Long(2) < 0 {
		return 0, linux.EINVAL
	}
	return 0, 0
}
