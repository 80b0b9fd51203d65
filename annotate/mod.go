package annotate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"github.com/cgemu/cgemu/internal/python"
)

// ErrRename says that a text is not of the form s/OLD/NEW/FLAGS.
var ErrRename = errors.New("not of the form s/OLD/NEW/FLAGS")

// ParseRename returns what an expression of --mod-filename and --mod-funcname
// stands for: s/OLD/NEW/ replaces the first match of OLD, a regular expression of
// Python, by NEW. The flag g replaces all matches, i takes upper and lower case for
// the same. Errors are ErrRename, or say what is wrong with OLD or NEW.
//
// The function is not safe for concurrent use. It fails if a match takes more than
// ten seconds.
func ParseRename(expression string) (Rename, error) {
	m, err := newMod(expression)
	if err != nil {
		return nil, err
	}
	return m.apply, nil
}

// A mod is the s/old/new/flags of --mod-filename and --mod-funcname.
type mod struct {
	re, nonEmpty *regexp2.Regexp // nonEmpty is re, but for an empty match where the search begins
	template     []piece
	all          bool // flag g
	cache        map[string]string
}

// matchTimeout ends expressions that would take for ever.
const matchTimeout = 10 * time.Second

// cutMod takes s/old/new/flags apart. It reports whether the text is one.
func cutMod(s string) (old, repl, flags string, ok bool) {
	rest, ok := strings.CutPrefix(s, "s/")
	end := strings.LastIndexByte(rest, '/')
	if !ok || end < 0 || strings.Contains(s, "\n") {
		return "", "", "", false
	}
	switch flags = rest[end+1:]; flags {
	case "", "g", "i", "gi", "ig":
	default:
		return "", "", "", false
	}
	// Neither slash may be escaped. Of several ways to cut, the one with the
	// longest old part counts.
	if end > 0 && rest[end-1] == '\\' {
		return "", "", "", false
	}
	for mid := end - 1; mid >= 0; mid-- {
		if rest[mid] == '/' && (mid == 0 || rest[mid-1] != '\\') {
			unescape := strings.NewReplacer(`\/`, "/").Replace
			return unescape(rest[:mid]), unescape(rest[mid+1 : end]), flags, true
		}
	}
	return "", "", "", false
}

// newMod compiles s/old/new/flags.
func newMod(s string) (*mod, error) {
	old, repl, flags, ok := cutMod(s)
	if !ok {
		return nil, ErrRename
	}
	t, err := translate(old)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %s: %w", python.Quote(old), err)
	}
	options := regexp2.None
	if strings.Contains(flags, "i") {
		options |= regexp2.IgnoreCase
	}
	m := &mod{all: strings.Contains(flags, "g"), cache: map[string]string{}}
	if m.re, err = regexp2.Compile(t.pattern, options); err == nil {
		m.nonEmpty, err = regexp2.Compile("(?:"+t.pattern+`)(?!\G)`, options)
	}
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %s: %w", python.Quote(old), err)
	}
	m.re.MatchTimeout, m.nonEmpty.MatchTimeout = matchTimeout, matchTimeout
	if m.template, err = parseTemplate(repl, t); err != nil {
		return nil, fmt.Errorf("invalid replacement %s: %w", python.Quote(repl), err)
	}
	return m, nil
}

// apply returns the changed name.
func (m *mod) apply(name string) (string, error) {
	changed, ok := m.cache[name]
	if ok {
		return changed, nil
	}
	changed, err := m.substitute(name)
	if err == nil {
		m.cache[name] = changed
	}
	return changed, err
}

// substitute is Python's re.sub: a match may be empty unless an empty one ended
// where the search begins.
func (m *mod) substitute(name string) (string, error) {
	in := python.Decode(name)
	var out []rune
	pos, copied := 0, 0
	re := m.re
	for pos <= len(in) {
		match, err := re.FindRunesMatchStartingAt(in, pos)
		if err != nil {
			return "", err
		}
		if match == nil {
			break
		}
		out = append(out, in[copied:match.Index]...)
		for _, p := range m.template {
			out = append(out, p.text...)
			if p.group >= 0 {
				out = append(out, match.GroupByNumber(p.group).Runes()...)
			}
		}
		pos = match.Index + match.Length
		copied = pos
		re = m.re
		if match.Length == 0 {
			re = m.nonEmpty
		}
		if !m.all {
			break
		}
	}
	return python.Encode(append(out, in[copied:]...)), nil
}

// A piece of a replacement: a text, then a group unless that is -1.
type piece struct {
	text  []rune
	group int
}

// parseTemplate reads a replacement (Python's re, parse_template).
func parseTemplate(repl string, t *translated) ([]piece, error) {
	p := scanner{in: python.Decode(repl)}
	var list []piece
	var text []rune
	for !p.done() {
		c := p.next()
		if c != '\\' {
			text = append(text, c)
			continue
		}
		if p.done() {
			return nil, fmt.Errorf("bad escape (end of pattern)")
		}
		r, group, err := templateEscape(&p, t)
		if err != nil {
			return nil, err
		}
		text = append(text, r...)
		if group >= 0 {
			list = append(list, piece{text, group})
			text = nil
		}
	}
	return append(list, piece{text, -1}), nil
}

// templateEscape reads what follows a backslash in a replacement.
func templateEscape(p *scanner, t *translated) (text []rune, group int, err error) {
	c := p.next()
	switch {
	case c == 'g':
		if !p.eat('<') {
			return nil, 0, fmt.Errorf("missing <")
		}
		name, ok := p.until('>')
		if !ok {
			return nil, 0, fmt.Errorf("missing >, unterminated name")
		}
		n, err := t.group(name)
		return nil, n, err
	case c == '0':
		n := 0
		for range 2 {
			if d := p.peek() - '0'; !p.done() && d >= 0 && d <= 7 {
				n = n*8 + int(d)
				p.next()
			}
		}
		return []rune{rune(n & 0xff)}, -1, nil
	case c >= '1' && c <= '9':
		n, octal, err := p.groupOrOctal(c)
		if err != nil {
			return nil, 0, err
		}
		if octal {
			return []rune{rune(n)}, -1, nil
		}
		if n > t.groups {
			return nil, 0, fmt.Errorf("invalid group reference %d", n)
		}
		return nil, n, nil
	}
	if r, ok := simpleEscapes[c]; ok {
		return []rune{r}, -1, nil
	}
	if isLetter(c) {
		return nil, 0, fmt.Errorf(`bad escape \%c`, c)
	}
	return []rune{'\\', c}, -1, nil
}
