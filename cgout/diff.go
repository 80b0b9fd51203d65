package cgout

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Differ subtracts one profile from another as cg_diff does: by function, all
// on line 0.
type Differ struct {
	// ModFile and ModFunc change names; nil changes nothing.
	ModFile, ModFunc func(string) string

	names, cmds []string // of the profiles added
	events      []string
	files       map[string]map[string][]Count
	summary     []Count
}

// Add reads a profile, whose errors call it name. The first one is subtracted
// from the second.
func (d *Differ) Add(name string, r io.Reader) error {
	if len(d.names) == 2 {
		return errors.New("cgout: a third profile for a Differ")
	}
	s, err := newScannerFrom(name, r)
	if err != nil {
		return err
	}
	s.AnyLine = true
	second := len(d.names) == 1
	d.names = append(d.names, name)
	file, fn := "", ""
	var cell, total, summary []Count
	for s.Scan() {
		rec := s.Record()
		switch rec.Kind {
		case Cmd:
			d.cmds = append(d.cmds, rec.Text)
		case Events:
			if !second {
				d.events = rec.Names
				d.summary = make([]Count, len(d.events))
			} else if !slices.Equal(d.events, rec.Names) {
				return ErrEvents
			}
			total = make([]Count, len(d.events))
		case File:
			file, fn, cell = mod(d.ModFile, rec.Text), "???", nil
		case Func:
			fn, cell = mod(d.ModFunc, rec.Text), nil
		case Counts:
			if cell == nil {
				cell = d.cell(file, fn)
			}
			addCounts(total, rec.Counts)
			accumulate(cell, rec.Counts, second)
		case Summary:
			summary = slices.Clone(rec.Counts)
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	if len(summary) == 0 {
		return s.Errorf("missing `summary:` line, aborting")
	}
	if !slices.EqualFunc(summary, total, func(a, b Count) bool { return a.Cmp(b) == 0 }) {
		return s.Errorf("`summary:` line doesn't match computed total\n- summary: %s\n- total:   %s",
			List(summary), List(total))
	}
	accumulate(d.summary, summary, second)
	return nil
}

func mod(f func(string) string, name string) string {
	if f == nil {
		return name
	}
	return f(name)
}

// cell returns the counts of a function, made if there are none.
func (d *Differ) cell(file, fn string) []Count {
	if d.files == nil {
		d.files = map[string]map[string][]Count{}
	}
	fns := d.files[file]
	if fns == nil {
		fns = map[string][]Count{}
		d.files[file] = fns
	}
	if fns[fn] == nil {
		fns[fn] = make([]Count, len(d.events))
	}
	return fns[fn]
}

// accumulate adds the counts of the second profile and subtracts the first's.
func accumulate(sum, counts []Count, second bool) {
	for i, c := range counts {
		if !second {
			c = c.Neg()
		}
		sum[i] = sum[i].Add(c)
	}
}

// Write writes second minus first.
func (d *Differ) Write(w io.Writer) error {
	if len(d.names) != 2 {
		return errors.New("cgout: Differ.Write before two profiles were added")
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "desc: Files compared:   %s; %s\n", d.names[0], d.names[1])
	writeHeader(b, nil, d.cmds[0]+"; "+d.cmds[1], d.events)
	for _, file := range sortedKeys(d.files) {
		for _, fn := range sortedKeys(d.files[file]) {
			fmt.Fprintf(b, "fl=%s\nfn=%s\n0", file, fn)
			writeCounts(b, d.files[file][fn])
		}
	}
	b.WriteString("summary:")
	writeCounts(b, d.summary)
	return b.Flush()
}
