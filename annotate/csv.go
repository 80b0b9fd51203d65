package annotate

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// WriteCSV writes a table as RFC 4180 has it, but with LF: a heading, then a row for
// the total, each file, each function and its lines.
func (r *Report) WriteCSV(w io.Writer) error { return buffered(w, r.writeCSV) }

func (r *Report) writeCSV(w *bufio.Writer) error {
	c := csv.NewWriter(w)
	c.Write(r.csvHeading())
	put := func(kind, file, function, line string, row, parent Row, more ...string) {
		c.Write(append(append([]string{kind, file, function, line}, r.csvNumbers(row, parent)...), more...))
	}
	last := make([]string, 1)
	if r.Compare {
		last = make([]string, 4)
	}
	put("total", "", "", "", r.Total, r.Total, last...)
	for _, f := range r.Files {
		last[0] = ""
		if len(f.Newer) > 0 {
			last[0] = "the source is newer than " + strings.Join(f.Newer, ", ") + ": lines may be wrong"
		}
		if r.Compare {
			last = []string{last[0], f.OldName, "", ""}
		}
		put("file", f.Name, "", "", f.Row, r.Total, last...)
	}
	for _, fn := range r.Functions {
		last[0] = ""
		if r.Compare {
			last = []string{"", fn.OldFile, fn.OldName, ""}
		}
		put("function", fn.File.Name, fn.Name, "", fn.Row, fn.File.Row, last...)
		for _, l := range fn.Lines {
			text, _ := fn.File.LineText(l)
			more := []string{text}
			if r.Compare {
				more = []string{text, fn.OldFile, fn.OldName, lineNumber(l.OldLine, "")}
			}
			put("line", fn.File.Name, fn.Name, lineNumber(l.Line, ""), l.Row, fn.Row, more...)
		}
	}
	c.Flush()
	return c.Error()
}

func (r *Report) csvHeading() []string {
	list := []string{"kind", "file", "function", "line"}
	for _, e := range r.names(r.Show) {
		if r.Compare {
			list = append(list, e+".old", e+".new", e+".delta", e+".factor")
		} else {
			list = append(list, e)
		}
	}
	for _, d := range r.Derived {
		if r.Compare {
			list = append(list, d.Name+".old", d.Name+".new")
		} else {
			list = append(list, d.Name)
		}
	}
	list = append(list, "text")
	if r.Compare {
		list = append(list, "old file", "old function", "old line")
	}
	return list
}

// csvNumbers returns the fields of a row's numbers.
func (r *Report) csvNumbers(row, parent Row) (list []string) {
	for _, e := range r.Show {
		if row.Old != nil {
			list = append(list, row.Old[e].String(), row.New[e].String(), row.Counts[e].String(), csvNumber(row.Factor(e)))
		} else {
			list = append(list, row.Counts[e].String())
		}
	}
	value := func(d Derived, c, parent []cgout.Count) string { return csvNumber(d.Value(c, parent)) }
	for _, d := range r.Derived {
		if row.Old != nil {
			list = append(list, value(d, row.Old, parent.Old), value(d, row.New, parent.New))
		} else {
			list = append(list, value(d, row.Counts, parent.Counts))
		}
	}
	return list
}

// csvNumber returns a number, or nothing if there is none.
func csvNumber(f float64, ok bool) string {
	if !ok {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
