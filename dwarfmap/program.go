package dwarfmap

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Limits of Valgrind's table of lines (priv_storage.h).
const (
	maxLine = 1<<20 - 1 // of line numbers; rows with larger ones are dropped
	maxSize = 1<<12 - 1 // of rows that grow by taking in the next one
)

// A lineUnit is one line program with its header (DWARF 5, section 6.2.4).
type lineUnit struct {
	off     uint64 // in the section
	bias    uint64 // to add to addresses
	version uint16
	offSize uint64

	minInst    uint64
	lineBase   int8
	lineRange  byte
	opcodeBase byte
	opcodeLens []byte // of standard opcodes, from 1
	special    *specialOpcodes
	tables     []byte // directories and files
	program    []byte

	before *lineUnit // in the section
	// The first and last part with rows in the table; nil before sequences, or
	// if there is none.
	first, last *part
	// Of units that are indexed one by one:
	seqs   []sequence // sorted, disjoint; nil before run
	linked bool       // whether first is known to follow another part, or not to

	compDir []byte
	dirs    [][]byte
	files   []fileEntry // nil before readFiles
}

// advances has what each special opcode adds to the address and the line.
type advances [256]struct {
	addr uint32
	line int32
}

// A specialOpcodes has the advances of the unit that ran last, for all units of a table: nearly always they are
// the same.
type specialOpcodes struct {
	minInst               uint64
	lineBase              int8
	lineRange, opcodeBase byte // lineRange is 0 before the first unit
	table                 advances
}

// of returns the advances of a unit. They are valid until those of another one are asked for.
func (s *specialOpcodes) of(u *lineUnit) *advances {
	if s.lineRange == u.lineRange && s.lineBase == u.lineBase && s.opcodeBase == u.opcodeBase && s.minInst == u.minInst {
		return &s.table
	}
	s.lineRange, s.lineBase, s.opcodeBase, s.minInst = u.lineRange, u.lineBase, u.opcodeBase, u.minInst
	for op := int(u.opcodeBase); op < len(s.table); op++ {
		n := op - int(u.opcodeBase)
		s.table[op].addr = uint32(n/int(u.lineRange)) * uint32(u.minInst)
		s.table[op].line = int32(n%int(u.lineRange)) + int32(u.lineBase)
	}
	return &s.table
}

type fileEntry struct {
	name []byte // nil where the table has no entry
	dir  uint64
	path string // as shown; "" before it was asked for
}

// parseHeader reads the header of a unit, but for its directories and files.
func parseHeader(c cursor, offSize uint64) (*lineUnit, error) {
	u := &lineUnit{offSize: offSize}
	if u.version = c.u16(); u.version < 2 || u.version > 5 {
		return nil, fmt.Errorf("version %d is not 2 to 5", u.version)
	}
	if u.version >= 5 {
		c.take(2) // sizes of addresses and of segment selectors
	}
	header := c.uint(offSize)
	if c.bad || header > uint64(len(c.data)) {
		return nil, errTruncated
	}
	u.program = c.data[header:]
	c.data = c.data[:header]
	u.minInst = uint64(c.u8())
	if u.version >= 4 {
		if ops := c.u8(); ops != 1 {
			return nil, fmt.Errorf("%d operations per instruction", ops)
		}
	}
	c.u8() // default_is_stmt: rows count whatever it is
	u.lineBase = int8(c.u8())
	u.lineRange = c.u8()
	u.opcodeBase = c.u8()
	if u.lineRange == 0 || u.opcodeBase == 0 {
		return nil, fmt.Errorf("line range %d, opcode base %d", u.lineRange, u.opcodeBase)
	}
	u.opcodeLens = c.take(uint64(u.opcodeBase) - 1)
	if c.bad {
		return nil, errTruncated
	}
	u.tables = c.data
	return u, nil
}

// entrySize is the memory that a directory or file takes.
const entrySize = 64

