package annotate

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cgemu/cgemu/cgout"
)

// counts are the counts of something, one per recorded event.
type counts []cgout.Count

func (c counts) add(d counts) {
	for i := range c {
		c[i] = c[i].Add(d[i])
	}
}

func (c counts) neg() counts {
	d := make(counts, len(c))
	for i := range c {
		d[i] = c[i].Neg()
	}
	return d
}

func (c counts) equal(d counts) bool {
	return slices.EqualFunc(c, d, func(a, b cgout.Count) bool { return a.Cmp(b) == 0 })
}

// A pairTable holds counts by an outer and an inner name: files and their
// functions, or functions and their files.
type pairTable map[string]map[string]counts

func (t pairTable) at(outer, inner string, events int) counts {
	m := t[outer]
	if m == nil {
		m = map[string]counts{}
		t[outer] = m
	}
	c := m[inner]
	if c == nil {
		c = make(counts, events)
		m[inner] = c
	}
	return c
}

// A source is a file as shown: its names in the profiles, its counts by line.
type source struct {
	originals map[string]bool
	lines     map[string]*lineCounts // by number in decimal, which has no bound
}

type lineCounts struct {
	line cgout.Count
	counts
}

func (s *source) at(line cgout.Count, events int) counts {
	key := line.String()
	l := s.lines[key]
	if l == nil {
		l = &lineCounts{line, make(counts, events)}
		s.lines[key] = l
	}
	return l.counts
}

// A model is what all profiles together say.
type model struct {
	profiles []profile
	events   []string
	byFile   pairTable
	byFunc   pairTable
	sources  map[string]*source
	total    counts
}

// A profile is what is kept of one profile.
type profile struct {
	name string
	desc []string
	cmd  string
}

// load reads the profiles of a command line.
func load(o *options) (*model, error) {
	m := &model{byFile: pairTable{}, byFunc: pairTable{}, sources: map[string]*source{}}
	for i, name := range o.files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, errors.New(osError(err, name))
		}
		r := reader{m: m, o: o, negate: o.diff && i == 0, s: cgout.NewScanner(name, data)}
		if err := r.read(name); err != nil {
			return nil, err
		}
	}
	for _, mod := range []*mod{o.modFile, o.modFunc} {
		if mod != nil && mod.err != nil {
			return nil, mod.err
		}
	}
	return m, nil
}

// A reader adds one profile to a model.
type reader struct {
	m      *model
	o      *options
	s      *cgout.Scanner
	negate bool

	file, fn string
	detached bool // before the first fl=, counts belong to no file
	named    bool // a function was named
	sum      counts
	// Where the counts of the present file and function go.
	source         *source
	inFile, inFunc counts
}

func (r *reader) read(name string) error {
	p := profile{name: name}
	r.detached = true
	summaries := 0
	for r.s.Scan() {
		rec := r.s.Record()
		switch rec.Kind {
		case cgout.Desc:
			p.desc = append(p.desc, rec.Text)
		case cgout.Cmd:
			p.cmd = rec.Text
		case cgout.Events:
			if err := r.checkEvents(rec.Names); err != nil {
				return err
			}
		case cgout.File:
			r.setFile(rec.Text)
		case cgout.Func:
			r.setFunc(r.o.modFunc.apply(rec.Text))
		case cgout.Counts:
			r.count(rec.Line, rec.Counts)
		case cgout.Summary:
			summaries++
			c := counts(slices.Clone(rec.Counts))
			if !c.equal(r.sum) {
				return r.s.Errorf("`summary:` line doesn't match computed total\n- summary:  %s\n- computed: %s",
					cgout.List(c), cgout.List(r.sum))
			}
			if r.negate {
				c = c.neg()
			}
			r.m.total.add(c)
		}
	}
	if err := r.s.Err(); err != nil {
		return err
	}
	if summaries == 0 {
		return r.s.Errorf("missing `summary:` line, aborting")
	}
	r.m.profiles = append(r.m.profiles, p)
	return nil
}

// checkEvents compares the events with the options and with the first profile.
func (r *reader) checkEvents(names []string) error {
	if len(names) == 0 {
		return r.s.Errorf("no events")
	}
	for _, list := range []struct {
		option string
		names  []string
	}{{"--show", r.o.show}, {"--sort", r.o.sort}} {
		for _, name := range list.names {
			if !slices.Contains(names, name) {
				return fmt.Errorf("%s event `%s` did not appear in `events:` line", list.option, name)
			}
		}
	}
	if r.m.events == nil {
		r.m.events = names
		r.m.total = make(counts, len(names))
	} else if !slices.Equal(r.m.events, names) {
		return cgout.ErrEvents
	}
	r.sum = make(counts, len(names))
	return nil
}

func (r *reader) setFile(original string) {
	r.detached, r.file = false, r.o.modFile.apply(original)
	s := r.m.sources[r.file]
	if s == nil {
		s = &source{originals: map[string]bool{}, lines: map[string]*lineCounts{}}
		r.m.sources[r.file] = s
	}
	s.originals[original] = true
	r.source = s
	// The pair of the file and no function is there even if a function follows
	// at once; --threshold=0 shows it.
	r.setFunc(r.o.modFunc.apply(cgout.Unspecified))
}

func (r *reader) setFunc(fn string) {
	r.fn, r.named = fn, true
	events := len(r.m.events)
	r.inFunc = r.m.byFunc.at(fn, r.file, events)
	if !r.detached {
		r.inFile = r.m.byFile.at(r.file, fn, events)
	}
}

func (r *reader) count(line cgout.Count, c counts) {
	r.sum.add(c)
	if r.negate {
		c = c.neg()
	}
	if r.named {
		r.inFunc.add(c)
	}
	if !r.detached {
		r.inFile.add(c)
		r.source.at(line, len(c)).add(c)
	}
}

// columns returns the columns of events. Of several events of one name the last
// is meant.
func (m *model) columns(names []string) []int {
	var list []int
	for _, name := range names {
		i := len(m.events) - 1
		for m.events[i] != name {
			i--
		}
		list = append(list, i)
	}
	return list
}
