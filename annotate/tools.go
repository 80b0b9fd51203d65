package annotate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/outfile"
)

const diffUsage = `usage: %[1]s [-h] [--version] [--mod-filename REGEX] [--mod-funcname REGEX]
       cachegrind-out-file1 cachegrind-out-file2
`

// Diff is cg_diff: it writes the profile of the second file minus the first, by
// function.
func Diff(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(diffUsage, name)
	o := newOptions(name, args, stdout)
	out := bufio.NewWriter(o.data(stdout))
	p := parser{
		options: slices.Concat(helpOptions(out, usage+diffHelp, version(name)), []option{
			modOption("--mod-filename", &o.modFile), modOption("--mod-funcname", &o.modFunc),
		}, o.diffOptions()),
		operands: []operand{{"cachegrind-out-file1", false}, {"cachegrind-out-file2", false}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		err = needed(p.used, o.asTable || o.machine(), "--table or a --format", tableOptions...)
	}
	if err != nil || stop {
		return finish(name, usage+p.why, err, out, stderr)
	}
	o.files = []string{values[0][0], values[1][0]}
	if !o.asTable && !o.machine() {
		return finish(name, usage, o.difference(out), out, stderr)
	}
	o.diff = true
	return o.paged(usage, stderr, func(out *bufio.Writer) error { return o.render(toolDiff, out) })
}

// difference writes a profile.
func (o *options) difference(out io.Writer) error {
	named := func(apply func(string) string) func(string) (string, error) {
		return func(name string) (string, error) { return apply(name), nil }
	}
	d := cgout.Differ{ModFile: named(o.modFile.apply), ModFunc: named(o.modFunc.apply)}
	if o.stripHash {
		d.ModFunc = named(func(name string) string { return stripHash(o.modFunc.apply(name)) })
	}
	for _, file := range o.files {
		if err := o.modError(); err != nil {
			return err
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
	o := newOptions(name, args, stdout)
	out := bufio.NewWriter(o.data(stdout))
	var output string
	p := parser{
		options: slices.Concat(helpOptions(out, usage+mergeHelp, version(name)), []option{
			{names: []string{"-o"}, set: text(&output)},
		}, o.formatOptions()),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		err = needed(p.used, o.machine(), "a --format", "--derived")
	}
	if err == nil && !stop {
		o.files = values[0]
		err = o.merge(output, out)
	}
	return finish(name, usage, err, out, stderr)
}

func (o *options) merge(output string, stdout io.Writer) error {
	write, err := o.merged()
	if err != nil {
		return err
	}
	if output == "" {
		return cannotWrite(write(stdout))
	}
	return writeFile(output, write)
}

// writeFile writes a file, which replaces the old one when it is whole.
func writeFile(name string, write func(io.Writer) error) error {
	err := outfile.Write(context.Background(), name, 0o666, write)
	var code syscall.Errno
	if errors.As(err, &code) {
		return errors.New(osError(err, name))
	}
	return cannotWrite(err)
}

// merged reads the profiles and returns what writes their sum.
func (o *options) merged() (write func(io.Writer) error, err error) {
	if o.machine() {
		o.threshold, o.annotate = 0, false // all there is, and no sources
		r, err := buildReport(toolMerge, o)
		return func(w io.Writer) error {
			out := bufio.NewWriter(w)
			return errors.Join(renderers[o.format](out, r, o), out.Flush())
		}, err
	}
	var m cgout.Merger
	for _, file := range o.files {
		if err := withFile(file, m.Add); err != nil {
			return nil, err
		}
	}
	return m.Write, nil
}

// withFile calls add with the contents of a file.
func withFile(name string, add func(name string, r io.Reader) error) error {
	data, err := readProfile(name)
	if err != nil {
		return err
	}
	return add(name, bytes.NewReader(data))
}
