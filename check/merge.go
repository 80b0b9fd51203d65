package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// ReadJSON reads a report that WriteJSON wrote.
func ReadJSON(r io.Reader) (*Report, error) {
	var in jsonReport
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, err
	}
	if in.Format != jsonFormat || in.Version != jsonVersion {
		return nil, fmt.Errorf("not a report of cgemu check, version %d: --report=json=FILE writes them", jsonVersion)
	}
	out := &Report{Against: in.Against}
	for _, b := range in.Results {
		x := Result{Name: b.Name, Group: b.Group, Verdict: b.Verdict, Own: b.Own, Elsewhere: b.Elsewhere, Now: b.Counts.counts()}
		if b.Error != "" {
			x.Err = errors.New(b.Error)
		}
		for _, c := range b.Changes {
			change := Change{Event: c.Event, Function: c.Function, Old: c.Old, New: c.New, Exceeded: c.Exceeded, Unknown: c.Unknown}
			if c.Limit != "" {
				var err error
				if change.Limit, err = ParseLimit(c.Limit); err != nil {
					return nil, fmt.Errorf("%s: limit: %w", b.Name, err)
				}
			}
			x.Changes = append(x.Changes, change)
		}
		for _, f := range b.Functions {
			x.Functions = append(x.Functions, Moved{File: f.File, Func: f.Name, Old: f.Old, New: f.New, Gone: f.Gone, Added: f.Added, Small: f.Small, Lines: f.Lines})
		}
		for _, d := range b.Differs {
			x.Differs = append(x.Differs, Difference(d))
		}
		if x.Verdict == Failed && x.Err == nil || x.Verdict != Failed && len(x.Changes) == 0 {
			return nil, fmt.Errorf("%s: neither counts nor an error", b.Name)
		}
		out.Results = append(out.Results, x)
	}
	return out, nil
}

// Merge joins the reports of several machines, each of which ran a part of the benchmarks: one that none has failed.
// The order is the manifest's.
func (m *Manifest) Merge(reports ...*Report) (*Report, error) {
	if err := m.sameBuild(reports); err != nil {
		return nil, err
	}
	found := map[string]*Result{}
	for _, r := range reports {
		for i := range r.Results {
			x := &r.Results[i]
			if found[x.Name] != nil {
				return nil, fmt.Errorf("two reports have %s", x.Name)
			}
			found[x.Name] = x
		}
	}
	out := &Report{Dir: m.Dir}
	for i, r := range reports {
		if i > 0 && r.Against != out.Against {
			return nil, fmt.Errorf("the parts are compared with %s and %s: give --against the same commit in all of them", cmp.Or(out.Against, "the baseline"), cmp.Or(r.Against, "the baseline"))
		}
		out.Against = r.Against
	}
	for i := range m.Benchmarks {
		b := &m.Benchmarks[i]
		if x := found[b.Name]; x != nil {
			out.Results = append(out.Results, *x)
			delete(found, b.Name)
			continue
		}
		out.Results = append(out.Results, Result{Name: b.Name, Group: b.Group, Verdict: Failed, Err: errors.New("no report has it")})
	}
	for name := range found {
		return nil, fmt.Errorf("the manifest has no benchmark %s", name)
	}
	return out, nil
}

// sameBuild refuses reports in which a program of the project is not the same: they are of different builds, and their
// counts are no result of either.
func (m *Manifest) sameBuild(reports []*Report) error {
	type program struct{ dir, path string }
	first := map[program]*Result{}
	for _, r := range reports {
		for i := range r.Results {
			x := &r.Results[i]
			at := slices.IndexFunc(m.Benchmarks, func(b Benchmark) bool { return b.Name == x.Name })
			if at < 0 || x.Now == nil {
				continue
			}
			b := &m.Benchmarks[at]
			if !strings.Contains(b.Run[0], "/") || filepath.IsAbs(b.Run[0]) {
				continue // of the machine, not of the project
			}
			p := program{b.Dir, b.Run[0]}
			if first[p] == nil {
				first[p] = x
			}
			for _, what := range []string{"program", "counting"} {
				if first[p].Now.Fingerprint[what] != x.Now.Fingerprint[what] {
					return fmt.Errorf("%s is not the same in the reports of %s and %s: the parts are of different builds, or machines with different versions of cgemu", b.Run[0], first[p].Name, x.Name)
				}
			}
		}
	}
	return nil
}
