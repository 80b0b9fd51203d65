package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/internal/python"
)

// The values of --format, --syntax, --match, --color and --tree, and of --derived those that are no quotients.
var (
	derivedNames = []string{"rates", "cycles", "parent"}
	formatNames  = []string{"text", "json", "csv", "markdown", "html"}
	syntaxNames  = []string{"intel", "gnu", "go"}
	matchNames   = []string{"auto", "exact"}
	colorNames   = []string{"auto", "always", "never"}
	treeNames    = []string{"none", "caller", "calling", "both"}
)

// take takes the names of profiles, which a pattern may have found, cachegrind.out.* say: counts by instruction, which
// are read with the profile beside them, and profiles of earlier runs are called much as those of the last one.
func (o *options) take(names []string, stderr io.Writer) {
	for _, name := range names {
		if profile, insns := strings.CutSuffix(name, cgout.InsnsSuffix); !insns || !slices.Contains(names, profile) {
			o.files = append(o.files, name)
		}
	}
	earlier := slices.IndexFunc(o.files, isOld)
	if earlier >= 0 && !o.diff && slices.ContainsFunc(o.files, func(name string) bool { return !isOld(name) }) {
		fmt.Fprintf(stderr, "%s: %s is of an earlier run than others, and is added to them\n", o.program, o.files[earlier])
	}
}

// isOld reports whether a run has set a profile aside: its name ends in .old, or .old.2 and so on.
func isOld(name string) bool {
	return strings.HasSuffix(strings.TrimRight(name, ".0123456789"), cgout.OldSuffix)
}

// profiles returns the operands.
func (o *options) profiles() (list []annotate.Input) {
	for _, name := range o.files {
		list = append(list, annotate.File(name))
	}
	return list
}

// report reads the profiles.
func (o *options) report(tool string) (r *annotate.Report, err error) {
	o.ShowFirst, o.Context = o.human(), max(o.Context, 0) // only cg_annotate's text has a meaning for less
	if o.CallGraph = o.format == "html"; o.CallGraph {
		if o.Dir, err = os.Getwd(); err != nil {
			o.Dir = "" // sources below it are no one's then
		}
		err = nil
	}
	if profiles := o.profiles(); o.diff {
		r, err = annotate.Compare(o.Options, profiles[0], profiles[1])
	} else {
		r, err = annotate.New(o.Options, profiles...)
	}
	if err != nil {
		return nil, worded(err)
	}
	r.Tool = tool
	return r, nil
}

// render reads the profiles and writes a report.
func (o *options) render(tool string, out io.Writer) error {
	r, err := o.report(tool)
	if err != nil {
		return err
	}
	if o.Asm && len(r.Profiles) != 1 {
		return usagef("argument --asm: needs one profile")
	}
	return o.write(r, out)
}

// write writes a report in its format.
func (o *options) write(r *annotate.Report, out io.Writer) error {
	switch o.format {
	case "json":
		return r.WriteJSON(out)
	case "csv":
		return r.WriteCSV(out)
	case "markdown":
		return r.WriteMarkdown(out)
	case "asm":
		return r.WriteAsm(out)
	case "", "text":
		return r.WriteTable(out)
	case "html":
		if o.Asm {
			if _, err := r.Instructions(); err != nil { // before the page's file is begun, which it is not about
				return err
			}
		}
		if o.htmlFile != "" {
			return writeFile(o.htmlFile, r.WriteHTML)
		}
		return r.WriteHTML(out)
	}
	panic("BUG: no format " + o.format)
}

// compareOptions mean something in a comparison only, tableOptions and these in
// one that does not write a profile.
var (
	compareOptions = []string{"--match", "--min-delta", "--include-old", "--include-new", "--image-old", "--image-new", "--source-map-old", "--source-map-new"}
	tableOptions   = append([]string{"--show", "--sort", "--only", "--focus", "--top", "--derived", "--include", "--image", "--source-map"},
		compareOptions...)
)

// callNames are the options that show a call graph, which texts and JSON do.
var callNames = []string{"--inclusive", "--inclusive=yes", "--tree"}

// showsCalls reports whether the format can have one.
func (o *options) showsCalls() bool { return !o.machine() || o.format == "json" }

// needed reports options that were used in vain.
func needed(used []string, ok bool, what string, names ...string) error {
	for _, name := range used {
		if !ok && slices.Contains(names, name) {
			return usagef("argument %s: needs %s", name, what)
		}
	}
	return nil
}

// diffOptions are those of diff: those of cg_diff, and others.
func (o *options) diffOptions() []option {
	return append(slices.Concat(o.modOptions(), o.formatOptions(), o.readerOptions(), o.callOptions()),
		option{names: []string{"--table"}, own: true, flag: func(string) { o.asTable = true }},
		option{names: []string{"--show"}, own: true, set: list(&o.Show)},
		option{names: []string{"--sort"}, own: true, set: list(&o.Sort)})
}

// machine reports whether the output is not the text of old.
func (o *options) machine() bool { return o.format != "" && o.format != "text" }

// human reports whether the output is for people to read as it is.
func (o *options) human() bool {
	return !o.machine() || o.format == "markdown" || o.format == "asm"
}

