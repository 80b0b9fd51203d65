package mem

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"

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

// pagemap opens /proc/self/pagemap; -1 if the host has none. Tests replace it.
var pagemap = sync.OnceValue(func() int {
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
})

// Bits of an entry there (Documentation/admin-guide/mm/pagemap.rst).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61 // or shared
)

// changedPages calls f for the runs of pages of v that are neither untouched nor its file's.
func changedPages(base uintptr, v VMA, f func(lo, hi emu.Addr)) error {
	if pagemap() < 0 {
		f(v.Lo, v.Hi)
		return nil
	}
	const chunk = 16 << 10 // pages
	size := emu.Addr(os.Getpagesize())
	number := func(a emu.Addr) uint64 { return (uint64(base) + uint64(a)) / uint64(size) } // of the host's page
	buf := make([]byte, 8*min(chunk, number(v.Hi-1)-number(v.Lo)+1))
	from := v.Hi // where the run began
	for at := v.Lo; at < v.Hi; {
		b := buf[:min(uint64(len(buf)), 8*(number(v.Hi-1)-number(at)+1))]
		n, err := unix.Pread(pagemap(), b, int64(number(at)*8))
		if n < 8 {
			return fmt.Errorf("mem: reading /proc/self/pagemap: %w", err)
		}
		for i := 0; i+8 <= n; i += 8 {
			e := binary.LittleEndian.Uint64(b[i:])
			changed := e&(pagePresent|pageSwapped) != 0 && (!v.File || e&pageOfFile == 0)
			switch {
			case changed && from == v.Hi:
				from = at
			case !changed && from != v.Hi:
				f(from, at)
				from = v.Hi
			}
			at = min(v.Hi, emu.Addr((number(at)+1)*uint64(size)-uint64(base)))
		}
	}
	if from != v.Hi {
		f(from, v.Hi)
	}
	return nil
}

// populate asks the host for the pages of [lo, hi) at once. It is a hint.
func (r *reservation) populate(lo, hi emu.Addr) {
	const madvPopulateWrite = 23
	if hi-lo >= 4*emu.PageSize {
		unix.Syscall(unix.SYS_MADVISE, r.base+uintptr(lo), uintptr(hi-lo), madvPopulateWrite)
	}
}
