package dwarfmap

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVectors looks up every address of programs whose profiles Valgrind wrote.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("testdata/bin/*.out")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		o, err := Open(strings.TrimSuffix(file, ".out"), Options{Demangle: true})
		require.NoError(t, err)
		got := map[Loc]int{}
		for addr := o.text.lo - 16; addr < o.text.hi+16; addr++ {
			got[o.Lookup(addr)]++
		}
		require.NoError(t, o.Err())
		require.NoError(t, o.Close())
		delete(got, Loc{Unknown, Unknown, 0})

		data, err := os.ReadFile(file)
		require.NoError(t, err)
		want := map[Loc]bool{}
		var loc Loc
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if rest, ok := strings.CutPrefix(line, "fl="); ok {
				loc.File = rest
			} else if rest, ok := strings.CutPrefix(line, "fn="); ok {
				loc.Func = rest
			} else if line[0] >= '0' && line[0] <= '9' {
				loc.Line, err = strconv.Atoi(strings.Fields(line)[0])
				require.NoError(t, err)
				want[loc] = true
			}
		}
		for loc := range want {
			require.Contains(t, got, loc, file)
		}
	}
}

func TestNames(t *testing.T) {
	o, err := Open("testdata/bin/t42_loc", Options{ShowBelowMain: true, FullpathAfter: []string{"/nowhere/", "/v/"}})
	require.NoError(t, err)
	defer o.Close()
	start := o.main.elf.Entry
	require.Equal(t, Loc{"one.c", "_start", 10}, o.Lookup(start))
	require.Equal(t, Loc{"inc/two.h", "_start", 5}, o.Lookup(start+1))
	require.Equal(t, Loc{Unknown, Unknown, 0}, o.Lookup(0))
	require.Equal(t, Loc{Unknown, Unknown, 0}, o.Lookup(^uint64(0)))

	for _, p := range o.main.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Filesz > 0 {
			addr, ok := o.VAddr(p.Off + p.Filesz - 1)
			require.True(t, ok)
			require.Equal(t, p.Vaddr+p.Filesz-1, addr)
		}
	}
	_, ok := o.VAddr(1 << 40)
	require.False(t, ok)
}

func TestOpenErrors(t *testing.T) {
	_, err := Open("testdata/none", Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open("dwarfmap.go", Options{})
	require.ErrorContains(t, err, "dwarfmap: dwarfmap.go: bad magic number")
	data, err := os.ReadFile("testdata/bin/t36_funcs")
	require.NoError(t, err)
	data[elf.EI_CLASS] = byte(elf.ELFCLASS32)
	_, err = New(bytes.NewReader(data), "x", Options{})
	require.Error(t, err)
}

// Without section headers nothing is known, and nothing is wrong.
func TestNoSections(t *testing.T) {
	data, err := os.ReadFile("testdata/bin/t36_funcs")
	require.NoError(t, err)
	for _, field := range []int{0x28, 0x3c, 0x3e} { // e_shoff, e_shnum, e_shstrndx
		size := 2
		if field == 0x28 {
			size = 8
		}
		clear(data[field : field+size])
	}
	o, err := New(bytes.NewReader(data), "x", Options{})
	require.NoError(t, err)
	require.Equal(t, Loc{Unknown, Unknown, 0}, o.Lookup(o.main.elf.Entry))
	require.NoError(t, o.Err())
}

// TestSymbols builds tables of symbols and checks who gets which byte.
func TestSymbols(t *testing.T) {
	for _, tt := range []struct {
		note string
		syms string // name:start-end …
		want string // a letter for each byte from 0
	}{
		{"apart", "a:0-2 b:3-5", "aa.bb"},
		{"later one cuts the earlier", "a:0-4 b:2-6", "aabbbb"},
		{"inner one hides the tail", "a:0-6 b:2-4", "aabb.."},
		{"same start: the longer loses its head", "a:0-6 b:0-2", "bbaaaa"},
		// Valgrind gives this, "bbccaa" or "bbaaaa", as its sorting has it.
		{"same start, twice", "a:0-6 b:0-2 c:0-4", "aacc.."},
		{"same range: shortest name", "bb:0-3 a:0-3 ccc:0-3", "aaa"},
		{"same range: smallest of the shortest", "c:0-3 a:0-3 b:0-3", "aaa"},
		{"the head cut off meets another", "a:0-6 b:0-2 c:2-6", "bbaaaa"},
		{"the version does not count", "bb:0-2 c@V1:0-2", "cc"},
		{"a version is better", "a:0-2 b@V1:0-2", "bb"},
		{"MPI", "MPI_x:0-2 PMPI_x:0-2", "PP"},
	} {
		for seed := range uint64(20) {
			fields := strings.Fields(tt.syms)
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(fields), func(i, j int) {
				fields[i], fields[j] = fields[j], fields[i]
			})
			table := symbolTable{strs: [][]byte{nil}}
			for _, f := range fields {
				var lo, hi uint64
				name, span, _ := strings.Cut(f, ":")
				_, err := fmt.Sscanf(span, "%d-%d", &lo, &hi)
				require.NoError(t, err)
				table.syms = append(table.syms, symbol{lo, hi - lo, nameRef{0, uint32(len(table.strs[0]))}})
				table.strs[0] = append(table.strs[0], name+"\x00"...)
			}
			table.disjoint()
			got := bytes.Repeat([]byte("."), len(tt.want))
			for i, s := range table.syms {
				if i > 0 {
					require.LessOrEqual(t, table.syms[i-1].end(), s.addr, tt.note)
				}
				for a := s.addr; a < s.end(); a++ {
					got[a] = table.name(s.name)[0]
				}
			}
			require.Equal(t, tt.want, string(got), "%s: %v", tt.note, fields)
		}
	}
}

