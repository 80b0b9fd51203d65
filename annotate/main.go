package annotate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
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
}

const annotateUsage = `usage: %[1]s [-h] [--version] [--diff] [--mod-filename REGEX]
       [--mod-funcname REGEX] [--show A,B,C] [--sort A,B,C]
       [--threshold N:[0,20]] [--show-percs | --no-show-percs]
       [--annotate | --no-annotate] [--context N]
       cachegrind-out-file [cachegrind-out-file ...]
`

const annotateHelp = `
Show where the events of one or more profiles took place.

  -h, --help            show this help message and exit
  --version             show the version and exit
  --diff                show the second of two profiles minus the first
  --mod-filename REGEX  change file names, e.g. 's/prog[0-9]/progN/'
  --mod-funcname REGEX  change function names
  --show A,B,C          show these events only (default: all)
  --sort A,B,C          sort by these events (default: in the profile's order)
  --threshold N:[0,20]  leave out pairs of file and function with less than N%
                        of the first sort event (default: 0.1)
  --show-percs, --no-show-percs
                        show shares (default: yes)
  --annotate, --no-annotate
                        show source files (default: yes)
  --context N           show N lines around lines with counts (default: 8)
  --show-percs=yes, --show-percs=no, --auto=yes, --auto=no
                        older names of the above
`

// Annotate is cg_annotate. The name is the program's own, as in "cgemu annotate".
func Annotate(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(annotateUsage, name)
	o := &options{program: name, args: args, threshold: 0.1, percents: true, annotate: true, context: cgout.NewCount(8)}
	out := bufio.NewWriter(stdout)
	p := parser{
		options:  append(helpOptions(out, usage+annotateHelp, version(name)), o.table()...),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		o.files = values[0]
		err = o.run(out, usage, stderr)
	}
	return finish(name, usage, err, out, stderr)
}

// run reads the profiles and writes the report.
func (o *options) run(out *bufio.Writer, usage string, stderr io.Writer) error {
	if o.diff && len(o.files) != 2 {
		io.WriteString(stderr, usage) // though the status is 1
		return errors.New("argument --diff: requires exactly two Cachegrind output files")
	}
	for _, m := range []*mod{o.modFile, o.modFunc} {
		if m != nil && m.err != nil {
			return m.err
		}
	}
	m, err := load(o)
	if err != nil {
		return err
	}
	r := report{Writer: out, m: m, o: o}
	if o.show == nil {
		o.show = m.events
	}
	if o.sort == nil {
		o.sort = m.events
	}
	r.show, r.sort = m.columns(o.show), m.columns(o.sort)
	return r.write()
}

// table returns the options, in the order in which errors list them.
func (o *options) table() []option {
	list := func(into *[]string) func(string) bool {
		return func(s string) bool {
			*into = strings.Split(s, ",")
			return true
		}
	}
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
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "%s%s: error: %v\n", usage, name, err)
		return 2
	}
	fmt.Fprintf(stderr, "%s: error: %v\n", name, err)
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

const diffUsage = `usage: %[1]s [-h] [--version] [--mod-filename REGEX] [--mod-funcname REGEX]
       cachegrind-out-file1 cachegrind-out-file2
`

// Diff is cg_diff: it writes the profile of the second file minus the first, by
// function.
func Diff(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(diffUsage, name)
	out := bufio.NewWriter(stdout)
	var modFile, modFunc *mod
	p := parser{
		options: append(helpOptions(out, usage, version(name)),
			modOption("--mod-filename", &modFile), modOption("--mod-funcname", &modFunc)),
		operands: []operand{{"cachegrind-out-file1", false}, {"cachegrind-out-file2", false}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		err = diff(modFile, modFunc, []string{values[0][0], values[1][0]}, out)
	}
	return finish(name, usage, err, out, stderr)
}

func diff(modFile, modFunc *mod, files []string, out io.Writer) error {
	d := cgout.Differ{ModFile: modFile.apply, ModFunc: modFunc.apply}
	for _, file := range files {
		for _, m := range []*mod{modFile, modFunc} {
			if m != nil && m.err != nil {
				return m.err
			}
		}
		if err := withFile(file, d.Add); err != nil {
			return err
		}
	}
	return cannotWrite(d.Write(out))
}

const mergeUsage = `usage: %[1]s [-h] [--version] [-o FILE] cachegrind-out-file [cachegrind-out-file ...]
`

// Merge is cg_merge: it writes the sum of profiles.
func Merge(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(mergeUsage, name)
	out := bufio.NewWriter(stdout)
	var output string
	p := parser{
		options: append(helpOptions(out, usage, version(name)),
			option{names: []string{"-o"}, set: func(s string) bool { output = s; return true }}),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		err = merge(values[0], output, out)
	}
	return finish(name, usage, err, out, stderr)
}

func merge(files []string, output string, stdout io.Writer) error {
	var m cgout.Merger
	for _, file := range files {
		if err := withFile(file, m.Add); err != nil {
			return err
		}
	}
	if output == "" {
		return cannotWrite(m.Write(stdout))
	}
	f, err := os.Create(output)
	if err != nil {
		return errors.New(osError(err, output))
	}
	err = m.Write(f)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return cannotWrite(err)
}

// withFile calls add with the contents of a file.
func withFile(name string, add func(name string, r io.Reader) error) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return errors.New(osError(err, name))
	}
	return add(name, strings.NewReader(string(data)))
}
