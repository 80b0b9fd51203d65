package annotate

import (
	"github.com/cgemu/cgemu/cgout"
)

// A Report is profiles and their sources, added up or compared, sorted and cut, but
// not laid out yet. New and Compare make one; its Write methods lay it out. These
// change nothing in it, so that several can run at a time, and return the first
// error of the writer.
//
// Names and texts are bytes as in the files; they need not be UTF-8.
type Report struct {
	Tool     string          // what WriteJSON says made it: New "annotate", Compare "diff"
	Compare  bool            // two profiles are compared: rows have Old and New
	Profiles []ReportProfile // in the order given; of a comparison the old and the new

	Events  []string  // all recorded events; counts of rows are in this order
	Show    []int     // columns to show, as indexes of Events; never empty
	Sort    []int     // what rows are sorted by, as indexes of Events; never empty
	Derived []Derived // further columns, worked out from a row's counts

	Threshold float64 // per cent: functions with less of the first sort event are left out
	Total     Row     // of everything, whatever is left out below

	// Files and Functions are sorted by the absolute value of Counts, in the order
	// of Sort, then by name. Functions are those of all files.
	Files     []*ReportFile
	Functions []*ReportFunction

	// Omitted is what Threshold, filters and Top left out: Total less the functions here.
	Omitted          Row
	OmittedFunctions int
	// Filtered is the part of Omitted that Only and Focus left out, whose functions do not count among
	// OmittedFunctions. Its slices are nil without these.
	Filtered Row

	o      Options
	calls  *callReport       // the call graph, nil if there is none
	tree   *CallReport       // likewise, as Options.Inclusive and Tree ask for it
	inputs []Input           // of Profiles
	wanted []*ReportFunction // Functions before Options.Top cut them
	hidden []*ReportFunction // of a page: what Threshold and Top left out
}

// A ReportProfile is one profile that was read.
type ReportProfile struct {
	Name string   // its path, or what Memory was told
	Desc []string // texts of its desc lines
	Cmd  string
}

// A Row is the numbers of something. Slices have one count per Report.Events.
type Row struct {
	Counts   []cgout.Count // in a comparison New less Old
	Old, New []cgout.Count // in a comparison only; never nil there
}

// Factor returns New divided by Old of an event, and false if that is nothing.
func (r Row) Factor(event int) (float64, bool) {
	if r.Old == nil {
		return 0, false
	}
	return quotient(r.New[event], r.Old[event])
}

// The values of ReportFile.Source.
const (
	SourceRead       = "read"       // Text has it
	SourceUnreadable = "unreadable" // no file, no permission, or too large
	SourceDifferent  = "different"  // one name for files that are not identical
	SourceUnknown    = "unknown"    // the file is ???
	SourceOff        = "off"        // not asked for
)

// A ReportFile is a source file. Its row is all its functions', those left out
// included.
type ReportFile struct {
	Row
	Name    string
	OldName string // in a comparison, if it was called otherwise in the old profile; else empty

	Functions []*ReportFunction // sorted like Report.Functions
	Lines     []ReportLine      // of the functions in Functions, ascending

	Source  string // one of the constants above
	Path    string // of the file that Text was read from
	Text    []string
	Newer   []string // profiles that are older than the source
	OldPath string   // in a comparison, the old source, if it is another file
	OldText []string // and its lines
}

// A ReportFunction is a function in a file.
type ReportFunction struct {
	Row
	File    *ReportFile
	Name    string
	OldName string // in a comparison, if it is another one; else empty
	OldFile string // in a comparison, if it was in another file; else empty
	Lines   []ReportLine
}

// NoLine is the number of a line that one side of a comparison lacks.
const NoLine = -1

// A ReportLine is a line that has counts.
type ReportLine struct {
	Row
	Line    int // 0: not known; NoLine: only the old source has it
	OldLine int // in a comparison; NoLine: only the new source has it. Else equal to Line
}

// LineText returns the text of a line, and false if it is not known: there is no
// source, or the source ends before it.
func (f *ReportFile) LineText(l ReportLine) (string, bool) {
	text, n := f.Text, l.Line
	if n == NoLine {
		n = l.OldLine
		if f.OldText != nil {
			text = f.OldText
		}
	}
	if n < 1 || n > len(text) {
		return "", false
	}
	return text[n-1], true
}

// OldLineText returns what the text of a line was in the old source of a comparison, and false if that is not known or
// what it is now.
func (f *ReportFile) OldLineText(l ReportLine) (string, bool) {
	if l.Line < 1 || l.OldLine < 1 || l.OldLine > len(f.OldText) {
		return "", false
	}
	was := f.OldText[l.OldLine-1]
	is, _ := f.LineText(l)
	return was, was != is
}

// A Derived is a column worked out from the counts of a row.
type Derived struct {
	Name string // as in Options.Derived
	Unit string // "percent" or "cycles"
	eval func(counts, parent []cgout.Count) (float64, bool)
}

// Value returns the number, in Unit, of a row with these counts (Counts, Old or New of
// Row), and false if it has none. Parent is the counts of what the row is a part
// of: Total's for a file, the file's for a function, the function's for a line.
func (d Derived) Value(counts, parent []cgout.Count) (float64, bool) {
	return d.eval(counts, parent)
}
