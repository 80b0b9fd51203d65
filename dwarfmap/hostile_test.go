package dwarfmap

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files made to cost much. What is looked at is not time, but how much is kept and how many steps
// are taken: every test but those would also pass, some time, without the bound.

// An elfSection is a section of a file that makeELF makes.
type elfSection struct {
	name string
	kind elf.SectionType
	link uint32 // the number of the section, which begins at 2
	data []byte
	zip  bool
}

const textAt = 0x401000

// makeELF makes a program of size bytes of code at textAt, and sections.
func makeELF(t testing.TB, size uint64, sections ...elfSection) []byte {
	t.Helper()
	le := binary.LittleEndian
	file := make([]byte, 0x1000+size)
	names := []byte("\x00.text\x00.shstrtab\x00")
	headers := make([]byte, 64)
	header := func(name uint32, kind elf.SectionType, flags elf.SectionFlag, addr, off, size uint64, link uint32) {
		headers = le.AppendUint32(headers, name)
		headers = le.AppendUint32(headers, uint32(kind))
		for _, n := range []uint64{uint64(flags), addr, off, size, uint64(link), 0, 0} {
			headers = le.AppendUint64(headers, n)
		}
	}
	header(1, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, textAt, 0x1000, size, 0)
	for _, s := range sections {
		flags := elf.SectionFlag(0)
		if s.zip {
			flags = elf.SHF_COMPRESSED
			var b bytes.Buffer
			b.Write(le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, uint64(elf.COMPRESS_ZLIB)), uint64(len(s.data))), 1))
			w := zlib.NewWriter(&b)
			_, err := w.Write(s.data)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			s.data = b.Bytes()
		}
		if s.kind == 0 {
			s.kind = elf.SHT_PROGBITS
		}
		header(uint32(len(names)), s.kind, flags, 0, uint64(len(file)), uint64(len(s.data)), s.link)
		names, file = append(append(names, s.name...), 0), append(file, s.data...)
	}
	header(7, elf.SHT_STRTAB, 0, 0, uint64(len(file)), uint64(len(names)), 0)
	file = append(file, names...)
	copy(file, "\x7fELF\x02\x01\x01")
	for at, n := range map[int]uint16{16: 2, 18: 62, 20: 1, 52: 64, 54: 56, 56: 1, 58: 64, 60: uint16(len(headers) / 64), 62: uint16(len(headers)/64 - 1)} {
		le.PutUint16(file[at:], n)
	}
	for at, n := range map[int]uint64{24: textAt, 32: 64, 40: uint64(len(file)), 64: 1 | 5<<32, 72: 0, 80: 0x400000, 96: 0x1000 + size, 104: 0x1000 + size} {
		le.PutUint64(file[at:], n)
	}
	return append(file, headers...)
}

// openELF opens such a file.
func openELF(t testing.TB, data []byte) *Object {
	t.Helper()
	o, err := New(bytes.NewReader(data), "x", Options{Demangle: true})
	require.NoError(t, err)
	return o
}

// elfSymbol makes a symbol.
func elfSymbol(name uint32, addr, size uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, name)
	b = append(b, byte(elf.STB_GLOBAL)<<4|byte(elf.STT_FUNC), 0, 1, 0)
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, addr), size)
}

func withSymbols(t testing.TB, size uint64, symbols, names []byte) []byte {
	return makeELF(t, size,
		elfSection{name: ".symtab", kind: elf.SHT_SYMTAB, link: 3, data: symbols},
		elfSection{name: ".strtab", kind: elf.SHT_STRTAB, data: names})
}

