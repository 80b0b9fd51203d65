package annotate

import (
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
	// wanted says that the filters have left a function.
	wanted  bool
	events  []string
	byFile  pairTable
	byFunc  pairTable
	sources map[string]*source
	total   counts
	left    counts // of the total, what filters leave out
}

// A profile is what is kept of one profile.
type profile struct {
	Input
	desc  []string
	cmd   string
	graph *cgout.CallGraph // nil if it has none, or Options.CallGraph does not ask for it
}

// load reads profiles and adds them up; of a difference the first is subtracted.
func load(o *Options, difference bool, profiles []Input) (*model, error) {
	m := &model{byFile: pairTable{}, byFunc: pairTable{}, sources: map[string]*source{}}
	for i, in := range profiles {
		r := reader{m: m, o: o, negate: difference && i == 0}
		if err := r.read(in); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// A reader adds one profile to a model. It is a cgout.Visitor.
type reader struct {
	m      *model
	tree   *tree // if not nil, takes the counts instead of the model's tables
	o      *Options
	s      *cgout.Scanner
	negate bool

	profile  profile
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

func (r *reader) read(in Input) error {
	data, err := in.data()
	if err != nil {
		return err
	}
	r.s, r.profile.Input, r.detached = cgout.NewScanner(in.name, data), in, true
	if err := r.s.Visit(r); err != nil {
		return err
	}
	if r.o.CallGraph {
		if r.profile.graph, err = readGraph(&in, data); err != nil {
			return err
		}
	}
	r.m.profiles = append(r.m.profiles, r.profile)
	return nil
}

// Header compares the events with the options and with the first profile.
func (r *reader) Header(h cgout.Header) error {
	r.profile.desc, r.profile.cmd = h.Desc, h.Cmd
	if len(h.Events) == 0 {
		return r.s.Errorf("no events")
	}
	if err := r.o.checkEvents(h.Events); err != nil {
		return err
	}
	n := len(h.Events)
	if r.m.events == nil {
		r.m.events = h.Events
		r.m.total, r.m.left = make(counts, n), make(counts, n)
	} else if !slices.Equal(r.m.events, h.Events) {
		return cgout.ErrEvents
	}
	r.sum = make(counts, n)
	return nil
}

// File implements cgout.Visitor.
func (r *reader) File(original string) error {
	name, err := r.o.RenameFile.apply(original)
	if err != nil {
		return err
	}
	r.detached, r.file = false, name
	if r.tree != nil {
		r.tree.setFile(name, original)
		return r.Func(cgout.Unspecified)
	}
	s := r.m.sources[name]
	if s == nil {
		s = &source{originals: map[string]bool{}, parents: len(r.o.Derived) > 0,
			small: map[int64]*lineChunk{}, large: map[string]*lineCounts{}}
		r.m.sources[name] = s
	}
	s.originals[original] = true
	r.source = s
	// The pair of the file and no function is there even if a function follows
	// at once; a threshold of 0 shows it.
	return r.Func(cgout.Unspecified)
}

// Func implements cgout.Visitor.
func (r *reader) Func(name string) error {
	fn, err := r.o.RenameFunc.apply(name)
	if err != nil {
		return err
	}
	if r.o.StripHash {
		fn = StripHash(fn)
	}
	r.fn, r.named = fn, true
	r.newBlock()
	if r.left = !r.o.wantsFile(r.file) || !r.o.wantsFunction(fn); r.left {
		return nil
	}
	r.m.wanted = true
	if r.tree != nil {
		r.tree.setFunc(fn)
		return nil
	}
	events := len(r.m.events)
	r.inFunc = r.m.byFunc.at(fn, r.file, events)
	if !r.detached {
		r.inFile = r.m.byFile.at(r.file, fn, events)
	}
	return nil
}

func (r *reader) newBlock() { r.block, r.inBlock = r.s.Block(), false }

// Counts implements cgout.Visitor.
func (r *reader) Counts(line cgout.Count, list []cgout.Count) error {
	c := counts(list)
	r.sum.add(c)
	if r.negate {
		c = c.neg()
	}
	switch {
	case r.left:
		r.m.left.add(c)
		return nil
	case r.tree != nil:
		r.tree.add(line, c)
		return nil
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
	return nil
}

// Summary implements cgout.Visitor. Each is to have the counts in front of it.
func (r *reader) Summary(list []cgout.Count) error {
	c := counts(slices.Clone(list))
	if !c.equal(r.sum) {
		return r.s.Errorf("`summary:` line doesn't match computed total\n- summary:  %s\n- computed: %s",
			cgout.List(c), cgout.List(r.sum))
	}
	if r.negate {
		c = c.neg()
	}
	r.m.total.add(c)
	r.newBlock()
	return nil
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
