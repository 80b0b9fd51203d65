package vfs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
	"github.com/cgemu/cgemu/syscalls/internal/vfs/vfstest"
)

func user() vfs.MemOptions { return vfs.MemOptions{UID: 1000, GID: 1000} }

func superuser() vfs.MemOptions { return vfs.MemOptions{Privileged: true} }

// over returns an overlay over one file system.
func over(t *testing.T, o vfs.MemOptions, lower ...vfs.FS) vfs.FS {
	fs, e := vfs.NewOverlay(o, lower...)
	require.Zero(t, e)
	return fs
}

// mounted returns a file system that is seen at a directory of another one.
func mounted(t *testing.T, fs vfs.FS) vfs.FS {
	base := vfs.NewMemFS(superuser())
	ns := vfs.NewNamespace(base)
	dir, e := ns.Root().Create("mnt", linux.S_IFDIR|0o755, 0)
	require.Zero(t, e)
	require.Zero(t, ns.Mount(dir, fs, fs.Root()))
	return ns
}

// TestScripts has every file system do what Linux does.
func TestScripts(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, o vfs.MemOptions) vfs.FS{
		"memfs":   func(_ *testing.T, o vfs.MemOptions) vfs.FS { return vfs.NewMemFS(o) },
		"overlay": func(t *testing.T, o vfs.MemOptions) vfs.FS { return over(t, o, vfs.NewMemFS(o)) },
		"three": func(t *testing.T, o vfs.MemOptions) vfs.FS {
			return over(t, o, vfs.NewMemFS(o), over(t, o, vfs.NewMemFS(o)))
		},
		"namespace": func(_ *testing.T, o vfs.MemOptions) vfs.FS { return vfs.NewNamespace(vfs.NewMemFS(o)) },
	} {
		for _, s := range vfstest.Scripts {
			t.Run(name+"/"+s.Name, func(t *testing.T) {
				require.Empty(t, vfstest.Difference(s.Text, vfstest.Run(make(t, user()), s.Text)))
				if !s.Unprivileged {
					require.Empty(t, vfstest.Difference(s.Text, vfstest.Run(make(t, superuser()), s.Text)))
				}
			})
		}
	}
}

// script makes a file system of what operations make.
func script(t *testing.T, lines ...string) *vfs.MemFS {
	fs := vfs.NewMemFS(superuser())
	require.NotContains(t, vfstest.Run(fs, strings.Join(lines, "\n")), "=> E")
	return fs
}

// TestOverlayCopies checks that an overlay shows what is below, and changes nothing of it.
func TestOverlayCopies(t *testing.T) {
	lower := script(t, "file a 644", "open h a w", "write h 0 below", "link a b", "dir d 755", "file d/f 600", "sym a s", "setx a user.x 1 0")
	before := vfstest.Tree(lower)
	fs := over(t, superuser(), lower)
	require.Empty(t, vfstest.Difference(before, vfstest.Tree(fs)))
	want := `same a b => true
open r a r => ok
read r 0 9 => 'below'
open w b + => ok
write w 0 AB => 2
read r 0 9 => 'ABlow'
rm a => ok
stat b => file 644 1 links, 5 bytes
getx b user.x => 1
rmx b user.x => ok
lsx b => []
mv d e => ok
where e/f => /e/f
stat d => ENOENT
dir d 700 => ok
ls d => []
chmod e/f 777 => ok
open w e/f wt => ok
rm s => ok
ls / => [b:file d:dir e:dir]
`
	require.Empty(t, vfstest.Difference(want, vfstest.Run(fs, want)))
	require.Empty(t, vfstest.Difference(before, vfstest.Tree(lower)))
}

// TestOverlayMerges checks what is seen of several file systems: the first file, and all of directories unless one
// hides those below.
func TestOverlayMerges(t *testing.T) {
	low := script(t, "file a 600", "file b 600", "dir d 755", "file d/low 600", "dir o 755", "file o/low 600", "dir x 755")
	high := script(t, "file a 644", "dir d 700", "file d/high 644", "dir o 755", "file o/high 644", "file x 644", "setx o trusted.overlay.opaque y 0")
	_, e := high.Root().Create("b", linux.S_IFCHR, 0) // a whiteout
	require.Zero(t, e)
	want := `ls / => [a:file d:dir o:dir x:file]
ls d => [high:file low:file]
ls o => [high:file]
stat a => file 644 1 links, 0 bytes
stat d => dir 700
stat b => ENOENT
file b 640 => ok
rm d/low => ok
rm d/high => ok
rmdir d => ok
dir d 755 => ok
ls d => []
`
	require.Empty(t, vfstest.Difference(want, vfstest.Run(over(t, superuser(), high, low), want)))
}

// TestNamespace checks what is particular to mounts.
func TestNamespace(t *testing.T) {
	fs := mounted(t, script(t, "file f 644", "dir d 755"))
	want := `ls mnt => [d:dir f:file]
where mnt/d => /mnt/d
open h mnt/f r => ok
where @h => /mnt/f
rmdir mnt => EBUSY
mv mnt m => EBUSY
file g 644 => ok
mv g mnt/g => EXDEV
link g mnt/g => EXDEV
mv mnt/f mnt/g => ok
same mnt/g @h => true
above mnt/d => /mnt
above mnt => /
`
	require.Empty(t, vfstest.Difference(want, vfstest.Run(fs, want)))
}

