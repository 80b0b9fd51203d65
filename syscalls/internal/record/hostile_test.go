package record_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/record"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
	"github.com/cgemu/cgemu/syscalls/internal/vfs/vfstest"
)

// member is one of an archive that a test makes.
type member struct {
	name, text string
	kind       byte
}

// packed makes an archive.
func packed(t testing.TB, members []member) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o600, Size: int64(len(m.text)), Typeflag: tar.TypeReg}
		if m.kind != 0 {
			h.Typeflag, h.Size, h.Linkname = m.kind, 0, "/etc/passwd"
		}
		require.NoError(t, w.WriteHeader(h))
		if m.kind == 0 {
			_, err := w.Write([]byte(m.text))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

const (
	goodManifest = `{"format":1,"system":{"dir":"/","uid":0,"gid":0,"maxFiles":1024,"stdin":{"kind":"null"}},"run":null}`
	goodRoot     = `{"path":"/","inode":1,"mode":"40755"}` + "\n"
)

func open(t testing.TB, b []byte) (*record.Recording, error) {
	name := filepath.Join(t.TempDir(), "run.tar")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	return record.Open(name)
}

// TestHostile has archives that no Recorder writes.
func TestHostile(t *testing.T) {
	files := func(lines ...string) []member {
		return []member{{name: "files.jsonl", text: goodRoot + strings.Join(lines, "\n")}, {name: "manifest.json", text: goodManifest}}
	}
	manifest := func(text string) []member {
		return []member{{name: "files.jsonl", text: goodRoot}, {name: "manifest.json", text: text}}
	}
	for name, c := range map[string]struct {
		members []member
		want    string
	}{
		"nothing":                       {nil, "no recording"},
		"no manifest":                   {[]member{{name: "files.jsonl", text: goodRoot}}, "end is missing"},
		"no files":                      {[]member{{name: "manifest.json", text: goodManifest}}, "end is missing"},
		"empty files":                   {[]member{{name: "files.jsonl"}, {name: "manifest.json", text: goodManifest}}, "no root directory"},
		"a link":                        {[]member{{name: "root/a", kind: tar.TypeSymlink}}, `"root/a" is no regular member`},
		"a device":                      {[]member{{name: "root/a", kind: tar.TypeChar}}, "no regular member"},
		"twice":                         {[]member{{name: "stdin"}, {name: "stdin"}}, `"stdin" is there twice`},
		"manifest":                      {manifest("{"), "manifest.json"},
		"format":                        {manifest(`{"format":2}`), "it has format 2, and this cgemu reads format 1"},
		"standard input":                {manifest(`{"format":1,"system":{"stdin":{"kind":"file"}}}`), "nothing is said of standard input"},
		"a directory as standard input": {manifest(`{"format":1,"system":{"stdin":{"kind":"file","stat":{"mode":"40755"}}}}`), "nothing is said of standard input"},
		"two roots":                     {files(strings.TrimSpace(goodRoot)), "one root directory"},
		"relative":                      {files(`{"path":"a","inode":2,"mode":"100644"}`), "line 2: \"a\": a clean absolute path"},
		"dots":                          {files(`{"path":"/../a","inode":2,"mode":"100644"}`), "a clean absolute path"},
		"zero byte":                     {files(`{"path":"/a%00b","inode":2,"mode":"100644"}`), "a clean absolute path"},
		"bad escape":                    {files(`{"path":"/a%4","inode":2,"mode":"100644"}`), "two digits"},
		"no directory":                  {files(`{"path":"/d/a","inode":2,"mode":"100644"}`), "its directory is expected in front"},
		"below a file":                  {files(`{"path":"/d","inode":2,"mode":"100644"}`, `{"path":"/d/a","inode":3,"mode":"100644"}`), "its directory is expected in front"},
		"below nothing":                 {files(`{"path":"/d","error":2}`, `{"path":"/d/a","inode":3,"mode":"100644"}`), "its directory is expected in front"},
		"a name twice":                  {files(`{"path":"/a","inode":2,"mode":"100644"}`, `{"path":"/a","error":2}`), `"/a" is there twice`},
		"our own error":                 {files(`{"path":"/a","error":600}`), "line 2: \"/a\": there is no error 600"},
		"a long name":                   {files(`{"path":"/` + strings.Repeat("x", 256) + `","inode":2,"mode":"100644"}`), "the name is too long"},
		"no type":                       {files(`{"path":"/a","inode":2,"mode":"644"}`), "no such type"},
		"no mode":                       {files(`{"path":"/a","inode":2,"mode":"x"}`), "line 2"},
		"no file":                       {files(`{"path":"/a"}`), "nothing is said of the file"},
		"negative":                      {files(`{"path":"/a","inode":2,"mode":"100644","size":-1}`), "it is negative"},
		"a loop":                        {files(`{"path":"/a","inode":1,"mode":"40755"}`), "inode 1 is another file"},
		"another type":                  {files(`{"path":"/a","inode":2,"mode":"100644"}`, `{"path":"/b","inode":2,"mode":"120777"}`), "inode 2 is another file"},
		"no content":                    {files(`{"path":"/a","inode":2,"mode":"100644","content":true}`), "its content is missing"},
		"a link's content":              {append([]member{{name: "root/a", text: "x"}}, files(`{"path":"/a","inode":2,"mode":"120777","content":true}`)...), "its content is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, packed(t, c.members))
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "run.tar")
		})
	}
}

// TestCut opens recordings that end too early, at every block.
func TestCut(t *testing.T) {
	r, fs, name := recorder(t, "dir d 755\nfile d/a 644\nopen h d/a w\nwrite h 5000 text")
	vfstest.Run(fs, "ls d\nopen h d/a r\nstat nothing")
	require.NoError(t, r.Finish(nil))
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	end := bytes.LastIndexByte(b, '}') // behind it are zeros alone
	for n := 0; n < end; n += 256 {
		_, err := open(t, b[:n])
		require.Error(t, err, n)
		require.Regexp(t, "no recording|end is missing", err.Error(), n)
	}
	rec, err := open(t, b)
	require.NoError(t, err)
	require.NoError(t, rec.Close())
}

// FuzzOpen opens anything, and looks at all that is in it.
func FuzzOpen(f *testing.F) {
	r, fs, name := recorder(f, "dir d 755\nfile d/a 644\nopen h d/a w\nwrite h 0 text\nsym s d\nlink d/a b\nsetx d/a user.x 1 0")
	vfstest.Run(fs, "ls d\nopen h d/a r\nstat nothing\nreadlink s\nstat b\nlsx b")
	require.NoError(f, r.Finish(nil))
	b, err := os.ReadFile(name)
	require.NoError(f, err)
	f.Add(b)
	f.Add(packed(f, []member{{name: "root/a", text: "x"}, {name: "files.jsonl", text: goodRoot + `{"path":"/a","inode":2,"mode":"100644","size":1,"content":true}`}, {name: "manifest.json", text: goodManifest}}))
	name, _ = conversation(f, 0, 30)
	b, err = os.ReadFile(name)
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := record.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		fs, e := vfs.NewOverlay(vfs.MemOptions{Privileged: true}, rec.FS(user()))
		require.Zero(t, e)
		vfstest.Tree(fs)
		rec.Etc("passwd")
		converse(rec.Network(func() {}), 0, 30)
		rec.Stdin()
	})
}
