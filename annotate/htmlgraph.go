package annotate

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/cgemu/cgemu/cgout"
)

// A callReport is the call graph of a Report: of a comparison two, matched.
type callReport struct {
	funcs []*graphFunc // sorted by cgout.Func
	shown map[string]bool
	calls []*graphCall
}

// A graphFunc is a function of a call graph.
type graphFunc struct {
	cgout.Func
	self, inclusive Row
	parts           map[string]*sides // what it costs by file
	head            int               // the line where it begins, 0 if that is not known
	cycle           int
	shown           bool
	sums            sides
	with            sides
}

// sides are counts of the old and the new side; without a comparison all is new.
type sides struct{ old, new counts }

func (s *sides) add(isNew bool, c []uint64) {
	side := &s.old
	if isNew {
		side = &s.new
	}
	if *side == nil {
		*side = make(counts, len(c))
	}
	for i, n := range c {
		(*side)[i] = (*side)[i].Add(cgout.NewCountUint64(n))
	}
}

// A graphCall is the calls of one function by a line of another.
type graphCall struct {
	caller, callee *graphFunc
	file           string
	line           int
	inlined        bool
	count          [2]cgout.Count // new, old
	counts         sides
}

// A graphBuilder matches the functions of graphs.
type graphBuilder struct {
	r     *Report
	exact bool // names are those of the graph: there is nothing to match
	// files are those of the old side that the new one calls otherwise, by their old names.
	files map[string]string
	at    map[cgout.Func]*graphFunc
	sites map[graphSite]*graphCall
	out   callReport
}

type graphSite struct {
	caller, callee *graphFunc
	file           string
	line           int
	inlined        bool
}

// callGraph adds up the call graphs of profiles, with the names that options give. It is nil if one has none.
func (o *Options) callGraph(profiles []profile, events int) (*cgout.CallGraph, error) {
	g := cgout.NewCallGraph(events)
	var failed error
	file := func(name string) string { return renamed(o.RenameFile, name, &failed) }
	fn := func(f cgout.Func) cgout.Func {
		f.File, f.Name = file(f.File), renamed(o.RenameFunc, f.Name, &failed)
		if o.StripHash {
			f.Name = StripHash(f.Name)
		}
		return f
	}
	for _, p := range profiles {
		if p.graph == nil {
			return nil, nil
		}
		for c := range p.graph.Costs {
			g.AddCost(fn(c.Func), file(c.File), c.Line, c.Counts...)
		}
		for c := range p.graph.Calls {
			c.Caller, c.Callee, c.File = fn(c.Caller), fn(c.Callee), file(c.File)
			g.AddCall(c)
		}
	}
	return g, failed
}

func renamed(f Rename, name string, failed *error) string {
	name, err := f.apply(name)
	if err != nil && *failed == nil {
		*failed = err
	}
	return name
}