// TestShifts checks what fallocate(2) does besides: not all hosts' file systems can.
func TestShifts(t *testing.T) {
	want := `file a 644 => ok
open h a + => ok
write h 0 one => 3
write h 4096 two => 3
write h 8192 three => 5
alloc h 8 0 4096 => ok
read h 0 9000 => 'two.*4093 thre*2'
alloc h 32 4096 4096 => ok
read h 0 20000 => 'two.*8189 thre*2'
alloc h 8 1 4096 => EINVAL
alloc h 8 0 12288 => EINVAL
alloc h 16 8192 5000 => ok
stat a => file 644 1 links, 13192 bytes
read h 0 20000 => 'two.*13189'
alloc h 4 0 1 => EOPNOTSUPP
`
	require.Empty(t, vfstest.Difference(want, vfstest.Run(vfs.NewMemFS(user()), want)))
}

// FuzzOverlay does the first half of operations on a file system and the rest on an overlay of it: the answers have to
// be those of one file system that does all, and the lower one has to stay as it is.
func FuzzOverlay(f *testing.F) {
	for i := range 50 {
		f.Add(vfstest.Seed(i, 2000))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first, second := vfstest.Random(b[:len(b)/2]), vfstest.Random(b[len(b)/2:])
		whole, lower := vfs.NewMemFS(superuser()), vfs.NewMemFS(superuser())
		require.Empty(t, vfstest.Difference(vfstest.Run(whole, first), vfstest.Run(lower, first)))
		before := vfstest.Tree(lower)
		upper := over(t, superuser(), lower)
		require.Empty(t, vfstest.Difference(vfstest.Run(whole, second), vfstest.Run(upper, second)))
		require.Empty(t, vfstest.Difference(vfstest.Tree(whole), vfstest.Tree(upper)))
		require.Empty(t, vfstest.Difference(before, vfstest.Tree(lower)))
	})
}

// TestMakeDir makes directories where the user may not: in memory, but nowhere else.
func TestMakeDir(t *testing.T) {
	lower := script(t, "dir d 755", "file f 644")
	before := vfstest.Tree(lower)
	for _, fs := range []vfs.FS{over(t, user(), lower), vfs.NewNamespace(over(t, user(), lower))} {
		d, e := fs.Root().Lookup("d")
		require.Zero(t, e)
		_, e = d.Create("new", linux.S_IFDIR|0o755, 0)
		require.Equal(t, linux.EACCES, e)
		n, e := vfs.MakeDir(d, "new")
		require.Zero(t, e)
		found, e := d.Lookup("new")
		require.Zero(t, e)
		require.Equal(t, found, n)
		_, e = vfs.MakeDir(d, "new")
		require.Equal(t, linux.EEXIST, e)
		_, e = vfs.MakeDir(fs.Root(), "f")
		require.Equal(t, linux.EEXIST, e)
		f, e := fs.Root().Lookup("f")
		require.Zero(t, e)
		_, e = vfs.MakeDir(f, "new")
		require.Equal(t, linux.ENOTDIR, e)
	}
	fixed := vfs.NewReadOnly(lower)
	_, e := vfs.MakeDir(fixed.Root(), "new")
	require.Equal(t, linux.EROFS, e)
	require.Equal(t, before, vfstest.Tree(lower))
}

// TestReadOnly checks what may be done with files that must not be changed, by one who may do everything else.
func TestReadOnly(t *testing.T) {
	below := script(t, "file f 666", "open h f w", "write h 0 text", "close h", "dir d 777", "sym f s", "setx f user.x 1 0")
	before := vfstest.Tree(below)
	require.Empty(t, vfstest.Difference(before, vfstest.Tree(vfs.NewReadOnly(below))))
	want := `ls / => [d:dir f:file s:sym]
above d => /
where d => /d
open h f r => ok
read h 0 9 => 'text'
where @h => /f
same f @h => true
open w f w => EROFS
open w f + => EROFS
open w f rt => EROFS
open p f p => ok
temp p d + => EROFS
new p d/n 644 w => EROFS
file d/n 644 => EROFS
sym x d/n => EROFS
link f d/n => EROFS
mv f d/n => EROFS
rm f => EROFS
rmdir d => EROFS
chmod f 600 => EROFS
truncate f 0 => EROFS
utimes f 1 2 => EROFS
setx f user.y 1 0 => EROFS
rmx f user.x => EROFS
getx f user.x => 1
lsx f => [user.x]
access f 4 => ok
access f 6 => EROFS
access f 1 => EACCES
write h 0 no => EBADF
cut h 0 => EINVAL
`
	require.Empty(t, vfstest.Difference(want, vfstest.Run(vfs.NewReadOnly(below), want)))
	require.Equal(t, before, vfstest.Tree(below))
	// Somebody outside may wait for what is written to a FIFO.
	fifo, e := vfs.NewReadOnly(script(t, "fifo p 666")).Root().Lookup("p")
	require.Zero(t, e)
	for _, flags := range []int{linux.O_WRONLY, linux.O_RDWR} {
		_, e = fifo.Open(flags | linux.O_NONBLOCK)
		require.Equal(t, linux.EROFS, e)
	}
}
