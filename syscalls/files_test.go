package syscalls

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

func TestReadWrite(t *testing.T) {
	g := newGuest(t)
	fd := g.ok(nr("openat"), cwd, g.str("f"), linux.O_CREAT|linux.O_RDWR, 0o666)
	require.EqualValues(t, 3, fd)
	require.EqualValues(t, 5, g.ok(nr("write"), fd, g.str("hello"), 5))
	require.EqualValues(t, 1, g.ok(nr("lseek"), fd, 1, linux.SEEK_SET))
	buf := g.room(64)
	require.EqualValues(t, 4, g.ok(nr("read"), fd, buf, 64))
	require.Equal(t, "ello", string(g.peek(buf, 4)))
	require.EqualValues(t, 3, g.ok(nr("pread64"), fd, buf, 3, 2))
	require.Equal(t, "llo", string(g.peek(buf, 3)))
	g.ok(nr("ftruncate"), fd, 2)
	st := g.room(144)
	g.ok(nr("fstat"), fd, st)
	require.EqualValues(t, 2, g.peek64(st+48))
	require.EqualValues(t, linux.S_IFREG|0o644, g.peek32(st+24))
	require.EqualValues(t, task.DefaultUID, g.peek32(st+28))
	g.ok(nr("close"), fd)
	g.fails(linux.EBADF, nr("close"), fd)
	g.fails(linux.EBADF, nr("read"), fd, buf, 1)
	g.fails(linux.ENOENT, nr("open"), g.str("nope"), linux.O_RDONLY)
	g.fails(linux.EFAULT, nr("open"), 8, linux.O_RDONLY)
	g.fails(linux.ENOENT, nr("open"), g.str(""), linux.O_RDONLY)
	g.fails(linux.EEXIST, nr("open"), g.str("f"), linux.O_CREAT|linux.O_EXCL|linux.O_RDWR, 0o600)
	g.fails(linux.ENOTDIR, nr("open"), g.str("f/x"), linux.O_RDONLY)
	g.fails(linux.EISDIR, nr("open"), g.str("."), linux.O_WRONLY)
	b, err := os.ReadFile(filepath.Join(g.dir, "f"))
	require.NoError(t, err)
	require.Equal(t, "he", string(b))
}

func writeFile(name string, b []byte, mode os.FileMode) error { return os.WriteFile(name, b, mode) }

// TestInotifyPipe writes to a pipe of the host, which has no directory that somebody could watch.
// TestBirthTime has statx tell when a file was made, and nothing of the kind for what is on no disk.
func TestBirthTime(t *testing.T) {
	g := newGuest(t)
	made := time.Unix(1_000_000_000, 5)
	require.NoError(t, os.WriteFile(filepath.Join(g.dir, "old"), nil, 0o644))
	require.NoError(t, os.Chtimes(filepath.Join(g.dir, "old"), made, made))
	const mask, birth = 0, 80
	stx := g.room(256)
	g.ok(nr("statx"), cwd, g.str("old"), 0, linux.STATX_BTIME, stx)
	require.EqualValues(t, linux.STATX_BASIC_STATS|linux.STATX_BTIME, g.peek32(stx+mask))
	require.Equal(t, []uint64{1_000_000_000, 5}, []uint64{g.peek64(stx + birth), uint64(g.peek32(stx + birth + 8))})
	g.ok(nr("statx"), cwd, g.str("/proc/self"), 0, linux.STATX_BTIME, stx)
	require.EqualValues(t, linux.STATX_BASIC_STATS, g.peek32(stx+mask))
}

// TestSameDescription asks of which descriptors F_DUPFD_QUERY says that they share a file description.
func TestSameDescription(t *testing.T) {
	g := newGuest(t)
	null := g.str("/dev/null")
	first, other := g.ok(nr("open"), null, linux.O_RDONLY), g.ok(nr("open"), null, linux.O_RDONLY)
	require.Zero(t, g.ok(nr("fcntl"), first, linux.F_DUPFD_QUERY, other))
	require.EqualValues(t, 1, g.ok(nr("fcntl"), first, linux.F_DUPFD_QUERY, g.ok(nr("dup"), first)))
	g.fails(linux.EBADF, nr("fcntl"), first, linux.F_DUPFD_QUERY, 99)
	g.fails(linux.EBADF, nr("fcntl"), 99, linux.F_DUPFD_QUERY, first)
}

func TestInotifyPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	g := newGuest(t, func(c *Config) { c.Files.Stdout = w })
	in := g.ok(nr("inotify_init"))
	g.ok(nr("inotify_add_watch"), in, g.str("."), linux.IN_ALL_EVENTS)
	g.ok(nr("write"), 1, g.str("x"), 1)
}

// TestRelativeRoot checks that a root may be given from the working directory on.
func TestRelativeRoot(t *testing.T) {
	_, root, _ := newRooted(t)
	t.Chdir(filepath.Dir(root))
	for _, c := range []Config{{Files: FileConfig{Root: "root"}, Path: "/bin/prog"}, {Files: FileConfig{Sysroot: "root"}, Path: "/bin/prog"}} {
		c.Args = []string{"x"}
		_, err := New(c)
		require.ErrorContains(t, err, "NewEngine is not set", "%+v", c)
	}
}

// TestStandardDevice checks that a standard file that is the host's /dev/null is the guest's own: its mode stays what
// it is, whoever runs cgemu.
func TestStandardDevice(t *testing.T) {
	before, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	g := newGuest(t)
	g.fails(linux.EPERM, nr("fchmod"), 0, 0o600)
	g.fails(linux.EPERM, nr("chmod"), g.str("/proc/self/fd/0"), 0o600)
	g.ok(nr("read"), 0, g.room(8), 8)
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
}