// uleb128 encodes a number.
func uleb128(n uint64) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// tables5 returns a unit of version 5 with these tables of directories and files, and code.
func tables5(tables string, code ...[]byte) []byte {
	header := append([]byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, tables...)
	body := []byte{5, 0, 8, 0}
	body = binary.LittleEndian.AppendUint32(body, uint32(len(header)))
	body = append(append(body, header...), bytes.Join(code, nil)...)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func withLines(t testing.TB, line []byte) []byte {
	return makeELF(t, 0x1000, elfSection{name: ".debug_line", data: line},
		elfSection{name: ".debug_info", data: []byte{0}}, elfSection{name: ".debug_abbrev", data: []byte{0}})
}

// TestEntriesOfNoSize has tables of directories and files with more entries than bytes.
func TestEntriesOfNoSize(t *testing.T) {
	const dirs, files = "\x01\x01\x08\x01/d\x00", "\x01\x01\x08\x02a.c\x00b.c\x00"
	huge := string(uleb128(1 << 62))
	code := [][]byte{setAddress(textAt), at(6, 1, 0), end(9)}
	for name, tt := range map[string]struct{ tables, file, err string }{
		"good":                 {dirs + files, "/d/b.c", ""},
		"directories":          {"\x00" + huge + files, Unknown, "directories: 4611686018427387904 entries of no bytes"},
		"files":                {dirs + "\x00" + huge, Unknown, "files: 4611686018427387904 entries of no bytes"},
		"flags":                {dirs + "\x01\x01\x19" + huge + "x", Unknown, "files: values of form 0x19, which takes no bytes"},
		"constants":            {"\x01\x01\x21" + huge + files, Unknown, "directories: values of form 0x21, which takes no bytes"},
		"fewer than announced": {dirs + "\x01\x01\x08" + huge + "a.c\x00b.c\x00", "/d/b.c", "files: unexpected end"},
		"unknown form":         {dirs + "\x01\x01\x7f\x01x", Unknown, "files: a value of unknown form 0x7f"},
	} {
		o := openELF(t, withLines(t, tables5(tt.tables, code...)))
		require.Equal(t, Loc{tt.file, Unknown, 7}, o.Lookup(textAt), name)
		if tt.err == "" {
			require.NoError(t, o.Err(), name)
		} else {
			require.EqualError(t, o.Err(), "dwarfmap: x: line table at 0x0: "+tt.err, name)
		}
		require.Less(t, len(o.lines.units[0].dirs)+len(o.lines.units[0].files), 10)
	}
}

// TestRoom has tables that need more memory than their sizes let expect.
func TestRoom(t *testing.T) {
	// A name of 60,000 bytes for each of 3,000 functions, which share it but for the first bytes.
	names, symbols := bytes.Repeat([]byte{'n'}, 64000), make([]byte, symSize)
	for i := range uint64(3000) {
		symbols = append(symbols, elfSymbol(uint32(i), textAt+i, 1)...)
	}
	o := openELF(t, withSymbols(t, 0x1000, symbols, append(names, 0)))
	kept := 0
	for i := range uint64(3000) {
		if fn := o.Lookup(textAt + i).Func; fn != Unknown {
			kept += len(fn)
		}
	}
	require.Greater(t, kept, baseAllowance/2)
	require.LessOrEqual(t, kept, int(o.room.granted))
	require.ErrorContains(t, o.Err(), "dwarfmap: x: names of functions are too many: a file of this size may have names and lines of")

	// Rows that take a byte, those of an hour of code.
	part := &part{unit: &lineUnit{special: new(specialOpcodes), lineBase: 1, lineRange: 14, opcodeBase: 13, minInst: 1}}
	part.unit.program = append(setAddress(textAt), bytes.Repeat([]byte{13 + 14}, 100000)...)
	part.len = len(part.unit.program)
	maps := newMappings(span{textAt, textAt + 1<<20})
	room := &allowance{left: 50000 * rowSize}
	rows, whole := part.rows(nil, &maps, room)
	require.False(t, whole)
	require.LessOrEqual(t, len(rows), 50000)
	require.Greater(t, len(rows), 48000)
	rows, whole = part.rows(nil, &maps, newAllowance())
	require.True(t, whole)
	require.Len(t, rows, 99999)
}

// TestCompressedTogether has sections each of which is small enough.
func TestCompressedTogether(t *testing.T) {
	zeros := make([]byte, 40<<20)
	names := append([]byte("\x00main\x00"), zeros...)
	table := func(size int) []byte {
		return makeELF(t, 16,
			elfSection{name: ".symtab", kind: elf.SHT_SYMTAB, link: 3, data: append(elfSymbol(1, textAt, 16), zeros[:size]...), zip: true},
			elfSection{name: ".strtab", kind: elf.SHT_STRTAB, data: names, zip: true})
	}
	o := openELF(t, table(0))
	require.Equal(t, "main", o.Lookup(textAt).Func)
	require.NoError(t, o.Err())
	o = openELF(t, table(len(zeros)))
	require.Equal(t, Unknown, o.Lookup(textAt).Func)
	require.ErrorContains(t, o.Err(), "section .symtab: 41943064 bytes are too many: a file of this size may have")
}

// TestManyUnits has units that all look for a declaration in one long table.
func TestManyUnits(t *testing.T) {
	long := bytes.Repeat([]byte{2, 0x34, 0, 0, 0}, 100_000) // declarations of code 2
	unit := func(table uint32, code byte) []byte {
		b := binary.LittleEndian.AppendUint32([]byte{4, 0}, table)
		b = append(b, 8, code, 0, 0, 0, 0)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	declared := append(long, 1, 0x11, 0, atStmtList, formSecOffset, 0, 0, 0)
	dirsOf := func(info []byte) (map[uint64][]byte, error) {
		o := openELF(t, makeELF(t, 16, elfSection{name: ".debug_info", data: info}, elfSection{name: ".debug_abbrev", data: declared}))
		return compilationDirs(o.main, formReader{addrSize: 8})
	}
	dirs, err := dirsOf(bytes.Repeat(unit(0, 1), 5000))
	require.NoError(t, err, "one table is read once")
	require.Len(t, dirs, 1)
	var info []byte
	for i := range uint32(5000) {
		info = append(info, unit(5*i, 1)...)
	}
	_, err = dirsOf(info)
	require.ErrorContains(t, err, "its units read .debug_abbrev too often")
}

// TestLongChain has units each of which goes on with the row of the one before. With functions that call themselves for
// it the stack would grow beyond any bound.
func TestLongChain(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(512 << 10))
	const n = 20_000
	var line []byte
	for i := range uint64(n) {
		line = append(line, program(setAddress(0x1000+i), at(0, 1, 0), end(1))...)
	}
	for _, all := range []bool{false, true} {
		maps := newMappings(span{0x1000, 0x1000 + n})
		table := testTable(t)
		table.maps, table.dirs = &maps, func() map[uint64][]byte { return nil }
		require.NoError(t, table.index(line, 0))
		if all {
			table.indexAll()
		}
		r, ok := table.row(0x1000 + n - 1)
		require.True(t, ok)
		require.EqualValues(t, 1, r.line)
	}
}

// TestSpecialOpcodes has units whose special opcodes mean different things, looked up in turns.
func TestSpecialOpcodes(t *testing.T) {
	var line []byte
	for i := range byte(4) {
		u := program(setAddress(0x1000+uint64(i)*16), []byte{13 + 5}, end(1))
		u[12] = 0xfb + i // the line base
		line = append(line, u...)
	}
	table := testTable(t)
	table.dirs = func() map[uint64][]byte { return nil }
	require.NoError(t, table.index(line, 0))
	for _, i := range []int{0, 3, 1, 2, 0} {
		r, ok := table.row(0x1000 + uint64(i)*16)
		require.True(t, ok)
		require.EqualValues(t, 1+i, r.line)
	}
}

// TestOverlappingSymbols has tables in which nearly all symbols overlap.
func TestOverlappingSymbols(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(7, 8))
	for name, tt := range map[string]struct {
		whole bool
		make  func(i uint64) symbol
	}{
		"nested":     {true, func(i uint64) symbol { return symbol{addr: i, size: 2 * (n - i)} }},
		"same end":   {true, func(i uint64) symbol { return symbol{addr: i, size: n - i} }},
		"same start": {false, func(i uint64) symbol { return symbol{addr: 5, size: 1 + i} }},
		"random":     {false, func(uint64) symbol { return symbol{addr: r.Uint64N(2000), size: 1 + r.Uint64N(1<<19)} }},
	} {
		table := symbolTable{strs: [][]byte{{0}}}
		for i := range uint64(n) {
			table.syms = append(table.syms, tt.make(i))
		}
		require.Equal(t, tt.whole, table.disjoint(), name)
		for i := range table.syms[1:] {
			require.LessOrEqual(t, table.syms[i].end(), table.syms[i+1].addr, name)
		}
	}

	var symbols []byte
	for i := range uint64(n) {
		symbols = append(symbols, elfSymbol(1, textAt, 1+i%0x2000)...)
	}
	o := openELF(t, withSymbols(t, 0x4000, symbols, []byte("\x00f\x00")))
	require.Equal(t, "f", o.Lookup(textAt+0x1000).Func)
}

