//go:build !portable

package mem

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// identify returns what tells f from other files. ok is false if the host does not say.
func identify(f *os.File) (id backingID, ok bool) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return id, false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return backingID{fileID{st.Dev, st.Ino}, flags & unix.O_ACCMODE}, err == nil
}

// reopen returns a file of our own for src: an open file description that holds none of its locks,
// if possible. It is nil if there is no descriptor left.
func reopen(src *os.File, mode int) *os.File {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", src.Fd()), mode|unix.O_CLOEXEC, 0)
	if err != nil {
		if fd, err = unix.FcntlInt(src.Fd(), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return nil
		}
	}
	return os.NewFile(uintptr(fd), src.Name())
}

// populate asks the host for the pages of [lo, hi) at once. It is a hint.
func (r *reservation) populate(lo, hi emu.Addr) {
	if hi-lo >= 4*emu.PageSize {
		unix.Syscall(unix.SYS_MADVISE, r.base+uintptr(lo), uintptr(hi-lo), unix.MADV_POPULATE_WRITE)
	}
}
