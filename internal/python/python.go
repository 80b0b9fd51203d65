// Package python writes and reads texts as Python does, in which Valgrind's
// cg_annotate is written: repr and str of values, and float.
//
// It makes no promise: only this module's packages use it.
package python

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/cgemu/cgemu/cgout"
)

// EscapedByte is what Python adds to a byte that is no UTF-8: it makes a lone surrogate
// (PEP 383).
const EscapedByte = 0xdc00

// Decode decodes UTF-8 and keeps what is none, so that Encode restores it.
func Decode(s string) []rune {
	runes := make([]rune, 0, len(s))
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				r = EscapedByte + rune(s[i])
			}
		}
		runes = append(runes, r)
	}
	return runes
}

// Encode is the inverse of Decode.
func Encode(runes []rune) string {
	var b strings.Builder
	for _, r := range runes {
		if r >= EscapedByte+0x80 && r <= EscapedByte+0xff {
			b.WriteByte(byte(r - EscapedByte))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Quote returns repr(s).
func Quote(s string) string {
	q := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		q = '"'
	}
	var b strings.Builder
	b.WriteRune(q)
	for _, r := range Decode(s) {
		switch {
		case r == q || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(q)
	return b.String()
}

var floatSyntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)([eE][+-]?\d+(_\d+)*)?$`)
})

// ParseFloat reads a finite number as Python's float(s) does.
func ParseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r >= 0x1c && r <= 0x1f || unicode.IsSpace(r) })
	s = strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			if c, ok := cgout.ParseCount(string(r)); ok {
				n, _ := c.Int64()
				return '0' + rune(n)
			}
		}
		return r
	}, s)
	if !floatSyntax().MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil
}

// FormatFloat returns the repr of a number below 1e16.
func FormatFloat(f float64) string {
	if f != 0 && f < 1e-4 && f > -1e-4 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
