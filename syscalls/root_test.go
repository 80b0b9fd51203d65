package syscalls

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// newRooted makes a guest whose root is beside files with the text "outside".
func newRooted(t *testing.T, change ...func(*Config)) (g *guest, root, outside string) {
	t.Helper()
	top := t.TempDir()
	root, outside = filepath.Join(top, "root"), filepath.Join(top, "outside")
	for _, dir := range []string{root + "/etc", root + "/d/e", root + "/bin", root + "/tmp", outside} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for name, text := range map[string]string{
		"/etc/f": "inside", "/d/e/f": "deep", "/d/secret": "inside, too", "/../outside/secret": "outside", "/../secret": "outside",
	} {
		require.NoError(t, os.WriteFile(root+name, []byte(text), 0o644))
	}
	require.NoError(t, os.WriteFile(root+"/bin/prog", tinyELF(), 0o755))
	g = newGuest(t, append([]func(*Config){func(c *Config) { c.Files.Root, c.Path, c.Files.Dir = root, "/bin/prog", root }}, change...)...)
	return g, root, outside
}

// TestRoot checks that no path leads out of the root.
func TestRoot(t *testing.T) {
	g, root, outside := newRooted(t)
	for name, target := range map[string]string{
		"abs": "/etc/f", "up": "../../../../etc/f", "out": outside + "/secret", "outdir": outside, "outup": "../outside/secret",
		"chain1": "chain2", "chain2": "/d/../chain3", "chain3": "d/e/f", "loop": "loop", "selfroot": "/proc/self/root/../../etc/f",
		"d/e/back": "../../..", "dangling": "/tmp/made", "host": "/proc/1/root/etc/passwd", "etc/passwd": "/etc/passwd",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	for path, want := range map[string]string{
		"/etc/f": "inside", "etc/f": "inside", "../../etc/f": "inside", "/../etc/f": "inside", "/abs": "inside", "up": "inside",
		"chain1": "deep", "/d/e/back/etc/f": "inside", "d/e/back/../../d/secret": "inside, too", "selfroot": "inside",
		"/proc/self/root/etc/f": "inside", "/proc/self/cwd/etc/f": "inside", "//etc/./f": "inside", "/proc/../etc/f": "inside",
		"/proc/self/root/../etc/f": "inside",
	} {
		assert.Equal(t, want, g.readAll(path), path)
	}
	for path, want := range map[string]linux.Errno{
		"out": linux.ENOENT, "outup": linux.ENOENT, "outdir/secret": linux.ENOENT, "loop": linux.ELOOP, "host": linux.ENOENT, "/secret": linux.ENOENT, "../secret": linux.ENOENT,
		"../outside/secret": linux.ENOENT, "etc/f/": linux.ENOTDIR, "etc/f/x": linux.ENOTDIR, "etc/f/..": linux.ENOTDIR, "none/../etc/f": linux.ENOENT, "": linux.ENOENT,
		"/proc/self/root/../../outside/secret": linux.ENOENT, "/proc/self/exe/x": linux.ENOTDIR, "etc/passwd": linux.ELOOP, outside: linux.ENOENT,
	} {
		g.fails(want, nr("open"), g.str(path), linux.O_RDONLY)
		g.fails(want, nr("stat"), g.str(path), g.room(144))
		g.fails(want, nr("access"), g.str(path), 0)
		if want != linux.ELOOP {
			g.fails(want, nr("truncate"), g.str(path), 0)
			g.fails(want, nr("chmod"), g.str(path), 0o600)
			g.fails(want, nr("utimes"), g.str(path), 0)
		}
	}
	// What a link that leads out would make is made inside, or not at all.
	g.ok(nr("close"), g.ok(nr("open"), g.str("dangling"), linux.O_CREAT|linux.O_WRONLY, 0o600))
	assert.FileExists(t, root+"/tmp/made")
	g.fails(linux.ENOENT, nr("open"), g.str("out"), linux.O_CREAT|linux.O_WRONLY, 0o600)
	g.fails(linux.ENOENT, nr("mkdir"), g.str("outdir/new"), 0o700)
	g.fails(linux.ENOENT, nr("symlink"), g.str("x"), g.str("outdir/new"))
	g.fails(linux.ENOENT, nr("rename"), g.str("etc/f"), g.str("outdir/new"))
	g.fails(linux.ENOENT, nr("link"), g.str("/d/e/back/../secret"), g.str("got"))
	g.fails(linux.ENOENT, nr("unlink"), g.str("outdir/secret"))
	g.fails(linux.ENOENT, nr("chdir"), g.str("outdir"))
	g.ok(nr("mkdir"), g.str("made/"), 0o700)
	g.ok(nr("unlink"), g.str("out"))
	assert.FileExists(t, outside+"/secret")
}

// TestRootDirs checks what directories and descriptors lead to.
func TestRootDirs(t *testing.T) {
	g, root, outside := newRooted(t)
	cwdIs := func(want string) {
		t.Helper()
		buf := g.room(256)
		n := g.ok(nr("getcwd"), buf, 256)
		assert.Equal(t, want, string(g.peek(buf, int(n-1))))
	}
	cwdIs("/")
	names, _ := g.readDir("/")
	assert.Equal(t, []string{".", "..", "bin", "d", "dev", "etc", "proc", "sys", "tmp"}, names)
	names, _ = g.readDir("/dev")
	assert.Subset(t, names, []string{"null", "pts", "shm", "tty"})
	g.ok(nr("chdir"), g.str("d/e"))
	cwdIs("/d/e")
	assert.Equal(t, "deep", g.readAll("f"))
	assert.Equal(t, "inside, too", g.readAll("../secret"))
	assert.Equal(t, "inside", g.readAll("../../../../../etc/f"))
	fd := g.ok(nr("open"), g.str("."), linux.O_RDONLY|linux.O_DIRECTORY)
	g.ok(nr("close"), g.ok(nr("openat"), fd, g.str("../../etc/f"), linux.O_RDONLY))
	assert.Equal(t, "inside", g.readAll("/proc/self/fd/"+strconv.Itoa(int(fd))+"/../../etc/f"))
	g.ok(nr("chdir"), g.str(".."))
	cwdIs("/d")
	// Renamed by the guest, or by somebody outside.
	require.NoError(t, os.Rename(root+"/d/e", root+"/etc/moved"))
	assert.Equal(t, uint64(4), g.ok(nr("openat"), fd, g.str("../f"), linux.O_RDONLY))
	// Away from the root: what is in it stays, but there is no way up.
	require.NoError(t, os.Rename(root+"/etc/moved", outside+"/moved"))
	g.ok(nr("close"), g.ok(nr("openat"), fd, g.str("f"), linux.O_RDONLY))
	g.fails(linux.ENOENT, nr("openat"), fd, g.str("../secret"), linux.O_RDONLY)
	g.ok(nr("fchdir"), fd)
	g.fails(linux.ENOENT, nr("open"), g.str("../secret"), linux.O_RDONLY)
	g.fails(linux.ENOENT, nr("stat"), g.str(".."), g.room(144))
	assert.Equal(t, "inside", g.readAll("/etc/f"))
}

// TestRootRace swaps directories and links while the guest goes through them.
func TestRootRace(t *testing.T) {
	g, root, outside := newRooted(t)
	require.NoError(t, os.Mkdir(root+"/real", 0o755))
	require.NoError(t, os.WriteFile(root+"/real/secret", []byte("inside"), 0o644))
	require.NoError(t, os.Symlink(outside, root+"/link"))
	require.NoError(t, os.Mkdir(root+"/x", 0o755))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			// "real" and "secret" are now what they are called, now links to the outside.
			_ = os.Rename(root+"/real", root+"/x/real")
			_ = os.Rename(root+"/link", root+"/real")
			_ = os.Rename(root+"/real", root+"/link")
			_ = os.Rename(root+"/x/real", root+"/real")
			_ = os.Symlink(outside+"/secret", root+"/x/secret")
			_ = os.Rename(root+"/x/secret", root+"/real/secret")
			_ = os.WriteFile(root+"/x/secret", []byte("inside"), 0o644)
			_ = os.Rename(root+"/x/secret", root+"/real/secret")
		}
	}()
	read := 0
	for range 1000 {
		for _, path := range []string{"/real/secret", "real/../real/secret", "/proc/self/cwd/real/secret"} {
			r := g.call(nr("open"), g.str(path), linux.O_RDWR)
			g.used = 0
			if r.err() != 0 {
				continue
			}
			buf := g.room(16)
			n := g.ok(nr("read"), uint64(r), buf, 16)
			require.Equal(t, "inside", string(g.peek(buf, int(n))))
			g.ok(nr("close"), uint64(r))
			g.call(nr("truncate"), g.str(path), 6)
			g.call(nr("chmod"), g.str(path), 0o644)
			read++
		}
	}
	stop.Store(true)
	<-done
	require.Positive(t, read)
	st, err := os.Stat(outside + "/secret")
	require.NoError(t, err)
	require.EqualValues(t, len("outside"), st.Size())
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	require.Less(t, len(fds), 100, "directories on the way stay open")
}

