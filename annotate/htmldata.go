package annotate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/cgout"
)

// A pageData is what the page shows. Numbers of a row are an array: the counts of
// all columns; in a comparison behind these the old ones. A count that a double
// would not hold is a string of digits.
type pageData struct {
	Format  int           `json:"format"` // pageFormat
	Diff    bool          `json:"diff"`
	Runs    []pageRun     `json:"runs"`
	Cols    []pageColumn  `json:"cols"`
	Show    []int         `json:"show"` // columns to choose from
	Sort    int           `json:"sort"` // the column that is looked at first
	Total   rawJSON       `json:"total"`
	Omitted pageOmitted   `json:"omitted"`
	Objects []string      `json:"objs"` // programs and libraries, if there is a call graph
	Files   []pageFile    `json:"files"`
	Funcs   []*pageFunc   `json:"funcs"` // sorted by the report's first event
	Graph   bool          `json:"graph"` // functions have inclusive counts, and there are calls
	Calls   []rawJSON     `json:"calls"`
	Asm     map[int][]any `json:"asm"` // instructions of functions, by their index
	Editor  string        `json:"editor"`
	Dirs    []string      `json:"dirs"` // where sources were looked for, too
	Live    *pageLive     `json:"live,omitempty"`

	Rest pageRest `json:"-"`
}

// A pageRest are the functions that are not shown, for comparisons with another page: [name, object, file, counts,
// counts with callees], the last only if there is a call graph. Objects and files are indexes of Names. It is an
// element of its own, #rest.
type pageRest struct {
	Names []string  `json:"names"`
	Funcs []rawJSON `json:"funcs"`
}

// pageFormat goes up with each change of a page's data that pages written before would not understand: a page reads
// another one to compare itself with.
const pageFormat = 1

type rawJSON = json.RawMessage

// A pageRun says which profile it is, of which command, and when its file was written: a day.
type pageRun struct {
	Name string   `json:"n"`
	Cmd  string   `json:"cmd"`
	Date string   `json:"date"`
	Desc []string `json:"desc"`
}

// A pageColumn is an event, or a derived column if it has a unit.
type pageColumn struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
}

type pageOmitted struct {
	Functions int     `json:"n"`
	Counts    rawJSON `json:"c"`
}

// A pageFunc is a function: one, in however many files it has lines.
type pageFunc struct {
	Name    string    `json:"n"`
	OldName string    `json:"o,omitempty"`
	Object  int       `json:"b"` // -1: not known
	File    int       `json:"f"` // where it begins
	Line    int       `json:"l"` // where it begins there; 0: not known
	First   int       `json:"s"` // its first line and its last: what was inlined may stand before it
	Last    int       `json:"e"`
	Kind    int       `json:"k"` // one of the kinds below
	Counts  rawJSON   `json:"c"`
	Callees rawJSON   `json:"i,omitempty"` // the counts with what it calls
	Parts   []rawJSON `json:"p,omitempty"` // [file, first line, counts] if it has lines in several files
	Cycle   int       `json:"y,omitempty"` // the number of the cycle it is part of

	row Row
}

// The kinds of functions. Own ones are those whose sources the reader can change.
const (
	kindOwn = iota
	kindLibrary
	kindLoader
	kindUnknown
)

// A pageFile is a file. A row is [line, text, runs, counts, old line] or [lines
// left out]; counts and the old line may be missing, text may be null. Runs say
// which characters, as JavaScript counts them, are what: see runs. Line is -1 for
// lines that only the old source has.
type pageFile struct {
	Name    string    `json:"n"`
	OldName string    `json:"o,omitempty"`
	Source  string    `json:"source"`
	Path    string    `json:"path,omitempty"` // for an editor
	Own     bool      `json:"own,omitempty"`
	Notes   []string  `json:"notes,omitempty"`
	Counts  rawJSON   `json:"c"`
	Rows    []rawJSON `json:"rows"` // null: they are in an element of their own, or to be asked for
}

// titles say what Cachegrind's events are.
var titles = map[string]string{
	"Ir":   "instructions executed",
	"I1mr": "instruction fetches that missed the first-level cache",
	"ILmr": "instruction fetches that missed the last-level cache",
	"Dr":   "data reads",
	"D1mr": "data reads that missed the first-level cache",
	"DLmr": "data reads that missed the last-level cache",
	"Dw":   "data writes",
	"D1mw": "data writes that missed the first-level cache",
	"DLmw": "data writes that missed the last-level cache",
	"Bc":   "conditional branches",
	"Bcm":  "conditional branches mispredicted",
	"Bi":   "indirect branches",
	"Bim":  "indirect branches mispredicted",
	"Cy":   "cycles, estimated",
}

