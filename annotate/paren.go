package annotate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/cgemu/cgemu/internal/python"
)

// paren translates what a parenthesis opens. It reports whether that can be
// repeated.
func (r *translator) paren(start int) (repeatable bool, err error) {
	if !r.eat('?') {
		return true, r.capture(start)
	}
	for _, open := range []string{":", ">", "=", "!", "<=", "<!"} {
		if r.has(open) {
			return true, r.group("(?"+open, start)
		}
	}
	switch {
	case r.has("#"):
		if _, ok := r.until(')'); !ok {
			return false, fmt.Errorf("missing ), unterminated comment")
		}
		return true, nil
	case r.has("P<"):
		name, ok := r.until('>')
		if !ok || !isIdentifier(name) {
			return false, fmt.Errorf("bad character in group name %s", python.Quote(name))
		}
		if _, ok := r.t.names[name]; ok {
			return false, fmt.Errorf("redefinition of group name %s", python.Quote(name))
		}
		r.t.names[name] = r.t.groups + 1
		return true, r.capture(start)
	case r.has("P="):
		name, ok := r.until(')')
		if !ok {
			return false, fmt.Errorf("missing ), unterminated name")
		}
		n, ok := r.t.names[name]
		switch {
		case !ok:
			return false, fmt.Errorf("unknown group name %s", python.Quote(name))
		case r.open[n]:
			return false, fmt.Errorf("cannot refer to an open group")
		}
		fmt.Fprintf(&r.out, `\k<%d>`, n)
		return true, nil
	case r.has("("):
		name, ok := r.until(')')
		if !ok {
			return false, fmt.Errorf("missing ), unterminated name")
		}
		// A number may be that of a group still to come.
		n, err := strconv.Atoi(name)
		if err != nil {
			if n, err = r.t.group(name); err != nil {
				return false, err
			}
		}
		if n < 1 {
			return false, fmt.Errorf("bad group number")
		}
		r.tested = max(r.tested, n)
		return true, r.group(fmt.Sprintf("(?(%d)", n), start)
	}
	return true, r.flagGroup(start)
}

// capture translates the rest of a group that has a number. Numbers are explicit:
// regexp2 would give those of named groups last.
func (r *translator) capture(start int) error {
	r.t.groups++
	n := r.t.groups
	r.open[n] = true
	err := r.group(fmt.Sprintf("(?<%d>", n), start)
	delete(r.open, n)
	return err
}

// group translates the rest of a group that begins with open.
func (r *translator) group(open string, start int) error {
	verbose, ascii := r.verbose, r.ascii
	r.out.WriteString(open)
	if err := r.alternatives(); err != nil {
		return err
	}
	if !r.eat(')') {
		return fmt.Errorf("missing ), unterminated subpattern at position %d", start)
	}
	r.out.WriteByte(')')
	r.verbose, r.ascii = verbose, ascii
	return nil
}

// flagGroup translates (?flags:…) and (?flags-flags:…).
func (r *translator) flagGroup(start int) error {
	text, ok := r.until(':')
	on, off, minus := strings.Cut(text, "-")
	if !ok || strings.Trim(on, "aiLmsux") != "" || strings.Trim(off, "imsx") != "" || minus && off == "" || text == "" {
		return fmt.Errorf("unknown extension at position %d", start)
	}
	verbose, ascii := r.verbose, r.ascii
	flags, err := r.flags(on)
	if err != nil {
		return err
	}
	if strings.Contains(off, "x") {
		r.verbose = false
	}
	if minus {
		flags += "-" + off
	}
	err = r.group("(?"+flags+":", start)
	r.verbose, r.ascii = verbose, ascii
	return err
}

func isIdentifier(name string) bool {
	for i, c := range name {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return name != ""
}
