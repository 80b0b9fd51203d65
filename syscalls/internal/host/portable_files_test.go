//go:build !linux || portable

package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// openIn opens a file of dir, which is made if it is not there.
func openIn(t *testing.T, dir FD, name string, flags int) FD {
	f, e := Open(Place{Dir: dir, Path: name, Final: true}, flags|linux.O_CREAT, 0o644, 0)
	require.Zero(t, e)
	t.Cleanup(func() { f.Close() })
	return f
}

func openTestDir(t *testing.T) (FD, string) {
	name := t.TempDir()
	dir, e := Open(Place{Dir: NoFD, Path: name}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	require.Zero(t, e)
	t.Cleanup(func() { dir.Close() })
	return dir, name
}

// appended appends text to f.
func appended(t *testing.T, f FD, text string) {
	n, e := f.Writev([][]byte{[]byte(text)}, -1)
	require.Zero(t, e)
	require.Equal(t, len(text), n)
}

func requireText(t *testing.T, want string, name ...string) {
	text, err := os.ReadFile(filepath.Join(name...))
	require.NoError(t, err)
	require.Equal(t, want, string(text))
}

// TestAppendToAnother takes O_APPEND off a file whose name is another's by now: that stays what it is.
func TestAppendToAnother(t *testing.T) {
	dir, name := openTestDir(t)
	old := openIn(t, dir, "log", linux.O_RDWR|linux.O_APPEND)
	openIn(t, dir, "new", linux.O_RDWR)
	require.NoError(t, os.WriteFile(filepath.Join(name, "new"), []byte("another"), 0o644))
	appended(t, old, "old")
	require.Zero(t, Rename(Place{Dir: dir, Path: "new", Final: true}, Place{Dir: dir, Path: "log", Final: true}, 0))
	require.Equal(t, linux.EINVAL, old.SetAppend(false))
	appended(t, old, ", still")
	requireText(t, "another", name, "log")
	b := make([]byte, 16)
	n, e := old.Readv([][]byte{b}, 0)
	require.Zero(t, e)
	require.Equal(t, "old, still", string(b[:n]))
	require.Equal(t, linux.ENOENT, old.Utimes(Time{Sec: 1, Set: true}, Time{Sec: 1, Set: true}))
	st, e := StatAt(Place{Dir: dir, Path: "log", Final: true}, false)
	require.Zero(t, e)
	require.NotEqualValues(t, 1, st.Mtime.Sec)
}

// TestPunchAppending makes holes in a file that is open for appending.
func TestPunchAppending(t *testing.T) {
	dir, name := openTestDir(t)
	f := openIn(t, dir, "f", linux.O_RDWR|linux.O_APPEND)
	appended(t, f, "0123456789")
	require.Zero(t, f.Allocate(linux.FALLOC_FL_PUNCH_HOLE|linux.FALLOC_FL_KEEP_SIZE, 2, 3))
	require.Zero(t, f.SetAppend(false))
	require.Zero(t, f.SetAppend(true))
	require.Zero(t, f.Allocate(linux.FALLOC_FL_ZERO_RANGE, 6, 1))
	requireText(t, "01\x00\x00\x005\x00789", name, "f")
	require.Equal(t, linux.EFBIG, f.Allocate(0, 1<<62, 1<<62))
	appended(t, f, "end")
	requireText(t, "01\x00\x00\x005\x00789end", name, "f")
}

// TestReopenAppending opens a file again whose name cgemu does not know any more: the host would append whatever is
// written.
func TestReopenAppending(t *testing.T) {
	dir, name := openTestDir(t)
	f := openIn(t, dir, "f", linux.O_RDWR|linux.O_APPEND)
	appended(t, f, "0123456789")
	require.NoError(t, os.Rename(filepath.Join(name, "f"), filepath.Join(name, "g")))
	_, e := Open(f.Again(), linux.O_RDWR, 0, 0)
	require.Equal(t, linux.EACCES, e)
	g, e := Open(f.Again(), linux.O_RDWR|linux.O_APPEND, 0, 0)
	require.Zero(t, e)
	defer g.Close()
	n, e := g.Writev([][]byte{[]byte("xy")}, 3) // appends, as pwrite(2) has it
	require.Zero(t, e)
	require.Equal(t, 2, n)
	requireText(t, "0123456789xy", name, "g")
	r, e := Open(f.Again(), linux.O_RDONLY, 0, 0)
	require.Zero(t, e)
	require.Zero(t, r.Close())
}

// TestMemfd checks that no file stays behind, and that a relative path of the directory for temporary files does.
func TestMemfd(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("tmp", 0o755))
	for _, v := range []string{"TMPDIR", "TMP"} {
		t.Setenv(v, "tmp")
	}
	f, e := Memfd("x", 0)
	require.Zero(t, e)
	appended(t, f, "text")
	st, e := f.Stat()
	require.Zero(t, e)
	require.Zero(t, st.Nlink)
	require.Zero(t, f.Close())
	left, err := os.ReadDir("tmp")
	require.NoError(t, err)
	require.Empty(t, left)
}
