package image_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// opened opens bytes as an image.
func opened(t testing.TB, b []byte) (*image.Image, error) {
	return image.Open(written(t, b), image.Options{})
}

// replaced is b with one text, which is there, for another of the same length.
func replaced(t testing.TB, b []byte, from, to string) []byte {
	require.Len(t, to, len(from))
	require.True(t, bytes.Contains(b, []byte(from)), from)
	return bytes.ReplaceAll(b, []byte(from), []byte(to))
}

// TestHostile has archives that nobody writes who means well.
func TestHostile(t *testing.T) {
	kind := func(k byte) []byte {
		return packed(imagetest.Member{Header: tar.Header{Typeflag: k, Name: "x"}})
	}
	two := imagetest.Image{Layers: [][]byte{packed(file("a", "a", 0o644)), packed(file("b", "b", 0o644))}}
	zipped := two
	zipped.Compress = gzipped
	var loops []imagetest.Member
	for i := range 50 {
		loops = append(loops, symlink(fmt.Sprint(i), fmt.Sprint(i+1)))
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing":                    {nil, "it is neither a container image"},
		"text":                       {[]byte(strings.Repeat("no archive\n", 1000)), "it is neither a container image"},
		"zeros, half a block":        {make([]byte, 100), "it is neither"},
		"half a header behind one":   {packed(dir("x", 0o755))[:700], "its end is missing"},
		"up":                         {packed(file("../x", "", 0o644)), `"../x": the path "../x" leads out of the root directory`},
		"up, in the middle":          {packed(file("a/../../x", "", 0o644)), "leads out"},
		"up, as a link":              {packed(file("x", "", 0o644), link("y", "../x")), `"y": the path "../x" leads out`},
		"a link to nothing":          {packed(link("y", "x")), `"y": it is another name of "x", which is not there`},
		"a link to a directory":      {packed(dir("x", 0o755), link("y", "x")), `which is a directory`},
		"links in a loop":            {packed(append(loops, symlink("50", "0"), file("0/x", "", 0o644))...), `"0/x": more than 40 symbolic links`},
		"a file as a directory":      {packed(file("x", "", 0o644), file("x/y", "", 0o644)), `"x" on the way there is no directory`},
		"a file as the root":         {packed(symlink("/", "x")), "the root is a directory"},
		"a long name":                {packed(file(strings.Repeat("x", 256), "", 0o644)), "a name in it has 256 bytes"},
		"a long path":                {packed(dir(strings.Repeat("x/", 2048), 0o755)), "the path has 4096 bytes"},
		"an unknown type":            {kind('Z'), `"x": it has type 'Z', which is unknown`},
		"an empty link":              {packed(imagetest.Member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "x", Linkname: strings.Repeat("y", 5000)}}), "what it links to is no path"},
		"a negative owner":           {packed(imagetest.Member{Header: tar.Header{Typeflag: tar.TypeReg, Name: "x", Uid: -5, Format: tar.FormatGNU}}), "-5 is none of an owner"},
		"a size beyond all":          {resized(packed(file("x", "", 0o644)), "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff"), "its end is missing"},
		"a content that is not here": {packed(file("x", strings.Repeat("y", 5000), 0o644))[:2048], "its end is missing"},
		"docker: no config":          {imagetest.Pack(map[string][]byte{"manifest.json": []byte(`[{"Config":"x","Layers":[]}]`)}), "x: it is not in the archive"},
		"docker: leads out":          {imagetest.Pack(map[string][]byte{"manifest.json": []byte(`[{"Config":"../../etc/passwd","Layers":[]}]`)}), "leads out"},
		"docker: no JSON":            {imagetest.Pack(map[string][]byte{"manifest.json": []byte(`[{`)}), "manifest.json: unexpected end of JSON"},
		"docker: a layer is missing": {imagetest.Pack(map[string][]byte{"manifest.json": []byte(`[{"Config":"c","Layers":["l"]}]`), "c": []byte(`{}`)}), "0 layers, and its manifest 1"},
		"docker: a loop":             {packed(file("manifest.json", `[{"Config":"c","Layers":[]}]`, 0o644), symlink("c", "d"), symlink("d", "c")), "c: a regular file is expected"},
		"docker: another digest":     {replaced(t, imagetest.Docker(two), "b\x00\x00\x00", "c\x00\x00\x00"), "layer 2 of 2: its digest is sha256:"},
		"oci: another digest":        {replaced(t, imagetest.Pack(imagetest.Layout(two)), "b\x00\x00\x00", "c\x00\x00\x00"), "layer 2 of 2: its digest is sha256:"},
		"oci: another config":        {replaced(t, imagetest.Pack(imagetest.Layout(two)), `"WorkingDir":""`, `"WorkingDir":[]`), "its digest is sha256:"},
		"oci: damaged":               {replaced(t, imagetest.Pack(imagetest.Layout(zipped)), string(gzipped(two.Layers[0])[40:44]), "xxxx"), "layer 1 of 2: it is damaged: gzip: "},
		"oci: no blob":               {imagetest.Pack(map[string][]byte{"oci-layout": nil, "index.json": []byte(`{"manifests":[{"digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`)}), "it is not in the archive"},
		"oci: another algorithm":     {imagetest.Pack(map[string][]byte{"oci-layout": nil, "index.json": []byte(`{"manifests":[{"digest":"sha512:` + strings.Repeat("0", 128) + `"}]}`)}), "only sha256"},
		"gzip, cut":                  {gzipped(special)[:200], "it is not whole"},
		"gzip of nothing":            {gzipped(nil), "it is neither"},
		"zstd, and no more":          {[]byte("\x28\xb5\x2f\xfd"), "it is not whole"},
		"xz":                         {[]byte("\xfd7zXZ\x00"), "it is compressed by xz, which is not read here: decompress it"},
		"bzip2, and no more":         {[]byte("BZh9"), "it is not whole"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := opened(t, c.b)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "image.tar: ")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// TestContained has archives that would lead out of their tree if it were the host's.
