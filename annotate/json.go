package annotate

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"strconv"

	"github.com/cgemu/cgemu/cgout"
)

// Schema is the JSON Schema of what WriteJSON writes; docs/profile.schema.json is a
// copy of it. SchemaVersion goes up when a field goes away or changes its
// meaning; new fields may come without.
//
//go:embed profile.schema.json
var Schema string

// Name and version of the schema.
const (
	SchemaName    = "cgemu-profile"
	SchemaVersion = 1
)

// A jsonWriter writes a Report: a row per line, so that the file can be read and
// compared by people too. Text that is no UTF-8 has U+FFFD for its bytes.
type jsonWriter struct {
	*bufio.Writer
	r     *Report
	quote *json.Encoder
	text  bytes.Buffer
}

// WriteJSON writes JSON that keeps to Schema, with a line of text for each line.
func (r *Report) WriteJSON(w io.Writer) error { return buffered(w, r.writeJSON) }

func (r *Report) writeJSON(w *bufio.Writer) error {
	var fns []*CallFunction
	left := 0
	if r.tree != nil {
		var err error
		if fns, left, err = r.tree.shown(); err != nil {
			return err
		}
	}
	j := newJSONWriter(w, r)
	j.head(r.Tool)
	j.WriteString("\"omitted\": {\"functions\": " + strconv.Itoa(r.OmittedFunctions))
	j.WriteString(", ")
	j.row(r.Omitted, r.Total)
	if r.Filtered.Counts != nil {
		j.WriteString("},\n\"filtered\": {")
		j.row(r.Filtered, r.Total)
	}
	j.WriteString("},\n\"files\": [")
	for i, f := range r.Files {
		j.next(i)
		j.file(f)
	}
	j.WriteString("\n],\n\"functions\": [")
	for i, f := range r.Functions {
		j.next(i)
		j.function(f)
	}
	j.WriteString("\n]")
	if r.tree != nil {
		j.WriteString(",\n")
		j.callGraph(r.tree, fns, left, r.o.Tree)
	}
	j.WriteString("\n}\n")
	return nil
}

// head writes what the report is of.
func (j *jsonWriter) head(tool string) {
	r := j.r
	j.WriteString("{\n\"schema\": \"" + SchemaName + "\",\n\"version\": " + strconv.Itoa(SchemaVersion) + ",\n")
	j.WriteString("\"tool\": \"" + tool + "\",\n\"compare\": " + strconv.FormatBool(r.Compare) + ",\n")
	j.profiles()
	j.columns()
	j.WriteString("\"total\": {")
	j.row(r.Total, r.Total)
	j.WriteString("},\n")
}

// next begins an element of a list, on a line of its own.
func (j *jsonWriter) next(i int) {
	if i > 0 {
		j.WriteByte(',')
	}
	j.WriteByte('\n')
}

// str writes a text.
func (j *jsonWriter) str(s string) {
	j.text.Reset()
	if err := j.quote.Encode(s); err != nil {
		panic("BUG: annotate: " + err.Error())
	}
	j.Write(bytes.TrimSuffix(j.text.Bytes(), []byte("\n")))
}

// field writes `, "key": "value"`.
func (j *jsonWriter) field(key, value string) {
	j.WriteString(`, "` + key + `": `)
	j.str(value)
}

// list writes texts.
func (j *jsonWriter) list(texts []string) {
	j.WriteByte('[')
	for i, s := range texts {
		if i > 0 {
			j.WriteString(", ")
		}
		j.str(s)
	}
	j.WriteByte(']')
}

func (j *jsonWriter) profiles() {
	j.WriteString("\"profiles\": [")
	for i, p := range j.r.Profiles {
		j.next(i)
		j.WriteString(`{"name": `)
		j.str(p.Name)
		j.field("command", p.Cmd)
		j.WriteString(`, "description": `)
		j.list(p.Desc)
		j.WriteByte('}')
	}
	j.WriteString("\n],\n")
}

func (j *jsonWriter) columns() {
	r := j.r
	j.WriteString(`"events": `)
	j.list(r.names(r.Show))
	j.WriteString(",\n\"sort\": ")
	j.list(r.names(r.Sort))
	j.WriteString(",\n\"derived\": [")
	for i, d := range r.Derived {
		if i > 0 {
			j.WriteString(", ")
		}
		j.WriteString(`{"name": `)
		j.str(d.Name)
		j.field("unit", d.Unit)
		j.WriteByte('}')
	}
	j.WriteString("],\n")
	if !r.Compare && r.Tool == "annotate" {
		j.WriteString("\"threshold\": " + strconv.FormatFloat(r.Threshold, 'g', -1, 64) + ",\n")
	}
}