func pageColumns(r *Report) (list []pageColumn) {
	for _, e := range r.Events {
		name := valid(e)
		title := titles[e]
		if title == "" {
			title = "event " + name
		}
		list = append(list, pageColumn{Name: name, Title: title})
	}
	for _, d := range r.Derived {
		name := valid(d.Name)
		list = append(list, pageColumn{Name: name, Title: "derived: " + name, Unit: d.Unit})
	}
	return list
}

// newPageData makes all but the rows of files, which rows does.
func newPageData(r *Report) (*pageData, error) {
	d := &pageData{
		Format: pageFormat, Rest: pageRest{[]string{}, []rawJSON{}},
		Diff: r.Compare, Cols: pageColumns(r), Sort: r.Sort[0], Show: slices.Clone(r.Show), Calls: []rawJSON{}, Asm: map[int][]any{},
		Objects: []string{}, Dirs: []string{}, Editor: valid(r.o.Editor),
	}
	if r.o.Files == nil { // or they are names that the reader does not know
		for _, dir := range r.o.Finder.Dirs {
			d.Dirs = append(d.Dirs, valid(dir))
		}
	}
	for i := range r.Derived {
		d.Show = append(d.Show, len(r.Events)+i)
	}
	for i, p := range r.Profiles {
		run := pageRun{Name: valid(p.Name), Cmd: valid(p.Cmd), Desc: []string{}}
		for _, desc := range p.Desc {
			run.Desc = append(run.Desc, valid(desc))
		}
		if i < len(r.inputs) {
			run.Date = r.inputs[i].date()
		}
		d.Runs = append(d.Runs, run)
	}
	d.Total = r.numbers(r.Total, r.Total)
	d.Omitted = pageOmitted{r.OmittedFunctions, r.numbers(r.notShown(), r.Total)}
	d.Files = make([]pageFile, len(r.Files))
	own := r.own()
	for i, f := range r.Files {
		d.Files[i] = r.newPageFile(f, own(f))
	}
	b := pageBuilder{r: r, d: d, files: map[string]int{}, names: map[string]int{}}
	for i, f := range r.Files {
		b.files[f.Name] = i
	}
	return d, b.build()
}

// rows makes the rows of all files, several at a time.
func (d *pageData) rows(r *Report) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				d.Files[i].Rows = r.fileRows(r.Files[i])
			}
		})
	}
	for i := range r.Files {
		next <- i
	}
	close(next)
	wait.Wait()
}

// fileRows are the rows of a file, with Options.Context lines around those with counts.
func (r *Report) fileRows(f *ReportFile) []rawJSON {
	w := r.newRowWriter(f, min(r.o.Context, math.MaxInt32))
	w.write()
	return w.rows
}

// takeRows takes the rows of files out of the data and returns them as elements of the page, #rows-N of file N, and
// Rest: a browser reads those that it shows.
func (d *pageData) takeRows() (string, error) {
	var b strings.Builder
	if !d.Diff && d.Live == nil {
		rest, err := json.Marshal(d.Rest)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "<script type=\"application/json\" id=\"rest\">%s</script>\n", rest)
	}
	for i := range d.Files {
		if f := &d.Files[i]; len(f.Rows) > 0 {
			data, err := json.Marshal(f.Rows)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "<script type=\"application/json\" id=\"rows-%d\">%s</script>\n", i, data)
			f.Rows = nil
		}
	}
	return b.String(), nil
}

// json returns the data as a text without <, > and &.
func (d *pageData) json() ([]byte, error) {
	if d.Funcs == nil {
		d.Funcs = []*pageFunc{}
	}
	return json.Marshal(d)
}

// numbers returns the counts of a row, which is a part of another.
func (r *Report) numbers(row, parent Row) rawJSON {
	b := []byte{'['}
	if row.Old == nil {
		b = r.appendNumbers(b, row.Counts, parent.Counts)
	} else {
		b = r.appendNumbers(b, row.New, parent.New)
		b = r.appendNumbers(b, row.Old, parent.Old)
	}
	b[len(b)-1] = ']'
	return b
}

func (r *Report) appendNumbers(b []byte, counts, parent []cgout.Count) []byte {
	for _, c := range counts {
		if n, ok := c.Int64(); ok && n > -exact && n < exact {
			b = strconv.AppendInt(b, n, 10)
		} else {
			b = append(c.Append(append(b, '"')), '"')
		}
		b = append(b, ',')
	}
	for _, d := range r.Derived {
		if v, ok := d.Value(counts, parent); ok && !math.IsInf(v, 0) && !math.IsNaN(v) {
			b = strconv.AppendFloat(b, v, 'f', 3, 64)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, ',')
	}
	return b
}

// newPageFile makes a file without its rows.
func (r *Report) newPageFile(f *ReportFile, own bool) pageFile {
	p := pageFile{Name: valid(f.Name), OldName: valid(f.OldName), Source: f.Source, Counts: r.numbers(f.Row, r.Total), Notes: sourceNotes(f), Own: own}
	if r.o.Editor != "" && f.Path != "" {
		p.Path = valid(r.absolute(f.Path))
	}
	return p
}

