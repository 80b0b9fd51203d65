package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/usage"
)

var compareCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu compare",
		Title:    "runs commands, and says what each counts and where they differ",
		Synopsis: []string{"[options of run] COMMAND COMMAND..."},
		About: []string{
			"Runs commands, each a program and its arguments in one word of the shell, and says what each counts, how much that is of the first one, and in " +
				"which functions they differ most.",
			"Standard input and output are the null device. What other processes count that a command starts is added up; a shell's pipeline is sh -c '...'. " +
				"No profile is written.",
		},
		Examples: []usage.Row{
			{Name: "cgemu compare 'sort words' 'sort -u words'", Text: "two commands"},
			{Name: "cgemu compare --cache-sim=yes ./old ./new", Text: "with caches"},
			{Name: "cgemu compare -i 'grep x f' 'grep -c x f'", Text: "whatever their exit statuses are"},
		},
		Of: runCommand(),
		Groups: []usage.Group{{Title: "Options, besides those of run", Options: []usage.Option{
			flagOption("-i, --ignore-failure", "compare commands that exit with another status than 0, too: what it is is said on standard error"),
			flagOption("-h, --help", "print this"),
		}}},
		Operands: usage.Files,
		InFront:  true,
		Sections: []usage.Section{{Title: "Exit status", Rows: []usage.Row{
			{Name: "0", Text: "all commands ran"},
			{Name: "a command's", Text: "the first that failed, unless there is --ignore-failure"},
			{Name: "125", Text: "cgemu failed, or a command counted nothing"},
			{Name: "126, 127", Text: "a command cannot be run, or is not there"},
			{Name: "128+n", Text: "signal n ended cgemu"},
		}}},
		SeeAlso: []string{"cgemu(1)", "cgemu-diff(1)"},
	}
})

// compareFunctions is how many functions are shown that differ.
const compareFunctions = 10

// A comparison is what the command line of compare has besides the options of run.
type comparison struct {
	ignoreFailure bool
	flags         *pflag.FlagSet // all options
}

// register adds its options to those of run.
func (c *comparison) register(f *pflag.FlagSet) {
	c.flags = f
	f.BoolVarP(&c.ignoreFailure, "ignore-failure", "i", false, "")
}

// check refuses options that are about the file of a profile.
func (c *comparison) check() error {
	for _, name := range []string{"cachegrind-out-file", "callgrind-out-file", "out-format", "dump-instr"} {
		if c.flags.Changed(name) {
			return fmt.Errorf("compare: not with --%s: no profile is written; cgemu diff compares those of two runs", name)
		}
	}
	return nil
}

// compare runs commands and compares what they count.
func compare(args []string) int {
	var c comparison
	o, commands, err := parseOptions(args, c.register)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return write(compareCommand().Help(compareCommand().Name))
	case err == nil && len(commands) < 2:
		err = errors.New("compare: two commands at least are expected, each in quotes: cgemu help compare")
	case err == nil && o.goBenchmarks:
		err = errors.New("compare: not with --go-benchmarks: benchstat compares the results of two runs")
	case err == nil && o.verify:
		err = errors.New("compare: not with --verify")
	case err == nil && o.view != "":
		err = errors.New("compare: not with --view, which shows one run")
	case err == nil && (o.record != "" || o.recording != nil):
		err = errors.New("compare: not with --record and --replay")
	case err == nil:
		err = c.check()
	}
	if err == nil {
		err = checkHost()
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	ctx := untilSignal()
	var logs cgemu.Config
	if _, err := o.startLog(ctx, &logs, os.Stderr); err != nil {
		return fail(exitFailed, err)
	}
	profiles := make([]*cgout.Profile, len(commands))
	for i, command := range commands {
		words, err := shellquote.Split(command)
		if err == nil && len(words) == 0 {
			err = errors.New("it is empty")
		}
		if err != nil {
			return fail(exitFailed, fmt.Errorf("compare: %q is no command: %w", command, err))
		}
		var status int
		profiles[i], status, err = c.countCommand(ctx, o, words, &logs)
		var by endSignal
		switch {
		case errors.As(context.Cause(ctx), &by):
			return fail(by.status(), errors.New("compare: interrupted"))
		case err != nil:
			return fail(status, fmt.Errorf("compare: %s: %w", command, plainError{err}))
		case profiles[i].Totals()[0] == 0:
			return fail(exitFailed, fmt.Errorf("compare: %s: nothing was counted", command))
		}
	}
	if err := writeComparison(os.Stdout, commands, profiles); err != nil {
		return fail(exitFailed, err)
	}
	return 0
}

