package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Baseline is what benchmarks counted when somebody was content with it, by name.
type Baseline map[string]*Counts

// Counts are what a benchmark counted, and what that depends on.
type Counts struct {
	// Events has the count of each event, for the whole run.
	Events map[string]uint64
	// Functions has the functions' own counts of the benchmark's first event, by "file:function": those that have
	// limits, those below the manifest's directory with a thousandth of all at least, and others with a two hundredth.
	Functions map[string]uint64
	// whole says that no function was left out.
	whole bool
	// Limited has the sum of the functions of each pattern that has a limit of its own, of the first event.
	Limited map[string]uint64
	// Fingerprint is what the counts depend on, by what it is.
	Fingerprint map[string]string
}

func newCounts() *Counts {
	return &Counts{
		Events: map[string]uint64{}, Functions: map[string]uint64{}, Limited: map[string]uint64{}, Fingerprint: map[string]string{},
	}
}

// The kinds of lines of a baseline.
const (
	lineEvent       = "event"
	lineFunction    = "function"
	lineLimited     = "limited"
	lineFingerprint = "made-by"
)

// either stands between two values of a fingerprint, each of which is right.
const either = " or "

const baselineHead = "# Counts, written by cgemu check --update or go test -cgemu.update. Lines may be merged in any order (.gitattributes: merge=union).\n"

// anew is what writes a baseline anew.
const anew = "cgemu check --update (with --build, if there is that) or go test -cgemu.update"

// In the fields of a line, what would end a field or the line is written as in C.
var (
	escape   = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)
	unescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r")
)

// ReadBaseline reads a baseline. Each line has a benchmark, a kind, a name and a value, separated by tabs, with `\t`,
// `\n`, `\r` and `\\` for a tab, the ends of lines and a backslash in them; lines that begin with # are comments.
// Errors begin with the line's number.
func ReadBaseline(r io.Reader) (Baseline, error) {
	b := Baseline{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	n := 0
	var twice conflict
	for s.Scan() {
		n++
		if text := strings.TrimRight(s.Text(), "\r"); text != "" && text[0] != '#' {
			var two *conflict
			switch err := b.line(strings.Split(text, "\t")); {
			case errors.As(err, &two):
				twice.add(n, two)
			case err != nil:
				return nil, fmt.Errorf("%d: %w", n, err)
			}
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%d: %w", n+1, err)
	}
	if twice.line > 0 {
		return nil, fmt.Errorf("%d: %w", twice.line, &twice)
	}
	return b, nil
}

// A conflict is that benchmarks have two counts of something: two branches have changed them.
type conflict struct {
	line       int // the first
	what       string
	benchmarks []string
}

func (c *conflict) Error() string {
	list := c.benchmarks[0]
	if n := len(c.benchmarks); n > 1 {
		list = strings.Join(c.benchmarks[:n-1], ", ") + " and " + c.benchmarks[n-1]
		return list + " have two counts each: two branches changed them; " + anew + " takes today's"
	}
	return fmt.Sprintf("%s has two counts of %s: two branches changed it; %s takes today's", list, c.what, anew)
}

// add adds a conflict on line n.
func (c *conflict) add(n int, other *conflict) {
	if c.line == 0 {
		c.line, c.what = n, other.what
	}
	if !slices.Contains(c.benchmarks, other.benchmarks[0]) {
		c.benchmarks = append(c.benchmarks, other.benchmarks...)
	}
}

// join adds a value of a fingerprint to others.
func join(old, value string) string {
	if slices.Contains(strings.Split(old, either), value) {
		return old
	}
	return old + either + value
}

func (b Baseline) line(f []string) error {
	if len(f) != 4 || f[0] == "" {
		return fmt.Errorf("not BENCHMARK, KIND, NAME and VALUE with a tab between; if a merge was left unfinished, %s writes the file anew", anew)
	}
	for i := range f {
		f[i] = unescape.Replace(f[i])
	}
	c := b[f[0]]
	if c == nil {
		c = newCounts()
		b[f[0]] = c
	}
	counts := c.Events
	switch f[1] {
	case lineFingerprint:
		// Two branches were merged that have built it each.
		if old, ok := c.Fingerprint[f[2]]; ok {
			f[3] = join(old, f[3])
		}
		c.Fingerprint[f[2]] = f[3]
		return nil
	case lineFunction:
		counts = c.Functions
	case lineLimited:
		counts = c.Limited
	case lineEvent:
	default:
		return fmt.Errorf("no line is of the kind %q", f[1])
	}
	x, err := strconv.ParseUint(f[3], 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no count", f[3])
	}
	if old, ok := counts[f[2]]; ok && old != x {
		return &conflict{what: f[2], benchmarks: f[:1]}
	}
	counts[f[2]] = x
	return nil
}

// Gone lists the benchmarks that a manifest does not have any more, sorted.
func (b Baseline) Gone(m *Manifest) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if !slices.ContainsFunc(m.Benchmarks, func(x Benchmark) bool { return x.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// Keep forgets the benchmarks that are gone.
func (b Baseline) Keep(m *Manifest) {
	for _, name := range b.Gone(m) {
		delete(b, name)
	}
}

// Write writes b, sorted. Between the lines of two benchmarks are some that never change, so that git does not take
// changes of both for one.
func (b Baseline) Write(w io.Writer) error {
	var out bytes.Buffer
	out.WriteString(baselineHead)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		fmt.Fprintf(&out, "\n#\n# %s\n#\n\n", escape.Replace(name))
		for _, l := range b[name].lines(name) {
			out.WriteString(l)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// lines are the lines of a benchmark, sorted.
func (c *Counts) lines(name string) (lines []string) {
	put := func(fields ...string) {
		for i := range fields {
			fields[i] = escape.Replace(fields[i])
		}
		lines = append(lines, strings.Join(fields, "\t")+"\n")
	}
	for kind, counts := range map[string]map[string]uint64{lineEvent: c.Events, lineFunction: c.Functions, lineLimited: c.Limited} {
		for what, n := range counts {
			put(name, kind, what, strconv.FormatUint(n, 10))
		}
	}
	for what, value := range c.Fingerprint {
		put(name, lineFingerprint, what, value)
	}
	slices.Sort(lines)
	return lines
}
