//go:build oracles

package dwarfmap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOracleDebugFiles moves debug information into a separate file, in all the
// places where it may be, and compares with Valgrind.
func TestOracleDebugFiles(t *testing.T) {
	for _, tt := range []struct {
		name   string
		flags  string
		place  string // of the debug file, from the program's directory; ID is the build-id
		link   bool   // add a .gnu_debuglink
		extra  bool   // the place is below an extra directory
		broken bool   // the checksum is wrong
	}{
		{name: "beside", flags: "-Wl,--build-id=none", place: "prog.debug", link: true},
		{name: "in .debug", flags: "-Wl,--build-id=none", place: ".debug/prog.debug", link: true},
		{name: "wrong checksum", flags: "-Wl,--build-id=none", place: "prog.debug", link: true, broken: true},
		{name: "link and build-id", flags: "-Wl,--build-id", place: "prog.debug", link: true},
		{name: "below an extra directory", flags: "-Wl,--build-id=none", place: "extra/DIR/prog.debug", link: true, extra: true},
		{name: "compressed", flags: "-Wl,--build-id=none -gz", place: "prog.debug", link: true},
		{name: "nowhere", flags: "-Wl,--build-id", place: "elsewhere.debug"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := sources(t)
			place := filepath.Join(dir, strings.ReplaceAll(tt.place, "DIR", dir))
			require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o777))
			args := append(strings.Fields(tt.flags), "-g", "-O2", "-static", "-o", "prog", "one.c", "sub/two.c", "three.S", "-Iinc")
			tool(t, dir, "gcc", args...)
			tool(t, dir, "objcopy", "--only-keep-debug", "prog", "prog.debug")
			tool(t, dir, "strip", "prog")
			if tt.link {
				tool(t, dir, "objcopy", "--add-gnu-debuglink=prog.debug", "prog")
			}
			require.NoError(t, os.Rename(filepath.Join(dir, "prog.debug"), place))
			if tt.broken {
				f, err := os.OpenFile(place, os.O_APPEND|os.O_WRONLY, 0)
				require.NoError(t, err)
				_, err = f.WriteString("x")
				require.NoError(t, err)
				require.NoError(t, f.Close())
			}
			opts := defaults
			command := []string{"./prog"}
			if tt.extra {
				opts.ExtraDebugPaths = []string{filepath.Join(dir, "extra")}
				command = []string{"--extra-debuginfo-path=" + opts.ExtraDebugPaths[0], "./prog"}
			}
			check(t, dir, opts, command...)

			// Valgrind and we may agree in finding nothing: look.
			o, err := Open(filepath.Join(dir, "prog"), opts)
			require.NoError(t, err)
			defer o.Close()
			lines := 0
			for addr := o.text.lo; addr < o.text.hi; addr++ {
				if strings.HasSuffix(o.Lookup(addr).File, "one.c") {
					lines++
				}
			}
			require.Equal(t, tt.broken || tt.name == "nowhere", lines == 0)
		})
	}
}

// TestBuildIDPath looks for a debug file by build-id below an extra directory,
// which Valgrind does not do.
func TestBuildIDPath(t *testing.T) {
	dir := sources(t)
	tool(t, dir, "gcc", "-g", "-Wl,--build-id=0xabcdef12", "-o", "prog", "-DMAIN", "sub/two.c")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "extra/.build-id/ab"), 0o777))
	tool(t, dir, "objcopy", "--only-keep-debug", "prog", "extra/.build-id/ab/cdef12.debug")
	tool(t, dir, "strip", "prog")
	o, err := Open(filepath.Join(dir, "prog"), Options{ExtraDebugPaths: []string{"/none", filepath.Join(dir, "extra")}})
	require.NoError(t, err)
	defer o.Close()
	found := map[string]bool{}
	for addr := o.text.lo; addr < o.text.hi; addr++ {
		found[o.Lookup(addr).Func] = true
	}
	require.True(t, found["two"] && found["main"], found)
}

// TestCompressed compares sections compressed in every way with plain ones.
func TestCompressed(t *testing.T) {
	dir := sources(t)
	tool(t, dir, "gcc", "-g", "-O2", "-o", "plain", "one.c", "sub/two.c", "three.S", "-Iinc")
	plain, err := Open(filepath.Join(dir, "plain"), defaults)
	require.NoError(t, err)
	defer plain.Close()
	for _, how := range []string{"zlib", "zlib-gnu", "zstd"} {
		tool(t, dir, "objcopy", "--compress-debug-sections="+how, "plain", how)
		o, err := Open(filepath.Join(dir, how), defaults)
		require.NoError(t, err)
		lines := 0
		for addr := o.text.lo; addr < o.text.hi; addr++ {
			loc := o.Lookup(addr)
			require.Equal(t, plain.Lookup(addr), loc, how)
			if loc.Line != 0 {
				lines++
			}
		}
		require.Greater(t, lines, 100)
		require.NoError(t, o.Err())
		require.NoError(t, o.Close())
	}
}

// TestCompilationDirs checks what path relies on: that the first directory of a
// version 5 line table is the compilation directory of .debug_info.
func TestCompilationDirs(t *testing.T) {
	dir := sources(t)
	tool(t, dir, "gcc", "-gdwarf-5", "-o", "prog", "one.c", "sub/two.c", "three.S", "-Iinc")
	tool(t, dir, "go", "build", "-o", "prog-go", "main.go")
	tool(t, dir, "rustc", "-g", "-o", "prog-rust", "main.rs")
	files, err := filepath.Glob("/usr/lib/debug/.build-id/*/*.debug")
	require.NoError(t, err)
	units := 0
	for _, file := range append(files, dir+"/prog", dir+"/prog-go", dir+"/prog-rust") {
		o, err := Open(file, Options{})
		require.NoError(t, err)
		defer o.Close()
		if o.lines = (&lineTable{}); o.image(".debug_info", ".debug_line") == nil {
			continue
		}
		require.NoError(t, o.loadLines())
		for _, u := range o.lines.units {
			if want, ok := o.lines.dirs()[u.off]; ok && u.version >= 5 {
				u.readFiles(o.lines.form, newAllowance())
				require.Equal(t, string(want), string(u.compDir), "%s, line table at %#x", file, u.off)
				units++
			}
		}
	}
	require.Greater(t, units, 3)
}
