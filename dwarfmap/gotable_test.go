package dwarfmap

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goProgram has generic and inlined functions, methods, closures and what it imports.
const goProgram = `package main

import (
	"fmt"
	"slices"
)

//go:noinline
func each[T any](s []T, f func(T) T) (out []T) {
	for _, x := range s {
		out = append(out, f(x))
	}
	return out
}

type adder struct{ sum int }

func (a *adder) add(n int) { a.sum += n }

func main() {
	list := each([]int{3, 1, 2}, func(n int) int { return 2 * n })
	slices.Sort(list)
	var a adder
	for _, n := range list {
		a.add(n)
	}
	fmt.Println(list, a.sum)
}
`

// buildGo builds goProgram with some flags, for Linux on amd64 whatever the host is.
func buildGo(t *testing.T, dir, name string, flags ...string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(goProgram), 0o644))
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "main.go")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func openPath(t *testing.T, path string) *Object {
	t.Helper()
	o, err := Open(path, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { o.Close() })
	return o
}

// TestGoTable has programs without symbols and DWARF give the names that they have with both, as far as the Go
// runtime's table has them: it has the names of types in functions with another dot, and of assembly functions without
// a suffix.
func TestGoTable(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ flags, trim string }{{"-s -w", "-trimpath=false"}, {"-w", "-trimpath=false"}, {"-s -w", "-trimpath"}} {
		flags, full := tt.flags, buildGo(t, dir, "full", tt.trim)
		a, b := openPath(t, full), openPath(t, buildGo(t, dir, "stripped", tt.trim, "-ldflags="+flags))
		f, err := elf.Open(full)
		require.NoError(t, err)
		symbols, err := f.Symbols()
		require.NoError(t, err)
		f.Close()
		functions, lines, lost := 0, 0, 0
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
				continue
			}
			functions++
			for at := s.Value; at < s.Value+s.Size; at++ {
				want, got := a.Lookup(at), b.Lookup(at)
				if flags == "-s -w" {
					want.Func = strings.TrimSuffix(want.Func, ".abi0")
				}
				got.Func = strings.ReplaceAll(got.Func, "·", ".")
				require.Equal(t, want.Func, got.Func, "%#x", at)
				if want.File == Unknown {
					continue // .debug_line leaves out some of the code that the compiler adds
				}
				if want.File != got.File && want.Line == got.Line {
					lost++ // .debug_line has no row where the file changes, by inlining, and the line's number does not
					continue
				}
				require.Equal(t, want, got, "%#x", at)
				lines++
			}
		}
		require.NoError(t, b.Err())
		require.Greater(t, functions, 1500)
		require.Greater(t, lines, 500_000)
		require.Less(t, lost, 1000)
		require.Equal(t, starts(a)["main.main"], starts(b)["main.main"])
	}
}

// starts has the place in the file of each function.
func starts(o *Object) map[string]uint64 {
	at := map[string]uint64{}
	o.Functions(func(off uint64, symbol string) { at[symbol] = off })
	return at
}

// TestGoTableElsewhere reads programs that may lie anywhere, and those without paths of the host, and compares with
// debug/gosym.
func TestGoTableElsewhere(t *testing.T) {
	for name, flags := range map[string][]string{
		"pie": {"-buildmode=pie", "-ldflags=-s -w"}, "trimpath": {"-trimpath", "-ldflags=-s -w"},
	} {
		program := buildGo(t, t.TempDir(), name, flags...)
		o := openPath(t, program)
		f, err := elf.Open(program)
		require.NoError(t, err)
		text := f.Section(".text")
		data, err := f.Section(".gopclntab").Data()
		require.NoError(t, err)
		f.Close()
		table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
		require.NoError(t, err)
		require.Greater(t, len(table.Funcs), 1500)
		for _, fn := range table.Funcs {
			for at := fn.Entry; at < fn.End; at += 3 {
				file, line, _ := table.PCToLine(at)
				if file == "" {
					continue // padding
				}
				require.Equal(t, Loc{asInDWARF(file), fn.Name, line}, o.Lookup(at), "%s %#x", name, at)
			}
		}
		require.NoError(t, o.Err())
		_, found := starts(o)["main.each[go.shape.int]"]
		require.True(t, found, name)
	}
}

