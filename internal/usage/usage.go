// Package usage describes commands and their options as data. The help, the manual pages and the completions of shells
// are all made from that, so none of them can lack an option that another one has.
package usage

import (
	"fmt"
	"slices"
	"strings"
)

// A Command is a command and what its users have to know of it.
type Command struct {
	// Name is what it is called by: "cgemu annotate".
	Name string
	// Title says what it does, in a few words for lists of commands.
	Title string
	// Synopsis is what follows the name: a line for each way to call it.
	Synopsis []string
	// About describes it, by paragraphs.
	About []string
	// Examples come first: most readers need no more.
	Examples []Row
	// Groups are the options, by purpose.
	Groups []Group
	// Of is a command whose options it has besides; the help of that has them.
	Of *Command
	// Operands says what the shell completes where no option stands, Words are the fixed ones among these. InFront says
	// that options end at the first operand, as they do for a Program anyway.
	Operands Kind
	Words    []string
	InFront  bool
	// Sections are further parts of the manual page: exit statuses, files, the environment.
	Sections []Section
	// SeeAlso names other manual pages.
	SeeAlso []string
}

// A Group is some options that serve one purpose.
type Group struct {
	Title   string
	Options []Option
}

// An Option is an option of a command.
type Option struct {
	// Names are all names of the option; those that mean the opposite, too.
	Names []string
	// Arg stands for its value in texts; "" if it has none, or if Values stand there.
	Arg string
	// Values are the values that it can have, if these are few. List says that several can be given, with commas.
	Values []string
	List   bool
	// Optional says that the value may be left out; then it follows the equals sign, or there is none.
	Optional bool
	// Text says what it does.
	Text string
}

// A Row is a line of a table: an example and what it shows, or a status and what it means.
type Row struct{ Name, Text string }

// A Section is a part of a manual page: lines that stand as they are, and a table; either may be left out.
type Section struct {
	Title string
	Lines []string
	Rows  []Row
}

// A Kind says what an operand or a value is, as far as shells can complete it.
type Kind string

// The kinds. Their values are words that the scripts for shells know.
const (
	Nothing     Kind = "nothing"
	Files       Kind = "files"
	Directories Kind = "directories"
	Program     Kind = "program"   // the name of one
	Arguments   Kind = "arguments" // those of a program whose name stands in front of them
)

// Option returns its own option of a name, nil if there is none.
func (c *Command) Option(name string) *Option {
	for _, g := range c.Groups {
		for i := range g.Options {
			if slices.Contains(g.Options[i].Names, name) {
				return &g.Options[i]
			}
		}
	}
	return nil
}

// Options returns its own options.
func (c *Command) Options() (list []Option) {
	for _, g := range c.Groups {
		list = append(list, g.Options...)
	}
	return list
}

// takesValue reports whether the option has a value.
func (o *Option) takesValue() bool { return o.Arg != "" || o.Values != nil }

// value is what stands for the value in texts.
func (o *Option) value() string {
	if o.Arg == "" {
		return strings.Join(o.Values, "|")
	}
	return o.Arg
}

// kind says what the value is.
func (o *Option) kind() Kind {
	switch {
	case o.Values != nil:
		return Nothing
	case strings.HasSuffix(o.Arg, "FILE"), strings.HasPrefix(o.Arg, "FILE["): // FORMAT=FILE and FILE[:TAG], too
		return Files
	case strings.HasPrefix(o.Arg, "DIR"):
		return Directories
	}
	return Nothing
}

// Title returns the option as texts name it: -e, --env=NAME[=VALUE].
func (o *Option) Title() string {
	text := strings.Join(o.Names, ", ")
	last := o.Names[len(o.Names)-1]
	switch {
	case !o.takesValue():
		return text
	case o.Optional && o.Arg != "":
		return text + "[=" + o.Arg + "]"
	case strings.HasPrefix(last, "--"):
		return text + "=" + o.value()
	}
	return text + " " + o.value()
}

// Of the help: its width, and where the texts of options begin.
const (
	width  = 80
	indent = 28
)

// Usage returns the lines that say how the command is called. The name is the one that it was called by.
func (c *Command) Usage(name string) string {
	var b strings.Builder
	for i, s := range c.Synopsis {
		lead := "usage: "
		if i > 0 {
			lead = "       "
		}
		b.WriteString(strings.TrimRight(lead+name+" "+s, " ") + "\n")
	}
	return b.String()
}

// Help returns the text of --help.
func (c *Command) Help(name string) string {
	var b strings.Builder
	b.WriteString(c.Usage(name))
	for _, p := range c.About {
		b.WriteString("\n" + wrap(p, 0, width))
	}
	b.WriteString(c.examples(name))
	for _, g := range c.Groups {
		b.WriteString("\n" + g.Title + ":\n")
		for i := range g.Options {
			b.WriteString(g.Options[i].Help())
		}
	}
	for _, s := range c.Sections {
		b.WriteString("\n" + s.Title + ":\n")
		for _, line := range s.Lines {
			b.WriteString("  " + line + "\n")
		}
		b.WriteString(table(s.Rows))
	}
	return b.String()
}

// examples returns the examples; they are written as if the command had its own name.
func (c *Command) examples(name string) string {
	if len(c.Examples) == 0 {
		return ""
	}
	rows := slices.Clone(c.Examples)
	for i := range rows {
		rows[i].Name = strings.Replace(rows[i].Name, c.Name, name, 1)
	}
	return "\nExamples:\n" + pairs(rows)
}

// pairs returns rows with the text below the name.
func pairs(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "  %s\n%s", r.Name, wrap(r.Text, 6, width))
	}
	return b.String()
}

// table returns rows with the text beside the name, or below a long one.
func table(rows []Row) string {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r.Name))
	}
	at := min(longest+4, indent)
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(beside("  "+r.Name, r.Text, at))
	}
	return b.String()
}

// Help returns the lines of an option.
func (o *Option) Help() string {
	title := "  " + o.Title()
	if strings.HasPrefix(o.Names[0], "--") {
		title = "      " + o.Title() // below those that have a short name in front
	}
	return beside(title, o.Text, indent)
}

// beside returns text with a heading in front, in a line of its own if it is long.
func beside(title, text string, at int) string {
	body := wrap(text, at, width)
	if len(title)+2 > at {
		return title + "\n" + body
	}
	return title + body[len(title):]
}

// wrap breaks text into indented lines.
func wrap(text string, indent, width int) string {
	var b strings.Builder
	lead := strings.Repeat(" ", indent)
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && indent+len(line)+1+len(word) > width {
			b.WriteString(lead + line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	b.WriteString(lead + line + "\n")
	return b.String()
}
