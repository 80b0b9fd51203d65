package dwarfmap

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A goTable is the table by which the Go runtime itself knows the functions, files and lines of a program
// (cmd/link/internal/ld/pcln.go). It stays in programs that were stripped of symbols and DWARF. Files and lines are
// those of the source, also where code was inlined, as in .debug_line.
type goTable struct {
	text    uint64 // what offsets of code count from
	entries []byte // of each function, and the end: where its code begins, and where in records it is described
	count   uint64 // of functions
	width   uint64 // of a number in entries, and of the first one in a record
	names   []byte
	units   []byte // of each package: where in files its files are
	files   []byte
	steps   []byte // how values change in a function
	records []byte

	decoded map[uint64][]goRow // by number of the function
	// inlined is what was inlined in functions, by their number; tables is where the tables are that say so, 0 before
	// that is known.
	inlined map[uint64]*goInlined
	tables  uint64
	paths   map[uint32]string // files by place in files
	// effort is how many bytes of steps may still be decoded: compilers do not make them too small for all functions
	// once.
	effort int
	room   *allowance
	fail   func(error)
}

// A goRow is a run of bytes of one line.
type goRow struct {
	span
	file uint32 // where its name is in files; noFile if it has none
	line int
}

const (
	goRowSize = 32
	noFile    = math.MaxUint32
)

// Values of the table's first four bytes, by the Go release that brought them.
const (
	magicGo12  = 0xfffffffb
	magicGo116 = 0xfffffffa
	magicGo118 = 0xfffffff0
	magicGo120 = 0xfffffff1
)

// errGoTable is the error for a table that is none.
var errGoTable = errors.New("table of Go functions does not fit its format")

// goTable returns the object's table of Go functions, nil if it has none that can be read.
func (o *Object) goTable() *goTable {
	if o.goKnown {
		return o.goFuncs
	}
	o.goKnown = true
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		data, err := o.main.data(name)
		if err == nil && data != nil {
			o.goFuncs, err = o.parseGoTable(data)
		}
		o.fail(err)
	}
	return o.goFuncs
}

// parseGoTable reads the header of the table.
func (o *Object) parseGoTable(data []byte) (*goTable, error) {
	c := cursor{data: data}
	magic := c.uint(4)
	c.take(2)
	if quantum, pointer := c.u8(), c.u8(); c.bad || quantum != 1 || pointer != 8 {
		return nil, errGoTable
	}
	t := &goTable{
		width: 4, decoded: map[uint64][]goRow{}, inlined: map[uint64]*goInlined{}, paths: map[uint32]string{},
		effort: 1<<20 + 16*len(data), room: o.room, fail: o.fail,
	}
	t.count = c.uint(8)
	c.take(8) // how many files
	switch magic {
	case magicGo118, magicGo120:
		t.text = cmp.Or(c.uint(8), o.goText())
	case magicGo116:
		t.width = 8
	case magicGo12:
		return nil, errors.New("table of Go functions is of a release before 1.16, which is not read: they are unknown")
	default:
		return nil, errGoTable
	}
	for _, part := range []*[]byte{&t.names, &t.units, &t.files, &t.steps, &t.records} {
		off := c.uint(8)
		if c.bad || off > uint64(len(data)) {
			return nil, errGoTable
		}
		*part = data[off:]
	}
	t.entries = t.records
	if t.count > uint64(len(t.entries))/(2*t.width) || (2*t.count+1)*t.width > uint64(len(t.entries)) {
		return nil, errGoTable
	}
	return t, nil
}

// HasGoroutines reports whether the object has Go code that has the address of its goroutine in R14. That is so since
// Go 1.17; tables tell 1.18 from what was before.
func (o *Object) HasGoroutines() bool {
	t := o.goTable()
	return t != nil && t.width == 4
}

// goText returns where the code of Go functions begins. Since Go 1.26 the table does not have it: the section
// .go.module does (runtime.moduledata, text). In programs that Go's linker made alone it is where .text begins.
func (o *Object) goText() uint64 {
	const at = 22 * 8
	data, err := o.main.data(".go.module")
	o.fail(err)
	if len(data) >= at+8 {
		return cmp.Or(binary.LittleEndian.Uint64(data[at:]), o.text.lo)
	}
	return o.text.lo
}

