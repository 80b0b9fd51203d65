//go:build linux

package syscalls

import (
	iofs "io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
	"github.com/cgemu/cgemu/syscalls/internal/vfs/vfstest"
)

// scratchFS is an empty directory of the host.
func scratchFS(t *testing.T) *host.FS {
	dir := t.TempDir()
	fs, e := host.NewFS(dir)
	require.Zero(t, e)
	t.Cleanup(func() {
		fs.Close()
		filepath.WalkDir(dir, func(name string, d iofs.DirEntry, _ error) error { // so that all can be removed
			if d.IsDir() {
				return os.Chmod(name, 0o700)
			}
			return nil
		})
	})
	return fs
}

// TestHostFSScripts has the host's directories do what other file systems do.
func TestHostFSScripts(t *testing.T) {
	for _, s := range vfstest.Scripts {
		if s.Unprivileged && os.Geteuid() == 0 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			requireXattrs(t)
			require.Empty(t, vfstest.Difference(s.Text, vfstest.Run(scratchFS(t), s.Text)))
		})
	}
}

// requireXattrs skips a test where the host's files have no extended attributes.
func requireXattrs(t *testing.T) {
	if host.Setxattr(t.TempDir(), "user.x", nil, 0, false) == linux.EOPNOTSUPP {
		t.Skip("no extended attributes in " + os.TempDir())
	}
}

// TestHostFSManyDirs goes through more directories than are kept open.
func TestHostFSManyDirs(t *testing.T) {
	fs := scratchFS(t)
	var text, want string
	for i := range 3 * host.MaxDirs {
		dir := "d" + strconv.Itoa(int(i))
		text += "dir " + dir + " 755\nfile " + dir + "/f 644\n"
		want += "dir " + dir + " 755 => ok\nfile " + dir + "/f 644 => ok\n"
	}
	require.Empty(t, vfstest.Difference(want, vfstest.Run(fs, text)))
	require.Less(t, len(fs.Dirs), host.MaxDirs+2)
}

// FuzzFS does the same operations on a directory of the host and on file systems in memory, half of them below an overlay: what
// they answer and what there is in the end has to be the same.
func FuzzFS(f *testing.F) {
	for i := range 20 {
		f.Add(vfstest.Seed(i, 1500))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		requireXattrs(t)
		o := vfs.MemOptions{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Privileged: os.Geteuid() == 0}
		first, second := vfstest.Random(b[:len(b)/2]), vfstest.Random(b[len(b)/2:])
		host, memory, lower := scratchFS(t), vfs.NewMemFS(o), scratchFS(t)
		vfstest.Run(lower, first)
		before := vfstest.Tree(lower)
		upper, e := vfs.NewOverlay(o, lower)
		require.Zero(t, e)
		require.Empty(t, vfstest.Difference(vfstest.Run(host, first), vfstest.Run(memory, first)))
		want := vfstest.Run(host, second)
		require.Empty(t, vfstest.Difference(want, vfstest.Run(memory, second)))
		require.Empty(t, vfstest.Difference(want, vfstest.Run(upper, second)))
		require.Empty(t, vfstest.Difference(vfstest.Tree(host), vfstest.Tree(memory)))
		require.Empty(t, vfstest.Difference(vfstest.Tree(host), vfstest.Tree(upper)))
		require.Empty(t, vfstest.Difference(before, vfstest.Tree(lower)))
	})
}
