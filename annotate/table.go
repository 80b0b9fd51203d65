package annotate

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cgemu/cgemu/cgout"
)

// A grid is a table of a Report, for people: as text and as markdown.
type grid struct {
	heading []string // the last column is text, aligned on the left
	rows    [][]string
	of      []Row // what the rows show
	// right is how many columns behind the counts are aligned on the right, too.
	right int
}

// newGrid returns a grid for rows of r, whose texts have these headings.
func newGrid(r *Report, texts ...string) *grid {
	g := &grid{}
	for _, name := range r.names(r.Show) {
		if r.Compare {
			g.heading = append(g.heading, name+" old", name+" new", "delta", "factor")
		} else {
			g.heading = append(g.heading, name, "%")
		}
	}
	for _, d := range r.Derived {
		if r.Compare {
			g.heading = append(g.heading, d.Name+" old", d.Name+" new")
		} else {
			g.heading = append(g.heading, d.Name)
		}
	}
	g.heading = r.texts(append(g.heading, texts...))
	return g
}

func (g *grid) add(r *Report, row, parent Row, texts ...string) {
	g.rows = append(g.rows, append(r.cells(row, parent), r.texts(texts)...))
	g.of = append(g.of, row)
}

// texts returns texts as they are shown.
func (r *Report) texts(texts []string) []string {
	for i, text := range texts {
		texts[i] = r.o.visible(text)
	}
	return texts
}

// cells returns a row's numbers as people read them.
func (r *Report) cells(row, parent Row) (list []string) {
	for _, e := range r.Show {
		if r.Compare {
			list = append(list, grouped(row.Old[e]), grouped(row.New[e]), signed(row.Counts[e]), factor(row, e))
			continue
		}
		percentage := "n/a"
		if total := r.Total.Counts[e]; total.Sign() != 0 {
			percentage = percent(row.Counts[e], total)
		}
		list = append(list, grouped(row.Counts[e]), percentage)
	}
	for _, d := range r.Derived {
		if r.Compare {
			list = append(list, d.text(row.Old, parent.Old), d.text(row.New, parent.New))
		} else {
			list = append(list, d.text(row.Counts, parent.Counts))
		}
	}
	return list
}

func signed(c cgout.Count) string {
	if c.Sign() > 0 {
		return "+" + grouped(c)
	}
	return grouped(c)
}

func factor(row Row, event int) string {
	f, ok := row.Factor(event)
	switch {
	case ok:
		return strconv.FormatFloat(f, 'f', 3, 64)
	case row.New[event].Sign() == 0:
		return "-"
	}
	return "new"
}

// title is a function's file and name, and what they were.
func (f *ReportFunction) title() string {
	return f.File.Name + ":" + f.Name + f.was()
}

// was says what the old profile called a function, if otherwise.
func (f *ReportFunction) was() string {
	switch {
	case f.OldFile != "":
		return " (was " + f.OldFile + ":" + cmp.Or(f.OldName, f.Name) + ")"
	case f.OldName != "":
		return " (was " + f.OldName + ")"
	}
	return ""
}

// A fileLine is a line and its file.
type fileLine struct {
	file *ReportFile
	ReportLine
}

// lineTable returns the lines of all functions that are wanted, sorted as these
// are; the first of them, unless top is 0. Lines without a number are none.
func (r *Report) lineTable(top int) (list []*fileLine) {
	functions := map[*ReportFile][]*ReportFunction{}
	for _, fn := range r.wanted {
		functions[fn.File] = append(functions[fn.File], fn)
	}
	wants := r.wants()
	for f, fns := range functions {
		lines := f.Lines
		if len(fns) != len(f.Functions) {
			lines = r.merged(fns)
		}
		for _, l := range lines {
			if l.Line != 0 && wants(l.Row) {
				list = append(list, &fileLine{f, l})
			}
		}
	}
	slices.SortFunc(list, func(x, y *fileLine) int {
		if c := r.compare(x.Row, y.Row); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(x.file.Name, y.file.Name), compareLines(x.ReportLine, y.ReportLine))
	})
	if top > 0 && len(list) > top {
		list = list[:top]
	}
	return list
}

// place is a line's file and number, and what the number was.
func (l *fileLine) place() string {
	name := l.file.Name + ":"
	switch {
	case l.Line == NoLine:
		return name + strconv.Itoa(l.OldLine) + " (gone)"
	case l.OldLine == NoLine:
		return name + strconv.Itoa(l.Line) + " (added)"
	case l.OldLine != l.Line:
		return fmt.Sprintf("%s%d (was %d)", name, l.Line, l.OldLine)
	}
	return name + strconv.Itoa(l.Line)
}

// functionGrid and lineGrid are the tables that people read.
func (r *Report) functionGrid() *grid {
	g := newGrid(r, "file:function")
	for _, f := range r.Functions {
		g.add(r, f.Row, f.File.Row, f.title())
	}
	return g
}

