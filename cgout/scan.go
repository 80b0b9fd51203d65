package cgout

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"unicode/utf8"
)

// A kind says what a record is.
type kind int

// The kinds of records, in the order in which the first three must come.
const (
	descKind    kind = iota // a description line: text
	cmdKind                 // the command: text
	eventsKind              // the names of the events: names
	fileKind                // fl=: text
	funcKind                // fn=: text
	countsKind              // counts of a line: line, counts
	summaryKind             // the totals: counts
)

// A record is one line of a profile; which fields are set depends on kind.
type record struct {
	kind   kind
	text   string
	names  []string
	line   Count
	counts []Count // one per event; missing ones are 0. Reused by the next scan
}

// A Scanner reads a profile, for a Visitor.
type Scanner struct {
	// AnyLine accepts anything as the line number of a count line, as cg_diff
	// does. The line is 0 then.
	AnyLine bool

	name   string
	rest   []byte
	lf     int // where the next line feed in rest is, its length if there is none; less than 0 if not known
	lineno int
	rec    record
	want   kind // descKind, cmdKind, eventsKind, or fileKind for everything after
	events int
	// missing is how many counts lines may still leave out.
	missing int
	err     error
}

const (
	// maxProfile is the size of the largest profile that is read, in bytes. One of Chromium has 50 MB.
	maxProfile = 512 << 20
	// maxEvents is how many events a profile may have. Cachegrind's have 13.
	maxEvents = 1000
	// Counts that a line leaves out are 0. A profile may leave out so many, and as many for each of
	// its bytes: else a few bytes would stand for thousands of counts.
	missingCounts, missingPerByte = 1 << 20, 8
)

// NewScanner returns a Scanner of data. Errors call it name. A file in Callgrind's format is scanned as the profile
// that it has, its calls left out.
func NewScanner(name string, data []byte) *Scanner {
	if !isCallgrind(data) {
		return newScanner(name, data)
	}
	profile, err := asCachegrind(name, data)
	s := newScanner(name, profile)
	s.err = err
	return s
}

// newScanner returns a Scanner of data in Cachegrind's format.
func newScanner(name string, data []byte) *Scanner {
	return &Scanner{name: name, rest: data, lf: -1, missing: missingCounts + missingPerByte*len(data)}
}

// newScannerFrom returns a Scanner of all that r holds.
func newScannerFrom(name string, r io.Reader) (*Scanner, error) {
	data, err := ReadAll(name, r)
	if err != nil {
		return nil, err
	}
	return NewScanner(name, data), nil
}

// ReadAll returns what r holds, for NewScanner. It stops, with an error that calls it name, where it is too large for a
// profile; and where it does not begin like one, since it might have no end: NewScanner then says what is wrong.
func ReadAll(name string, r io.Reader) ([]byte, error) { return readAll(name, r, maxProfile) }

func readAll(name string, r io.Reader, limit int) ([]byte, error) {
	var b bytes.Buffer
	if known, ok := r.(interface{ Len() int }); ok {
		b.Grow(min(known.Len(), limit) + bytes.MinRead) // so that nothing is copied twice
	}
	const beginning = 64 << 10
	_, err := b.ReadFrom(io.LimitReader(r, beginning))
	if begins := b.Bytes(); err == nil && (bytes.HasPrefix(begins, []byte("desc:")) || bytes.HasPrefix(begins, []byte("cmd:")) || isCallgrind(begins)) {
		_, err = b.ReadFrom(io.LimitReader(r, int64(limit-beginning+1)))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case b.Len() > limit:
		return nil, fmt.Errorf("%s: no profile: it has more than %d MiB", name, limit>>20)
	}
	return b.Bytes(), nil
}

// ReadFile reads a file as ReadAll does.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(name, f)
}

// ReadFileFS is ReadFile for a file in fsys.
func ReadFileFS(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(name, f)
}

