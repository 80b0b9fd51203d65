package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// A covered is what lcov is told of a file: the first event's count of each line, and functions.
type covered struct {
	lines     map[int]uint64
	functions map[string]coveredFunction
}

// A coveredFunction is where a function begins, and how often it was called.
type coveredFunction struct {
	line  int
	calls uint64
}

// lcov writes a tracefile of lcov's (geninfo(1), "Tracefile format"): as executions of a line stands its count. Lines
// that are not known, and those that were not executed, are not there: a profile has none of these.
func (x *exporter) lcov() error {
	files := map[string]*covered{}
	file := func(name string) *covered {
		if files[name] == nil {
			files[name] = &covered{map[int]uint64{}, map[string]coveredFunction{}}
		}
		return files[name]
	}
	e := x.columns[0]
	first := map[cgout.Func]coveredFunction{} // where each function has its first line, and what that counts
	for c := range x.graph.Costs {
		if c.Line == 0 || c.File == cgout.Unknown || c.Counts[e] == 0 {
			continue
		}
		f := file(c.File)
		f.lines[c.Line] = saturated(f.lines[c.Line], c.Counts[e])
		if _, ok := first[c.Func]; !ok && c.File == c.Func.File {
			first[c.Func] = coveredFunction{c.Line, c.Counts[e]}
		}
	}
	for _, fn := range x.graph.Functions().Functions {
		at, ok := first[fn.Func]
		if !ok {
			continue
		}
		if !x.flat {
			at.calls = max(1, fn.Called) // it was executed, if only by being jumped into
		}
		if fn.Line > 0 {
			at.line = fn.Line
		}
		functions := file(fn.File).functions
		if known, ok := functions[fn.Name]; ok {
			at.line, at.calls = min(at.line, known.line), saturated(at.calls, known.calls)
		}
		functions[fn.Name] = at
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		x.tracefile(name, files[name])
	}
	return nil
}

// tracefile writes what there is of one file.
func (x *exporter) tracefile(name string, f *covered) {
	oneLine := strings.NewReplacer("\n", " ", "\r", " ").Replace
	fmt.Fprintf(x, "TN:\nSF:%s\n", oneLine(name))
	names := slices.SortedFunc(maps.Keys(f.functions), func(a, b string) int {
		if d := f.functions[a].line - f.functions[b].line; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, fn := range names {
		fmt.Fprintf(x, "FN:%d,%s\n", f.functions[fn].line, oneLine(fn))
	}
	for _, fn := range names {
		fmt.Fprintf(x, "FNDA:%d,%s\n", f.functions[fn].calls, oneLine(fn))
	}
	fmt.Fprintf(x, "FNF:%d\nFNH:%d\n", len(names), len(names))
	for _, line := range slices.Sorted(maps.Keys(f.lines)) {
		fmt.Fprintf(x, "DA:%d,%d\n", line, f.lines[line])
	}
	fmt.Fprintf(x, "LF:%d\nLH:%d\nend_of_record\n", len(f.lines), len(f.lines))
}
