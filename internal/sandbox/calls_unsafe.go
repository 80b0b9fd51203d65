//go:build linux && amd64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// createRuleset is landlock_create_ruleset(2).
func createRuleset(attr *unix.LandlockRulesetAttr, flags uintptr) (int, error) {
	// Older kernels want what they do not know to be zero, which it is.
	size := unsafe.Sizeof(*attr)
	if attr == nil {
		size = 0
	}
	n, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), size, flags)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// addPathRule is landlock_add_rule(2). The kernel's structure is packed: its 12 bytes begin the same.
func addPathRule(ruleset int, attr *unix.LandlockPathBeneathAttr) error {
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(attr)), 0, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// seccomp is seccomp(2); what it returns is that of SECCOMP_FILTER_FLAG_TSYNC.
func seccomp(op, flags uintptr, arg unsafe.Pointer) (uintptr, error) {
	n, _, e := unix.Syscall(unix.SYS_SECCOMP, op, flags, uintptr(arg))
	if e != 0 {
		return 0, e
	}
	return n, nil
}

// hasAction reports whether filters may return action.
func hasAction(action uint32) error {
	_, err := seccomp(unix.SECCOMP_GET_ACTION_AVAIL, 0, unsafe.Pointer(&action))
	return err
}

// setFilter installs prog for all threads. The result is the thread that could not take it.
func setFilter(prog []unix.SockFilter, flags uintptr) (uintptr, error) {
	return seccomp(unix.SECCOMP_SET_MODE_FILTER, flags, unsafe.Pointer(&unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}))
}
