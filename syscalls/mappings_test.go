//go:build linux && amd64

package syscalls_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// TestManyMappings runs a program that has as many mappings as it may have, natively and under cgemu: equal output, and
// a message. It is none of those in testdata/guest, which run at the same time and share what the host has room for.
func TestManyMappings(t *testing.T) {
	prog := compileC(t, "testdata/mappings/manymappings.c", "-O1")
	want, err := exec.Command(prog).Output()
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	var out, log bytes.Buffer
	res, err := cgemu.Run(t.Context(), cgemu.Config{Path: prog, Args: []string{prog}, Stdin: null, Stdout: &out, Stderr: &out, Log: &log, Engine: *engineName})
	require.NoError(t, err)
	require.Zero(t, res.Exit.Status(), "%s", log.String())
	require.Equal(t, string(want), out.String())
	if log.Len() > 0 { // the host has no room for as many as Linux allows
		require.Regexp(t, `^cgemu: mprotect: the host has no room for another mapping of memory: .*; the program gets ENOMEM\n$`, log.String())
	}
}
