package cli

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cgemu/cgemu/annotate"
)

const callersUsage = `usage: %[1]s [-h] [--version] [--diff] [--show A,B,C] [--sort A,B,C]
       function callgrind-out-file [callgrind-out-file ...]
`

// Callers shows who calls a function, and whom it calls.
func Callers(name string, args []string, stdout, stderr io.Writer) int {
	usage := fmt.Sprintf(callersUsage, name)
	o := newOptions(name, args, stdout)
	out := bufio.NewWriter(stdout)
	p := parser{
		name:     name,
		options:  slices.Concat(helpOptions(out, name, callersCommand()), o.callersOptions()),
		operands: []operand{{"function", false}, {"callgrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	if err != nil || stop {
		return finish(name, usage+p.why, err, out, stderr)
	}
	o.take(values[1], stderr)
	return o.paged(usage, stderr, func(out io.Writer) error {
		if o.diff && len(o.files) != 2 {
			return usagef("argument --diff: requires exactly two profiles")
		}
		if err := o.modError(); err != nil {
			return err
		}
		var r *annotate.CallReport
		if profiles := o.profiles(); o.diff {
			r, err = annotate.CompareCalls(o.Options, profiles[0], profiles[1])
		} else {
			r, err = annotate.NewCalls(o.Options, profiles...)
		}
		if err != nil {
			return worded(err)
		}
		if o.format == "json" {
			return r.WriteCallersJSON(out, values[0][0])
		}
		return r.WriteCallers(out, values[0][0])
	})
}

// callersOptions are those of callers.
func (o *options) callersOptions() []option {
	return append(o.modOptions(), []option{
		{names: []string{"--diff"}, own: true, flag: func(string) { o.diff = true }},
		{names: []string{"--format"}, own: true, choices: formatNames[:2], set: text(&o.format)},
		{names: []string{"--show"}, own: true, set: list(&o.Show)},
		{names: []string{"--sort"}, own: true, set: list(&o.Sort)},
		{names: []string{"--only"}, own: true, what: "glob", set: more(&o.Only)},
		{names: []string{"--strip-hash"}, own: true, flag: func(string) { o.StripHash = true }},
		{names: []string{"--top"}, own: true, what: "int", set: func(s string) bool {
			n, err := strconv.Atoi(s)
			o.Top = n
			return err == nil && n > 0
		}},
		{names: []string{"--color", "--colour"}, own: true, choices: colorNames, set: text(&o.color)},
		{names: []string{"--no-pager"}, own: true, flag: func(string) { o.noPager = true }},
	}...)
}
