package annotate

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

//go:embed assets/page.html assets/page.css assets/page.js
var assets embed.FS

// htmlOption is --html, --html=FILE.
func (v *viewOptions) htmlOption() option {
	return option{
		names: []string{"--html"}, own: true,
		flag:  func(string) { v.format = "html" },
		value: func(file string) { v.htmlFile = file },
	}
}

// writeHTML writes a report to where --html says.
func (o *options) writeHTML(out io.Writer, r *Report) error {
	if o.htmlFile == "" {
		return writeHTML(out, r, o.context)
	}
	return writeFile(o.htmlFile, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		return errors.Join(writeHTML(w, r, o.context), w.Flush())
	})
}

// writeHTML writes a report as one page that needs nothing else: no other file,
// no network. Around lines with counts it has as many as context says.
//
// The page runs its own style and script only: its policy has their hashes. What
// it shows of the report is a JSON text, see pageData, in which `<` does not occur.
func writeHTML(w io.Writer, r *Report, context cgout.Count) error {
	data, err := newPageData(r, context).json()
	if err != nil {
		return err
	}
	style, script := asset("page.css"), asset("page.js")
	// In one pass, so that nothing in a value is taken for a place.
	_, err = strings.NewReplacer(
		"{{title}}", escape(pageTitle(r)),
		"{{policy}}", escape(policy(style, script)),
		"{{style}}", style,
		"{{profiles}}", profilesHTML(r),
		"{{totals}}", totalsHTML(r),
		"{{data}}", string(data),
		"{{script}}", script,
	).WriteString(w, asset("page.html"))
	return err
}

// asset returns a file of the page.
func asset(name string) string {
	text, err := assets.ReadFile(path.Join("assets", name))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}

// escape returns a text for HTML and for its attributes in double quotes.
func escape(text string) string { return html.EscapeString(valid(text)) }

// policy is the page's Content-Security-Policy.
func policy(style, script string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

// pageTitle is the command that was profiled; of comparisons what is compared.
func pageTitle(r *Report) string {
	p := r.Profiles
	switch {
	case r.Compare && p[0].Cmd != p[1].Cmd:
		return p[0].Cmd + " → " + p[1].Cmd
	case r.Compare:
		return p[1].Cmd + ": difference"
	case len(p) > 1:
		return fmt.Sprintf("%s and %d more", p[0].Cmd, len(p)-1)
	}
	return p[0].Cmd
}

// profilesHTML returns the names of the profiles and, folded up, what they say of
// themselves.
func profilesHTML(r *Report) string {
	var names []string
	var lists strings.Builder
	for _, p := range r.Profiles {
		names = append(names, escape(p.Name))
		lists.WriteString("<ul><li>" + escape(p.Name+": "+p.Cmd) + "</li>")
		for _, d := range p.Desc {
			lists.WriteString("<li>" + escape(d) + "</li>")
		}
		lists.WriteString("</ul>\n")
	}
	return "<summary>" + strings.Join(names, ", ") + "</summary>\n" + lists.String()
}

// totalsHTML returns the rows of the table of totals.
func totalsHTML(r *Report) string {
	var b strings.Builder
	b.WriteString("<thead><tr><td></td>")
	for _, c := range pageColumns(r) {
		fmt.Fprintf(&b, `<th scope="col"><abbr title="%s">%s</abbr></th>`, escape(c.Title), escape(c.Name))
	}
	b.WriteString("</tr></thead>\n<tbody>")
	row := func(name string, counts []cgout.Count, difference bool) {
		b.WriteString(`<tr><th scope="row">` + name + "</th>")
		for _, c := range counts {
			text := strings.Replace(grouped(c), "-", "−", 1)
			if difference && c.Sign() > 0 {
				text = "+" + text
			}
			b.WriteString("<td>" + text + "</td>")
		}
		for _, d := range r.Derived {
			text := "–"
			if v, ok := d.Value(counts, counts); ok && !difference {
				text = derivedText(v, d.Unit)
			}
			b.WriteString("<td>" + text + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	if r.Compare {
		row("Old", r.Total.Old, false)
		row("New", r.Total.New, false)
		row("Difference", r.Total.Counts, true)
	} else {
		row("Total", r.Total.Counts, false)
	}
	b.WriteString("</tbody>")
	return b.String()
}

func derivedText(v float64, unit string) string {
	if unit == "percent" {
		return strconv.FormatFloat(v, 'f', 2, 64) + "%"
	}
	text := strconv.FormatFloat(v, 'f', 0, 64)
	if n, ok := cgout.ParseCount(text); ok {
		text = grouped(n)
	}
	return text
}

// valid returns a text with U+FFFD for what is no UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
