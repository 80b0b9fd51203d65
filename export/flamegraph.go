package export

import (
	_ "embed" // the script
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cgemu/cgemu/cgout"
)

//go:embed flamegraph.js
var flameScript string

// Sizes in an SVG, in its pixels. flamegraph.js has the same.
const (
	flameWidth  = 1200
	flameMargin = 10
	flameRow    = 17
	flameTop    = 46
	flameBottom = 30
	flameChar   = 6.6 // a character of the font
	flameLeast  = 0.2 // what is narrower is not drawn
)

const flameStyle = `svg{font:11px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;background:#fff;color:#222}
text{fill:currentColor;pointer-events:none}
.f{cursor:pointer}.f rect{stroke:#fff;stroke-width:.5}.f text{fill:#111}
.f:hover rect,.f:focus rect{stroke:#000;stroke-width:1.5}.f:focus{outline:none}
.above{opacity:.55}.hit rect{fill:#d63ad6!important}
.b{cursor:pointer;text-decoration:underline;pointer-events:auto}#title{font-size:15px}
@media (prefers-color-scheme:dark){svg{background:#1b1b1f;color:#ddd}.f rect{stroke:#1b1b1f}.f:hover rect,.f:focus rect{stroke:#fff}}
`

// A flame is a frame to be drawn.
type flame struct {
	*node
	at    uint64 // counts to the left of it
	depth int
}

// flamegraph writes an SVG by itself: the root is at the bottom, the width of a frame is its inclusive cost of the
// first event. It can be zoomed and searched in a browser.
func (x *exporter) flamegraph() error {
	s, err := x.stacks(x.columns[:1])
	if err != nil {
		return err
	}
	total := s.totals[0]
	scale := 0.0
	if total > 0 {
		scale = (flameWidth - 2*flameMargin) / float64(total)
	}
	var flames []flame
	deepest := 0
	for list := []flame{{s.root, 0, 0}}; len(list) > 0; {
		f := list[len(list)-1]
		list = list[:len(list)-1]
		if total == 0 || float64(f.inclusive[0])*scale < flameLeast {
			continue
		}
		flames = append(flames, f)
		deepest = max(deepest, f.depth)
		at := f.at
		for _, c := range f.children {
			list = append(list, flame{c, at, f.depth + 1})
			at += c.inclusive[0]
		}
	}
	height := flameTop + (deepest+1)*flameRow + flameBottom
	event := x.events()[0]
	fmt.Fprintf(x, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" data-total=\"%d\">\n",
		flameWidth, height, flameWidth, height, total)
	fmt.Fprintf(x, "<title>%s</title>\n<style><![CDATA[\n%s]]></style>\n", xmlText(x.p.Cmd), flameStyle)
	fmt.Fprintf(x, "<text id=\"title\" x=\"%d\" y=\"22\">%s: %s</text>\n", flameMargin, xmlText(event), xmlText(shortened(x.p.Cmd, 100)))
	fmt.Fprintf(x, "<text id=\"reset\" class=\"b\" x=\"%d\" y=\"38\" style=\"display:none\">reset zoom</text>\n", flameMargin)
	fmt.Fprintf(x, "<text id=\"search\" class=\"b\" x=\"%d\" y=\"22\">search (/)</text>\n", flameWidth-90)
	fmt.Fprintf(x, "<text id=\"matched\" x=\"%d\" y=\"%d\"></text>\n<text id=\"details\" x=\"%d\" y=\"%d\"></text>\n", flameWidth-150, height-10, flameMargin, height-10)
	for _, f := range flames {
		x.flame(f, event, total, scale, height-flameBottom-(f.depth+1)*flameRow)
	}
	fmt.Fprintf(x, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flameScript)
	return nil
}

// flame draws a frame.
func (x *exporter) flame(f flame, event string, total uint64, scale float64, y int) {
	name, color, where := "all", "#c8c8c8", ""
	if f.parent != nil {
		name, color = f.name, f.color()
		if file := f.knownFile(); file != "" {
			where = " (" + file + ")"
		}
	}
	count := f.inclusive[0]
	left, width := flameMargin+float64(f.at)*scale, float64(count)*scale
	title := fmt.Sprintf("%s%s: %s %s, %.2f%%", name, where, grouped(count), event, 100*float64(count)/float64(total))
	text := ""
	if n := int((width - 6) / flameChar); n >= 3 {
		text = shortened(name, n)
	}
	fmt.Fprintf(x, `<g class="f" tabindex="0" data-x="%d" data-w="%d" data-d="%d" data-n="%s"><title>%s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" rx="1" fill="%s"/><text x="%.2f" y="%d">%s</text></g>`+"\n",
		f.at, count, f.depth, xmlText(name), xmlText(title), left, y, width, flameRow-1, color, left+3, y+12, xmlText(text))
}

// color is a frame's: functions of one object have similar ones.
func (f *frame) color() string {
	switch f.kind {
	case markFrame:
		return "hsl(0,0%,75%)"
	case lineFrame:
		return "hsl(200,30%,80%)"
	}
	hash := func(s string) uint32 {
		h := fnv.New32a()
		h.Write([]byte(s))
		return h.Sum32()
	}
	hue := uint32(45) // what has no object
	if o := f.fn.Object; o != cgout.Unknown {
		hue = hash(o) % 360
	}
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", (hue+hash(f.name)%24)%360, 60+hash(f.name)/24%25, 68+hash(f.name)/600%12)
}

// shortened returns a text of n characters at most.
func shortened(s string, n int) string {
	r := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:max(0, n-2)]) + ".."
}

// grouped returns a count with commas.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// xmlText returns a text as it stands in XML, where most control characters cannot.
func xmlText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r < ' ' && r != '\t' || r == 0xFFFE || r == 0xFFFF:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
