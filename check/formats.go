package check

import (
	"crypto/sha256"
	_ "embed" // the schema
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
)

// Formats are those that Write knows, by what they are called.
var Formats = []string{"text", "json", "markdown", "junit", "github", "codequality", "benchfmt"}

// Write writes r in one of Formats.
func (r *Report) Write(w io.Writer, format string) error {
	write := map[string]func(io.Writer) error{
		"text": r.WriteText, "json": r.WriteJSON, "markdown": r.WriteMarkdown, "junit": r.WriteJUnit, "github": r.WriteGitHub,
		"codequality": r.WriteCodeQuality, "benchfmt": r.WriteBenchfmt,
	}[format]
	if write == nil {
		return fmt.Errorf("there is no format %q: one of %s", format, strings.Join(Formats, ", "))
	}
	return write(w)
}

// Schema is the JSON Schema of what WriteJSON writes; docs/check.schema.json is a copy of it.
//
//go:embed report.schema.json
var Schema string

// What a report of WriteJSON begins with.
const (
	jsonFormat  = "cgemu-check"
	jsonVersion = 1
)

// jsonReport is a report as WriteJSON writes it.
type jsonReport struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Against string          `json:"against,omitempty"`
	Results []jsonBenchmark `json:"benchmarks"`
}

type jsonBenchmark struct {
	Name      string         `json:"name"`
	Group     string         `json:"group,omitempty"`
	Verdict   Verdict        `json:"verdict"`
	Error     string         `json:"error,omitempty"`
	Changes   []jsonChange   `json:"changes"`
	Functions []jsonFunction `json:"functions"`
	Own       int64          `json:"own"`
	Elsewhere int64          `json:"elsewhere"`
	Differs   []jsonDiffers  `json:"differs"`
	// Counts are what a baseline would have.
	Counts *jsonCounts `json:"counts,omitempty"`
}

type jsonCounts struct {
	Events      map[string]uint64 `json:"events"`
	Functions   map[string]uint64 `json:"functions"`
	Limited     map[string]uint64 `json:"limited"`
	Fingerprint map[string]string `json:"fingerprint"`
}

// counts are c's, nil if there are none.
func (c *jsonCounts) counts() *Counts {
	if c == nil {
		return nil
	}
	return &Counts{Events: c.Events, Functions: c.Functions, Limited: c.Limited, Fingerprint: c.Fingerprint}
}

type jsonChange struct {
	Event    string `json:"event"`
	Function string `json:"function,omitempty"`
	Old      uint64 `json:"old"`
	New      uint64 `json:"new"`
	Limit    string `json:"limit,omitempty"`
	Exceeded bool   `json:"exceeded"`
	Unknown  bool   `json:"unknown,omitempty"`
}

type jsonFunction struct {
	File  string `json:"file"`
	Name  string `json:"function"`
	Old   uint64 `json:"old"`
	New   uint64 `json:"new"`
	Gone  bool   `json:"gone,omitempty"`
	Added bool   `json:"added,omitempty"`
	Small bool   `json:"small,omitempty"`
	Lines []Line `json:"lines"`
}