// TestRootExec executes programs that say they need something outside.
func TestRootExec(t *testing.T) {
	g, root, outside := newRooted(t)
	require.NoError(t, os.WriteFile(outside+"/interp", tinyELF(), 0o755))
	script := func(name, interp string) {
		require.NoError(t, os.WriteFile(root+name, []byte("#!"+interp+"\n"), 0o755))
	}
	script("/bin/out", outside+"/interp")
	script("/bin/up", "/bin/../../outside/interp")
	script("/bin/link", "/bin/outlink")
	script("/bin/host", "/bin/sh")
	script("/bin/in", "/proc/self/root/bin/prog")
	require.NoError(t, os.Symlink(outside+"/interp", root+"/bin/outlink"))
	argv := g.bytes(linux.U64s(g.str("x"), 0))
	for _, name := range []string{"/bin/out", "/bin/up", "/bin/link", "/bin/host", "/bin/outlink", outside + "/interp"} {
		g.fails(linux.ENOENT, nr("execve"), g.str(name), argv, 0)
	}
	require.Equal(t, "/bin/prog", g.p.Exe)
	// What is no file is not opened: a FIFO would wait, a device might do something.
	require.Zero(t, host.Mknod(host.Place{Dir: host.NoFD, Path: root + "/bin/fifo"}, linux.S_IFIFO|0o777, 0))
	script("/bin/waits", "/bin/fifo")
	for _, name := range []string{"/bin/fifo", "/bin/waits", "/dev/tty"} {
		g.fails(linux.EACCES, nr("execve"), g.str(name), argv, 0)
	}
	script("/bin/self", "/bin/self")
	g.fails(linux.ELOOP, nr("execve"), g.str("/bin/self"), argv, 0)
	host, ok := files.HostPath(g.k, "/bin/prog")
	assert.True(t, ok)
	assert.Equal(t, root+"/bin/prog", host)
	_, ok = files.HostPath(g.k, "/bin/outlink")
	assert.False(t, ok)
	g.call(nr("execve"), g.str("/bin/in"), argv, 0)
	require.Equal(t, "/bin/prog", g.p.Exe)
	require.Equal(t, []string{"/proc/self/root/bin/prog", "/bin/in"}, g.p.Argv)
}

