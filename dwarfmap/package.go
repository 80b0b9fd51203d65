package dwarfmap

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// A package (.dwp; DWARF 5, section 7.3.5, and GNU's form of it for version 4) has what several files of split DWARF
// have. The offsets that a unit has count from where its part of a section begins, which .debug_cu_index says by the
// identifier of its skeleton. (Units of types, which .debug_tu_index has, say nothing of code.)

// Sections, as the columns of the index call them. In version 2 of the index, that of GNU's form, the last is another
// one, which units of version 4 do not refer to.
const (
	sectInfo       = 1
	sectAbbrev     = 3
	sectStrOffsets = 6
	sectRnglists   = 8
)

// A unitIndex is a .debug_cu_index section: a hash table of identifiers, the row of each, counted from 1, and for each
// row the parts of sections.
type unitIndex struct {
	path                          string // of the package
	slots, columns, rows          uint64
	ids, rowOf, names, offs, size []byte
	// made has the units that were asked for, nil if there is none.
	made map[uint64]*infoUnit
}

func parseUnitIndex(data []byte) (*unitIndex, error) {
	c := cursor{data: data}
	version := c.uint(4) // 2, or 5 in 16 bits and nothing behind
	x := &unitIndex{columns: c.uint(4), rows: c.uint(4), slots: c.uint(4), made: map[uint64]*infoUnit{}}
	switch {
	case c.bad:
		return nil, fmt.Errorf(".debug_cu_index: %w", errTruncated)
	case version != 2 && version != 5:
		return nil, fmt.Errorf(".debug_cu_index: version %d is unknown", version)
	case x.slots&(x.slots-1) != 0:
		return nil, fmt.Errorf(".debug_cu_index: %d slots are no power of two", x.slots)
	}
	x.ids, x.rowOf, x.names = c.take(8*x.slots), c.take(4*x.slots), c.take(4*x.columns)
	table := 4 * x.columns * x.rows // 66 bits at most
	if x.columns > maxSection/4 || x.rows > maxSection/4 || table > maxSection {
		return nil, fmt.Errorf(".debug_cu_index: %d rows of %d columns are too many", x.rows, x.columns)
	}
	if x.offs, x.size = c.take(table), c.take(table); c.bad {
		return nil, fmt.Errorf(".debug_cu_index: %w", errTruncated)
	}
	return x, nil
}

// entryOf returns the n-th of numbers of so many bytes.
func entryOf(table []byte, n, bytes uint64) uint64 {
	c := cursor{data: table[n*bytes:]}
	return c.uint(bytes)
}

// row returns the row of an identifier, 0 if there is none. It takes the slots that it looks at from effort.
func (x *unitIndex) row(id uint64, effort *int) uint64 {
	if x.slots == 0 {
		return 0
	}
	mask := x.slots - 1
	at, step := id&mask, id>>32&mask|1
	for range x.slots {
		row := entryOf(x.rowOf, at, 4)
		if *effort--; row == 0 || row > x.rows || *effort < 0 {
			return 0
		}
		if entryOf(x.ids, at, 8) == id {
			return row
		}
		at = (at + step) & mask
	}
	return 0
}

// part returns where the part of a section begins and ends that a row has, 0 and 0 if it has none.
func (x *unitIndex) part(row, section uint64) (lo, hi uint64) {
	for column := range x.columns {
		if entryOf(x.names, column, 4) == section {
			at := (row-1)*x.columns + column
			lo = entryOf(x.offs, at, 4)
			return lo, lo + entryOf(x.size, at, 4)
		}
	}
	return 0, 0
}

// packed returns the unit with an identifier that the package d has, nil if it has none.
func (d *debugInfo) packed(o *Object, id uint64) *infoUnit {
	x := d.pack
	u, known := x.made[id]
	if known {
		return u
	}
	x.made[id] = nil
	row := x.row(id, &d.effort)
	lo, hi := uint64(0), uint64(0)
	if row > 0 {
		lo, hi = x.part(row, sectInfo)
	}
	if hi > uint64(len(d.info)) || lo >= hi || !o.room.take(256) {
		return nil
	}
	c := cursor{data: d.info[lo:hi]}
	body, offSize := c.unit()
	if c.bad {
		return nil
	}
	u = &infoUnit{off: lo, end: hi - uint64(len(c.data)), form: d.form}
	u.form.offSize = offSize
	u.abbrevBase, _ = x.part(row, sectAbbrev)
	if !d.header(u, body, o.room) {
		return nil
	}
	d.bounds(u, o)
	u.strBase, _ = x.part(row, sectStrOffsets)
	if u.form.version >= 5 { // Their tables begin with headers.
		u.strBase += 8
		u.rangesBase, _ = x.part(row, sectRnglists)
		u.rangesBase += 12
	}
	if u.skeleton.id != id {
		return nil
	}
	at, _ := slices.BinarySearchFunc(d.units, u, func(a, b *infoUnit) int { return cmp.Compare(a.off, b.off) })
	d.units = slices.Insert(d.units, at, u)
	x.made[id] = u
	return u
}

// packages returns those that lie beside the object, or beside its debug file, which may have been given another name.
func (o *Object) packages() []*debugInfo {
	if o.packsKnown {
		return o.packs
	}
	o.packsKnown = true
	images := []*image{o.main}
	if o.debug != nil {
		images = append(images, o.debug)
	}
	for _, m := range images {
		file := m.path + ".dwp"
		if o.opts.Resolve != nil {
			var ok bool
			if file, ok = o.opts.Resolve(file); !ok {
				continue
			}
		}
		d, err := o.loadPackage(file)
		if err == nil {
			o.packs = append(o.packs, d)
		} else if !errors.Is(err, fs.ErrNotExist) {
			o.fail(fmt.Errorf("inlined functions may be unknown: %w", err))
		}
	}
	return o.packs
}

// loadPackage reads a package.
func (o *Object) loadPackage(file string) (*debugInfo, error) {
	d, m, err := o.openSplit(file)
	if err != nil {
		return nil, err
	}
	defer m.close()
	data, err := m.data(".debug_cu_index")
	if err != nil {
		return nil, err
	}
	if d.pack, err = parseUnitIndex(data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d.pack.path = file
	return d, nil
}
