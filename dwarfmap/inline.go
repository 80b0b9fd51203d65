package dwarfmap

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// An Inlined is a function that was inlined at one place.
type Inlined struct {
	// Func is its name, that of the function where it is not inlined. File and Line are where its source begins,
	// Unknown and 0 if that is not known. CallFile and CallLine are where it is called, in Outer.
	Func     string
	File     string
	Line     int
	CallFile string
	CallLine int
	// Outer is the function that it was inlined into if that is inlined itself, nil otherwise: it is what Lookup says
	// then.
	Outer *Inlined
}

// An inlinedCode is what was inlined in one unit.
type inlinedCode struct {
	d     *debugInfo // the section in which this is said, and the unit there
	u     *infoUnit
	nodes []inlineNode
	// parts have the innermost inlined function of each address, by its index in nodes.
	parts []inlinePart
	// entries are the functions that are entered at an address.
	entries map[uint64][]int32
	made    map[int32]*Inlined
}

// An inlineNode is a function inlined at one place: the index of that it was inlined into, -1 for none, and how many
// there are around it.
type inlineNode struct {
	outer, depth       int32
	callFile, callLine uint32
	origin             uint64
}

type inlinePart struct {
	span
	node int32
}

// maxInlineDepth is how many functions may be inlined into each other: what is inlined into the last one is taken for a
// part of that.
const maxInlineDepth = 1000

// Memory that these take.
const (
	inlineNodeSize = 80
	inlinePartSize = 24
	inlinedSize    = 96
)

// A function is what the entry of a function says of it.
type function struct {
	name, file string
	line       int
}

// Inlined returns the innermost inlined function that an address belongs to, nil if it belongs to none. It reads debug
// information that nothing else needs, of the compilation unit there: the first time .debug_info has to be read and
// inflated. Go programs without it have a table of their own.
func (o *Object) Inlined(vaddr uint64) *Inlined {
	if o.lastInlined.has(vaddr) {
		return o.lastInlined.in
	}
	for _, u := range o.unitsAt(vaddr) {
		c := o.inlinedCode(u)
		i := sort.Search(len(c.parts), func(i int) bool { return c.parts[i].hi > vaddr })
		if i == len(c.parts) || !c.parts[i].has(vaddr) {
			continue
		}
		o.lastInlined.span, o.lastInlined.in = c.parts[i].span, o.inlined(c, c.parts[i].node)
		return o.lastInlined.in
	}
	if o.info == nil && !isDone(o.opts.Done) {
		if in := o.goInlined(vaddr); in != nil {
			return in.calls[in.at(vaddr)].in
		}
	}
	return nil
}

// Entered returns the inlined functions that are entered at an address: where the debug information says so, or else at
// the first address of each. Compilers may have moved the instruction there out of the function, or have made several
// entries of one.
func (o *Object) Entered(vaddr uint64) (list []*Inlined) {
	for _, u := range o.unitsAt(vaddr) {
		c := o.inlinedCode(u)
		for _, node := range c.entries[vaddr] {
			if in := o.inlined(c, node); in != nil {
				list = append(list, in)
			}
		}
	}
	if o.info == nil && !isDone(o.opts.Done) {
		if in := o.goInlined(vaddr); in != nil {
			return in.entries[vaddr]
		}
	}
	return list
}

// unitsAt returns the units in which an address may be, none if there is no debug information.
func (o *Object) unitsAt(vaddr uint64) []*infoUnit {
	if !o.infoKnown {
		o.infoKnown = true
		info, err := o.loadInfo()
		o.fail(err)
		o.info = info
	}
	if o.info == nil || isDone(o.opts.Done) {
		return nil
	}
	return o.info.unitsAt(vaddr)
}

// maxUnits is how many units an address may be in.
const maxUnits = 16

// unitsAt returns the units in whose ranges an address is, or if there are none those that have no ranges.
func (d *debugInfo) unitsAt(addr uint64) (list []*infoUnit) {
	i := sort.Search(len(d.spans), func(i int) bool { return d.spans[i].lo > addr })
	for n := 0; n < maxUnits && i > 0; n++ {
		if i--; d.spans[i].has(addr) && !slices.Contains(list, d.spans[i].unit) {
			list = append(list, d.spans[i].unit)
		}
	}
	if list == nil {
		return d.unbounded
	}
	return list
}

