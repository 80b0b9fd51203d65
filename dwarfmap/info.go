package dwarfmap

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"sync"
)

// Tags of entries (DWARF 5, section 7.5.3).
const (
	tagArrayType         = 0x01
	tagClassType         = 0x02
	tagEnumerationType   = 0x04
	tagCompileUnit       = 0x11
	tagStructureType     = 0x13
	tagSubroutineType    = 0x15
	tagUnionType         = 0x17
	tagInlinedSubroutine = 0x1d
	tagSubprogram        = 0x2e
	tagSkeletonUnit      = 0x4a
)

// Attributes that say what code is where, and what it is called (DWARF 5, section 7.5.4; the last two are GNU's).
const (
	atSibling        = 0x01
	atName           = 0x03
	atLowPC          = 0x11
	atHighPC         = 0x12
	atInline         = 0x20
	atAbstractOrigin = 0x31
	atDeclFile       = 0x3a
	atDeclLine       = 0x3b
	atSpecification  = 0x47
	atEntryPC        = 0x52
	atRanges         = 0x55
	atCallFile       = 0x58
	atCallLine       = 0x59
	atLinkageName    = 0x6e
	atStrOffsetsBase = 0x72
	atAddrBase       = 0x73
	atRnglistsBase   = 0x74
	atMIPSLinkage    = 0x2007
	atGNURangesBase  = 0x2132
	atGNUAddrBase    = 0x2133
)

// A debugInfo is a .debug_info section and those that it refers to.
type debugInfo struct {
	info, abbrev, ranges, rnglists, addrs, strOffsets []byte

	form formReader
	bias uint64 // what is added to its addresses
	// units are in the order of the section; spans are the addresses that they say they have, and unbounded the units
	// that do not say.
	units     []*infoUnit
	spans     []unitSpan
	unbounded []*infoUnit
	tables    map[uint64]*abbrevTable
	// effort is how many bytes of declarations may still be decoded.
	effort int
	lines  map[uint64]*lineUnit // by their offsets
	// files has the names of their files.
	files *lineTable
	// alt returns the section to which entries and names here may refer as well, nil if there is none.
	alt   func() *debugInfo
	names map[uint64]*function
	pack  *unitIndex // of a package
	fail  func(error)
}

// A unitSpan is a range of addresses of a unit.
type unitSpan struct {
	span
	unit *infoUnit
}

// An infoUnit is a unit of a .debug_info section.
type infoUnit struct {
	off, entries, end   uint64 // where it is, where its entries begin, and where it ends
	form                formReader
	abbrevs             *abbrevTable
	abbrevBase          uint64 // of its declarations
	low                 uint64 // the base of its ranges
	stmtList            uint64
	addrBase, strBase   uint64
	rangesBase, gnuBase uint64
	skeleton            skeleton // of a unit that has its entries elsewhere
	// inlined is what was inlined in it, nil before it is looked for.
	inlined *inlinedCode
}

// An abbrevTable has declarations of entries by their codes, which mostly are 1, 2 and so on.
type abbrevTable struct {
	dense  []declaration
	sparse map[uint64]declaration
}

// A declaration is what entries with a code have (DWARF 5, section 7.5.3).
type declaration struct {
	tag      uint64
	children bool
	attrs    []attribute
}

// An attribute is one of a declaration; implicit is its value if that is the same for all entries.
type attribute struct {
	at, form uint64
	implicit int64
}

// of returns the declaration with a code.
func (t *abbrevTable) of(code uint64) (declaration, bool) {
	if i := code - 1; i < uint64(len(t.dense)) {
		return t.dense[i], true
	}
	d, ok := t.sparse[code]
	return d, ok
}

// attributeSize is the memory that an attribute of a declaration takes.
const attributeSize = 24

// table decodes the declarations at an offset of .debug_abbrev.
func (d *debugInfo) table(off uint64, room *allowance) *abbrevTable {
	t, known := d.tables[off]
	if known {
		return t
	}
	t = &abbrevTable{sparse: map[uint64]declaration{}}
	d.tables[off] = t
	if off > uint64(len(d.abbrev)) || d.effort < 0 {
		return t
	}
	c := cursor{data: d.abbrev[off:]}
	for !c.bad {
		code := c.uleb()
		if code == 0 {
			break
		}
		decl := declaration{tag: c.uleb(), children: c.u8() != 0}
		for !c.bad {
			a := attribute{at: c.uleb(), form: c.uleb()}
			if a.form == formImplicitConst {
				a.implicit = c.sleb()
			}
			if a.at == 0 && a.form == 0 {
				break
			}
			decl.attrs = append(decl.attrs, a)
		}
		if !room.take(attributeSize * uint64(1+len(decl.attrs))) {
			d.fail(room.exceeded("declarations in .debug_abbrev"))
			break
		}
		if code == uint64(len(t.dense)+1) {
			t.dense = append(t.dense, decl)
		} else {
			t.sparse[code] = decl
		}
	}
	d.effort -= len(d.abbrev) - int(off) - len(c.data)
	return t
}

