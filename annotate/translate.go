package annotate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cgemu/cgemu/internal/python"
)

// Python's regular expressions are translated into those of regexp2, which are
// .NET's. Both match leftmost-first by backtracking; what differs is syntax, the
// numbering of named groups and the meaning of \w and \s.

// A translated expression.
type translated struct {
	pattern string
	groups  int // how many there are
	names   map[string]int
}

// group returns the number of the group that \g<name> or (?P=name) means.
func (t *translated) group(name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n <= t.groups {
		return n, nil
	}
	if n, ok := t.names[name]; ok {
		return n, nil
	}
	return 0, fmt.Errorf("unknown group name %s", python.Quote(name))
}

// A scanner reads characters.
type scanner struct {
	in  []rune
	pos int
}

func (s *scanner) done() bool { return s.pos >= len(s.in) }

// peek returns the next character, -1 at the end.
func (s *scanner) peek() rune {
	if s.done() {
		return -1
	}
	return s.in[s.pos]
}

func (s *scanner) next() rune {
	c := s.peek()
	s.pos++
	return c
}

func (s *scanner) eat(c rune) bool {
	if s.peek() == c {
		s.pos++
		return true
	}
	return false
}

// has reports whether text comes next, and passes it.
func (s *scanner) has(text string) bool {
	if strings.HasPrefix(string(s.in[min(s.pos, len(s.in)):]), text) {
		s.pos += utf8.RuneCountInString(text)
		return true
	}
	return false
}

// until reads up to end, which it passes.
func (s *scanner) until(end rune) (string, bool) {
	for i := s.pos; i < len(s.in); i++ {
		if s.in[i] == end {
			text := string(s.in[s.pos:i])
			s.pos = i + 1
			return text, true
		}
	}
	return "", false
}

