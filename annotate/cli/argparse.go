package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/internal/python"
	"github.com/cgemu/cgemu/internal/spell"
	"github.com/cgemu/cgemu/internal/usage"
	"github.com/cgemu/cgemu/internal/version"
)

// Arguments are read as Python's argparse reads them (3.11): prefixes of long
// options, `--opt value` and `--opt=value`, options behind operands, and its
// order of finding errors. pflag can do none of the last three.

// An option is an option of a command. Exactly one of set and flag is there.
type option struct {
	names []string
	set   func(value string) bool // false if the value is invalid
	flag  func(name string)
	what  string // of the value, in the error for an invalid one
	// values are those that there are, for the same error, if choices has not all of them.
	values []string
	done   bool // the command ends when this flag was acted on

	choices []string // the values there are, if not any
	// refuse, if not nil, returns why the option is not to be recognised.
	refuse func(value string) string
	// own is an option that Valgrind's programs do not have. It cannot be
	// abbreviated, so that abbreviations mean what they mean there.
	own bool
	// value takes what is behind the equals sign of a flag, if there may be one.
	value func(string)
	// isValue reports whether an operand behind the flag is meant to be that: it is refused.
	isValue func(string) bool
}

// title returns the option's name in errors.
func (o *option) title() string { return strings.Join(o.names, "/") }

// An operand is a positional argument: one, or as many as there are.
type operand struct {
	name string
	many bool
}

// A parser reads a command line.
type parser struct {
	// name is what the program was called by. Under Valgrind's names errors are those of its programs alone.
	name     string
	options  []option
	operands []operand

	args   []string
	isOpt  []*given // per argument; nil for operands
	values [][]string
	extra  []string // not recognised
	used   []string // names of the options that were acted on
	why    string   // lines that explain errors
	stop   bool     // an option ended the command
}

// A given option is one found on the command line.
type given struct {
	opt   *option // nil if unknown
	name  string
	value *string // behind the equals sign
}

// A usageError is one in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// parse reads args. It returns the operands, a list for each in p.operands, and
// whether an option such as --help ended the command.
func (p *parser) parse(args []string) (values [][]string, stop bool, err error) {
	p.args = args
	if err := p.classify(); err != nil {
		return nil, false, err
	}
	last := -1
	for i, g := range p.isOpt {
		if g != nil {
			last = i
		}
	}
	i := 0
	for i <= last {
		next := i
		for p.isOpt[next] == nil {
			next++
		}
		if i != next {
			if n := p.takeOperands(i); n > i {
				i = n
				continue
			}
			p.extra = append(p.extra, args[i:next]...)
			i = next
		}
		if i, err = p.takeOption(i); err != nil || p.stop {
			return nil, p.stop, err
		}
	}
	i = p.takeOperands(i)
	p.extra = append(p.extra, args[i:]...)
	if rest := p.operands[len(p.values):]; len(rest) > 0 {
		var names []string
		for _, o := range rest {
			names = append(names, o.name)
		}
		return nil, false, usagef("the following arguments are required: %s", strings.Join(names, ", "))
	}
	if len(p.extra) > 0 {
		return nil, false, usagef("unrecognized arguments: %s%s", strings.Join(p.extra, " "), p.suggest())
	}
	return p.values, false, nil
}

// suggest is which option was meant by the first argument that is like one, as a question.
func (p *parser) suggest() string {
	if !strings.HasPrefix(p.name, "cgemu ") {
		return ""
	}
	var names []string
	for _, o := range p.options {
		names = append(names, o.names...)
	}
	for _, arg := range p.extra {
		name, _, _ := strings.Cut(arg, "=")
		if meant := spell.Suggest(name, names); strings.HasPrefix(name, "--") && meant != "" && p.find(name) == nil {
			return meant
		}
	}
	return ""
}

// classify tells options from operands. All arguments are looked at before any
// option is acted on, so an ambiguous one is found first.
func (p *parser) classify() error {
	p.isOpt = make([]*given, len(p.args))
	for i, arg := range p.args {
		if arg == "--" {
			return nil
		}
		g, err := p.option(arg)
		if err != nil {
			return err
		}
		p.isOpt[i] = g
	}
	return nil
}

var negativeNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-\d+$|^-\d*\.\d+$`)
})

// option returns the option that an argument is, nil if it is an operand.
func (p *parser) option(arg string) (*given, error) {
	if len(arg) < 2 || arg[0] != '-' {
		return nil, nil
	}
	if o := p.find(arg); o != nil {
		return &given{opt: o, name: arg}, nil
	}
	name, text, hasValue := strings.Cut(arg, "=")
	var value *string
	if hasValue {
		value = &text
		if o := p.find(name); o != nil {
			return &given{o, name, value}, nil
		}
	}
	switch matches := p.prefixed(arg, name, value); {
	case len(matches) == 1:
		return &matches[0], nil
	case len(matches) > 1:
		var names []string
		for _, m := range matches {
			names = append(names, m.name)
		}
		return nil, usagef("ambiguous option: %s could match %s", arg, strings.Join(names, ", "))
	case negativeNumber().MatchString(arg), strings.Contains(arg, " "):
		return nil, nil
	}
	return &given{name: arg}, nil
}

// find returns the option of that very name.
func (p *parser) find(name string) *option {
	for i := range p.options {
		if slices.Contains(p.options[i].names, name) {
			return &p.options[i]
		}
	}
	return nil
}

// prefixed returns the options that an argument may abbreviate. A short option
// may have its value behind it.
func (p *parser) prefixed(arg, name string, value *string) (list []given) {
	long := strings.HasPrefix(arg, "--")
	for i := range p.options {
		o := &p.options[i]
		if o.own {
			continue
		}
		for _, n := range o.names {
			switch {
			case long && strings.HasPrefix(n, name):
				list = append(list, given{o, n, value})
			case !long && n == arg[:2]:
				rest := arg[2:]
				list = append(list, given{o, n, &rest})
			case !long && strings.HasPrefix(n, arg):
				list = append(list, given{o, n, nil})
			}
		}
	}
	return list
}

// takeOperands gives the operands at i to the names that still lack values, and
// returns what comes behind them.
func (p *parser) takeOperands(i int) int {
	for _, o := range p.operands[len(p.values):] {
		var list []string
		dashes := false
		j := i
		for j < len(p.args) && p.isOpt[j] == nil && (o.many || len(list) == 0) {
			// The first `--` is no operand.
			if p.args[j] == "--" && !dashes && !p.dashesBefore(j) {
				dashes = true
			} else {
				list = append(list, p.args[j])
			}
			j++
		}
		if len(list) == 0 {
			break
		}
		p.values = append(p.values, list)
		i = j
	}
	return i
}

func (p *parser) dashesBefore(i int) bool { return slices.Contains(p.args[:i], "--") }

// takeOption acts on the option at i and returns what comes behind it.
func (p *parser) takeOption(i int) (int, error) {
	g := p.isOpt[i]
	if g.opt == nil {
		p.extra = append(p.extra, p.args[i])
		return i + 1, nil
	}
	p.used = append(p.used, g.name)
	if g.opt.flag != nil {
		if g.value != nil && g.opt.value != nil {
			g.opt.value(*g.value)
		} else if g.value != nil && (*g.value != "" || strings.HasPrefix(g.name, "--")) {
			return 0, usagef("argument %s: ignored explicit argument %s", g.opt.title(), python.Quote(*g.value))
		}
		if next := i + 1; g.value == nil && g.opt.isValue != nil && next < len(p.args) && p.isOpt[next] == nil && g.opt.isValue(p.args[next]) {
			return 0, usagef("argument %s: a value stands behind a \"=\": %[1]s=%s", g.opt.title(), p.args[next])
		}
		g.opt.flag(g.name)
		p.stop = g.opt.done
		return i + 1, nil
	}
	first := i
	i++
	if g.value == nil {
		if i == len(p.args) || p.isOpt[i] != nil || p.args[i] == "--" {
			return 0, usagef("argument %s: expected one argument", g.opt.title())
		}
		g.value = &p.args[i]
		i++
	}
	if g.opt.refuse != nil {
		if why := g.opt.refuse(*g.value); why != "" {
			p.extra = append(p.extra, p.args[first:i]...)
			p.why += g.name + ": " + why + "\n"
			return i, nil
		}
	}
	if list := g.opt.choices; list != nil && !slices.Contains(list, *g.value) {
		return 0, usagef("argument %s: invalid choice: %s (choose from %s)", g.opt.title(), python.Quote(*g.value), strings.Join(list, ", "))
	}
	if !g.opt.set(*g.value) {
		there := ""
		if g.opt.values != nil {
			there = " (choose from " + strings.Join(g.opt.values, ", ") + ")"
		}
		return 0, usagef("argument %s: invalid %s value: %s%s", g.opt.title(), g.opt.what, python.Quote(*g.value), there)
	}
	return i, nil
}

// helpOptions are -h, --help and --version, which print and end the command.
func helpOptions(stdout io.Writer, name string, c *usage.Command) []option {
	return []option{
		{names: []string{"-h", "--help"}, done: true, flag: func(string) { io.WriteString(stdout, c.Help(name)) }},
		{names: []string{"--version"}, done: true, flag: func(string) { fmt.Fprintf(stdout, "%s-%s\n", name, version.Number()) }},
	}
}
