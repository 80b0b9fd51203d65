//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// contents maps a file, whose pages are then read when they are looked at. Files are replaced, never changed.
func contents(f *os.File, size int64) (b []byte, release func(part []byte), err error) {
	if b, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE); err != nil {
		return nil, nil, err // it may be empty
	}
	return b, func(part []byte) {
		if len(part) == len(b) {
			syscall.Munmap(b)
		} else if begin := cap(b) - cap(part); len(part) > 0 {
			// Whole pages alone. What fails leaves them where they are.
			page := os.Getpagesize()
			from, to := (begin+page-1)/page*page, (begin+len(part))/page*page
			if from < to {
				forget(b[from:to])
			}
		}
	}, nil
}

// Private reports whether no other user but root can have changed a file or directory.
func Private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