func TestSortSymbols(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, bits := range []int{0, 1, 4, 11, 21, 40, 64} {
		syms := make([]symbol, r.IntN(300))
		for i := range syms {
			syms[i] = symbol{addr: 1<<47 + r.Uint64()>>(64-bits), size: r.Uint64N(4)}
		}
		want := slices.Clone(syms)
		slices.SortFunc(want, byAddrAndSize)
		got := sortSymbols(syms)
		require.Equal(t, want, got, "%d bits", bits)
	}
}

func BenchmarkSortSymbols(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	syms := make([]symbol, 10000)
	for i := range syms {
		syms[i].addr = r.Uint64N(2 << 20)
	}
	b.Run("sort=radix", func(b *testing.B) {
		for b.Loop() {
			sortSymbols(slices.Clone(syms))
		}
	})
	b.Run("sort=slices", func(b *testing.B) {
		for b.Loop() {
			slices.SortFunc(slices.Clone(syms), byAddrAndSize)
		}
	})
}

func byAddrAndSize(a, b symbol) int {
	return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.size, b.size))
}

func TestBelowMain(t *testing.T) {
	for name, want := range map[string]bool{
		"_start": true, "__libc_start_main": true, "__libc_start_main.x": true, "__libc_start_call_main": true,
		"generic_start_main": true, "generic_start_main.isra.0": true,
		"main": false, "_start.x": false, "__libc_start_mainly": false,
	} {
		require.Equal(t, want, belowMain(name), name)
	}
}

// program returns a .debug_line unit of version 2 with two files in two
// directories, and the code given.
func program(code ...[]byte) []byte {
	tables := []byte("sub\x00/abs\x00\x00" + "a.c\x00\x01\x00\x00" + "b.c\x00\x02\x00\x00" + "c.c\x00\x00\x00\x00" + "\x00")
	header := append([]byte{1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, tables...)
	body := binary.LittleEndian.AppendUint16(nil, 2)
	body = binary.LittleEndian.AppendUint32(body, uint32(len(header)))
	body = append(body, header...)
	body = append(body, bytes.Join(code, nil)...)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// Pieces of line programs.
func setAddress(a uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0, 9, lneSetAddress}, a)
}

