package annotate

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

func htmlCounts(n ...int64) (list []cgout.Count) {
	for _, c := range n {
		list = append(list, cgout.NewCount(c))
	}
	return list
}

// htmlReport is a report of one file with one function; lines are pairs of a
// number and a count.
func htmlReport(file, fn string, text []string, lines ...int64) *Report {
	f := &ReportFile{Name: file, Source: SourceRead, Path: file, Text: text}
	g := &ReportFunction{File: f, Name: fn}
	var sum int64
	for i := 0; i < len(lines); i += 2 {
		l := ReportLine{Line: int(lines[i]), OldLine: int(lines[i]), Row: Row{Counts: htmlCounts(lines[i+1])}}
		f.Lines = append(f.Lines, l)
		sum += lines[i+1]
	}
	row := Row{Counts: htmlCounts(sum)}
	f.Row, g.Row = row, row
	g.Lines, f.Functions = f.Lines, []*ReportFunction{g}
	return &Report{Tool: "annotate", Profiles: []ReportProfile{{Name: "p.out", Cmd: "prog"}}, Events: []string{"Ir"},
		Show: []int{0}, Sort: []int{0}, Total: row, Files: []*ReportFile{f}, Functions: f.Functions, Omitted: Row{Counts: htmlCounts(0)}}
}

func writePage(t *testing.T, r *Report, context int) string {
	var b bytes.Buffer
	r.o.Context = context
	require.NoError(t, r.WriteHTML(&b))
	return b.String()
}

// pageJSON returns the data of a page.
func pageJSON(t *testing.T, page string) (d struct {
	Files []struct {
		N    string
		Rows [][]any
	}
	Funcs []struct {
		N string
		C []any
		L int
	}
	Total []any
},
) {
	element := func(id string, to any) {
		_, data, ok := strings.Cut(page, `id="`+id+`">`)
		require.True(t, ok, id)
		data, _, ok = strings.Cut(data, "</script>")
		require.True(t, ok, id)
		require.NoError(t, json.Unmarshal([]byte(data), to))
	}
	element("data", &d)
	for i := range d.Files {
		if d.Files[i].Rows == nil {
			element(fmt.Sprintf("rows-%d", i), &d.Files[i].Rows)
		}
	}
	return d
}

// TestHTMLInert: names and texts cannot end what they stand in.
func TestHTMLInert(t *testing.T) {
	const evil = `</script><script>alert("1")</script><!--<img src=x onerror=alert(1)>'` + "\u2028\xff"
	r := htmlReport(evil, evil, []string{evil, "", evil}, 1, 7)
	r.Profiles[0] = ReportProfile{Name: evil, Cmd: evil, Desc: []string{evil}}
	r.Events[0] = evil
	r.Files[0].Newer = []string{evil}
	page := writePage(t, r, 8)

	plain := writePage(t, htmlReport("a", "b", []string{"c"}, 1, 7), 8)
	for _, mark := range []string{"<script", "</script", "<img", "<!--", "-->", "<style"} {
		require.Equal(t, strings.Count(plain, mark), strings.Count(page, mark), "%q", mark)
	}
	d := pageJSON(t, page)
	require.Equal(t, strings.ToValidUTF8(evil, "\uFFFD"), d.Funcs[0].N)
	require.Equal(t, d.Funcs[0].N, d.Files[0].N)
	require.Equal(t, d.Funcs[0].N, d.Files[0].Rows[0][1])
}

// TestHTMLAlone: nothing is loaded from elsewhere, the policy is that of the
// style and script that are there, and the bytes are the same every time.
func TestHTMLAlone(t *testing.T) {
	r := htmlReport("a.c", "main", []string{"int main(void) { return 0; }"}, 1, 7)
	page := writePage(t, r, 8)
	require.Equal(t, page, writePage(t, r, 8))
	require.NotRegexp(t, `(?i)https?:|url\(|@import|src=|<link`, page)
	part := func(pattern string) string { return regexp.MustCompile(pattern).FindStringSubmatch(page)[1] }
	style, script := HTMLHashes()
	require.Equal(t, style, inPolicy(part(`(?s)<style>(.*?)</style>`)))
	require.Equal(t, script, inPolicy(part(`(?s)<script>(.*?)</script>`)))
	require.Contains(t, page, `content="`+escape("default-src 'none'; style-src "+style+"; script-src "+script+"; base-uri 'none'; form-action 'none'")+`"`)
}

