package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// Short names for what most tests make.
var (
	file, dir, symlink, link = imagetest.File, imagetest.Dir, imagetest.Symlink, imagetest.Link
	packed                   = imagetest.Tar
)

func compress(make func(io.Writer) (io.WriteCloser, error)) func([]byte) []byte {
	return func(b []byte) []byte {
		var out bytes.Buffer
		w, err := make(&out)
		if err == nil {
			_, err = w.Write(b)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			panic(err)
		}
		return out.Bytes()
	}
}

var (
	gzipped = compress(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	zstded  = compress(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
)

// written writes a file and returns its name.
func written(t testing.TB, b []byte) string {
	name := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, os.WriteFile(name, b, 0o644))
	return name
}

// tree opens an image, and lists what is in it.
func tree(t testing.TB, name, cache string) string {
	m, err := image.Open(name, image.Options{Cache: cache})
	require.NoError(t, err)
	defer m.Close()
	var out strings.Builder
	show(t, &out, "", m.Root)
	return out.String()
}

func show(t testing.TB, out *strings.Builder, name string, f *image.File) {
	require.True(t, name == "" || f.Parent.Lookup(f.Name) == f, "%s is not called %s", name, f.Name)
	fmt.Fprintf(out, "%s %c %o", name, f.Kind, f.Mode)
	if f.Kind != image.Directory && f.Nlink != 1 || f.Kind == image.Directory && f.Nlink != subdirs(f)+2 {
		fmt.Fprintf(out, " links=%d", f.Nlink)
	}
	if f.UID != 0 || f.GID != 0 {
		fmt.Fprintf(out, " owner=%d:%d", f.UID, f.GID)
	}
	if f.Sec > 0 {
		fmt.Fprintf(out, " time=%d.%d", f.Sec, f.Nsec)
	}
	if f.Major != 0 || f.Minor != 0 {
		fmt.Fprintf(out, " device=%d:%d", f.Major, f.Minor)
	}
	if len(f.Xattrs) > 0 {
		fmt.Fprintf(out, " %v", f.Xattrs)
	}
	if f.Kind == image.Symlink {
		fmt.Fprintf(out, " -> %s", f.Target)
	}
	if f.Kind == image.Regular {
		r, err := f.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Len(t, b, int(f.Size))
		fmt.Fprintf(out, " %q", b)
	}
	out.WriteByte('\n')
	for _, n := range f.List() {
		show(t, out, name+"/"+n, f.Lookup(n))
	}
}

// subdirs is how many directories are in f.
func subdirs(f *image.File) (n uint64) {
	for _, name := range f.List() {
		if f.Lookup(name).Kind == image.Directory {
			n++
		}
	}
	return n
}

// layered is an image whose upper layers change what is below, and what it looks like.
var layered = imagetest.Image{Tags: []string{"test:1"}, Env: []string{"A=b"}, WorkingDir: "/w", Cmd: []string{"sh"}, Layers: [][]byte{
	packed(dir("./", 0o755), dir("./etc/", 0o755), file("./etc/passwd", "root:x:0:0::/:/bin/sh\n", 0o644), file("etc/gone", "x", 0o600), symlink("bin", "usr/bin"),
		dir("usr/bin", 0o755), file("usr/bin/sh", "shell", 0o755), link("usr/bin/bash", "usr/bin/sh"), dir("opaque", 0o700), file("opaque/low", "", 0o600),
		dir("tree/a/b", 0o755), file("tree/a/b/c", "c", 0o644), symlink("abs", "/usr"), file("was", "a file", 0o644)),
	packed(file("etc/.wh.gone", "", 0), file("opaque/high", "h", 0o600), file("opaque/.wh..wh..opq", "", 0), file("bin/new", "over a link", 0o755), file("abs/share", "s", 0o644),
		dir("was", 0o755), dir("was/now", 0o711), link("etc/hard", "bin/sh"), file(".wh.tree", "", 0), file(".wh..wh.aufs", "", 0), dir("etc", 0o750)),
	packed(file("tree", "now a file", 0o644), file("etc/gone", "back", 0o644), file(".wh.nothing", "", 0)),
}}

const layeredTree = ` d 755
/abs l 777 -> /usr
/bin l 777 -> usr/bin
/etc d 750
/etc/gone f 644 "back"
/etc/hard f 755 links=3 "shell"
/etc/passwd f 644 "root:x:0:0::/:/bin/sh\n"
/opaque d 700
/opaque/high f 600 "h"
/tree f 644 "now a file"
/usr d 755
/usr/bin d 755
/usr/bin/bash f 755 links=3 "shell"
/usr/bin/new f 755 "over a link"
/usr/bin/sh f 755 links=3 "shell"
/usr/share f 644 "s"
/was d 755
/was/now d 711
`

// TestReplaced has layers put something else in the place of what is below, as Docker's do when a link is removed and a
// directory made: it is marked as opaque. And it takes first names of files away.
func TestReplaced(t *testing.T) {
	m := imagetest.Image{Layers: [][]byte{
		packed(file("usr/lib/keep", "k", 0o644), symlink("link", "usr/lib"), file("file", "f", 0o644), symlink("other", "link"), file("a", "a", 0o644), link("m/b", "a"), link("z", "a"),
			file("dir/f", "f", 0o644), file("plain", "p", 0o644)),
		packed(dir("link", 0o750), file("link/.wh..wh..opq", "", 0), file("link/new", "n", 0o644), dir("file", 0o755), file("file/.wh..wh..opq", "", 0), file("file/new", "n", 0o644),
			dir("other", 0o755), file("other/.wh.keep", "", 0), file(".wh.a", "", 0), link("dir", "dir/f"), file("plain/.wh.x", "", 0)),
	}}
	require.Equal(t, ` d 755
/dir f 644 "f"
/file d 755
/file/new f 644 "n"
/link d 750
/link/new f 644 "n"
/m d 755
/m/b f 644 links=2 "a"
/other d 755
/plain f 644 "p"
/usr d 755
/usr/lib d 755
/usr/lib/keep f 644 "k"
/z f 644 links=2 "a"
`, tree(t, written(t, imagetest.Docker(m)), ""))
}

// TestFormats has one image in all formats, with a cache that is new, one that is used, and none.
func TestFormats(t *testing.T) {
	small, zipped := layered, layered
	small.Compress, zipped.Compress = zstded, gzipped
	small.MediaType, zipped.MediaType = "+zstd", "+gzip"
	for name, b := range map[string][]byte{
		"docker": imagetest.Docker(layered), "docker gzip": imagetest.Docker(zipped), "gzip docker": gzipped(imagetest.Docker(layered)),
		"oci": imagetest.Pack(imagetest.Layout(layered)), "oci zstd": imagetest.Pack(imagetest.Layout(small)), "zstd oci": zstded(imagetest.Pack(imagetest.Layout(zipped))),
	} {
		t.Run(name, func(t *testing.T) {
			at, cache := written(t, b), filepath.Join(t.TempDir(), "a", "b")
			for _, c := range []string{cache, cache, ""} {
				require.Equal(t, layeredTree, tree(t, at, c))
			}
			require.Equal(t, layeredTree, tree(t, at+":test:1", cache))
			m, err := image.Open(at, image.Options{})
			require.NoError(t, err)
			require.Equal(t, image.Config{Env: []string{"A=b"}, Cmd: []string{"sh"}, WorkingDir: "/w"}, m.Config)
			require.NoError(t, m.Close())
		})
	}
	t.Run("directory", func(t *testing.T) {
		at, cache := filepath.Join(t.TempDir(), "layout"), t.TempDir()
		require.NoError(t, imagetest.WriteDir(at, imagetest.Layout(zipped)))
		for _, c := range []string{cache, cache, ""} {
			require.Equal(t, layeredTree, tree(t, at, c))
		}
	})
}

// special has what root directories have besides files.
var special = packed(
	imagetest.Member{Header: tar.Header{Typeflag: tar.TypeChar, Name: "dev/null", Mode: 0o666, Devmajor: 1, Devminor: 3, Uid: 7, Gid: 8}},
	imagetest.Member{Header: tar.Header{Typeflag: tar.TypeBlock, Name: "dev/sda", Mode: 0o660, Devmajor: 8, Devminor: 300}},
	imagetest.Member{Header: tar.Header{Typeflag: tar.TypeFifo, Name: "fifo", Mode: 0o4600}},
	imagetest.Member{Header: tar.Header{Typeflag: tar.TypeReg, Name: "caps", Mode: 0o755, ModTime: time.Unix(1e9, 500), PAXRecords: map[string]string{"SCHILY.xattr.user.x": "y\x00z"}, Format: tar.FormatPAX}},
	file(strings.Repeat("long/", 100)+"ö", "deep", 0o644),
	imagetest.Member{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "x"}}},
	file(".wh.name", "a name like others", 0o644),
)