// TestRootRefused checks what is no root.
func TestRootRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/prog", tinyELF(), 0o755))
	here, err := os.Open(dir)
	require.NoError(t, err)
	defer here.Close()
	for want, cfg := range map[string]Config{
		"syscalls: root /none: No such file or directory":                                   {Files: FileConfig{Root: "/none"}},
		"syscalls: sysroot " + dir + "/prog: Not a directory":                               {Files: FileConfig{Sysroot: dir + "/prog"}},
		"syscalls: both a root, /, and a sysroot, /usr":                                     {Files: FileConfig{Root: "/", Sysroot: "/usr"}},
		"syscalls: standard file 0 is a directory, which would lead out of the root " + dir: {Files: FileConfig{Root: dir, Stdin: here}},
		"loader: /none: no such file":                                                       {Files: FileConfig{Root: dir}, Path: "/none"},
	} {
		if cfg.Path == "" {
			cfg.Path = "/prog"
		}
		cfg.Args = []string{"x"}
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
	}
}

// TestReadOnly checks that files stay as they are.
func TestReadOnly(t *testing.T) {
	g := newGuest(t, func(c *Config) { c.Files.ReadOnly = true })
	f := filepath.Join(g.dir, "f")
	require.NoError(t, os.WriteFile(f, []byte("text"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(g.dir, "d"), 0o755))
	require.NoError(t, os.Symlink("f", filepath.Join(g.dir, "l")))
	name, other, link := g.str("f"), g.str("new"), g.str("l")
	for _, flags := range []uint64{linux.O_WRONLY, linux.O_RDWR, linux.O_TRUNC, linux.O_WRONLY | linux.O_CREAT, linux.O_RDWR | linux.O_APPEND} {
		g.fails(linux.EROFS, nr("open"), name, flags, 0o600)
		g.fails(linux.EROFS, nr("open"), link, flags, 0o600)
	}
	g.fails(linux.EROFS, nr("open"), other, linux.O_CREAT|linux.O_RDONLY, 0o600)
	g.fails(linux.EROFS, nr("open"), g.str("."), linux.O_TMPFILE|linux.O_RDWR, 0o600)
	g.fails(linux.EEXIST, nr("open"), name, linux.O_CREAT|linux.O_EXCL|linux.O_WRONLY, 0o600)
	g.fails(linux.EISDIR, nr("open"), g.str("d"), linux.O_WRONLY)
	g.fails(linux.ENOENT, nr("open"), other, linux.O_WRONLY)
	g.fails(linux.ENOENT, nr("open"), g.str("none/x"), linux.O_CREAT|linux.O_WRONLY, 0o600)
	fd := g.ok(nr("open"), name, linux.O_RDONLY|linux.O_CREAT, 0o600)
	for _, c := range []struct {
		e    linux.Errno
		call string
		args []uint64
	}{
		{linux.EROFS, "creat", []uint64{name, 0o600}}, {linux.EROFS, "unlink", []uint64{name}}, {linux.EROFS, "unlink", []uint64{other}},
		{linux.EROFS, "rmdir", []uint64{g.str("d")}}, {linux.EROFS, "rename", []uint64{name, other}}, {linux.EROFS, "chmod", []uint64{name, 0o600}},
		{linux.ENOENT, "chmod", []uint64{other, 0o600}}, {linux.EROFS, "chown", []uint64{name, task.DefaultUID, task.DefaultGID}},
		{linux.EROFS, "truncate", []uint64{name, 0}}, {linux.EROFS, "utimes", []uint64{name, 0}}, {linux.EROFS, "link", []uint64{name, other}},
		{linux.EEXIST, "link", []uint64{name, g.str("d")}}, {linux.EROFS, "symlink", []uint64{name, other}}, {linux.EROFS, "mkdir", []uint64{other, 0o700}},
		{linux.EEXIST, "mkdir", []uint64{g.str("d"), 0o700}}, {linux.ENOENT, "mkdir", []uint64{g.str("none/x"), 0o700}},
		{linux.EROFS, "mknod", []uint64{other, linux.S_IFIFO | 0o600}}, {linux.EROFS, "access", []uint64{name, 2}}, {linux.EROFS, "access", []uint64{g.str("d"), 3}},
		{linux.EROFS, "fchmod", []uint64{fd, 0o600}}, {linux.EROFS, "fchown", []uint64{fd, task.DefaultUID, task.DefaultGID}},
		{linux.EROFS, "utimensat", []uint64{fd, 0, 0, 0}}, {linux.EINVAL, "ftruncate", []uint64{fd, 0}},
		{linux.EACCES, "mmap", []uint64{0, 4096, 3, linux.MAP_SHARED, fd, 0}}, {linux.EROFS, "open", []uint64{g.str("/proc/self/fd/" + strconv.Itoa(int(fd))), linux.O_RDWR}},
		{linux.ENOENT, "rename", []uint64{name, g.str("none/x")}},
		{linux.EROFS, "bind", []uint64{g.ok(nr("socket"), linux.AF_UNIX, linux.SOCK_STREAM, 0), g.str("\x01\x00s"), 4}},
	} {
		g.fails(c.e, nr(c.call), c.args...)
	}
	// What is no file of the host goes on.
	g.ok(nr("access"), name, 4)
	g.ok(nr("access"), g.str("/dev/null"), 6)
	for _, path := range []string{"/dev/null", "/dev/stdout", "/proc/self/fd/1", "/proc/self/comm"} {
		g.ok(nr("write"), g.ok(nr("open"), g.str(path), linux.O_WRONLY|linux.O_TRUNC), g.str("hello"), 5)
	}
	g.ok(nr("write"), 1, g.str("hello"), 5)
	mem := g.ok(nr("memfd_create"), g.str("m"), 0)
	g.ok(nr("ftruncate"), mem, 4096)
	g.ok(nr("fchmod"), mem, 0o600)
	g.ok(nr("mmap"), 0, 4096, 3, linux.MAP_SHARED, mem, 0)
	g.ok(nr("pipe"), g.room(8))
	b, err := os.ReadFile(f)
	require.NoError(t, err)
	require.Equal(t, "text", string(b))
	names, _ := g.readDir(".")
	require.Equal(t, []string{".", "..", "d", "f", "l"}, names)
}

// TestDevShm checks that /dev/shm is the run's own, wherever its root is, and gone afterwards.
func TestDevShm(t *testing.T) {
	for _, confined := range []bool{false, true} {
		g, root, _ := newRooted(t, func(c *Config) {
			c.Files.ReadOnly = true
			if !confined {
				c.Path, c.Files.Root = c.Files.Root+c.Path, ""
			}
		})
		names, _ := g.readDir("/dev/shm")
		require.Equal(t, []string{".", ".."}, names)
		fd := g.ok(nr("open"), g.str("/dev/shm/a"), linux.O_CREAT|linux.O_EXCL|linux.O_RDWR, 0o600)
		g.ok(nr("write"), fd, g.str("text"), 4)
		g.ok(nr("fchmod"), fd, 0o640)
		g.ok(nr("link"), g.str("/dev/shm/a"), g.str("/dev/shm/b"))
		g.fails(linux.EEXIST, nr("link"), g.str("/dev/shm/a"), g.str("/dev/shm/b"))
		g.ok(nr("symlink"), g.str("../shm/b"), g.str("/dev/shm/l"))
		g.ok(nr("chdir"), g.str("/dev/shm"))
		for _, path := range []string{"a", "/dev/shm/b", "l", "../shm/a", "../../dev/shm/./a", "/dev/../dev/shm/a", "/proc/self/cwd/a"} {
			assert.Equal(t, "text", g.readAll(path), path)
		}
		assert.Empty(t, g.readAll("../null"))
		g.fails(linux.ENOENT, nr("open"), g.str("../nothing"), linux.O_RDONLY)
		g.fails(linux.ENOENT, nr("open"), g.str("/dev/shm/../top"), linux.O_RDONLY)
		g.ok(nr("rename"), g.str("a"), g.str("c"))
		g.ok(nr("unlink"), g.str("c"))
		g.fails(linux.EROFS, nr("mkdir"), g.str("/new"), 0o700)
		buf := g.room(64)
		n := g.ok(nr("getcwd"), buf, 64)
		assert.Equal(t, "/dev/shm", string(g.peek(buf, int(n-1))))
		host := files.SystemOf(g.k).Private.Path
		assert.DirExists(t, host)
		require.NoError(t, g.k.Close())
		assert.NoDirExists(t, filepath.Dir(host))
		assert.NoDirExists(t, root+"/dev")
	}
}

// TestRootResolve checks where paths of the host in the root lead.
func TestRootResolve(t *testing.T) {
	g, root, outside := newRooted(t)
	require.NoError(t, os.Symlink(outside, root+"/lib"))
	require.NoError(t, os.Symlink("/etc/f", root+"/link"))
	for path, want := range map[string]string{
		root + "/etc/f": root + "/etc/f", root + "/link": root + "/etc/f", "/usr/lib/debug/f": "/usr/lib/debug/f",
	} {
		got, ok := files.Resolve(g.k, path)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, path := range []string{root + "/lib/secret", root + "/dev/null", root + "/proc/self/maps"} {
		_, ok := files.Resolve(g.k, path)
		require.False(t, ok, path)
	}
}
