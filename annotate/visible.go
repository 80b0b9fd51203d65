package annotate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// visible returns a text with \\x1b and the like for characters that could make a terminal do something: names
// in profiles may come from programs that nobody trusts. Tabs and form feeds, which sources have, stay.
func visible(s string) string {
	i := 0
	for i < len(s) && (s[i] >= ' ' && s[i] < 0x7f || s[i] == '\t' || s[i] == '\f') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\t' || r == '\f' || r >= ' ' && r < 0x7f || r >= 0xa0 && r != utf8.RuneError:
			b.WriteString(s[i : i+size])
		case size == 1 && s[i] >= 0xa0 || r == utf8.RuneError && size > 1:
			b.WriteString(s[i : i+size]) // no UTF-8, but no control character either
		case size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			fmt.Fprintf(&b, `\u%04x`, r) // U+0080 to U+009F
		}
		i += size
	}
	return b.String()
}

// visible makes a text visible that goes to a terminal. Files get what cg_annotate writes.
func (v *viewOptions) visible(s string) string {
	if !v.onTerminal {
		return s
	}
	return visible(s)
}

// A visibleWriter writes what is data (a profile, CSV) to a terminal.
type visibleWriter struct {
	w io.Writer
	// rest is the beginning of a character of which the end is not written yet.
	rest []byte
}

// data returns a writer for what programs read, profiles or CSV, that is to go to w.
func (v *viewOptions) data(w io.Writer) io.Writer {
	if v.onTerminal {
		return &visibleWriter{w: w}
	}
	return w
}

// Write implements io.Writer.
func (v *visibleWriter) Write(b []byte) (int, error) {
	text := append(v.rest, b...)
	end := len(text)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			end = i
		}
	}
	v.rest = slices.Clone(text[end:])
	lines := strings.Split(string(text[:end]), "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	if _, err := io.WriteString(v.w, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}