// TestRoot opens archives of a root directory.
func TestRoot(t *testing.T) {
	for name, b := range map[string][]byte{"plain": special, "gzip": gzipped(special), "zstd": zstded(special)} {
		t.Run(name, func(t *testing.T) {
			at, cache := written(t, b), t.TempDir()
			for _, c := range []string{cache, cache, ""} {
				got := tree(t, at, c)
				require.Contains(t, got, "/dev/null c 666 owner=7:8 device=1:3\n/dev/sda b 660 device=8:300\n")
				require.Contains(t, got, "/fifo p 4600\n")
				require.Contains(t, got, "/caps f 755 time=1000000000.500 map[user.x:y\x00z] \"\"\n")
				require.Contains(t, got, "/long/ö f 644 \"deep\"\n")
				require.Contains(t, got, "/.wh.name f 644 \"a name like others\"\n")
				require.NotContains(t, got, "pax_global")
			}
		})
	}
}

// TestNoManifest has a root directory with a file that is called like an image's manifest, as those of web applications
// are.
func TestNoManifest(t *testing.T) {
	require.Contains(t, tree(t, written(t, packed(file("manifest.json", ` {"name": "app"}`, 0o644), file("index.json", "", 0o644))), ""), "/manifest.json f 644")
}

// TestSparse opens files with holes, which GNU tar has written in each of its formats.
func TestSparse(t *testing.T) {
	for _, format := range []string{"gnu", "pax0.0", "pax0.1", "pax1.0"} {
		t.Run(format, func(t *testing.T) {
			m, err := image.Open(filepath.Join("testdata", "sparse-"+format+".tar.gz"), image.Options{})
			require.NoError(t, err)
			defer m.Close()
			for _, name := range []string{"one", "two"} {
				f := m.Find("/" + name)
				require.NotNil(t, f)
				require.EqualValues(t, 300000, f.Size)
				r, err := f.Open()
				require.NoError(t, err)
				b, err := io.ReadAll(r)
				require.NoError(t, err)
				want := make([]byte, 300000)
				copy(want[100000:], name)
				copy(want[200000:], "end of "+name)
				require.Equal(t, want, b)
			}
			r, err := m.Find("plain").Open()
			require.NoError(t, err)
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, "plain\n", string(b))
		})
	}
}

