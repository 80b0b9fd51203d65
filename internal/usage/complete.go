package usage

import (
	"fmt"
	"slices"
	"strings"
)

// A Completion is what may stand where the cursor is.
type Completion struct {
	// Words are whole words, with what each means.
	Words []Row
	// Kind says what may stand there besides.
	Kind Kind
	// Skip is how many words stand in front of the program's name, if Kind is Arguments.
	Skip int
}

// Complete returns what the last of words may be. Words are what follows the command's name. Options may stand
// anywhere, unless they end at the first operand.
func (c *Command) Complete(words []string) Completion {
	current := words[len(words)-1]
	dashes := false
	for i := 0; i < len(words)-1; i++ {
		word := words[i]
		switch {
		case dashes:
		case word == "--":
			dashes = true
			continue
		case strings.HasPrefix(word, "-") && len(word) > 1:
			if o := c.expects(word); o != nil {
				if i == len(words)-2 {
					return o.complete("", current)
				}
				i++
			}
			continue
		}
		switch {
		case c.Operands == Program:
			return Completion{Kind: Arguments, Skip: i}
		case c.InFront:
			return Completion{Kind: c.Operands}
		}
	}
	if !dashes && strings.HasPrefix(current, "-") {
		return c.completeOption(current)
	}
	done := Completion{Kind: c.Operands}
	for _, w := range c.Words {
		done.Add(current, w, "")
	}
	return done
}

// known returns an option by its name, be it its own or another command's.
func (c *Command) known(name string) *Option {
	if o := c.Option(name); o != nil || c.Of == nil {
		return o
	}
	return c.Of.Option(name)
}

// expects returns the option whose value is the word behind this one, nil if that is not so.
func (c *Command) expects(word string) *Option {
	o := c.known(word)
	if o == nil || !o.takesValue() || o.Optional {
		return nil
	}
	return o
}

// completeOption completes a word that begins with a hyphen.
func (c *Command) completeOption(current string) Completion {
	if name, _, has := strings.Cut(current, "="); has {
		if o := c.known(name); o != nil && o.takesValue() {
			return o.complete(name+"=", current)
		}
	}
	done := Completion{Kind: Nothing}
	options := c.Options()
	if c.Of != nil {
		options = append(options, c.Of.Options()...)
	}
	for _, o := range options {
		for _, name := range o.Names {
			if len(name) == 2 && current != name {
				continue // the long name says more
			}
			if o.takesValue() && len(name) > 2 && (!o.Optional || o.Arg == "") {
				name += "="
			}
			done.Add(current, name, o.Text)
		}
	}
	return done
}

// complete completes a value. Prefix is the option with its equals sign, if the value is part of the same word.
func (o *Option) complete(prefix, current string) Completion {
	done := Completion{Kind: o.kind()}
	value := strings.TrimPrefix(current, prefix)
	before := ""
	if o.List {
		before = value[:strings.LastIndexByte(value, ',')+1]
	}
	for _, v := range o.Values {
		if !slices.Contains(strings.Split(before, ","), v) {
			done.Add(current, prefix+before+v, "")
		}
	}
	return done
}

// Add adds a word, if it is one that the current one can become.
func (d *Completion) Add(current, word, text string) {
	if strings.HasPrefix(word, current) {
		d.Words = append(d.Words, Row{word, text})
	}
}

// String returns the completion as the scripts for shells read it: the kind and how many words to skip in the first
// line, then the words, each with its text behind a tab.
func (d Completion) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d\n", d.Kind, d.Skip)
	for _, w := range d.Words {
		b.WriteString(w.Name)
		if w.Text != "" {
			b.WriteString("\t" + summary(w.Text))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// summary is the beginning of a text: what fits beside a word in a list.
func summary(text string) string {
	const most = 60
	first, _, _ := strings.Cut(wrap(text, 0, most), "\n")
	if first != text {
		first = strings.TrimRight(first, " ,;:(") + " ..."
	}
	return first
}
