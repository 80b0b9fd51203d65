package annotate

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// highlight returns the runs of the lines of a text: letters for kinds, `_` for
// none, and how many UTF-16 units are of that kind, as "k3_1f4". The name tells
// the language. What is not highlighted has empty runs.
func highlight(name string, lines []string) []string {
	r := runs{list: make([]string, 0, len(lines))}
	if s := syntaxOf(name); s != nil {
		sc := scan{syntax: s, text: valid(strings.Join(lines, "\n")), add: r.add}
		sc.all()
		r.endLine()
	}
	for len(r.list) < len(lines) {
		r.list = append(r.list, "")
	}
	return r.list[:len(lines)]
}

// syntaxOf returns the syntax of a file, nil if it is not known. The headers of
// C++'s library have no endings of their own.
func syntaxOf(name string) *syntax {
	ext := path.Ext(name)
	if strings.Contains(name, "/c++/") && (ext == "" || ext == ".h") {
		ext = ".cc"
	}
	return syntaxes()[ext]
}

// A scan cuts a text into tokens. It reads the whole text as one, so comments and
// strings may go beyond lines. See RATIONALE.md, "Why an own syntax highlighting?".
//
// All time is linear: what has no end goes to the end of its line or of the text,
// and nothing looks back further than to the last token.
type scan struct {
	*syntax
	text  string
	add   func(kind byte, token string) // takes the tokens in order; together they are text
	until []string                      // words that end the here-documents begun on this line
}

// all adds all tokens. Kinds are keyword, type, function, string, number, comment,
// preprocessor or attribute, builtin, and `_` for none.
func (s *scan) all() {
	plain := 0 // where what is of no kind began
	for i := 0; i < len(s.text); {
		kind, end := s.token(i)
		if kind != '_' {
			s.add('_', s.text[plain:i])
			s.add(kind, s.text[i:end])
			plain = end
		}
		i = end
	}
	s.add('_', s.text[plain:])
}

// token returns the kind and the end of the token at i. None ends within a
// character: all bytes of those beyond ASCII belong to words.
func (s *scan) token(i int) (kind byte, end int) {
	c := s.text[i]
	if c == '\n' && len(s.until) > 0 {
		return 's', s.document(i)
	}
	for k := range s.marked[c] {
		m := &s.marked[c][k]
		if !strings.HasPrefix(s.text[i:], m.open) || m.when != nil && !m.when(s.text, i) {
			continue
		}
		if end := s.marks(m, i); end > i {
			return m.kind, end
		}
	}
	next := s.at(i + 1)
	switch {
	case isDigit(c), c == '.' && isDigit(next) && (i == 0 || s.text[i-1] != '.' && !s.isWord[s.text[i-1]]):
		return 'n', s.number(i)
	case s.isWord[c]:
		return s.word(i)
	case c == '\\' && next < utf8.RuneSelf:
		return '_', min(i+2, len(s.text))
	}
	return '_', i + 1
}

// at returns a byte of the text, the end of a line behind its end.
func (s *scan) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return '\n'
}

// marks returns the end of the token that m begins at i; i if there is none.
func (s *scan) marks(m *mark, i int) int {
	from := i + len(m.open)
	switch {
	case m.how&alone != 0:
		return from
	case m.how&character != 0:
		_, n := utf8.DecodeRuneInString(s.text[from:])
		switch c := s.at(from); {
		case c == '\\':
			return m.past(s.text, from)
		case c != '\n' && s.at(from+n) == '\'':
			return from + n + 1
		}
		return i
	case m.how&named != 0:
		for s.at(from) == ' ' || s.at(from) == '\t' {
			from++
		}
		end := s.wordEnd(from)
		if end == from || m.names != "" && !strings.Contains(m.names, " "+s.text[from:end]+" ") {
			return i
		}
		return end
	case m.how&document != 0:
		for from < i+len(m.open)+2 && strings.IndexByte(`-~\"'`, s.at(from)) >= 0 {
			from++
		}
		end := s.wordEnd(from)
		if end == from || isDigit(s.text[from]) {
			return i
		}
		s.until = append(s.until, s.text[from:end])
		if c := s.at(end); c == '"' || c == '\'' {
			end++
		}
		return end
	case m.fence != "":
		end := from
		for end < from+16 && strings.IndexByte(m.fence, s.at(end)) >= 0 {
			end++
		}
		if !strings.HasPrefix(s.text[min(end, len(s.text)):], m.begin) {
			return i
		}
		with := *m
		with.close += s.text[from:end] + m.last
		return with.past(s.text, end+len(m.begin))
	case m.how&twice != 0:
		if end := m.past(s.text, from); s.text[end-1] == m.close[0] {
			from = end
		}
	}
	return m.past(s.text, from)
}

// past returns the end of what m began, which goes on at i.
func (m *mark) past(text string, i int) int {
	end := m.close
	if end == "" && m.how&escapes == 0 {
		if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(text)
	}
	if m.how&(lines|escapes) == lines && m.nest == "" {
		if n := strings.Index(text[i:], end); n >= 0 {
			return i + n + len(end)
		}
		return len(text)
	}
	for depth := 1; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && m.how&escapes != 0:
			if strings.HasPrefix(text[i:], "\\\r\n") {
				i++
			}
			i += 2
		case c == '\n' && m.how&lines == 0:
			return i
		case end != "" && c == end[0] && strings.HasPrefix(text[i:], end):
			i += len(end)
			if depth--; depth == 0 {
				return i
			}
		case m.nest != "" && c == m.nest[0] && strings.HasPrefix(text[i:], m.nest):
			i += len(m.nest)
			depth++
		default:
			i++
		}
	}
	return len(text)
}

