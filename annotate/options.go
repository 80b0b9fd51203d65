package annotate

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/glob"
)

// Options say what of the profiles is shown, and how. Defaults returns those of
// cg_annotate. The zero value leaves nothing out, and has no sources and shares.
//
// Events are called by the names that the profiles give them (Ir). Of several of
// one name the last is meant.
type Options struct {
	Show []string // events, in this order; none: all
	Sort []string // the greatest first, by the first of these events, then by the next; none: all

	// Threshold leaves out functions that have less of the first event of Sort, in
	// per cent of the total. Compare does not look at it.
	Threshold float64
	// Top is how many functions are left: the first. Tables of lines, and each table
	// of WriteText, have as many rows. 0 is no limit.
	Top int
	// Only are globs of files, Focus globs of functions: what none of them matches is
	// left out. In a glob `*` stands for any text and `?` for a byte. A glob of files
	// without a slash may match the last part of a name.
	Only, Focus []string
	// Derived are further columns: "A/B" is event A in per cent of event B; "rates"
	// the miss rates of all caches and branches there are; "cycles" an estimate;
	// "parent" shares of the file (of a function) or of the function (of a line).
	Derived []string

	// RenameFile and RenameFunc change names before anything else sees them, but not
	// where sources are looked for; nil: not. Things that have one name then are one.
	RenameFile, RenameFunc Rename
	// StripHash removes what compilers add to functions' names and change from build
	// to build, such as ::h0123456789abcdef and .constprop.0.
	StripHash bool

	// Sources has source files read, for the texts of lines, and for what became of
	// lines between two profiles.
	Sources bool
	// Files has them, under their names without a leading slash; nil: they are the host's files.
	Files fs.FS
	// Finder says where they are. OldFinder and NewFinder come first, for the old and
	// the new side of a comparison.
	Finder, OldFinder, NewFinder Finder

	// MatchExact has Compare match functions by the names of file and function alone:
	// not those that were renamed, moved or cloned.
	MatchExact bool
	// MinDelta is how much must differ for Compare to show it; nil: anything, in an
	// event shown.
	MinDelta *MinDelta
	// ShowFirst makes the first event of Sort the only one that Compare shows, if Show
	// has none: tables have four columns for each.
	ShowFirst bool

	// Inclusive has call graphs sort functions by their inclusive cost, and show that: with what they call. Tree says
	// whom they show beside functions. WriteText and WriteJSON show the profiles' call graphs if either is asked for.
	Inclusive bool
	Tree      Tree

	// Context is how many lines stand around lines with counts, in WriteText and WriteHTML. WriteText takes a negative
	// one as cg_annotate does: it says where the lines would be, and shows none. New and Compare refuse that.
	Context int
	// CallGraph is for WriteHTML: it has call graphs read, of profiles that have one, and functions kept that reach the
	// threshold with what they call, or ten times the threshold of another event that is shown.
	CallGraph bool
	// Dir is where the reader works: WriteHTML takes sources below it for the reader's own.
	Dir string
	// Editor is a URL that opens a line of a source, with {file} and {line} for them; "" for none. WriteHTML links to
	// it.
	Editor string
	// Asm has WriteHTML show instructions, of one profile that has counts of them.
	Asm bool
	// Percents has WriteText show shares.
	Percents bool
	// Invocation is the command that WriteText names, if there is one.
	Invocation string
	// Color has texts for people (WriteText, WriteTable) in the colours of terminals.
	Color bool
	// Syntax is that of WriteAsm's instructions: "gnu", "go", or "intel" or "" for the one in the profile.
	Syntax string
	// Visible is for texts that go to a terminal: see the function Visible.
	Visible bool
}

// Defaults returns the options of cg_annotate: a threshold of 0.1 %, with shares
// and sources, 8 lines of context.
func Defaults() Options {
	return Options{Threshold: 0.1, Percents: true, Sources: true, Context: 8}
}

// A MinDelta is a difference, of the first event of Sort: a function or line must
// differ by both.
type MinDelta struct {
	Count   cgout.Count
	Percent float64 // of the old total
}