// TestDemangleBounds has names that refer to themselves, or are long.
func TestDemangleBounds(t *testing.T) {
	substitution := func(i int) string {
		if i == 0 {
			return "S_"
		}
		return "S" + strings.ToUpper(strconv.FormatInt(int64(i-1), 36)) + "_"
	}
	double := "_Z1f1A"
	for i := range 30 {
		double += "1BI" + substitution(2*i) + substitution(2*i) + "E"
	}
	for name, symbol := range map[string]string{
		"doubling":        double,
		"pointers":        "_Z1f" + strings.Repeat("P", 80_000) + "i",
		"templates":       "_Z1f" + strings.Repeat("1AI", 100_000),
		"casts":           "_Z" + strings.Repeat("N1acvT_I", 30) + "i" + strings.Repeat("EE", 30),
		"Rust, doubling":  rustDoubling(60),
		"Rust, binders":   "_RIXC1a" + strings.Repeat("FGzzzzzz_", 50) + strings.Repeat("Eu", 50) + "C1aE",
		"Rust, long":      "_RINvC1a1f" + strings.Repeat("R", 100_000) + "jE",
		"Rust, punycode":  "_RNvC1au15000_" + strings.Repeat("z", 15_000),
		"legacy, escapes": "_ZN5" + strings.Repeat("$RF$1", 20_000) + "17h0123456789abcdefE",
	} {
		var e effort
		require.Equal(t, symbol, e.demangled(symbol), name)
		require.LessOrEqual(t, e.taken, 4*maxDemangled, name)
	}

	// libiberty's limit, which c++filt and Valgrind have.
	longest := "_Z1f" + strings.Repeat("P", 1019) + "i"
	require.Equal(t, "f(int"+strings.Repeat("*", 1019)+")", Demangled(longest))
	require.Equal(t, "_Z1fP"+longest[4:], Demangled("_Z1fP"+longest[4:]))

	// Many names each of which is fine.
	var e effort
	one := "_Z1f1A"
	for i := range 10 {
		one += "1BI" + substitution(2*i) + substitution(2*i) + "E"
	}
	readable := e.demangled(one)
	require.Greater(t, len(readable), 3*effortPerByte*len(one)/2)
	for range 100_000 {
		e.demangled(one)
	}
	require.Equal(t, one, e.demangled(one))
	require.LessOrEqual(t, e.taken, e.granted+baseEffort+4*maxDemangled)
	require.Less(t, e.granted, 2*baseEffort)
}

