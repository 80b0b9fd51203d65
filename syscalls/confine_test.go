package syscalls

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// sharedMemory makes a directory in the host's /dev/shm, which is not the guest's, with a file f that says "text".
func sharedMemory(t *testing.T) string {
	dir, err := os.MkdirTemp(files.ShmPath, "cgemu-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(dir+"/f", []byte("text"), 0o644))
	return dir
}

// unchanged checks that a directory of sharedMemory is as it was.
func unchanged(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	text, err := os.ReadFile(dir + "/f")
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	st, err := os.Stat(dir + "/f")
	require.NoError(t, err)
	require.EqualValues(t, 0o644, st.Mode())
}

// TestReadOnlySharedMemory checks that a directory in the host's /dev/shm is not taken for one in the guest's, over
// whatever name the guest gets there.
func TestReadOnlySharedMemory(t *testing.T) {
	dir := sharedMemory(t)
	name := filepath.Base(dir)
	// The directory that the guest starts in.
	g := newGuest(t, func(c *Config) { c.Files.ReadOnly, c.Files.Dir = true, dir })
	assert.Equal(t, "text", g.readAll("f"))
	for _, c := range []struct {
		e    linux.Errno
		call string
		args []uint64
	}{
		{linux.EROFS, "unlink", []uint64{g.str("f")}},
		{linux.EROFS, "open", []uint64{g.str("f"), linux.O_RDWR}},
		{linux.EROFS, "open", []uint64{g.str("new"), linux.O_CREAT | linux.O_WRONLY, 0o600}},
		{linux.EROFS, "open", []uint64{g.str("."), linux.O_TMPFILE | linux.O_RDWR, 0o600}},
		{linux.EROFS, "truncate", []uint64{g.str("f"), 0}},
		{linux.EROFS, "chmod", []uint64{g.str("f"), 0o600}},
		{linux.EROFS, "utimes", []uint64{g.str("f"), 0}},
		{linux.EROFS, "setxattr", []uint64{g.str("f"), g.str("user.a"), g.str("b"), 1, 0}},
		{linux.EROFS, "mkdir", []uint64{g.str("d"), 0o700}},
		{linux.EROFS, "symlink", []uint64{g.str("x"), g.str("l")}},
		{linux.EROFS, "link", []uint64{g.str("f"), g.str("g")}},
		{linux.EXDEV, "link", []uint64{g.str("f"), g.str("/dev/shm/g")}},
		{linux.EROFS, "rename", []uint64{g.str("f"), g.str("g")}},
		{linux.EXDEV, "rename", []uint64{g.str("f"), g.str("/dev/shm/g")}},
		{linux.EROFS, "mknod", []uint64{g.str("p"), linux.S_IFIFO | 0o600, 0}},
		{linux.EROFS, "bind", []uint64{g.ok(nr("socket"), linux.AF_UNIX, linux.SOCK_STREAM, 0), g.str("\x01\x00s"), 4}},
	} {
		g.fails(c.e, nr(c.call), c.args...)
	}
	fd := g.ok(nr("open"), g.str("."), linux.O_RDONLY)
	g.fails(linux.EROFS, nr("unlinkat"), fd, g.str("f"), 0)
	g.fails(linux.EROFS, nr("openat"), fd, g.str("f"), linux.O_WRONLY)
	g.ok(nr("fchdir"), fd)
	g.fails(linux.EROFS, nr("unlink"), g.str("f"))
	// A file in the guest's own cannot take the place of one there.
	g.ok(nr("close"), g.ok(nr("open"), g.str("/dev/shm/own"), linux.O_CREAT|linux.O_WRONLY, 0o600))
	g.fails(linux.EXDEV, nr("renameat2"), cwd, g.str("/dev/shm/own"), cwd, g.str("f"), 2)
	g.fails(linux.EXDEV, nr("rename"), g.str("/dev/shm/own"), g.str("f"))
	unchanged(t, dir)

	// A link of the host leads there for who reads, and to the guest's own for who wants to change something. From the
	// host's nothing can be changed.
	g = newGuest(t, func(c *Config) { c.Files.ReadOnly = true })
	require.NoError(t, os.Symlink(files.ShmPath, g.dir+"/run"))
	g.fails(linux.ENOENT, nr("unlink"), g.str("run/"+name+"/f"))
	g.fails(linux.ENOENT, nr("open"), g.str("run/"+name+"/f"), linux.O_RDWR)
	g.ok(nr("close"), g.ok(nr("open"), g.str("run/own"), linux.O_CREAT|linux.O_WRONLY, 0o600))
	for _, at := range []struct{ dir, f string }{{g.dir + "/run/" + name, "f"}, {g.dir + "/run", name + "/f"}} {
		g.ok(nr("chdir"), g.str(at.dir))
		assert.Equal(t, "text", g.readAll(at.f))
		g.fails(linux.EROFS, nr("unlink"), g.str(at.f))
		g.fails(linux.EROFS, nr("open"), g.str(at.f), linux.O_RDWR)
		g.fails(linux.EROFS, nr("open"), g.str("new"), linux.O_CREAT|linux.O_WRONLY, 0o600)
		g.fails(linux.EROFS, nr("mkdir"), g.str("new"), 0o700)
		fd := g.ok(nr("open"), g.str(at.f), linux.O_RDONLY)
		g.fails(linux.EROFS, nr("fchmod"), fd, 0o600)
		g.fails(linux.EROFS, nr("open"), g.str("/proc/self/fd/"+strconv.Itoa(int(fd))), linux.O_RDWR)
	}
	unchanged(t, dir)
	require.NoFileExists(t, files.ShmPath+"/own")
	require.NoDirExists(t, files.ShmPath+"/new")
}

// TestOwnSharedMemory checks that the guest's /dev/shm is a file system of its own: what the host has beside it can be
// neither moved nor linked there, to go when the run ends.
func TestOwnSharedMemory(t *testing.T) {
	dir := sharedMemory(t)
	g := newGuest(t, func(c *Config) { c.Files.Dir = dir })
	fd := g.ok(nr("open"), g.str("f"), linux.O_RDONLY)
	magic := g.str("/proc/self/fd/" + strconv.Itoa(int(fd)))
	g.fails(linux.EXDEV, nr("link"), g.str("f"), g.str("/dev/shm/f"))
	g.fails(linux.EXDEV, nr("linkat"), cwd, magic, cwd, g.str("/dev/shm/f"), linux.AT_SYMLINK_FOLLOW)
	g.fails(linux.EXDEV, nr("rename"), g.str("f"), g.str("/dev/shm/f"))
	g.fails(linux.ENOENT, nr("link"), g.str("none"), g.str("/dev/shm/f"))
	g.ok(nr("symlink"), g.str("x"), g.str("/dev/shm/l"))
	g.fails(linux.EXDEV, nr("renameat2"), cwd, g.str("f"), cwd, g.str("/dev/shm/l"), 2)
	g.fails(linux.EXDEV, nr("rename"), g.str("/dev/shm/l"), g.str("l"))
	// In there, they can.
	own := g.ok(nr("open"), g.str("/dev/shm"), linux.O_TMPFILE|linux.O_RDWR, 0o600)
	g.ok(nr("linkat"), cwd, g.str("/proc/self/fd/"+strconv.Itoa(int(own))), cwd, g.str("/dev/shm/a"), linux.AT_SYMLINK_FOLLOW)
	g.ok(nr("link"), g.str("/dev/shm/a"), g.str("/dev/shm/b"))
	g.ok(nr("rename"), g.str("/dev/shm/b"), g.str("/dev/shm/c"))
	unchanged(t, dir)
	require.NoError(t, g.k.Close())
	unchanged(t, dir)
}

// TestReadOnlyInput checks that standard input is not written to, even if cgemu may, but standard output is.
func TestReadOnlyInput(t *testing.T) {
	dir := t.TempDir()
	std := func(name string, flags int) *os.File {
		require.NoError(t, os.WriteFile(dir+"/"+name, []byte("text"), 0o644))
		f, err := os.OpenFile(dir+"/"+name, flags, 0)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	in, out, errs := std("in", os.O_RDWR), std("out", os.O_RDWR), std("err", os.O_RDONLY)
	g := newGuest(t, func(c *Config) { c.Files.ReadOnly, c.Files.Stdin, c.Files.Stdout, c.Files.Stderr = true, in, out, errs })
	for fd, name := range []string{"/dev/stdin", "", "/dev/stderr"} {
		if name == "" {
			continue
		}
		fd := uint64(fd)
		for _, path := range []string{name, "/proc/self/fd/" + strconv.Itoa(int(fd)), "/dev/fd/" + strconv.Itoa(int(fd))} {
			g.fails(linux.EROFS, nr("open"), g.str(path), linux.O_WRONLY)
			g.fails(linux.EROFS, nr("open"), g.str(path), linux.O_RDONLY|linux.O_TRUNC)
			g.fails(linux.EROFS, nr("truncate"), g.str(path), 0)
			g.fails(linux.EROFS, nr("chmod"), g.str(path), 0o600)
		}
		g.fails(linux.EROFS, nr("fchmod"), fd, 0o600)
		g.fails(linux.EROFS, nr("utimensat"), fd, 0, 0, 0)
		g.fails(linux.EROFS, nr("fsetxattr"), fd, g.str("user.a"), g.str("b"), 1, 0)
	}
	g.fails(linux.EBADF, nr("write"), 0, g.str("x"), 1)
	g.fails(linux.EACCES, nr("mmap"), 0, 4096, 3, linux.MAP_SHARED, 0, 0)
	at := g.ok(nr("mmap"), 0, 4096, 1, linux.MAP_SHARED, 0, 0)
	g.fails(linux.EACCES, nr("mprotect"), at, 4096, 3)
	g.ok(nr("write"), g.ok(nr("open"), g.str("/dev/stdout"), linux.O_WRONLY|linux.O_TRUNC), g.str("new"), 3)
	for name, want := range map[string]string{"in": "text", "out": "new", "err": "text"} {
		got, err := os.ReadFile(dir + "/" + name)
		require.NoError(t, err)
		require.Equal(t, want, string(got), name)
	}
}

// TestReadOnlyDevices checks that what stands for something else than a file is not written to either, unless it is a
// device of ours.
func TestReadOnlyDevices(t *testing.T) {
	g := newGuest(t, func(c *Config) { c.Files.ReadOnly = true })
	g.ok(nr("mkdir"), g.str("/dev/shm/d"), 0o700)
	dir := t.TempDir()
	fifo := dir + "/fifo"
	require.Zero(t, host.Mknod(host.Place{Dir: host.NoFD, Path: fifo}, linux.S_IFIFO|0o600, 0))
	g.fails(linux.EROFS, nr("open"), g.str(fifo), linux.O_WRONLY|linux.O_NONBLOCK)
	g.fails(linux.EROFS, nr("open"), g.str(fifo), linux.O_RDWR)
	g.fails(linux.EROFS, nr("access"), g.str(fifo), 2)
	g.ok(nr("mknod"), g.str("/dev/shm/fifo"), linux.S_IFIFO|0o600, 0)
	g.ok(nr("open"), g.str("/dev/shm/fifo"), linux.O_RDWR)
	if _, err := os.Stat("/dev/kmsg"); err == nil {
		g.fails(linux.EROFS, nr("open"), g.str("/dev/kmsg"), linux.O_WRONLY)
	}
	require.NoError(t, os.Symlink("/dev/null", dir+"/null"))
	g.ok(nr("write"), g.ok(nr("open"), g.str(dir+"/null"), linux.O_WRONLY|linux.O_CREAT|linux.O_TRUNC, 0o600), g.str("x"), 1)
}
