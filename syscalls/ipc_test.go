//go:build linux && amd64

package syscalls_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestIPCLimits makes as many objects of each kind as there may be: /proc/sys says how many.
func TestIPCLimits(t *testing.T) {
	var files unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	if files.Max < 8192 {
		t.Skip("each segment of shared memory takes a descriptor of the host's")
	}
	prog := compileC(t, "testdata/ipc/limits.c", "-O1")
	out, status := guestRun(t, []string{prog}, nil)
	require.Zero(t, status)
	require.Equal(t, `shmget(IPC_PRIVATE, 1, 0600): 4096, then No space left on device
msgget(IPC_PRIVATE, 0600): 32000, then No space left on device
semget(IPC_PRIVATE, 1, 0600): 32000, then No space left on device
queue(i): 256, then No space left on device
`, out)
}
