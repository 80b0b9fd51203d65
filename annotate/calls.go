package annotate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// A Tree says whom of a call graph is shown beside each function.
type Tree string

// The values of Tree are those of callgrind_annotate's --tree.
const (
	TreeNone    Tree = ""
	TreeCaller  Tree = "caller"  // who calls it
	TreeCalling Tree = "calling" // whom it calls
	TreeBoth    Tree = "both"
)

// calls reports whether the options ask for a call graph.
func (o *Options) calls() bool { return o.Inclusive || o.Tree != TreeNone }

// A CallReport is the call graph of profiles, added up or compared. NewCalls and CompareCalls make one, its Write
// methods lay it out.
type CallReport struct {
	Compare    bool
	Profiles   []ReportProfile
	Events     []string // counts of rows are in this order
	Show, Sort []int    // as those of a Report
	Total      Row
	// Functions are all functions, sorted by their inclusive or own cost, as Options.Inclusive says, in the order of
	// Sort, then by name.
	Functions []*CallFunction
	// Cycles are functions that call each other in a circle; none in a comparison, whose two sides may have others.
	Cycles []CallCycle

	r *Report // for tables
}

// A CallCycle is functions that call each other in a circle.
type CallCycle struct {
	Name string // `<cycle 1>`
	// Self is what its functions cost themselves, Inclusive with all that they call.
	Self, Inclusive Row
	Functions       []*CallFunction // sorted as those of the report
}

// A CallFunction is a function of a CallReport.
type CallFunction struct {
	// Name is the function's, with its cycle behind it if it is in one: `f <cycle 1>`. Those of a comparison are the
	// new ones, if there is one.
	Object, File, Name string
	// Self is what it costs itself, Inclusive with what it calls: see cgout.Function.
	Self, Inclusive Row
	// Called is how often it was called.
	Called Calls
	// Callers and Callees are sorted as the functions of the report, by their cost.
	Callers, Callees []*CallArc

	plain string // the name without a cycle
	cycle string // that of the cycle, "" for none
}

// Calls are numbers of calls. Of a comparison Count is the new profile's.
type Calls struct{ Count, Old uint64 }

// A CallArc is the calls of one function by another.
type CallArc struct {
	Row            // see cgout.Arc.Inclusive
	Caller, Callee *CallFunction
	Calls          Calls
	// Recursive says that the cost may be that of other calls, too, since caller or callee may be active already.
	Recursive bool
	// Sites are the source lines that call, by file and line.
	Sites []CallSite
}

// A CallSite is a source line that calls.
type CallSite struct {
	Row
	File  string
	Line  int
	Calls Calls
}

// NewCalls reads profiles, adds them up and reports who calls whom. Errors are those of New; or a profile has no call
// graph.
func NewCalls(o Options, profiles ...Input) (*CallReport, error) {
	if len(profiles) == 0 {
		return nil, errNoProfile
	}
	return buildCalls(&o, nil, profiles)
}

// CompareCalls reports what differs between two call graphs, the new one less the old. Functions are the same if
// object, file and name are, or as many of these, from the last one on, as tell them from others.
func CompareCalls(o Options, old, new Input) (*CallReport, error) {
	return buildCalls(&o, []Input{old}, []Input{new})
}

// A callSide is one side of a comparison, or all there is.
type callSide struct {
	events []string
	total  counts
	graph  *cgout.FunctionGraph
	// as is what the report has for each function.
	as map[*cgout.Function]*CallFunction
}

