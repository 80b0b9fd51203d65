package cgout

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/internal/numbering"
)

// A callgrindWriter writes a profile with its call graph in Callgrind's format: functions, each with its lines and
// their calls.
type callgrindWriter struct {
	*bufio.Writer
	// objects, files and funcs have the numbers under which names were written. A function's is its own, though others
	// have its name: to KCachegrind a number is a function, in the object and file where it saw it first.
	objects, files numbering.Table[string]
	funcs          numbering.Table[Func]
	num            []byte
	err            error // of the first line that cannot be written
	// graph is what is written, fn the function there and in the file of the lines that come, -1 and "" at first.
	graph *CallGraph
	fn    int32
	in    string
}

// WriteCallgrind writes p in Callgrind's format (version 1, positions are lines, names compressed), which
// callgrind_annotate, KCachegrind and Read read. Lines and calls that counted nothing are left out, and blanks around
// names, Cmd and Desc, since readers do not see them. It is an error if p has no call graph, or one of other events,
// and what is an error of Write. The costs of the graph have to be p's in sum, or the file cannot be read: that is not
// looked at, lest a run's counts be lost.
func (p *Profile) WriteCallgrind(w io.Writer) error {
	if p.Graph == nil {
		return fmt.Errorf("cgout: a profile without a call graph cannot be written in Callgrind's format")
	}
	totals, err := p.writable()
	if err != nil {
		return err
	}
	if n := p.Graph.events; n != len(p.Events) {
		return fmt.Errorf("cgout: the call graph has counts of %d events, the profile of %d", n, len(p.Events))
	}
	b := callgrindWriter{Writer: bufio.NewWriterSize(w, 64<<10), graph: p.Graph.trimmed(), fn: -1}
	fmt.Fprintf(b, "# callgrind format\nversion: 1\ncreator: cgemu\ncmd: %s\npart: 1\n", trimmed(p.Cmd))
	if p.Thread > 0 {
		fmt.Fprintf(b, "thread: %d\n", p.Thread)
	}
	b.WriteString("\n")
	for _, desc := range p.Desc {
		b.WriteString("desc: " + trimmed(desc) + "\n")
	}
	b.WriteString("\npositions: line\nevents: " + strings.Join(p.Events, " ") + "\nsummary:")
	b.Write(appendCounts(nil, totals))
	if b.functions(); b.err != nil {
		return b.err
	}
	b.WriteString("\ntotals:")
	b.Write(appendCounts(nil, totals))
	return b.Flush()
}

// trimmed returns the graph with names as the format keeps them: g itself, if it has no others.
func (g *CallGraph) trimmed() *CallGraph {
	odd := func(name string) bool { return trimmed(name) != name }
	trim := func(f Func) Func { return Func{trimmed(f.Object), trimmed(f.File), trimmed(f.Name)} }
	if !slices.ContainsFunc(g.funcs.Values(), func(f Func) bool { return trim(f) != f }) && !slices.ContainsFunc(g.files.Values(), odd) &&
		!slices.ContainsFunc(g.jumps.keys.Values(), func(k jumpKey) bool { return odd(k.fn) }) {
		return g
	}
	return g.Renamed(trimmed, trim)
}

// functions writes all functions. Costs, calls and jumps are in one order: those of a line come together.
func (b *callgrindWriter) functions() {
	g := b.graph
	o := g.ordering()
	calls, jumps := g.sortedCalls(&o), g.sortedJumps(&o)
	callKeys, jumpKeys, costKeys := g.calls.keys.Values(), g.jumps.keys.Values(), g.costs.keys.Values()
	flush := func(before func(*costKey) bool) {
		for {
			var call, jump *costKey
			if len(calls) > 0 {
				call = &callKeys[calls[0]].site
			}
			if len(jumps) > 0 {
				jump = &jumpKeys[jumps[0]].site
			}
			switch {
			case call != nil && before(call) && (jump == nil || o.costs(call, jump) <= 0):
				if c := g.call(calls[0]); c.Count != 0 || !allZero(c.Counts) {
					b.enter(call)
					b.call(&c)
				}
				calls = calls[1:]
			case jump != nil && before(jump):
				if j := g.jump(jumps[0]); j.Count != 0 {
					b.enter(jump)
					b.jump(&j)
				}
				jumps = jumps[1:]
			default:
				return
			}
		}
	}
	for _, i := range g.sortedCosts(&o) {
		at, counts := &costKeys[i], g.costs.rowOf(i, g.events)
		if allZero(counts) {
			continue
		}
		flush(func(k *costKey) bool { return o.costs(k, at) < 0 })
		b.enter(at)
		b.position(at.line, counts)
	}
	flush(func(*costKey) bool { return true })
}