func readFile(name string, f fs.File) ([]byte, error) {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return ReadAll(name, sized{f, info.Size()})
	}
	return ReadAll(name, f)
}

// A sized is a file of a known size.
type sized struct {
	io.Reader
	size int64
}

func (s sized) Len() int { return int(min(s.size, maxProfile+1)) }

// scan reads the next record into rec and reports whether there is one. It returns false
// at the end of the profile and after an error, which err has.
func (s *Scanner) scan() bool {
	for s.err == nil {
		line, ended := s.readLine()
		if len(line) == 0 && !ended && s.want == fileKind {
			return false
		}
		if s.want < fileKind {
			if s.header(line, ended) {
				return true
			}
		} else if s.body(line, ended) {
			return true
		}
	}
	return false
}

// Errorf returns an error at the present line. At the end of the profile that is
// the line after the last.
func (s *Scanner) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", s.name, s.lineno, fmt.Sprintf(format, args...))
}

// A Block is the count lines between two records of other kinds, to be read again.
type Block struct {
	rest   []byte // of the profile, from the block on
	events int
}

// Block returns the count lines that follow what a Visitor was called with last.
func (s *Scanner) Block() Block { return Block{s.rest, s.events} }

// All yields the block's line numbers and counts, of which the slice is reused. It ends at a
// line that Visit would refuse.
func (b Block) All(yield func(line Count, counts []Count) bool) {
	s := Scanner{rest: b.rest, lf: -1, want: fileKind, events: b.events, missing: math.MaxInt}
	for s.scan() && s.rec.kind == countsKind && yield(s.rec.line, s.rec.counts) {
	}
}

// readLine returns the next line without its end, and whether it had one. LF,
// CR LF and CR end lines. After the last line it returns nothing, without end.
func (s *Scanner) readLine() (line []byte, ended bool) {
	s.lineno++
	if s.lf < 0 {
		if s.lf = bytes.IndexByte(s.rest, '\n'); s.lf < 0 {
			s.lf = len(s.rest)
		}
	}
	i := s.lf
	if cr := bytes.IndexByte(s.rest[:i], '\r'); cr >= 0 {
		i = cr
	}
	if i == len(s.rest) {
		line, s.rest, s.lf = s.rest, nil, -1
		return line, false
	}
	end := i + 1
	if s.rest[i] == '\r' && end < len(s.rest) && s.rest[end] == '\n' {
		end++
	}
	line, s.rest = s.rest[:i], s.rest[end:]
	s.lf -= end
	return line, true
}

// header takes a line before or at `events:`. It reports whether a record came
// of it; if not, either an error did or another kind is to be tried next.
func (s *Scanner) header(line []byte, ended bool) bool {
	if s.want == descKind {
		if text, ok := keyword(line, ended, "desc:"); ok {
			s.rec = record{kind: descKind, text: string(text), counts: s.rec.counts}
			return true
		}
		s.want = cmdKind
	}
	if s.want == cmdKind {
		text, ok := keyword(line, ended, "cmd:")
		if !ok {
			s.err = s.Errorf("missing a `command:` line%s", s.whatElse(line))
			return false
		}
		s.rec = record{kind: cmdKind, text: string(text), counts: s.rec.counts}
		s.want = eventsKind
		return true
	}
	text, ok := keyword(line, ended, "events:")
	if !ok {
		s.err = s.Errorf("missing an `events:` line")
		return false
	}
	s.rec = record{kind: eventsKind, counts: s.rec.counts}
	for {
		var name []byte
		if name, text = cutField(text); len(name) == 0 {
			break
		}
		s.rec.names = append(s.rec.names, string(name))
	}
	if s.events = len(s.rec.names); s.events > maxEvents {
		s.err = s.Errorf("%d events are more than %d", s.events, maxEvents)
		return false
	}
	s.want = fileKind
	return true
}

