//go:build unix

package cgout

import (
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain runs this binary as one of the children below when asked to.
func TestMain(m *testing.M) {
	switch os.Getenv("CGOUT_TEST_CHILD") {
	case "rewrite":
		rewriteForever(os.Args[1])
	case "limit":
		writeLimited(os.Args[1])
	default:
		os.Exit(m.Run())
	}
}

func child(mode, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), "CGOUT_TEST_CHILD="+mode)
	return cmd
}

// large is a profile of about 300 kB.
func large(n uint64) *Profile {
	p := New("Ir")
	p.Cmd = "large " + strconv.FormatUint(n, 10)
	for line := range 20_000 {
		p.Add("file.c", "function", line, 1e9+n)
	}
	return p
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	require.NoError(t, sample().WriteFile(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	// Again, through a link and with a name as long as a name can be.
	long := filepath.Join(dir, strings.Repeat("x", 255))
	require.NoError(t, os.Symlink(long, filepath.Join(dir, "link")))
	require.NoError(t, sample().WriteFile(long))
	require.NoError(t, large(1).WriteFile(filepath.Join(dir, "link")))
	data, err := os.ReadFile(long)
	require.NoError(t, err)
	require.Contains(t, string(data), "cmd: large 1\n")

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3, "nothing is left over")
}

func TestWriteFileErrors(t *testing.T) {
	dir := t.TempDir()
	err := sample().WriteFile(filepath.Join(dir, "no", "out"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "cannot write profile "+filepath.Join(dir, "no", "out"))
	require.ErrorContains(t, sample().WriteFile(dir), "is a directory")
	require.ErrorIs(t, sample().WriteFile("/dev/full"), syscall.ENOSPC)
	require.NoError(t, sample().WriteFile("/dev/null"))
	both := sample()
	both.Insns = &Insns{Events: both.Events}
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	r, err := os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	defer r.Close()
	require.ErrorContains(t, both.WriteFile(fifo), "beside "+fifo)
	got := make([]byte, 5)
	_, err = io.ReadFull(r, got)
	require.NoError(t, err)
	require.Equal(t, "desc:", string(got), "the profile is written all the same")
	info, err := os.Stat("/dev/null")
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular(), "/dev/null is still a device")
}

// A write that fails half way leaves the old file as it was, and nothing else.
func TestWriteFileFull(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	require.NoError(t, sample().WriteFile(path))
	want, err := os.ReadFile(path)
	require.NoError(t, err)

	out, err := child("limit", path).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Regexp(t, `^cannot write profile .+/out: file too large\n$`, string(out))

	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// writeLimited writes a profile under a limit for the size of files, and prints
// the error.
func writeLimited(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 100_000, Max: 100_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	if err := large(1).WriteFile(path); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
	}
}

// Whenever the process is killed, the name holds a whole profile.
func TestWriteFileKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	require.NoError(t, large(0).WriteFile(path))
	r := rand.New(rand.NewPCG(3, 4))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	for range 25 {
		cmd := child("rewrite", path)
		written, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.ReadFull(written, make([]byte, 1+r.IntN(4))) // a byte for each time
		require.NoError(t, err)
		time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		cmd.Wait()
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = Read(path, strings.NewReader(string(data)))
		require.NoError(t, err)
		require.NotEqual(t, string(before), string(data), "the child has written its own")
		before = data
	}
}

func rewriteForever(path string) {
	profiles := []*Profile{large(uint64(os.Getpid())), large(uint64(os.Getpid()) + 1)}
	for i := 0; ; i++ {
		if err := profiles[i%2].WriteFile(path); err != nil {
			panic(err)
		}
		os.Stdout.Write([]byte{'.'})
	}
}