func buildCalls(o *Options, olds, news []Input) (*CallReport, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &CallReport{Compare: olds != nil, r: &Report{o: *o, Compare: olds != nil, Threshold: o.Threshold}}
	var old *callSide
	if olds != nil {
		var err error
		if old, err = r.load(o, olds); err != nil {
			return nil, err
		}
	}
	side, err := r.load(o, news)
	if err != nil {
		return nil, err
	}
	if old != nil && !slices.Equal(old.events, side.events) {
		return nil, cgout.ErrEvents
	}
	m := &model{events: side.events}
	r.Events, r.Show, r.Sort = m.events, allColumns(m, o.Show), allColumns(m, o.Sort)
	if old != nil && len(o.Show) == 0 {
		r.Show = r.Sort[:1]
	}
	r.r.Events, r.r.Show, r.r.Sort, r.r.Profiles = r.Events, r.Show, r.Sort, r.Profiles
	if r.r.Derived, err = deriveds(o.Derived, r.Events, r.Show); err != nil {
		return nil, err
	}
	r.join(old, side)
	r.Total = r.r.row(nil, side.total)
	if old != nil {
		r.Total = r.r.row(old.total, side.total)
	}
	r.r.Total = r.Total
	r.sort(o.Inclusive)
	if old == nil {
		r.cycles(side)
	}
	return r, nil
}

// cycles lists the cycles.
func (r *CallReport) cycles(s *callSide) {
	members := map[string][]*CallFunction{}
	cycle := map[*CallFunction]string{}
	for f, as := range s.as {
		if f.Cycle != nil {
			as.cycle = f.Cycle.Label()
			cycle[as] = as.cycle
		}
	}
	for _, f := range r.Functions {
		if name, ok := cycle[f]; ok {
			members[name] = append(members[name], f)
		}
	}
	for _, c := range s.graph.Cycles {
		r.Cycles = append(r.Cycles, CallCycle{c.Label(), r.r.row(nil, toCounts(c.Self)), r.r.row(nil, toCounts(c.Inclusive)), members[c.Label()]})
	}
}

// load reads profiles and adds their graphs up.
func (r *CallReport) load(o *Options, inputs []Input) (*callSide, error) {
	var sum *cgout.Profile
	for _, in := range inputs {
		p, err := in.profile()
		if err != nil {
			return nil, err
		}
		if err := o.checkEvents(p.Events); err != nil {
			return nil, err
		}
		q := cgout.New(p.Events...)
		if q.Graph, err = o.renamed(p.Graph); err != nil {
			return nil, err
		}
		if sum == nil {
			sum = cgout.New(p.Events...) // not q, whose graph may be the profile's own
		}
		if err := sum.Merge(q); err != nil {
			return nil, cgout.ErrEvents
		}
		r.Profiles = append(r.Profiles, ReportProfile{in.name, p.Desc, p.Cmd})
	}
	s := &callSide{events: sum.Events, graph: sum.Graph.Functions(), as: map[*cgout.Function]*CallFunction{}}
	s.total = toCounts(s.graph.Totals)
	return s, nil
}

// renamed returns a graph with the names that the options give.
func (o *Options) renamed(g *cgout.CallGraph) (*cgout.CallGraph, error) {
	if o.RenameFile == nil && o.RenameFunc == nil && !o.StripHash {
		return g, nil
	}
	var failed error
	file := func(name string) string {
		name, err := o.RenameFile.apply(name)
		failed = cmp.Or(failed, err)
		return name
	}
	fn := func(f cgout.Func) cgout.Func {
		name, err := o.RenameFunc.apply(f.Name)
		failed = cmp.Or(failed, err)
		if o.StripHash {
			name = StripHash(name)
		}
		return cgout.Func{Object: f.Object, File: file(f.File), Name: name}
	}
	return g.Renamed(file, fn), failed
}

// Renamed returns a profile with the names that RenameFile, RenameFunc and StripHash give; p itself if they change
// none.
func (o *Options) Renamed(p *cgout.Profile) (*cgout.Profile, error) {
	if o.RenameFile == nil && o.RenameFunc == nil && !o.StripHash {
		return p, nil
	}
	g, flat := p.Graph, p.Graph == nil
	if flat {
		g = cgout.NewCallGraph(len(p.Events))
		p.Each(func(file, fn string, line int, counts []uint64) {
			g.AddCost(cgout.Func{File: file, Name: fn}, file, line, counts...)
		})
	}
	g, err := o.renamed(g)
	if err != nil {
		return nil, err
	}
	q := cgout.New(p.Events...)
	q.Desc, q.Cmd, q.Graph, q.Thread = p.Desc, p.Cmd, g, p.Thread
	for c := range g.Costs {
		q.Add(c.File, c.Func.Name, c.Line, c.Counts...)
	}
	if flat {
		q.Graph = nil
	}
	return q, nil
}