// at makes a row: a line number, a file, n bytes after the last row.
func at(line int64, file byte, n byte) []byte {
	return append(append([]byte{lnsSetFile, file, lnsAdvancePC, n, lnsAdvanceLine}, sleb128(line)...), lnsCopy)
}

func end(n byte) []byte { return []byte{lnsAdvancePC, n, 0, 1, lneEndSequence} }

func sleb128(n int64) (b []byte) {
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// TestLinePrograms checks what Valgrind does where DWARF leaves no choice, or
// leaves one.
func TestLinePrograms(t *testing.T) {
	for _, tt := range []struct {
		note  string
		units [][]byte
		want  string // FILE:LINE of each byte from 0x1000
	}{
		{"rows end where the next begins",
			[][]byte{program(setAddress(0x1000), at(9, 1, 0), at(10, 2, 2), end(1))},
			"dir/sub/a.c:10 dir/sub/a.c:10 /abs/b.c:20 ?"},
		{"of rows at one address the last counts",
			[][]byte{program(setAddress(0x1000), at(9, 1, 0), at(1, 3, 0), end(2))},
			"dir/c.c:11 dir/c.c:11 ?"},
		{"a row after the end of a sequence is none of it",
			[][]byte{program(setAddress(0x1000), at(0, 1, 0), end(1), setAddress(0x1002), at(4, 1, 0), end(1))},
			"dir/sub/a.c:1 ? dir/sub/a.c:5 ?"},
		{"an earlier row is cut by a later one from elsewhere",
			[][]byte{program(setAddress(0x1000), at(0, 1, 0), end(4)), program(setAddress(0x1001), at(6, 2, 0), end(1))},
			"dir/sub/a.c:1 /abs/b.c:7 ? ?"},
		{"a row that goes on with the same number keeps the file",
			[][]byte{program(setAddress(0x1000), at(0, 1, 0), at(0, 2, 1), at(1, 2, 1), end(1))},
			"dir/sub/a.c:1 dir/sub/a.c:1 /abs/b.c:2 ?"},
		{"also from one unit to the next",
			[][]byte{program(setAddress(0x1000), at(0, 1, 0), end(1)), program(setAddress(0x1001), at(0, 2, 0), end(1))},
			"dir/sub/a.c:1 dir/sub/a.c:1 ?"},
		{"also over several units, and one that is empty",
			[][]byte{
				program(setAddress(0x1000), at(0, 1, 0), end(1)), program(setAddress(0x1001), at(0, 2, 0), end(1)),
				program(), program(setAddress(0x1002), at(0, 3, 0), at(4, 3, 1), end(1)),
			},
			"dir/sub/a.c:1 dir/sub/a.c:1 dir/sub/a.c:1 dir/c.c:5 ?"},
		{"but not over one elsewhere",
			[][]byte{
				program(setAddress(0x1000), at(0, 1, 0), end(1)), program(setAddress(0x1002), at(0, 2, 0), end(1)),
				program(setAddress(0x1001), at(0, 3, 0), end(1)),
			},
			"dir/sub/a.c:1 dir/c.c:1 /abs/b.c:1 ?"},
		{"huge line numbers are dropped",
			[][]byte{program(setAddress(0x1000), at(1<<20-1, 1, 0), at(-1, 1, 1), end(1))},
			"? dir/sub/a.c:1048575 ?"},
		{"files that the table lacks are unknown",
			[][]byte{program(setAddress(0x1000), at(3, 9, 0), at(1, 0, 1), end(1))},
			"???:4 ???:5 ?"},
		{"going back trusts one byte",
			[][]byte{program(setAddress(0x1002), at(0, 1, 0), setAddress(0x1000), at(4, 1, 0), end(1))},
			"dir/sub/a.c:5 ? dir/sub/a.c:1 ?"},
		{"of sequences at one address, too",
			[][]byte{program(setAddress(0x1000), at(0, 1, 0), end(2)), program(setAddress(0x1000), at(6, 2, 0), end(1))},
			"/abs/b.c:7 ? ?"},
		{"one around others",
			[][]byte{
				program(setAddress(0x1002), at(6, 2, 0), end(1)),
				program(setAddress(0x1000), at(0, 1, 0), at(1, 1, 4), end(1)),
			},
			"dir/sub/a.c:1 dir/sub/a.c:1 /abs/b.c:7 ? dir/sub/a.c:2 ?"},
		{"a removed function is at 0",
			[][]byte{program(setAddress(0), at(0, 1, 0), at(1, 1, 0xff), end(1), setAddress(0x1001), at(0, 1, 0), end(1))},
			"? dir/sub/a.c:1 ?"},
		{"addresses set in two ways",
			[][]byte{
				program(append([]byte{0, 0x89, 0}, setAddress(0x1000)[2:]...), at(0, 1, 0), end(1)),
				program(setAddress(0x1001), at(4, 1, 0), end(1)),
			},
			"dir/sub/a.c:1 dir/sub/a.c:5 ?"},
		{"an address set within a sequence",
			[][]byte{program(setAddress(0x1000), at(0, 1, 0), setAddress(0x1002), at(4, 1, 0), end(1))},
			"dir/sub/a.c:1 dir/sub/a.c:1 dir/sub/a.c:5 ?"},
		{"unmapped code is dropped",
			[][]byte{program(setAddress(0x9000), at(0, 1, 0), end(1))}, "? ?"},
		{"files defined by the program",
			[][]byte{program(append([]byte{0, 8, lneDefineFile}, "d.c\x00\x01\x00\x00"...), setAddress(0x1000), at(0, 4, 0), end(1))},
			"dir/sub/d.c:1 ?"},
		{"unknown extended opcodes are skipped",
			[][]byte{program(setAddress(0x1000), []byte{0, 3, 0x80, 1, 2}, at(0, 1, 0), end(1))},
			"dir/sub/a.c:1 ?"},
		{"special opcodes",
			[][]byte{program(setAddress(0x1000), []byte{13 + 5 + 2, 13 + 5 + 14*2 + 1, lnsConstAddPC}, end(0))},
			"dir/sub/a.c:3 dir/sub/a.c:3 dir/sub/a.c:4"},
	} {
		for name, got := range map[string]func(addr uint64) string{
			"whole":   lineLookup(t, tt.units, true),
			"one":     func(addr uint64) string { return lineLookup(t, tt.units, false)(addr) },
			"by unit": lineLookup(t, tt.units, false),
		} {
			for i, want := range strings.Fields(tt.want) {
				require.Equal(t, want, got(0x1000+uint64(i)), "%s: index %s, byte %d", tt.note, name, i)
			}
		}
	}
}

// lineLookup returns a function that looks up addresses from 0x1000 in units with the
// compilation directory dir, as FILE:LINE or ?. It may be made to index all of them.
func lineLookup(t *testing.T, units [][]byte, all bool) func(addr uint64) string {
	table := testTable(t)
	var data []byte
	dirs := map[uint64][]byte{}
	for _, u := range units {
		dirs[uint64(len(data))] = []byte("dir")
		data = append(data, u...)
	}
	table.dirs = func() map[uint64][]byte { return dirs }
	require.NoError(t, table.index(data, 0))
	if all {
		table.indexAll()
	}
	return func(addr uint64) string {
		r, ok := table.row(addr)
		if !ok {
			return "?"
		}
		return fmt.Sprintf("%s:%d", table.fileName(source{r.unit, r.file}), r.line)
	}
}

func TestLineErrors(t *testing.T) {
	good := program(setAddress(0x1000), at(9, 1, 0), end(1))
	version := slices.Clone(good)
	version[4] = 6
	lineRange := slices.Clone(good)
	lineRange[4+2+4+3] = 0
	for _, tt := range []struct {
		bad  []byte
		want string
	}{
		{version, "line table at 0x0: version 6 is not 2 to 5"},
		{lineRange, "line table at 0x0: line range 0, opcode base 13"},
		{[]byte{3, 0, 0, 0, 2, 0, 1}, "line table at 0x0: unexpected end"},
	} {
		table := testTable(t)
		require.EqualError(t, table.index(append(slices.Clone(tt.bad), good...), 0), tt.want)
		_, ok := table.row(0x1000)
		require.True(t, ok, "the unit after the bad one is read")
	}
}

func TestCursor(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 40, -1 << 63, 1<<63 - 1} {
		c := cursor{data: sleb128(n)}
		require.Equal(t, n, c.sleb())
		got, pos := sleb(append([]byte{0}, sleb128(n)...), 1)
		require.Equal(t, n, got)
		require.Equal(t, 1+len(sleb128(n)), pos)
	}
	c := cursor{data: []byte{0xe5, 0x8e, 0x26, 0x80}}
	require.Equal(t, uint64(624485), c.uleb())
	require.Zero(t, c.uleb())
	require.True(t, c.bad)
	_, pos := uleb([]byte{0x80}, 0)
	require.Equal(t, 1, pos)
}

