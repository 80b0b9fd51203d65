package annotate

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strconv"
)

// WriteCallersJSON writes what WriteCallers does as JSON that keeps to Schema, with all that is known of the calls.
// Errors are those of WriteCallers.
func (r *CallReport) WriteCallersJSON(w io.Writer, globs ...string) error {
	fns, left, err := r.asked(globs)
	if err != nil {
		return err
	}
	of := *r.r
	if len(of.o.Show) == 0 {
		of.Show = allColumns(&model{events: r.Events}, nil)
	}
	return buffered(w, func(w *bufio.Writer) error {
		j := newJSONWriter(w, &of)
		j.head("callers")
		j.callGraph(r, fns, left, TreeBoth)
		j.WriteString("\n}\n")
		return nil
	})
}

// newJSONWriter returns what writes a report.
func newJSONWriter(w *bufio.Writer, r *Report) *jsonWriter {
	j := &jsonWriter{Writer: w, r: r}
	j.quote = json.NewEncoder(&j.text)
	j.quote.SetEscapeHTML(false)
	return j
}

// callGraph writes a call graph's functions, as far as they are asked for, with their callers and callees, as tree
// says, and the cycles that they are in.
func (j *jsonWriter) callGraph(r *CallReport, fns []*CallFunction, left int, tree Tree) {
	j.WriteString("\"callGraph\": {\"omitted\": " + strconv.Itoa(left) + ", \"functions\": [")
	for i, f := range fns {
		j.next(i)
		j.callFunction(f, tree)
	}
	j.WriteString("\n], \"cycles\": [")
	n := 0
	for _, c := range r.Cycles {
		if !slices.ContainsFunc(fns, func(f *CallFunction) bool { return f.cycle == c.Name }) {
			continue
		}
		j.next(n)
		n++
		j.WriteString(`{"name": `)
		j.str(c.Name)
		j.nested("self", c.Self)
		j.nested("inclusive", c.Inclusive)
		j.WriteString(`, "functions": [`)
		for k, f := range c.Functions {
			j.next(k)
			j.WriteByte('{')
			j.who(f)
			j.WriteByte('}')
		}
		j.WriteString("]}")
	}
	j.WriteString("\n]}")
}

func (j *jsonWriter) callFunction(f *CallFunction, tree Tree) {
	j.WriteByte('{')
	j.who(f)
	if f.cycle != "" {
		j.field("cycle", f.cycle)
	}
	j.calls(f.Called)
	j.nested("self", f.Self)
	j.nested("inclusive", f.Inclusive)
	if tree == TreeCaller || tree == TreeBoth {
		j.arcs("callers", f.Callers, func(a *CallArc) *CallFunction { return a.Caller })
	}
	if tree == TreeCalling || tree == TreeBoth {
		j.arcs("callees", f.Callees, func(a *CallArc) *CallFunction { return a.Callee })
	}
	j.WriteByte('}')
}

// who writes the fields that say which function it is.
func (j *jsonWriter) who(f *CallFunction) {
	j.WriteString(`"object": `)
	j.str(f.Object)
	j.field("file", f.File)
	j.field("name", f.plain)
}

func (j *jsonWriter) calls(c Calls) {
	j.WriteString(`, "calls": ` + strconv.FormatUint(c.Count, 10))
	if j.r.Compare {
		j.WriteString(`, "oldCalls": ` + strconv.FormatUint(c.Old, 10))
	}
}

// nested writes a row as an object of its own.
func (j *jsonWriter) nested(key string, row Row) {
	j.WriteString(`, "` + key + `": {`)
	j.row(row, j.r.Total)
	j.WriteByte('}')
}

// arcs writes calls; other returns the function at their other end. What the lines of recursive ones cost once is not
// known.
func (j *jsonWriter) arcs(key string, arcs []*CallArc, other func(*CallArc) *CallFunction) {
	j.WriteString(`, "` + key + `": [`)
	for i, a := range arcs {
		j.next(i)
		j.WriteByte('{')
		j.who(other(a))
		j.calls(a.Calls)
		j.WriteString(`, "recursive": ` + strconv.FormatBool(a.Recursive) + ", ")
		j.row(a.Row, j.r.Total)
		j.WriteString(`, "sites": [`)
		for k, s := range a.Sites {
			if k > 0 {
				j.WriteString(", ")
			}
			j.WriteString(`{"file": `)
			j.str(s.File)
			j.WriteString(`, "line": ` + strconv.Itoa(s.Line))
			if j.calls(s.Calls); !a.Recursive {
				j.WriteString(", ")
				j.row(s.Row, j.r.Total)
			}
			j.WriteByte('}')
		}
		j.WriteString("]}")
	}
	j.WriteByte(']')
}
