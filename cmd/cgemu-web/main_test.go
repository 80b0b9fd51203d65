//go:build !js

package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(name+" text\n"), 0o600))
		return path
	}
	out, program, exec := filepath.Join(dir, "page.html"), file("program"), file("exec")
	require.NoError(t, run([]string{"-program", program, "-exec", exec, "-o", out, "-version", "1.2.3", file("one"), file("two")}, io.Discard))
	page, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Regexp(t, `(?s)one text\n\n={80}\n\ntwo text\n`, string(page))
	require.Contains(t, string(page), "cgemu 1.2.3")

	require.ErrorContains(t, run([]string{"-program", program, "-exec", exec, "-o", out}, io.Discard), "-program, -exec, -o and a file with a licence are needed")
	for _, args := range [][]string{
		{"-program", "none", "-exec", exec, "-o", out, program}, {"-program", program, "-exec", "none", "-o", out, program},
		{"-program", program, "-exec", exec, "-o", out, "none"}, {"-program", program, "-exec", exec, "-o", filepath.Join(dir, "none", "x"), program},
	} {
		require.ErrorIs(t, run(args, io.Discard), os.ErrNotExist)
	}
}
