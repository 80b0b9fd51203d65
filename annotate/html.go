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

//go:embed assets/page.html assets/page.css assets/page.js
var assets embed.FS

// WriteHTML writes one page that needs nothing else, no other file and no network:
// tables to sort and to search, and sources in which Options.Context lines stand
// around those with counts. It runs its own style and script only, whatever the
// names and sources in it are.
func (r *Report) WriteHTML(w io.Writer) error {
	// The page's policy has the hashes of its style and script. What it shows of the
	// report is a JSON text, see pageData, in which `<` does not occur.
	data, err := newPageData(r, r.o.Context).json()
	if err != nil {
		return err
	}
	// In one pass, so that nothing in a value is taken for a place.
	page := strings.NewReplacer(
		"{{title}}", escape(pageTitle(r)),
		"{{policy}}", escape(policy()),
		"{{style}}", asset("page.css"),
		"{{profiles}}", profilesHTML(r),
		"{{totals}}", totalsHTML(r),
		"{{data}}", string(data),
		"{{script}}", asset("page.js"),
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

// escape returns a text for HTML and for its attributes in double quotes.
func escape(text string) string { return html.EscapeString(valid(text)) }

// HTMLHashes returns the sources, 'sha256-…', that the style and the script of each page of WriteHTML have in its
// Content-Security-Policy. A page that shows one in a frame, and hands its own policy down to it, has to have them, too.
func HTMLHashes() (style, script string) {
	hash := func(name string) string {
		sum := sha256.Sum256([]byte(asset(name)))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return hash("page.css"), hash("page.js")
}

// policy is the page's Content-Security-Policy.
func policy() string {
	style, script := HTMLHashes()
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'", style, script)
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