// rustDoubling returns a name whose last type holds the first one 2^n times.
func rustDoubling(n int) string {
	base62 := func(i int) string {
		const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		if i == 0 {
			return "_"
		}
		s := ""
		for i--; ; i /= 62 {
			s = string(digits[i%62]) + s
			if i < 62 {
				return s + "_"
			}
		}
	}
	name := "_RINvC1a1f"
	last := len(name) - 2
	name += "TjjE"
	for range n {
		next := len(name) - 2
		name += "TB" + base62(last) + "B" + base62(last) + "E"
		last = next
	}
	return name + "E"
}

// TestLongNames has symbols whose names are longer than any compiler makes.
func TestLongNames(t *testing.T) {
	names := append(append([]byte{0}, bytes.Repeat([]byte{'a'}, 1<<20)...), 0)
	o := openELF(t, withSymbols(t, 32, slices.Concat(elfSymbol(1, textAt, 8), elfSymbol(uint32(len(names)-1-1000), textAt+8, 8)), names))
	require.Equal(t, Unknown, o.Lookup(textAt).Func)
	require.Len(t, o.Lookup(textAt+8).Func, 1000)
	require.EqualError(t, o.Err(), "dwarfmap: x: a symbol's name is longer than 65536 bytes: it is unknown")
	var named []string
	o.Functions(func(_ uint64, name string) { named = append(named, name) })
	require.Equal(t, []string{strings.Repeat("a", 1000)}, named)
}