func TestContained(t *testing.T) {
	m, err := opened(t, packed(symlink("out", "../../../../"), file("out/inside", "x", 0o644), symlink("abs", "/etc"), file("abs/passwd", "y", 0o644), file("/absolute", "z", 0o644)))
	require.NoError(t, err)
	defer m.Close()
	for _, name := range []string{"/inside", "/etc/passwd", "/absolute"} {
		require.NotNil(t, m.Find(name), name)
	}
	// A layout that is a directory is left neither by names nor by links.
	at := t.TempDir()
	files := imagetest.Layout(layered)
	require.NoError(t, imagetest.WriteDir(at, files))
	for name := range files {
		if strings.HasPrefix(name, "blobs/") {
			to := filepath.Join(t.TempDir(), "blob")
			require.NoError(t, os.Rename(filepath.Join(at, name), to))
			require.NoError(t, os.Symlink(to, filepath.Join(at, name)))
		}
	}
	_, err = image.Open(at, image.Options{})
	require.ErrorContains(t, err, "blobs/sha256/")
	require.ErrorContains(t, err, "path escapes from parent")
}

// TestCut opens archives that end too early, at every byte.
func TestCut(t *testing.T) {
	small := packed(dir("d", 0o755), file("d/f", "text", 0o644), symlink("l", "d/f"))
	end := bytes.LastIndex(small, []byte("ustar")) + 512 // behind it are zeros alone
	for n := range end {
		_, err := opened(t, small[:n])
		require.Error(t, err, n)
		require.Regexp(t, "not whole|neither|damaged", err.Error(), n)
	}
	two := imagetest.Image{Layers: [][]byte{packed(file("a", "a", 0o644))}, Compress: gzipped}
	for name, b := range map[string][]byte{"gzip": gzipped(small), "zstd": zstded(small), "docker": imagetest.Docker(two)} {
		for n := range len(b) {
			m, err := opened(t, b[:n])
			if err == nil { // nothing but zeros is missing
				require.Equal(t, make([]byte, len(b)-n), b[n:], "%s %d", name, n)
				require.NoError(t, m.Close())
				continue
			}
			require.NotContains(t, err.Error(), "\n")
		}
	}
}