// bounds finds the addresses of a unit.
func (d *debugInfo) bounds(u *infoUnit, o *Object) {
	c := cursor{data: d.info[u.entries:u.end]}
	decl, ok := u.abbrevs.of(c.uleb())
	var e entry
	if !ok || !u.read(d, &c, decl, &e, true) {
		return
	}
	if u.low = 0; e.hasLow {
		u.low = u.address(d, e.low)
	}
	u.stmtList = e.stmtList
	switch {
	case decl.tag != tagCompileUnit && decl.tag != tagSkeletonUnit:
	case e.hasRanges || e.hasLow && e.hasHigh:
		d.eachRange(u, &e, func(s span) {
			if o.execs.has(s.lo, s.lo) && o.room.take(inlinePartSize) {
				d.spans = append(d.spans, unitSpan{s, u})
			}
		})
	case decl.children:
		d.unbounded = append(d.unbounded, u)
	}
}

// inlinedCode returns what was inlined in u.
func (o *Object) inlinedCode(u *infoUnit) *inlinedCode {
	if u.inlined == nil {
		d, r := o.rest(u)
		u.inlined = &inlinedCode{d: d, u: r, entries: map[uint64][]int32{}, made: map[int32]*Inlined{}}
		if r == nil {
			return u.inlined
		}
		w := inlineWalk{o: o, d: d, u: r, code: u.inlined}
		if err := w.walk(); err != nil {
			o.fail(fmt.Errorf(".debug_info at %#x: %w", u.off, err))
		}
		u.inlined.parts = w.parts()
	}
	return u.inlined
}

// An inlineWalk reads the entries of a unit, and gathers the places where inlined functions begin and end.
type inlineWalk struct {
	o     *Object
	d     *debugInfo
	u     *infoUnit
	code  *inlinedCode
	edges []inlineEdge
	// symbol, if it is set, gets the names of functions that are inlined, in place of all else, until stopped.
	symbol  func(symbol string) bool
	stopped bool
}

type inlineEdge struct {
	at    uint64
	node  int32
	begin bool
}

// walk reads the entries.
func (w *inlineWalk) walk() error {
	u, d := w.u, w.d
	c := cursor{data: d.info[u.entries:u.end]}
	var around []int32 // by level of the tree, the innermost inlined function, or -1
	top := int32(-1)
	var e entry
	for n := 0; len(c.data) > 0; n++ {
		if n%4096 == 0 && isDone(w.o.opts.Done) {
			return ErrStopped
		}
		off := u.end - uint64(len(c.data))
		code := c.uleb()
		if code == 0 {
			if len(around) <= 1 {
				return nil
			}
			around = around[:len(around)-1]
			top = around[len(around)-1]
			continue
		}
		decl, ok := u.abbrevs.of(code)
		if !ok {
			return fmt.Errorf("an entry is not declared")
		}
		node := top
		switch decl.tag {
		case tagSubprogram, tagInlinedSubroutine:
			if ok = u.read(d, &c, decl, &e, false); !ok {
				break
			}
			if w.symbol != nil {
				if w.inlinable(&e, off); w.stopped {
					return nil
				}
				break
			}
			if decl.tag == tagInlinedSubroutine {
				if node, ok = w.add(&e, top); !ok {
					return w.o.room.exceeded("inlined functions")
				}
				break
			}
			if node = -1; !e.hasRanges && !e.hasLow && e.sibling != 0 && w.jump(&c, e.sibling) {
				continue // It is declared here, or inlined elsewhere.
			}
		case tagArrayType, tagClassType, tagEnumerationType, tagStructureType, tagSubroutineType, tagUnionType:
			if ok = u.read(d, &c, decl, &e, false); ok && decl.children && e.sibling != 0 && w.jump(&c, e.sibling) {
				continue
			}
		default:
			for i := 0; ok && i < len(decl.attrs); i++ {
				ok = u.form.skip(&c, decl.attrs[i].form)
			}
		}
		if !ok || c.bad {
			return errTruncated
		}
		if decl.children {
			around = append(around, node)
			top = node
		} else if len(around) == 0 {
			return nil
		}
	}
	return nil
}