// groupOrOctal reads the number whose first digit is c: three octal digits are a
// character, else one or two digits are a group.
func (s *scanner) groupOrOctal(c rune) (n int, octal bool, err error) {
	n = int(c - '0')
	d := s.peek() - '0'
	if d < 0 || d > 9 {
		return n, false, nil
	}
	s.next()
	if e := s.peek() - '0'; c <= '7' && d <= 7 && e >= 0 && e <= 7 {
		s.next()
		if n = (n*8+int(d))*8 + int(e); n > 0o377 {
			return 0, false, fmt.Errorf("octal escape value outside of range 0-0o377")
		}
		return n, true, nil
	}
	return n*10 + int(d), false, nil
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

var simpleEscapes = map[rune]rune{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\',
}

// A translator reads an expression of Python and writes one of regexp2.
type translator struct {
	scanner
	out     strings.Builder
	t       *translated
	ascii   bool // flag a: \w, \d and \s know ASCII only
	verbose bool // flag x
	depth   int
	open    map[int]bool // groups that are not closed yet
	tested  int          // the largest number in a (?(number)…)
}

func translate(pattern string) (*translated, error) {
	r := translator{scanner: scanner{in: python.Decode(pattern)}, t: &translated{names: map[string]int{}},
		open: map[int]bool{}}
	if err := r.globalFlags(); err != nil {
		return nil, err
	}
	if err := r.alternatives(); err != nil {
		return nil, err
	}
	if !r.done() {
		return nil, fmt.Errorf("unbalanced parenthesis at position %d", r.pos)
	}
	if r.tested > r.t.groups {
		return nil, fmt.Errorf("invalid group reference %d", r.tested)
	}
	r.t.pattern = r.out.String()
	return r.t, nil
}

// globalFlags reads what may stand at the start only: (?flags), any number of
// them, and comments between them.
func (r *translator) globalFlags() error {
	for {
		start := r.pos
		if r.has("(?#") {
			if _, ok := r.until(')'); !ok {
				return fmt.Errorf("missing ), unterminated comment")
			}
			continue
		}
		if !r.has("(?") {
			return nil
		}
		text, ok := r.until(')')
		if !ok || text == "" || strings.Trim(text, "aiLmsux") != "" {
			r.pos = start // something else
			return nil
		}
		flags, err := r.flags(text)
		if err != nil {
			return err
		}
		if flags != "" {
			r.out.WriteString("(?" + flags + ")")
		}
	}
}

// flags acts on the flags that regexp2 lacks and returns the others.
func (r *translator) flags(s string) (string, error) {
	kept := ""
	for _, c := range s {
		switch c {
		case 'a':
			r.ascii = true
		case 'u':
		case 'L':
			return "", fmt.Errorf("bad inline flags: cannot use 'L' flag with a str pattern")
		case 'x':
			r.verbose = true
			kept += "x"
		default:
			kept += string(c)
		}
	}
	return kept, nil
}

// alternatives translates up to a closing parenthesis or the end.
func (r *translator) alternatives() error {
	if r.depth++; r.depth > 500 {
		return fmt.Errorf("too many nested groups")
	}
	defer func() { r.depth-- }()
	for !r.done() && r.peek() != ')' {
		if r.eat('|') {
			r.out.WriteByte('|')
			continue
		}
		if err := r.item(); err != nil {
			return err
		}
	}
	return nil
}

// skipVerbose passes the white space and comments that flag x allows.
func (r *translator) skipVerbose() {
	for r.verbose && !r.done() {
		switch c := r.peek(); {
		case c == ' ' || c >= '\t' && c <= '\r':
			r.next()
		case c == '#':
			for !r.done() && r.next() != '\n' {
			}
		default:
			return
		}
	}
}

// item translates an atom with its quantifier.
func (r *translator) item() error {
	if r.skipVerbose(); r.done() || r.peek() == ')' || r.peek() == '|' {
		return nil
	}
	before := r.out.String()
	start := r.pos
	c := r.next()
	repeatable := true
	var err error
	switch {
	case c == '\\':
		repeatable, err = r.escape()
	case c == '[':
		err = r.class(start)
	case c == '(':
		repeatable, err = r.paren(start)
	case c == '.':
		r.out.WriteByte('.')
	case c == '^', c == '$':
		r.out.WriteRune(c)
		repeatable = false
	default:
		r.pos = start
		if _, ok := r.quantity(); ok {
			return fmt.Errorf("nothing to repeat at position %d", start)
		}
		r.literal(r.next())
	}
	if err != nil {
		return err
	}
	return r.quantifier(before, repeatable)
}

// quantifier translates a quantifier, if there is one, behind an atom. What was
// written before the atom is needed for possessive ones.
func (r *translator) quantifier(before string, repeatable bool) error {
	r.skipVerbose()
	start := r.pos
	q, ok := r.quantity()
	if !ok {
		return nil
	}
	if !repeatable {
		return fmt.Errorf("nothing to repeat at position %d", start)
	}
	atom := r.out.String()[len(before):]
	switch {
	case r.eat('?'):
		r.out.WriteString(q + "?")
	case r.eat('+'):
		r.out.Reset()
		r.out.WriteString(before + "(?>" + atom + q + ")")
	default:
		r.out.WriteString(q)
	}
	if again := r.pos; !r.done() {
		if _, ok := r.quantity(); ok {
			return fmt.Errorf("multiple repeat at position %d", again)
		}
	}
	return nil
}

// quantity reads *, +, ? or {m,n}. Braces that are none of it are ordinary.
func (r *translator) quantity() (string, bool) {
	start := r.pos
	switch c := r.next(); c {
	case '*', '+', '?':
		return string(c), true
	case '{':
		lo, hi := r.digits(), ""
		comma := r.eat(',')
		if comma {
			hi = r.digits()
		}
		if r.eat('}') && (lo != "" || hi != "" || comma) && len(lo) < 10 && len(hi) < 10 {
			if lo == "" {
				lo = "0"
			}
			if comma {
				lo += ","
			}
			return "{" + lo + hi + "}", true
		}
	}
	r.pos = start
	return "", false
}

func (r *translator) digits() string {
	start := r.pos
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.next()
	}
	return string(r.in[start:r.pos])
}

// literal writes a character that means itself.
func (r *translator) literal(c rune) {
	if c < utf8.RuneSelf && c != '_' && !isLetter(c) && (c < '0' || c > '9') {
		fmt.Fprintf(&r.out, `\x%02x`, c)
		return
	}
	if c >= python.EscapedByte && c <= 0xdfff {
		fmt.Fprintf(&r.out, `\u%04x`, c)
		return
	}
	r.out.WriteRune(c)
}

// escape translates what follows a backslash outside of classes. It reports
// whether that can be repeated.
func (r *translator) escape() (repeatable bool, err error) {
	if r.done() {
		return false, fmt.Errorf("bad escape (end of pattern)")
	}
	c := r.next()
	switch c {
	case 'A':
		r.out.WriteString(`\A`)
		return false, nil
	case 'b', 'B':
		r.boundary(c == 'b')
		return false, nil
	case 'Z':
		r.out.WriteString(`\z`)
		return false, nil
	case 'd', 'D', 's', 'S', 'w', 'W':
		r.out.WriteString(r.category(c))
		return true, nil
	}
	if c >= '1' && c <= '9' {
		n, octal, err := r.groupOrOctal(c)
		switch {
		case err != nil:
			return false, err
		case octal:
			r.literal(rune(n))
		case n > r.t.groups:
			return false, fmt.Errorf("invalid group reference %d", n)
		case r.open[n]:
			return false, fmt.Errorf("cannot refer to an open group")
		default:
			fmt.Fprintf(&r.out, `\k<%d>`, n)
		}
		return true, nil
	}
	l, err := r.literalEscape(c)
	if err == nil {
		r.literal(l)
	}
	return true, err
}

