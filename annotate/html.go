package annotate

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's script, in their order.
var scripts = []string{"data.js", "parts.js", "icicle.js", "graph.js", "functions.js", "detail.js", "calls.js", "profile.js", "compare.js", "page.js"}

// WriteHTML writes one page that needs nothing else, no other file and no network: an
// overview, functions, and sources in which Options.Context lines stand around those with
// counts. It runs its own style and script only, whatever the names and sources in it are.
func (r *Report) WriteHTML(w io.Writer) error {
	d, err := newPageData(r)
	if err != nil {
		return err
	}
	d.rows(r)
	return d.write(w, pageTitle(r), totalsHTML(r), policy(""))
}

// write writes the page. What it shows of the report is a JSON text in which `<` does not occur.
func (d *pageData) write(w io.Writer, title, totals, policy string) error {
	rows, err := d.takeRows()
	if err != nil {
		return err
	}
	data, err := d.json()
	if err != nil {
		return err
	}
	// In one pass, so that nothing in a value is taken for a place.
	page := strings.NewReplacer(
		"{{title}}", escape(title),
		"{{policy}}", escape(policy),
		"{{style}}", style(),
		"{{totals}}", totals,
		"{{data}}", string(data),
		"{{rows}}", rows,
		"{{script}}", script(),
	)
	return buffered(w, func(w *bufio.Writer) error {
		_, err := page.WriteString(w, asset("page.html"))
		return err
	})
}

// asset returns a file of the page.
func asset(name string) string {
	text, err := assets.ReadFile(path.Join("assets", name))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}

func style() string { return asset("colours.css") + asset("page.css") }

// script returns the page's script: one, so that its parts see each other, and nothing else does.
func script() string {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		b.WriteString(asset(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

// escape returns a text for HTML and for its attributes in double quotes.
func escape(text string) string { return html.EscapeString(valid(text)) }

// HTMLHashes returns the sources, 'sha256-…', that the style and the script of each page of WriteHTML have in its
// Content-Security-Policy. A page that shows one in a frame, and hands its own policy down to it, has to have them,
// too.
func HTMLHashes() (styleHash, scriptHash string) {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return hash(style()), hash(script())
}

// policy is the page's Content-Security-Policy. Connect is where it may ask for more, "" for nowhere.
func policy(connect string) string {
	style, script := HTMLHashes()
	if connect != "" {
		connect = "; connect-src " + connect
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s%s; base-uri 'none'; form-action 'none'", style, script, connect)
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