// jump goes on at an offset in .debug_info, if that is in front of c in the unit.
func (w *inlineWalk) jump(c *cursor, to uint64) bool {
	if to >= w.u.end || w.u.end-to > uint64(len(c.data)) {
		return false
	}
	c.data = c.data[uint64(len(c.data))-(w.u.end-to):]
	return true
}

// add adds an inlined function, which was inlined into outer.
func (w *inlineWalk) add(e *entry, outer int32) (node int32, ok bool) {
	nodes := w.code.nodes
	n := inlineNode{outer: outer, callFile: uint32(e.callFile), callLine: uint32(e.callLine), origin: e.origin}
	if outer >= 0 {
		if n.depth = nodes[outer].depth + 1; n.depth >= maxInlineDepth {
			return outer, true
		}
	}
	node = int32(len(nodes))
	first, lowest := uint64(0), ^uint64(0)
	edges := len(w.edges)
	w.d.eachRange(w.u, e, func(s span) {
		if !w.o.execs.has(s.lo, s.lo) {
			return // the linker has removed it
		}
		if lowest = min(lowest, s.lo); len(w.edges) == edges {
			first = s.lo
		}
		w.edges = append(w.edges, inlineEdge{s.lo, node, true}, inlineEdge{s.hi, node, false})
	})
	if !w.o.room.take(inlineNodeSize + uint64(len(w.edges)-edges)*(24+inlinePartSize)) {
		return 0, false
	}
	entry := lowest
	switch {
	case e.hasEntry && e.entryIsOffset && e.hasLow:
		entry = w.u.address(w.d, e.low) + w.d.bias + e.entryPC.n
	case e.hasEntry && e.entryIsOffset:
		entry = first + e.entryPC.n
	case e.hasEntry:
		entry = w.u.address(w.d, e.entryPC) + w.d.bias
	}
	if len(w.edges) > edges {
		w.code.entries[entry] = append(w.code.entries[entry], node)
	}
	w.code.nodes = append(nodes, n)
	return node, true
}

// parts returns which inlined function is the innermost at each address.
func (w *inlineWalk) parts() (parts []inlinePart) {
	// Where one ends and another one begins the end comes first.
	slices.SortFunc(w.edges, func(a, b inlineEdge) int {
		if c := cmp.Compare(a.at, b.at); c != 0 || a.begin == b.begin {
			return cmp.Or(c, cmp.Compare(a.node, b.node))
		} else if a.begin {
			return 1
		}
		return -1
	})
	var active []int32
	deepest := int32(-1)
	for i, e := range w.edges {
		if e.begin {
			active = append(active, e.node)
		} else if at := slices.Index(active, e.node); at >= 0 {
			active = slices.Delete(active, at, at+1)
		}
		if w.d.effort -= len(active); w.d.effort < 0 {
			w.o.fail(fmt.Errorf(".debug_info at %#x: its inlined functions overlap too often: some are unknown", w.u.off))
			return parts
		}
		if i+1 < len(w.edges) && w.edges[i+1].at > e.at {
			deepest = w.deepest(active)
			if n := len(parts) - 1; deepest >= 0 && n >= 0 && parts[n].node == deepest && parts[n].hi == e.at {
				parts[n].hi = w.edges[i+1].at
			} else if deepest >= 0 {
				parts = append(parts, inlinePart{span{e.at, w.edges[i+1].at}, deepest})
			}
		}
	}
	return parts
}

// deepest returns that of some nodes that is inlined into most others, -1 for none.
func (w *inlineWalk) deepest(active []int32) int32 {
	deepest := int32(-1)
	for _, n := range active {
		if deepest < 0 || w.code.nodes[n].depth > w.code.nodes[deepest].depth {
			deepest = n
		}
	}
	return deepest
}