// whatElse says what a file is that has nothing of a profile, and what helps; line is its first one. It says nothing of
// a profile that is broken, nor of an empty file.
func (s *Scanner) whatElse(line []byte) string {
	if s.lineno > 1 || len(line)+len(s.rest) == 0 {
		return ""
	}
	switch {
	case bytes.HasPrefix(line, []byte("\x7fELF")):
		return ": this is a program; to run it, and write its profile: cgemu " + s.name
	case bytes.HasPrefix(line, []byte("insns:")):
		return ": this is what stands beside a profile, by instruction; that has the name without .insns"
	}
	const beginning = 64 << 10
	rest := append(append(bytes.Clone(line), '\n'), s.rest[:min(len(s.rest), beginning)]...)
	for l := range bytes.Lines(rest) {
		for _, word := range []string{"desc:", "cmd:", "events:", "summary:"} {
			if bytes.HasPrefix(l, []byte(word)) {
				return ""
			}
		}
	}
	return ": this is no profile; cgemu PROGRAM writes one, which is called cachegrind.out.1000"
}

// keyword returns what follows word and white space. The end of a line counts
// as white space.
func keyword(line []byte, ended bool, word string) ([]byte, bool) {
	if !bytes.HasPrefix(line, []byte(word)) {
		return nil, false
	}
	line = line[len(word):]
	text := bytes.TrimLeftFunc(line, isSpace)
	return text, len(text) < len(line) || len(text) == 0 && ended
}

// body takes a line after `events:`. It reports whether a record came of it;
// if not, the line is empty, a comment, or an error.
func (s *Scanner) body(line []byte, ended bool) bool {
	if startsWithDigit(line) {
		return s.counts(line)
	}
	if name, ok := bytes.CutPrefix(line, []byte("fn=")); ok {
		s.rec.kind, s.rec.text = funcKind, cutEnd(name, ended)
		return true
	}
	if name, ok := bytes.CutPrefix(line, []byte("fl=")); ok {
		s.rec.kind, s.rec.text = fileKind, cutEnd(name, ended)
		return true
	}
	if text, ok := keyword(line, ended, "summary:"); ok {
		s.rec.kind = summaryKind
		return s.fields(text)
	}
	if len(line) > 0 && line[0] != '#' {
		s.err = s.Errorf("malformed line: %s", cutEnd(line, ended))
	}
	return false
}

// cutEnd returns text as cg_annotate sees it, which removes the last character
// of a line without looking: it is not always a line end.
func cutEnd(text []byte, ended bool) string {
	if !ended {
		_, size := utf8.DecodeLastRune(text)
		text = text[:len(text)-size]
	}
	return string(text)
}

// counts takes a line of counts.
func (s *Scanner) counts(line []byte) bool {
	number, rest := cutField(line)
	s.rec.kind, s.rec.line = countsKind, Count{}
	if !s.AnyLine {
		var ok bool
		if s.rec.line, ok = parseField(number); !ok {
			s.err = s.malformed()
			return false
		}
	}
	return s.fields(rest)
}

// fields reads the counts in text into rec.
func (s *Scanner) fields(text []byte) bool {
	counts := s.rec.counts[:0]
	for {
		var field []byte
		if field, text = cutField(text); len(field) == 0 {
			break
		}
		c, ok := parseField(field)
		if !ok || len(counts) == s.events {
			s.err = s.malformed()
			return false
		}
		counts = append(counts, c)
	}
	if s.missing -= s.events - len(counts); s.missing < 0 {
		s.err = s.Errorf("too many lines have fewer counts than the %d events", s.events)
		return false
	}
	for len(counts) < s.events {
		counts = append(counts, Count{})
	}
	s.rec.counts = counts
	return true
}

func (s *Scanner) malformed() error { return s.Errorf("malformed or too many event counts") }

// parseField is ParseCount without a copy for small numbers.
func parseField(field []byte) (Count, bool) {
	if n, ok := parseSmall(field); ok {
		return Count{n: n}, true
	}
	return ParseCount(string(field))
}