// TestSeveral has archives with several images.
func TestSeveral(t *testing.T) {
	image1 := imagetest.Image{Tags: []string{"debian:12", "registry.example/me/debian:stable"}, Layers: [][]byte{packed(file("one", "", 0o644))}}
	image2 := imagetest.Image{Tags: []string{"alpine:latest"}, Layers: [][]byte{packed(file("two", "", 0o644))}}
	arm := imagetest.Image{Tags: []string{"debian:12"}, Arch: "arm64", Layers: [][]byte{packed(file("arm", "", 0o644))}}
	docker, oci := written(t, imagetest.Docker(image1, image2)), written(t, imagetest.Pack(imagetest.Layout(image1, image2)))
	both := written(t, imagetest.Pack(imagetest.Layout(arm, image1)))
	for _, c := range []struct{ name, has, err string }{
		{docker + ":debian:12", "/one", ""},
		{docker + ":me/debian:stable", "/one", ""},
		{docker + ":stable", "/one", ""},
		{docker + ":alpine", "/two", ""},
		{docker, "", "there are 2 images in it: say FILE:TAG for one of alpine:latest; debian:12, registry.example/me/debian:stable"},
		{docker + ":debian", "", `there is no image "debian" in it, but alpine:latest; debian:12, `},
		{oci + ":alpine:latest", "/two", ""},
		{oci, "", "there are 2 images in it: say FILE:TAG for one of alpine:latest; registry"},
		{oci + ":x", "", `there is no image "x" in it`},
		{both, "/one", ""},
		{written(t, imagetest.Pack(imagetest.Layout(arm))), "", "it is for linux/arm64, and cgemu runs programs for linux/amd64: pull it with --platform=linux/amd64"},
		{written(t, imagetest.Docker(arm)), "", "it is for linux/arm64"},
		{written(t, imagetest.Docker()), "", "there is no image in it"},
		{written(t, special) + ":x", "", `it is an archive of files, and no image that could be called "x"`},
		{docker + ".not", "", "no such file"},
		{t.TempDir(), "", "it is a directory, and no OCI layout"},
		{os.DevNull, "", "a file or a directory is expected"},
	} {
		m, err := image.Open(c.name, image.Options{})
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err, c.name)
		require.NotNil(t, m.Find(c.has), c.name)
		require.NoError(t, m.Close())
	}
}