func (r *Report) lineGrid(top int) *grid {
	g := newGrid(r, "line", "source")
	blank := make([]string, len(r.cells(r.Total, r.Total)))
	for _, l := range r.lineTable(top) {
		text, _ := l.file.LineText(l.ReportLine)
		g.add(r, l.Row, l.file.Row, l.place(), text)
		if was, ok := l.file.OldLineText(l.ReportLine); ok {
			g.textRow(r, blank, "was", was)
		}
	}
	return g
}

// WriteTable writes a comparison as a text: the totals, the functions and the lines
// that differ, each with its old and new counts, the difference and the factor.
func (r *Report) WriteTable(w io.Writer) error {
	if !r.Compare {
		return errors.New("annotate: no comparison: WriteText is for the rest")
	}
	return buffered(w, r.writeTable)
}

func (r *Report) writeTable(w *bufio.Writer) error {
	o := &r.o
	heading := func(title string) {
		s := fmt.Sprintf("%s\n-- %s\n%s\n", rule, title, rule)
		if o.Color {
			s = paint(bold, s)
		}
		io.WriteString(w, s)
	}
	heading("Profiles")
	for i, p := range r.Profiles {
		fmt.Fprintf(w, "%s %s\n     %s\n", []string{"Old:", "New:"}[i], o.visible(p.Name), o.visible(p.Cmd))
	}
	fmt.Fprintf(w, "Sort order: %s\n", o.visible(strings.Join(r.names(r.Sort), " ")))
	for _, warning := range r.newerWarnings() {
		fmt.Fprintln(w, warning)
	}
	w.WriteByte('\n')
	heading("Total")
	total := newGrid(r, "")
	total.add(r, r.Total, r.Total, "PROGRAM TOTALS")
	if r.Filtered.Counts != nil {
		total.add(r, r.Filtered, r.Total, "left out by --only or --focus")
	}
	if rest := r.notShown(); slices.ContainsFunc(rest.New, nonZero) || slices.ContainsFunc(rest.Old, nonZero) {
		total.add(r, rest, r.Total, fmt.Sprintf("left out below: %d functions", r.OmittedFunctions))
	}
	total.write(w, r, false)
	heading("Functions")
	r.functionGrid().write(w, r, o.Color)
	heading("Lines")
	r.lineGrid(o.Top).write(w, r, o.Color)
	return nil
}

// newerWarnings name sources that are newer than a profile, as far as there is room.
func (r *Report) newerWarnings() (list []string) {
	const most = 5
	for _, p := range r.Profiles {
		var files []string
		for _, f := range r.Files {
			if slices.Contains(f.Newer, p.Name) {
				files = append(files, f.Name)
			}
		}
		if n := len(files); n > most {
			files = append(files[:most], fmt.Sprintf("and %d more", n-most))
		}
		if len(files) > 0 {
			list = append(list, fmt.Sprintf("Sources newer than %s, so that its lines may be wrong: %s", r.o.visible(p.Name), r.o.visible(strings.Join(files, ", "))))
			if r.Compare && p.Name == r.Profiles[0].Name {
				list = append(list, "  (if the old ones are in another directory: --source-map-old=DIR=OLDDIR)")
			}
		}
	}
	return list
}

// thresholdLeftOut reports whether the threshold may be what left out functions that are not shown.
func (r *Report) thresholdLeftOut() bool { return !r.Compare && r.Threshold > 0 && r.o.Top == 0 }

func nonZero(c cgout.Count) bool { return c.Sign() != 0 }

// gap adds an empty row.
func (g *grid) gap() { g.rows, g.of = append(g.rows, nil), append(g.of, Row{}) }

// base is what shares are of: the old counts of a comparison.
func (r *Report) base() []cgout.Count {
	if r.Compare {
		return r.Total.Old
	}
	return r.Total.Counts
}

// write writes a grid as text, with an empty line at its end.
func (g *grid) write(w *bufio.Writer, r *Report, color bool) {
	texts := len(g.heading) - len(r.cells(r.Total, r.Total)) - g.right // columns on the left
	widths := make([]int, len(g.heading))
	for _, row := range append([][]string{g.heading}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(row []string) string {
		var b strings.Builder
		for i, cell := range row {
			gap := widths[i] - utf8.RuneCountInString(cell)
			if i >= len(row)-texts {
				b.WriteString(cell)
				fill(&b, ' ', gap)
			} else {
				fill(&b, ' ', gap)
				b.WriteString(cell)
			}
			b.WriteString("  ")
		}
		return strings.TrimRight(b.String(), " ") + "\n"
	}
	w.WriteString(line(g.heading))
	for i, row := range g.rows {
		if row == nil {
			w.WriteByte('\n')
			continue
		}
		text := line(row)
		if color {
			e := r.Sort[0]
			text = heat(g.of[i].Counts[e], r.base()[e], text)
		}
		w.WriteString(text)
	}
	w.WriteByte('\n')
}
