package dwarfmap

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packaged copies a split program of testdata and a package to a directory, and returns the program's name there.
func packaged(t *testing.T, prog, pack string) string {
	dir := t.TempDir()
	for from, to := range map[string]string{prog: "prog", pack: "prog.dwp"} {
		b, err := os.ReadFile("testdata/bin/" + from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path.Join(dir, to), b, 0o644))
	}
	return path.Join(dir, "prog")
}

// TestInlined looks up every address of programs in DWARF 2, 4 and 5 that are one source, two of them split, three with
// a package of that and another unit (by dwp and by llvm-dwp), and two that dwz -m has worked on: what is inlined into
// what, and where it is called. llvm-symbolizer says the same (TestOracleInlined).
func TestInlined(t *testing.T) {
	for _, version := range []string{"2", "4", "5", "4s", "5s", "4p", "4l", "5l", "4z", "5z"} {
		name := "testdata/bin/inline" + version
		if strings.ContainsAny(version, "pl") {
			name = packaged(t, "inline"+version[:1]+"s", "inline"+version+".dwp")
		}
		o, err := Open(name, Options{})
		require.NoError(t, err)
		found := map[string]bool{}
		entries := map[uint64]string{}
		for addr := o.text.lo; addr < o.text.hi; addr++ {
			var chain []string
			in := o.Inlined(addr)
			for _, in := range o.Entered(addr) {
				entries[addr] += in.Func + " "
			}
			for ; in != nil; in = in.Outer {
				require.Equal(t, "/v/inline.c", path.Clean(in.File))
				require.Equal(t, "/v/inline.c", path.Clean(in.CallFile))
				chain = append(chain, fmt.Sprintf("%s:%d called at %d", in.Func, in.Line, in.CallLine))
			}
			found[strings.Join(append(chain, o.Lookup(addr).Func), ", ")] = true
		}
		var symbols []string
		o.InlinedSymbols(func(symbol string) bool {
			symbols = append(symbols, symbol)
			return len(symbols) < 2
		})
		require.Equal(t, []string{"count", "four"}, symbols, version)
		require.NoError(t, o.Err())
		require.NoError(t, o.Close())
		var got []string
		for chain := range found {
			got = append(got, chain)
		}
		slices.Sort(got)
		require.Equal(t, []string{
			"(below main)",
			"???",
			"count:15 called at 23, plain",
			"count:15 called at 29, (below main)",
			"four:6 called at 18, count:15 called at 23, plain",
			"four:6 called at 18, count:15 called at 23, plain.cold",
			"plain",
			"twice:4 called at 12, four:6 called at 18, count:15 called at 23, plain",
			"twice:4 called at 12, four:6 called at 18, count:15 called at 29, (below main)",
			"twice:4 called at 24, plain",
		}, got, version)
		require.Equal(t, map[uint64]string{
			0x401010: "count ", 0x40101f: "four ", 0x40103e: "twice ", 0x401054: "twice ", 0x401060: "count ", 0x40106e: "four twice ",
		}, entries, version)
	}
}

// TestSplitBroken has the file with the rest of a unit missing, or of another build, and likewise the file that dwz
// made.
func TestSplitBroken(t *testing.T) {
	dir := t.TempDir()
	copied := func(from, to string, change func(b []byte)) {
		b, err := os.ReadFile("testdata/bin/" + from)
		require.NoError(t, err)
		change(b)
		require.NoError(t, os.WriteFile(path.Join(dir, to), b, 0o644))
	}
	ask := func() string {
		o := openPath(t, path.Join(dir, "inline5s"))
		require.Nil(t, o.Inlined(o.text.lo+0x54))
		o.InlinedSymbols(func(string) bool { return true })
		require.Error(t, o.Err())
		return o.Err().Error()
	}
	copied("inline5s", "inline5s", func([]byte) {})
	require.Contains(t, ask(), "inlined functions are unknown: ")
	require.Contains(t, ask(), "inline5s-inline.dwo: no such file")
	const rest = "inline5s-inline.dwo"
	copied("inline4s-inline.dwo", rest, func([]byte) {})
	require.Contains(t, ask(), "inlined functions are unknown: ")
	copied(rest, rest, func(b []byte) { b[0x40+12] ^= 1 }) // the identifier in the header of the unit
	require.Contains(t, ask(), "it is of another build")
	copied("inline5z", "inline5s", func([]byte) {})
	require.Contains(t, ask(), "some inlined functions are unknown: "+dir+"/inline5.dwz: there is no such file with the build-id ")
	copied("inline4.dwz", "inline5.dwz", func([]byte) {})
	require.Contains(t, ask(), "some inlined functions are unknown: "+dir+"/inline5.dwz: there is no such file with the build-id ")
	copied("inline5s", "inline5s", func([]byte) {})
	copied(rest, rest, func(b []byte) { copy(b, "no ELF file") })
	require.Contains(t, ask(), "inlined functions are unknown: ")
}

// FuzzInlined has sections of debug information of all kinds.
func FuzzInlined(f *testing.F) {
	for _, version := range []string{"2", "4", "5"} {
		data, err := os.ReadFile("testdata/bin/inline" + version)
		if err != nil {
			f.Fatal(err)
		}
		m := openELF(f, data).main
		var seed [][]byte
		for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_ranges", ".debug_rnglists", ".debug_line"} {
			section, err := m.data(name)
			if err != nil {
				f.Fatal(err)
			}
			seed = append(seed, section)
		}
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], []byte("a\x00bc\x00"))
	}
	f.Fuzz(func(t *testing.T, info, abbrev, ranges, rnglists, line, tables []byte) {
		o := openELF(t, makeELF(t, 0x1000,
			elfSection{name: ".debug_line", data: line}, elfSection{name: ".debug_info", data: info}, elfSection{name: ".debug_abbrev", data: abbrev},
			elfSection{name: ".debug_ranges", data: ranges}, elfSection{name: ".debug_rnglists", data: rnglists}, elfSection{name: ".debug_str", data: tables},
			elfSection{name: ".debug_addr", data: tables}, elfSection{name: ".debug_str_offsets", data: tables}))
		for a := range uint64(0x200) {
			n := 0
			for in := o.Inlined(textAt + a); in != nil; in = in.Outer {
				n++
			}
			require.LessOrEqual(t, n, min(len(info), maxInlineDepth))
		}
		o.InlinedSymbols(func(symbol string) bool {
			require.NotEmpty(t, symbol)
			return true
		})
		require.GreaterOrEqual(t, o.room.left, int64(0))
		if o.info != nil {
			require.GreaterOrEqual(t, o.info.effort, -1<<16-16*len(info))
		}
	})
}
