package web

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate/cli"
)

const (
	oldProfile = "desc: d\ncmd: ./prog\nevents: Ir Dr\nfl=/src/proj/lib/a.c\nfn=f::h0123456789abcdef\n1 10 1\n2 20\nsummary: 30 1\n"
	newProfile = "desc: d\ncmd: ./prog\nevents: Ir Dr\nfl=/src/proj/lib/a.c\nfn=f::hfedcba9876543210\n1 10 1\n2 25\nfn=g\n0 3\nsummary: 38 1\n"
)

// at is when all files were written.
var at = time.Unix(1700000000, 0)

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), ModTime: at} }

var dropped = fstest.MapFS{"old.out": file(oldProfile), "new.out": file(newProfile), "bad.out": file("cmd: x\nevents: Ir Dr\nwhat\n")}

// job has the options that the commands begin with.
func job(format string, names ...string) *Job {
	j := &Job{Format: format, Threshold: 0.1, Context: 8}
	for _, name := range names {
		j.Profiles = append(j.Profiles, Profile{dropped, name})
	}
	return j
}

// TestCommands: what the page shows is what the commands write, byte for byte; the sources are beside the profiles in
// both.
func TestCommands(t *testing.T) {
	t.Chdir(t.TempDir()) // the commands call profiles as they are named
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(name, data, 0o600))
		require.NoError(t, os.Chtimes(name, at, at))
	}
	for name, f := range dropped {
		write(name, f.Data)
	}
	const source = "int f(int x) {\n  return x; }\n"
	require.NoError(t, os.MkdirAll("lib", 0o755))
	write(filepath.Join("lib", "a.c"), []byte(source))
	command := func(f func(string, []string, io.Writer, io.Writer) int, args ...string) string {
		var stdout, stderr strings.Builder
		require.Zero(t, f("cgemu", args, &stdout, &stderr), stderr.String())
		return stdout.String()
	}
	both := []string{"old.out", "new.out"}
	with := func(options ...string) []string {
		return append(append([]string{"--include=lib", "--include=."}, options...), both...)
	}
	for _, tt := range []struct {
		name, format string
		diff, strip  bool
		want         string
	}{
		{"a page", FormatPage, false, false, command(cli.Annotate, with("--html")...)},
		{"a page of a difference", FormatPage, true, false, command(cli.Diff, with("--html")...)},
		{"table", FormatTable, true, false, command(cli.Diff, with("--table")...)},
		{"table without hashes", FormatTable, true, true, command(cli.Diff, with("--table", "--strip-hash")...)},
		{"markdown", FormatMarkdown, true, false, command(cli.Diff, with("--format=markdown")...)},
		{"JSON", FormatJSON, false, false, command(cli.Annotate, with("--format=json")...)},
		{"CSV", FormatCSV, true, true, command(cli.Diff, with("--format=csv", "--strip-hash")...)},
		{"sum", FormatProfile, false, false, command(cli.Merge, both...)},
		{"difference", FormatProfile, true, false, command(cli.Diff, both...)},
		{"difference without hashes", FormatProfile, true, true, command(cli.Diff, append([]string{"--strip-hash"}, both...)...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := job(tt.format, both...)
			j.Diff, j.StripHash = tt.diff, tt.strip
			j.Sources = []Source{{FS: fstest.MapFS{"lib/a.c": file(source)}, Folder: "lib"}}
			var out bytes.Buffer
			s, err := j.Run(&out)
			require.NoError(t, err)
			require.NotEmpty(t, tt.want)
			// JSON names the file that was read: here the Source comes first.
			// A page names the directories that were looked through.
			want := strings.NewReplacer(`"path": "lib/a.c"`, `"path": "0/lib/a.c"`, `"dirs":["lib","."]`, `"dirs":[]`).Replace(tt.want)
			require.Equal(t, want, out.String())
			if tt.format != FormatProfile {
				require.Equal(t, Summary{Files: 1, Read: 1}, s)
			}
		})
	}
	// The texts of old say how they were called.
	for _, diff := range []bool{false, true} {
		args := with()
		if diff {
			args = append([]string{"--diff"}, both...)
		}
		_, want, _ := strings.Cut(command(cli.Annotate, args...), "\n"+"Command")
		j := job(FormatText, both...)
		if j.Diff = diff; !diff {
			j.Sources = []Source{{FS: fstest.MapFS{"lib/a.c": file(source)}, Folder: "lib"}}
		}
		var out bytes.Buffer
		_, err := j.Run(&out)
		require.NoError(t, err)
		_, got, _ := strings.Cut(out.String(), "\n"+"Command")
		require.Equal(t, want, got)
	}
}