// TestHeaders has more headers than any program has, and sections that share a long name.
func TestHeaders(t *testing.T) {
	data := makeELF(t, 16)
	binary.LittleEndian.PutUint16(data[56:], 2000)
	_, err := New(bytes.NewReader(data), "x", Options{})
	require.EqualError(t, err, "dwarfmap: x: 2000 program headers, more than the 1170 that Linux takes")

	sections := []elfSection{{name: strings.Repeat("n", 100_000)}}
	data = makeELF(t, 16, append(sections, make([]elfSection, 1000)...)...)
	off := int(binary.LittleEndian.Uint64(data[40:]))
	for i := 2; i < 1003; i++ {
		binary.LittleEndian.PutUint32(data[off+64*i:], 17)
	}
	_, err = New(bytes.NewReader(data), "x", Options{})
	require.ErrorContains(t, err, "1004 sections share names of more than")

	data = makeELF(t, 16)
	binary.LittleEndian.PutUint16(data[60:], 0)
	binary.LittleEndian.PutUint64(data[int(binary.LittleEndian.Uint64(data[40:]))+32:], 1<<40)
	_, err = New(bytes.NewReader(data), "x", Options{})
	require.EqualError(t, err, "dwarfmap: x: more than 1048576 sections")
}

// TestMappings compares with looking at all of them.
func TestMappings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var spans []span
		for range r.IntN(6) {
			lo := r.Uint64N(30)
			spans = append(spans, span{lo, lo + r.Uint64N(10)})
		}
		maps := newMappings(slices.Clone(spans)...)
		for range 50 {
			lo := r.Uint64N(40)
			hi := lo + r.Uint64N(4)
			want := slices.ContainsFunc(spans, func(s span) bool { return s.has(lo) && s.has(hi) })
			require.Equal(t, want, maps.has(lo, hi), "%v in %v", span{lo, hi}, spans)
		}
	}
}

// TestDebugLinkDevice has a debug file of the right name that is none, and is never opened.
func TestDebugLinkDevice(t *testing.T) {
	dir := t.TempDir()
	mkfifo(t, filepath.Join(dir, "fifo"))
	link := []byte("fifo\x00\x00\x00\x00\x01\x02\x03\x04")
	file := filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(file, makeELF(t, 16, elfSection{name: ".gnu_debuglink", data: link}), 0o600))
	o, err := Open(file, Options{})
	require.NoError(t, err)
	defer o.Close()
	require.Equal(t, Loc{Unknown, Unknown, 0}, o.Lookup(textAt))
	require.NoError(t, o.Err())
	_, err = Open(filepath.Join(dir, "fifo"), Options{})
	require.ErrorContains(t, err, "fifo: not a regular file")
}

