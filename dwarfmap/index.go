package dwarfmap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// index finds the units of the section, and where their code begins.
func (t *lineTable) index(data []byte, bias uint64) error {
	c := cursor{data: data}
	var before *lineUnit
	var err error
	special := new(specialOpcodes)
	for len(c.data) > 0 && !isDone(t.done) {
		off := uint64(len(data) - len(c.data))
		unit, offSize := c.unit()
		if c.bad {
			err = fmt.Errorf("line table at %#x: %w", off, errTruncated)
			break
		}
		u, err2 := parseHeader(unit, offSize)
		if err2 != nil {
			err = cmp.Or(err, fmt.Errorf("line table at %#x: %w", off, err2))
			continue
		}
		u.off, u.bias, u.before = off, bias, before
		u.special = special
		before = u
		t.units = append(t.units, u)
	}
	if !t.findStarts() {
		t.indexAll()
	}
	if isDone(t.done) {
		return ErrStopped
	}
	return err
}

// A start is where a sequence begins.
type start struct {
	addr uint64
	unit *lineUnit
}

// setAddressOp is DW_LNE_set_address up to its argument, an address of 8 bytes.
var setAddressOp = []byte{0, 9, lneSetAddress}

// findStarts finds where sequences begin without running the programs, in a 25th
// of the time that takes. It reports whether that suffices: whether nothing speaks
// against each sequence lying between its start and the next one of another unit.
//
// So it is in what compilers and linkers make of programs from which nothing was
// removed. Sequences of functions that a linker has removed begin at 0, or at the
// copy that it kept. Of each unit that is run, and its neighbours, it is checked.
func (t *lineTable) findStarts() bool {
	for _, u := range t.units {
		if isDone(t.done) {
			return true
		}
		n := len(t.starts)
		for rest := u.program; ; {
			_, after, found := bytes.Cut(rest, setAddressOp)
			if !found || len(after) < 8 {
				break
			}
			addr := binary.LittleEndian.Uint64(after)
			if addr == 0 || !t.maps.has(addr+u.bias, addr+u.bias) {
				return false
			}
			t.starts = append(t.starts, start{addr + u.bias, u})
			rest = after[8:]
		}
		if n == len(t.starts) && len(u.program) > 0 {
			return false // its addresses are set in some other way
		}
	}
	slices.SortFunc(t.starts, func(a, b start) int { return cmp.Compare(a.addr, b.addr) })
	for i := range len(t.starts) - 1 {
		if t.starts[i].addr == t.starts[i+1].addr {
			return false
		}
	}
	return true
}

// indexAll finds all sequences by running all programs.
func (t *lineTable) indexAll() {
	t.starts, t.seqs = nil, nil
	var last *part
	for _, u := range t.units {
		if isDone(t.done) {
			t.seqs = nil
			return
		}
		t.seqs = u.sequences(t.seqs, t.maps)
		if u.first != nil {
			u.first.follow(last)
			last = u.last
		}
	}
	t.seqs = joinOverlaps(t.seqs)
}

// joinOverlaps sorts sequences and makes one of those that overlap, so that their
// rows are seen together.
func joinOverlaps(seqs []sequence) []sequence {
	slices.SortStableFunc(seqs, func(a, b sequence) int { return cmp.Compare(a.lo, b.lo) })
	out := seqs[:0]
	for _, s := range seqs {
		if n := len(out); n > 0 && s.lo < out[n-1].hi {
			last := &out[n-1]
			last.hi = max(last.hi, s.hi)
			last.parts = append(last.parts, s.parts...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// sequence returns the sequence that covers addr, nil if there is none.
func (t *lineTable) sequence(addr uint64) *sequence {
	if t.starts != nil {
		i := t.startBefore(addr)
		if i < 0 {
			return nil
		}
		u := t.starts[i].unit
		// The sequence before might go on behind this start.
		if t.indexUnit(u) && (i == 0 || t.run(t.starts[i-1].unit)) {
			return covering(u.seqs, addr)
		}
		t.indexAll()
		t.last = nil
	}
	return covering(t.seqs, addr)
}

// startBefore returns which start is the last one not after addr, -1 if none is.
func (t *lineTable) startBefore(addr uint64) int {
	i, found := slices.BinarySearchFunc(t.starts, addr, func(s start, addr uint64) int {
		return cmp.Compare(s.addr, addr)
	})
	if !found {
		i--
	}
	return i
}

// indexUnit finds the sequences of a unit, and what is in front of the first. It
// reports whether they are where the starts had them.
func (t *lineTable) indexUnit(u *lineUnit) bool {
	ok := true
	for !u.linked {
		u.linked = true
		ok = t.run(u) && ok
		if u.first == nil {
			break
		}
		before := u.before
		for ; before != nil; before = before.before {
			ok = t.run(before) && ok
			if before.last != nil {
				break
			}
		}
		if before == nil {
			break
		}
		u.first.follow(before.last)
		if u.first.before != before.first {
			break
		}
		u = before // what is in front of that may matter, too
	}
	return ok
}

// run finds the sequences of a unit. It reports whether the starts of the code they
// cover are all its own.
func (t *lineTable) run(u *lineUnit) bool {
	if u.seqs != nil {
		return true
	}
	u.seqs = joinOverlaps(u.sequences([]sequence{}, t.maps))
	for _, s := range u.seqs {
		i := t.startBefore(s.lo)
		if i < 0 {
			return false
		}
		for ; i < len(t.starts) && t.starts[i].addr < s.hi; i++ {
			if t.starts[i].unit != u {
				return false
			}
		}
	}
	return true
}
