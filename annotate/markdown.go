package annotate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// markdownLines is how many lines WriteMarkdown shows unless Options.Top says: what a
// comment on a pull request can hold.
const markdownLines = 20

// WriteMarkdown writes tables as GitHub has them (GFM, "Tables"): of functions, and,
// folded up, of lines, 20 if Options.Top does not say how many.
func (r *Report) WriteMarkdown(w io.Writer) error { return buffered(w, r.writeMarkdown) }

func (r *Report) writeMarkdown(w *bufio.Writer) error {
	total := newGrid(r, "")
	total.add(r, r.Total, r.Total, "total")
	if r.Filtered.Counts != nil {
		total.add(r, r.Filtered, r.Total, "left out by --only or --focus")
	}
	if r.OmittedFunctions > 0 {
		text := fmt.Sprintf("not shown: %d functions", r.OmittedFunctions)
		if len(r.Functions) == 0 && r.thresholdLeftOut() {
			text += " (--threshold=0 shows them)"
		}
		total.add(r, r.notShown(), r.Total, text)
	}
	functions := r.functionGrid()
	functions.rows = append(total.rows, functions.rows...)
	functions.markdown(w, r, 1, len(total.rows))
	for _, warning := range r.newerWarnings() {
		w.WriteString("\n" + MarkdownText(warning) + "\n")
	}

	g := r.lineGrid(cmp.Or(r.o.Top, markdownLines))
	if len(g.rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n<details><summary>Lines</summary>\n\n")
	g.markdown(w, r, 2, 0)
	w.WriteString("\n</details>\n")
	return nil
}

// markdown writes a grid, the last columns of which are texts. The texts of the
// first rows are plain, those of the others code.
func (g *grid) markdown(w *bufio.Writer, r *Report, texts, plain int) {
	numbers := len(g.heading) - texts
	for _, cell := range g.heading {
		w.WriteString("| " + MarkdownText(cell) + " ")
	}
	w.WriteString("|\n")
	for i := range g.heading {
		if i < numbers {
			w.WriteString("|---:")
		} else {
			w.WriteString("|---")
		}
	}
	w.WriteString("|\n")
	for n, row := range g.rows {
		for i, cell := range row {
			switch {
			case i < numbers:
			case n < plain:
				cell = "**" + cell + "**"
			default:
				cell = markdownCode(cell)
			}
			w.WriteString("| " + cell + " ")
		}
		w.WriteString("|\n")
	}
}

// shortened cuts a text that is too long for a cell in its middle: names of C++'s templates have a thousand characters
// and more.
func shortened(s string) string {
	const most, end = 160, 60
	text := []rune(s)
	if len(text) <= most {
		return s
	}
	return string(text[:most-end-1]) + "…" + string(text[len(text)-end:])
}

// markdownEscapes takes from characters what they mean in markdown. A comment keeps what is behind @ from being told of
// it.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "~", `\~`, "$", `\$`, "@", "@<!-- -->",
)

// MarkdownText makes a text of s in which nothing is markup, for a table's cell, too: a name, or what a program said.
func MarkdownText(s string) string { return markdownEscapes.Replace(printable(s)) }

// printable has blanks in the place of control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// markdownCode is MarkdownCode for a cell, which a bar ends even in code.
func markdownCode(s string) string { return strings.ReplaceAll(MarkdownCode(s), "|", `\|`) }

// MarkdownCode makes a code span of a name, which is cut in its middle if it is too long: the backticks around it are
// more than any in it has in a row.
func MarkdownCode(s string) string {
	s = printable(shortened(s))
	if strings.TrimSpace(s) == "" {
		return ""
	}
	s = strings.TrimSpace(s)
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}