// countCommand runs a command, and returns what all of its processes counted. Where messages go is as in logs. With an
// error comes the exit status.
func (c *comparison) countCommand(ctx context.Context, o *options, words []string, logs *cgemu.Config) (*cgout.Profile, int, error) {
	cfg, err := o.config(words)
	if err != nil {
		return nil, exitFailed, err
	}
	paths, err := o.find(words[0], cfg.Env)
	if err != nil {
		exit, err := o.startFailure(words[0], err)
		return nil, exit, err
	}
	cfg.Log, cfg.Strace, cfg.Debug = logs.Log, logs.Strace, logs.Debug
	var said strings.Builder
	cfg.Stdin, cfg.Stdout, cfg.Stderr, cfg.HostStdio = nil, nil, &said, false
	var parts []*cgout.Profile
	cfg.OnDump = func(_ int, p *cgout.Profile) { parts = append(parts, p) }
	var res *cgemu.Result
	for _, cfg.Path = range paths {
		if res, err = cgemu.Run(ctx, cfg); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		exit, err := o.startFailure(words[0], err)
		return nil, exit, err
	}
	if s := status(ctx, res); s != 0 {
		text := strings.TrimRight("\n"+said.String(), "\n ")
		if res.Exit != (cgemu.Exit{Code: s}) { // killed, or ended otherwise
			return nil, s, fmt.Errorf("%v%s", res.Exit, text)
		}
		if !c.ignoreFailure {
			return nil, s, fmt.Errorf("%v (--ignore-failure compares it all the same)%s", res.Exit, text)
		}
		fmt.Fprintf(logs.Log, "cgemu: compare: %s: %v\n", strings.Join(words, " "), res.Exit)
	}
	for _, child := range res.Children {
		parts = append(parts, child.Profile)
	}
	p := res.Profile
	for _, part := range parts {
		if err := p.Merge(part); err != nil {
			return nil, exitFailed, err
		}
	}
	return p, 0, nil
}

// writeComparison writes a table of the counts, and for each command but the first the functions in which it differs
// from that.
func writeComparison(w io.Writer, commands []string, profiles []*cgout.Profile) error {
	rows := [][]string{{"", profiles[0].Events[0], "of first"}}
	rows[0] = append(rows[0], profiles[0].Events[1:]...)
	for i, p := range profiles {
		totals := p.Totals()
		row := []string{commands[i], cgout.Group(totals[0]), ratio(totals[0], profiles[0].Totals()[0])}
		for _, n := range totals[1:] {
			row = append(row, cgout.Group(n))
		}
		rows = append(rows, row)
	}
	if err := writeColumns(w, rows, len(rows[0])); err != nil {
		return err
	}
	for i := range profiles[1:] {
		if err := writeDifference(w, commands[0], commands[i+1], profiles[0], profiles[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// writeDifference writes in which functions two commands differ most, by the first event.
func writeDifference(w io.Writer, oldName, newName string, old, new *cgout.Profile) error {
	o := annotate.Options{ShowFirst: true, StripHash: true, Top: compareFunctions}
	r, err := annotate.Compare(o, annotate.Memory(oldName, old), annotate.Memory(newName, new))
	if err != nil {
		return err
	}
	e := r.Sort[0]
	if len(r.Functions) == 0 {
		_, err := fmt.Fprintf(w, "\n%s counts what %s counts, in each function\n", newName, oldName)
		return err
	}
	rows := [][]string{}
	for _, f := range r.Functions {
		rows = append(rows, []string{"", signed(f.Counts[e]), group(f.Old[e]), "-> " + group(f.New[e]), annotate.Visible(f.Name + "  " + f.File.Name)})
	}
	rows = append(rows, []string{"", signed(r.Omitted.Counts[e]), "", "", fmt.Sprintf("%d other functions", r.OmittedFunctions)})
	if _, err := fmt.Fprintf(w, "\n%s: %s %s, compared with %s\n", newName, signed(r.Total.Counts[e]), r.Events[e], oldName); err != nil {
		return err
	}
	return writeColumns(w, rows, 3)
}

// group is a count in groups of three digits, without its sign.
func group(n cgout.Count) string {
	u, _ := n.Abs().Uint64() // of a run
	return cgout.Group(u)
}

// signed is how much more there is, or less.
func signed(n cgout.Count) string {
	if n.Sign() < 0 {
		return "-" + group(n)
	}
	return "+" + group(n)
}

// ratio is n in parts of first.
func ratio(n, first uint64) string {
	if first == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", float64(n)/float64(first))
}

// writeColumns writes rows: the first column to the left, the next ones to the right, those from left on to the left.
func writeColumns(w io.Writer, rows [][]string, left int) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				line.WriteString(cell + gap)
			case i < left:
				line.WriteString("  " + gap + cell)
			default:
				line.WriteString("  " + cell + gap)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
