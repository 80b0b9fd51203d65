package profiler

import (
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/internal/jitnames"
)

// An attribution turns counts by code address into costs of source lines. An address is looked up in the file that is
// mapped there when its count arrives, so counts must arrive before the mapping changes.
type attribution struct {
	counted
	// threads tells the costs of threads apart, nil if they are counted together.
	threads *threads
	objects *Objects
	// opened are the objects by guest path; nil for a file that could not be read.
	opened map[string]*object
	// columns has the profile's column of each event, -1 if it has none.
	columns [numEvents]int
	// row is scratch space for addInlined; all zero between calls.
	row []uint64
	// starts are the places where functions begin, by object.
	starts map[functionStart]dwarfmap.Loc
	// owned are functions that owner found lately, by the page of code that was asked for: neighbours follow each
	// other, and callers and what they call.
	owned [8]owned
	// last is the mapping of the last address that was looked up, and object its file: counts come in runs.
	// forgetMapping has to be called before a lookup behind which the mapping may have changed.
	last   mem.VMA
	object *object
	// run is the instructions in last whose costs go where the last one's went, if nothing else is wanted of them; runs
	// are more of them.
	run  costRun
	runs runTable
	// same is how many bytes from the address on that was looked up last have the same place.
	same emu.Addr
	// jit has the names that the program gave to code in no object; nameless says that what was looked up last is such
	// code without one.
	jit      jitnames.Names
	nameless bool
	// seen is code in no object that functionAt was asked about while it had no name.
	seen namelessCode
	// inline says that code belongs to functions that were inlined there, in is the innermost one at what was looked up
	// last, nil for none.
	inline bool
	in     *dwarfmap.Inlined
	// contexts are the names of functions told apart by their callers, context is that of what is added, 0 if they are
	// not.
	contexts contextNames
	context  callgraph.Context
	// byObject says that code without a name is called by its object; unnamed are such names, by the object's path.
	byObject bool
	unnamed  map[string]string
}

// A costRun is the addresses of code, [lo, hi), of one source line of a function in one context.
type costRun struct {
	lo, hi  emu.Addr
	context callgraph.Context
	profile *cgout.Profile
	centre  int // of the profile
	inGraph int // the same of its graph, if there is one
}

// A runTable finds runs by the addresses in them, of the pages that were looked at lately: the engine gives counts of
// blocks, which share lines.
type runTable struct {
	pages [8]*runPage // each by its number modulo 8
}

// A runPage has the runs that lie on a page, and for each address there the number of its run from 1 on, 0 if none is
// known.
type runPage struct {
	at   emu.Addr
	runs []costRun
	of   [emu.PageSize]uint16
}

// at returns the run that has a, nil if none is known.
func (t *runTable) at(a emu.Addr) *costRun {
	p := t.pages[a/emu.PageSize%8]
	if p == nil || p.at != a.PageDown() {
		return nil
	}
	if i := p.of[a%emu.PageSize]; i > 0 {
		return &p.runs[i-1]
	}
	return nil
}

// put makes r, which is not empty, known where it lies on its first page.
func (t *runTable) put(r *costRun) {
	p := &t.pages[r.lo/emu.PageSize%8]
	if at := r.lo.PageDown(); *p == nil {
		*p = &runPage{at: at}
	} else if (*p).at != at || len((*p).runs) == math.MaxUint16 {
		(*p).at, (*p).runs = at, (*p).runs[:0]
		clear((*p).of[:])
	}
	(*p).runs = append((*p).runs, *r)
	from := r.lo % emu.PageSize
	of := (*p).of[from:min(from+r.hi-r.lo, emu.PageSize)]
	of[0] = uint16(len((*p).runs))
	for done := 1; done < len(of); done *= 2 { // a run may be as long as the page
		copy(of[done:], of[:done])
	}
}

// forget makes all unknown.
func (t *runTable) forget() {
	for _, p := range t.pages {
		if p != nil {
			p.at = 1 // where no page begins
		}
	}
}

// A counted is the costs of a process, or of one of its threads.
type counted struct {
	profile *cgout.Profile
	// insns has the counts by instruction too, if they are wanted.
	insns *insnTable
	// graph has who called whom, nil if that is not wanted.
	graph *cgout.CallGraph
	// jumps are the jumps within functions, nil if they are not wanted.
	jumps jumpTable
	// late is what was counted of code in no object that has no name yet, inlines are the costs of inlined functions
	// for the graph.
	late    lateTable
	inlines inlineTable
}

