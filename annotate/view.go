package annotate

import (
	"bufio"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// viewOptions are those that Valgrind's programs do not have. The zero value
// changes nothing.
type viewOptions struct {
	format    string // "": text
	derived   []string
	only      []string // globs of files; none: all
	focus     []string // globs of functions; none: all
	stripHash bool
	finder    finder
	oldFinder finder // of a comparison's old side, beside finder
	newFinder finder
	color     string // "", "auto": on a terminal; "always", "never"
	noPager   bool
	// onTerminal says that the output is a terminal, by way of a pager or not.
	onTerminal bool
	top        int // functions, lines; 0: no limit

	htmlFile string // "": standard output
	syntax   string // of instructions; "": Intel's
	asTable  bool
	match    string // "": auto
	minDelta minDelta
}

// A minDelta is the value of --min-delta. The zero value asks for any change.
type minDelta struct {
	given   bool
	percent bool
	value   float64
	count   cgout.Count
}

// formatNames are the values of --format. Those but text have a renderer.
var formatNames = []string{"text", "json", "csv", "markdown", "html"}

var renderers = map[string]func(*bufio.Writer, *Report, *options) error{
	"json": writeJSON, "csv": writeCSV, "markdown": writeMarkdown,
	"asm":  writeAsm,
	"html": func(w *bufio.Writer, r *Report, o *options) error { return o.writeHTML(w, r) },
}

// The values of Report.Tool.
const (
	toolAnnotate = "annotate"
	toolDiff     = "diff"
	toolMerge    = "merge"
)

// render reads the profiles and writes a report.
func (o *options) render(tool string, out *bufio.Writer) error {
	if err := o.modError(); err != nil {
		return err
	}
	r, err := buildReport(tool, o)
	if err != nil {
		return err
	}
	if !o.machine() {
		return writeTable(out, r, o)
	}
	return renderers[o.format](out, r, o)
}

// compareOptions mean something in a comparison only, tableOptions and these in
// one that does not write a profile.
var (
	compareOptions = []string{"--match", "--min-delta", "--include-old", "--include-new", "--source-map-old", "--source-map-new"}
	tableOptions   = append([]string{"--show", "--sort", "--only", "--focus", "--top", "--derived", "--include", "--source-map"},
		compareOptions...)
)

// needed reports options that were used in vain.
func needed(used []string, ok bool, what string, names ...string) error {
	for _, name := range used {
		if !ok && slices.Contains(names, name) {
			return usagef("argument %s: needs %s", name, what)
		}
	}
	return nil
}

// diffOptions are those of diff that cg_diff does not have.
func (o *options) diffOptions() []option {
	return append(append(o.formatOptions(), o.readerOptions()...),
		option{names: []string{"--table"}, own: true, flag: func(string) { o.asTable = true }},
		option{names: []string{"--show"}, own: true, set: list(&o.show)},
		option{names: []string{"--sort"}, own: true, set: list(&o.sort)})
}

// machine reports whether the output is not the text of old.
func (v *viewOptions) machine() bool { return v.format != "" && v.format != "text" }

// human reports whether the output is for people to read as it is.
func (v *viewOptions) human() bool {
	return !v.machine() || v.format == "markdown" || v.format == "asm"
}

// filtered reports whether some files or functions are not wanted.
func (v *viewOptions) filtered() bool { return len(v.only)+len(v.focus) > 0 }

// wantsFile and wantsFunction are the filters. A pattern without a slash may be
// the last part of a file's name.
func (v *viewOptions) wantsFile(name string) bool {
	if len(v.only) == 0 {
		return true
	}
	for _, pattern := range v.only {
		if glob(pattern, name) || !strings.Contains(pattern, "/") && glob(pattern, base(name)) {
			return true
		}
	}
	return false
}

func (v *viewOptions) wantsFunction(name string) bool {
	for _, pattern := range v.focus {
		if glob(pattern, name) {
			return true
		}
	}
	return len(v.focus) == 0
}

// glob reports whether a pattern matches all of a name: `*` stands for any text,
// slashes too, `?` for any byte, nothing else is special.
func glob(pattern, name string) bool {
	star, mark := -1, 0 // where the last `*` was, and what it may stand for ends
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p, n = p+1, n+1
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// formatOptions are those of every tool.
func (v *viewOptions) formatOptions() []option {
	return []option{
		{names: []string{"--format"}, own: true, choices: formatNames, set: text(&v.format)},
		v.htmlOption(),
		{names: []string{"--derived"}, own: true, what: "derived", set: func(s string) bool {
			v.derived = append(v.derived, strings.Split(s, ",")...)
			return validDerived(v.derived)
		}},
	}
}

// readerOptions are those of annotate and diff.
func (v *viewOptions) readerOptions() []option {
	list := []option{
		{names: []string{"--only"}, own: true, what: "glob", set: more(&v.only)},
		{names: []string{"--focus"}, own: true, what: "glob", set: more(&v.focus)},
		{names: []string{"--strip-hash"}, own: true, flag: func(string) { v.stripHash = true }},
		{names: []string{"--top"}, own: true, what: "int", set: func(s string) bool {
			n, err := strconv.Atoi(s)
			v.top = n
			return err == nil && n > 0
		}},
		{names: []string{"--match"}, own: true, choices: []string{"auto", "exact"}, set: text(&v.match)},
		{names: []string{"--min-delta"}, own: true, what: "count or percentage", set: v.minDelta.set},
		{names: []string{"--color", "--colour"}, own: true, choices: []string{"auto", "always", "never"}, set: text(&v.color)},
		{names: []string{"--no-pager"}, own: true, flag: func(string) { v.noPager = true }},
	}
	list = append(list, v.finder.options("")...)
	list = append(list, v.oldFinder.options("-old")...)
	return append(list, v.newFinder.options("-new")...)
}

// text is a set function that keeps the value.
func text(into *string) func(string) bool {
	return func(s string) bool {
		*into = s
		return true
	}
}

// more is one that adds the value to a list.
func more(into *[]string) func(string) bool {
	return func(s string) bool {
		*into = append(*into, s)
		return s != ""
	}
}

// set reads N or N%.
func (m *minDelta) set(s string) (ok bool) {
	*m = minDelta{given: true}
	if number, percent := strings.CutSuffix(s, "%"); percent {
		m.percent = true
		m.value, ok = parseFloat(number)
		return ok && m.value >= 0
	}
	m.count, ok = cgout.ParseCount(s)
	return ok && m.count.Sign() >= 0
}