// names returns the names of columns.
func (r *Report) names(columns []int) (list []string) {
	for _, e := range columns {
		list = append(list, r.Events[e])
	}
	return list
}

// row writes the fields of a row.
func (j *jsonWriter) row(row, parent Row) {
	if row.Old == nil {
		j.counts("counts", row.Counts)
		j.derived("derived", row.Counts, parent.Counts)
		return
	}
	j.counts("old", row.Old)
	j.WriteString(", ")
	j.counts("new", row.New)
	j.WriteString(", ")
	j.counts("delta", row.Counts)
	j.WriteString(", ")
	j.object("factor", len(j.r.Show), func(i int) (string, string) {
		return j.r.Events[j.r.Show[i]], jsonNumber(row.Factor(j.r.Show[i]))
	})
	j.derived("oldDerived", row.Old, parent.Old)
	j.derived("newDerived", row.New, parent.New)
}

func (j *jsonWriter) counts(key string, c []cgout.Count) {
	j.object(key, len(j.r.Show), func(i int) (string, string) {
		e := j.r.Show[i]
		return j.r.Events[e], c[e].String()
	})
}

func (j *jsonWriter) derived(key string, c, parent []cgout.Count) {
	if len(j.r.Derived) == 0 {
		return
	}
	j.WriteString(", ")
	j.object(key, len(j.r.Derived), func(i int) (string, string) {
		return j.r.Derived[i].Name, jsonNumber(j.r.Derived[i].Value(c, parent))
	})
}

// jsonNumber returns a number, or null if there is none.
func jsonNumber(f float64, ok bool) string {
	if !ok {
		return "null"
	}
	text, err := json.Marshal(f)
	if err != nil {
		return "null" // beyond the range of a double
	}
	return string(text)
}

// object writes an object of n fields.
func (j *jsonWriter) object(key string, n int, field func(i int) (name, value string)) {
	j.WriteString(`"` + key + `": {`)
	for i := range n {
		if i > 0 {
			j.WriteString(", ")
		}
		name, value := field(i)
		j.str(name)
		j.WriteString(": " + value)
	}
	j.WriteByte('}')
}

func (j *jsonWriter) file(f *ReportFile) {
	j.WriteString(`{"name": `)
	j.str(f.Name)
	if f.OldName != "" {
		j.field("oldName", f.OldName)
	}
	j.field("source", f.Source)
	if f.Path != "" {
		j.field("path", f.Path)
	}
	if f.OldPath != "" {
		j.field("oldPath", f.OldPath)
	}
	if len(f.Newer) > 0 {
		j.WriteString(`, "newerThan": `)
		j.list(f.Newer)
	}
	j.WriteString(", ")
	j.row(f.Row, j.r.Total)
	j.WriteByte('}')
}

func (j *jsonWriter) function(f *ReportFunction) {
	j.WriteString(`{"name": `)
	j.str(f.Name)
	j.field("file", f.File.Name)
	if f.OldName != "" {
		j.field("oldName", f.OldName)
	}
	if f.OldFile != "" {
		j.field("oldFile", f.OldFile)
	}
	j.WriteString(", ")
	j.row(f.Row, f.File.Row)
	j.WriteString(`, "lines": [`)
	for i, l := range f.Lines {
		j.next(i)
		j.line(f, l)
	}
	j.WriteString("]}")
}

func (j *jsonWriter) line(f *ReportFunction, l ReportLine) {
	j.WriteString(`{"line": ` + lineNumber(l.Line, "null"))
	if j.r.Compare {
		j.WriteString(`, "oldLine": ` + lineNumber(l.OldLine, "null"))
	}
	j.WriteString(", ")
	j.row(l.Row, f.Row)
	if text, ok := f.File.LineText(l); ok {
		j.field("text", text)
	}
	if was, ok := f.File.OldLineText(l); ok {
		j.field("oldText", was)
	}
	j.WriteByte('}')
}

// lineNumber returns the number of a line, or none.
func lineNumber(n int, none string) string {
	if n == NoLine {
		return none
	}
	return strconv.Itoa(n)
}
