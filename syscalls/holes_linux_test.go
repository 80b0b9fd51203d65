//go:build !portable

package syscalls

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// requireHoles skips a test where files of the host have no holes of a page.
func requireHoles(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(1<<20))
	_, err = f.WriteAt([]byte("x"), 512<<10)
	require.NoError(t, err)
	at, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_DATA)
	require.NoError(t, err)
	end, err := unix.Seek(int(f.Fd()), at, unix.SEEK_HOLE)
	require.NoError(t, err)
	if at != 512<<10 || end != at+4096 {
		t.Skip("no holes in " + os.TempDir())
	}
}

// blocks are st_blocks of an open file, which stat(2) of name and statx(2) have to tell, too.
func (g *guest) blocks(fd uint64, name string) uint64 {
	g.t.Helper()
	const blocksAt, statxBlocksAt = 64, 48
	st := g.room(256)
	g.ok(nr("fstat"), fd, st)
	n := g.peek64(st + blocksAt)
	if name != "" {
		g.ok(nr("stat"), g.str(name), st)
		require.Equal(g.t, n, g.peek64(st+blocksAt), "by path")
		g.ok(nr("lstat"), g.str(name), st)
		require.Equal(g.t, n, g.peek64(st+blocksAt), "by path")
	}
	g.ok(nr("statx"), fd, g.str(""), linux.AT_EMPTY_PATH, 0x7ff, st)
	require.Equal(g.t, n, g.peek64(st+statxBlocksAt), "statx")
	return n
}

// TestHoles checks st_blocks of files with holes, and of one without that was written just now, wherever they are.
func TestHoles(t *testing.T) {
	requireHoles(t)
	t.Run("host", func(t *testing.T) { checkHoles(newGuest(t), "f") })
	t.Run("shm", func(t *testing.T) { checkHoles(newGuest(t), "/dev/shm/f") })
	t.Run("root", func(t *testing.T) {
		g, _, _ := newRooted(t)
		checkHoles(g, "d/e/f")
	})
	t.Run("overlay", func(t *testing.T) {
		g := newGuest(t, func(c *Config) { c.Files.Overlay = true })
		lower := filepath.Join(g.dir, "lower")
		require.NoError(t, os.WriteFile(lower, nil, 0o600))
		require.NoError(t, os.Truncate(lower, 1<<30))
		require.Zero(t, g.blocks(g.ok(nr("open"), g.str("lower"), linux.O_RDONLY), "lower"))
		checkHoles(g, "f")
	})
}

func checkHoles(g *guest, name string) {
	t := g.t
	fd := g.ok(nr("open"), g.str(name), linux.O_CREAT|linux.O_RDWR|linux.O_TRUNC, 0o600)
	require.Zero(t, g.blocks(fd, name))
	g.ok(nr("ftruncate"), fd, 300<<20)
	require.Zero(t, g.blocks(fd, name), "a hole")
	g.ok(nr("pwrite64"), fd, g.bytes([]byte("xy")), 2, 8191)
	require.EqualValues(t, 16, g.blocks(fd, name), "data in two pages")
	g.ok(nr("pwrite64"), fd, g.bytes([]byte("z")), 1, 300<<20-1)
	g.ok(nr("lseek"), fd, 123, linux.SEEK_SET)
	require.EqualValues(t, 24, g.blocks(fd, name), "and at the end")
	require.EqualValues(t, 123, g.ok(nr("lseek"), fd, 0, linux.SEEK_CUR), "the position of the file")
	g.ok(nr("ftruncate"), fd, 8193)
	require.EqualValues(t, 16, g.blocks(fd, name), "part of a page")

	path := g.ok(nr("open"), g.str(name), linux.O_PATH)
	require.EqualValues(t, 16, g.blocks(path, ""))
	g.ok(nr("unlink"), g.str(name))
	require.EqualValues(t, 16, g.blocks(fd, ""), "without a name")

	fd = g.ok(nr("open"), g.str(name), linux.O_CREAT|linux.O_WRONLY, 0o600)
	data := g.room(256 << 10)
	for range 64 {
		g.ok(nr("write"), fd, data, 256<<10)
	}
	g.ok(nr("write"), fd, data, 1)
	require.EqualValues(t, 16<<20/512+8, g.blocks(fd, name), "written just now")
}

// TestHiddenHoles checks that a file which the user may not read has none.
func TestHiddenHoles(t *testing.T) {
	requireHoles(t)
	if os.Geteuid() == 0 {
		t.Skip("root may read all")
	}
	g := newGuest(t)
	fd := g.ok(nr("open"), g.str("f"), linux.O_CREAT|linux.O_WRONLY, 0o200)
	g.ok(nr("ftruncate"), fd, 1<<20)
	require.EqualValues(t, 1<<20/512, g.blocks(fd, "f"))
}

// TestManyHoles checks that only so many pieces of data are looked for.
func TestManyHoles(t *testing.T) {
	requireHoles(t)
	g := newGuest(t)
	fd := g.ok(nr("open"), g.str("f"), linux.O_CREAT|linux.O_RDWR, 0o600)
	const pieces, looked = 1500, 1024
	g.ok(nr("ftruncate"), fd, pieces*8192)
	byte1 := g.bytes([]byte("x"))
	for i := range uint64(pieces) {
		g.ok(nr("pwrite64"), fd, byte1, 1, i*8192)
	}
	require.EqualValues(t, 8*(looked+2*(pieces-looked)+1), g.blocks(fd, "f"))
}
