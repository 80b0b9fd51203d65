package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// spool makes a file that has no name in any directory, so that the guest finds nothing there that differs from run to
// run.
func spool(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("--verify: a file for %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