// newCounted returns costs that are all zero.
func newCounted(cfg *Config) counted {
	c := counted{profile: cfg.newProfile()}
	if cfg.DumpInstr {
		c.insns = newInsnTable(len(c.profile.Events))
	}
	if cfg.CallGraph {
		c.graph = cgout.NewCallGraph(len(c.profile.Events))
	}
	if cfg.Jumps {
		c.jumps = jumpTable{}
	}
	return c
}

// unknown is the place of code that is in no file, or in one without names.
var unknown = dwarfmap.Loc{File: dwarfmap.Unknown, Func: dwarfmap.Unknown}

func newAttribution(cfg *Config, o *Objects) *attribution {
	c := &attribution{
		counted: newCounted(cfg), objects: o, opened: map[string]*object{}, starts: map[functionStart]dwarfmap.Loc{},
		inline: cfg.Inline, byObject: !cfg.Compat, unnamed: map[string]string{}, contexts: newContextNames(cfg),
	}
	c.row = make([]uint64, len(c.profile.Events))
	o.linkage = c.byObject
	if cfg.Threads {
		c.threads = newThreads(cfg)
	}
	for e := range c.columns {
		c.columns[e] = -1
	}
	for i, col := range cfg.columns() {
		c.columns[col.event] = i
	}
	return c
}

// add adds n events of the instruction at a in m.
func (c *attribution) add(m *mem.Space, a emu.Addr, e emu.Event, n uint64) {
	if c.jumps != nil {
		c.addJump(m, a, e, n)
	}
	col := c.columns[e]
	if col < 0 && e == emu.Taken && c.jumps != nil {
		return // it is counted for them alone
	}
	if col < 0 {
		panic(fmt.Sprintf("BUG: event %d is counted, but no column of the profile", e))
	}
	if r := &c.run; a >= r.lo && a < r.hi && c.profile == r.profile && c.context == r.context {
		c.addRun(col, n)
		return
	}
	if r := c.runs.at(a); r != nil && c.profile == r.profile && c.context == r.context {
		c.run = *r
		c.addRun(col, n)
		return
	}
	loc := c.place(m, a)
	k := funcKey{outer: cgout.Func{Name: loc.Func}}
	if c.graph != nil || c.nameless {
		k, _ = c.key(a, loc, c.context)
	}
	c.addTo(a, k, loc, e, n)
	if c.insns != nil {
		in := c.insnKey(a, loc)
		if k.at != 0 || k.context != 0 {
			in.fn = k
		}
		c.insns.add(m, a, in, col, n)
	}
}

// addTo adds n events of the instruction at a, whose place in the function k is loc, to the profile and its graph.
func (c *attribution) addTo(a emu.Addr, k funcKey, loc dwarfmap.Loc, e emu.Event, n uint64) {
	col := c.columns[e]
	if c.graph != nil {
		if c.inline && e == emu.Ir && c.object != nil {
			c.enterInlined(k, c.vaddr(a), n)
		}
		c.row[col] = n
		c.addInlined(k, c.row)
		c.row[col] = 0
	}
	if c.isLate(&k) {
		if row := c.late.code(lateCode{k, loc.File, loc.Line}, len(c.row)); row != nil {
			row[col] += n
			return
		}
	}
	fn := c.function(k)
	c.run = costRun{a, a + c.same, c.context, c.profile, c.profile.Centre(loc.File, fn.Name, loc.Line), 0}
	if c.graph != nil {
		c.run.inGraph = c.graph.Centre(c.graph.Func(fn), loc.File, loc.Line)
	}
	c.addRun(col, n)
	switch {
	case c.byInsn():
		c.run = costRun{}
	case c.run.lo < c.run.hi:
		c.runs.put(&c.run)
	}
}

// byInsn reports whether something is wanted of each instruction.
func (c *attribution) byInsn() bool { return c.insns != nil || c.inline || c.jumps != nil }

// addRun adds n to a column of what c.run costs.
func (c *attribution) addRun(col int, n uint64) {
	r := &c.run
	r.profile.Counts(r.centre)[col] += n
	if c.graph != nil {
		c.graph.CostsAt(r.inGraph)[col] += n
	}
}

// insnKey is the instruction at a, whose place is loc.
func (c *attribution) insnKey(a emu.Addr, loc dwarfmap.Loc) insnKey {
	if c.object != nil {
		if va, ok := c.object.VAddr(c.last.Off + uint64(a-c.last.Lo)); ok {
			return insnKey{object: c.last.Path, addr: va, loc: loc}
		}
	}
	return insnKey{object: dwarfmap.Unknown, addr: uint64(a), loc: loc}
}

