package annotate

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

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
	r := sourceReader{files: hostFiles{}}
	_, _, err := r.sources(Finder{}, []string{file("larger.c", maxSource+1, "")})
	require.ErrorIs(t, err, errTooMuch)
	_, _, err = r.sources(Finder{}, []string{file("lines.c", maxSourceLines+1, strings.Repeat("\n", maxSourceLines+1))})
	require.ErrorIs(t, err, errTooMuch)
	r.bytes = maxSources - maxSource - 2
	for _, want := range []error{nil, errTooMuch} {
		_, _, err = r.sources(Finder{}, []string{large})
		require.ErrorIs(t, err, want)
	}
	require.EqualValues(t, maxSources-2, r.bytes)
	var out bytes.Buffer
	p := cgout.New("Ir")
	p.Add(filepath.Join(dir, "larger.c"), "f", 1, 1)
	require.NoError(t, WriteText(&out, Defaults(), Memory("p", p)))
	require.Contains(t, out.String(), "Unannotated because these original files have more than 64 MiB or 4194304 lines, or those read before have 512 MiB:")
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
		text, _, err := (&sourceReader{files: hostFiles{}}).sources(Finder{}, names)
		require.ErrorIs(t, err, tt.err, tt.names)
		if err == nil {
			require.Equal(t, tt.text, string(text), tt.names)
		}
	}
	// In file systems that cannot be compared, and in images.
	one, two := fstest.MapFS{"d/a": {Data: []byte("same\n")}}, fstest.MapFS{"x/a": {Data: []byte("same\n")}, "y/a": {Data: []byte("else\n")}}
	r := sourceReader{files: rootedFiles{one}}
	text, _, err := r.sources(Finder{Dirs: []string{"d"}}, []string{"x/a", "y/a"})
	require.NoError(t, err)
	require.Equal(t, "same\n", string(text))
	_, _, err = r.sources(Finder{Images: []fs.FS{two}}, []string{"x/a", "/x/a"})
	require.NoError(t, err)
	_, _, err = r.sources(Finder{Images: []fs.FS{two}}, []string{"x/a", "y/a"})
	require.ErrorIs(t, err, errDifferent)
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