// TestBombs has archives that are small, and become large.
func TestBombs(t *testing.T) {
	defer image.SetLimits(1000, 1<<20, 1<<16)()
	var many []imagetest.Member
	for i := range 1001 {
		many = append(many, file(fmt.Sprint(i), "", 0o644))
	}
	_, err := opened(t, packed(many...))
	require.ErrorContains(t, err, "it has more than 1000 files, the most that is read of an image")
	_, err = opened(t, imagetest.Docker(imagetest.Image{Layers: [][]byte{packed(many[:600]...), packed(many[:600]...)}}))
	require.ErrorContains(t, err, "layer 2 of 2: it has more than 1000 files")
	// What is compressed is decompressed no further than it takes to know that.
	for i := range 3000 {
		many = append(many, file(fmt.Sprint("x", i), "", 0o644))
	}
	_, err = opened(t, gzipped(packed(many...)))
	require.ErrorContains(t, err, "it has more than 1000 files")
	_, err = opened(t, zstded([]byte(strings.Repeat("no archive\n", 1<<20))))
	require.ErrorContains(t, err, "it is neither a container image")
	var deep []imagetest.Member
	for i := range 900 {
		deep = append(deep, file(fmt.Sprint(i, "/a/b/c"), "", 0o644))
	}
	_, err = opened(t, packed(deep...))
	require.ErrorContains(t, err, "more than 2000 files and directories")
	_, err = opened(t, packed(dir(strings.Repeat(strings.Repeat("x", 200)+"/", 10), 0o755), symlink("x", strings.Repeat("y", 4000)), symlink("x", strings.Repeat("y", 4000)),
		symlink("x", strings.Repeat("y", 4000)), imagetest.Member{Header: tar.Header{Typeflag: tar.TypeReg, Name: "z", PAXRecords: map[string]string{"SCHILY.xattr.user.x": strings.Repeat("v", 1<<16)}}}))
	require.ErrorContains(t, err, "more than 65536 bytes of names and attributes")
	attributes := map[string]string{}
	for i := range 2000 {
		attributes["SCHILY.xattr."+strconv.FormatInt(int64(i), 36)] = "v"
	}
	_, err = opened(t, packed(imagetest.Member{Header: tar.Header{Typeflag: tar.TypeReg, Name: "z", PAXRecords: attributes}}))
	require.ErrorContains(t, err, "more than 65536 bytes of names and attributes")
	for name, compress := range map[string]func([]byte) []byte{"gzip": gzipped, "zstd": zstded} {
		_, err = opened(t, compress(packed(file("zero", strings.Repeat("\x00", 8<<20), 0o644))))
		require.ErrorContains(t, err, "bytes when decompressed, the most that is read of an image", name)
	}
	zeros := packed(file("zero", strings.Repeat("\x00", 600<<10), 0o644))
	m := imagetest.Image{Layers: [][]byte{zeros, packed(), zeros}, Compress: gzipped}
	_, err = opened(t, imagetest.Docker(m)) // one layer twice
	require.NoError(t, err)
	m.Layers[2] = packed(file("one", strings.Repeat("\x01", 600<<10), 0o644))
	_, err = opened(t, imagetest.Docker(m))
	require.ErrorContains(t, err, "layer 3 of 3: it has more than ")
	require.ErrorContains(t, err, "bytes when decompressed, the most that is read of an image")
	// An index that leads to another one many times, which is long.
	long := []byte(`{"manifests":[]` + strings.Repeat(" ", 6<<20) + "}")
	sum := fmt.Sprintf("%x", sha256.Sum256(long))
	to := `{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:` + sum + `"}`
	_, err = opened(t, imagetest.Pack(map[string][]byte{
		"oci-layout": nil, "index.json": []byte(`{"manifests":[` + to + strings.Repeat(","+to, 1000) + "]}"), "blobs/sha256/" + sum: long,
	}))
	require.ErrorContains(t, err, "it has more than 16777216 bytes of JSON, the most that is read of an image")
}

// TestHoles has a file with holes that is longer than all disks: it can be looked at, and is not read.
func TestHoles(t *testing.T) {
	m, err := opened(t, sparse(t, 1<<60))
	require.NoError(t, err)
	defer m.Close()
	large := m.Find("large")
	require.EqualValues(t, int64(1)<<60, large.Size)
	_, err = large.Open()
	require.ErrorContains(t, err, "bytes in a file with holes")
}

// sparse is an archive with one file, which is a hole of that size.
func sparse(t testing.TB, size int64) []byte {
	var records strings.Builder
	for _, kv := range []string{"GNU.sparse.size=" + fmt.Sprint(size), "GNU.sparse.numblocks=1", "GNU.sparse.map=" + fmt.Sprint(size) + ",0"} {
		n := len(kv) + 2
		for len(fmt.Sprint(n))+len(kv)+2 != n {
			n++
		}
		fmt.Fprintf(&records, "%d %s\n", n, kv)
	}
	b := packed(file("pax", records.String(), 0o644), file("large", "", 0o644))
	b[156] = tar.TypeXHeader
	return summed(b)
}

// resized is an archive whose first member has a size as written there.
func resized(b []byte, size string) []byte {
	copy(b[124:136], size)
	return summed(b)
}

// summed is an archive whose first header has its checksum.
func summed(b []byte) []byte {
	copy(b[148:156], "        ")
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}
	copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// FuzzOpen opens anything as an image, and reads all that is in it.
func FuzzOpen(f *testing.F) {
	zipped := layered
	zipped.Compress = gzipped
	for _, b := range [][]byte{special, gzipped(special), zstded(special), imagetest.Docker(layered), imagetest.Pack(imagetest.Layout(zipped)), sparse(f, 1<<20)} {
		f.Add(b)
	}
	for _, name := range []string{"gnu", "pax0.0", "pax0.1", "pax1.0"} {
		b, err := os.ReadFile(filepath.Join("testdata", "sparse-"+name+".tar.gz"))
		require.NoError(f, err)
		f.Add(b)
	}
	defer image.SetLimits(10000, 1<<24, 1<<24)()
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := opened(t, b)
		if err != nil {
			return
		}
		defer m.Close()
		read(m.Root)
		m.LookupUser("x:y")
	})
}

// read reads all that is in a directory.
func read(d *image.File) {
	for _, name := range d.List() {
		f := d.Lookup(name)
		if r, err := f.Open(); err == nil {
			io.Copy(io.Discard, io.LimitReader(r, 1<<20))
		}
		read(f)
	}
}
