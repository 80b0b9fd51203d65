package annotate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runTool runs a command and returns its status and what it wrote.
func runTool(command func(string, []string, *bytes.Buffer, *bytes.Buffer) int, args ...string) (int, string, string) {
	var stdout, stderr bytes.Buffer
	status := command("x", args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func annotates(name string, args []string, stdout, stderr *bytes.Buffer) int {
	return Annotate(name, args, stdout, stderr)
}

func merges(name string, args []string, stdout, stderr *bytes.Buffer) int {
	return Merge(name, args, stdout, stderr)
}

// sourceProfile writes a profile of one line in each of some sources.
func sourceProfile(t *testing.T, sources ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("cmd: x\nevents: Ir\n")
	for _, s := range sources {
		fmt.Fprintf(&b, "fl=%s\nfn=f\n1 1\n", s)
	}
	fmt.Fprintf(&b, "summary: %d\n", len(sources))
	name := filepath.Join(t.TempDir(), "p")
	require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o600))
	return name
}

// TestSourcesWithoutEnd has sources that are no sources. A file of /proc that waits for what the kernel says would be read for
// ever; that it is not read at all shows one that can be.
func TestSourcesWithoutEnd(t *testing.T) {
	for _, source := range []string{"/dev/zero", "/proc/self/limits"} {
		if _, err := os.Stat(source); err != nil {
			t.Skip(err)
		}
		for _, format := range []string{"text", "json"} {
			status, out, msg := runTool(annotates, "--format="+format, sourceProfile(t, source))
			require.Zero(t, status, msg)
			require.NotContains(t, out, "Max cpu time")
		}
	}
}

// TestLargeSources has sources that are larger than any, one by one and together. (They have no blocks on the disk.)
func TestLargeSources(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int64, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Truncate(path, size))
		return path
	}
	large := file("large.c", maxSource, "")
	var r sourceReader
	_, _, err := r.sources(finder{}, []string{file("larger.c", maxSource+1, "")})
	require.ErrorIs(t, err, errTooMuch)
	_, _, err = r.sources(finder{}, []string{file("lines.c", maxSourceLines+1, strings.Repeat("\n", maxSourceLines+1))})
	require.ErrorIs(t, err, errTooMuch)
	r = maxSources - maxSource - 2
	for _, want := range []error{nil, errTooMuch} {
		_, _, err = r.sources(finder{}, []string{large})
		require.ErrorIs(t, err, want)
	}
	require.EqualValues(t, maxSources-2, r)
	_, out, _ := runTool(annotates, sourceProfile(t, filepath.Join(dir, "larger.c")))
	require.Contains(t, out, "Unannotated because these original files have more than 64 MiB or 4194304 lines, or those read before have 512 MiB:")
}

// TestSameSources has several originals of one file.
func TestSameSources(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "same\n", "b": "same\n", "c": "else\n", "d": "longer\n", "e": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, tt := range []struct {
		names string
		text  string
		err   error
	}{
		{"a", "same\n", nil}, {"a b", "same\n", nil}, {"a a b", "same\n", nil}, {"e", "", nil}, {"e e", "", nil},
		{"a c", "", errDifferent}, {"a d", "", errDifferent}, {". e", "", errDifferent}, {"e .", "", errDifferent},
		{". none", "", os.ErrNotExist}, {"a none", "", os.ErrNotExist},
	} {
		var names []string
		for _, name := range strings.Fields(tt.names) {
			names = append(names, filepath.Join(dir, name))
		}
		text, _, err := new(sourceReader).sources(finder{}, names)
		require.ErrorIs(t, err, tt.err, tt.names)
		if err == nil {
			require.Equal(t, tt.text, string(text), tt.names)
		}
	}
}

// TestManyRenames has files that all may be one another under other names.
func TestManyRenames(t *testing.T) {
	trees := func(files, functions int) (old, new *tree) {
		old, new = &tree{files: map[string]*treeFile{}}, &tree{files: map[string]*treeFile{}}
		for i := range files {
			for name, t := range map[string]*tree{"old": old, "new": new} {
				f := &treeFile{name: fmt.Sprintf("%s/%d/f.c", name, i), fns: map[string]*treeFunc{}}
				for k := range functions {
					f.fns[fmt.Sprint("f", k, ".cold.", i)] = &treeFunc{}
				}
				t.files[f.name] = f
			}
		}
		return old, new
	}
	old, new := trees(100, 5)
	renamed := renames(old, new)
	require.Len(t, renamed, 100)
	for i := range 100 {
		require.Equal(t, fmt.Sprintf("old/%d/f.c", i), renamed[fmt.Sprintf("new/%d/f.c", i)])
	}
	old, new = trees(3000, 1)
	require.Empty(t, renames(old, new), "nine million pairs")

	// One file with many functions, and many with one.
	left := maxComparisons
	one, _ := trees(1, 200_000)
	many, _ := trees(10_000, 1)
	keys := functionKeys{}
	for _, f := range many.files {
		require.Equal(t, 1, keys.shared(one.files["old/0/f.c"], f, &left))
		require.Equal(t, 1, keys.shared(f, one.files["old/0/f.c"], &left))
	}
	require.Equal(t, maxComparisons-2*2*10_000, left)
}

// TestOldFileStays has outputs that fail half way.
func TestOldFileStays(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(out, []byte("old"), 0o640))
	profile := sourceProfile(t, "none.c")
	for _, run := range []func() (int, string, string){
		func() (int, string, string) { return runTool(merges, "-o", out, profile, profile) },
		func() (int, string, string) { return runTool(annotates, "--html="+out, profile) },
	} {
		require.NoError(t, os.Chmod(dir, 0o700))
		before, err := os.Stat(out)
		require.NoError(t, err)
		status, _, msg := run()
		require.Zero(t, status, msg)
		after, err := os.Stat(out)
		require.NoError(t, err)
		require.False(t, os.SameFile(before, after), "written beside")
		require.Equal(t, os.FileMode(0o640), after.Mode().Perm())
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, list, 1)
	}
	status, _, msg := runTool(merges, "-o", filepath.Join(dir, "no", "out"), profile)
	require.Equal(t, 1, status)
	require.Equal(t, "x: error: [Errno 2] No such file or directory: '"+filepath.Join(dir, "no", "out")+"'\n", msg)
	if _, err := os.Stat("/dev/full"); err == nil {
		status, _, msg = runTool(annotates, "--html=/dev/full", profile)
		require.Equal(t, 1, status)
		require.Equal(t, "x: error: [Errno 28] No space left on device: '/dev/full'\n", msg)
	}
}