// document returns the end of the here-documents that begin behind the line that
// ends at i.
func (s *scan) document(i int) int {
	for len(s.until) > 0 && i < len(s.text) {
		line, _, _ := strings.Cut(s.text[i+1:], "\n")
		if strings.TrimSpace(line) == s.until[0] {
			s.until = s.until[1:]
		}
		i += 1 + len(line)
	}
	s.until = nil
	return min(i, len(s.text))
}

func isDigit(c byte) bool { return c-'0' < 10 }

// number returns the end of a number. A dot belongs to it unless it begins a
// range, `1..2`, or a method, `1.max(2)`.
func (s *scan) number(i int) int {
	hex := s.text[i] == '0' && s.at(i+1)|0x20 == 'x'
	for i++; i < len(s.text); i++ {
		next := s.at(i + 1)
		switch c := s.text[i]; {
		case c < utf8.RuneSelf && s.isWord[c] && c != '\'':
		case c == '.' && isDigit(next):
		case c == '.' && strings.IndexByte("eEfFlLdDpP", next) >= 0 && (isDigit(s.at(i+2)) || !s.isWord[s.at(i+2)]):
		case c == '.' && next != '.' && !s.isWord[next]:
		case (c == '+' || c == '-') && s.exponent(s.text[i-1], hex) && isDigit(next):
		case strings.IndexByte(s.digits, c) >= 0 && (c == '#' || s.isWord[next]):
		default:
			return i
		}
	}
	return i
}

// exponent reports whether a sign may follow c in a number.
func (s *scan) exponent(c byte, hex bool) bool {
	switch c | 0x20 {
	case 'e':
		return !hex
	case 'p':
		return hex
	case 'd':
		return s.fold && !hex // Fortran
	}
	return false
}

func (s *scan) wordEnd(i int) int {
	for i < len(s.text) && s.isWord[s.text[i]] {
		i++
	}
	return i
}

// word returns the kind and the end of a word.
func (s *scan) word(i int) (kind byte, end int) {
	end = s.wordEnd(i)
	w, next := s.text[i:end], s.at(end)
	if (next == '"' || next == '\'') && s.prefixes != "" && strings.Contains(s.prefixes, " "+w+" ") {
		return 's', end
	}
	member := s.calls && i > 0 && s.text[i-1] == '.' && (i == 1 || s.text[i-2] != '.')
	if k := s.lookUp(w); k != 0 && !member {
		return k, end
	}
	switch call := next == '(' || s.spaced && next == ' ' && s.at(end+1) == '('; {
	case s.macros && next == '!' && strings.IndexByte("([{ ", s.at(end+1)) >= 0:
		return 'f', end + 1
	case s.suffix != "" && strings.HasSuffix(w, s.suffix), s.capitals && isCapital(w):
		return 't', end
	case s.calls && call, s.mnemonics && next != ':' && instruction(s.text, i):
		return 'f', end
	}
	return '_', end
}

// lookUp returns the kind of a word, 0 if it is not known.
func (s *scan) lookUp(w string) byte {
	var buf [24]byte
	if len(w) > len(buf) {
		return 0
	}
	if !s.fold {
		return s.words[w]
	}
	low := buf[:copy(buf[:], w)]
	for i, c := range low {
		if c-'A' < 26 {
			low[i] = c | 0x20
		}
	}
	return s.words[string(low)]
}

// isCapital reports whether a word is a name of a type where these have capitals:
// Vec and T, but not MAX.
func isCapital(w string) bool {
	return w[0]-'A' < 26 && (len(w) == 1 || strings.ToUpper(w) != w)
}

// runs collects the runs of lines.
type runs struct {
	list []string
	line []byte
	kind byte // of the last run, which is not in line yet
	n    int
}

func (r *runs) add(kind byte, text string) {
	for text != "" {
		part, rest, more := strings.Cut(text, "\n")
		if part != "" {
			if kind != r.kind {
				r.flush()
				r.kind = kind
			}
			r.n += utf16Len(part)
		}
		if more {
			r.endLine()
		}
		text = rest
	}
}

// flush adds the last run to the line.
func (r *runs) flush() {
	if r.n > 0 {
		r.line = strconv.AppendInt(append(r.line, r.kind), int64(r.n), 10)
	}
	r.n = 0
}

// endLine ends a line. A last run of no kind is not needed.
func (r *runs) endLine() {
	if r.kind != '_' {
		r.flush()
	}
	r.list = append(r.list, string(r.line))
	r.line, r.n, r.kind = r.line[:0], 0, '_'
}

// utf16Len returns how many units of UTF-16 a text has.
func utf16Len(text string) int {
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 0xf0: // begins one beyond the basic plane
			n += 2
		case c < 0x80 || c >= 0xc0:
			n++
		}
	}
	return n
}
