package check

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate"
)

func counts(events, functions map[string]uint64) *Counts {
	return &Counts{
		Events: events, Functions: functions, Limited: map[string]uint64{}, Fingerprint: map[string]string{"program": "1", "cpu": "v3"},
	}
}

// measured is a measurement in which every function is worth keeping.
func measured(c *Counts) *Measurement { return &Measurement{Counts: c, All: c.Functions} }

func TestCompare(t *testing.T) {
	type m = map[string]uint64
	b := &Benchmark{
		Name: "b", Settings: Settings{Events: []string{"Ir"}, Limit: "1%"},
		Functions: []FunctionLimit{{Name: "g*", Limit: int64(10)}},
	}
	old := counts(m{"Ir": 1000}, m{"a.c:f": 400, "a.c:g": 300, "./libc.c:puts": 100})
	b.sumLimited(old)
	for _, c := range []struct {
		events, functions m
		want              Verdict
	}{
		{m{"Ir": 1000}, old.Functions, Same},
		{m{"Ir": 1010}, m{"a.c:f": 410, "a.c:g": 300, "./libc.c:puts": 100}, Changed},
		{m{"Ir": 990}, m{"a.c:f": 390, "a.c:g": 300, "./libc.c:puts": 100}, Improved},
		{m{"Ir": 1011}, m{"a.c:f": 411, "a.c:g": 300, "./libc.c:puts": 100}, Regression},
		{m{"Ir": 1000}, m{"a.c:f": 389, "a.c:g": 311, "./libc.c:puts": 100}, Regression}, // of g alone
	} {
		now := counts(c.events, c.functions)
		b.sumLimited(now)
		r := Compare(b, old, measured(now))
		require.Equal(t, c.want, r.Verdict, "%v", c.functions)
		require.Empty(t, r.Differs)
	}
	// A limit that is new has nothing to be compared with: the baseline may have left functions out that it speaks of.
	b.Functions = append(b.Functions, FunctionLimit{Name: "f"})
	now := counts(m{"Ir": 1000}, m{"a.c:f": 400, "a.c:g": 300})
	b.sumLimited(now)
	require.Equal(t, New, Compare(b, old, measured(now)).Verdict)
	require.Equal(t, New, Compare(b, nil, measured(old)).Verdict)
	require.Equal(t, New, Compare(b, counts(m{}, m{}), measured(old)).Verdict)
}

// TestPercent has a change that is too small for per cent.
func TestPercent(t *testing.T) {
	require.Equal(t, "+2.00 %", percent(100, 102))
	require.Equal(t, "+1", percent(1_000_000, 1_000_001))
	require.Equal(t, "-19", percent(1_000_000, 999_981))
	require.Equal(t, "+0.00 %", percent(5, 5))
	require.Equal(t, "+5", percent(0, 5))
}

// TestUnknown says what code is that has no name.
func TestUnknown(t *testing.T) {
	require.Equal(t, " (code without symbols)", Moved{File: "???", Func: "???"}.state())
	require.Equal(t, " (gone)", Moved{File: "???", Func: "f", Gone: true}.state())
}

var update = flag.Bool("update", false, "write testdata/formats anew")

// sampleReport has a benchmark of each verdict.
func sampleReport() *Report {
	type m = map[string]uint64
	b := &Benchmark{Name: "b", Group: "g", Settings: Settings{Events: []string{"Ir"}, Limit: "1%"}}
	old := counts(m{"Ir": 1000}, m{"a.c:f": 400, "a.c:gone": 300, "./libc.c:puts": 100})
	now := &Measurement{
		Counts: counts(m{"Ir": 1100}, m{"a.c:f": 900, "./libc.c:puts": 20, "b.c:h": 5}),
		Lines:  map[string][]Line{"a.c:f": {{"a.c", 7, 880}, {"a.c", 6, 20}}, "b.c:h": {{"b.c", 1, 5}}},
	}
	now.All = now.Functions
	now.Fingerprint["program"] = "2"
	return &Report{Dir: "perf", Results: []Result{
		Compare(b, old, now), Compare(b, nil, now), Compare(b, old, measured(old)),
		{Name: "x", Verdict: Failed, Err: errors.New("not there: 100 % <of> a | b\nand more")},
	}}
}

// schema is that of reports.
func schema(t *testing.T) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("report.schema.json", doc))
	s, err := c.Compile("report.schema.json")
	require.NoError(t, err)
	copied, err := os.ReadFile("../docs/check.schema.json")
	require.NoError(t, err)
	require.Equal(t, Schema, string(copied), "copy check/report.schema.json to docs")
	return s
}

