package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stuck writer never returns from Write before it is let go.
type stuck chan struct{}

func (s stuck) Write(b []byte) (int, error) {
	<-s
	return len(b), nil
}

// TestMessages writes messages to where nobody reads them.
func TestMessages(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	m := &messages{ctx: ctx, to: &out}
	n, err := m.Write([]byte("one\n"))
	require.Equal(t, 4, n)
	require.NoError(t, err)
	to := make(stuck)
	defer close(to)
	m = &messages{ctx: ctx, to: to}
	cancel()
	for range 2 {
		_, err = m.Write([]byte("two\n"))
		require.ErrorIs(t, err, errUnread)
	}
	m = &messages{ctx: ctx, to: &out}
	_, err = m.Write([]byte("three\n"))
	require.NoError(t, err)
	require.Equal(t, "one\nthree\n", out.String())
}

func TestCure(t *testing.T) {
	require.Empty(t, cure(errors.New("x")))
	require.Empty(t, cure(syscall.EINVAL))
	require.Contains(t, cure(fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "f", Err: syscall.EMFILE})), "ulimit -n")
	require.Contains(t, cure(fmt.Errorf("x: %w", syscall.EFBIG)), "ulimit -f")
}
