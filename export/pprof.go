package export

import (
	"path"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/cgemu/cgemu/cgout"
)

// A pprofBuilder makes a profile of pprof's.
type pprofBuilder struct {
	*profile.Profile
	mappings  map[string]*profile.Mapping
	functions map[cgout.Func]*profile.Function
	locations map[pprofPlace]*profile.Location
}

// A pprofPlace is a line of a function, which lies in file.
type pprofPlace struct {
	fn   cgout.Func
	file string
	line int
}

// pprof writes a profile of pprof's (profile.proto, gzipped): a sample type for each event, a location for each line of
// a function, a mapping for each object. Samples of threads that were counted apart have a label `thread`.
func (x *exporter) pprof() error {
	b := pprofBuilder{
		&profile.Profile{DefaultSampleType: x.events()[0], Period: 1, Comments: append([]string{x.p.Cmd}, x.p.Desc...)},
		map[string]*profile.Mapping{}, map[cgout.Func]*profile.Function{}, map[pprofPlace]*profile.Location{},
	}
	for _, name := range x.events() {
		b.SampleType = append(b.SampleType, &profile.ValueType{Type: name, Unit: "count"})
	}
	b.PeriodType = b.SampleType[0]
	program, _, _ := strings.Cut(x.p.Cmd, " ")
	for c := range x.graph.Costs { // to pprof the first mapping is the program
		if path.Base(c.Func.Object) == path.Base(program) {
			b.mapping(c.Func.Object)
			break
		}
	}
	if len(x.p.Threads) == 0 {
		if err := b.samples(x.graph, x.columns, 0); err != nil {
			return err
		}
	}
	for _, p := range x.p.Threads {
		graph := p.Graph
		if graph == nil {
			graph = flatGraph(p)
		}
		if err := b.samples(graph, x.columns, p.Thread); err != nil {
			return err
		}
	}
	if err := b.CheckValid(); err != nil {
		return err
	}
	return b.Write(x.Writer)
}

// samples adds what a graph counts, of a thread or, as 0, of all.
func (b *pprofBuilder) samples(graph *cgout.CallGraph, columns []int, thread int) error {
	s, err := newStacks(graph, columns, detail{sites: true, lines: true})
	if err != nil {
		return err
	}
	var label map[string][]int64 // pprof takes a text of digits for a number when it filters
	if thread > 0 {
		label = map[string][]int64{"thread": {int64(thread)}}
	}
	s.each(func(n *node) {
		for _, c := range n.self {
			sample := &profile.Sample{Location: []*profile.Location{b.location(n.frame, c.place)}, NumLabel: label}
			for site, up := n.site, n.parent; up.parent != nil; site, up = up.site, up.parent {
				sample.Location = append(sample.Location, b.location(up.frame, site))
			}
			for _, count := range c.counts {
				sample.Value = append(sample.Value, int64(count)) // newStacks has seen that totals fit
			}
			b.Sample = append(b.Sample, sample)
		}
	})
	return nil
}

// location returns a line of a function, or a frame that is none.
func (b *pprofBuilder) location(f *frame, at place) *profile.Location {
	key := pprofPlace{f.fn, at.file, at.line}
	if f.kind == markFrame {
		key = pprofPlace{fn: cgout.Func{Name: f.name}}
	}
	l := b.locations[key]
	if l == nil {
		l = &profile.Location{
			ID: uint64(len(b.Location) + 1), Mapping: b.mapping(f.fn.Object),
			Line: []profile.Line{{Function: b.function(f, key.file), Line: int64(key.line)}},
		}
		b.locations[key] = l
		b.Location = append(b.Location, l)
	}
	return l
}

// function returns a function as it is in a file: pprof wants the file of a line from it.
func (b *pprofBuilder) function(f *frame, file string) *profile.Function {
	key := cgout.Func{Object: f.fn.Object, File: file, Name: f.name}
	fn := b.Profile.Function
	p := b.functions[key]
	if p == nil {
		p = &profile.Function{ID: uint64(len(fn) + 1), Name: f.name, SystemName: f.name, Filename: file}
		if file == f.file {
			p.StartLine = int64(f.line)
		}
		if file == cgout.Unknown {
			p.Filename = ""
		}
		b.functions[key] = p
		b.Function = append(fn, p)
	}
	return p
}

// mapping returns an object's mapping, nil if it is not known. Addresses are none of the guest's: they only tell
// mappings apart.
func (b *pprofBuilder) mapping(object string) *profile.Mapping {
	if object == "" || object == cgout.Unknown {
		return nil
	}
	m := b.mappings[object]
	if m == nil {
		id := uint64(len(b.Mapping) + 1)
		m = &profile.Mapping{
			ID: id, Start: id << 32, Limit: id<<32 + 1<<32, File: object,
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true,
		}
		b.mappings[object] = m
		b.Mapping = append(b.Mapping, m)
	}
	return m
}