// takeOne returns the costs so far of what is counted now, and begins anew.
func (c *attribution) takeOne() *cgout.Profile {
	c.settle()
	p := c.profile
	c.profile = cgout.New(p.Events...)
	c.profile.Cmd, c.profile.Desc = p.Cmd, slices.Clone(p.Desc)
	if p.Graph = c.graph; c.graph != nil {
		c.graph = cgout.NewCallGraph(len(p.Events))
	}
	estimateCycles(p)
	if c.insns != nil {
		p.Insns = c.insns.take(p.Events)
	}
	return p
}

// snapshotOne returns a copy of the costs of what is counted now.
func (c *attribution) snapshotOne() *cgout.Profile {
	p := *c.profile
	p.Graph = c.graph
	s := p.Clone()
	c.settleInto(s, s.Graph)
	estimateCycles(s)
	return s
}

// place returns the source place of the instruction at a: in the innermost function, if functions that were inlined are
// to have their costs.
func (c *attribution) place(m *mem.Space, a emu.Addr) dwarfmap.Loc {
	loc := c.placeOutside(m, a)
	if c.inline && c.object != nil {
		if c.in = c.object.Inlined(c.vaddr(a)); c.in != nil {
			loc.Func = c.in.Func
		}
	}
	return loc
}

// placeOutside returns the source place of the instruction at a, in the function that holds it.
func (c *attribution) placeOutside(m *mem.Space, a emu.Addr) dwarfmap.Loc {
	c.enter(m, a)
	loc := unknown
	c.in, c.same = nil, 0
	if c.nameless = false; c.object == nil {
		if f, ok := c.jitName(a); ok {
			loc.Func = f.Name
			return loc
		}
		c.nameless = c.byObject
	} else if va, known := c.object.VAddr(c.last.Off + uint64(a-c.last.Lo)); known {
		var end uint64
		loc, end = c.object.placeOf(va, c.byObject)
		c.same = min(emu.Addr(end-va), c.last.Hi-a)
	}
	if loc.Func == dwarfmap.Unknown && c.byObject && c.last.File {
		loc.Func = c.unnamedIn(c.last.Path)
	}
	return loc
}

// vaddr is what the object that was looked up last calls the address a; 0 if it does not say.
func (c *attribution) vaddr(a emu.Addr) uint64 {
	va, _ := c.object.VAddr(c.last.Off + uint64(a-c.last.Lo))
	return va
}

// unnamedIn is the name of all code in a guest file that no function holds.
func (c *attribution) unnamedIn(file string) string {
	name, ok := c.unnamed[file]
	if !ok {
		name = fmt.Sprintf("%s (%s)", dwarfmap.Unknown, path.Base(file))
		c.unnamed[file] = name
	}
	return name
}

// describe names the code in front of a for messages: the function and how far in it a is, and the source place. Code
// without a function has its file and the place in that.
func (c *attribution) describe(m *mem.Space, a emu.Addr) string {
	c.forgetMapping()
	loc := c.placeOutside(m, a-1)
	text := "???"
	if c.last.File {
		off := c.last.Off + uint64(a-1-c.last.Lo)
		text = fmt.Sprintf("%s+%#x", c.last.Path, off+1)
		if c.object != nil {
			if va, ok := c.object.VAddr(off); ok {
				if x := c.object.extentOf(va, c.byObject); x.named() {
					text = fmt.Sprintf("%s+%#x", loc.Func, va+1-x.lo)
				}
			}
		}
	}
	if loc.File != dwarfmap.Unknown {
		text += fmt.Sprintf(" (%s:%d)", loc.File, loc.Line)
	}
	c.forgetMapping()
	return text
}

// enter makes the mapping of a the last one.
func (c *attribution) enter(m *mem.Space, a emu.Addr) {
	if a < c.last.Lo || a >= c.last.Hi {
		c.last, c.object = mem.VMA{}, nil
		if v := m.VMA(a); v != nil && v.File {
			c.last, c.object = *v, c.open(v.Path)
		}
	}
}

// forgetMapping forgets the last mapping: it may have changed.
func (c *attribution) forgetMapping() {
	c.last, c.object, c.run = mem.VMA{}, nil, costRun{}
	c.runs.forget()
}

// open returns the object of a guest file, or nil if it has no names to give.
func (c *attribution) open(path string) *object {
	o, ok := c.opened[path]
	if !ok {
		o = c.objects.open(path)
		c.opened[path] = o
	}
	return o
}

// dwarf is open for who looks at the object itself.
func (c *attribution) dwarf(path string) *dwarfmap.Object {
	if o := c.open(path); o != nil {
		return o.Object
	}
	return nil
}
