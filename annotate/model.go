package annotate

import (
	"errors"
	"fmt"
	"io/fs"
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
type pairTable map[string]*innerTable

// An innerTable has the inner names of one outer name. There are mostly few.
type innerTable struct {
	list  []innerPair
	index map[string]int // of list, when there are many
}

type innerPair struct {
	name string
	counts
}

const manyInner = 8

func (t pairTable) at(outer, inner string, events int) counts {
	m := t[outer]
	if m == nil {
		m = &innerTable{}
		t[outer] = m
	}
	i, ok := m.index[inner]
	if m.index == nil {
		i = slices.IndexFunc(m.list, func(p innerPair) bool { return p.name == inner })
		ok = i >= 0
	}
	if ok {
		return m.list[i].counts
	}
	m.list = append(m.list, innerPair{inner, make(counts, events)})
	switch n := len(m.list); {
	case m.index != nil:
		m.index[inner] = n - 1
	case n > manyInner:
		m.index = make(map[string]int, 2*n)
		for i, p := range m.list {
			m.index[p.name] = i
		}
	}
	return m.list[len(m.list)-1].counts
}

// A source is a file as shown: its names in the profiles, its counts by line. Most are not
// shown, so that lines are only made when they are asked for.
type source struct {
	originals map[string]bool
	parents   bool // lines are to know their functions
	blocks    []sourceBlock
	lines     []*lineCounts
	small     map[int64]*lineChunk   // lines by number, without the last bits
	large     map[string]*lineCounts // those with numbers beyond, in decimal

	// The last chunk: counts come line by line.
	chunk   *lineChunk
	chunkNo int64

	// What is left of the last blocks that lines were cut from.
	lineBlock  []lineCounts
	countBlock counts
}

// A sourceBlock is where a profile counts lines of one function.
type sourceBlock struct {
	cgout.Block
	in     counts // of the function
	negate bool
}

// byLine returns the lines, in the order in which the profiles first have them.
func (s *source) byLine() []*lineCounts {
	for _, b := range s.blocks {
		for line, c := range b.All {
			sum := s.at(line, b.in)
			if b.negate {
				sum.add(counts(c).neg())
			} else {
				sum.add(c)
			}
		}
	}
	s.blocks = nil
	return s.lines
}

// newLine returns a line with counts of 0. Lines are allocated in blocks that grow
// with the file: one by one took a third of the time (BenchmarkTools).
func (s *source) newLine(line cgout.Count, events int) *lineCounts {
	if len(s.lineBlock) == 0 {
		n := min(max(8, len(s.lines)), 1024)
		s.lineBlock, s.countBlock = make([]lineCounts, n), make(counts, n*events)
	}
	l := &s.lineBlock[0]
	l.line, l.counts = line, s.countBlock[:events:events]
	s.lineBlock, s.countBlock = s.lineBlock[1:], s.countBlock[events:]
	s.lines = append(s.lines, l)
	return l
}

type lineCounts struct {
	line cgout.Count
	counts
	in []counts // of the functions that have the line
}

// at returns the counts of a line, which is in a function with the counts fn.
func (s *source) at(line cgout.Count, fn counts) counts {
	l := s.find(line, len(fn))
	if n := len(l.in); s.parents && (n == 0 || &l.in[n-1][0] != &fn[0]) {
		l.in = append(l.in, fn)
	}
	return l.counts
}

// find returns a line, made if there is none.
func (s *source) find(line cgout.Count, events int) *lineCounts {
	n, ok := line.Int64()
	if !ok {
		key := line.String()
		if s.large[key] == nil {
			s.large[key] = s.newLine(line, events)
		}
		return s.large[key]
	}
	if no := n >> chunkBits; s.chunk == nil || s.chunkNo != no {
		s.chunk, s.chunkNo = s.small[no], no
		if s.chunk == nil {
			s.chunk = new(lineChunk)
			s.small[no] = s.chunk
		}
	}
	place := &s.chunk[n&(1<<chunkBits-1)]
	if *place == nil {
		*place = s.newLine(line, events)
	}
	return *place
}

// A lineChunk holds lines whose numbers differ in their last bits.
type lineChunk [1 << chunkBits]*lineCounts

const chunkBits = 4

// parent returns the counts of the functions that have the line.
func (l *lineCounts) parent() counts {
	if len(l.in) == 1 {
		return l.in[0]
	}
	sum := make(counts, len(l.counts))
	seen := map[*cgout.Count]bool{}
	for _, c := range l.in {
		if !seen[&c[0]] {
			seen[&c[0]] = true
			sum.add(c)
		}
	}
	return sum
}

// A model is what all profiles together say.
type model struct {
	profiles []profile
	events   []string
	byFile   pairTable
	byFunc   pairTable
	sources  map[string]*source
	total    counts
	left     counts // of the total, what filters leave out
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
		data, err := readProfile(name)
		if err != nil {
			return nil, err
		}
		r := reader{m: m, o: o, negate: o.diff && i == 0, s: cgout.NewScanner(name, data)}
		if err := r.read(name); err != nil {
			return nil, err
		}
	}
	return m, o.modError()
}

