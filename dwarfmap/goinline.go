package dwarfmap

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"math"
	"sort"
)

// Go programs without DWARF have what was inlined in tables of their runtime: for each function one that says which
// inlined call is where (the list of steps PCDATA_InlTreeIndex), and one of these calls (FUNCDATA_InlTree;
// runtime/symtabinl.go). They are read of programs that Go 1.26 or later has linked, which say where the second ones
// are.

// A goInlined is what was inlined in one function.
type goInlined struct {
	// parts have the innermost inlined call at each address, in order; tree is where the calls are described in memory.
	parts   []inlinePart
	tree    uint64
	calls   map[int32]goCall
	entries map[uint64][]*Inlined // by the first address of each
}

// A goCall is an inlined call, and the number of that which it was inlined into, -1 for none.
type goCall struct {
	in    *Inlined
	outer int32
}

const (
	// Words of a function's record, behind the place of its code: how many lists of steps and how many tables it has,
	// and where these are named.
	goLists     = 6
	goCounts    = 9
	goFirstList = 10

	goInlineList  = 2 // PCDATA_InlTreeIndex
	goInlineTable = 3 // FUNCDATA_InlTree

	// goTables is where .go.module (runtime.moduledata) has the address of all functions' tables.
	goTables = 40 * 8
	// maxGoInlined is how many functions may be inlined into each other.
	maxGoInlined = 100
)

// errGoInline is the error for tables of inlined calls that are none.
var errGoInline = errors.New("table of Go's inlined calls does not fit its format")

// goInlined returns what was inlined into the Go function at an address, nil if nothing is known.
func (o *Object) goInlined(vaddr uint64) *goInlined {
	t := o.goTable()
	if t == nil || t.width != 4 {
		return nil
	}
	i, ok := t.function(vaddr)
	if !ok {
		return nil
	}
	in, known := t.inlined[i]
	if !known {
		var err error
		if in, err = o.readGoInlined(t, i); err != nil {
			o.fail(err)
		}
		t.inlined[i] = in
	}
	return in
}

// readGoInlined reads what was inlined in function i, nil if nothing was.
func (o *Object) readGoInlined(t *goTable, i uint64) (*goInlined, error) {
	lists, ok1 := t.field(i, goLists)
	counts, ok2 := t.field(i, goCounts)
	if !ok1 || !ok2 || lists <= goInlineList || counts>>24 <= goInlineTable {
		return nil, nil
	}
	steps, ok1 := t.field(i, goFirstList+goInlineList)
	table, ok2 := t.field(i, goFirstList+uint64(lists)+goInlineTable)
	if !ok1 || !ok2 || steps == 0 || table == math.MaxUint32 {
		return nil, nil
	}
	if t.tables == 0 {
		data, err := o.main.data(".go.module")
		if err != nil || len(data) < goTables+8 {
			return nil, err
		}
		if t.tables = binary.LittleEndian.Uint64(data[goTables:]); t.tables == 0 {
			return nil, nil
		}
	}
	in := &goInlined{tree: t.tables + uint64(table), calls: map[int32]goCall{}, entries: map[uint64][]*Inlined{}}
	code := t.code(i)
	values := t.values(steps, code.lo)
	for at := code.lo; at < code.hi && values.reach(at, t); {
		part := inlinePart{span{at, min(values.end, code.hi)}, values.value}
		if at = part.hi; !o.room.take(inlinePartSize) {
			return nil, o.room.exceeded("Go's inlined calls")
		}
		in.parts = append(in.parts, part)
	}
	if t.effort < 0 {
		return nil, errGoInline
	}
	entered := map[int32]bool{}
	for _, part := range in.parts {
		if part.node < 0 {
			continue
		}
		if _, err := o.goCall(t, in, code, part.node, part.lo, 0); err != nil {
			return nil, err
		}
		for n := part.node; n >= 0 && !entered[n]; n = in.calls[n].outer {
			entered[n] = true
			in.entries[part.lo] = append(in.entries[part.lo], in.calls[n].in)
		}
	}
	return in, nil
}

// at returns the innermost inlined call at an address, -1 for none.
func (in *goInlined) at(addr uint64) int32 {
	i := sort.Search(len(in.parts), func(i int) bool { return in.parts[i].hi > addr })
	if i == len(in.parts) || !in.parts[i].has(addr) {
		return -1
	}
	return in.parts[i].node
}

// goCall reads the inlined call n, to which the code at an address belongs, and those around it: depth is how many
// there are in it.
func (o *Object) goCall(t *goTable, in *goInlined, code span, n int32, at uint64, depth int) (*Inlined, error) {
	if c, known := in.calls[n]; known {
		return c.in, nil
	}
	var call [16]byte // what kind of function it is, its name, the place of code from which it is called, and its first line
	le := binary.LittleEndian
	if depth > maxGoInlined || !o.main.readMemory(in.tree+uint64(len(call))*uint64(n), call[:]) || !o.room.take(inlinedSize) {
		return nil, errGoInline
	}
	from := code.lo + uint64(le.Uint32(call[8:]))
	if !code.has(from) {
		return nil, errGoInline
	}
	f := &Inlined{Func: Unknown, File: Unknown, CallFile: Unknown, Line: max(0, int(int32(le.Uint32(call[12:]))))}
	if name := stringAt(t.names, uint64(le.Uint32(call[4:]))); len(name) > 0 {
		f.Func = o.keep(o.show(name))
	}
	if r, ok := t.row(at); ok {
		f.File = o.shorten(t.path(r.file))
	}
	if r, ok := t.row(from); ok {
		f.CallFile, f.CallLine = o.shorten(t.path(r.file)), r.line
	}
	outer := in.at(from)
	if outer >= 0 {
		var err error
		if f.Outer, err = o.goCall(t, in, code, outer, from, depth+1); err != nil {
			return nil, err
		}
	}
	in.calls[n] = goCall{f, outer}
	return f, nil
}

// readMemory reads what a program has at an address when it begins. It reports false if the file does not say all of
// that.
func (m *image) readMemory(addr uint64, b []byte) bool {
	for _, p := range m.elf.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz && p.Filesz-(addr-p.Vaddr) >= uint64(len(b)) {
			_, err := p.ReadAt(b, int64(addr-p.Vaddr))
			return err == nil
		}
	}
	return false
}
