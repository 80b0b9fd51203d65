package cgout

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A callgrindWriter writes a profile with its call graph in Callgrind's format: functions, each with its lines and their calls.
type callgrindWriter struct {
	*bufio.Writer
	// objects, files and funcs have the numbers under which names were written: a name is written out once.
	objects, files, funcs map[string]int
	num                   []byte
}

// WriteCallgrind writes p in Callgrind's format (version 1, positions are lines, names compressed), which callgrind_annotate, KCachegrind and
// Read read. It is an error if p has no call graph. Lines and calls that counted nothing are left out.
func (p *Profile) WriteCallgrind(w io.Writer) error {
	if p.Graph == nil {
		return fmt.Errorf("cgout: a profile without a call graph cannot be written in Callgrind's format")
	}
	b := callgrindWriter{Writer: bufio.NewWriterSize(w, 64<<10), objects: map[string]int{}, files: map[string]int{}, funcs: map[string]int{}}
	fmt.Fprintf(b, "# callgrind format\nversion: 1\ncreator: cgemu\ncmd: %s\npart: 1\n", oneLine(p.Cmd))
	if p.Thread > 0 {
		fmt.Fprintf(b, "thread: %d\n", p.Thread)
	}
	b.WriteString("\n")
	for _, desc := range p.Desc {
		b.WriteString("desc: " + oneLine(desc) + "\n")
	}
	b.WriteString("\npositions: line\nevents: " + strings.Join(p.Events, " ") + "\nsummary:")
	totals := p.Totals()
	b.Write(appendCounts(nil, totals))
	b.graph(p.Graph)
	b.WriteString("\ntotals:")
	b.Write(appendCounts(nil, totals))
	return b.Flush()
}

// graph writes all functions. Costs and calls are in one order: those of a line come together.
func (b *callgrindWriter) graph(g *CallGraph) {
	o := g.ordering()
	calls := g.calls.sorted(o.calls)
	fn, file := int32(-1), ""
	enter := func(k *costKey) {
		if f := &g.funcs.values[k.fn]; k.fn != fn {
			b.function(f, fn < 0 || f.Object != g.funcs.values[fn].Object)
			fn, file = k.fn, f.File
		}
		if f := g.files.values[k.file]; f != file {
			b.file(f, g.funcs.values[fn].File)
			file = f
		}
	}
	flush := func(before func(*costKey) bool) {
		for len(calls) > 0 && before(&g.calls.keys[calls[0]].site) {
			if c := g.call(calls[0]); c.Count != 0 || !allZero(c.Counts) {
				enter(&g.calls.keys[calls[0]].site)
				b.call(&c)
			}
			calls = calls[1:]
		}
	}
	for _, i := range g.costs.sorted(o.costs) {
		at, counts := &g.costs.keys[i], g.costs.rowOf(i, g.events)
		if allZero(counts) {
			continue
		}
		flush(func(k *costKey) bool { return o.costs(*k, *at) < 0 })
		enter(at)
		b.position(at.line, counts)
	}
	flush(func(*costKey) bool { return true })
}

// function begins a function.
func (b *callgrindWriter) function(fn *Func, newObject bool) {
	b.WriteByte('\n')
	if newObject {
		b.name("ob", fn.Object, b.objects)
	}
	b.name("fl", fn.File, b.files)
	b.name("fn", fn.Name, b.funcs)
}

// file says that the lines that follow are of another file than those before, or of the function's own again.
func (b *callgrindWriter) file(name, own string) {
	if name == own {
		b.name("fe", name, b.files)
	} else {
		b.name("fi", name, b.files)
	}
}

// inlinedMark stands in front of a call that is none: the format has no word for it, so that it is a comment to others.
const inlinedMark = "# inlined"

// call writes calls. Object, file and name of the callee are always there, since readers disagree about what holds if one is missing.
func (b *callgrindWriter) call(c *Call) {
	if c.Inlined {
		b.WriteString(inlinedMark + "\n")
	}
	b.name("cob", c.Callee.Object, b.objects)
	b.name("cfi", c.Callee.File, b.files)
	b.name("cfn", c.Callee.Name, b.funcs)
	b.num = strconv.AppendUint(append(b.num[:0], "calls="...), c.Count, 10)
	b.num = strconv.AppendInt(append(b.num, ' '), int64(c.CalleeLine), 10)
	b.Write(append(b.num, '\n'))
	b.position(c.Line, c.Counts)
}

// name writes a name, or its number if it was written before.
func (b *callgrindWriter) name(key, name string, numbers map[string]int) {
	if strings.TrimSpace(name) == "" { // it cannot be given a number
		b.WriteString(key + "=\n")
		return
	}
	n, ok := numbers[name]
	if !ok {
		n = len(numbers) + 1
		numbers[name] = n
	}
	b.WriteString(key + "=(" + strconv.Itoa(n) + ")")
	if !ok {
		b.WriteString(" " + oneLine(name))
	}
	b.WriteByte('\n')
}

// position writes a line's number and counts.
func (b *callgrindWriter) position(line int, counts []uint64) {
	b.num = strconv.AppendInt(b.num[:0], int64(line), 10)
	b.Write(appendCounts(b.num, counts))
}
