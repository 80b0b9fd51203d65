// Package dwarfmap finds the file, line and function of an address in an ELF
// file, as Cachegrind finds them.
//
// Addresses are those of the ELF file, without load bias. Functions come from
// ELF symbols, files and lines from .debug_line; the two do not know of each
// other, and code without one or the other is called "???", line 0. Where DWARF
// and Valgrind's reader disagree the latter is followed, since profiles are
// compared by these names (docs/counting.md, "Source lines"; as of Valgrind 3.23):
//
//   - Lines are known inside the section .text only.
//   - A file is its entry in the directory table, a slash and its name, never
//     cleaned; is_stmt, columns and inlined functions are ignored.
//   - A symbol is cut where the next one begins; what follows the inner of two
//     nested symbols belongs to none.
//
// Go programs without symbols, or without DWARF, have their names from the table that the Go runtime uses itself
// (.gopclntab).
//
// Opening an object reads its headers. Symbols are read by the first Lookup, and
// of the line table only where its sequences begin (a sequence is a run of code with
// ascending addresses); one is decoded when an address inside it is looked up. What
// is wrong in tables read so late makes names unknown and is reported by Err.
//
// An Object is not safe for concurrent use.
package dwarfmap

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Unknown is the file or function of an address for which none is known.
const Unknown = "???"

// Options say how names are looked for and shown.
type Options struct {
	// Demangle turns names of C++ and Rust into readable ones.
	Demangle bool
	// FullpathAfter removes a path up to and including the first of these
	// texts that it holds. (Valgrind has the option; Cachegrind ignores it.)
	FullpathAfter []string
	// ExtraDebugPaths are directories to search for separate debug files.
	ExtraDebugPaths []string
	// Fetch, if set, returns the path of the debug file with a build-id in hexadecimal that is not found otherwise, ""
	// if there is none. It is to give up when done is closed.
	Fetch func(buildID string, done <-chan struct{}) string
	// Resolve, if set, returns the path to be opened for a file beside the object, false if there is none: a link there
	// may lead to where the object's owner has nothing to say.
	Resolve func(path string) (string, bool)
	// Open, if set, opens regular files, objects and debug files: what paths mean is for it to say.
	Open func(path string) (*os.File, error)
	// ShowBelowMain keeps the names of the functions that call main, which are
	// "(below main)" otherwise.
	ShowBelowMain bool
	// Done, if it is closed, ends reading: what is not known by then stays unknown.
	Done <-chan struct{}
}

// A Loc is a place in the source.
type Loc struct {
	File, Func string
	Line       int // 0 when unknown
}

// An Object is an ELF file that can be asked for places.
type Object struct {
	path string
	opts Options
	main *image
	// debug is the separate debug file, nil if there is none or before findDebug.
	debug      *image
	debugKnown bool

	text  span     // .text
	execs mappings // what is mapped executable, in whole pages

	symtab *symbolTable       // nil before loadSymbols
	names  map[nameRef]string // function names as shown

	lines *lineTable // nil before loadLines

	linkage *linkage // nil before loadLinkage
	// linkageSizes are the sizes of entries of procedure linkage tables, as far as they were looked at.
	linkageSizes map[*elf.Section]uint64

	// info says what was inlined, nil if nothing does or before Inlined was asked; lastInlined is what was found last.
	// rests are the files with the rest of units that are split, by name.
	info        *debugInfo
	rests       map[string]*debugInfo
	packs       []*debugInfo // packages of such files
	packsKnown  bool
	infoKnown   bool
	lastInlined struct {
		span
		in *Inlined
	}

	// goFuncs is the table of Go functions, nil if there is none or before goTable. goLines is the same if lines are
	// taken from it, since there is no line table.
	goFuncs, goLines *goTable
	goKnown          bool

	// What was found last: the next address often belongs there, too.
	lastSymbol *symbol
	lastName   struct {
		symbol *symbol
		name   string
	}
	lastRow struct {
		span
		file string
		line int
	}

	// room is what names and lines may still take.
	room *allowance
	// effort is what demangling may still take.
	effort effort

	err error
}

// A span is a range of addresses [lo, hi).
type span struct{ lo, hi uint64 }

func (s span) has(addr uint64) bool { return s.lo <= addr && addr < s.hi }

const pageSize = 4096

// mappings are parts of an object that are mapped into memory.
type mappings struct {
	spans []span // sorted by lo
	// reach[i] is the span that ends last of spans[:i+1].
	reach []span
	last  span // the one found last, which nearly always is the next one
}

func newMappings(spans ...span) mappings {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	m := mappings{spans: spans, reach: slices.Clone(spans)}
	for i := 1; i < len(spans); i++ {
		if m.reach[i].hi < m.reach[i-1].hi {
			m.reach[i] = m.reach[i-1]
		}
	}
	return m
}

// has reports whether [lo, hi] lies in one mapping.
func (m *mappings) has(lo, hi uint64) bool {
	return m.last.has(lo) && m.last.has(hi) || m.find(lo, hi) // the first part inlines
}