// enter goes on with the lines of a file in a function.
func (b *callgrindWriter) enter(k *costKey) {
	g := b.graph
	if f := g.function(k.fn); k.fn != b.fn {
		b.function(&f, b.fn < 0 || f.Object != g.function(b.fn).Object)
		b.fn, b.in = k.fn, f.File
	}
	if f := g.file(k.file); f != b.in {
		b.file(f, g.function(b.fn).File)
		b.in = f
	}
}

// function begins a function.
func (b *callgrindWriter) function(fn *Func, newObject bool) {
	b.WriteByte('\n')
	if newObject {
		writeName(b, "ob", fn.Object, fn.Object, &b.objects)
	}
	writeName(b, "fl", fn.File, fn.File, &b.files)
	writeName(b, "fn", fn.Name, *fn, &b.funcs)
}

// file says that the lines that follow are of another file than those before, or of the function's own again.
func (b *callgrindWriter) file(name, own string) {
	if name == own {
		writeName(b, "fe", name, name, &b.files)
	} else {
		writeName(b, "fi", name, name, &b.files)
	}
}

// inlinedMark stands in front of a call that is none: the format has no word for it, so that it is a comment to others.
const inlinedMark = "# inlined"

// call writes calls. Object, file and name of the callee are always there, since readers disagree about what holds if
// one is missing.
func (b *callgrindWriter) call(c *Call) {
	if c.Inlined {
		b.WriteString(inlinedMark + "\n")
	}
	writeName(b, "cob", c.Callee.Object, c.Callee.Object, &b.objects)
	writeName(b, "cfi", c.Callee.File, c.Callee.File, &b.files)
	writeName(b, "cfn", c.Callee.Name, c.Callee, &b.funcs)
	b.num = strconv.AppendUint(append(b.num[:0], "calls="...), c.Count, 10)
	b.num = b.appendLine(append(b.num, ' '), c.CalleeLine)
	b.Write(append(b.num, '\n'))
	b.position(c.Line, c.Counts)
}

// jump writes jumps. File and function of the target are there if they are others.
func (b *callgrindWriter) jump(j *Jump) {
	if j.TargetFile != j.File {
		writeName(b, "jfi", j.TargetFile, j.TargetFile, &b.files)
	}
	if j.TargetFunc != j.Func.Name {
		writeName(b, "jfn", j.TargetFunc, Func{j.Func.Object, j.TargetFile, j.TargetFunc}, &b.funcs)
	}
	if j.Conditional {
		fmt.Fprintf(b, "jcnd=%d/%d ", j.Count, j.Executed)
	} else {
		fmt.Fprintf(b, "jump=%d ", j.Count)
	}
	b.num = append(b.appendLine(b.num[:0], j.TargetLine), '\n')
	b.Write(append(b.appendLine(b.num, j.Line), '\n'))
}

// writeName writes the name of what, or its number if that was written before.
func writeName[T comparable](b *callgrindWriter, key, name string, what T, numbers *numbering.Table[T]) {
	b.num = append(append(b.num[:0], key...), '=')
	if name != "" { // others cannot be given a number
		n, isNew := numbers.Number(what)
		b.num = append(strconv.AppendInt(append(b.num, '('), int64(n+1), 10), ')')
		if isNew {
			b.num = append(append(b.num, ' '), name...)
		}
	}
	b.Write(append(b.num, '\n'))
}

// trimmed is a text as the format keeps it.
func trimmed(text string) string { return strings.TrimSpace(oneLine(text)) }

// appendLine appends a line's number, which a minus sign would make a distance from the last one.
func (b *callgrindWriter) appendLine(buf []byte, line int) []byte {
	if line < 0 && b.err == nil {
		b.err = negativeLine(line, b.graph.function(b.fn).Name)
	}
	return strconv.AppendInt(buf, int64(line), 10)
}

// position writes a line's number and counts.
func (b *callgrindWriter) position(line int, counts []uint64) {
	b.num = b.appendLine(b.num[:0], line)
	b.Write(appendCounts(b.num, counts))
}
