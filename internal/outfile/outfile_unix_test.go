//go:build unix

package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func writes(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	check := func(text string, perm fs.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, perm, info.Mode().Perm())
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, list, 1, "nothing is left over")
	}
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, Write(context.Background(), path, 0o666, writes("new")))
	check("new", 0o640)
	wrong := errors.New("wrong")
	require.ErrorIs(t, Write(context.Background(), path, 0o666, func(w io.Writer) error {
		io.WriteString(w, "half")
		return wrong
	}), wrong)
	check("new", 0o640)
	require.NoError(t, Write(cancelled(), path, 0o600, writes("own")))
	check("own", 0o600)
	require.EqualError(t, Write(context.Background(), filepath.Join(dir, "no", "f"), 0o666, writes("x")), "no such file or directory")
}

func TestAbandon(t *testing.T) {
	dir := t.TempDir()
	err := Write(context.Background(), filepath.Join(dir, "f"), 0o666, func(w io.Writer) error {
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, list, 1)
		Abandon()
		return writes("text")(w)
	})
	require.ErrorIs(t, err, fs.ErrNotExist)
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, list)
}

// TestFIFO has readers that come late, read slowly, or never do.
func TestFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.ErrorIs(t, Write(cancelled(), fifo, 0o600, writes("x")), errNobody, "no reader")

	whole := make(chan string)
	go func() {
		r, err := os.Open(fifo)
		if err != nil {
			return
		}
		defer r.Close()
		text, _ := io.ReadAll(r)
		whole <- string(text)
	}()
	large := string(make([]byte, 300_000))
	require.NoError(t, Write(context.Background(), fifo, 0o600, writes(large)))
	require.Equal(t, large, <-whole)

	// One that has it open and reads only the beginning.
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.ReadFull(r, make([]byte, 5))
		cancel()
	}()
	require.ErrorIs(t, Write(ctx, fifo, 0o600, writes(large)), errNobody)
	require.True(t, IsSpecial(fifo))
	require.NoError(t, Write(cancelled(), "/dev/null", 0o600, writes("x")))
	require.ErrorIs(t, Write(context.Background(), "/dev/full", 0o600, writes("x")), syscall.ENOSPC)
}

// TestDescriptor writes to files by the names of descriptors, behind what is there.
func TestDescriptor(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("before,")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o640))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(fmt.Sprintf("/dev/fd/%d", f.Fd()), link))
	for _, name := range []string{fmt.Sprintf("/dev/fd/%d", f.Fd()), link} {
		require.True(t, IsSpecial(name))
		require.NoError(t, Write(context.Background(), name, 0o600, writes("written,")))
	}
	c, err := Create(link)
	require.NoError(t, err)
	_, err = c.WriteString("created,")
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = f.WriteString("behind")
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "before,written,written,created,behind", string(got))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode().Perm())

	r, err := os.Open(path)
	require.NoError(t, err)
	defer r.Close()
	require.ErrorIs(t, Write(context.Background(), fmt.Sprintf("/dev/fd/%d", r.Fd()), 0o600, writes("x")), syscall.EBADF)
	require.False(t, IsSpecial(path))
	require.False(t, IsSpecial(filepath.Join(dir, "none")))
	require.Error(t, Write(context.Background(), "/dev/fd/999999", 0o600, writes("x")))
}