// TestDone ends reading before a section, within one, and behind all.
func TestDone(t *testing.T) {
	data := withSymbols(t, 16, elfSymbol(1, textAt, 16), append([]byte("\x00main\x00"), make([]byte, 20<<20)...))
	reads := 0
	for n := range 30 {
		done := make(chan struct{})
		left := n
		r := readerAt(func(b []byte, off int64) (int, error) {
			if left--; left == 0 {
				close(done)
			}
			reads++
			return bytes.NewReader(data).ReadAt(b, off)
		})
		o, err := New(r, "x", Options{Done: done})
		require.NoError(t, err)
		name := o.Lookup(textAt).Func
		select {
		case <-done:
			if name != "main" {
				require.Equal(t, Unknown, name)
				require.ErrorIs(t, o.Err(), ErrStopped)
			}
			require.Equal(t, Unknown, o.Lookup(textAt).Func)
			require.ErrorIs(t, o.Err(), ErrStopped)
		default:
			require.Equal(t, "main", name)
			require.NoError(t, o.Err())
		}
	}
	require.Greater(t, reads, 30*10)
}

type readerAt func([]byte, int64) (int, error)

func (r readerAt) ReadAt(b []byte, off int64) (int, error) { return r(b, off) }

// FuzzSections changes the tables in files whose headers are right, which changes of whole files rarely leave so.
func FuzzSections(f *testing.F) {
	info := []byte{17, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0, 'd', 0, 0, 0, 0}
	abbrev := []byte{1, 0x11, 0, atStmtList, formSecOffset, atCompDir, formString, 0, 0, 0}
	code := [][]byte{setAddress(textAt), at(6, 1, 0), at(3, 2, 9), end(9), setAddress(textAt + 50), at(1, 1, 0), end(4)}
	symbols := slices.Concat(elfSymbol(1, textAt, 20), elfSymbol(6, textAt+10, 90), elfSymbol(6, textAt, 20), elfSymbol(40, textAt, 7))
	names := []byte("\x00main\x00_ZN3foo3barIiEEvT_S1_\x00_RINvC1a1fTjjE")
	f.Add(program(code...), info, abbrev, symbols, names)
	f.Add(tables5("\x01\x01\x08\x01/d\x00\x02\x01\x08\x02\x0b\x02a.c\x00\x00b.c\x00\x00", code...), info, abbrev, symbols, names)
	f.Add(slices.Concat(program(code...), program(), program(code[3:]...)), slices.Concat(info, info), abbrev, symbols, names)
	f.Add(tables5("\x02\x01\x19\x02\x21\xff\xff\xff\x7f\x01\x01\x08\x01x\x00", code...), info, abbrev, symbols, names)
	f.Fuzz(func(t *testing.T, line, info, abbrev, symbols, names []byte) {
		o := openELF(t, makeELF(t, 0x1000,
			elfSection{name: ".symtab", kind: elf.SHT_SYMTAB, link: 3, data: symbols}, elfSection{name: ".strtab", kind: elf.SHT_STRTAB, data: names},
			elfSection{name: ".debug_line", data: line}, elfSection{name: ".debug_info", data: info}, elfSection{name: ".debug_abbrev", data: abbrev}))
		for a := range uint64(128) {
			o.Lookup(textAt + a)
		}
		o.Lookup(textAt + 0xfff)
		o.Functions(func(uint64, string) {})
		_ = o.Err()
		require.GreaterOrEqual(t, o.room.left, int64(0))
		require.LessOrEqual(t, o.effort.taken, o.effort.granted+baseEffort+4*maxDemangled)
		if o.lines != nil {
			entries := 0
			for _, u := range o.lines.units {
				entries += len(u.files) + len(u.dirs)
			}
			require.LessOrEqual(t, entries, 2*len(line)+4*len(o.lines.units))
		}
	})
}