// readProfile reads a file that is to be a profile.
func readProfile(name string) ([]byte, error) {
	data, err := cgout.ReadFile(name)
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		err = errors.New(osError(err, name))
	}
	return data, err
}

// modError returns why a name could not be changed.
func (o *options) modError() error {
	for _, mod := range []*mod{o.modFile, o.modFunc} {
		if mod != nil && mod.err != nil {
			return mod.err
		}
	}
	return nil
}

// A reader adds one profile to a model.
type reader struct {
	m      *model
	tree   *tree // if not nil, takes the counts instead of the model's tables
	o      *options
	s      *cgout.Scanner
	negate bool

	file, fn string
	detached bool // before the first fl=, counts belong to no file
	named    bool // a function was named
	left     bool // filters leave out what follows
	sum      counts
	// Where the counts of the present file and function go.
	source         *source
	inFile, inFunc counts
	block          cgout.Block
	inBlock        bool // source has the block
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
			r.newBlock()
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
				return missingEvent(list.option, name)
			}
		}
	}
	if r.m.events == nil {
		r.m.events = names
		r.m.total, r.m.left = make(counts, len(names)), make(counts, len(names))
	} else if !slices.Equal(r.m.events, names) {
		return cgout.ErrEvents
	}
	r.sum = make(counts, len(names))
	return nil
}

func missingEvent(option, name string) error {
	return fmt.Errorf("%s event `%s` did not appear in `events:` line", option, name)
}

func (r *reader) setFile(original string) {
	r.detached, r.file = false, r.o.modFile.apply(original)
	if r.tree != nil {
		r.tree.setFile(r.file, original)
		r.setFunc(r.o.modFunc.apply(cgout.Unspecified))
		return
	}
	s := r.m.sources[r.file]
	if s == nil {
		s = &source{originals: map[string]bool{}, parents: len(r.o.derived) > 0,
			small: map[int64]*lineChunk{}, large: map[string]*lineCounts{}}
		r.m.sources[r.file] = s
	}
	s.originals[original] = true
	r.source = s
	// The pair of the file and no function is there even if a function follows
	// at once; --threshold=0 shows it.
	r.setFunc(r.o.modFunc.apply(cgout.Unspecified))
}

func (r *reader) setFunc(fn string) {
	if r.o.stripHash {
		fn = stripHash(fn)
	}
	r.fn, r.named = fn, true
	r.newBlock()
	if r.left = !r.o.wantsFile(r.file) || !r.o.wantsFunction(fn); r.left {
		return
	}
	if r.tree != nil {
		r.tree.setFunc(fn)
		return
	}
	events := len(r.m.events)
	r.inFunc = r.m.byFunc.at(fn, r.file, events)
	if !r.detached {
		r.inFile = r.m.byFile.at(r.file, fn, events)
	}
}

func (r *reader) newBlock() { r.block, r.inBlock = r.s.Block(), false }

func (r *reader) count(line cgout.Count, c counts) {
	r.sum.add(c)
	if r.negate {
		c = c.neg()
	}
	switch {
	case r.left:
		r.m.left.add(c)
		return
	case r.tree != nil:
		r.tree.add(line, c)
		return
	case r.named:
		r.inFunc.add(c)
	}
	if !r.detached {
		r.inFile.add(c)
		if !r.inBlock {
			r.source.blocks = append(r.source.blocks, sourceBlock{r.block, r.inFile, r.negate})
			r.inBlock = true
		}
	}
}

// columns returns the columns of events. Of several events of one name the last
// is meant.
func (m *model) columns(names []string) []int {
	var list []int
	for _, name := range names {
		list = append(list, lastIndex(m.events, name))
	}
	return list
}
