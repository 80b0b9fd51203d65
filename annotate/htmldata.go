package annotate

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/cgemu/cgemu/cgout"
)

// A pageData is what page.js shows. Numbers of a row are an array: the counts of
// all columns; in a comparison behind these the old ones. A count that a double
// would not hold is a string of digits.
type pageData struct {
	Diff    bool         `json:"diff"`
	Cols    []pageColumn `json:"cols"`
	Show    []int        `json:"show"` // columns that are shown at first
	Sort    int          `json:"sort"`
	Total   rawJSON      `json:"total"`
	Omitted pageOmitted  `json:"omitted"`
	Files   []pageFile   `json:"files"`
	Funcs   []pageFunc   `json:"funcs"` // as sorted in the report
}

type rawJSON = json.RawMessage

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

type pageFunc struct {
	Name    string  `json:"n"`
	OldName string  `json:"o,omitempty"`
	File    int     `json:"f"`
	Line    int     `json:"l"` // the first that is known
	Counts  rawJSON `json:"c"`
}

// A pageFile is a file. A row is [line, text, runs, counts, old line] or [lines
// left out]; counts and the old line may be missing, text may be null. Runs say
// which characters, as JavaScript counts them, are what: see runs. Line is -1 for
// lines that only the old source has.
type pageFile struct {
	Name    string    `json:"n"`
	OldName string    `json:"o,omitempty"`
	Source  string    `json:"source"`
	Notes   []string  `json:"notes"`
	Counts  rawJSON   `json:"c"`
	Rows    []rawJSON `json:"rows"`
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
}

// costly are shown at first if there are more than manyEvents: those that say
// where time goes. The others are a key away.
var costly = []string{"Ir", "ILmr", "DLmr", "DLmw", "Bcm", "Bim"}

const manyEvents = 6

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

func newPageData(r *Report, context int) *pageData {
	d := &pageData{Diff: r.Compare, Cols: pageColumns(r), Sort: r.Sort[0], Show: slices.Clone(r.Show)}
	switch all := len(r.Show) == len(r.Events); {
	case all && r.Compare && len(r.Show) > 2: // three columns each
		d.Show = []int{r.Sort[0]}
	case all && len(r.Show) > manyEvents:
		d.Show = slices.DeleteFunc(d.Show, func(i int) bool { return !slices.Contains(costly, r.Events[i]) })
		if len(d.Show) == 0 {
			d.Show = r.Show[:manyEvents]
		}
	}
	for i := range r.Derived {
		d.Show = append(d.Show, len(r.Events)+i)
	}
	d.Total = r.numbers(r.Total, r.Total)
	d.Omitted = pageOmitted{r.OmittedFunctions, r.numbers(r.notShown(), r.Total)}
	index := map[*ReportFile]int{}
	for i, f := range r.Files {
		index[f] = i
	}
	for _, fn := range r.Functions {
		p := pageFunc{Name: valid(fn.Name), OldName: valid(fn.OldName), File: index[fn.File], Counts: r.numbers(fn.Row, fn.File.Row)}
		if i := slices.IndexFunc(fn.Lines, func(l ReportLine) bool { return l.Line > 0 }); i >= 0 {
			p.Line = fn.Lines[i].Line
		}
		d.Funcs = append(d.Funcs, p)
	}
	d.files(r, context)
	return d
}

// files makes the files, several at a time.
func (d *pageData) files(r *Report, context int) {
	lines := min(max(context, 0), math.MaxInt32)
	pages := make([]rowWriter, len(r.Files))
	for i, f := range r.Files {
		pages[i] = r.newRowWriter(f, lines)
	}
	d.Files = make([]pageFile, len(r.Files))
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				pages[i].write()
				d.Files[i] = pages[i].p
			}
		})
	}
	for i := range r.Files {
		next <- i
	}
	close(next)
	wait.Wait()
}

// json returns the data as a text without <, > and &.
func (d *pageData) json() ([]byte, error) {
	if d.Funcs == nil {
		d.Funcs = []pageFunc{}
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

// sourceNotes say why a file has no text.
var sourceNotes = map[string]string{
	SourceUnreadable: "The source cannot be read; these are the lines with counts.",
	SourceDifferent:  "Two or more files of this name are not identical; these are the lines with counts.",
	SourceUnknown:    "The file is not known: there is no debug information.",
	SourceOff:        "",
}

// newRowWriter begins a file with so many lines around those with counts.
func (r *Report) newRowWriter(f *ReportFile, context int) rowWriter {
	p := pageFile{Name: valid(f.Name), OldName: valid(f.OldName), Source: f.Source, Counts: r.numbers(f.Row, r.Total),
		Notes: []string{}, Rows: []rawJSON{}}
	if note := sourceNotes[f.Source]; note != "" {
		p.Notes = append(p.Notes, note)
	}
	for _, name := range f.Newer {
		p.Notes = append(p.Notes, "The source is newer than "+valid(name)+": counts may stand at wrong lines.")
	}
	w := rowWriter{r: r, f: f, p: p, context: context, lines: placed(f.Lines)}
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
	p     pageFile
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
	w.p.Rows = append(w.p.Rows, rawJSON("["+strconv.Itoa(lines)+"]"))
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
	w.row(l.Line, text, ok, runs, w.r.numbers(l.Row, w.f.Row), old)
}

func (w *rowWriter) row(line int, text string, hasText bool, runs string, counts rawJSON, old int) {
	var b bytes.Buffer
	b.WriteString("[" + strconv.Itoa(line) + ",")
	if hasText {
		quoted, err := json.Marshal(valid(text))
		if err != nil {
			panic("BUG: " + err.Error())
		}
		b.Write(quoted)
	} else {
		b.WriteString("null")
	}
	b.WriteString(`,"` + runs + `"`)
	if counts != nil {
		b.WriteByte(',')
		b.Write(counts)
	}
	if old != 0 {
		b.WriteString("," + strconv.Itoa(old))
	}
	b.WriteByte(']')
	w.p.Rows = append(w.p.Rows, b.Bytes())
}
