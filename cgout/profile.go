package cgout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Profile is the counts of one run.
type Profile struct {
	Desc   []string // texts of the desc lines, without "desc: "
	Cmd    string   // the command, joined by blanks
	Events []string // names of the events; Add takes a count for each
	// Insns are the same counts by instruction, nil if they are not known. WriteFile writes them to a
	// file of their own; Read, Merge and Diff leave them out.
	Insns *Insns
	// Graph is who called whom, nil if it is not known. WriteCallgrind writes it and Read reads it; Write and Merger
	// leave it out.
	Graph *CallGraph
	// Thread is the number of the thread that the counts are of, from 1 on, 0 if they are of all. Threads are the
	// profiles of threads that add up to this one, if they were counted apart. WriteCallgrind writes a Thread and Read
	// reads it; all other functions leave both out.
	Thread  int
	Threads []*Profile

	files   map[string]*file
	centres int
	counts  rows // of cost centres, one count per event

	// The names of the last Add: counts arrive in runs of one function.
	lastFile, lastFn string
	last             *function
}

type file struct{ fns map[string]*function }

// A function maps line numbers to cost centres.
type function struct{ lines map[int]int }

// New returns an empty profile for the events named.
func New(events ...string) *Profile {
	return &Profile{Events: events, files: map[string]*file{}}
}

// Centre returns the number of the cost centre (file, fn, line), which it makes
// if there is none. Numbers begin at 0 and stay valid.
func (p *Profile) Centre(file, fn string, line int) int {
	if p.last == nil || fn != p.lastFn || file != p.lastFile {
		p.lastFile, p.lastFn, p.last = file, fn, p.function(file, fn)
	}
	i, ok := p.last.lines[line]
	if !ok {
		i = p.centres
		p.centres++
		p.last.lines[line] = i
		p.counts.grow(i, len(p.Events))
	}
	return i
}

// function returns the entry of (file, fn), which it makes if there is none.
func (p *Profile) function(name, fn string) *function {
	if p.files == nil {
		p.files = map[string]*file{}
	}
	f := p.files[name]
	if f == nil {
		f = &file{fns: map[string]*function{}}
		p.files[name] = f
	}
	g := f.fns[fn]
	if g == nil {
		g = &function{lines: map[int]int{}}
		f.fns[fn] = g
	}
	return g
}

// Counts returns the counts of cost centre i, one per event, for reading and
// for adding to.
func (p *Profile) Counts(i int) []uint64 {
	return p.counts.at(i, len(p.Events))
}

// Add adds counts, one per event, to a cost centre. Missing counts are 0. A sum that does not fit stays at the greatest
// value. It panics if there are more counts than events.
func (p *Profile) Add(file, fn string, line int, counts ...uint64) {
	if len(counts) > len(p.Events) {
		panic(fmt.Sprintf("BUG: cgout: %d counts for %d events", len(counts), len(p.Events)))
	}
	sum := p.Counts(p.Centre(file, fn, line))
	for e, c := range counts {
		sum[e] = saturated(sum[e], c)
	}
}

// saturated returns a+b, or the greatest value.
func saturated(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxUint64
}

// Merge adds the counts of q to p, and its call graph if both have one, or if p is empty. Descriptions and command stay
// p's.
func (p *Profile) Merge(q *Profile) error {
	if !slices.Equal(p.Events, q.Events) {
		return fmt.Errorf("cgout: events %q do not match %q", q.Events, p.Events)
	}
	switch {
	case p.centres == 0 && p.Graph == nil:
		p.Graph = q.Graph.clone()
	case p.Graph == nil || q.Graph == nil:
		p.Graph = nil
	default:
		p.Graph.add(q.Graph)
	}
	q.Each(func(file, fn string, line int, counts []uint64) {
		p.Add(file, fn, line, counts...)
	})
	return nil
}

// Clone returns a copy of p that shares nothing that changes.
func (p *Profile) Clone() *Profile {
	q := New(slices.Clone(p.Events)...)
	q.Desc, q.Cmd, q.Insns, q.Graph = slices.Clone(p.Desc), p.Cmd, p.Insns.clone(), p.Graph.clone()
	p.Each(func(file, fn string, line int, counts []uint64) {
		q.Add(file, fn, line, counts...)
	})
	return q
}

// Each calls f for every cost centre, sorted by file, function (bytewise) and
// line. It does not allow f to keep or to change counts.
func (p *Profile) Each(f func(file, fn string, line int, counts []uint64)) {
	for _, fileName := range sortedKeys(p.files) {
		fns := p.files[fileName].fns
		for _, fnName := range sortedKeys(fns) {
			lines := fns[fnName].lines
			for _, line := range sortedKeys(lines) {
				f(fileName, fnName, line, p.Counts(lines[line]))
			}
		}
	}
}

// Len returns the number of cost centres.
func (p *Profile) Len() int { return p.centres }

// Totals returns the sums of all counts, one per event.
func (p *Profile) Totals() []uint64 {
	sum := make([]uint64, len(p.Events))
	for i := range p.centres {
		for e, c := range p.Counts(i) {
			sum[e] = saturated(sum[e], c)
		}
	}
	return sum
}

// Total returns the sum of the counts of the event named, 0 if there is none.
func (p *Profile) Total(event string) uint64 {
	e := slices.Index(p.Events, event)
	if e < 0 {
		return 0
	}
	return p.Totals()[e]
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
