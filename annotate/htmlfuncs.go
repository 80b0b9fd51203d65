package annotate

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/cgout"
)

// A pageBuilder makes the functions of a page: one of all that a profile counts under one name in several files, or,
// with a call graph, one of each function there.
type pageBuilder struct {
	r     *Report
	d     *pageData
	files map[string]int // of d.Files by name
	names map[string]int // of d.Rest.Names
}

// A filePart is what a function counts in a file.
type filePart struct {
	file string
	row  Row
	line *ReportFunction // its lines, nil if they are not in the report
}

func (b *pageBuilder) build() error {
	if b.r.calls != nil {
		b.fromGraph(b.r.calls)
	} else {
		b.fromRows()
	}
	if b.r.o.Asm {
		return b.instructions()
	}
	return nil
}

// fromRows makes functions of the report's, which are of one file each.
func (b *pageBuilder) fromRows() {
	parts := map[string][]*ReportFunction{}
	var names []string
	for _, fn := range b.r.Functions {
		if parts[fn.Name] == nil {
			names = append(names, fn.Name)
		}
		parts[fn.Name] = append(parts[fn.Name], fn)
	}
	for _, name := range names {
		var list []filePart
		for _, fn := range parts[name] {
			list = append(list, filePart{fn.File.Name, fn.Row, fn})
		}
		f := b.function(name, -1, list)
		f.OldName = valid(parts[name][0].OldName)
		b.add(f)
	}
	b.sort()
	for _, fn := range b.r.hidden {
		b.rest(fn.Name, "", fn.File.Name, fn.Row)
	}
}

// rest adds a function that is not shown.
func (b *pageBuilder) rest(name, object, file string, rows ...Row) {
	if b.d.Diff {
		return
	}
	number := func(name string) string {
		i, ok := b.names[name]
		if !ok {
			i = len(b.d.Rest.Names)
			b.names[name] = i
			b.d.Rest.Names = append(b.d.Rest.Names, valid(name))
		}
		return strconv.Itoa(i)
	}
	values := []string{jsonText(name), number(object), number(file)}
	for _, row := range rows {
		values = append(values, string(b.r.numbers(row, b.r.Total)))
	}
	b.d.Rest.Funcs = append(b.d.Rest.Funcs, array(values...))
}

// jsonText is a text in JSON.
func jsonText(s string) string {
	quoted, err := json.Marshal(valid(s))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(quoted)
}

// function makes a function of its parts, the costliest of which says where it is.
func (b *pageBuilder) function(name string, object int, parts []filePart) *pageFunc {
	rows := make([]Row, len(parts))
	for i, p := range parts {
		rows[i] = p.row
	}
	slices.SortStableFunc(parts, func(x, y filePart) int { return b.r.compare(x.row, y.row) })
	f := &pageFunc{Name: valid(name), Object: object, row: b.r.sum(rows)}
	f.Counts = b.r.numbers(f.row, b.r.Total)
	b.place(f, name, parts[0])
	if len(parts) > 1 {
		for _, p := range parts {
			first := 0
			if p.line != nil {
				first, _ = span(p.line)
			}
			f.Parts = append(f.Parts, array(strconv.Itoa(b.file(p.file)), strconv.Itoa(first), string(b.r.numbers(p.row, f.row))))
		}
	}
	f.Kind = b.kind(f, parts[0].file)
	return f
}

// place sets where a function is: its file, and its lines there.
func (b *pageBuilder) place(f *pageFunc, name string, home filePart) {
	f.File, f.Line, f.First, f.Last = b.file(home.file), 0, 0, 0
	if home.line == nil {
		return
	}
	first, last := span(home.line)
	f.Line, f.First, f.Last = head(home.line.File.Text, name, first, last), first, last
}

// span returns the first and the last line of a function that are known, 0 if none is.
func span(fn *ReportFunction) (first, last int) {
	for _, l := range fn.Lines {
		if l.Line > 0 {
			first = cmp.Or(first, l.Line)
			last = l.Line
		}
	}
	return first, last
}

// lazily returns an expression that is compiled when it is used first: most commands use none of them.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// lastWord is a function's name without what stands around it: `std::vector<int>::push_back(int const&)`.
var lastWord = lazily(`[A-Za-z_][A-Za-z0-9_]*`)

