package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/outfile"
	"github.com/cgemu/cgemu/internal/python"
)

const diffUsage = `usage: %[1]s [-h] [--version] [--mod-filename REGEX] [--mod-funcname REGEX]
       cachegrind-out-file1 cachegrind-out-file2
`

// Diff writes the profile of the second file minus the first, by function; on a
// terminal, where nobody reads that, it shows a table.
func Diff(name string, args []string, stdout, stderr io.Writer) int {
	return diff(name, args, stdout, stderr, isTerminal(stdout))
}

// CgDiff is cg_diff: Diff that writes a profile to terminals, too.
func CgDiff(name string, args []string, stdout, stderr io.Writer) int {
	return diff(name, args, stdout, stderr, false)
}

// diff is Diff; table says that a table is shown if no option says what is.
func diff(name string, args []string, stdout, stderr io.Writer, table bool) int {
	usage := fmt.Sprintf(diffUsage, name)
	o := newOptions(name, args, stdout)
	out := bufio.NewWriter(o.data(stdout))
	p := parser{
		name:     name,
		options:  slices.Concat(helpOptions(out, name, diffCommand()), o.diffOptions()),
		operands: []operand{{"cachegrind-out-file1", false}, {"cachegrind-out-file2", false}},
	}
	values, stop, err := p.parse(args)
	defer o.closeImages()
	o.asTable = o.asTable || table && o.format == "" || o.callsAsked() && !o.machine()
	if err == nil && !stop {
		err = needed(p.used, o.showsCalls(), "--format=text or json", callNames...)
	}
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
	return o.paged(usage, stderr, func(out io.Writer) error {
		if err := o.modError(); err != nil {
			return err
		}
		if o.callsAsked() && !o.machine() {
			profiles := o.profiles()
			return worded(annotate.WriteTextDiff(out, o.Options, profiles[0], profiles[1]))
		}
		return o.render("diff", out)
	})
}

// difference writes a profile.
func (o *options) difference(out io.Writer) error {
	if err := o.modError(); err != nil {
		return err
	}
	d := cgout.Differ{ModFile: o.RenameFile, ModFunc: o.RenameFunc}
	if o.StripHash {
		d.ModFunc = o.stripped
	}
	for _, file := range o.files {
		if err := withFile(file, d.Add); err != nil {
			return err
		}
	}
	return cannotWrite(d.Write(out))
}

// stripped is RenameFunc, if there is one, and --strip-hash.
func (o *options) stripped(name string) (string, error) {
	if o.RenameFunc != nil {
		var err error
		if name, err = o.RenameFunc(name); err != nil {
			return "", err
		}
	}
	return annotate.StripHash(name), nil
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
		name:     name,
		options:  slices.Concat(helpOptions(out, name, mergeCommand()), o.mergeOptions(&output)),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		err = needed(p.used, o.machine(), "a --format", "--derived")
	}
	if err == nil && !stop {
		o.take(values[0], stderr)
		err = o.merge(output, out)
	}
	return finish(name, usage, err, out, stderr)
}

// mergeOptions are those of merge.
func (o *options) mergeOptions(output *string) []option {
	return append([]option{{names: []string{"-o"}, set: text(output)}}, o.formatOptions()...)
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
		o.Threshold, o.Sources = 0, false // all there is, and no sources
		r, err := o.report("merge")
		return func(w io.Writer) error { return o.write(r, w) }, err
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
	data, err := cgout.ReadFile(name)
	if err != nil {
		return worded(err)
	}
	return add(name, bytes.NewReader(data))
}

// worded returns an error of a report in the words of cg_annotate.
func worded(err error) error {
	var file *fs.PathError
	var event *annotate.MissingEventError
	switch {
	case errors.As(err, &file):
		return errors.New(osError(err, file.Path))
	case errors.As(err, &event):
		return fmt.Errorf("--%s event `%s` did not appear in `events:` line", strings.ToLower(event.Option), event.Event)
	}
	return err
}

// osError returns the text of an OSError for a file.
func osError(err error, name string) string {
	code := syscall.Errno(0)
	switch {
	case errors.As(err, &code):
	case errors.Is(err, fs.ErrNotExist):
		code = syscall.ENOENT
	case errors.Is(err, fs.ErrPermission):
		code = syscall.EACCES
	default:
		return fmt.Sprintf("%v: %s", err, python.Quote(name))
	}
	text := code.Error()
	return fmt.Sprintf("[Errno %d] %s: %s", int(code), strings.ToUpper(text[:1])+text[1:], python.Quote(name))
}
