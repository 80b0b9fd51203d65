package annotate

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// sourceOf makes a report of a profile with one file, and returns that file.
func sourceOf(t *testing.T, o Options, file string) *ReportFile {
	p := cgout.New("Ir")
	p.Add(file, "f", 1, 1)
	o.Sources = true
	r, err := New(o, Memory("p", p))
	require.NoError(t, err)
	require.Len(t, r.Files, 1)
	return r.Files[0]
}

// TestFiles has sources in a file system of the caller's, and the host's out of reach.
func TestFiles(t *testing.T) {
	files := fstest.MapFS{"src/a.c": text("one\n"), "repo/lib/b.c": text("two\n"), "dir/c.c/x": text("")}
	o := Options{Files: files, Finder: Finder{Dirs: []string{"repo"}, Maps: []SourceMap{{"/old", "/src"}}}}
	for name, want := range map[string]string{
		"/src/a.c": "one", "src/a.c": "one", "/src/../src//a.c": "one", "/old/a.c": "one",
		"/build/7/lib/b.c": "two", "lib/b.c": "two", "../../src/a.c": "one",
		"/dir/c.c": "", "/none.c": "", "b.c": "", "x\x00y": "",
	} {
		f := sourceOf(t, o, name)
		if want == "" {
			require.Equal(t, SourceUnreadable, f.Source, name)
			continue
		}
		require.Equal(t, SourceRead, f.Source, name)
		require.Equal(t, []string{want}, f.Text, name)
	}
	host := filepath.Join(t.TempDir(), "host.c")
	require.NoError(t, os.WriteFile(host, []byte("host\n"), 0o600))
	require.Equal(t, SourceRead, sourceOf(t, Options{}, host).Source)
	require.Equal(t, SourceUnreadable, sourceOf(t, o, host).Source)
	var out bytes.Buffer
	p := cgout.New("Ir")
	p.Add("/src/a.c", "f", 1, 1)
	o.Sources = true
	require.NoError(t, WriteText(&out, o, Memory("p", p)))
	require.Contains(t, out.String(), " 1  one\n")
}

// TestFilesCompared has an old and a new source in one file system.
func TestFilesCompared(t *testing.T) {
	p := cgout.New("Ir")
	p.Add("a.c", "f", 2, 7)
	files := fstest.MapFS{"old/a.c": text("one\ntwo\n"), "new/a.c": text("zero\ntwo\n")}
	o := Options{Files: files, Sources: true, MinDelta: &MinDelta{}, OldFinder: Finder{Dirs: []string{"old"}}, NewFinder: Finder{Dirs: []string{"new"}}}
	r, err := Compare(o, Memory("p", p), Memory("q", p))
	require.NoError(t, err)
	require.Equal(t, []string{"zero", "two"}, r.Files[0].Text)
	require.Equal(t, []string{"one", "two"}, r.Files[0].OldText)
	require.Equal(t, "new/a.c", r.Files[0].Path)
}

// TestFileIn has a profile in a file system: it is read as one on the host is, with the same errors.
func TestFileIn(t *testing.T) {
	const profile = "cmd: x\nevents: Ir Dr\nfl=a.c\nfn=f\n1 10 5\nfn=g\n2 30 0\nsummary: 40 5\n"
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	files := fstest.MapFS{
		"p": {Data: []byte(profile), ModTime: early}, "a.c": {Data: []byte("f\ng\n"), ModTime: late},
		"p.insns": text("insns: 2\ncounts: Ir Dr\nob=/bin/a\nfl=a.c\nfn=f\n1000 1 90 10 5 nop\n"),
		"bad":     text("cmd: x\nevents: Ir\nwhat\n"),
	}
	dir := t.TempDir()
	for name, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), f.Data, 0o600))
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), f.ModTime, f.ModTime))
	}
	o := Defaults()
	o.Files = files
	r, err := New(o, FileIn(files, "p"))
	require.NoError(t, err)
	require.Equal(t, []string{"p"}, r.Files[0].Newer)
	host, err := New(Defaults(), File(filepath.Join(dir, "p")))
	require.NoError(t, err)
	require.Equal(t, host.Functions[0].Counts, r.Functions[0].Counts)
	var asm bytes.Buffer
	require.NoError(t, r.WriteAsm(&asm))
	require.Contains(t, asm.String(), "nop")

	_, err = New(o, FileIn(files, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = New(o, FileIn(files, "bad"))
	require.EqualError(t, err, "bad:3: malformed line: what")
	_, hostErr := New(o, File(filepath.Join(dir, "bad")))
	require.EqualError(t, hostErr, dir+string(filepath.Separator)+err.Error())
}

// TestFilesShared has two names of one file in file systems that Go cannot compare: it is read, once.
func TestFilesShared(t *testing.T) {
	files := fstest.MapFS{"src/a.c": text("one\n")}
	p := cgout.New("Ir")
	p.Add("/x/src/a.c", "f", 1, 1)
	p.Add("/y/src/a.c", "f", 1, 1)
	rename := func(string) (string, error) { return "a.c", nil }
	for name, o := range map[string]Options{
		"Files":  {Files: files, Finder: Finder{Maps: []SourceMap{{"/x", ""}, {"/y", ""}}}},
		"Images": {Finder: Finder{Images: []fs.FS{fstest.MapFS{"x/src/a.c": text("one\n"), "y/src/a.c": text("one\n")}}}},
	} {
		o.Sources, o.RenameFile = true, rename
		r, err := New(o, Memory("p", p))
		require.NoError(t, err, name)
		require.Equal(t, []string{"one"}, r.Files[0].Text, name)
	}
	o := Options{Sources: true, RenameFile: rename, Finder: Finder{Images: []fs.FS{files}}}
	p = cgout.New("Ir")
	p.Add("/src/a.c", "f", 1, 1)
	p.Add("//src/a.c", "f", 1, 1)
	r, err := New(o, Memory("p", p))
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, r.Files[0].Text)
}

// TestTopLines has the hottest line in a function that is none of the first: its source is read, too.
func TestTopLines(t *testing.T) {
	p := cgout.New("Ir")
	for line := 1; line <= 3; line++ {
		p.Add("a.c", "f", line, 40)
	}
	p.Add("b.c", "g", 1, 100)
	o := Defaults()
	o.Top = 1
	o.Files = fstest.MapFS{"a.c": text("one\ntwo\nthree\n"), "b.c": text("hot\n")}
	r, err := New(o, Memory("p", p))
	require.NoError(t, err)
	require.Len(t, r.Functions, 1)
	require.Len(t, r.Files, 1)
	var out bytes.Buffer
	require.NoError(t, r.WriteMarkdown(&out))
	require.Contains(t, out.String(), "| `b.c:1` | `hot` |")
}
