package usage

import (
	"fmt"
	"strings"
)

// Man returns the manual page in the language of troff's macros man(7). Version and date stand in its foot; the date
// may be empty.
func (c *Command) Man(version, date string) string {
	var b strings.Builder
	page := strings.ReplaceAll(c.Name, " ", "-")
	fmt.Fprintf(&b, ".\\\" Made by: cgemu help --man\n.TH %s 1 %q %q\n", strings.ToUpper(page), date, "cgemu "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(page), roff(c.Title))
	b.WriteString(".SH SYNOPSIS\n.nf\n")
	for _, s := range c.Synopsis {
		fmt.Fprintf(&b, "\\fB%s\\fP %s\n", roff(c.Name), roff(s))
	}
	b.WriteString(".fi\n.SH DESCRIPTION\n")
	for i, p := range c.About {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(paragraph(p))
	}
	c.manOptions(&b)
	for _, s := range c.Sections {
		fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper(s.Title)))
		if len(s.Lines) > 0 {
			b.WriteString(".nf\n")
			for _, line := range s.Lines {
				b.WriteString(`\&` + roff(line) + "\n")
			}
			b.WriteString(".fi\n")
		}
		for _, r := range s.Rows {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s", roff(r.Name), paragraph(r.Text))
		}
	}
	if len(c.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
		for _, r := range c.Examples {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s", roff(r.Name), paragraph(r.Text))
		}
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, s := range c.SeeAlso {
		end := ","
		if i == len(c.SeeAlso)-1 {
			end = ""
		}
		name, section, _ := strings.Cut(s, "(")
		fmt.Fprintf(&b, ".BR %s (%s%s\n", roff(name), section, end)
	}
	return b.String()
}

func (c *Command) manOptions(b *strings.Builder) {
	if len(c.Groups) == 0 {
		return
	}
	b.WriteString(".SH OPTIONS\n")
	for _, g := range c.Groups {
		if len(c.Groups) > 1 {
			fmt.Fprintf(b, ".SS %s\n", roff(g.Title))
		}
		for i := range g.Options {
			o := &g.Options[i]
			fmt.Fprintf(b, ".TP\n%s\n%s", o.manTitle(), paragraph(o.Text))
		}
	}
}

// manTitle is Title with the names in bold.
func (o *Option) manTitle() string {
	title := o.Title()
	for _, name := range o.Names {
		title = strings.Replace(title, name, "\x01"+name+"\x02", 1)
	}
	return strings.NewReplacer("\x01", `\fB`, "\x02", `\fP`).Replace(roff(title))
}

// paragraph returns text as lines that are no requests of troff.
func paragraph(text string) string {
	var b strings.Builder
	for line := range strings.Lines(wrap(roff(text), 0, width)) {
		if strings.HasPrefix(line, ".") {
			b.WriteString(`\&`)
		}
		b.WriteString(line)
	}
	return b.String()
}

// roff escapes text. Hyphens are those of the keyboard: what is in a manual is copied from there.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
}
