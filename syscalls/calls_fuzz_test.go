//go:build linux && amd64

package syscalls_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// FuzzCalls runs testdata/fuzz/calls.c, which makes system calls at random: nothing panics or hangs, no descriptor of
// ours is left open, no file outside of the directory changes, and a seed gives the same twice.
func FuzzCalls(f *testing.F) {
	prog := compileC(f, "testdata/fuzz/calls.c", "-O1", "-static", "-fno-stack-protector")
	for seed := range uint64(2) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		dir := t.TempDir() // the same for both: programs see where they are
		first := fuzzCalls(t, prog, dir, seed)
		require.Regexp(t, `^100 processes, \d+ died, \d+ timeouts, \d+ calls, sum [0-9a-f]+\n$`, first)
		files := openFiles(t)
		require.Equal(t, first, fuzzCalls(t, prog, dir, seed))
		require.Equal(t, files, openFiles(t))
	})
}

// fuzzCalls runs the program in an empty directory in dir and returns what it prints.
func fuzzCalls(t *testing.T, prog, dir string, seed uint64) string {
	scratch := filepath.Join(dir, "scratch")
	require.NoError(t, os.RemoveAll(scratch))
	require.NoError(t, os.Mkdir(scratch, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("untouched"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d", "a"), []byte("untouched"), 0o644))
	before := tree(t, dir, scratch)
	// Not /dev/null, whose mode the program would change.
	std, err := os.OpenFile(filepath.Join(scratch, "out"), os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	defer std.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := cgemu.Run(ctx, cgemu.Config{
		Path: prog, Args: []string{prog, strconv.FormatUint(seed, 10), "100", "300"}, Dir: scratch, Stdin: std, Stdout: std, Stderr: std,
		Log: io.Discard, Strace: io.Discard, Engine: *engineName,
	})
	require.NoError(t, err)
	require.False(t, res.Exit.Interrupted, "it hangs")
	require.Zero(t, res.Exit.Status())
	require.Equal(t, before, tree(t, dir, scratch))
	out, err := os.ReadFile(std.Name())
	require.NoError(t, err)
	return string(out)
}

// tree describes the files below dir, but for those in one directory.
func tree(t *testing.T, dir, without string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if path == without {
			return fs.SkipDir
		}
		info, err := d.Info()
		require.NoError(t, err)
		text := info.Mode().String()
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			text += string(b)
		}
		all[path] = text
		return nil
	}))
	return all
}

// openFiles is how many descriptors this process has.
func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}
