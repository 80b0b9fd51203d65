package main

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// TestStartFailure has a file of cgemu's own not be taken for the program.
func TestStartFailure(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "r.tar", Err: syscall.ENOSPC}
	status, err := new(options).startFailure("prog", fmt.Errorf("%w: %w", cgemu.ErrNotRecorded, full))
	require.Equal(t, exitFailed, status)
	require.EqualError(t, err, "the run is not recorded: write r.tar: no space left on device")
	status, _ = new(options).startFailure("prog", &fs.PathError{Op: "open", Path: "prog", Err: syscall.EISDIR})
	require.Equal(t, exitNotExec, status)
}