// boundary writes \b or \B. In an empty text Python's \B does not hold.
func (r *translator) boundary(holds bool) {
	w := r.category('w')
	if holds {
		r.out.WriteString("(?:(?<=" + w + ")(?!" + w + ")|(?<!" + w + ")(?=" + w + "))")
		return
	}
	r.out.WriteString("(?:(?<=" + w + ")(?=" + w + ")|(?<!" + w + ")(?!" + w + `)(?!\A\z))`)
}

// category returns the class for \d, \s, \w and their complements.
func (r *translator) category(c rune) string {
	unicode := map[rune]string{
		'd': `\d`, 'D': `\D`,
		's': `[\s\x1c-\x1f]`, 'S': `[^\s\x1c-\x1f]`,
		'w': `[\p{L}\p{N}_]`, 'W': `[^\p{L}\p{N}_]`,
	}
	ascii := map[rune]string{
		'd': `[0-9]`, 'D': `[^0-9]`,
		's': `[\t-\r ]`, 'S': `[^\t-\r ]`,
		'w': `[a-zA-Z0-9_]`, 'W': `[^a-zA-Z0-9_]`,
	}
	if r.ascii {
		return ascii[c]
	}
	return unicode[c]
}

// literalEscape returns the character that \c and what follows stand for.
func (r *translator) literalEscape(c rune) (rune, error) {
	if l, ok := simpleEscapes[c]; ok {
		return l, nil
	}
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch {
	case c == '0':
		n := rune(0)
		for range 2 {
			if d := r.peek() - '0'; d >= 0 && d <= 7 {
				n = n*8 + d
				r.next()
			}
		}
		return n, nil
	case digits > 0 && r.pos+digits <= len(r.in):
		text := string(r.in[r.pos : r.pos+digits])
		n, err := strconv.ParseUint(text, 16, 32)
		if err != nil || n > utf8.MaxRune {
			return 0, fmt.Errorf(`bad escape \%c%s`, c, text)
		}
		r.pos += digits
		return rune(n), nil
	case isLetter(c):
		return 0, fmt.Errorf(`bad escape \%c`, c)
	}
	return c, nil
}

// class translates a character class.
func (r *translator) class(start int) error {
	r.out.WriteByte('[')
	if r.eat('^') {
		r.out.WriteByte('^')
	}
	for first := true; ; first = false {
		if r.done() {
			return fmt.Errorf("unterminated character set at position %d", start)
		}
		c := r.next()
		if c == ']' && !first {
			r.out.WriteByte(']')
			return nil
		}
		lo, single, err := r.classItem(c)
		if err != nil {
			return err
		}
		if r.peek() != '-' || r.pos+1 < len(r.in) && r.in[r.pos+1] == ']' {
			continue
		}
		r.next()
		if r.done() {
			return fmt.Errorf("unterminated character set at position %d", start)
		}
		r.out.WriteByte('-')
		hi, single2, err := r.classItem(r.next())
		if err != nil {
			return err
		}
		if !single || !single2 || lo > hi {
			return fmt.Errorf("bad character range at position %d", r.pos)
		}
	}
}

// classItem translates a character or escape in a class.
func (r *translator) classItem(c rune) (l rune, single bool, err error) {
	if c != '\\' {
		r.literal(c)
		return c, true, nil
	}
	if r.done() {
		return 0, false, fmt.Errorf("bad escape (end of pattern)")
	}
	switch c = r.next(); {
	case strings.ContainsRune("dDsSwW", c):
		category := r.category(c)
		if strings.HasPrefix(category, "[^") {
			// No class within a class: take regexp2's own.
			category = `\` + string(c)
		}
		r.out.WriteString(strings.Trim(category, "[]"))
		return 0, false, nil
	case c >= '1' && c <= '7':
		l = c - '0'
		for range 2 {
			if d := r.peek() - '0'; d >= 0 && d <= 7 {
				l = l*8 + d
				r.next()
			}
		}
		if l > 0o377 {
			return 0, false, fmt.Errorf("octal escape value outside of range 0-0o377")
		}
	case c == '8', c == '9':
		return 0, false, fmt.Errorf(`bad escape \%c`, c)
	default:
		if l, err = r.literalEscape(c); err != nil {
			return 0, false, err
		}
	}
	r.literal(l)
	return l, true, nil
}