// A goTableMaker makes tables, of Go 1.20 and later unless another magic is set.
type goTableMaker struct {
	magic                      uint32
	count                      uint64
	text                       uint64
	names, units, files, steps string
	entries, records           []uint32
	end                        uint64 // added to where the records are
	cut                        int    // how many bytes of the end are missing
}

// goHeader is the size of the table's header.
const goHeader = 72

func (m goTableMaker) bytes() []byte {
	le := binary.LittleEndian
	if m.magic == 0 {
		m.magic = magicGo120
	}
	var body []byte
	offsets := []uint64{}
	for _, s := range []string{m.names, m.units, m.files, m.steps} {
		offsets = append(offsets, uint64(goHeader+len(body)))
		body = append(body, s...)
	}
	offsets = append(offsets, uint64(goHeader+len(body))+m.end)
	for _, list := range [][]uint32{m.entries, m.records} {
		for _, n := range list {
			body = le.AppendUint32(body, n)
		}
	}
	b := append(le.AppendUint32(nil, m.magic), 0, 0, 1, 8)
	for _, n := range append([]uint64{m.count, 1, m.text}, offsets...) {
		b = le.AppendUint64(b, n)
	}
	b = append(b, body...)
	return b[:len(b)-m.cut]
}

// oneFunction is a table of one function of 16 bytes, of two lines.
func oneFunction() goTableMaker {
	return goTableMaker{
		count: 1, text: textAt, names: "\x00main.f\x00", units: "\x00\x00\x00\x00", files: "/a/f.go\x00",
		steps:   "\x00" + "\x02\x10\x00" + "\x10\x04\x02\x0c\x00", // file 0 for 16 bytes; line 7 for 4, 8 for 12
		entries: []uint32{0, 12, 16},
		records: []uint32{0, 1, 0, 0, 0, 1, 4, 0, 0},
	}
}

func withGoTable(t testing.TB, data []byte) *Object {
	return openELF(t, makeELF(t, 0x1000, elfSection{name: ".gopclntab", data: data}))
}

// TestGoTableBroken has tables that are wrong somewhere.
func TestGoTableBroken(t *testing.T) {
	const format = "dwarfmap: x: table of Go functions does not fit its format"
	unknown := Loc{Unknown, Unknown, 0}
	for name, tt := range map[string]struct {
		change func(m *goTableMaker)
		loc    Loc
		err    string
	}{
		"good":                            {func(*goTableMaker) {}, Loc{"/a/f.go", "main.f", 7}, ""},
		"where .text begins":              {func(m *goTableMaker) { m.text = 0 }, Loc{"/a/f.go", "main.f", 7}, ""},
		"of Go 1.18":                      {func(m *goTableMaker) { m.magic = magicGo118 }, Loc{"/a/f.go", "main.f", 7}, ""},
		"of Go 1.15":                      {func(m *goTableMaker) { m.magic = magicGo12 }, unknown, "dwarfmap: x: table of Go functions is of a release before 1.16, which is not read: they are unknown"},
		"of nothing":                      {func(m *goTableMaker) { m.magic = 7 }, unknown, format},
		"many functions":                  {func(m *goTableMaker) { m.count = 1 << 62 }, unknown, format},
		"too many functions":              {func(m *goTableMaker) { m.count = 6 }, unknown, format},
		"parts outside":                   {func(m *goTableMaker) { m.end = 1 << 40 }, unknown, format},
		"cut":                             {func(m *goTableMaker) { m.cut = len(m.bytes()) - 70 }, unknown, format},
		"no header":                       {func(m *goTableMaker) { m.cut = len(m.bytes()) - 7 }, unknown, format},
		"record outside":                  {func(m *goTableMaker) { m.entries[1] = 1 << 31 }, unknown, format},
		"record cut":                      {func(m *goTableMaker) { m.cut = 8 }, Loc{Unknown, "main.f", 0}, format},
		"name outside":                    {func(m *goTableMaker) { m.records[1] = 9999 }, Loc{"/a/f.go", Unknown, 7}, ""},
		"no name":                         {func(m *goTableMaker) { m.records[1] = 0 }, Loc{"/a/f.go", Unknown, 7}, ""},
		"steps outside":                   {func(m *goTableMaker) { m.records[5] = 9999 }, Loc{Unknown, "main.f", 0}, ""},
		"steps without end":               {func(m *goTableMaker) { m.records[5] = 4; m.steps = "\x00\x02\x10\x00\xff\xff" }, Loc{Unknown, "main.f", 0}, ""},
		"no such file":                    {func(m *goTableMaker) { m.records[8] = 9999 }, Loc{Unknown, "main.f", 7}, ""},
		"a file without name":             {func(m *goTableMaker) { m.units = "\xff\xff\xff\xff" }, Loc{Unknown, "main.f", 7}, ""},
		"a line below 0":                  {func(m *goTableMaker) { m.steps = "\x00\x02\x10\x00\x01\x10\x00" }, Loc{"/a/f.go", "main.f", 0}, ""},
		"code that ends before it begins": {func(m *goTableMaker) { m.entries[0], m.entries[2] = 16, 0 }, unknown, ""},
	} {
		m := oneFunction()
		tt.change(&m)
		o := withGoTable(t, m.bytes())
		require.Equal(t, tt.loc, o.Lookup(textAt), name)
		if tt.err == "" {
			require.NoError(t, o.Err(), name)
		} else {
			require.EqualError(t, o.Err(), tt.err, name)
		}
	}
	o := withGoTable(t, oneFunction().bytes())
	require.Equal(t, Loc{"/a/f.go", "main.f", 8}, o.Lookup(textAt+4))
	require.Equal(t, Loc{"/a/f.go", "main.f", 8}, o.Lookup(textAt+15))
	require.Equal(t, unknown, o.Lookup(textAt+16))
}

