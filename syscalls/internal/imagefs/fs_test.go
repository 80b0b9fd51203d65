package imagefs_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/internal/image/imagetest"
	"github.com/cgemu/cgemu/syscalls/internal/imagefs"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
	"github.com/cgemu/cgemu/syscalls/internal/vfs/vfstest"
)

// opened is the root of an image of the members.
func opened(t *testing.T, members ...imagetest.Member) *image.File {
	name := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, os.WriteFile(name, imagetest.Tar(members...), 0o644))
	m, err := image.Open(name, image.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m.Root
}

// overlay is a file system over an image, of one who may do everything.
func overlay(t *testing.T, root *image.File) vfs.FS {
	o := vfs.MemOptions{Privileged: true}
	fs, e := vfs.NewOverlay(o, imagefs.New(root, o))
	require.Zero(t, e)
	return fs
}

// TestScripts has an overlay over an empty image do what Linux does.
func TestScripts(t *testing.T) {
	root := opened(t)
	for _, s := range vfstest.Scripts {
		if !s.Unprivileged {
			t.Run(s.Name, func(t *testing.T) {
				fs := overlay(t, root)
				defer fs.Close()
				require.Empty(t, vfstest.Difference(s.Text, vfstest.Run(fs, s.Text)))
			})
		}
	}
}

// TestImage checks what is seen of an image, that nothing in it changes, and that an overlay of it may.
func TestImage(t *testing.T) {
	root := opened(t, imagetest.Dir("d", 0o750), imagetest.File("d/f", "text", 0o640), imagetest.Link("l", "d/f"), imagetest.Symlink("s", "d/f"))
	fs := imagefs.New(root, vfs.MemOptions{})
	fixed := `ls / => [d:dir l:file s:sym]
ls d => [f:file]
stat d => dir 750
stat d/f => file 640 2 links, 4 bytes
same l d/f => true
readlink s => d/f
where d => /d
above d => /
open h l r => ok
read h 0 9 => 'text'
where @h => /d/f
open i l w => EROFS
open i l rt => EROFS
rm l => EROFS
file n 644 => EROFS
mv l n => EROFS
chmod l 777 => EROFS
setx l user.x 1 0 => EROFS
access l 4 => ok
access l 2 => EROFS
ls l => ENOTDIR
stat l/x => ENOTDIR
stat none => ENOENT
`
	require.Empty(t, vfstest.Difference(fixed, vfstest.Run(fs, fixed)))
	require.Zero(t, fs.Close())
	before := vfstest.Tree(imagefs.New(root, vfs.MemOptions{}))
	changed := `open h l r => ok
open w d/f + => ok
write w 4 ! => 1
read h 0 9 => 'text!'
rm l => ok
stat d/f => file 640 1 links, 5 bytes
mv d e => ok
ls / => [e:dir s:sym]
`
	require.Empty(t, vfstest.Difference(changed, vfstest.Run(overlay(t, root), changed)))
	require.Equal(t, before, vfstest.Tree(imagefs.New(root, vfs.MemOptions{})))
}

// TestDevice checks the numbers of a device.
func TestDevice(t *testing.T) {
	m := imagetest.Member{}
	m.Typeflag, m.Name, m.Mode, m.Devmajor, m.Devminor = '3', "null", 0o666, 0x1234, 0x56789
	n, e := imagefs.New(opened(t, m), vfs.MemOptions{}).Root().Lookup("null")
	require.Zero(t, e)
	s, e := n.Stat()
	require.Zero(t, e)
	require.EqualValues(t, linux.S_IFCHR|0o666, s.Mode)
	require.EqualValues(t, 0x1234, linux.Major(s.Rdev))
	require.EqualValues(t, 0x56789, linux.Minor(s.Rdev))
	_, e = n.Open(linux.O_RDONLY)
	require.Equal(t, linux.ENXIO, e)
}

// counted counts the bytes that contents have, and refuses more than there may be.
type counted struct {
	vfs.Content
	sum  *int64
	size int64
}

func (c *counted) Remove() { *c.sum -= c.size; c.Content.Remove() }

// TestIdle checks how many contents are kept that nobody has open: not all, and fewer when there is no more room.
func TestIdle(t *testing.T) {
	var members []imagetest.Member
	for _, name := range strings.Split("abcdefgh", "") {
		members = append(members, imagetest.File(name, strings.Repeat(name, 1000), 0o644))
	}
	root := opened(t, members...)
	for _, c := range []struct{ idle, room, want int64 }{{100000, 100000, 8000}, {15288, 100000, 3000}, {100000, 5000, 5000}, {0, 1000, 0}} {
		sum := int64(0)
		fs := imagefs.NewSmall(root, c.idle, func(ino uint64, kind uint32) (vfs.Content, linux.Errno) {
			if sum+1000 > c.room {
				return nil, linux.ENOSPC
			}
			sum += 1000
			m, e := vfs.MemContent(ino, kind)
			return &counted{m, &sum, 1000}, e
		})
		for range 2 {
			for _, m := range members {
				h, again := openFile(t, fs, m.Name), openFile(t, fs, m.Name)
				require.Zero(t, h.Close())
				b := make([]byte, 2000)
				got, e := again.ReadAt(b, 0)
				require.Zero(t, e)
				require.Equal(t, m.Body, string(b[:got]))
				require.Zero(t, again.Close())
				require.LessOrEqual(t, sum, c.room)
			}
		}
		require.LessOrEqual(t, sum, max(c.want, 1000), c)
		require.Zero(t, fs.Close())
		require.Zero(t, sum)
	}
}

// openFile opens a file in the root of fs for reading.
func openFile(t *testing.T, fs *imagefs.FS, name string) vfs.Handle {
	t.Helper()
	n, e := fs.Root().Lookup(name)
	require.Zero(t, e)
	h, e := n.Open(linux.O_RDONLY)
	require.Zero(t, e)
	return h
}

// TestIdleEmpty has many files that are empty, each of which takes a file of the host: not all are kept.
func TestIdleEmpty(t *testing.T) {
	var members []imagetest.Member
	for i := range 100 {
		members = append(members, imagetest.File(strconv.Itoa(i), "", 0o644))
	}
	sum := int64(0)
	fs := imagefs.NewSmall(opened(t, members...), 40<<10, func(ino uint64, kind uint32) (vfs.Content, linux.Errno) {
		sum++
		m, e := vfs.MemContent(ino, kind)
		return &counted{m, &sum, 1}, e
	})
	for range 2 {
		for _, m := range members {
			require.Zero(t, openFile(t, fs, m.Name).Close())
		}
	}
	require.EqualValues(t, 10, sum)
	require.Zero(t, fs.Close())
	require.Zero(t, sum)
}

// TestShortened has an image be cut while it is used.
func TestShortened(t *testing.T) {
	name := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, os.WriteFile(name, imagetest.Tar(imagetest.File("f", strings.Repeat("x", 5000), 0o644)), 0o644))
	m, err := image.Open(name, image.Options{})
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, os.Truncate(name, 1000))
	n, e := imagefs.New(m.Root, vfs.MemOptions{}).Root().Lookup("f")
	require.Zero(t, e)
	_, e = n.Open(linux.O_RDONLY)
	require.Equal(t, linux.EIO, e)
}
