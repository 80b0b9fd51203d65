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

// Read reads a profile. Errors call it name. The summary must be there and equal
// the sum of the counts. Unlike cg_annotate, Read refuses numbers that are
// negative or do not fit, and files without events.
func Read(name string, r io.Reader) (*Profile, error) {
	s, err := newScannerFrom(name, r)
	if err != nil {
		return nil, err
	}
	p := New()
	file, fn := "", Unspecified
	var counts []uint64
	summaries := 0
	for s.Scan() {
		rec := s.Record()
		switch rec.Kind {
		case Desc:
			p.Desc = append(p.Desc, rec.Text)
		case Cmd:
			p.Cmd = rec.Text
		case Events:
			if p.Events = rec.Names; len(p.Events) == 0 {
				return nil, s.Errorf("no events")
			}
		case File:
			file, fn = rec.Text, Unspecified
		case Func:
			fn = rec.Text
		case Counts:
			line, ok := rec.Line.Int64()
			if !ok || line > math.MaxInt {
				return nil, s.Errorf("line number %s is out of range", rec.Line)
			}
			if counts, err = toUint64(s, counts[:0], rec.Counts); err != nil {
				return nil, err
			}
			p.Add(file, fn, int(line), counts...)
		case Summary:
			if counts, err = toUint64(s, counts[:0], rec.Counts); err != nil {
				return nil, err
			}
			summaries++
			if sum := p.Totals(); !slices.Equal(sum, counts) {
				return nil, s.Errorf("`summary:` line doesn't match computed total\n- summary:  %s\n- computed: %s",
					List(rec.Counts), List(fromUint64(sum)))
			}
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if summaries == 0 {
		return nil, s.Errorf("missing `summary:` line, aborting")
	}
	return p, nil
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
