//go:build linux && amd64

package syscalls_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFlockWaiters has a hundred threads wait for a lock for half a second of the guest's time: together they take as
// much of real time as one would, not a hundred times that.
func TestFlockWaiters(t *testing.T) {
	prog := compileC(t, "testdata/flock/waiters.c", "-O1")
	begin := time.Now()
	out, status := guestRun(t, []string{prog, filepath.Join(t.TempDir(), "lock")}, nil)
	require.Zero(t, status)
	require.Equal(t, "done\n", out)
	require.Less(t, time.Since(begin), 25*time.Second)
}