// inPolicy is how a policy names a script.
func inPolicy(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// TestHTMLRows: lines with counts, those around them, and what is left out.
func TestHTMLRows(t *testing.T) {
	text := strings.Split("one two three four five six seven eight nine ten", " ")
	for _, tt := range []struct {
		name    string
		context int
		text    []string
		lines   []int64
		want    string
	}{
		{"gaps", 1, text, []int64{3, 5, 8, 7}, `[1] 2:two 3:three=5 4:four [2] 7:seven 8:eight=7 9:nine [1]`},
		{"ranges meet", 1, text, []int64{3, 5, 6, 7}, `[1] 2:two 3:three=5 4:four 5:five 6:six=7 7:seven [3]`},
		{"ranges overlap", 2, text, []int64{2, 5, 4, 7}, `1:one 2:two=5 3:three 4:four=7 5:five 6:six [4]`},
		{"no context", 0, text, []int64{1, 5, 10, 7}, `1:one=5 [8] 10:ten=7`},
		{"all", 100, text[:3], []int64{2, 1}, `1:one 2:two=1 3:three`},
		{"behind the end", 1, text[:3], []int64{2, 1, 9, 7}, `1:one 2:two=1 3:three 9:?=7`},
		{"line 0", 0, text[:2], []int64{0, 4, 2, 1}, `0:?=4 [1] 2:two=1`},
		{"no text", 1, nil, []int64{0, 4, 2, 1}, `0:?=4 2:?=1`},
		{"no lines", 1, text[:2], nil, `[2]`},
	} {
		d := pageJSON(t, writePage(t, htmlReport("f", "g", tt.text, tt.lines...), tt.context))
		require.Equal(t, tt.want, rowTexts(d.Files[0].Rows), tt.name)
	}
}

// rowTexts returns rows in a short form.
func rowTexts(rows [][]any) string {
	var list []string
	show := func(v any) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	for _, r := range rows {
		if len(r) == 1 {
			list = append(list, "["+show(r[0])+"]")
			continue
		}
		text := "?"
		if r[1] != nil {
			text = r[1].(string)
		}
		text = show(r[0]) + ":" + text
		if len(r) > 3 {
			text += "=" + show(r[3].([]any)[0])
		}
		if len(r) > 4 {
			text += " was " + show(r[4])
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// TestHTMLCompare: old and new counts, and lines that are gone stand where they were.
func TestHTMLCompare(t *testing.T) {
	r := htmlReport("f.c", "g", []string{"int a;", "int new;", "int b;"})
	r.Compare = true
	r.Profiles = append(r.Profiles, ReportProfile{Name: "q.out", Cmd: "prog"})
	f := r.Files[0]
	f.OldText = []string{"int a;", "int gone;", "int b;"}
	row := func(old, new int64) Row {
		return Row{Counts: htmlCounts(new - old), Old: htmlCounts(old), New: htmlCounts(new)}
	}
	f.Lines = []ReportLine{
		{row(1, 2), 1, 1}, {row(5, 0), NoLine, 2}, {row(0, 4), 2, NoLine}, {row(3, 3), 3, 3},
	}
	f.Row = row(9, 9)
	r.Functions[0].Row, r.Total, r.Omitted = f.Row, f.Row, row(0, 0)
	page := writePage(t, r, 8)
	d := pageJSON(t, page)
	require.Equal(t, "1:int a;=2 -1:int gone;=0 was 2 2:int new;=4 was -1 3:int b;=3", rowTexts(d.Files[0].Rows))
	require.Equal(t, []any{9.0, 9.0}, d.Total)
	require.Contains(t, page, "Difference")
}

// TestHTMLLargeCounts: what a double does not hold is text.
func TestHTMLLargeCounts(t *testing.T) {
	d := pageJSON(t, writePage(t, htmlReport("f", "g", nil, 1, 1<<53-1), 8))
	require.Equal(t, []any{float64(1<<53 - 1)}, d.Total)
	d = pageJSON(t, writePage(t, htmlReport("f", "g", nil, 1, 1<<53+1), 8))
	require.Equal(t, []any{"9007199254740993"}, d.Total)
}

// TestHTMLColumns: the page has the columns of Options.Show to choose from, and those derived.
func TestHTMLColumns(t *testing.T) {
	events := strings.Fields("Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim")
	r := htmlReport("f", "g", nil)
	r.Events, r.Show = events, []int{3, 4}
	zeros := make([]cgout.Count, len(events))
	r.Total, r.Omitted, r.Functions[0].Row, r.Files[0].Row = Row{Counts: zeros}, Row{Counts: zeros}, Row{Counts: zeros}, Row{Counts: zeros}
	r.Derived = []Derived{{Name: "D1mr/Dr", Unit: unitPercent, eval: func(_, _ []cgout.Count) (float64, bool) { return 0, false }}}
	d, err := newPageData(r)
	require.NoError(t, err)
	require.Equal(t, []int{3, 4, 13}, d.Show)
	require.Len(t, d.Cols, 14)
}

func BenchmarkHTML(b *testing.B) {
	text := strings.Split(strings.Repeat("\tfor (int i = 0; i < n; i++) sum += a[i]; /* adds up */\n", 10_000), "\n")
	var lines []int64
	for i := int64(1); i <= 10_000; i++ {
		lines = append(lines, i, i)
	}
	r := htmlReport("a.c", "f", text, lines...)
	r.o.Context = 8
	for b.Loop() {
		var out bytes.Buffer
		require.NoError(b, r.WriteHTML(&out))
		b.SetBytes(int64(out.Len()))
	}
}
