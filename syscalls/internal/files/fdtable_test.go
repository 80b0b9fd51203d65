package files

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// TestHostsFiles opens files until the host has no more: the limit that the guest sees is another one, and a
// descriptor's number is none of the host's.
func TestHostsFiles(t *testing.T) {
	k := task.NewKernel(task.Config{ChecksAccesses: true}, nil)
	th, err := k.FirstThread(New())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, th.Process.Mem.Close()) })
	k.HostFiles = 3
	add := func(low int) (int, linux.Errno) { return AddFD(th, &MemDevice{Rdev: DevNull}, low, false) }
	for i := range 2 {
		fd, e := add(0)
		require.Zero(t, e)
		require.Equal(t, i, fd)
	}
	fd, e := add(100)
	require.Zero(t, e)
	require.Equal(t, 100, fd)
	fd, e = add(0)
	require.Zero(t, e)
	require.Equal(t, 2, fd)
	for _, low := range []int{0, 100} {
		_, e := add(low)
		require.Equal(t, linux.EMFILE, e)
		require.False(t, th.Files.AtLimit())
	}
	_, e = add(1024)
	require.Equal(t, linux.EMFILE, e)
	require.True(t, th.Files.AtLimit(), "its own limit")
	require.EqualValues(t, 1024, th.Process.Limits[linux.RLIMIT_NOFILE].Cur)
}
