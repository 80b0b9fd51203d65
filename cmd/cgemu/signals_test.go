//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/loader"
)

// TestMessages writes messages to a pipe that nobody reads any more.
func TestMessages(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	m := newMessages(ctx, w)
	n, err := m.Write([]byte("one\n"))
	require.Equal(t, 4, n)
	require.NoError(t, err)
	cancel()
	_, err = m.Write([]byte("two\n"))
	require.NoError(t, err, "there is room")
	_, err = m.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, errUnread)
	got := make([]byte, 8)
	_, err = io.ReadFull(r, got)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(got))
	_, err = m.Write([]byte("three\n"))
	require.ErrorIs(t, err, errUnread, "and not again")
}

func TestCure(t *testing.T) {
	require.Empty(t, cure(errors.New("x")))
	require.Empty(t, cure(syscall.EINVAL))
	require.Contains(t, cure(fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "f", Err: syscall.EMFILE})), "ulimit -n")
	require.Contains(t, cure(fmt.Errorf("x: %w", syscall.EFBIG)), "ulimit -f")
	for want, err := range map[string]error{
		"no libraries for its programs: --image=FILE": &loader.Error{Path: "x", Interp: "/lib64/ld-linux-x86-64.so.2", Reason: fs.ErrNotExist},
		"build the program for Linux on x86-64":       &loader.Error{Path: "x", Reason: loader.ErrFormat},
	} {
		require.Contains(t, foreignCure(fmt.Errorf("x: %w", err), true), want)
		require.Contains(t, foreignCure(err, true), "or run cgemu in a container or in WSL2")
		require.Empty(t, foreignCure(err, false))
	}
	require.Empty(t, foreignCure(&loader.Error{Path: "x", Reason: fs.ErrPermission}, true))
}