// sourceNotes say that a file's text may be another one.
func sourceNotes(f *ReportFile) (notes []string) {
	for _, name := range f.Newer {
		notes = append(notes, "The source is newer than "+valid(name)+": counts may stand at wrong lines.")
	}
	return notes
}

// newRowWriter begins a file with so many lines around those with counts.
func (r *Report) newRowWriter(f *ReportFile, context int) rowWriter {
	w := rowWriter{r: r, f: f, rows: []rawJSON{}, context: context, lines: placed(f.Lines)}
	for _, l := range w.lines {
		w.last = max(w.last, min(l.place+context, len(f.Text)))
	}
	return w
}

// A placedLine is a line with counts and the line of the new text it stands at
// or, if it is not there, behind.
type placedLine struct {
	ReportLine
	place int
}

// placed puts lines that only the old source has behind the one that they
// followed there.
func placed(lines []ReportLine) []placedLine {
	var kept []ReportLine // by their old numbers
	for _, l := range lines {
		if l.Line > 0 && l.OldLine > 0 {
			kept = append(kept, l)
		}
	}
	slices.SortStableFunc(kept, func(a, b ReportLine) int { return a.OldLine - b.OldLine })
	var list []placedLine
	for _, l := range lines {
		p := placedLine{l, l.Line}
		if l.Line == NoLine {
			p.place = 0
			before, _ := slices.BinarySearchFunc(kept, l.OldLine, func(k ReportLine, n int) int { return k.OldLine - n })
			if before > 0 {
				p.place = kept[before-1].Line + l.OldLine - kept[before-1].OldLine - 1
			}
		}
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b placedLine) int {
		if a.place != b.place {
			return a.place - b.place
		}
		return b.Line - a.Line // the new line, then what is gone behind it
	})
	return list
}

// A rowWriter makes the rows of a file.
type rowWriter struct {
	r     *Report
	f     *ReportFile
	rows  []rawJSON
	lines []placedLine
	last  int // line of the text that is shown

	context int
	runs    []string // of the lines of f.Text up to last
	at      int      // the last line of the text that was written or left out
}

func (w *rowWriter) write() {
	w.runs = highlight(w.f.Path, w.f.Text[:w.last])
	text, context := len(w.f.Text), w.context
	for i, l := range w.lines {
		if l.place > 0 && text > 0 {
			w.plain(min(l.place-context, text+1), l.place)
		}
		w.counted(l)
		end := text // of the lines behind
		if i+1 < len(w.lines) {
			end = min(end, w.lines[i+1].place-1)
		}
		if l.place > 0 {
			w.plain(w.at+1, min(l.place+context, end)+1)
		}
	}
	if left := text - w.at; left > 0 {
		w.gap(left)
	}
}

// plain writes the lines without counts from lo on, before hi.
func (w *rowWriter) plain(lo, hi int) {
	hi = min(hi, len(w.f.Text)+1)
	if left := min(lo, hi) - w.at - 1; left > 0 {
		w.gap(left)
		w.at += left
	}
	for w.at+1 < hi {
		w.at++
		w.row(w.at, w.f.Text[w.at-1], true, w.runs[w.at-1], nil, 0)
	}
}

func (w *rowWriter) gap(lines int) {
	w.rows = append(w.rows, rawJSON("["+strconv.Itoa(lines)+"]"))
}

// counted writes a line with counts.
func (w *rowWriter) counted(l placedLine) {
	text, ok := w.f.LineText(l.ReportLine)
	runs := ""
	if ok && l.Line > 0 && l.Line <= len(w.runs) {
		runs = w.runs[l.Line-1]
		w.at = max(w.at, l.Line)
	}
	old := 0
	if w.r.Compare && l.OldLine != l.Line {
		old = l.OldLine
	}
	if was, ok := w.f.OldLineText(l.ReportLine); ok {
		w.row(NoLine, was, true, "", nil, l.OldLine)
	}
	w.row(l.Line, text, ok, runs, w.r.numbers(l.Row, w.f.Row), old)
}

func (w *rowWriter) row(line int, text string, hasText bool, runs string, counts rawJSON, old int) {
	var b bytes.Buffer
	b.WriteString("[" + strconv.Itoa(line) + ",")
	if hasText {
		b.WriteString(jsonText(text))
	} else {
		b.WriteString("null")
	}
	b.WriteString(`,"` + runs + `"`)
	switch {
	case counts != nil:
		b.WriteByte(',')
		b.Write(counts)
	case old != 0:
		b.WriteString(",null")
	}
	if old != 0 {
		b.WriteString("," + strconv.Itoa(old))
	}
	b.WriteByte(']')
	w.rows = append(w.rows, b.Bytes())
}