// readFiles reads the directories and files. Those in front of what is wrong are known.
func (u *lineUnit) readFiles(f formReader, room *allowance) (err error) {
	f.offSize, f.addrSize, f.version = u.offSize, 8, u.version
	c := cursor{data: u.tables}
	u.files = []fileEntry{}
	if u.version >= 5 {
		var dirs []fileEntry
		if dirs, err = f.entries(&c, room); err != nil {
			return fmt.Errorf("directories: %w", err)
		}
		u.dirs = make([][]byte, len(dirs))
		for i, e := range dirs {
			u.dirs[i] = e.name
		}
		if u.files, err = f.entries(&c, room); err != nil {
			err = fmt.Errorf("files: %w", err)
		}
		if len(u.dirs) > 0 {
			// It is that of the compilation unit, which Valgrind asks
			// instead. To ask it here, too, would mean to inflate
			// .debug_info, the largest section by far.
			u.compDir = u.dirs[0]
		}
		return err
	}
	u.dirs = append(u.dirs, nil) // 0 is the compilation directory
	// Each takes two bytes or more, and is read once: no table of these is too large.
	for dir := c.cstring(); len(dir) > 0; dir = c.cstring() {
		u.dirs = append(u.dirs, dir)
	}
	u.files = append(u.files, fileEntry{}) // files begin at 1
	for name := c.cstring(); len(name) > 0; name = c.cstring() {
		u.files = append(u.files, fileEntry{name: name, dir: c.uleb()})
		c.uleb() // modification time
		c.uleb() // size
	}
	u.definedFiles()
	if !room.take(entrySize * uint64(len(u.dirs)+len(u.files))) {
		u.files = u.files[:0]
		return room.exceeded("its files")
	}
	return nil
}