// inlined makes the Inlined of a node, and of those around it.
func (o *Object) inlined(c *inlinedCode, node int32) *Inlined {
	if node < 0 {
		return nil
	}
	in, known := c.made[node]
	if known {
		return in
	}
	var list []int32 // from the inside out
	for n := node; n >= 0; n = c.nodes[n].outer {
		if _, known := c.made[n]; known {
			break
		}
		list = append(list, n)
	}
	for _, i := range slices.Backward(list) {
		n := &c.nodes[i]
		f := c.d.functionAt(o, n.origin)
		if f.name == Unknown { // It is taken for a part of what it was inlined into.
			in = c.made[n.outer]
			c.made[i] = in
			continue
		}
		in = &Inlined{Func: f.name, File: f.file, Line: f.line, CallFile: c.d.fileIn(o, c.u, uint64(n.callFile)), CallLine: int(n.callLine)}
		if n.outer >= 0 {
			in.Outer = c.made[n.outer]
		}
		if !o.room.take(inlinedSize) {
			o.fail(o.room.exceeded("inlined functions"))
			return nil
		}
		c.made[i] = in
	}
	return in
}

// fileIn returns the name of a file by its number in the line table of a unit.
func (d *debugInfo) fileIn(o *Object, u *infoUnit, n uint64) string {
	lines := d.lines[u.stmtList]
	if lines == nil || n > uint64(^uint32(0)) {
		return Unknown
	}
	return o.shorten(d.files.fileName(source{lines, uint32(n)}))
}

// functionAt reads the entry of a function at an offset of .debug_info.
func (d *debugInfo) functionAt(o *Object, off uint64) *function {
	f, known := d.names[off]
	if known {
		return f
	}
	f = &function{name: Unknown, file: Unknown}
	d.names[off] = f
	name := d.chain(off, func(d *debugInfo, u *infoUnit, e *entry) {
		if f.line == 0 && e.declLine != 0 && e.declLine <= 1<<31 {
			f.line = int(e.declLine)
		}
		if f.file == Unknown && e.declFile != 0 {
			f.file = d.fileIn(o, u, e.declFile)
		}
	})
	if len(name) > 0 {
		f.name = o.keep(o.show(name[:min(len(name), maxName)]))
	}
	return f
}

// symbolAt returns the symbol that the function at an offset of .debug_info would have, nil if its name is not known.
func (d *debugInfo) symbolAt(off uint64) []byte {
	return d.chain(off, func(*debugInfo, *infoUnit, *entry) {})
}

// chain calls f with the entry at an offset of .debug_info and those that it stands for, up to the one that has the
// name, which it returns.
func (d *debugInfo) chain(off uint64, f func(d *debugInfo, u *infoUnit, e *entry)) (name []byte) {
	for at, n := off, 0; at != 0 && n < 16; n++ {
		if at&inAlt != 0 {
			if d = d.alt(); d == nil {
				break
			}
			at &^= inAlt
		}
		u := d.unitAt(at)
		if u == nil {
			break
		}
		c := cursor{data: d.info[at:u.end]}
		decl, ok := u.abbrevs.of(c.uleb())
		var e entry
		if !ok || !u.read(d, &c, decl, &e, true) {
			break
		}
		if f(d, u, &e); e.linkage != nil {
			return e.linkage
		}
		if name == nil {
			name = e.name
		}
		at = cmp.Or(e.origin, e.spec)
	}
	return name
}

// InlinedSymbols calls f with the symbols that functions would have of which debug information says that they were
// inlined, some several times, until f returns false. It reads all of .debug_info.
func (o *Object) InlinedSymbols(f func(symbol string) bool) {
	o.unitsAt(0)
	if o.info == nil {
		return
	}
	list := o.info.units
	if alt := o.info.alt(); alt != nil {
		list = append(list[:len(list):len(list)], alt.units...)
	}
	for i, u := range list {
		d, r := o.info.alt(), u
		if i < len(o.info.units) {
			d, r = o.rest(u)
		}
		if r == nil {
			continue
		}
		w := inlineWalk{o: o, d: d, u: r, symbol: f}
		if err := w.walk(); err != nil || w.stopped {
			return
		}
	}
}

// inlinable calls w.symbol with the name of a function that e declares to be inlined.
func (w *inlineWalk) inlinable(e *entry, off uint64) {
	const inlined, declaredInlined = 1, 3 // DW_INL_inlined, DW_INL_declared_inlined
	if e.inline == inlined || e.inline == declaredInlined {
		if name := w.d.symbolAt(off); len(name) > 0 {
			w.stopped = !w.symbol(string(name))
		}
	}
}