// head returns where a function begins that has lines from first to last. Some of them may be those of functions that
// were inlined and stand before it, so it is the first of them, if any, that has the name and is no declaration or call
// as far as a glance tells.
func head(text []string, name string, first, last int) int {
	name, _, _ = strings.Cut(name, "(")
	name, _, _ = strings.Cut(name, "<")
	words := lastWord().FindAllString(name, -1)
	if len(words) == 0 || first < 1 {
		return first
	}
	word := words[len(words)-1]
	for line := max(first-2, 1); line <= min(last, len(text)); line++ {
		if s := strings.TrimSpace(text[line-1]); defines(s, word) && !strings.HasSuffix(s, ";") && !control().MatchString(s) {
			return line
		}
	}
	return first
}

// defines reports whether a line has a word, by itself and not behind a dot or an arrow, in front of a parenthesis.
func defines(line, word string) bool {
	for at := 0; ; at++ {
		i := strings.Index(line[at:], word)
		if i < 0 {
			return false
		}
		at += i
		rest := strings.TrimLeft(line[at+len(word):], " \t")
		alone := at == 0 || !strings.ContainsRune(".>_0123456789", rune(line[at-1])) && !isLetter(rune(line[at-1]))
		if alone && rest != "" && (rest[0] == '(' || rest[0] == '<') {
			return true
		}
	}
}

// control begins lines that use a function rather than define it.
var control = lazily(`^(return|if|while|for|switch|else|case|do|\}|#|//|/\*|\*)|=[^=]`)

// file returns the number of a file, which is added if the report has none of that name.
func (b *pageBuilder) file(name string) int {
	i, ok := b.files[name]
	if !ok {
		i = len(b.d.Files)
		b.files[name] = i
		f := pageFile{Name: valid(name), Source: SourceOff, Counts: b.r.numbers(b.r.row(nil, nil), b.r.Total), Rows: []rawJSON{}}
		if name == cgout.Unknown {
			f.Source = SourceUnknown
		}
		b.d.Files = append(b.d.Files, f)
	}
	return i
}

func (b *pageBuilder) add(f *pageFunc) { b.d.Funcs = append(b.d.Funcs, f) }

func (b *pageBuilder) sort() {
	slices.SortStableFunc(b.d.Funcs, func(x, y *pageFunc) int {
		return cmp.Or(b.r.compare(x.row, y.row), cmp.Compare(x.Name, y.Name), cmp.Compare(x.File, y.File))
	})
}

// unnamedCode is the name of code without one that is called by its object: `??? (libc.so.6)`.
var unnamedCode = lazily(`^\?\?\? \((.+)\)$`)

// loaderObject and loaderFile are the dynamic linker, by its object and by its sources.
var (
	loaderObject = lazily(`^(ld-(linux|musl).*|ld\.so.*|ld-[0-9.]+\.so|ld64\.so.*)$`)
	loaderFile   = lazily(`(^|/)(elf/|ldso/|(dl-|rtld|do-rel)[^/]*$)`)
)

// kind says whose code a function is.
func (b *pageBuilder) kind(f *pageFunc, file string) int {
	object := ""
	if f.Object >= 0 {
		object = b.d.Objects[f.Object]
	} else if m := unnamedCode().FindStringSubmatch(f.Name); m != nil {
		object = m[1]
	}
	switch {
	case b.d.Files[f.File].Own:
		return kindOwn
	case loaderObject().MatchString(base(object)) || object == "" && loaderFile().MatchString(file):
		return kindLoader
	case file == cgout.Unknown && (object == "" || object == cgout.Unknown) && strings.HasPrefix(f.Name, cgout.Unknown):
		return kindUnknown
	}
	return kindLibrary
}

// own returns what tells the files that the reader can change: read from below Options.Dir; or read at all, if none is
// there.
func (r *Report) own() func(f *ReportFile) bool {
	if slices.ContainsFunc(r.Files, r.below) {
		return r.below
	}
	return func(f *ReportFile) bool { return f.Source == SourceRead }
}

func (r *Report) below(f *ReportFile) bool {
	if f.Source != SourceRead || f.Path == "" {
		return false
	}
	p := filepath.ToSlash(filepath.Clean(f.Path))
	if !filepath.IsAbs(f.Path) && !strings.HasPrefix(p, "/") {
		return p != ".." && !strings.HasPrefix(p, "../")
	}
	return r.o.Dir != "" && strings.HasPrefix(p, strings.TrimSuffix(filepath.ToSlash(r.o.Dir), "/")+"/")
}

// absolute returns a source's name for programs that run elsewhere.
func (r *Report) absolute(name string) string {
	if filepath.IsAbs(name) || r.o.Dir == "" {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(filepath.Join(r.o.Dir, name))
}

// array is a JSON array of values.
func array(values ...string) rawJSON { return rawJSON("[" + strings.Join(values, ",") + "]") }