// loadInfo reads what says which functions were inlined: the headers of the units, and their first entries.
func (o *Object) loadInfo() (*debugInfo, error) {
	m := o.image(".debug_info", ".debug_abbrev")
	if m == nil || isDone(o.opts.Done) {
		return nil, nil
	}
	d, err := o.readInfo(m, "")
	if err != nil {
		return nil, err
	}
	if s := m.section(".text"); s != nil {
		d.bias = o.text.lo - s.Addr
	}
	o.needLines()
	for _, u := range o.lines.units {
		d.lines[u.off] = u
	}
	d.files, d.alt = o.lines, sync.OnceValue(func() *debugInfo { return o.loadAlt(m) })
	return d, d.index(o)
}

// readInfo reads the sections of m whose names end in suffix.
func (o *Object) readInfo(m *image, suffix string) (*debugInfo, error) {
	d := &debugInfo{
		tables: map[uint64]*abbrevTable{}, lines: map[uint64]*lineUnit{}, names: map[uint64]*function{}, fail: o.fail, alt: func() *debugInfo { return nil },
	}
	var strs []byte
	for _, s := range []struct {
		name string
		to   *[]byte
	}{
		{".debug_info", &d.info}, {".debug_abbrev", &d.abbrev}, {".debug_ranges", &d.ranges}, {".debug_rnglists", &d.rnglists},
		{".debug_addr", &d.addrs}, {".debug_str_offsets", &d.strOffsets}, {".debug_line_str", &d.form.lineStr}, {".debug_str", &strs},
	} {
		data, err := m.data(s.name + suffix)
		if err != nil {
			return nil, err
		}
		*s.to = data
	}
	d.form.str = func() []byte { return strs }
	d.effort = 1<<16 + 16*(len(d.abbrev)+len(d.info)+len(d.ranges)+len(d.rnglists))
	return d, nil
}

// index finds the units.
func (d *debugInfo) index(o *Object) error {
	c := cursor{data: d.info}
	for len(c.data) > 0 && !isDone(o.opts.Done) {
		off := uint64(len(d.info) - len(c.data))
		body, offSize := c.unit()
		if c.bad {
			return fmt.Errorf(".debug_info at %#x: %w", off, errTruncated)
		}
		u := &infoUnit{off: off, end: uint64(len(d.info) - len(c.data)), form: d.form}
		if u.form.offSize = offSize; !o.room.take(256) {
			return o.room.exceeded("units in .debug_info")
		}
		if d.header(u, body, o.room) {
			d.units = append(d.units, u)
			d.bounds(u, o)
		}
	}
	slices.SortStableFunc(d.spans, func(a, b unitSpan) int { return cmp.Compare(a.lo, b.lo) })
	return nil
}

// header reads the header of a unit.
func (d *debugInfo) header(u *infoUnit, c cursor, room *allowance) bool {
	f := &u.form
	f.version = c.u16()
	var abbrev uint64
	if f.version >= 5 {
		kind := c.u8()
		f.addrSize = uint64(c.u8())
		abbrev = c.uint(f.offSize)
		switch kind {
		case utSkeleton, utSplitCompile:
			u.skeleton.id = c.uint(8)
		case utType, utSplitType:
			c.take(8 + f.offSize)
		}
	} else {
		abbrev = c.uint(f.offSize)
		f.addrSize = uint64(c.u8())
	}
	if f.version < 2 || f.version > 5 || f.addrSize != 8 || c.bad {
		return false
	}
	u.entries = u.end - uint64(len(c.data))
	u.abbrevs = d.table(u.abbrevBase+abbrev, room)
	return true
}

// An entry is what is wanted of an entry of a unit.
type entry struct {
	declaration
	// low and high are addresses, ranges says that there is a list of them instead.
	low, high, ranges, entryPC value
	hasLow, hasHigh, hasRanges bool
	hasEntry, highIsSize       bool
	entryIsOffset              bool
	sibling, origin, spec      uint64 // offsets in .debug_info, 0 for none
	callFile, callLine         uint64
	declFile, declLine         uint64
	inline                     uint64
	name, linkage              []byte
	stmtList                   uint64
	hasLines                   bool
}

