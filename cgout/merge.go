package cgout

import (
	"bufio"
	"errors"
	"io"
	"slices"

	"github.com/cgemu/cgemu/internal/numbering"
)

// ErrEvents says that profiles count different events.
var ErrEvents = errors.New("events in data files don't match")

// A Merger adds up profiles as cg_merge does: whatever their numbers, in the
// order in which names and lines first appear. A profile that it refuses may be there by half: every Add and Write
// after that return the same error.
type Merger struct {
	desc    []string
	cmd     string
	events  []string
	started bool
	files   table[*table[*lineTable]]
	summary []Count
	block   []Count // what is left of the last block that zeros cut from
	err     error   // of the first Add that failed
}

// A table is a map that remembers the order in which keys came.
type table[V any] struct {
	keys numbering.Table[string]
	vals []V
}

// at returns the value of key, made by mk if there is none.
func (t *table[V]) at(key string, mk func() V) V {
	i, isNew := t.keys.Number(key)
	if isNew {
		t.vals = append(t.vals, mk())
	}
	return t.vals[i]
}

// A lineTable holds counts by line number, which has no bound.
type lineTable struct {
	small map[int64]int  // indexes of lines
	large map[string]int // those of lines with numbers beyond, in decimal
	lines []Count
	vals  [][]Count
}

// at returns the counts of a line, made by mk if there are none.
func (t *lineTable) at(line Count, mk func() []Count) []Count {
	n, isSmall := line.Int64()
	i, ok := t.small[n]
	if !isSmall {
		i, ok = t.large[line.String()]
	}
	if ok {
		return t.vals[i]
	}
	switch {
	case !isSmall && t.large == nil:
		t.large = map[string]int{}
	case isSmall && t.small == nil:
		t.small = map[int64]int{}
	}
	if isSmall {
		t.small[n] = len(t.lines)
	} else {
		t.large[line.String()] = len(t.lines)
	}
	t.lines, t.vals = append(t.lines, line), append(t.vals, mk())
	return t.vals[len(t.vals)-1]
}

// Add reads a profile, whose errors call it name, and adds it.
func (m *Merger) Add(name string, r io.Reader) error {
	if m.err == nil {
		m.err = m.add(name, r)
	}
	return m.err
}

func (m *Merger) add(name string, r io.Reader) error {
	s, err := newScannerFrom(name, r)
	if err != nil {
		return err
	}
	v := merging{m: m, first: !m.started}
	m.started = true
	return s.Visit(&v)
}

// A merging is Merger.add at work.
type merging struct {
	m        *Merger
	first    bool // the profile is the first one
	file, fn string
	lines    *lineTable // of fn, nil until it has counts
}

// Header implements Visitor.
func (v *merging) Header(h Header) error {
	m := v.m
	if v.first {
		m.desc, m.cmd, m.events = h.Desc, h.Cmd, h.Events
		m.summary = make([]Count, len(m.events))
	} else if !slices.Equal(m.events, h.Events) {
		return ErrEvents
	}
	return nil
}

// File implements Visitor.
func (v *merging) File(name string) error {
	v.file, v.fn, v.lines = name, Unknown, nil
	return nil
}

// Func implements Visitor.
func (v *merging) Func(name string) error {
	v.fn, v.lines = name, nil
	return nil
}

// Counts implements Visitor.
func (v *merging) Counts(line Count, counts []Count) error {
	if v.lines == nil {
		v.lines = v.m.files.at(v.file, mk[table[*lineTable]]).at(v.fn, mk[lineTable])
	}
	addCounts(v.lines.at(line, v.m.zeros), counts)
	return nil
}

// Summary implements Visitor.
func (v *merging) Summary(counts []Count) error {
	addCounts(v.m.summary, counts)
	return nil
}

func mk[T any]() *T { return new(T) }

// zeros returns counts of 0, cut from a block.
func (m *Merger) zeros() []Count {
	n := len(m.events)
	if len(m.block) < n {
		m.block = make([]Count, 1024*n)
	}
	c := m.block[:n:n]
	m.block = m.block[n:]
	return c
}

func addCounts(sum, counts []Count) {
	for i, c := range counts {
		sum[i] = sum[i].Add(c)
	}
}

// Write writes the sum of what was added. It is an error if nothing was.
func (m *Merger) Write(w io.Writer) error {
	switch {
	case m.err != nil:
		return m.err
	case !m.started:
		return errors.New("cgout: Merger.Write before a profile was added")
	}
	b := bufio.NewWriter(w)
	writeHeader(b, m.desc, m.cmd, m.events)
	for i, file := range m.files.keys.Values() {
		b.WriteString("fl=" + file + "\n")
		fns := m.files.vals[i]
		for j, fn := range fns.keys.Values() {
			b.WriteString("fn=" + fn + "\n")
			lines := fns.vals[j]
			for k, line := range lines.lines {
				b.Write(line.Append(b.AvailableBuffer()))
				writeCounts(b, lines.vals[k])
			}
		}
	}
	b.WriteString("summary:")
	writeCounts(b, m.summary)
	return b.Flush()
}

func writeHeader(b *bufio.Writer, desc []string, cmd string, events []string) {
	for _, d := range desc {
		b.WriteString("desc: " + d + "\n")
	}
	b.WriteString("cmd: " + cmd + "\nevents:")
	for _, e := range events {
		b.WriteString(" " + e)
	}
	b.WriteByte('\n')
}

func writeCounts(b *bufio.Writer, counts []Count) {
	for _, c := range counts {
		b.WriteByte(' ')
		b.Write(c.Append(b.AvailableBuffer()))
	}
	b.WriteByte('\n')
}
