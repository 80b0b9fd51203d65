package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limits return the values of limits by the command that sets them; false for one that is not known.
var limits = map[string]func() (uint64, bool){
	"ulimit -n": limit(syscall.RLIMIT_NOFILE), "ulimit -f": limit(syscall.RLIMIT_FSIZE),
}

func limit(resource int) func() (uint64, bool) {
	return func() (uint64, bool) {
		var r syscall.Rlimit
		err := syscall.Getrlimit(resource, &r)
		return r.Cur, err == nil
	}
}

// leastFiles is how many descriptors a run of one process takes at least. With fewer Go's runtime may
// fail where it can tell nobody why.
const leastFiles = 24

// checkHost says why nothing can run here that the engine does not say.
func checkHost() error {
	// It would be killed; so a write fails instead, and says so.
	signal.Ignore(syscall.SIGXFSZ)
	if n, ok := limits["ulimit -n"](); ok && n < leastFiles {
		return fmt.Errorf("the limit of open files, ulimit -n, is %d: %d are needed", n, leastFiles)
	}
	return checkProc()
}

// checkProc says that /proc is missing: files are opened again by their names in /proc/self/fd, the program, too.
func checkProc() error {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return fmt.Errorf("there is no /proc (%w): mount -t proc proc /proc", err)
	}
	return nil
}

// checkDirectory says what is wrong with the working directory.
func checkDirectory() error {
	if _, err := os.Getwd(); err != nil {
		return fmt.Errorf("the working directory was removed or cannot be reached (%w): change to another one", err)
	}
	return nil
}

// writableDir says why no file can be made in a directory.
func writableDir(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// writable waits until a write to a file would not wait, and reports whether that is so.
func writable(f *os.File, d time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, int(d.Milliseconds()))
	return n > 0 || err != nil && err != unix.EINTR
}

// lockDirectory keeps other runs of cgemu from giving files of a directory new names until unlock is called. Where that
// cannot be had within a second, as somebody else may hold such a lock for long, it goes without.
func lockDirectory(dir string) (unlock func()) {
	const tries, pause = 100, 10 * time.Millisecond
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for range tries {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(pause)
	}
	return func() { f.Close() }
}