func TestBuildID(t *testing.T) {
	note := func(kind uint32, name, desc string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
		b = binary.LittleEndian.AppendUint32(b, kind)
		for _, s := range []string{name, desc} {
			b = append(b, s...)
			for len(b)%4 != 0 {
				b = append(b, 0)
			}
		}
		return b
	}
	id := note(3, "GNU\x00", "\x01\xab\xff")
	require.Equal(t, "01abff", noteBuildID(id))
	require.Equal(t, "01abff", noteBuildID(append(note(1, "stapsdt\x00", "12345"), id...)))
	require.Empty(t, noteBuildID(note(3, "Go\x00\x00", "x")))
	for n := range id {
		if n < len(id)-1 { // the last byte is padding
			require.Empty(t, noteBuildID(id[:n]))
		}
	}
}

func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/bin/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint16(0), byte(0), uint64(0x401000))
		f.Add(data, uint16(len(data)/2), byte(0xff), uint64(0x401002))
	}
	// One byte is changed as well: the engine's own changes rarely leave an ELF
	// file one.
	f.Fuzz(func(t *testing.T, data []byte, pos uint16, xor byte, addr uint64) {
		if int(pos) < len(data) {
			data = slices.Clone(data)
			data[pos] ^= xor
		}
		o, err := New(bytes.NewReader(data), "fuzz", Options{Demangle: true})
		if err != nil {
			return
		}
		for _, a := range []uint64{addr, o.main.elf.Entry, o.text.lo, o.text.hi - 1, o.text.lo + addr%64} {
			o.Lookup(a)
			o.LinkageName(a)
			o.Inlined(a)
		}
		for _, name := range linkageSections {
			if s := o.main.section(name); s != nil {
				o.LinkageName(s.Addr + addr%(s.Size|1))
			}
		}
		o.VAddr(addr)
		_ = o.Err()
	})
}

// TestMutations changes files at random, more than fuzzing does in one go.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	original, err := os.ReadFile("testdata/bin/t42_loc")
	require.NoError(t, err)
	opened, wrong := 0, 0
	for range 3000 {
		data := slices.Clone(original)
		for range 1 + r.IntN(30) {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
		o, err := New(bytes.NewReader(data[:len(data)-r.IntN(2)*r.IntN(len(data))]), "mutant", Options{})
		if err != nil {
			continue
		}
		opened++
		for a := o.text.lo; a < min(o.text.hi, o.text.lo+64); a++ {
			o.Lookup(a)
		}
		if o.Err() != nil {
			wrong++
		}
	}
	require.Greater(t, opened, 100)
	require.Greater(t, wrong, 10)
}

// testTable returns a table for code from 0x1000 to 0x2000.
func testTable(t *testing.T) lineTable {
	maps := newMappings(span{0x1000, 0x2000})
	return lineTable{maps: &maps, room: newAllowance(), fail: func(err error) { require.NoError(t, err) }}
}
