package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree makes files in a new directory, which it returns as it is without symbolic links.
func tree(t *testing.T, files ...string) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, f := range files {
		f = filepath.Join(dir, f)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, nil, 0o644))
	}
	return dir
}

// TestSourceNames names files of programs whose manifest lies in a directory of the repository, as it is in another
// clone.
func TestSourceNames(t *testing.T) {
	top := tree(t, ".git", "wordrep.c", "lib/hash.c", "bench/cgemu.toml", "bench/gen.c")
	require.NoError(t, os.Symlink(top, top+"-link"))
	t.Cleanup(func() { os.Remove(top + "-link") })
	for _, dir := range []string{top, top + "-link"} {
		m := &Manifest{Dir: filepath.Join(dir, "bench")}
		s := m.sourceNames(&Benchmark{}, nil, nil)
		for file, want := range map[string]string{
			dir + "/wordrep.c":             "../wordrep.c",
			dir + "/bench/../lib/hash.c":   "../lib/hash.c",
			dir + "/bench/gen.c":           "gen.c",
			dir + "/bench/made-and-gone.c": "made-and-gone.c",
			"gen.c":                        "gen.c",
			"lib/hash.c":                   "../lib/hash.c",
			"./string/strlen.c":            "./string/strlen.c",
			"/usr/include/x.h":             "/usr/include/x.h",
			"???":                          "???",
		} {
			require.Equal(t, want, s.name(file), file)
		}
	}
}

// TestSourceNamesIsolated has no repository: the directory that programs find at /work is the project.
func TestSourceNamesIsolated(t *testing.T) {
	top := tree(t, "proj/wordrep.c", "proj/bench/cgemu.toml")
	m := &Manifest{Dir: filepath.Join(top, "proj/bench")}
	b := &Benchmark{}
	require.Equal(t, top+"/proj/wordrep.c", m.sourceNames(b, nil, nil).name(top+"/proj/wordrep.c"))
	b.Isolate = ".."
	require.Equal(t, "../wordrep.c", m.sourceNames(b, nil, nil).name(top+"/proj/wordrep.c"))
	require.Equal(t, top+"/x.c", m.sourceNames(b, nil, nil).name(top+"/x.c"))
}

// TestSourceNamesElsewhere names files of a program that was built where they are not now.
func TestSourceNamesElsewhere(t *testing.T) {
	top := tree(t, ".git", "src/a.c", "src/b.c", "src/list.h", "bench/cgemu.toml")
	m := &Manifest{Dir: filepath.Join(top, "bench")}
	files := []string{"/build/p/src/a.c", "/build/p/src/b.c", "/usr/include/src/list.h", "/rustc/0/src/a.c", "./elf/rtld.c"}
	s := m.sourceNames(&Benchmark{}, nil, files)
	var got []string
	for _, f := range files {
		got = append(got, s.name(f))
	}
	require.Equal(t, []string{"../src/a.c", "../src/b.c", "/usr/include/src/list.h", "/rustc/0/src/a.c", "./elf/rtld.c"}, got)
	s = m.sourceNames(&Benchmark{}, nil, append(files, top+"/src/a.c")) // built here, and a library that has files of these names
	require.Equal(t, "/build/p/src/b.c", s.name("/build/p/src/b.c"))
}

// TestSourceNamesTrimpath names files of a Go program that was built with -trimpath: by its module, which this test
// binary is of.
func TestSourceNamesTrimpath(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	s := (&Manifest{Dir: "."}).sourceNames(&Benchmark{}, []string{self}, nil)
	for file, want := range map[string]string{
		"github.com/cgemu/cgemu/check/sources.go": "sources.go",
		"github.com/cgemu/cgemu/cgemu.go":         "../cgemu.go",
		"github.com/stretchr/testify@v1/x.go":     "./github.com/stretchr/testify@v1/x.go",
		"runtime/proc.go":                         "./runtime/proc.go",
	} {
		require.Equal(t, want, s.name(file), file)
	}
}