// readGraph returns the call graph of a profile that was read, nil if it has none.
func readGraph(in *Input, data []byte) (*cgout.CallGraph, error) {
	switch {
	case in.graph != nil:
		return in.graph(), nil
	case bytes.HasPrefix(data, []byte("desc:")) || bytes.HasPrefix(data, []byte("cmd:")): // Cachegrind's format
		return nil, nil
	}
	p, err := cgout.Read(in.name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return p.Graph, nil
}

// callGraphs reads the call graphs, if all profiles have one.
func (b *builder) callGraphs() error {
	if !b.o.CallGraph {
		return nil
	}
	events := len(b.r.Events)
	graph, err := b.o.callGraph(b.new.m.profiles, events)
	if err != nil || graph == nil {
		return err
	}
	g := graphBuilder{r: b.r, exact: b.old == nil, at: map[cgout.Func]*graphFunc{}, sites: map[graphSite]*graphCall{}}
	if b.old != nil {
		old, err := b.o.callGraph(b.old.m.profiles, events)
		if err != nil || old == nil {
			return err
		}
		g.files = map[string]string{}
		for new, old := range b.renamed {
			g.files[old] = new
		}
		g.add(old, false)
	}
	g.add(graph, true)
	g.finish()
	b.r.calls = &g.out
	return nil
}

// function returns the function that stands for one of a graph. In a comparison that is the one whose names are equal
// as far as builds in different directories, and compilers that number clones, leave them.
func (b *graphBuilder) function(f cgout.Func, isNew bool) *graphFunc {
	key := f
	if !b.exact {
		key = cgout.Func{Object: base(f.Object), File: base(f.File), Name: StripHash(f.Name)}
	}
	fn := b.at[key]
	if fn == nil {
		f.File = b.file(f.File, isNew)
		fn = &graphFunc{Func: f, parts: map[string]*sides{}}
		b.at[key] = fn
		b.out.funcs = append(b.out.funcs, fn)
	} else if isNew {
		fn.Func = f
	}
	return fn
}

// file is what the page calls a file of one side.
func (b *graphBuilder) file(name string, isNew bool) string {
	if new, ok := b.files[name]; ok && !isNew {
		return new
	}
	return name
}

// add adds a graph.
func (b *graphBuilder) add(g *cgout.CallGraph, isNew bool) {
	for c := range g.Costs {
		fn := b.function(c.Func, isNew)
		fn.sums.add(isNew, c.Counts)
		file := b.file(c.File, isNew)
		part := fn.parts[file]
		if part == nil {
			part = &sides{}
			fn.parts[file] = part
		}
		part.add(isNew, c.Counts)
	}
	for c := range g.Calls {
		site := graphSite{b.function(c.Caller, isNew), b.function(c.Callee, isNew), b.file(c.File, isNew), c.Line, c.Inlined}
		call := b.sites[site]
		if call == nil {
			call = &graphCall{caller: site.caller, callee: site.callee, file: site.file, line: c.Line, inlined: c.Inlined}
			b.sites[site] = call
			b.out.calls = append(b.out.calls, call)
		}
		i := 1
		if isNew {
			i = 0
		}
		call.count[i] = call.count[i].Add(cgout.NewCountUint64(c.Count))
		call.counts.add(isNew, c.Counts)
	}
	b.inclusive(g, isNew)
}

// inclusive adds what functions cost with those that they call.
func (b *graphBuilder) inclusive(g *cgout.CallGraph, isNew bool) {
	for _, f := range g.Functions().Functions {
		fn := b.function(f.Func, isNew)
		fn.with.add(isNew, f.Inclusive)
		if isNew {
			fn.head = f.Line
			if f.Cycle != nil {
				fn.cycle = f.Cycle.Number
			}
		}
	}
}

// finish makes rows and says which functions are shown.
func (b *graphBuilder) finish() {
	r := b.r
	wants := r.wants()
	b.out.shown = map[string]bool{}
	for _, fn := range b.out.funcs {
		fn.self, fn.inclusive = r.row(fn.sums.old, fn.sums.new), r.row(fn.with.old, fn.with.new)
		fn.shown = (wants(fn.self) || wants(fn.inclusive)) && r.o.wantsFile(fn.File) && r.o.wantsFunction(fn.Name)
		if fn.shown {
			b.out.shown[fn.Name] = true
		}
	}
	if top := r.o.Top; top > 0 {
		b.out.cut(r, top)
	}
	slices.SortFunc(b.out.funcs, func(f, g *graphFunc) int {
		return cmp.Or(cmp.Compare(f.Name, g.Name), cmp.Compare(f.File, g.File), cmp.Compare(f.Object, g.Object))
	})
}

// cut leaves the first functions.
func (c *callReport) cut(r *Report, top int) {
	list := slices.Clone(c.funcs)
	slices.SortStableFunc(list, func(f, g *graphFunc) int { return cmp.Or(r.compare(f.self, g.self), cmp.Compare(f.Name, g.Name)) })
	clear(c.shown)
	for _, fn := range list {
		if fn.shown = fn.shown && top > 0; fn.shown {
			top--
			c.shown[fn.Name] = true
		}
	}
}

// fromGraph makes functions and calls of a call graph.
func (b *pageBuilder) fromGraph(c *callReport) {
	b.d.Graph = true
	lines := map[[2]string]*ReportFunction{}
	for _, fn := range b.r.Functions {
		lines[[2]string{fn.File.Name, fn.Name}] = fn
	}
	objects := map[string]int{}
	made := map[*graphFunc]*pageFunc{}
	var rows []Row
	for _, fn := range c.funcs {
		if !fn.shown {
			b.rest(fn.Name, fn.Object, fn.File, fn.self, fn.inclusive)
			continue
		}
		if _, ok := objects[fn.Object]; !ok {
			objects[fn.Object] = len(b.d.Objects)
			b.d.Objects = append(b.d.Objects, valid(fn.Object))
		}
		f := b.graphFunction(fn, objects[fn.Object], lines)
		made[fn] = f
		rows = append(rows, fn.self)
		b.add(f)
	}
	b.sort()
	number := map[*graphFunc]int{}
	index := map[*pageFunc]int{}
	for i, f := range b.d.Funcs {
		index[f] = i
	}
	for fn, f := range made {
		number[fn] = index[f]
	}
	kept := b.r.sum(rows)
	rest := b.r.row(nil, less(b.r.Total.Counts, kept.Counts))
	if b.r.Compare {
		rest = b.r.row(less(b.r.Total.Old, kept.Old), less(b.r.Total.New, kept.New))
	}
	b.d.Omitted = pageOmitted{len(c.funcs) - len(made), b.r.numbers(rest, b.r.Total)}
	b.calls(c, number)
}

// graphFunction makes a function of a call graph.
func (b *pageBuilder) graphFunction(fn *graphFunc, object int, lines map[[2]string]*ReportFunction) *pageFunc {
	var parts []filePart
	for file, s := range fn.parts {
		parts = append(parts, filePart{file, b.r.row(s.old, s.new), lines[[2]string{file, fn.Name}]})
	}
	slices.SortFunc(parts, func(x, y filePart) int { return cmp.Compare(x.file, y.file) })
	home := slices.IndexFunc(parts, func(p filePart) bool { return p.file == fn.File })
	if home < 0 {
		home = len(parts)
		parts = append(parts, filePart{fn.File, b.r.row(nil, nil), lines[[2]string{fn.File, fn.Name}]})
	}
	at := parts[home]
	f := b.function(fn.Name, object, parts)
	b.place(f, fn.Name, at)
	if fn.head > 0 && at.line != nil {
		f.Line = fn.head
	}
	f.Kind = b.kind(f, at.file)
	f.Callees, f.Cycle = b.r.numbers(fn.inclusive, b.r.Total), fn.cycle
	return f
}

// calls makes the calls: [caller, callee, file, line, calls, counts], calls and counts as the numbers of rows, and 1
// behind that if the callee was inlined there. Functions that are not shown are -1, and calls among them left out.
func (b *pageBuilder) calls(c *callReport, number map[*graphFunc]int) {
	at := func(fn *graphFunc) int {
		if i, ok := number[fn]; ok {
			return i
		}
		return -1
	}
	type hidden struct{ caller, callee int }
	sums := map[hidden]*graphCall{}
	var order []hidden
	write := func(caller, callee int, file, line string, call *graphCall) {
		count := string(call.count[0].Append(nil))
		if b.r.Compare {
			count += "," + string(call.count[1].Append(nil))
		}
		counts := b.r.numbers(b.r.row(call.counts.old, call.counts.new), b.r.Total)
		values := []string{strconv.Itoa(caller), strconv.Itoa(callee), file, line, "[" + quoted(count) + "]", string(counts)}
		if call.inlined {
			values = append(values, "1")
		}
		b.d.Calls = append(b.d.Calls, array(values...))
	}
	for _, call := range c.calls {
		key := hidden{at(call.caller), at(call.callee)}
		switch {
		case key.caller < 0 && key.callee < 0:
		case key.caller < 0 || key.callee < 0:
			sum := sums[key]
			if sum == nil {
				sum = &graphCall{}
				sums[key] = sum
				order = append(order, key)
			}
			sum.count[0], sum.count[1] = sum.count[0].Add(call.count[0]), sum.count[1].Add(call.count[1])
			sum.counts.sum(&call.counts)
		default:
			write(key.caller, key.callee, strconv.Itoa(b.file(call.file)), strconv.Itoa(call.line), call)
		}
	}
	for _, key := range order {
		write(key.caller, key.callee, "-1", "0", sums[key])
	}
}

// sum adds counts.
func (s *sides) sum(t *sides) {
	for _, side := range []struct {
		into *counts
		c    counts
	}{{&s.old, t.old}, {&s.new, t.new}} {
		if side.c == nil {
			continue
		}
		if *side.into == nil {
			*side.into = make(counts, len(side.c))
		}
		side.into.add(side.c)
	}
}

// quoted returns numbers separated by commas as texts where a double would not hold them.
func quoted(numbers string) string {
	var b []byte
	for i, n := range bytes.Split([]byte(numbers), []byte{','}) {
		if i > 0 {
			b = append(b, ',')
		}
		if len(n) > 15 {
			b = append(append(append(b, '"'), n...), '"')
		} else {
			b = append(b, n...)
		}
	}
	return string(b)
}
