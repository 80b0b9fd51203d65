package annotate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns a text with \x1b and the like for characters that could make a terminal do something: names
// in profiles may come from programs that nobody trusts. Tabs and form feeds, which sources have, stay.
func Visible(s string) string {
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
