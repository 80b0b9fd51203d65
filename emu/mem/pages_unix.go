//go:build darwin || freebsd || (linux && portable)

package mem

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func pagesAvailable() error { return nil }

// reservePages reserves memory, all of which can be used: the host gives pages when they are.
func reservePages(size uintptr) (uintptr, error) {
	return mmapAt(0, size, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
}

// guardPages has nobody touch n bytes at p.
func guardPages(p, n uintptr) error { return unix.Mprotect(hostSlice(p, 0, uint64(n)), unix.PROT_NONE) }

func releasePages(p, n uintptr) error { return munmapAt(p, n) }

// commitPages has nothing to do.
func commitPages(p, n uintptr) error { return nil }

// dropPages makes pages zero, and gives them back.
func dropPages(p, n uintptr) error {
	_, err := mmapAt(p, n, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve|unix.MAP_FIXED)
	return err
}

func identifyFile(f *os.File) (id backingID, ok bool) {
	info, err := f.Stat()
	if err != nil {
		return id, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if !ok || err != nil {
		return id, false
	}
	return backingID{fileID{uint64(st.Dev), uint64(st.Ino)}, flags & unix.O_ACCMODE}, true
}

func duplicate(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), f.Name())
}