func toCounts(list []uint64) counts {
	c := make(counts, len(list))
	for i, n := range list {
		c[i] = cgout.NewCountUint64(n)
	}
	return c
}

// join makes the functions and arcs of both sides; old may be nil.
func (r *CallReport) join(old, new *callSide) {
	pairs := map[*cgout.Function]*cgout.Function{} // from new to old
	var gone []*cgout.Function
	if old != nil {
		pairs, gone = matchFunctions(old.graph.Functions, new.graph.Functions)
	}
	add := func(of, nf *cgout.Function) {
		f := &CallFunction{}
		var oldSelf, oldInclusive, self, inclusive counts
		if of != nil {
			f.Object, f.File, f.Name, f.plain, f.Called.Old = of.Object, of.File, of.Label(), of.Name, of.Called
			oldSelf, oldInclusive = toCounts(of.Self), toCounts(of.Inclusive)
			old.as[of] = f
		}
		if nf != nil {
			f.Object, f.File, f.Name, f.plain, f.Called.Count = nf.Object, nf.File, nf.Label(), nf.Name, nf.Called
			self, inclusive = toCounts(nf.Self), toCounts(nf.Inclusive)
			new.as[nf] = f
		}
		f.Self, f.Inclusive = r.r.row(oldSelf, self), r.r.row(oldInclusive, inclusive)
		r.Functions = append(r.Functions, f)
	}
	for _, f := range new.graph.Functions {
		add(pairs[f], f)
	}
	for _, f := range gone {
		add(f, nil)
	}
	r.arcs(old, new)
}

// arcs joins the calls.
func (r *CallReport) arcs(old, new *callSide) {
	type key [2]*CallFunction
	olds, seen := map[key]*cgout.Arc{}, map[key]bool{}
	add := func(k key, oa, na *cgout.Arc) {
		a := &CallArc{Caller: k[0], Callee: k[1]}
		var before, after counts
		if oa != nil {
			before, a.Calls.Old, a.Recursive = toCounts(oa.Inclusive()), oa.Count, oa.Recursive()
		}
		if na != nil {
			after, a.Calls.Count, a.Recursive = toCounts(na.Inclusive()), na.Count, a.Recursive || na.Recursive()
		}
		a.Row, a.Sites = r.r.row(before, after), r.sites(oa, na)
		k[0].Callees, k[1].Callers = append(k[0].Callees, a), append(k[1].Callers, a)
	}
	if old != nil {
		for a := range old.arcs {
			olds[key{old.as[a.Caller], old.as[a.Callee]}] = a
		}
	}
	for a := range new.arcs {
		k := key{new.as[a.Caller], new.as[a.Callee]}
		seen[k] = true
		add(k, olds[k], a)
	}
	if old != nil {
		for a := range old.arcs {
			if k := (key{old.as[a.Caller], old.as[a.Callee]}); !seen[k] {
				add(k, a, nil)
			}
		}
	}
}

// arcs yields all arcs.
func (s *callSide) arcs(yield func(*cgout.Arc) bool) {
	for _, f := range s.graph.Functions {
		for _, a := range f.Callees {
			if !yield(a) {
				return
			}
		}
	}
}