// read reads the entry at c. names says that its names are wanted.
func (u *infoUnit) read(d *debugInfo, c *cursor, decl declaration, e *entry, names bool) bool {
	*e = entry{declaration: decl}
	for i := range decl.attrs {
		a := &decl.attrs[i]
		switch a.at {
		case atName, atLinkageName, atMIPSLinkage, atDwoName, atGNUDwoName, atCompDir:
			if !names {
				break
			}
			text, ok := u.text(d, c, a.form)
			if !ok {
				return false
			}
			switch a.at {
			case atName:
				e.name = text
			case atDwoName, atGNUDwoName:
				u.skeleton.file = string(text)
			case atCompDir:
				u.skeleton.dir = string(text)
			default:
				e.linkage = text
			}
			continue
		case atSibling, atLowPC, atHighPC, atInline, atAbstractOrigin, atDeclFile, atDeclLine, atSpecification, atEntryPC, atRanges, atCallFile, atCallLine,
			atStmtList, atGNUDwoID, atStrOffsetsBase, atAddrBase, atRnglistsBase, atGNUAddrBase, atGNURangesBase:
			form := a.form
			if form == formIndirect {
				form = c.uleb()
			}
			v, ok := u.form.read(c, form)
			if !ok {
				return false
			}
			if form == formImplicitConst {
				v.n = uint64(a.implicit)
			}
			u.take(e, a.at, form, v)
			continue
		}
		if !u.form.skip(c, a.form) {
			return false
		}
	}
	return !c.bad
}

// take takes the value of an attribute into e, or into u what only the first entry of a unit has.
func (u *infoUnit) take(e *entry, at, form uint64, v value) {
	v.form = form
	switch at {
	case atSibling:
		e.sibling = u.reference(v)
	case atLowPC:
		e.low, e.hasLow = v, true
	case atHighPC:
		e.high, e.hasHigh, e.highIsSize = v, true, !isAddress(form)
	case atRanges:
		e.ranges, e.hasRanges = v, true
	case atEntryPC:
		e.entryPC, e.hasEntry, e.entryIsOffset = v, true, !isAddress(form)
	case atInline:
		e.inline = v.n
	case atAbstractOrigin:
		e.origin = u.reference(v)
	case atSpecification:
		e.spec = u.reference(v)
	case atDeclFile:
		e.declFile = v.n
	case atDeclLine:
		e.declLine = v.n
	case atCallFile:
		e.callFile = v.n
	case atCallLine:
		e.callLine = v.n
	case atStmtList:
		e.stmtList, e.hasLines = v.n, true
	case atStrOffsetsBase:
		u.strBase = v.n
	case atAddrBase, atGNUAddrBase:
		u.addrBase = v.n
	case atRnglistsBase:
		u.rangesBase = v.n
	case atGNURangesBase:
		u.skeleton.rangesBase = v.n
	case atGNUDwoID:
		u.skeleton.id = v.n
	}
}

// isAddress reports whether values of a form are addresses, or numbers of addresses.
func isAddress(form uint64) bool {
	switch form {
	case formAddr, formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return true
	}
	return false
}

// reference returns the offset in .debug_info to which a value refers, 0 if that is none.
func (u *infoUnit) reference(v value) uint64 {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		if v.n < u.end-u.off {
			return u.off + v.n
		}
	case formRefAddr:
		return v.n &^ inAlt
	case formGNURefAlt, formRefSup4, formRefSup8:
		return v.n | inAlt
	}
	return 0
}

// inAlt marks an offset in the .debug_info of another file.
const inAlt = 1 << 63

// address returns the address that a value is or stands for.
func (u *infoUnit) address(d *debugInfo, v value) uint64 {
	if v.form == formAddr || !isAddress(v.form) {
		return v.n
	}
	return d.addressAt(u, v.n)
}

// addressAt returns an address of the table of u by its number, 0 if it is not there.
func (d *debugInfo) addressAt(u *infoUnit, n uint64) uint64 {
	if size := uint64(len(d.addrs)); n < size/8 && u.addrBase < size && size-u.addrBase >= 8*n+8 {
		return binary.LittleEndian.Uint64(d.addrs[u.addrBase+8*n:])
	}
	return 0
}

// text reads a name.
func (u *infoUnit) text(d *debugInfo, c *cursor, form uint64) ([]byte, bool) {
	v, ok := u.form.read(c, form)
	switch form {
	case formGNUStrpAlt, formStrpSup:
		if alt := d.alt(); alt != nil {
			v.text = stringAt(alt.form.str(), v.n)
		}
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		size, width := uint64(len(d.strOffsets)), u.form.offSize
		if v.n < size/width && u.strBase < size && size-u.strBase >= width*v.n+width {
			at := cursor{data: d.strOffsets[u.strBase+width*v.n:]}
			v.text = stringAt(d.form.str(), at.uint(width))
		}
	}
	return v.text, ok
}

// unitAt returns the unit that holds an offset of .debug_info, nil if it is in the entries of none.
func (d *debugInfo) unitAt(off uint64) *infoUnit {
	i := sort.Search(len(d.units), func(i int) bool { return d.units[i].off > off }) - 1
	if i < 0 || off < d.units[i].entries || off >= d.units[i].end {
		return nil
	}
	return d.units[i]
}