// formatOptions are those of every tool.
func (o *options) formatOptions() []option {
	return []option{
		{names: []string{"--format"}, own: true, choices: formatNames, set: text(&o.format)},
		{
			names: []string{"--html"}, own: true,
			flag:    func(string) { o.format = "html" },
			value:   func(file string) { o.htmlFile = file },
			isValue: func(operand string) bool { return strings.EqualFold(path.Ext(operand), ".html") },
		},
		{
			names: []string{"--editor"}, own: true, what: "editor", set: o.setEditor,
			values: append(slices.Sorted(maps.Keys(editors)), "a URL with {file} and {line}"),
		},
		{names: []string{"--derived"}, own: true, what: "derived", values: append(slices.Clone(derivedNames), "EVENT/EVENT"), set: func(s string) bool {
			o.Derived = append(o.Derived, strings.Split(s, ",")...)
			return validDerived(o.Derived)
		}},
	}
}

// editors are the URLs of editors that have one.
var editors = map[string]string{
	"vscode": "vscode://file/{file}:{line}", "vscodium": "vscodium://file/{file}:{line}", "idea": "idea://open?file={file}&line={line}",
}

// setEditor takes the name of an editor, or a URL.
func (o *options) setEditor(s string) bool {
	o.Editor = editors[s]
	scheme, rest, ok := strings.Cut(s, ":")
	if o.Editor == "" && ok && strings.Contains(rest, "{file}") && !slices.Contains([]string{"javascript", "data", "vbscript"}, strings.ToLower(scheme)) {
		o.Editor = s
	}
	return o.Editor != ""
}

// readerOptions are those of annotate and diff.
func (o *options) readerOptions() []option {
	list := []option{
		{names: []string{"--only"}, own: true, what: "glob", set: more(&o.Only)},
		{names: []string{"--focus"}, own: true, what: "glob", set: more(&o.Focus)},
		{names: []string{"--strip-hash"}, own: true, flag: func(string) { o.StripHash = true }},
		{names: []string{"--top"}, own: true, what: "int", set: func(s string) bool {
			n, err := strconv.Atoi(s)
			o.Top = n
			return err == nil && n > 0
		}},
		{names: []string{"--match"}, own: true, choices: matchNames, set: func(s string) bool {
			o.MatchExact = s == "exact"
			return true
		}},
		{names: []string{"--min-delta"}, own: true, what: "count or percentage", set: o.setMinDelta},
		{names: []string{"--color", "--colour"}, own: true, choices: colorNames, set: text(&o.color)},
		{names: []string{"--no-pager"}, own: true, flag: func(string) { o.noPager = true }},
	}
	list = append(list, o.finderOptions("", &o.Finder)...)
	list = append(list, o.finderOptions("-old", &o.OldFinder)...)
	return append(list, o.finderOptions("-new", &o.NewFinder)...)
}

// callOptions are those that show a call graph.
func (o *options) callOptions() []option {
	return []option{
		{
			names: []string{"--inclusive", "--inclusive=yes"}, own: true,
			flag: func(string) { o.Inclusive = true },
		},
		{names: []string{"--inclusive=no"}, own: true, flag: func(string) { o.Inclusive = false }},
		{names: []string{"--tree"}, own: true, choices: treeNames, set: func(s string) bool {
			if o.Tree = annotate.Tree(s); s == "none" {
				o.Tree = annotate.TreeNone
			}
			return true
		}},
	}
}

// callsAsked reports whether a call graph is asked for.
func (o *options) callsAsked() bool { return o.Inclusive || o.Tree != annotate.TreeNone }

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

// setMinDelta reads N or N%.
func (o *options) setMinDelta(s string) (ok bool) {
	o.MinDelta = &annotate.MinDelta{}
	if number, percent := strings.CutSuffix(s, "%"); percent {
		o.MinDelta.Percent, ok = python.ParseFloat(number)
		return ok && o.MinDelta.Percent >= 0
	}
	o.MinDelta.Count, ok = cgout.ParseCount(s)
	return ok && o.MinDelta.Count.Sign() >= 0
}

// finderOptions are --include, --image and --source-map, for one side of a comparison or both.
func (o *options) finderOptions(side string, f *annotate.Finder) []option {
	return []option{
		{names: []string{"--image" + side}, own: true, refuse: o.openImage, set: func(string) bool {
			f.Images = append(f.Images, o.images[len(o.images)-1].FS())
			return true
		}},
		{names: []string{"--include" + side}, own: true, set: more(&f.Dirs), refuse: noDirectory},
		{names: []string{"--source-map" + side}, own: true, what: "FROM=TO", set: func(s string) bool {
			from, to, ok := strings.Cut(s, "=")
			f.Maps = append(f.Maps, annotate.SourceMap{From: from, To: to})
			return ok && from != ""
		}},
	}
}

// noDirectory says that a name is none. To cg_annotate --include is unknown since
// 2023; what it says of one is said where --include cannot mean anything.
func noDirectory(name string) string {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return name + " is not a directory"
	}
	return ""
}

// validDerived reports whether the names can be columns of some profile.
func validDerived(names []string) bool {
	for _, name := range names {
		if slices.Contains(derivedNames, name) {
			continue
		}
		if a, b, ok := strings.Cut(name, "/"); !ok || a == "" || b == "" {
			return false
		}
	}
	return true
}

// openImage opens an image; if it cannot be opened it returns why.
func (o *options) openImage(name string) string {
	m, err := image.Open(name, image.Options{Cache: image.DefaultCache()})
	if err != nil {
		return err.Error()
	}
	o.images = append(o.images, m)
	return ""
}

// closeImages closes the images that options have opened.
func (o *options) closeImages() {
	for _, m := range o.images {
		m.Close()
	}
}
