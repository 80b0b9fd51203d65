package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Verdict says what became of a benchmark.
type Verdict string

// Verdicts, the worst first.
const (
	Failed     Verdict = "failed"     // it could not be measured
	Regression Verdict = "regression" // a count is beyond its limit
	Unlike     Verdict = "unlike"     // something else is run than what the baseline counted: the counts do not compare
	New        Verdict = "new"        // the baseline does not have it, or not all of it
	Changed    Verdict = "changed"    // counts went up, and perhaps others down, within their limits
	Improved   Verdict = "improved"   // counts went down, and none up
	Same       Verdict = "same"
)

// verdicts are all, the worst first.
var verdicts = []Verdict{Failed, Regression, Unlike, New, Changed, Improved, Same}

// A Report has a Result for each benchmark, in the order of the manifest.
type Report struct {
	Results []Result
	// Dir is the manifest's directory as its user named it, or from the top of the repository on: files of annotations
	// are below it.
	Dir string
	// Against says what it is compared with, if that is not the baseline.
	Against string
	// Update is the command by which the baseline takes today's counts: "" is that of cgemu check.
	Update string
}

// A Result is a benchmark compared with the baseline.
type Result struct {
	Name, Group string
	Verdict     Verdict
	// Err is why it failed.
	Err error
	// Changes are the events, then the functions that have limits.
	Changes []Change
	// Functions are what moved the first event, by how much, the most first. Own is the sum of those whose source is
	// below the manifest's directory, Elsewhere the rest of the change: libraries, the loader, and functions too small
	// to be kept.
	Functions      []Moved
	Own, Elsewhere int64
	// Now is what was counted, nil if that failed.
	Now *Counts
	// Differs is what of the fingerprint is not as it was: the counts may differ for that.
	Differs []Difference
}

// A Change is a count before and now.
type Change struct {
	// Event is its event, Function the pattern if it is of functions.
	Event, Function string
	Old, New        uint64
	Limit           Limit
	// Exceeded says that it went beyond its limit. Unknown says that there is no count before.
	Exceeded, Unknown bool
}

// Delta is how much more there are now.
func (c Change) Delta() int64 { return int64(c.New - c.Old) }

// A Moved is a function whose own count changed.
type Moved struct {
	File, Func string
	Old, New   uint64
	// Gone and Added say that it is in one of both only. Small says that the baseline does not have it: it was not
	// there, or counted too little to be kept, so that Old is 0.
	Gone, Added, Small bool
	// Lines are its busiest lines now.
	Lines []Line
}

// Delta is how much more it counts.
func (f Moved) Delta() int64 { return int64(f.New - f.Old) }

// A Difference is something that counts depend on, before and now; "" if it was not there.
type Difference struct{ What, Old, New string }

// Regressed reports whether a benchmark went beyond a limit.
func (r *Report) Regressed() bool { return r.has(Regression) }

// Lacks reports whether the baseline lacks something.
func (r *Report) Lacks() bool { return r.has(New) }

// Stale reports whether the baseline lacks something, or has counts of something else.
func (r *Report) Stale() bool { return r.has(New) || r.has(Unlike) }

// Failed reports whether a benchmark could not be measured.
func (r *Report) Failed() bool { return r.has(Failed) }

func (r *Report) has(v Verdict) bool {
	return slices.ContainsFunc(r.Results, func(x Result) bool { return x.Verdict == v })
}

// Compare compares what a benchmark counted with what it counted before; old is nil if that is not known.
func Compare(b *Benchmark, old *Counts, now *Measurement) Result {
	r := Result{Name: b.Name, Group: b.Group, Now: now.Counts}
	if old == nil {
		r.Verdict = New
		for _, e := range b.Events {
			r.Changes = append(r.Changes, Change{Event: e, New: now.Events[e], Unknown: true})
		}
		return r
	}
	limits, _ := b.limits(b.Limit) // checked with the manifest
	known := true
	for _, e := range b.Events {
		was, ok := old.Events[e]
		c := Change{Event: e, Old: was, New: now.Events[e], Limit: limits[e], Unknown: !ok}
		c.Exceeded = ok && !c.Limit.allows(c.Old, c.New)
		known = known && ok
		r.Changes = append(r.Changes, c)
	}
	for _, f := range b.Functions {
		limits, _ := b.limits(f.Limit)
		was, ok := old.Limited[f.Name]
		c := Change{Event: b.Events[0], Function: f.Name, Old: was, New: now.Limited[f.Name], Limit: limits[b.Events[0]], Unknown: !ok}
		c.Exceeded = ok && !c.Limit.allows(c.Old, c.New)
		known = known && ok
		r.Changes = append(r.Changes, c)
	}
	r.moved(old, now)
	for _, what := range slices.Sorted(maps.Keys(union(old.Fingerprint, now.Fingerprint))) {
		if o, n := old.Fingerprint[what], now.Fingerprint[what]; !slices.Contains(strings.Split(o, either), n) {
			r.Differs = append(r.Differs, Difference{what, o, n})
		}
	}
	if slices.ContainsFunc(r.Differs, func(d Difference) bool { return !d.comparable() }) {
		for i := range r.Changes {
			r.Changes[i].Exceeded = false // limits are for counts that compare
		}
		r.Verdict = Unlike
		return r
	}
	r.Verdict = verdict(r.Changes, known)
	return r
}

// comparable reports whether counts compare in spite of d: it is what a benchmark is for, or what explains a change.
func (d Difference) comparable() bool {
	return slices.Contains([]string{"program", "compiler", "libraries"}, d.What) ||
		strings.HasPrefix(d.What, programPrefix) || strings.HasPrefix(d.What, inputPrefix)
}

// sumLimited adds up the functions of each pattern that has a limit.
func (b *Benchmark) sumLimited(c *Counts) {
	for _, f := range b.Functions {
		c.Limited[f.Name] = 0
		for key, n := range c.Functions {
			if f.matches(key) {
				c.Limited[f.Name] += n
			}
		}
	}
}

func verdict(changes []Change, known bool) Verdict {
	up, down := false, false
	for _, c := range changes {
		if c.Exceeded {
			return Regression
		}
		if !c.Unknown {
			up, down = up || c.New > c.Old, down || c.New < c.Old
		}
	}
	switch {
	case !known:
		return New
	case up:
		return Changed
	case down:
		return Improved
	}
	return Same
}

// moved finds what moved the first event.
func (r *Result) moved(old *Counts, now *Measurement) {
	list := now.Functions
	if old.whole {
		list = now.All
	}
	for key := range union(old.Functions, list) {
		was, had := old.Functions[key]
		is, has := now.All[key]
		if was == is {
			continue
		}
		file, fn, _ := strings.Cut(key, ":")
		f := Moved{File: file, Func: fn, Old: was, New: is, Gone: !has, Added: !had && old.whole, Small: !had && !old.whole, Lines: now.Lines[key]}
		r.Functions = append(r.Functions, f)
		if ours(file) {
			r.Own += f.Delta()
		}
	}
	r.Elsewhere = r.Changes[0].Delta() - r.Own
	slices.SortFunc(r.Functions, func(a, b Moved) int {
		return cmp.Or(cmp.Compare(abs(b.Delta()), abs(a.Delta())), cmp.Compare(a.File, b.File), cmp.Compare(a.Func, b.Func))
	})
}

func union[V any](a, b map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

func abs(x int64) int64 { return max(x, -x) }
