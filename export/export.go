package export

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// Formats are the names that Write takes.
var Formats = []string{"callgrind", "pprof", "folded", "speedscope", "firefox", "perfetto", "flamegraph", "lcov"}

// writers write a profile with a call graph.
var writers = map[string]func(*exporter) error{
	"callgrind": (*exporter).callgrind, "pprof": (*exporter).pprof, "folded": (*exporter).folded, "speedscope": (*exporter).speedscope,
	"firefox": (*exporter).firefox, "perfetto": (*exporter).perfetto, "flamegraph": (*exporter).flamegraph, "lcov": (*exporter).lcov,
}

// Options say what is written.
type Options struct {
	// Events are those that are written, in this order; none: all. Formats that have one event (folded, flamegraph,
	// lcov) take the first.
	Events []string
	// Lines has source lines be frames above their functions. Profiles without a call graph always have them; pprof has
	// lines of its own.
	Lines bool
}

// Binary reports whether a format is no text.
func Binary(format string) bool { return format == "pprof" }

// An exporter writes one profile.
type exporter struct {
	*bufio.Writer
	p       *cgout.Profile
	graph   *cgout.CallGraph // of p, or one without calls
	flat    bool             // p has no call graph
	columns []int            // of the events that are wanted
	lines   bool
}

// Write writes a profile in a format. It is an error if there is no such format or event, or if a count does not fit in
// the format.
func Write(w io.Writer, format string, p *cgout.Profile, o Options) error {
	write := writers[format]
	if write == nil {
		return fmt.Errorf("export: no format %s: %s", format, strings.Join(Formats, ", "))
	}
	x := &exporter{Writer: bufio.NewWriterSize(w, 1<<16), p: p, graph: p.Graph, lines: o.Lines}
	for _, name := range o.Events {
		e := slices.Index(p.Events, name)
		if e < 0 {
			return fmt.Errorf("export: the profile has no event %s: %s", name, strings.Join(p.Events, ", "))
		}
		if !slices.Contains(x.columns, e) {
			x.columns = append(x.columns, e)
		}
	}
	if x.columns == nil {
		for e := range p.Events {
			x.columns = append(x.columns, e)
		}
	}
	if len(x.columns) == 0 {
		return fmt.Errorf("export: the profile has no events")
	}
	if p.Graph == nil {
		x.graph, x.flat, x.lines = flatGraph(p), true, true
	}
	if err := write(x); err != nil {
		return err
	}
	return x.Flush()
}

// flatGraph makes a call graph without calls.
func flatGraph(p *cgout.Profile) *cgout.CallGraph {
	g := cgout.NewCallGraph(len(p.Events))
	p.Each(func(file, fn string, line int, counts []uint64) {
		g.AddCost(cgout.Func{Object: cgout.Unknown, File: file, Name: fn}, file, line, counts...)
	})
	return g
}

// events returns the names of the events that are wanted.
func (x *exporter) events() (names []string) {
	for _, e := range x.columns {
		names = append(names, x.p.Events[e])
	}
	return names
}

// stacks returns the stacks of the columns, with lines as frames if they are asked for.
func (x *exporter) stacks(columns []int) (*stacks, error) {
	s, err := newStacks(x.graph, columns, detail{lines: x.lines})
	if err == nil && x.lines {
		s.linesAsFrames()
	}
	return s, err
}

// linesAsFrames gives the costs of lines to frames of their own.
func (s *stacks) linesAsFrames() {
	frames := map[place]*frame{}
	var all []*node
	for list := []*node{s.root}; len(list) > 0; {
		n := list[len(list)-1]
		list = append(list[:len(list)-1], n.children...)
		all = append(all, n)
	}
	for _, n := range all {
		for _, c := range n.self {
			f := frames[c.place]
			if f == nil {
				f = s.newFrame(frame{kind: lineFrame, name: c.name(), file: c.file, line: c.line})
				frames[c.place] = f
			}
			n.children = append(n.children, &node{
				frame: f, parent: n, depth: n.depth + 1, site: c.place, self: []cost{c}, inclusive: slices.Clone(c.counts),
			})
		}
		n.self = nil
		n.sort()
	}
}

// name is what a line's frame is called.
func (p place) name() string {
	if p.line == 0 {
		return path.Base(p.file) + ":?"
	}
	return fmt.Sprintf("%s:%d", path.Base(p.file), p.line)
}

// functionName is what a function's frame is called: code without a name by its object.
func functionName(f cgout.Func) string {
	if f.Name == cgout.Unknown && f.Object != cgout.Unknown && f.Object != "" {
		return cgout.Unknown + " (" + path.Base(f.Object) + ")"
	}
	return f.Name
}

// knownFile is the frame's file, "" if it is not known.
func (f *frame) knownFile() string {
	if f.file == cgout.Unknown {
		return ""
	}
	return f.file
}

// callgrind writes Callgrind's format, with all events unless some were named.
func (x *exporter) callgrind() error {
	p := cgout.New(x.events()...)
	p.Desc, p.Cmd, p.Graph = x.p.Desc, x.p.Cmd, cgout.NewCallGraph(len(x.columns))
	pick := func(counts []uint64) (list []uint64) {
		for _, e := range x.columns {
			list = append(list, counts[e])
		}
		return list
	}
	for c := range x.graph.Costs {
		p.Add(c.File, c.Func.Name, c.Line, pick(c.Counts)...)
		p.Graph.AddCost(c.Func, c.File, c.Line, pick(c.Counts)...)
	}
	for c := range x.graph.Calls {
		c.Counts = pick(c.Counts)
		p.Graph.AddCall(c)
	}
	for j := range x.graph.Jumps {
		p.Graph.AddJump(j)
	}
	return p.WriteCallgrind(x.Writer)
}