// TestSides: sources of one side of a comparison are not those of the other, and the first of several that fit is
// taken.
func TestSides(t *testing.T) {
	j := job(FormatJSON, "old.out", "new.out")
	j.Diff = true
	j.Sources = []Source{
		{FS: fstest.MapFS{"a.c": file("new\n")}, Side: NewSide},
		{FS: fstest.MapFS{"a.c": file("old\n")}, Side: OldSide},
		{FS: fstest.MapFS{"proj/lib/a.c": file("both\n")}, Folder: "proj"},
	}
	run := func() string {
		var out bytes.Buffer
		_, err := j.Run(&out)
		require.NoError(t, err)
		return out.String()
	}
	text := run()
	require.Contains(t, text, `"0/a.c"`)
	require.NotContains(t, text, `"2/proj/lib/a.c"`)
	j.Sources = j.Sources[2:]
	require.Contains(t, run(), `"0/proj/lib/a.c"`)
	j.Sources[0].Folder = "" // whose name does not matter then: the name in the profile has it, too
	require.Contains(t, run(), `"0/proj/lib/a.c"`)
	j.Sources[0].FS = fstest.MapFS{"other/a.c": file("")}
	j.Sources[0].Folder = "other"
	require.Contains(t, run(), `"0/other/a.c"`)
	j.Sources[0].FS = fstest.MapFS{"other/deep/a.c": file("")}
	require.NotContains(t, run(), `"source": "read"`)
}

// TestNames: two files of one name are told apart.
func TestNames(t *testing.T) {
	j := job(FormatProfile, "old.out")
	j.Profiles = append(j.Profiles, Profile{fstest.MapFS{"old.out": file("cmd: x\nevents: Ir Dr\nwhat\n")}, "old.out"})
	_, err := j.Run(io.Discard)
	require.EqualError(t, err, "2/old.out:3: malformed line: what")
	j.Format = FormatPage
	_, err = j.Run(io.Discard)
	require.EqualError(t, err, "2/old.out:3: malformed line: what")
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		job  *Job
		want string
	}{
		{job(FormatPage), "no profile"},
		{job(FormatPage, "bad.out"), "bad.out:3: malformed line: what"},
		{job(FormatText, "old.out", "bad.out"), "bad.out:3: malformed line: what"},
		{job(FormatProfile, "old.out", "bad.out"), "bad.out:3: malformed line: what"},
		{job("else", "old.out"), `there is no format "else"`},
		{job(FormatPage, "none"), "open none: file does not exist"},
		{job(FormatProfile, "none"), "open none: file does not exist"},
		{&Job{Format: FormatPage, Threshold: -1, Profiles: job("", "old.out").Profiles}, "annotate: -1 is no percentage"},
		{&Job{Format: FormatPage, Diff: true, Profiles: job("", "old.out").Profiles}, "two profiles can be compared, not 1"},
	} {
		_, err := tt.job.Run(io.Discard)
		require.EqualError(t, err, tt.want)
	}
	require.Equal(t, "a\\x1b\nb\\x07", Message(errors.New("a\x1b\nb\x07")))
}

// TestSourceFS: names that lead out of a directory lead nowhere.
func TestSourceFS(t *testing.T) {
	files := sourceFS{{FS: fstest.MapFS{"a": file("x")}}}
	for _, name := range []string{"", "0", "1/a", "-1/a", "x/a", "0/../a", "0//a", "0/b"} {
		_, err := files.Open(name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		_, err = files.Stat(name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
	info, err := files.Stat("0/a")
	require.NoError(t, err)
	require.EqualValues(t, 1, info.Size())
}
