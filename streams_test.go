//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// TestReaders gives a program its input in each way.
func TestReaders(t *testing.T) {
	text := strings.Repeat("some text\n", 50_000)
	for name, in := range map[string]io.Reader{
		"strings.Reader": strings.NewReader(text), "bytes.Reader": bytes.NewReader([]byte(text)), "bytes.Buffer": bytes.NewBufferString(text),
		"pipe": io.MultiReader(strings.NewReader(text)),
	} {
		cmd := cgemu.Command("cat")
		cmd.Stdin = in
		out, err := cmd.Output()
		require.NoError(t, err, name)
		require.Equal(t, text, string(out), name)
	}
	out, err := cgemu.Command("cat").Output()
	require.NoError(t, err)
	assert.Empty(t, out, "there is nothing to read")
}

// TestFiles gives a program files beyond its standard streams.
func TestFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte("text\n"), 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	run := func(n int) (string, error) {
		var out strings.Builder
		_, err := cgemu.Run(t.Context(), cgemu.Config{Path: "/bin/sh", Args: []string{"sh", "-c", "cat <&7; echo more >&7"}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Files: map[int]*os.File{n: f}})
		return out.String(), err
	}
	out, err := run(7)
	require.NoError(t, err)
	require.Equal(t, "text\n", out)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "text\nmore\n", string(b))
	for _, n := range []int{-1, 2} {
		_, err = run(n)
		require.EqualError(t, err, fmt.Sprintf("cgemu: descriptor %d of Files: 3 to 1048575 expected", n))
	}
	f.Close()
	_, err = run(7)
	require.ErrorContains(t, err, "file 7: ")
}

// TestUnreadInput has a program end before it has read its input, from a reader that never ends.
func TestUnreadInput(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	cmd := cgemu.Command("true")
	cmd.Stdin = r
	require.NoError(t, cmd.Run())
}

// TestWriters collects standard output and standard error, apart and together, in the order in which they were written.
func TestWriters(t *testing.T) {
	const script = "echo a; echo b >&2; echo c; exit 3"
	cmd := cgemu.Command("sh", "-c", script)
	out, err := cmd.Output()
	var failed *cgemu.ExitError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "a\nc\n", string(out))
	assert.Equal(t, "b\n", string(failed.Stderr))
	assert.Equal(t, 3, failed.Code)
	assert.Equal(t, 3, cmd.Result.Exit.Status())
	require.Error(t, cmd.Run(), "it has run")

	out, err = cgemu.Command("sh", "-c", script).CombinedOutput()
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "a\nb\nc\n", string(out))

	broken := errors.New("the writer is broken")
	cmd = cgemu.Command("echo", "x")
	cmd.Stdout = writerFunc(func([]byte) (int, error) { return 0, broken })
	require.ErrorIs(t, cmd.Run(), broken)
	assert.NotNil(t, cmd.Result)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestBadCommands are refused before anything runs.
func TestBadCommands(t *testing.T) {
	require.ErrorContains(t, cgemu.Command("no-such-program").Run(), "not found")
	for _, change := range []func(*cgemu.Config){
		func(c *cgemu.Config) { c.CPU = "v9" }, func(c *cgemu.Config) { c.Network = "wifi" }, func(c *cgemu.Config) { c.Engine = "steam" },
		func(c *cgemu.Config) { c.Events = []string{"nothing"} },
	} {
		cmd := cgemu.Command("true")
		change(&cmd.Config)
		assert.Error(t, cmd.Run())
		assert.Nil(t, cmd.Result)
	}
}
