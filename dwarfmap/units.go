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
func compilationDirs(m *image, form formReader) (map[uint64]string, error) {
	info, err := m.data(".debug_info")
	if err != nil {
		return nil, err
	}
	abbrev, err := m.data(".debug_abbrev")
	if err != nil {
		return nil, err
	}
	dirs := map[uint64]string{}
	c := cursor{data: info}
	for len(c.data) > 0 {
		off := len(info) - len(c.data)
		unit, offSize := c.unit()
		if c.bad {
			return dirs, fmt.Errorf(".debug_info at %#x: %w", off, errTruncated)
		}
		f := form
		f.offSize = offSize
		if stmtList, dir, ok := f.unitDir(unit, abbrev); ok {
			if _, known := dirs[stmtList]; !known {
				dirs[stmtList] = string(dir)
			}
		}
	}
	return dirs, nil
}

// unitDir reads the header and the first entry of a unit.
func (f *formReader) unitDir(c cursor, abbrev []byte) (stmtList uint64, dir []byte, ok bool) {
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
	if abbrevOff > uint64(len(abbrev)) || f.version < 2 || f.version > 5 {
		return 0, nil, false
	}
	a := cursor{data: abbrev[abbrevOff:]}
	if !findAbbrev(&a, c.uleb()) {
		return 0, nil, false
	}
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