// TestMerge joins reports that were written and read again.
func TestMerge(t *testing.T) {
	all := sampleReport()
	all.Results = []Result{all.Results[0], all.Results[3]}
	m := &Manifest{Dir: "perf", Benchmarks: []Benchmark{{Name: "x", Run: []string{"./x"}}, {Name: "b", Group: "g", Run: []string{"./b"}}, {Name: "none"}}}
	var parts []*Report
	for i := range all.Results {
		var text bytes.Buffer
		require.NoError(t, (&Report{Results: all.Results[i : i+1]}).WriteJSON(&text))
		r, err := ReadJSON(&text)
		require.NoError(t, err)
		parts = append(parts, r)
	}
	got, err := m.Merge(parts...)
	require.NoError(t, err)
	want := &Report{Dir: "perf", Results: []Result{
		all.Results[1], all.Results[0], {Name: "none", Verdict: Failed, Err: errors.New("no report has it")},
	}}
	for _, format := range []string{"text", "json", "github"} {
		var a, b bytes.Buffer
		require.NoError(t, want.Write(&a, format))
		require.NoError(t, got.Write(&b, format))
		require.Equal(t, a.String(), b.String())
	}
	require.Equal(t, all.Results[0].Now, got.Results[1].Now)
	_, err = m.Merge(append(parts, parts[0])...)
	require.ErrorContains(t, err, "two reports have b")
	_, err = (&Manifest{}).Merge(parts...)
	require.ErrorContains(t, err, "the manifest has no benchmark")
	parts[1].Against = "main (0123456789ab)"
	_, err = m.Merge(parts...)
	require.ErrorContains(t, err, "the baseline and main (0123456789ab)")
}

func TestReadJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		``: "EOF", `{}`: "not a report of cgemu check", `{"x":1}`: "unknown field",
		`{"format":"cgemu-check","version":1,"benchmarks":[{"name":"b","verdict":"same"}]}`:                                           "b: neither counts nor an error",
		`{"format":"cgemu-check","version":1,"benchmarks":[{"name":"b","verdict":"same","changes":[{"event":"Ir","limit":"much"}]}]}`: "b: limit: ",
	} {
		_, err := ReadJSON(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// TestMarkdownNames has names of functions that are long, or have what means something in Markdown.
func TestMarkdownNames(t *testing.T) {
	long := "std::map<" + strings.Repeat("std::pair<int, long>, ", 100) + "char>::at"
	type m = map[string]uint64
	b := &Benchmark{Name: "b", Settings: Settings{Events: []string{"Ir"}}, Functions: []FunctionLimit{{Name: "f<*>", Limit: "1%"}}}
	old, now := counts(m{"Ir": 1000}, m{"a.cc:f<int>": 300}), counts(m{"Ir": 2000}, m{"a.cc:f<int>": 600, "a.cc:" + long: 500, "a.rs:`|`": 200})
	b.sumLimited(old)
	b.sumLimited(now)
	var out bytes.Buffer
	require.NoError(t, (&Report{Results: []Result{Compare(b, old, measured(now))}}).WriteMarkdown(&out))
	for line := range strings.Lines(out.String()) {
		require.Less(t, len(line), 250)
	}
	require.Contains(t, out.String(), "- +500 `a.cc:std::map<std::pair<int, long>, std::pair")
	require.Contains(t, out.String(), "…")
	require.Contains(t, out.String(), "- +200 `` a.rs:`|` `` (new")
	require.Contains(t, out.String(), "| b | Ir in `f<*>` | 300 | 600 |")
}

// TestSaidOnce has benchmarks that differ from their baselines in the same things: those are said once.
func TestSaidOnce(t *testing.T) {
	type m = map[string]uint64
	var r Report
	for _, name := range []string{"a", "b", "c", "d"} {
		old, now := counts(m{"Ir": 1000}, m{}), counts(m{"Ir": 1100}, m{})
		now.Fingerprint["program"], now.Fingerprint["libraries"] = name, name
		old.Fingerprint["libraries"] = "1"
		if name < "c" {
			now.Fingerprint["cpu"] = "v2"
		}
		if name == "d" {
			now.Fingerprint["stdin"] = "2"
		}
		r.Results = append(r.Results, Compare(&Benchmark{Name: name, Settings: Settings{Events: []string{"Ir"}}}, old, measured(now)))
	}
	r.Results = append(r.Results, Result{Name: "e", Verdict: Failed, Err: errors.New("not there")})
	var out bytes.Buffer
	require.NoError(t, r.WriteText(&out))
	require.Regexp(t, `^a: .*\nb: .*\nc: .*\nd: .*\n    stdin: `, out.String())
	require.Contains(t, out.String(), "    stdin: another input: the counts do not compare; cgemu check --update\ne: failed")
	require.Contains(t, out.String(), "e: failed: not there\n"+`a, b:
    cpu: "v2" was "v3": the counts do not compare; cgemu check --update
all that ran:
    libraries: other libraries than those of the baseline: their part may have moved for that
    program: another build
5 benchmarks: `)
	out.Reset()
	require.NoError(t, r.WriteResult(&out, 0))
	require.Contains(t, out.String(), "    program: another build\n", "one alone says it itself")
}

// TestVerdicts has the manual and the schema of reports know every verdict.
func TestVerdicts(t *testing.T) {
	manual := readManual(t)
	for _, v := range verdicts {
		require.Contains(t, manual, "| `"+string(v)+"` |")
		require.Contains(t, Schema, `"`+string(v)+`"`)
	}
}

// TestUnlike has no limit hold where counts do not compare: one verdict.
func TestUnlike(t *testing.T) {
	b := &Benchmark{Name: "b", Settings: Settings{Events: []string{"Ir"}}}
	old, now := newCounts(), newCounts()
	old.Events["Ir"], old.Fingerprint["env"] = 100, "A=1"
	now.Events["Ir"], now.Fingerprint["env"] = 200, "A=2"
	r := Compare(b, old, &Measurement{Counts: now})
	require.Equal(t, Unlike, r.Verdict)
	require.False(t, r.Changes[0].Exceeded)
	now.Fingerprint["env"] = "A=1"
	r = Compare(b, old, &Measurement{Counts: now})
	require.Equal(t, Regression, r.Verdict)
	require.True(t, r.Changes[0].Exceeded)
}

// TestFormats compares each format with testdata/formats; -update writes them anew.
func TestFormats(t *testing.T) {
	for _, format := range Formats {
		var out bytes.Buffer
		require.NoError(t, sampleReport().Write(&out, format))
		name := filepath.Join("testdata", "formats", format)
		if *update {
			require.NoError(t, os.WriteFile(name, out.Bytes(), 0o644))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), out.String(), format)
		switch format {
		case "json":
			doc, err := jsonschema.UnmarshalJSON(&out)
			require.NoError(t, err)
			require.NoError(t, schema(t).Validate(doc))
		case "codequality":
			require.True(t, json.Valid(out.Bytes()))
		case "junit":
			require.NoError(t, xml.Unmarshal(out.Bytes(), new(junitSuites)))
		}
	}
	require.ErrorContains(t, sampleReport().Write(io.Discard, "pdf"), `there is no format "pdf"`)
	r := sampleReport()
	require.True(t, r.Regressed())
	require.True(t, r.Failed())
}

// TestHostileNames has names and messages of a program that is not trusted in every format: none is markup, or does
// anything to a terminal.
func TestHostileNames(t *testing.T) {
	const evil = "f\x1b[31m\r::error::x\x9b`|![i](http://e/)<b>@you\\|\u009b"
	r := &Report{Results: []Result{
		{Name: "a<b>", Verdict: Failed, Err: errors.New("exit status 1" + lastLine("said\n"+evil))},
		{Name: "b", Verdict: Regression, Changes: []Change{{Event: "Ir", Old: 1, New: 2, Exceeded: true}, {Event: "Ir", Function: evil, Old: 1, New: 2, Exceeded: true}},
			Functions: []Moved{{File: evil, Func: evil, Old: 1, New: 2, Lines: []Line{{File: evil, Line: 1, Count: 2}}}}, Differs: []Difference{{What: programPrefix + evil, New: "x"}}},
	}}
	for _, format := range Formats {
		var out bytes.Buffer
		require.NoError(t, r.Write(&out, format))
		if format == "json" || format == "codequality" {
			require.True(t, json.Valid(out.Bytes()))
			continue
		}
		for line := range strings.Lines(out.String()) {
			if format != "junit" { // whose messages are attributes, in which a line's end is an entity
				require.Equal(t, strings.TrimSuffix(line, "\n"), annotate.Visible(strings.TrimSuffix(line, "\n")), format)
			}
			require.NotRegexp(t, `[\r\x1b]|^\s*::error::x`, line, format)
		}
		if format == "markdown" {
			spans := regexp.MustCompile("(?s)``+.*?``+")
			require.NotRegexp(t, `[^\\]\[|<b>|@y|[^\\]\|!`, spans.ReplaceAllString(out.String(), ""))
		}
	}
}

// TestTail keeps the end of what a program says, and little of a line that does not end.
func TestTail(t *testing.T) {
	var e tail
	for range 100 {
		n, err := e.Write(bytes.Repeat([]byte("x"), maxTail/10))
		require.NoError(t, err)
		require.Equal(t, maxTail/10, n)
		require.LessOrEqual(t, len(e.text), 2*maxTail+maxTail/10)
	}
	_, err := e.Write([]byte("\n\x1b" + strings.Repeat("y", 3*maxTail) + "\nend\n"))
	require.NoError(t, err)
	require.Equal(t, ": end", lastLine(e.String()))
	require.Equal(t, ": "+strings.Repeat("z", maxLine-2)+"…", lastLine(strings.Repeat("z", 2*maxLine)))
}