// A Rename returns what to call a file or function. An error ends the report.
type Rename func(name string) (string, error)

// apply calls f, unless it is nil.
func (f Rename) apply(name string) (string, error) {
	if f == nil {
		return name, nil
	}
	return f(name)
}

// A MissingEventError says that an option names an event that a profile has not.
type MissingEventError struct {
	Option string // "Show", "Sort" or "Derived"
	Event  string
}

// Error implements error.
func (e *MissingEventError) Error() string {
	return fmt.Sprintf("annotate: %s: event `%s` did not appear in `events:` line", e.Option, e.Event)
}

// check refuses values that mean nothing.
func (o *Options) check() error {
	limits := []float64{o.Threshold}
	if o.MinDelta != nil {
		limits = append(limits, o.MinDelta.Percent)
	}
	for _, f := range limits {
		if f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("annotate: %v is no percentage", f)
		}
	}
	if o.Top < 0 {
		return errors.New("annotate: Top is less than 0")
	}
	switch o.Tree {
	case TreeNone, TreeCaller, TreeCalling, TreeBoth:
	default:
		return fmt.Errorf(`annotate: Tree is %q, which is none of "caller", "calling" and "both"`, o.Tree)
	}
	if o.Syntax != "" && o.Syntax != "intel" && asmFormats[o.Syntax] == nil {
		return fmt.Errorf(`annotate: Syntax is %q, which is none of "intel", "gnu" and "go"`, o.Syntax)
	}
	for _, f := range []Finder{o.Finder, o.OldFinder, o.NewFinder} {
		if slices.ContainsFunc(f.Images, func(in fs.FS) bool { return in == nil }) {
			return errors.New("annotate: an image of a Finder is nil")
		}
	}
	return nil
}

// checkReport refuses what check does, and a negative Context, which WriteText takes as cg_annotate does.
func (o *Options) checkReport() error {
	if o.Context < 0 {
		return errors.New("annotate: Context is less than 0")
	}
	return o.check()
}

// checkEvents finds out whether the events have what Show and Sort name.
func (o *Options) checkEvents(events []string) error {
	for _, name := range o.Show {
		if !slices.Contains(events, name) {
			return &MissingEventError{"Show", name}
		}
	}
	for _, name := range o.Sort {
		if !slices.Contains(events, name) {
			return &MissingEventError{"Sort", name}
		}
	}
	return nil
}

// visible makes a text visible, if that is asked for.
func (o *Options) visible(s string) string {
	if !o.Visible {
		return s
	}
	return Visible(s)
}

// filtered reports whether some files or functions are not wanted.
func (o *Options) filtered() bool { return len(o.Only)+len(o.Focus) > 0 }

// checkWanted refuses filters that leave nothing: they are misspelt.
func (o *Options) checkWanted(models ...*model) error {
	if !o.filtered() || slices.ContainsFunc(models, func(m *model) bool { return m.wanted }) {
		return nil
	}
	return &NothingWantedError{o.Only, o.Focus}
}

// A NothingWantedError says that no function is in a file like one of Only, and like one of Focus.
type NothingWantedError struct{ Only, Focus []string }

// Error implements error.
func (e *NothingWantedError) Error() string {
	what := "function like " + strings.Join(e.Focus, " or ")
	if len(e.Focus) == 0 {
		what = "function in a file like " + strings.Join(e.Only, " or ")
	} else if len(e.Only) > 0 {
		what += " in a file like " + strings.Join(e.Only, " or ")
	}
	return "the profile has no " + what + " (without debug information functions are in ???)"
}

// wantsFile and wantsFunction are the filters. A pattern without a slash may be
// the last part of a file's name.
func (o *Options) wantsFile(name string) bool {
	if len(o.Only) == 0 {
		return true
	}
	for _, pattern := range o.Only {
		if glob.Match(pattern, name) || !strings.Contains(pattern, "/") && glob.Match(pattern, base(name)) {
			return true
		}
	}
	return false
}

func (o *Options) wantsFunction(name string) bool {
	return len(o.Focus) == 0 || glob.Any(o.Focus, name)
}