// TestFind follows paths.
func TestFind(t *testing.T) {
	m, err := image.Open(written(t, packed(file("usr/lib/x", "", 0o644), symlink("lib", "usr/lib"), symlink("usr/up", "../../.."), symlink("loop", "loop"),
		symlink("usr/abs", "/lib/./x"), symlink("dangling", "none/x"))), image.Options{})
	require.NoError(t, err)
	defer m.Close()
	x := m.Find("/usr/lib/x")
	for name, want := range map[string]*image.File{
		"/lib/x": x, "/lib/../lib/x": x, "lib/../lib/./": x.Parent, "usr/..": m.Root, "usr/abs": x, "/usr/up/lib/x": x, "/../lib/../lib/x": x, "/": m.Root, "": m.Root, "/loop": nil, "/dangling": nil, "/loop/x": nil, "/lib/x/y": nil, "/no": nil, "/usr": m.Root.Lookup("usr"), "/lib/..": m.Root.Lookup("usr"),
	} {
		require.Same(t, want, m.Find(name), name)
	}
}

// TestFS reads an image as files by name.
func TestFS(t *testing.T) {
	m, err := image.Open(written(t, packed(imagetest.Member{Header: tar.Header{Typeflag: tar.TypeReg, Name: "d/f", Mode: 0o640, Size: 4, ModTime: time.Unix(1e9, 0)}, Body: "text"}, symlink("l", "d/f"))), image.Options{})
	require.NoError(t, err)
	defer m.Close()
	b, err := fs.ReadFile(m.FS(), "l")
	require.NoError(t, err)
	require.Equal(t, "text", string(b))
	info, err := fs.Stat(m.FS(), "d/f")
	require.NoError(t, err)
	require.Equal(t, []any{"f", int64(4), fs.FileMode(0o640), time.Unix(1e9, 0), false}, []any{info.Name(), info.Size(), info.Mode(), info.ModTime(), info.IsDir()})
	info, err = fs.Stat(m.FS(), "d")
	require.NoError(t, err)
	require.True(t, info.IsDir() && info.Mode().IsDir())
	for _, name := range []string{"none", "/d/f", "d/../d/f", "d/f/x"} {
		_, err = m.FS().Open(name)
		require.Error(t, err, name)
	}
}

// TestUser looks users up.
func TestUser(t *testing.T) {
	m, err := image.Open(written(t, packed(file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nwww:x:33:34::/:\nbad:x:y:z::/:\nshort\n", 0o644),
		file("etc/group", "root:x:0:\nadm:x:4:www,other\nstaff:x:50:\nweb:x:34:www\n", 0o644))), image.Options{})
	require.NoError(t, err)
	defer m.Close()
	for spec, want := range map[string]image.User{
		"": {}, "root": {}, "0": {}, "www": {33, 34, []int{4}}, "33": {33, 34, []int{4}}, "www:staff": {33, 50, nil}, "www:": {33, 34, []int{4}}, "1234": {UID: 1234}, "1234:7": {UID: 1234, GID: 7}, ":50": {GID: 50},
	} {
		u, err := m.LookupUser(spec)
		require.NoError(t, err, spec)
		require.Equal(t, want, u, spec)
	}
	for spec, want := range map[string]string{
		"nobody": "has no such name", "www:none": `group "none"`, "bad": "is no good", "-1": "has no such name", "4294967295": "has no such name",
	} {
		_, err := m.LookupUser(spec)
		require.ErrorContains(t, err, want)
	}
}