// entries reads a table of directories or files of version 5. Those in front of what is wrong are returned.
func (f *formReader) entries(c *cursor, room *allowance) ([]fileEntry, error) {
	const lnctPath, lnctDirectoryIndex = 1, 2
	type format struct{ content, form uint64 }
	formats := make([]format, c.u8())
	for i := range formats {
		formats[i] = format{c.uleb(), c.uleb()}
		// Each value takes a byte at least, or a few bytes would make entries without end.
		if size, fixed := fixedSize(formats[i].form); fixed && size == 0 {
			return nil, fmt.Errorf("values of form %#x, which takes no bytes", formats[i].form)
		}
	}
	n := c.uleb()
	if n > 0 && len(formats) == 0 {
		return nil, fmt.Errorf("%d entries of no bytes", n)
	}
	var list []fileEntry
	for range n {
		if len(c.data) == 0 {
			return list, errTruncated
		}
		if !room.take(entrySize) {
			return list, room.exceeded("its entries")
		}
		e := fileEntry{name: []byte{}}
		for _, ft := range formats {
			v, ok := f.read(c, ft.form)
			if !ok {
				return list, fmt.Errorf("a value of unknown form %#x", ft.form)
			}
			switch {
			case ft.content == lnctPath && v.text != nil:
				e.name = v.text
			case ft.content == lnctDirectoryIndex:
				e.dir = v.n
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// path returns the name of a file as Valgrind makes it: relative directories are
// prefixed with the compilation directory, nothing is cleaned.
func (u *lineUnit) path(f *fileEntry) string {
	var dir []byte
	switch {
	case f.dir >= uint64(len(u.dirs)):
	case f.dir == 0 && u.version < 5:
		dir = u.compDir
	default:
		dir = u.dirs[f.dir]
		if len(u.compDir) > 0 && (len(dir) == 0 || dir[0] != '/') {
			dir = append(append(u.compDir[:len(u.compDir):len(u.compDir)], '/'), dir...)
		}
	}
	if len(dir) == 0 {
		return string(f.name)
	}
	return string(dir) + "/" + string(f.name)
}

// Standard and extended opcodes (DWARF 5, section 7.22).
const (
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsSetColumn      = 5
	lnsNegateStmt     = 6
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9

	lneEndSequence = 1
	lneSetAddress  = 2
	lneDefineFile  = 3
)

// An emitter takes the rows of a line program.
type emitter func(addr, size uint64, line, file uint32)

// An extent says of a sequence which addresses it covers, and the line numbers of
// its first and last row. It is ordered if the rows follow one another.
type extent struct {
	span
	firstLine, lastLine uint32
	ordered             bool
}

// run executes the line program from pos up to the end of a sequence and calls
// emit, if there is one, with each row that is kept. It returns where the next
// sequence begins, and the extent of this one.
//
// The registers are locals, and positions instead of slices keep the garbage
// collector's write barriers out: 4 times as fast as a machine with methods
// (BenchmarkOpen/libc, the index).
func (u *lineUnit) run(pos int, emit emitter) (next int, x extent) {
	prog, opcodeBase, minInst, special := u.program, u.opcodeBase, u.minInst, u.special.of(u)
	// Most opcodes change columns and is_stmt, which do not matter here.
	usual := len(u.opcodeLens) >= lnsNegateStmt && u.opcodeLens[lnsSetColumn-1] == 1 && u.opcodeLens[lnsNegateStmt-1] == 0
	addr, line, file := uint64(0), uint32(1), uint32(1)
	// The row before, which ends at the next. There is none while lastAddr is
	// 0: so does Valgrind (readdwarf.c).
	lastAddr, lastLine, lastFile := uint64(0), uint32(0), uint32(0)
	lo, hi, firstLine, finalLine, ordered := uint64(0), uint64(0), uint32(0), uint32(0), true
	for pos < len(prog) {
		op := prog[pos]
		pos++
		end := false
		switch {
		case op >= opcodeBase:
			s := &special[op]
			addr += uint64(s.addr)
			line += uint32(s.line)
		case usual && op == lnsSetColumn:
			for pos < len(prog) && prog[pos] >= 0x80 {
				pos++
			}
			pos = min(pos+1, len(prog))
			continue
		case usual && op == lnsNegateStmt:
			continue
		case op == 0:
			code, arg, next := extended(prog, pos)
			pos = next
			if code == lneSetAddress {
				addr = arg
			}
			if end = code == lneEndSequence; !end {
				continue
			}
		case op == lnsCopy:
		default:
			var n uint64
			switch op {
			case lnsAdvancePC:
				n, pos = uleb(prog, pos)
				addr += n * minInst
			case lnsAdvanceLine:
				var d int64
				d, pos = sleb(prog, pos)
				line += uint32(d)
			case lnsSetFile:
				n, pos = uleb(prog, pos)
				file = uint32(min(n, math.MaxUint32))
			case lnsConstAddPC:
				addr += uint64(special[255].addr)
			case lnsFixedAdvancePC:
				if pos+2 > len(prog) {
					pos = len(prog)
					continue
				}
				addr += uint64(binary.LittleEndian.Uint16(prog[pos:]))
				pos += 2
			default:
				// set_column, negate_stmt, set_basic_block, prologue and
				// epilogue, set_isa, and what later versions add.
				for range u.opcodeLens[op-1] {
					_, pos = uleb(prog, pos)
				}
			}
			continue
		}
		if lastAddr != 0 && addr != lastAddr && lastLine <= maxLine {
			size := addr - lastAddr
			if addr < lastAddr {
				size = 1 // out of order: trust one byte
			}
			if emit != nil {
				emit(lastAddr+u.bias, size, lastLine, lastFile)
			}
			if hi == 0 {
				lo, firstLine = lastAddr, lastLine
			} else {
				ordered = ordered && lastAddr >= hi
			}
			hi, finalLine = lastAddr+size, lastLine
		}
		if end {
			break
		}
		lastAddr, lastLine, lastFile = addr, line, file
	}
	return pos, extent{span{lo + u.bias, hi + u.bias}, firstLine, finalLine, ordered && hi > lo}
}

// extended reads an extended opcode behind its zero. The argument is that of
// DW_LNE_set_address.
func extended(prog []byte, pos int) (code byte, arg uint64, next int) {
	n, pos := uleb(prog, pos)
	if n == 0 || n > uint64(len(prog)-pos) {
		return 0, 0, pos + int(min(n, uint64(len(prog)-pos)))
	}
	next = pos + int(n)
	c := cursor{data: prog[pos+1 : next]}
	return prog[pos], c.uint(min(n-1, 8)), next
}

// uleb and sleb read a LEB128 number at pos and return where it ends.
func uleb(b []byte, pos int) (uint64, int) {
	if pos < len(b) && b[pos] < 0x80 {
		return uint64(b[pos]), pos + 1
	}
	c := cursor{data: b[min(pos, len(b)):]}
	n := c.uleb()
	return n, len(b) - len(c.data)
}

func sleb(b []byte, pos int) (int64, int) {
	if pos < len(b) && b[pos] < 0x80 {
		return int64(int8(b[pos]<<1)) >> 1, pos + 1
	}
	c := cursor{data: b[min(pos, len(b)):]}
	n := c.sleb()
	return n, len(b) - len(c.data)
}

// A source is the file of a row.
type source struct {
	unit *lineUnit
	file uint32
}

// A joiner does what Valgrind does when it adds a row to its table (storage.c,
// addLoc): one that continues the row added last, with the same line number, is
// taken into that one, even if their files differ.
type joiner struct {
	end, size uint64 // of the row added last
	line      uint32
	source
}

// add adds a row. It returns the file that counts and whether the row was taken
// into the last one.
func (j *joiner) add(addr, size uint64, line uint32, src source) (source, bool) {
	joined := addr == j.end && line == j.line && j.size+size <= maxSize
	if joined {
		j.size += size
	} else {
		j.size, j.line, j.source = size, line, src
	}
	j.end = addr + size
	return j.source, joined
}

// A part is where a sequence of DWARF begins.
type part struct {
	unit *lineUnit
	off  int // into unit.program
	len  int // of its program, in bytes
	extent
	// before is the part before this one, if its last row may take in the
	// first one of this.
	before *part
	after  *joiner // as it is behind the part; nil if nobody asked
}

// follow notes that the rows of before are the last ones in the table when those of p are added.
func (p *part) follow(before *part) {
	if before != nil && before.hi == p.lo && before.lastLine == p.firstLine {
		p.before = before
	}
}

// sequences appends the unit's sequences that hold code.
func (u *lineUnit) sequences(seqs []sequence, maps *mappings) []sequence {
	u.first, u.last = nil, nil
	for pos := 0; pos < len(u.program); {
		p := &part{unit: u, off: pos}
		pos, p.extent = u.run(pos, nil)
		p.len = pos - p.off
		if !p.ordered || !maps.has(p.lo, p.hi-1) {
			p.extent = p.keptExtent(maps)
		}
		if p.lo >= p.hi {
			continue
		}
		if u.first == nil {
			u.first = p
		}
		p.follow(u.last)
		u.last = p
		seqs = append(seqs, sequence{span: p.span, parts: []*part{p}})
	}
	return seqs
}

// keptExtent returns the extent of the rows of a part that are in mappings. Its
// span holds all rows, wherever the last one ends.
func (p *part) keptExtent(maps *mappings) (x extent) {
	x.span = span{math.MaxUint64, 0}
	p.unit.run(p.off, func(addr, size uint64, line, _ uint32) {
		if !maps.has(addr, addr+size-1) {
			return
		}
		if x.hi == 0 {
			x.firstLine = line
		}
		x.lo, x.hi, x.lastLine = min(x.lo, addr), max(x.hi, addr+size), line
	})
	return x
}

// bytesPerRow is how long the program of a row is with today's compilers, at least:
// five bytes and more, since most rows set columns, views and is_stmt.
const bytesPerRow = 5

// rowSize is the memory that a row takes.
const rowSize = 32

// rows appends the rows of a part of a sequence. It reports whether there was room for all.
func (p *part) rows(rows []row, maps *mappings, room *allowance) (_ []row, whole bool) {
	first := len(rows)
	join := p.joiner(maps)
	granted := p.len / bytesPerRow
	if whole = room.take(uint64(granted) * rowSize); !whole {
		return rows, false
	}
	rows = slices.Grow(rows, granted)
	p.unit.run(p.off, func(addr, size uint64, line, file uint32) {
		if !maps.has(addr, addr+size-1) {
			return
		}
		src, joined := join.add(addr, size, line, source{p.unit, file})
		if joined && len(rows) > first {
			rows[len(rows)-1].size += size
			return
		}
		const more = 1024
		if granted == 0 && room.take(more*rowSize) {
			granted = more
		}
		if whole = whole && granted > 0; whole {
			granted--
			rows = append(rows, row{addr: addr, size: size, line: line, file: src.file, unit: src.unit})
		}
	})
	p.after = &join
	return rows, whole
}

// joiner returns the joiner as the parts before p leave it.
func (p *part) joiner(maps *mappings) (join joiner) {
	// A loop, since there may be as many of them as a file has room for.
	var unknown []*part
	for q := p.before; q != nil; q = q.before {
		if q.after != nil {
			join = *q.after
			break
		}
		unknown = append(unknown, q)
	}
	for _, q := range slices.Backward(unknown) {
		q.unit.run(q.off, func(addr, size uint64, line, file uint32) {
			if maps.has(addr, addr+size-1) {
				join.add(addr, size, line, source{q.unit, file})
			}
		})
		after := join
		q.after = &after
	}
	return join
}

// definedFiles appends the files that the program itself defines, which was
// possible before version 5.
func (u *lineUnit) definedFiles() {
	if u.version >= 5 {
		return
	}
	c := cursor{data: u.program}
	for len(c.data) > 0 {
		switch op := c.u8(); {
		case op >= u.opcodeBase:
		case op == 0:
			arg := cursor{data: c.take(c.uleb())}
			if arg.u8() == lneDefineFile {
				u.files = append(u.files, fileEntry{name: arg.cstring(), dir: arg.uleb()})
			}
		case op == lnsFixedAdvancePC:
			c.take(2)
		default:
			for range u.opcodeLens[op-1] {
				c.uleb()
			}
		}
	}
}
