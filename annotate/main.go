package annotate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// options are those of Annotate.
type options struct {
	program string
	args    []string

	diff             bool
	modFile, modFunc *mod
	show, sort       []string // nil: all
	threshold        float64
	percents         bool
	annotate         bool
	context          cgout.Count
	files            []string

	viewOptions
	terminal io.Writer // the standard output, for colours
}

const annotateUsage = `usage: %[1]s [-h] [--version] [--diff] [--mod-filename REGEX]
       [--mod-funcname REGEX] [--show A,B,C] [--sort A,B,C]
       [--threshold N:[0,20]] [--show-percs | --no-show-percs]
       [--annotate | --no-annotate] [--context N]
       cachegrind-out-file [cachegrind-out-file ...]
`

// newOptions returns the defaults.
func newOptions(name string, args []string, stdout io.Writer) *options {
	o := &options{program: name, args: args, threshold: 0.1, percents: true, annotate: true,
		context: cgout.NewCount(8), terminal: stdout}
	o.onTerminal = isTerminal(stdout)
	return o
}

// Annotate is cg_annotate. The name is the program's own, as in "cgemu annotate".
func Annotate(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(annotateUsage, name)
	o := newOptions(name, args, stdout)
	out := bufio.NewWriter(stdout)
	p := parser{
		options:  slices.Concat(helpOptions(out, usage+annotateHelp, version(name)), o.table(), o.own(out)),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		err = needed(p.used, o.diff && o.machine(), "--diff and a --format", compareOptions...)
	}
	if err == nil && !stop {
		err = needed(p.used, o.format == "asm", "--asm", "--syntax")
	}
	if err != nil || stop {
		return finish(name, usage+p.why, err, out, stderr)
	}
	o.files = values[0]
	return o.paged(usage, stderr, func(out *bufio.Writer) error { return o.run(out, usage, stderr) })
}

// paged calls write with where the output goes, perhaps a pager, and finishes.
func (o *options) paged(usage string, stderr io.Writer, write func(*bufio.Writer) error) int {
	pager := o.page(o.terminal, stderr)
	var to io.Writer = pager
	if o.machine() {
		to = o.data(pager)
	}
	out := bufio.NewWriterSize(to, 1<<16)
	err := write(out)
	if err2 := out.Flush(); err == nil {
		err = cannotWrite(err2)
	}
	out.Reset(io.Discard) // or it would report the error of a pager that ended early
	return finish(o.program, usage, pager.wait(err), out, stderr)
}

// own returns the options of annotate that cg_annotate does not have.
func (o *options) own(out *bufio.Writer) []option {
	return append(append(o.formatOptions(), o.readerOptions()...), o.asmOption(), o.syntaxOption(),
		option{names: []string{"--print-schema"}, own: true, done: true, flag: func(string) { out.WriteString(Schema) }})
}

// run reads the profiles and writes the report.
func (o *options) run(out *bufio.Writer, usage string, stderr io.Writer) error {
	if o.diff && len(o.files) != 2 {
		io.WriteString(stderr, usage) // though the status is 1
		return errors.New("argument --diff: requires exactly two Cachegrind output files")
	}
	if err := o.modError(); err != nil {
		return err
	}
	if o.machine() {
		return o.render(toolAnnotate, out)
	}
	m, err := load(o)
	if err != nil {
		return err
	}
	r := textReport{Writer: out, m: m, o: o, color: o.colored(o.terminal)}
	if o.show == nil {
		o.show = m.events
	}
	if o.sort == nil {
		o.sort = m.events
	}
	r.show, r.sort = m.columns(o.show), m.columns(o.sort)
	if r.derived, err = deriveds(o.derived, m.events, r.show); err != nil {
		return err
	}
	return r.write()
}

// table returns the options, in the order in which errors list them.
func (o *options) table() []option {
	literal := func(name string, into *bool, value bool) option {
		return option{names: []string{name}, flag: func(string) { *into = value }}
	}
	return append([]option{
		{names: []string{"--diff"}, flag: func(string) { o.diff = true }},
		modOption("--mod-filename", &o.modFile),
		modOption("--mod-funcname", &o.modFunc),
		{names: []string{"--show"}, set: list(&o.show)},
		{names: []string{"--sort"}, set: list(&o.sort)},
		{names: []string{"--threshold"}, what: "threshold", set: func(s string) bool {
			f, ok := parseFloat(s)
			o.threshold = f
			return ok && f >= 0 && f <= 20
		}},
		{names: []string{"--show-percs", "--no-show-percs"}, flag: func(n string) { o.percents = n == "--show-percs" }},
		literal("--show-percs=yes", &o.percents, true),
		literal("--show-percs=no", &o.percents, false),
		{names: []string{"--annotate", "--no-annotate"}, flag: func(n string) { o.annotate = n == "--annotate" }},
		literal("--auto=yes", &o.annotate, true),
		literal("--auto=no", &o.annotate, false),
	}, option{names: []string{"--context"}, what: "int", set: func(s string) (ok bool) {
		o.context, ok = cgout.ParseCount(s)
		return ok
	}})
}

// list is a set function that splits the value at commas.
func list(into *[]string) func(string) bool {
	return func(s string) bool {
		*into = strings.Split(s, ",")
		return true
	}
}

// modOption is --mod-filename or --mod-funcname.
func modOption(name string, into **mod) option {
	o := option{names: []string{name}, what: "search_and_replace"}
	o.set = func(s string) bool {
		if _, _, _, ok := cutMod(s); !ok {
			return false
		}
		m, err := newMod(s)
		if err != nil {
			m = &mod{err: usagef("argument %s: %v", name, err)}
		}
		*into = m
		return true
	}
	return o
}

// finish reports an error and returns the exit status.
func finish(name, usage string, err error, out *bufio.Writer, stderr io.Writer) int {
	if err2 := out.Flush(); err == nil {
		err = cannotWrite(err2)
	}
	if err == nil {
		return 0
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = visible(line)
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

// version returns what --version prints.
func version(name string) string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return name + "-" + v
}