// entry returns a number of t.entries, of the width that these have.
func (t *goTable) entry(i uint64) uint64 {
	b := t.entries[i*t.width:]
	if t.width == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// code returns the code of function i.
func (t *goTable) code(i uint64) span { return span{t.text + t.entry(2*i), t.text + t.entry(2*i+2)} }

// field returns a number of 32 bits of the record of function i, which has the place of its code in front.
func (t *goTable) field(i, n uint64) (uint32, bool) {
	off, size := t.entry(2*i+1), uint64(len(t.records))
	if at := off + t.width + 4*n; off < size && at+4 <= size {
		return binary.LittleEndian.Uint32(t.records[at:]), true
	}
	return 0, false
}

// Fields of a record (runtime._func), behind the place of its code.
const (
	goName     = 0
	goFileStep = 4
	goLineStep = 5
	goUnit     = 7
)

// symbols appends the functions to syms; their names are in string table number strs.
func (t *goTable) symbols(syms []symbol, strs uint32, execs *mappings) []symbol {
	syms = slices.Grow(syms, int(t.count))
	for i := range t.count {
		name, ok := t.field(i, goName)
		code := t.code(i)
		if !ok || uint64(name) >= uint64(len(t.names)) || t.names[name] == 0 || code.hi <= code.lo || code.hi-code.lo > math.MaxInt32 {
			continue
		}
		if execs.has(code.lo, code.hi) {
			syms = append(syms, symbol{addr: code.lo, size: code.hi - code.lo, name: nameRef{strs, name}})
		}
	}
	return syms
}

// function returns the number of the function that holds addr.
func (t *goTable) function(addr uint64) (n uint64, ok bool) {
	i, j := uint64(0), t.count // the last function that does not begin behind addr is in [i-1, j)
	for i < j {
		if h := (i + j) / 2; t.code(h).lo <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	return i - 1, i > 0 && t.code(i-1).has(addr)
}

// row returns the row that covers addr.
func (t *goTable) row(addr uint64) (goRow, bool) {
	i, ok := t.function(addr)
	if !ok {
		return goRow{}, false
	}
	rows, known := t.decoded[i]
	if !known {
		rows = t.decode(i)
		t.decoded[i] = rows
	}
	k, found := slices.BinarySearchFunc(rows, addr, func(r goRow, addr uint64) int { return cmp.Compare(r.lo, addr) })
	if !found {
		k--
	}
	if k < 0 || !rows[k].has(addr) {
		return goRow{}, false
	}
	return rows[k], true
}

// decode returns the rows of function i.
func (t *goTable) decode(i uint64) (rows []goRow) {
	code := t.code(i)
	fileAt, ok1 := t.field(i, goFileStep)
	lineAt, ok2 := t.field(i, goLineStep)
	unit, ok3 := t.field(i, goUnit)
	if !ok1 || !ok2 || !ok3 {
		t.fail(errGoTable)
		return nil
	}
	file, line := t.values(fileAt, code.lo), t.values(lineAt, code.lo)
	for at := code.lo; at < code.hi && file.reach(at, t) && line.reach(at, t); {
		r := goRow{span: span{at, min(file.end, line.end, code.hi)}, file: t.fileAt(unit, file.value), line: int(max(line.value, 0))}
		at = r.hi
		if n := len(rows); n > 0 && rows[n-1].file == r.file && rows[n-1].line == r.line {
			rows[n-1].hi = r.hi
			continue
		}
		if !t.room.take(goRowSize) {
			t.fail(fmt.Errorf("table of Go functions: %w", t.room.exceeded("its rows")))
			return nil
		}
		rows = append(rows, r)
	}
	if t.effort < 0 {
		t.fail(errors.New("table of Go functions: its functions share long lists of lines: no more lines are known"))
		return nil
	}
	return rows
}

// goValues decodes a list of steps: a value, and up to which address it holds.
type goValues struct {
	c     cursor
	begun bool
	value int32
	end   uint64
}

// values returns the values of the list that begins at off, of a function whose code begins at lo.
func (t *goTable) values(off uint32, lo uint64) goValues {
	v := goValues{value: -1, end: lo}
	if uint64(off) < uint64(len(t.steps)) {
		v.c.data = t.steps[off:]
	}
	return v
}

// reach goes on to the value that holds at an address. It reports whether there is one.
func (v *goValues) reach(at uint64, t *goTable) bool {
	for v.end <= at {
		left := len(v.c.data)
		step := uint32(v.c.uleb())
		size := v.c.uleb()
		if t.effort -= left - len(v.c.data); v.c.bad || step == 0 && v.begun || t.effort < 0 {
			return false
		}
		v.begun = true
		v.value += int32(step>>1) ^ -int32(step&1)
		v.end += size & math.MaxUint32
	}
	return true
}

// fileAt returns where in t.files the name of a package's file is.
func (t *goTable) fileAt(unit uint32, n int32) uint32 {
	at := 4 * (uint64(unit) + uint64(uint32(n)))
	if n < 0 || at+4 > uint64(len(t.units)) {
		return noFile
	}
	return binary.LittleEndian.Uint32(t.units[at:])
}

// path returns the name of a row's file.
func (t *goTable) path(file uint32) string {
	path, known := t.paths[file]
	if !known {
		path = Unknown
		if name := stringAt(t.files, uint64(file)); file != noFile && len(name) > 0 {
			if path = asInDWARF(string(name)); !t.room.take(uint64(len(path))) {
				t.fail(fmt.Errorf("table of Go functions: %w", t.room.exceeded("its file names")))
				path = Unknown
			}
		}
		t.paths[file] = path
	}
	return path
}

// asInDWARF returns the name that .debug_line gives a file, as read here: Go's linker has "." for the directory of
// compilation, and for that of a file without one.
func asInDWARF(file string) string {
	switch {
	case strings.HasPrefix(file, "/"):
		return file
	case strings.Contains(file, "/"):
		return "./" + file
	}
	return "././" + file
}
