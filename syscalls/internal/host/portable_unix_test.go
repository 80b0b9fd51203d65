//go:build unix && (!linux || portable)

package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestReady asks for events of a pipe that the host has by other numbers, or not at all.
func TestReady(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	const all = linux.POLLIN | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM | linux.POLLRDHUP | linux.POLLPRI
	require.EqualValues(t, linux.POLLOUT|linux.POLLWRNORM, ready(w, all))
	require.EqualValues(t, linux.POLLWRNORM, ready(w, linux.POLLWRNORM))
	require.Zero(t, ready(r, all))
	_, err = w.WriteString("x")
	require.NoError(t, err)
	require.EqualValues(t, linux.POLLIN|linux.POLLRDNORM, ready(r, all))
	require.NoError(t, w.Close())
	require.EqualValues(t, linux.POLLRDNORM|linux.POLLHUP, ready(r, linux.POLLRDNORM))
	for _, p := range pollEvents { // FreeBSD's POLLINIGNEOF is Linux's POLLRDHUP, macOS's POLLEXTEND Linux's POLLWRBAND
		require.Contains(t, []int16{unix.POLLIN, unix.POLLPRI, unix.POLLOUT}, p.host)
	}
}

// TestSelected asks select(2) for what has nothing to do with its sets.
func TestSelected(t *testing.T) {
	const both = linux.POLLIN | linux.POLLOUT
	require.EqualValues(t, both, selected(100_000, both))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	require.EqualValues(t, linux.POLLOUT|linux.POLLWRNORM, selected(int(w.Fd()), both|linux.POLLWRNORM))
	require.Zero(t, selected(int(r.Fd()), linux.POLLIN))
}

// TestErrnos checks the table of errors where both sides have the same numbers, and what has none.
func TestErrnos(t *testing.T) {
	if runtime.GOOS == "linux" {
		for host, guest := range errnos {
			require.EqualValues(t, host, guest)
		}
	}
	require.Equal(t, linux.EOPNOTSUPP, ErrnoOf(fmt.Errorf("x: %w", unix.ENOTSUP)))
	require.Equal(t, linux.EOPNOTSUPP, ErrnoOf(fmt.Errorf("x: %w", errors.ErrUnsupported)))
	require.Equal(t, linux.EIO, ErrnoOf(syscall.Errno(0xffff)))
}

// TestOutputAppends writes at an offset to an output that appends, as pwrite(2) of Linux does: at the end.
func TestOutputAppends(t *testing.T) {
	name := t.TempDir() + "/log"
	require.NoError(t, os.WriteFile(name, []byte("begin"), 0o644))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer f.Close()
	out, e := FromFile(f)
	require.Zero(t, e)
	defer out.Close()
	n, e := out.Writev([][]byte{[]byte(" end")}, 0)
	require.Zero(t, e)
	require.Equal(t, 4, n)
	requireText(t, "begin end", name)
	require.True(t, out.MayWrite())
	again, e := Open(out.Again(), linux.O_WRONLY, 0, 0)
	require.Zero(t, e)
	defer again.Close()
	_, e = again.Writev([][]byte{[]byte(", again")}, 0)
	require.Zero(t, e)
	requireText(t, "begin end, again", name)
	empty, e := Open(out.Again(), linux.O_WRONLY|linux.O_TRUNC, 0, 0)
	require.Zero(t, e)
	defer empty.Close()
	requireText(t, "", name)
}
