package dwarfmap

import "fmt"

// Attributes and unit types (DWARF 5, sections 7.5.4 and 7.5.1).
const (
	atStmtList = 0x10
	atCompDir  = 0x1b

	utType         = 2
	utSkeleton     = 4
	utSplitCompile = 5
	utSplitType    = 6
)

// compilationDirs reads the first entry of every unit in .debug_info. It returns
// DW_AT_comp_dir by DW_AT_stmt_list.
func compilationDirs(m *image, form formReader) (map[uint64][]byte, error) {
	info, err := m.data(".debug_info")
	if err != nil {
		return nil, err
	}
	data, err := m.data(".debug_abbrev")
	if err != nil {
		return nil, err
	}
	abbrevs := newAbbrevs(data, len(info))
	dirs := map[uint64][]byte{}
	c := cursor{data: info}
	for len(c.data) > 0 {
		off := len(info) - len(c.data)
		unit, offSize := c.unit()
		if c.bad {
			return dirs, fmt.Errorf(".debug_info at %#x: %w", off, errTruncated)
		}
		f := form
		f.offSize = offSize
		if stmtList, dir, ok := f.unitDir(unit, abbrevs); ok {
			if _, known := dirs[stmtList]; !known {
				dirs[stmtList] = dir
			}
		}
		if m.stopped() {
			return dirs, ErrStopped
		}
		if abbrevs.effort < 0 {
			return dirs, fmt.Errorf(".debug_info at %#x: its units read .debug_abbrev too often: no more directories are known", off)
		}
	}
	return dirs, nil
}

// abbrevs are the declarations of entries in .debug_abbrev (DWARF 5, section 7.5.3).
type abbrevs struct {
	data []byte
	// found has where the attributes of the declarations begin that were looked for, -1 if there
	// is none. Many units may share a table.
	found map[abbrev]int
	// effort is how many bytes of declarations may still be read. Compilers put that of a unit in front of
	// its table.
	effort int
}

// An abbrev is a declaration: by the offset of its table, and its code there.
type abbrev struct{ table, code uint64 }

func newAbbrevs(data []byte, info int) *abbrevs {
	return &abbrevs{data: data, found: map[abbrev]int{}, effort: 1<<20 + 16*(len(data)+info)}
}

// attributes returns the attributes of a declaration.
func (a *abbrevs) attributes(d abbrev) (cursor, bool) {
	at, known := a.found[d]
	if !known {
		at = -1
		if d.table <= uint64(len(a.data)) {
			c := cursor{data: a.data[d.table:]}
			before := len(c.data)
			if findAbbrev(&c, d.code) {
				at = len(a.data) - len(c.data)
			}
			a.effort -= before - len(c.data)
		}
		a.found[d] = at
	}
	if at < 0 {
		return cursor{}, false
	}
	return cursor{data: a.data[at:]}, true
}

// unitDir reads the header and the first entry of a unit.
func (f *formReader) unitDir(c cursor, declared *abbrevs) (stmtList uint64, dir []byte, ok bool) {
	f.version = c.u16()
	var abbrevOff uint64
	if f.version >= 5 {
		kind := c.u8()
		f.addrSize = uint64(c.u8())
		abbrevOff = c.uint(f.offSize)
		switch kind {
		case utSkeleton, utSplitCompile:
			c.take(8) // the unit's identifier
		case utType, utSplitType:
			c.take(8 + f.offSize) // signature, offset of the type
		}
	} else {
		abbrevOff = c.uint(f.offSize)
		f.addrSize = uint64(c.u8())
	}
	if f.version < 2 || f.version > 5 {
		return 0, nil, false
	}
	a, known := declared.attributes(abbrev{abbrevOff, c.uleb()})
	if !known {
		return 0, nil, false
	}
	before := len(a.data)
	defer func() { declared.effort -= before - len(a.data) }()
	for !c.bad {
		at, form := a.uleb(), a.uleb()
		if form == formImplicitConst {
			a.sleb()
		}
		if at == 0 && form == 0 {
			return stmtList, dir, ok && !a.bad
		}
		v, known := f.read(&c, form)
		if !known {
			break
		}
		switch at {
		case atStmtList:
			stmtList, ok = v.n, true
		case atCompDir:
			dir = v.text
		}
	}
	return 0, nil, false
}

// findAbbrev moves to the attributes of the declaration with a code.
func findAbbrev(a *cursor, code uint64) bool {
	for !a.bad {
		c := a.uleb()
		if c == 0 {
			return false
		}
		a.uleb() // tag
		a.u8()   // has children
		if c == code {
			return true
		}
		for !a.bad {
			at, form := a.uleb(), a.uleb()
			if form == formImplicitConst {
				a.sleb()
			}
			if at == 0 && form == 0 {
				break
			}
		}
	}
	return false
}