// TestGoTableShared has functions that share a long list of steps: each is not decoded anew without end.
func TestGoTableShared(t *testing.T) {
	const functions, steps = 4000, 100_000
	m := goTableMaker{text: textAt, count: functions, names: "\x00f\x00", units: "\x00\x00\x00\x00", files: "f.go\x00"}
	m.steps = "\x00" + strings.Repeat("\x02\x00", steps) + "\x02\xff\x7f\x00"
	for i := range uint32(functions) {
		m.entries = append(m.entries, i, 4*(2*functions+1))
	}
	m.entries = append(m.entries, functions)
	m.records = []uint32{0, 1, 0, 0, 0, 1, 1, 0, 0}
	o := withGoTable(t, m.bytes())
	known := 0
	for i := range uint64(functions) {
		if o.Lookup(textAt+i).Line > 0 {
			known++
		}
	}
	require.Positive(t, known)
	require.Less(t, known, functions/10)
	require.EqualError(t, o.Err(), "dwarfmap: x: table of Go functions: its functions share long lists of lines: no more lines are known")
}

// TestGoTableRoom has more rows than a file of its size may have.
func TestGoTableRoom(t *testing.T) {
	m := oneFunction()
	m.steps = "\x00" + "\x02\x10\x00" + "\x10" + strings.Repeat("\x01\x02", 8) + "\x00"
	o := withGoTable(t, m.bytes())
	require.Equal(t, "main.f", o.Lookup(textAt).Func)
	o.room.left = 3 * goRowSize
	table := o.goTable()
	require.Empty(t, table.decode(0))
	require.ErrorContains(t, o.Err(), "dwarfmap: x: table of Go functions: its rows are too many")
	require.Zero(t, o.room.left)
}

func FuzzGoTable(f *testing.F) {
	f.Add(oneFunction().bytes(), []byte{})
	f.Add(oneFunction().bytes(), bytes.Repeat([]byte{0, 16, 64, 0, 0, 0, 0, 0}, 23))
	two := oneFunction()
	two.count, two.entries = 2, []uint32{0, 20, 8, 20, 16}
	f.Add(two.bytes(), []byte{})
	old := oneFunction()
	old.magic = magicGo116
	f.Add(old.bytes(), []byte{})
	f.Fuzz(func(t *testing.T, table, module []byte) {
		o := openELF(t, makeELF(t, 0x1000, elfSection{name: ".gopclntab", data: table}, elfSection{name: ".go.module", data: module}))
		for at := range uint64(64) {
			o.Lookup(textAt + at)
		}
		o.Lookup(textAt + 0xfff)
		o.Functions(func(uint64, string) {})
		_ = o.Err()
		require.GreaterOrEqual(t, o.room.left, int64(0))
		if g := o.goFuncs; g != nil {
			require.GreaterOrEqual(t, g.effort, -1<<10)
			rows := 0
			for _, r := range g.decoded {
				rows += len(r)
			}
			require.LessOrEqual(t, rows, 1<<20+16*len(table))
		}
	})
}
