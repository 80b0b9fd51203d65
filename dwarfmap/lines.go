package dwarfmap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// A row is a run of bytes of one line.
type row struct {
	addr, size uint64
	line, file uint32
	unit       *lineUnit
}

// A sequence is a part of a line program whose rows are to be decoded together.
// Nearly always that is one sequence in DWARF's sense.
type sequence struct {
	span
	parts []*part
	rows  []row // sorted by address; nil before decoding
	known bool
}

// A lineTable is a .debug_line section.
type lineTable struct {
	form  formReader
	units []*lineUnit
	// Either starts has the beginnings of all sequences, and units their
	// sequences when needed; or starts is nil, and seqs has all sequences.
	starts []start    // sorted
	seqs   []sequence // sorted, disjoint
	// next is the row of sequence last behind the one that was looked up last: lookups come in ascending order.
	last *sequence
	next int
	maps *mappings // rows that are not in them are dropped
	// dirs returns the compilation directories by offset of the unit.
	dirs func() map[uint64][]byte
	room *allowance
	done <-chan struct{}
	// fail reports what is wrong in tables that are read late.
	fail func(error)
}

// line returns the file and line of an address.
func (o *Object) line(addr uint64) (file string, line int, ok bool) {
	if !o.text.has(addr) {
		return "", 0, false
	}
	o.needLines()
	last := &o.lastRow
	if !last.has(addr) {
		if t := o.goLines; t != nil {
			r, ok := t.row(addr)
			if !ok {
				return "", 0, false
			}
			last.span, last.file, last.line = r.span, t.path(r.file), r.line
			return last.file, last.line, true
		}
		r, ok := o.lines.row(addr)
		if !ok {
			return "", 0, false
		}
		last.span = span{r.addr, r.addr + r.size}
		last.file, last.line = o.lines.fileName(source{r.unit, r.file}), int(r.line)
	}
	return last.file, last.line, true
}

// rowUntil returns where what has the same line as addr ends, which line was called for; inRow says whether it has one.
func (o *Object) rowUntil(addr uint64, inRow bool) uint64 {
	switch {
	case inRow:
		return o.lastRow.hi
	case addr < o.text.lo:
		return o.text.lo
	case !o.text.has(addr) || len(o.lines.units) == 0 && o.goLines == nil:
		return math.MaxUint64
	case o.goLines != nil:
		return addr + 1
	}
	return o.lines.gapUntil(addr)
}

// gapUntil returns where sequences may begin behind addr, for which there is no row: at the next address if a sequence
// covers it.
func (t *lineTable) gapUntil(addr uint64) uint64 {
	if t.sequence(addr) != nil {
		return addr + 1
	}
	if t.starts == nil {
		return nextSequence(t.seqs, addr)
	}
	// A unit that was looked at has its sequences, whose first rows may come later than they start.
	i := t.startBefore(addr)
	next := uint64(math.MaxUint64)
	if i >= 0 {
		next = nextSequence(t.starts[i].unit.seqs, addr)
	}
	if i+1 < len(t.starts) {
		next = min(next, t.starts[i+1].addr)
	}
	return next
}

// nextSequence returns where the first sequence behind addr begins.
func nextSequence(seqs []sequence, addr uint64) uint64 {
	i, _ := slices.BinarySearchFunc(seqs, addr, func(s sequence, addr uint64) int { return cmp.Or(cmp.Compare(s.lo, addr), -1) })
	if i == len(seqs) {
		return math.MaxUint64
	}
	return seqs[i].lo
}

// needLines reads the line table's index unless that was done.
func (o *Object) needLines() {
	if o.lines == nil {
		o.lines = &lineTable{}
		if err := o.loadLines(); err != nil {
			o.fail(err)
		}
	}
}

// loadLines reads the line table's index.
func (o *Object) loadLines() error {
	// Valgrind reads lines by way of .debug_info, so without it there are none.
	m := o.image(".debug_info", ".debug_abbrev", ".debug_line")
	if m == nil {
		o.goLines = o.goTable()
		return nil
	}
	t := o.lines
	t.maps, t.room, t.fail, t.done = &o.execs, o.room, o.fail, o.opts.Done
	data, err := m.data(".debug_line")
	if err != nil {
		return err
	}
	if t.form.lineStr, err = m.data(".debug_line_str"); err != nil {
		return err
	}
	t.form.str = sync.OnceValue(func() []byte {
		str, err := m.data(".debug_str")
		o.fail(err)
		return str
	})
	t.dirs = sync.OnceValue(func() map[uint64][]byte {
		dirs, err := compilationDirs(m, t.form)
		o.fail(err)
		return dirs
	})
	bias := uint64(0)
	if s := m.section(".text"); s != nil {
		bias = o.text.lo - s.Addr
	}
	return t.index(data, bias)
}

// covering returns the sequence that covers addr, nil if there is none.
func covering(seqs []sequence, addr uint64) *sequence {
	i, found := slices.BinarySearchFunc(seqs, addr, func(s sequence, addr uint64) int {
		return cmp.Compare(s.lo, addr)
	})
	if !found {
		i--
	}
	if i < 0 || !seqs[i].has(addr) {
		return nil
	}
	return &seqs[i]
}

// row returns the row that covers addr.
func (t *lineTable) row(addr uint64) (row, bool) {
	if s := t.last; s != nil && t.next < len(s.rows) {
		if r := s.rows[t.next]; addr-r.addr < r.size {
			t.next++
			return r, true
		}
	}
	s := t.sequence(addr)
	if s == nil {
		return row{}, false
	}
	if !s.known {
		s.known = true
		for _, p := range s.parts {
			var whole bool
			if s.rows, whole = p.rows(s.rows, t.maps, t.room); !whole {
				t.fail(fmt.Errorf("line table at %#x: %w", p.unit.off, t.room.exceeded("its rows")))
			}
		}
		disjointRows(s.rows)
	}
	// The first row that begins after addr.
	j, _ := slices.BinarySearchFunc(s.rows, addr, func(r row, addr uint64) int {
		if r.addr <= addr {
			return -1
		}
		return 1
	})
	if j == 0 || addr-s.rows[j-1].addr >= s.rows[j-1].size {
		return row{}, false
	}
	t.last, t.next = s, j
	return s.rows[j-1], true
}

// disjointRows sorts rows and cuts each where the next one begins. Of rows that
// begin together the last one counts, those before it are cut to nothing
// (Valgrind, storage.c, canonicaliseLoctab).
func disjointRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.addr, b.addr) })
	for i := range len(rows) - 1 {
		rows[i].size = min(rows[i].size, rows[i+1].addr-rows[i].addr)
	}
}

// fileName returns the name of a file.
func (t *lineTable) fileName(src source) string {
	u, index := src.unit, src.file
	if u.files == nil {
		if err := u.readFiles(t.form, t.room); err != nil {
			t.fail(fmt.Errorf("line table at %#x: %w", u.off, err))
		}
		if u.version < 5 {
			u.compDir = t.dirs()[u.off]
		}
	}
	if uint64(index) >= uint64(len(u.files)) || u.files[index].name == nil {
		return Unknown
	}
	f := &u.files[index]
	if f.path == "" {
		if f.path = u.path(f); !t.room.take(uint64(len(f.path))) {
			t.fail(fmt.Errorf("line table at %#x: %w", u.off, t.room.exceeded("its file names")))
			f.path = Unknown
		}
	}
	return f.path
}
