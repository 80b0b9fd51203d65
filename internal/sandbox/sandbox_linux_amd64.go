package sandbox

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Available says what Confine would put up: the texts are not complete.
func Available() (w Walls) {
	abi, err := landlockABI()
	if w.NoLandlock = err; err == nil {
		w.Landlock = fmt.Sprintf("ABI %d", abi)
	}
	if w.NoSeccomp = seccompAvailable(); w.NoSeccomp == nil {
		w.Seccomp = "filter"
	}
	return w
}

// Confine holds the process to p as far as the host can, and says how far.
func Confine(p Policy) (w Walls) {
	r, err := newRuleset(p)
	if w.NoLandlock = err; err == nil {
		defer r.close()
	}
	if w.NoSeccomp = seccompAvailable(); w.NoSeccomp == nil {
		w.Seccomp, w.NoSeccomp = filter(p, r.abi)
	}
	if w.NoLandlock == nil {
		// To go through all threads takes a millisecond where not all processors are idle. The filter has taken
		// privileges from all.
		w.Landlock, w.NoLandlock = r.restrict(w.NoSeccomp != nil)
	}
	return w
}

// onAllThreads makes a system call on each thread.
func onAllThreads(trap, a1, a2, a3 uintptr) error {
	if _, _, e := syscall.AllThreadsSyscall6(trap, a1, a2, a3, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// noNewPrivileges is what both walls ask for (prctl(2), PR_SET_NO_NEW_PRIVS).
func noNewPrivileges() error {
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
