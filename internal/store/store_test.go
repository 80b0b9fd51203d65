package store

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/testhost"
)

func TestMain(m *testing.M) {
	testhost.Settle()
	os.Exit(m.Run())
}

func needELF(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "freebsd" {
		t.Skip("nothing is kept where binaries are no ELF files")
	}
}

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func load(s *Store, name string) string {
	b, release := s.Load(name)
	if b == nil {
		return ""
	}
	defer release(b)
	return string(b)
}

func TestStore(t *testing.T) {
	needELF(t)
	dir := filepath.Join(t.TempDir(), "made", "here")
	s := Open(dir, 1000)
	require.NotNil(t, s)
	require.Empty(t, load(s, "a"))
	s.Save("a", write("first"))
	s.Save("b", write("second"))
	require.Equal(t, "first", load(s, "a"))
	require.Equal(t, "second", load(Open(dir, 1000), "b"))
	s.Save("a", func(w io.Writer) error { return errors.Join(write("half")(w), errors.New("disk full")) })
	require.Equal(t, "first", load(s, "a"))
	other := Open(dir, s.limit)
	other.version += "x"
	require.Empty(t, load(other, "a"), "another binary's")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

// TestLimit writes more than a directory may hold: what was read last stays.
func TestLimit(t *testing.T) {
	needELF(t)
	s := Open(t.TempDir(), 10)
	for i, name := range []string{"a", "b", "c"} {
		s.Save(name, write("1234"))
		if i < 2 {
			past := time.Now().Add(time.Duration(i-10) * time.Minute)
			require.NoError(t, os.Chtimes(s.path(name), past, past))
		}
		load(s, "a") // it is used each time
	}
	require.Equal(t, []string{"1234", "", "1234"}, []string{load(s, "a"), load(s, "b"), load(s, "c")})
	s.Save("d", write("more than there may be"))
	require.Empty(t, load(s, "d"))
}

// TestForeignFiles has a directory with files of somebody else's: they are not removed to make room.
func TestForeignFiles(t *testing.T) {
	needELF(t)
	s := Open(t.TempDir(), 10)
	foreign := filepath.Join(s.dir, "thesis.tex")
	require.NoError(t, os.WriteFile(foreign, make([]byte, 1000), 0o600))
	half := filepath.Join(s.dir, "."+filepath.Base(s.path("z"))+".1.tmp")
	require.NoError(t, os.WriteFile(half, make([]byte, 1000), 0o600))
	s.Save("a", write("1234"))
	s.Save("b", write("123456789"))
	require.FileExists(t, foreign)
	require.NoFileExists(t, half)
}

// TestSeldom writes what leaves room: the directory is not gone through each time, but before it is too full.
func TestSeldom(t *testing.T) {
	needELF(t)
	s := Open(t.TempDir(), 1000)
	other := Open(s.dir, 1000)
	s.Save("first", write("1234"))
	require.EqualValues(t, (1000-4)/4, s.room)
	for i := range 20 {
		other.Save(strconv.Itoa(i), write(strings.Repeat("x", 49)))
	}
	s.Save("second", write("1234"))
	require.EqualValues(t, (1000-4)/4-4, s.room, "nobody looked")
	s.Save("third", write(strings.Repeat("x", 245)))
	entries, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		total += info.Size()
	}
	require.LessOrEqual(t, total, int64(1000-1000/8))
	require.EqualValues(t, (1000-total)/4, s.room)
}

// TestOthersFiles has files and directories that others might have written.
func TestOthersFiles(t *testing.T) {
	needELF(t)
	dir := t.TempDir()
	s := Open(dir, 1000)
	s.Save("a", write("text"))
	require.NoError(t, os.Chmod(s.path("a"), 0o620))
	require.Empty(t, load(s, "a"))
	require.NoError(t, os.Chmod(s.path("a"), 0o600))
	require.Equal(t, "text", load(s, "a"))
	require.NoError(t, os.Remove(s.path("a")))
	require.NoError(t, os.Mkdir(s.path("a"), 0o700))
	require.Empty(t, load(s, "a"))
	s.Save("a", write("text"))
	require.Empty(t, load(s, "a"))
	require.NoError(t, os.Chmod(dir, 0o777))
	require.Nil(t, Open(dir, 1000))
}

// TestNothingIsKept has no place for a directory.
func TestNothingIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{"", file, filepath.Join(file, "dir")} {
		s := Open(dir, 1000)
		require.Nil(t, s)
		s.Save("a", write("text"))
		require.Empty(t, load(s, "a"))
	}
}

func TestBuildID(t *testing.T) {
	needELF(t)
	require.Regexp(t, `^[^/]+/[^/]*/?.*/[^/]+$`, buildID())
}

// TestReleasedPart gives a part back: what is left is as it was.
func TestReleasedPart(t *testing.T) {
	needELF(t)
	s := Open(t.TempDir(), 1<<20)
	text := bytes.Repeat([]byte("0123456789abcdef"), 5000)
	s.Save("name", func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	b, release := s.Load("name")
	require.Equal(t, text, b)
	release(b[50_001:])
	release(b[len(b):])
	require.Equal(t, text[:50_001], b[:50_001])
	release(b)
}
