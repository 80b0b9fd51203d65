package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/export"
)

const exportUsage = `usage: %[1]s [-h] [--version] --to FORMAT [--events A,B,C] [--lines] [-o FILE]
       cachegrind-out-file [cachegrind-out-file ...]
`

// Export writes the sum of profiles in the format of another tool.
func Export(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(exportUsage, name)
	o := newOptions(name, args, stdout)
	out := bufio.NewWriter(o.data(stdout))
	var x exporting
	p := parser{
		name:     name,
		options:  slices.Concat(helpOptions(out, name, exportCommand()), o.exportOptions(&x)),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	if err == nil && !stop {
		o.take(values[0], stderr)
		err = o.export(x, out)
	}
	return finish(name, usage, err, out, stderr)
}

// exporting is what export's options say.
type exporting struct {
	export.Options
	format, output string
}

// exportOptions are those of export.
func (o *options) exportOptions(x *exporting) []option {
	return append(o.modOptions(), []option{
		{names: []string{"--to"}, own: true, choices: export.Formats, set: text(&x.format)},
		{names: []string{"--events"}, own: true, set: list(&x.Events)},
		{names: []string{"--lines"}, own: true, flag: func(string) { x.Lines = true }},
		{names: []string{"--strip-hash"}, own: true, flag: func(string) { o.StripHash = true }},
		{names: []string{"-o"}, own: true, set: text(&x.output)},
	}...)
}

func (o *options) export(x exporting, stdout io.Writer) error {
	switch {
	case x.format == "":
		return usagef("the following arguments are required: --to (one of %s)", strings.Join(export.Formats, ", "))
	case x.output == "" && o.onTerminal && export.Binary(x.format):
		return usagef("%s is no text for a terminal: -o FILE writes it to a file", x.format)
	}
	if err := o.modError(); err != nil {
		return err
	}
	sum := cgout.New()
	threads := false
	for i, file := range o.files {
		err := withFile(file, func(name string, r io.Reader) error {
			p, err := cgout.Read(name, r)
			if err != nil {
				return err
			}
			if i == 0 {
				sum = cgout.New(p.Events...)
				sum.Cmd, sum.Desc = p.Cmd, p.Desc
			}
			switch {
			case !slices.Equal(sum.Events, p.Events):
				return cgout.ErrEvents
			case i > 0 && (sum.Graph == nil) != (p.Graph == nil):
				return fmt.Errorf("%s and %s cannot be added up: one has a call graph, the other has none", o.files[0], name)
			}
			if p, err = o.Options.Renamed(p); err != nil {
				return err
			}
			sum.Threads, threads = append(sum.Threads, p), threads || p.Thread > 0
			return sum.Merge(p)
		})
		if err != nil {
			return err
		}
	}
	if !threads {
		sum.Threads = nil
	}
	var b bytes.Buffer // an error leaves no half of a file
	if err := export.Write(&b, x.format, sum, x.Options); err != nil {
		return fmt.Errorf("%s: %s", strings.Join(o.files, ", "), strings.TrimPrefix(err.Error(), "export: "))
	}
	write := func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	}
	if x.output != "" {
		return writeFile(x.output, write)
	}
	return cannotWrite(write(stdout))
}
