package syscalls

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestStdStreams checks that the guest finds pipes for output, whatever the host has, and can do with them what it can
// do with pipes.
func TestStdStreams(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	for name, out := range map[string]*os.File{"file": nil, "null": null, "pipe": w} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, func(c *Config) {
				c.Files.HostStdio = false
				if out != nil {
					c.Files.Stdout = out
				}
			})
			st, e := g.stdFile(t, 1).Stat(g.th)
			require.Zero(t, e)
			require.EqualValues(t, linux.S_IFIFO|0o600, st.Mode)
			require.EqualValues(t, 3, g.ok(nr("write"), 1, g.str("abc"), 3))
			g.fails(linux.ESPIPE, nr("lseek"), 1, 0, linux.SEEK_CUR)
			g.fails(linux.ESPIPE, nr("pwrite64"), 1, g.str("abc"), 3, 0)
			g.fails(linux.EBADF, nr("read"), 1, g.room(3), 3)
			g.fails(linux.ENOTTY, nr("ioctl"), 1, linux.TCGETS, g.room(64))
			g.fails(linux.EINVAL, nr("ftruncate"), 1, 0)
			require.EqualValues(t, 65536, g.ok(nr("fcntl"), 1, linux.F_GETPIPE_SZ))
			again := g.ok(nr("openat"), cwd, g.str("/dev/stdout"), linux.O_WRONLY|linux.O_TRUNC)
			require.EqualValues(t, 4, g.ok(nr("write"), again, g.str("defg"), 4))
			g.ok(nr("close"), 1)
			require.EqualValues(t, 1, g.ok(nr("write"), again, g.str("h"), 1))
			g.ok(nr("close"), again)
			g.fails(linux.ENXIO, nr("openat"), cwd, g.str("/dev/tty"), linux.O_RDWR)
			switch name {
			case "file":
				b, err := os.ReadFile(g.out.Name())
				require.NoError(t, err)
				require.Equal(t, "abcdefgh", string(b))
			case "pipe":
				b := make([]byte, 20)
				n, err := r.Read(b)
				require.NoError(t, err)
				require.Equal(t, "abcdefgh", string(b[:n]))
			}
		})
	}
}

// stdFile is the guest's file fd.
func (g *guest) stdFile(t *testing.T, fd int) files.File {
	t.Helper()
	f, e := files.GetFile(g.th, fd)
	require.Zero(t, e)
	return f
}

// TestStandIns checks the files of /etc that the guest has instead of the host's, and that it has the host's if it is
// to.
func TestStandIns(t *testing.T) {
	g := newGuest(t, func(c *Config) { c.Files.HostEtc = false })
	require.True(t, strings.HasPrefix(g.readAll("/etc/passwd"), "root:x:0:0:"))
	require.Equal(t, "user:x:1000:1000:user:/home/user:/bin/sh", strings.Split(g.readAll("/etc/passwd"), "\n")[1])
	require.Contains(t, g.readAll("/etc/group"), "\nuser:x:1000:\n")
	require.True(t, strings.HasPrefix(g.readAll("/etc/localtime"), "TZif2"))
	require.Contains(t, g.readAll("/etc/nsswitch.conf"), "passwd: files\n")
	fd := g.ok(nr("openat"), cwd, g.str("/etc/timezone"), linux.O_RDONLY)
	at := g.ok(nr("mmap"), 0, 4096, 1, linux.MAP_PRIVATE, fd, 0)
	require.Equal(t, "Etc/UTC\n\x00", string(g.peek(at, 9)))
	g.fails(linux.EACCES, nr("openat"), cwd, g.str("/etc/passwd"), linux.O_RDWR)

	host, err := os.ReadFile("/etc/passwd")
	require.NoError(t, err)
	require.Equal(t, string(host), newGuest(t).readAll("/etc/passwd"))
	rooted, root, _ := newRooted(t, func(c *Config) { c.Files.HostEtc = false })
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc/passwd"), []byte("its own"), 0o644))
	require.Equal(t, "its own", rooted.readAll("/etc/passwd"))
}
