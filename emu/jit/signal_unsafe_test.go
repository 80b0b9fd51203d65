//go:build linux && amd64

package jit

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// signalStackOf returns where this thread's signal stack begins and ends.
func signalStackOf(t *testing.T) (lo, hi uint64) {
	var st signalStack
	_, _, e := unix.RawSyscall(unix.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&st)), 0)
	require.Zero(t, e)
	return uint64(st.sp), uint64(st.sp + st.size)
}