// sites joins the lines that call.
func (r *CallReport) sites(old, new *cgout.Arc) (list []CallSite) {
	type key struct {
		file string
		line int
	}
	olds, seen := map[key]cgout.CallSite{}, map[key]bool{}
	add := func(k key, before, after cgout.CallSite) {
		var o, n counts
		if before.Counts != nil {
			o = toCounts(before.Counts)
		}
		if after.Counts != nil {
			n = toCounts(after.Counts)
		}
		list = append(list, CallSite{r.r.row(o, n), k.file, k.line, Calls{after.Count, before.Count}})
	}
	if old != nil {
		for _, s := range old.Sites {
			olds[key{s.File, s.Line}] = s
		}
	}
	if new != nil {
		for _, s := range new.Sites {
			k := key{s.File, s.Line}
			seen[k] = true
			add(k, olds[k], s)
		}
	}
	if old != nil {
		for _, s := range old.Sites {
			if k := (key{s.File, s.Line}); !seen[k] {
				add(k, s, cgout.CallSite{})
			}
		}
	}
	slices.SortFunc(list, func(a, b CallSite) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return list
}

// sort sorts functions, and their calls.
func (r *CallReport) sort(inclusive bool) {
	order := func(a, b *CallFunction) int {
		return cmp.Or(cmp.Compare(a.plain, b.plain), cmp.Compare(a.File, b.File), cmp.Compare(a.Object, b.Object))
	}
	slices.SortFunc(r.Functions, func(a, b *CallFunction) int {
		if inclusive {
			return cmp.Or(r.r.compare(a.Inclusive, b.Inclusive), r.r.compare(a.Self, b.Self), order(a, b))
		}
		return cmp.Or(r.r.compare(a.Self, b.Self), order(a, b))
	})
	for _, f := range r.Functions {
		slices.SortFunc(f.Callers, func(a, b *CallArc) int { return cmp.Or(r.r.compare(a.Row, b.Row), order(a.Caller, b.Caller)) })
		slices.SortFunc(f.Callees, func(a, b *CallArc) int { return cmp.Or(r.r.compare(a.Row, b.Row), order(a.Callee, b.Callee)) })
	}
}

// matchFunctions says which of the old functions each of the new ones is, and which of the old ones are none of these.
// What tells functions apart is tried from the strictest on; what is not the only one of its kind on both sides is left
// to the next.
func matchFunctions(olds, news []*cgout.Function) (pairs map[*cgout.Function]*cgout.Function, gone []*cgout.Function) {
	pairs = map[*cgout.Function]*cgout.Function{}
	taken := map[*cgout.Function]bool{}
	for i, key := range []func(f *cgout.Function) cgout.Func{
		func(f *cgout.Function) cgout.Func { return f.Func },
		func(f *cgout.Function) cgout.Func {
			return cgout.Func{Object: base(f.Object), File: f.File, Name: f.Name}
		},
		func(f *cgout.Function) cgout.Func { return cgout.Func{File: f.File, Name: f.Name} },
		func(f *cgout.Function) cgout.Func { return cgout.Func{File: base(f.File), Name: f.Name} },
		func(f *cgout.Function) cgout.Func { return cgout.Func{File: base(f.File), Name: StripHash(f.Name)} },
		func(f *cgout.Function) cgout.Func { return cgout.Func{Name: StripHash(f.Name)} },
	} {
		unique := func(list []*cgout.Function, left func(f *cgout.Function) bool) map[cgout.Func]*cgout.Function {
			m := map[cgout.Func]*cgout.Function{}
			for _, f := range list {
				if !left(f) || i > 1 && strings.HasPrefix(f.Name, cgout.Unknown) { // nameless code of two objects has nothing in common
					continue
				}
				if _, twice := m[key(f)]; twice {
					m[key(f)] = nil
				} else {
					m[key(f)] = f
				}
			}
			return m
		}
		byKey := unique(olds, func(f *cgout.Function) bool { return !taken[f] })
		for k, f := range unique(news, func(f *cgout.Function) bool { return pairs[f] == nil }) {
			if old := byKey[k]; f != nil && old != nil {
				pairs[f], taken[old] = old, true
			}
		}
	}
	for _, f := range olds {
		if !taken[f] {
			gone = append(gone, f)
		}
	}
	return pairs, gone
}
