package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/internal/python"
)

// options are those of all tools.
type options struct {
	annotate.Options
	program string
	files   []string
	diff    bool
	images  []*image.Image // of --image and its like, in their order
	// What is wrong with --mod-filename and --mod-funcname.
	badFile, badFunc error

	format   string // "": text
	htmlFile string // "": standard output
	asTable  bool
	color    string // "", "auto": on a terminal; "always", "never"
	noPager  bool

	terminal   io.Writer // the standard output
	onTerminal bool      // it is a terminal, by way of a pager or not
}

const annotateUsage = `usage: %[1]s [-h] [--version] [--diff] [--mod-filename REGEX]
       [--mod-funcname REGEX] [--show A,B,C] [--sort A,B,C]
       [--threshold N:[0,20]] [--show-percs | --no-show-percs]
       [--annotate | --no-annotate] [--context N]
       cachegrind-out-file [cachegrind-out-file ...]
`

// newOptions returns the defaults.
func newOptions(name string, args []string, stdout io.Writer) *options {
	o := &options{Options: annotate.Defaults(), program: name, terminal: stdout, onTerminal: isTerminal(stdout)}
	o.Invocation = strings.Join(append([]string{name}, args...), " ")
	o.Visible = o.onTerminal
	return o
}

// Annotate is cg_annotate. The name is the program's own, as in "cgemu annotate".
func Annotate(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(annotateUsage, name)
	o := newOptions(name, args, stdout)
	out := bufio.NewWriter(stdout)
	p := parser{
		name:     name,
		options:  slices.Concat(helpOptions(out, name, annotateCommand()), o.annotateOptions(out)),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	defer o.closeImages()
	if err == nil && !stop {
		err = needed(p.used, o.diff && o.machine(), "--diff and a --format", compareOptions...)
	}
	if err == nil && !stop {
		err = o.asmFormat(p.used)
	}
	if err == nil && !stop {
		err = needed(p.used, o.showsCalls(), "--format=text or json", callNames...)
	}
	if err != nil || stop {
		return finish(name, usage+p.why, err, out, stderr)
	}
	o.take(values[0], stderr)
	return o.paged(usage, stderr, func(out io.Writer) error { return o.run(out, usage, stderr) })
}

// paged calls write with where the output goes, perhaps a pager, and finishes.
func (o *options) paged(usage string, stderr io.Writer, write func(io.Writer) error) int {
	pager := o.page(stderr)
	o.Color = o.colored()
	var to io.Writer = pager
	if o.machine() {
		to = o.data(pager)
	}
	out := &watchedWriter{Writer: to}
	err := write(out)
	if out.err != nil {
		err = cannotWrite(out.err)
	}
	return report(o.program, usage, pager.wait(err), stderr)
}

// A watchedWriter remembers why it could not write.
type watchedWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (w *watchedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil {
		w.err = err
	}
	return n, err
}

// annotateOptions are those of annotate: those of cg_annotate, and others.
func (o *options) annotateOptions(out *bufio.Writer) []option {
	return append(slices.Concat(o.table(), o.formatOptions(), o.readerOptions(), o.callOptions()),
		option{names: []string{"--asm"}, own: true, flag: func(string) { o.Asm = true }},
		option{names: []string{"--syntax"}, own: true, choices: syntaxNames, set: text(&o.Syntax)},
		option{names: []string{"--print-schema"}, own: true, done: true, flag: func(string) { out.WriteString(annotate.Schema) }})
}

// asmFormat makes the text of instructions of --asm, or a page that has them, too.
func (o *options) asmFormat(used []string) error {
	switch {
	case !o.Asm || o.format == "html":
	case o.format == "" || o.format == "text":
		o.format = "asm"
	default:
		return usagef("argument --asm: needs --format=text or html")
	}
	return needed(used, o.Asm, "--asm", "--syntax")
}

// run reads the profiles and writes the report.
func (o *options) run(out io.Writer, usage string, stderr io.Writer) error {
	if o.diff && len(o.files) != 2 {
		io.WriteString(stderr, usage) // though the status is 1
		return errors.New("argument --diff: requires exactly two Cachegrind output files")
	}
	if err := o.modError(); err != nil {
		return err
	}
	if o.machine() {
		return o.render("annotate", out)
	}
	profiles := o.profiles()
	if o.diff {
		return worded(annotate.WriteTextDiff(out, o.Options, profiles[0], profiles[1]))
	}
	return worded(annotate.WriteText(out, o.Options, profiles...))
}

// table returns the options of cg_annotate, in the order in which errors list them.
func (o *options) table() []option {
	literal := func(name string, into *bool, value bool) option {
		return option{names: []string{name}, flag: func(string) { *into = value }}
	}
	return slices.Concat([]option{
		{names: []string{"--diff"}, flag: func(string) { o.diff = true }},
	}, o.modOptions(), []option{
		{names: []string{"--show"}, set: list(&o.Show)},
		{names: []string{"--sort"}, set: list(&o.Sort)},
		{names: []string{"--threshold"}, what: "threshold", set: func(s string) bool {
			f, ok := python.ParseFloat(s)
			o.Threshold = f
			return ok && f >= 0 && f <= 20
		}},
		{names: []string{"--show-percs", "--no-show-percs"}, flag: func(n string) { o.Percents = n == "--show-percs" }},
		literal("--show-percs=yes", &o.Percents, true),
		literal("--show-percs=no", &o.Percents, false),
		{names: []string{"--annotate", "--no-annotate"}, flag: func(n string) { o.Sources = n == "--annotate" }},
		literal("--auto=yes", &o.Sources, true),
		literal("--auto=no", &o.Sources, false),
		{names: []string{"--context"}, what: "int", set: func(s string) bool {
			n, ok := cgout.ParseCount(s)
			o.Context = clamped(n)
			return ok
		}},
	})
}

// list is a set function that splits the value at commas.
func list(into *[]string) func(string) bool {
	return func(s string) bool {
		*into = strings.Split(s, ",")
		return true
	}
}

// clamped returns the int next to a number.
func clamped(n cgout.Count) int {
	small, ok := n.Int64()
	switch {
	case ok && int64(int(small)) == small:
		return int(small)
	case n.Sign() < 0:
		return math.MinInt
	}
	return math.MaxInt
}

// modOption is --mod-filename or --mod-funcname. A bad expression is reported once
// all options are known, unless a later one takes its place.
func modOption(name string, into *annotate.Rename, bad *error) option {
	return option{names: []string{name}, what: "search_and_replace", set: func(s string) bool {
		rename, err := annotate.ParseRename(s)
		*into, *bad = rename, nil
		if err != nil {
			*bad = usagef("argument %s: %v", name, err)
		}
		return !errors.Is(err, annotate.ErrRename)
	}}
}

// modOptions are both.
func (o *options) modOptions() []option {
	return []option{
		modOption("--mod-filename", &o.RenameFile, &o.badFile), modOption("--mod-funcname", &o.RenameFunc, &o.badFunc),
	}
}

// modError returns why names cannot be changed.
func (o *options) modError() error {
	if o.badFile != nil {
		return o.badFile
	}
	return o.badFunc
}

// finish writes what is left of the output, reports an error and returns the exit status.
func finish(name, usage string, err error, out *bufio.Writer, stderr io.Writer) int {
	if err2 := out.Flush(); err == nil {
		err = cannotWrite(err2)
	}
	return report(name, usage, err, stderr)
}

// report reports an error, unless it is nil, and returns the exit status.
func report(name, usage string, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = annotate.Visible(line)
	}
	text := strings.Join(lines, "\n")
	var wrong usageError
	if errors.As(err, &wrong) {
		fmt.Fprintf(stderr, "%s%s: error: %s\n", usage, name, text)
		return 2
	}
	fmt.Fprintf(stderr, "%s: error: %s\n", name, text)
	return 1
}

func cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write: %w", err)
}
