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

// FuzzFS does the same operations on a directory of the host and on file systems in memory, half of them below an
// overlay: what they answer and what there is in the end has to be the same.
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
		require.Empty(t, vfstest.Difference(vfstest.Tree(host), vfstest.Tree(memory)))
		got := vfstest.Run(upper, second)
		if o.Privileged { // others cannot remove a directory that they may not list: whether it is empty is not known
			require.Empty(t, vfstest.Difference(want, got))
			require.Empty(t, vfstest.Difference(vfstest.Tree(host), vfstest.Tree(upper)))
		}
		require.Empty(t, vfstest.Difference(before, vfstest.Tree(lower)))
	})
}

// A contentFile is the content of a file in memory, as a file of the host.
type contentFile struct{ name string }

func (c contentFile) Open(flags int) (vfs.Data, linux.Errno) {
	fd, e := host.Open(host.Place{Dir: host.NoFD, Path: c.name}, flags, 0, 0)
	return host.Data{FD: fd}, e
}

func (c contentFile) Size() (int64, bool, linux.Errno) {
	st, e := host.StatAt(host.Place{Dir: host.NoFD, Path: c.name}, false)
	return st.Size, st.Sparse, e
}

func (c contentFile) Remove() { os.Remove(c.name) }

// TestReplacedDescriptors opens a file for reading, and then for writing, over file systems that pass on what is below:
// the descriptor that somebody has for reading stays one, and has the new content.
func TestReplacedDescriptors(t *testing.T) {
	overlay := func(lower vfs.FS) vfs.FS {
		dir := t.TempDir()
		fs, e := vfs.NewOverlay(vfs.MemOptions{Privileged: true, NewContent: func(ino uint64, _ uint32) (vfs.Content, linux.Errno) {
			c := contentFile{filepath.Join(dir, strconv.Itoa(int(ino)))}
			return c, host.Mknod(host.Place{Dir: host.NoFD, Path: c.name}, linux.S_IFREG|0o600, 0)
		}}, lower)
		require.Zero(t, e)
		return fs
	}
	for name, between := range map[string]func(vfs.FS) vfs.FS{
		"host":      func(fs vfs.FS) vfs.FS { return fs },
		"namespace": func(fs vfs.FS) vfs.FS { return vfs.NewNamespace(fs) },
		"overlay":   overlay,
		"record": func(fs vfs.FS) vfs.FS {
			f, err := os.Create(filepath.Join(t.TempDir(), "run.tar"))
			require.NoError(t, err)
			r, err := NewRecorder(f)
			require.NoError(t, err)
			fs, e := r.Wrap(fs)
			require.Zero(t, e)
			return fs
		},
	} {
		t.Run(name, func(t *testing.T) {
			lower := scratchFS(t)
			vfstest.Run(lower, "file a 644\nopen h a w\nwrite h 0 old")
			fs := overlay(between(lower))
			n, e := fs.Root().Lookup("a")
			require.Zero(t, e)
			reader, e := n.Open(linux.O_RDONLY)
			require.Zero(t, e)
			was, ok := reader.Descriptor()
			require.True(t, ok)
			w, e := n.Open(linux.O_WRONLY)
			require.Zero(t, e)
			_, e = w.WriteAt([]byte("new"), 0)
			require.Zero(t, e)
			is, ok := reader.Descriptor()
			require.True(t, ok)
			require.Equal(t, was, is)
			b := make([]byte, 9)
			got, e := host.Data{FD: host.FD(was)}.ReadAt(b, 0)
			require.Zero(t, e)
			require.Equal(t, "new", string(b[:got]))
		})
	}
}
