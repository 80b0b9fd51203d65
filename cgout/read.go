package cgout

import (
	"io"
	"math"
	"slices"
)

// Unspecified is the function of counts for which a file names none.
const Unspecified = "<unspecified>"

// Unknown is the file or function of code of which nothing is known.
const Unknown = "???"

// Read reads a profile. Errors call it name. The summary must be there and equal the sum of the counts. Unlike
// cg_annotate, Read refuses numbers and totals that are negative or do not fit, and files without events. It reads
// Callgrind's format, too, with the call graph; its parts are added up.
func Read(name string, r io.Reader) (*Profile, error) {
	data, err := ReadAll(name, r)
	if err != nil {
		return nil, err
	}
	if isCallgrind(data) {
		return readCallgrind(name, data)
	}
	s := newScanner(name, data)
	v := reader{s: s, p: New(), fn: Unspecified}
	if err := s.Visit(&v); err != nil {
		return nil, err
	}
	return v.p, nil
}

// A reader is Read at work.
type reader struct {
	s        *Scanner
	p        *Profile
	file, fn string
	total    []uint64 // of the lines so far
	counts   []uint64 // used again for every line
}

// Header implements Visitor.
func (v *reader) Header(h Header) error {
	if len(h.Events) == 0 {
		return v.s.Errorf("no events")
	}
	v.p.Desc, v.p.Cmd, v.p.Events, v.total = h.Desc, h.Cmd, h.Events, make([]uint64, len(h.Events))
	return nil
}

// File implements Visitor.
func (v *reader) File(name string) error {
	v.file, v.fn = name, Unspecified
	return nil
}

// Func implements Visitor.
func (v *reader) Func(name string) error {
	v.fn = name
	return nil
}

// Counts implements Visitor.
func (v *reader) Counts(line Count, counts []Count) (err error) {
	n, ok := line.Int64()
	if !ok || n > math.MaxInt {
		return v.s.Errorf("line number %s is out of range", line)
	}
	if v.counts, err = toUint64(v.s, v.counts[:0], counts); err != nil {
		return err
	}
	if e := addExactly(v.total, v.counts); e >= 0 {
		return v.s.Errorf(largeTotal, v.p.Events[e])
	}
	v.p.Add(v.file, v.fn, int(n), v.counts...)
	return nil
}

// Summary implements Visitor.
func (v *reader) Summary(counts []Count) (err error) {
	if v.counts, err = toUint64(v.s, v.counts[:0], counts); err != nil {
		return err
	}
	if !slices.Equal(v.total, v.counts) {
		return v.s.Errorf("`summary:` line doesn't match computed total\n- summary:  %s\n- computed: %s",
			List(counts), List(fromUint64(v.total)))
	}
	return nil
}

// toUint64 appends counts to buf.
func toUint64(s *Scanner, buf []uint64, counts []Count) ([]uint64, error) {
	for _, c := range counts {
		u, ok := c.Uint64()
		if !ok {
			return nil, s.Errorf("count %s is out of range", c)
		}
		buf = append(buf, u)
	}
	return buf, nil
}

func fromUint64(counts []uint64) []Count {
	list := make([]Count, len(counts))
	for i, c := range counts {
		list[i] = NewCountUint64(c)
	}
	return list
}

// List returns counts as error messages show them: [1, 2].
func List(counts []Count) string {
	b := []byte{'['}
	for i, c := range counts {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = c.Append(b)
	}
	return string(append(b, ']'))
}