// find looks for the mapping that [lo, hi] lies in.
func (m *mappings) find(lo, hi uint64) bool {
	// The first that begins behind lo.
	i, _ := slices.BinarySearchFunc(m.spans, lo, func(s span, lo uint64) int {
		if s.lo <= lo {
			return -1
		}
		return 1
	})
	if i == 0 || !m.reach[i-1].has(lo) || !m.reach[i-1].has(hi) {
		return false
	}
	m.last = m.reach[i-1]
	return true
}

// Open opens an ELF file.
func Open(path string, opts Options) (*Object, error) {
	f, err := opts.open(path)
	if err != nil {
		return nil, fmt.Errorf("dwarfmap: %w", err)
	}
	o, err := New(f, path, opts)
	if err != nil {
		f.Close()
		return nil, err
	}
	o.main.closer = f
	return o, nil
}

// New returns the Object of an ELF file that r reads. The path is for errors and
// for finding separate debug files.
func New(r io.ReaderAt, path string, opts Options) (*Object, error) {
	room := newAllowance()
	img, err := newImage(r, path, room, opts.Done)
	if err != nil {
		return nil, err
	}
	o := &Object{path: path, opts: opts, main: img, names: map[nameRef]string{}, linkageSizes: map[*elf.Section]uint64{}, room: room}
	if s := img.section(".text"); s != nil {
		o.text = sectionSpan(s)
	}
	var execs []span
	for _, p := range img.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&(elf.PF_R|elf.PF_X) == elf.PF_R|elf.PF_X {
			end := p.Vaddr + p.Filesz + pageSize - 1
			if end < p.Vaddr {
				continue // wraps around: cannot be mapped
			}
			execs = append(execs, span{p.Vaddr &^ (pageSize - 1), end &^ (pageSize - 1)})
		}
	}
	o.execs = newMappings(execs...)
	return o, nil
}

// sectionSpan returns the addresses of a section, none if they wrap around.
func sectionSpan(s *elf.Section) span {
	if s.Addr+s.Size < s.Addr {
		return span{}
	}
	return span{s.Addr, s.Addr + s.Size}
}

// Close closes the files. The Object knows what it knew.
func (o *Object) Close() error {
	err := o.main.close()
	if o.debug != nil {
		err = errors.Join(err, o.debug.close())
	}
	return err
}

// Err returns the first thing that was wrong in a table read by Lookup.
func (o *Object) Err() error { return o.err }

func (o *Object) fail(err error) {
	if o.err == nil && err != nil {
		o.err = fmt.Errorf("dwarfmap: %s: %w", o.path, err)
	}
}

// Lookup returns the place of an address.
func (o *Object) Lookup(vaddr uint64) Loc {
	loc, _ := o.LookupRun(vaddr)
	return loc
}

// LookupRun returns the place of an address, and where what has the same place ends, as far as that is known: no entry
// of a procedure linkage table is in one run with other code.
func (o *Object) LookupRun(vaddr uint64) (loc Loc, end uint64) {
	loc = Loc{File: Unknown, Func: Unknown}
	if isDone(o.opts.Done) {
		o.fail(ErrStopped)
		return loc, vaddr + 1
	}
	name, inFunc := o.function(vaddr)
	if inFunc {
		loc.Func = name
	}
	file, line, inRow := o.line(vaddr)
	if inRow {
		loc.File, loc.Line = o.shorten(file), line
	}
	if !o.execs.has(vaddr, vaddr) {
		return loc, vaddr + 1
	}
	return loc, min(o.execs.last.hi, o.symbolUntil(vaddr, inFunc), o.rowUntil(vaddr, inRow))
}

// symbolUntil returns where what has the same function as vaddr ends, inFunc says whether it has one.
func (o *Object) symbolUntil(vaddr uint64, inFunc bool) uint64 {
	if inFunc {
		return o.lastSymbol.end()
	}
	_, hi, _ := o.Unnamed(vaddr)
	if s := o.linkageSection(vaddr); s != nil { // an entry may have a name
		entry, size := o.linkageEntry(s, vaddr)
		hi = min(hi, entry+size)
	}
	return hi
}

// shorten applies Options.FullpathAfter.
func (o *Object) shorten(file string) string {
	for _, after := range o.opts.FullpathAfter {
		if _, rest, found := strings.Cut(file, after); found {
			return rest
		}
	}
	return file
}

// VAddr returns the address at which the program headers place a byte of the
// file. Where two segments hold it, the executable one is meant.
func (o *Object) VAddr(fileOffset uint64) (uint64, bool) {
	found := false
	vaddr := uint64(0)
	for _, p := range o.main.elf.Progs {
		if p.Type != elf.PT_LOAD || fileOffset < p.Off || fileOffset-p.Off >= p.Filesz {
			continue
		}
		if exec := p.Flags&elf.PF_X != 0; exec || !found {
			vaddr, found = p.Vaddr+(fileOffset-p.Off), true
			if exec {
				break
			}
		}
	}
	return vaddr, found
}