type jsonDiffers struct {
	What string `json:"what"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// WriteJSON writes r for other programs. Lists are there even if they are empty.
func (r *Report) WriteJSON(w io.Writer) error {
	out := jsonReport{Format: jsonFormat, Version: jsonVersion, Against: r.Against, Results: []jsonBenchmark{}}
	for _, x := range r.Results {
		b := jsonBenchmark{
			Name: x.Name, Group: x.Group, Verdict: x.Verdict, Own: x.Own, Elsewhere: x.Elsewhere,
			Changes: []jsonChange{}, Functions: []jsonFunction{}, Differs: []jsonDiffers{},
		}
		if x.Err != nil {
			b.Error = x.Err.Error()
		}
		if c := x.Now; c != nil {
			b.Counts = &jsonCounts{c.Events, c.Functions, c.Limited, c.Fingerprint}
		}
		for _, c := range x.Changes {
			j := jsonChange{Event: c.Event, Function: c.Function, Old: c.Old, New: c.New, Exceeded: c.Exceeded}
			if j.Unknown = c.Unknown; !c.Unknown {
				j.Limit = c.Limit.String()
			}
			b.Changes = append(b.Changes, j)
		}
		for _, f := range x.Functions {
			b.Functions = append(b.Functions, jsonFunction{f.File, f.Func, f.Old, f.New, f.Gone, f.Added, f.Small, append([]Line{}, f.Lines...)})
		}
		for _, d := range x.Differs {
			b.Differs = append(b.Differs, jsonDiffers(d))
		}
		out.Results = append(out.Results, b)
	}
	return encodeJSON(w, out)
}

// encodeJSON writes v for programs and for people.
func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// WriteMarkdown writes r for a pull request or a step's summary: a table, and below it what moved the benchmarks that
// changed.
func (r *Report) WriteMarkdown(w io.Writer) error {
	t := &text{}
	if r.Against != "" {
		t.printf("Instructions counted, compared with %s\n\n", annotate.MarkdownText(r.Against))
	}
	t.printf("| benchmark | event | before | now | change | |\n|---|---|---:|---:|---:|---|\n")
	for i := range r.Results {
		x := &r.Results[i]
		if x.Verdict == Failed {
			t.printf("| %s | | | | | **%s**: %s |\n", annotate.MarkdownText(x.Name), x.Verdict, annotate.MarkdownText(x.Err.Error()))
		}
		for _, c := range x.Changes {
			what, before, change, note := annotate.MarkdownText(c.Event), cgout.Group(c.Old), percent(c.Old, c.New), string(x.Verdict)
			if c.Function != "" {
				what += " in " + strings.ReplaceAll(annotate.MarkdownCode(c.Function), "|", `\|`)
			}
			if x.Verdict == Regression || x.Verdict == Unlike {
				note = "**" + note + "**"
			}
			if c.Unknown {
				before, change, note = "", "", note+c.lacking(x.Verdict)
			}
			if c.Exceeded {
				note += ", beyond " + c.Limit.String()
			}
			t.printf("| %s | %s | %s | %s | %s | %s |\n", annotate.MarkdownText(x.Name), what, before, cgout.Group(c.New), change, note)
		}
	}
	for i := range r.Results {
		if x := &r.Results[i]; len(x.Functions) > 0 && !x.Changes[0].Unknown {
			t.printf("\n<details><summary>%s: %s in your code, %s elsewhere</summary>\n\n", html.EscapeString(x.Name), signed(x.Own), signed(x.Elsewhere))
			for j, f := range x.Functions {
				if j == maxMoved {
					t.printf("- … and %d other functions\n", len(x.Functions)-j)
					break
				}
				t.printf("- %s %s%s\n", signed(f.Delta()), annotate.MarkdownCode(f.File+":"+f.Func), f.state())
			}
			t.printf("\n</details>\n")
		}
	}
	r.markdownUnlike(t)
	_, err := io.WriteString(w, t.String())
	return err
}

// markdownUnlike says why counts do not compare.
func (r *Report) markdownUnlike(t *text) {
	first := true
	for i := range r.Results {
		x := &r.Results[i]
		for _, d := range x.Differs {
			if d.comparable() {
				continue
			}
			if first {
				t.printf("\n")
			}
			first = false
			t.printf("- %s: %s: %s: %s\n", annotate.MarkdownText(x.Name), x.Verdict, annotate.MarkdownText(d.What), annotate.MarkdownText(d.sentence(r.newText().update)))
		}
	}
}

// The elements of JUnit's XML.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes r as JUnit does its tests: a regression is a failure, what could not be measured an error.
func (r *Report) WriteJUnit(w io.Writer) error {
	s := junitSuite{Name: "cgemu check", Tests: len(r.Results)}
	for i := range r.Results {
		x := &r.Results[i]
		t := r.newText()
		t.result(x)
		c := junitCase{Name: x.Name, Class: "cgemu." + x.Group}
		if x.Group == "" {
			c.Class = "cgemu"
		}
		switch why := r.stale(x); {
		case x.Verdict == Failed:
			s.Errors++
			c.Error = &junitMessage{Message: x.failure()}
		case x.Verdict == Regression:
			s.Failures++
			c.Failure = &junitMessage{Message: x.headline(), Text: t.String()}
		case why != "":
			s.Failures++
			c.Failure = &junitMessage{Message: why, Text: t.String()}
		default:
			c.Output = t.String()
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: []junitSuite{s}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// stale is why a benchmark that went beyond no limit does not pass: the baseline has to be written first. It is ""
// otherwise.
func (r *Report) stale(x *Result) string {
	switch {
	case x.Verdict == Unlike:
		return fmt.Sprintf("%s: %s: something else is run than what the baseline counted; cgemu check --update", x.Name, x.Verdict)
	case x.Verdict == New && r.Against == "":
		return fmt.Sprintf("%s: %s: the baseline lacks it, or some of it; cgemu check --update", x.Name, x.Verdict)
	}
	return ""
}

// failure says in one line why a benchmark could not be measured.
func (r *Result) failure() string { return fmt.Sprintf("%s: %s: %v", r.Name, r.Verdict, r.Err) }

// headline says in one line what is beyond its limit.
func (r *Result) headline() string {
	var parts []string
	for _, c := range r.Changes {
		if c.Exceeded {
			what := c.Event
			if c.Function != "" {
				what += " in " + c.Function
			}
			parts = append(parts, fmt.Sprintf("%s %s -> %s (%s, beyond %s)", what, cgout.Group(c.Old), cgout.Group(c.New), percent(c.Old, c.New), c.Limit))
		}
	}
	return fmt.Sprintf("%s: %s: %s", r.Name, r.Verdict, strings.Join(parts, ", "))
}

// place is where a regression is shown in a source: the busiest line of the function of the project that grew most; ""
// if none is known.
func (r *Report) place(x *Result) (file string, line int, fn string) {
	for _, f := range x.Functions {
		if f.Delta() <= 0 || !ours(f.File) {
			continue
		}
		line := 1
		if i := slices.IndexFunc(f.Lines, func(l Line) bool { return l.Line > 0 }); i >= 0 {
			line = f.Lines[i].Line
		}
		return path.Join(filepath.ToSlash(r.Dir), f.File), line, f.Func
	}
	return "", 0, ""
}

// WriteGitHub writes workflow commands of GitHub Actions: an annotation for each regression, at the function that grew
// most, and for each benchmark that failed. A log that has nothing to say is empty.
func (r *Report) WriteGitHub(w io.Writer) error {
	t := &text{}
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for i := range r.Results {
		x := &r.Results[i]
		switch why := r.stale(x); {
		case x.Verdict == Failed:
			t.printf("::error title=%s::%s\n", property.Replace("cgemu check: "+x.Name), data.Replace(x.failure()))
		case why != "":
			t.printf("::error title=%s::%s\n", property.Replace("cgemu check: "+x.Name), data.Replace(why))
		case x.Verdict == Regression:
			t.printf("::error ")
			if file, line, fn := r.place(x); file != "" {
				t.printf("file=%s,line=%d,", property.Replace(file), line)
				t.printf("title=%s::%s", property.Replace("cgemu check: "+x.Name), data.Replace(x.headline()+"; most of it in "+fn))
			} else {
				t.printf("title=%s::%s", property.Replace("cgemu check: "+x.Name), data.Replace(x.headline()))
			}
			t.printf("\n")
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// codeQuality is an issue of GitLab's code quality reports.
type codeQuality struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// WriteCodeQuality writes the regressions, and what the baseline lacks, as issues of GitLab's code quality. One whose
// place is not known is at the manifest.
func (r *Report) WriteCodeQuality(w io.Writer) error {
	issues := []codeQuality{}
	for i := range r.Results {
		x := &r.Results[i]
		text := r.stale(x)
		if x.Verdict == Regression {
			text = x.headline()
		}
		if text == "" {
			continue
		}
		sum := sha256.Sum256([]byte("cgemu check\x00" + x.Name))
		q := codeQuality{Description: text, CheckName: "cgemu check", Fingerprint: hex.EncodeToString(sum[:16]), Severity: "major"}
		q.Location.Path, q.Location.Lines.Begin = path.Join(filepath.ToSlash(r.Dir), ManifestName), 1
		if file, line, _ := r.place(x); file != "" && x.Verdict == Regression {
			q.Location.Path, q.Location.Lines.Begin = file, line
		}
		issues = append(issues, q)
	}
	return encodeJSON(w, issues)
}

// WriteBenchfmt writes what was counted now in the format of Go's benchmarks, for benchstat: one run, events as units,
// of which benchstat is told that they are exact.
func (r *Report) WriteBenchfmt(w io.Writer) error {
	t := &text{}
	var units []string
	for _, x := range r.Results {
		for _, c := range x.Changes {
			if c.Function == "" && !slices.Contains(units, c.Event) {
				units = append(units, c.Event)
				t.printf("Unit %s better=lower assume=exact\n", c.Event)
			}
		}
	}
	for _, x := range r.Results {
		if x.Verdict == Failed {
			continue
		}
		first, n := utf8.DecodeRuneInString(x.Name)
		t.printf("Benchmark%c%s 1", unicode.ToUpper(first), x.Name[n:])
		for _, c := range x.Changes {
			if c.Function == "" {
				t.printf(" %d %s", c.New, c.Event)
			}
		}
		t.printf("\n")
	}
	_, err := io.WriteString(w, t.String())
	return err
}
