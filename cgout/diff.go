package cgout

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Differ subtracts one profile from another as cg_diff does: by function, all
// on line 0. A profile that it refuses may be there by half: every Add and Write after that return the same error.
type Differ struct {
	// ModFile and ModFunc change names; nil changes nothing. Add returns their errors.
	ModFile, ModFunc func(name string) (string, error)

	names, cmds []string // of the profiles added
	events      []string
	files       map[string]map[string][]Count
	summary     []Count
	err         error // of the first Add that failed
}

// Add reads a profile, whose errors call it name. The first one is subtracted
// from the second.
func (d *Differ) Add(name string, r io.Reader) error {
	switch {
	case d.err != nil:
	case len(d.names) == 2:
		return errors.New("cgout: a third profile for a Differ")
	default:
		d.err = d.add(name, r)
	}
	return d.err
}

func (d *Differ) add(name string, r io.Reader) error {
	s, err := newScannerFrom(name, r)
	if err != nil {
		return err
	}
	s.AnyLine = true
	v := differing{d: d, s: s, second: len(d.names) == 1}
	d.names = append(d.names, name)
	if err := s.Visit(&v); err != nil {
		return err
	}
	return v.finish()
}

// A differing is Differ.add at work.
type differing struct {
	d              *Differ
	s              *Scanner
	second         bool // the profile is the second one
	file, fn       string
	cell           []Count // of fn, nil until it has counts
	total, summary []Count
}

// Header implements Visitor.
func (v *differing) Header(h Header) error {
	d := v.d
	if !v.second {
		d.events = h.Events
		d.summary = make([]Count, len(d.events))
	} else if !slices.Equal(d.events, h.Events) {
		return ErrEvents
	}
	d.cmds = append(d.cmds, h.Cmd)
	v.total = make([]Count, len(d.events))
	return nil
}

// File implements Visitor.
func (v *differing) File(name string) (err error) {
	v.file, err = mod(v.d.ModFile, name)
	v.fn, v.cell = Unknown, nil
	return err
}

// Func implements Visitor.
func (v *differing) Func(name string) (err error) {
	v.fn, err = mod(v.d.ModFunc, name)
	v.cell = nil
	return err
}

// Counts implements Visitor.
func (v *differing) Counts(_ Count, counts []Count) error {
	if v.cell == nil {
		v.cell = v.d.cell(v.file, v.fn)
	}
	addCounts(v.total, counts)
	accumulate(v.cell, counts, v.second)
	return nil
}

// Summary implements Visitor. The last one counts.
func (v *differing) Summary(counts []Count) error {
	v.summary = slices.Clone(counts)
	return nil
}

// finish compares the summary with the counts and adds it.
func (v *differing) finish() error {
	if len(v.summary) == 0 { // as cg_diff has it: one without counts, too
		return v.s.noSummary()
	}
	if !slices.EqualFunc(v.summary, v.total, func(a, b Count) bool { return a.Cmp(b) == 0 }) {
		return v.s.Errorf("`summary:` line doesn't match computed total\n- summary: %s\n- total:   %s",
			List(v.summary), List(v.total))
	}
	accumulate(v.d.summary, v.summary, v.second)
	return nil
}

func mod(f func(string) (string, error), name string) (string, error) {
	if f == nil {
		return name, nil
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
	switch {
	case d.err != nil:
		return d.err
	case len(d.names) != 2:
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
