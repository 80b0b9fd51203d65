//go:build !portable

package syscalls

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestPlaceWithoutDirectory checks that our own working directory is never where a guest's path begins.
func TestPlaceWithoutDirectory(t *testing.T) {
	assert.Panics(t, func() { host.Place{Dir: host.NoFD, Path: "relative"}.FD() })
	assert.Equal(t, unix.AT_FDCWD, host.Place{Dir: host.NoFD, Path: "/absolute"}.FD())
	assert.Equal(t, 5, host.Place{Dir: 5, Path: "relative"}.FD())
}

// TestLockOfClosedFile has another process have the descriptors of this one while a guest closes a file that it has
// locked, as one has that is between fork(2) and execve(2). The lock goes with the guest's file; that of a standard
// file stays, which is open outside as well.
func TestLockOfClosedFile(t *testing.T) {
	g := newGuest(t)
	name := g.str("lock")
	fd := g.ok(nr("open"), name, linux.O_RDWR|linux.O_CREAT, 0o600)
	g.ok(nr("flock"), fd, linux.LOCK_EX)
	keepOpen(t, filepath.Join(g.dir, "lock"))
	g.ok(nr("close"), fd)
	fd = g.ok(nr("open"), name, linux.O_RDWR)
	g.ok(nr("flock"), fd, linux.LOCK_EX|linux.LOCK_NB)

	g.ok(nr("flock"), 1, linux.LOCK_EX)
	g.ok(nr("close"), 1)
	g.ok(nr("close"), 2)
	out, err := os.Open(g.out.Name())
	require.NoError(t, err)
	defer out.Close()
	require.Equal(t, unix.EWOULDBLOCK, unix.Flock(int(out.Fd()), unix.LOCK_EX|unix.LOCK_NB))
}

// keepOpen duplicates the descriptors of this process that refer to the file.
func keepOpen(t *testing.T, file string) {
	want, err := os.Stat(file)
	require.NoError(t, err)
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	found := false
	for _, e := range open {
		if st, err := os.Stat("/proc/self/fd/" + e.Name()); err == nil && os.SameFile(st, want) {
			fd, err := strconv.Atoi(e.Name())
			require.NoError(t, err)
			fd, err = unix.Dup(fd)
			require.NoError(t, err)
			t.Cleanup(func() { unix.Close(fd) })
			found = true
		}
	}
	require.True(t, found, "%s is not open", file)
}
