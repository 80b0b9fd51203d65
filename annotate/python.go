package annotate

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/cgemu/cgemu/cgout"
)

// escapedByte is what Python makes of a byte that is no UTF-8: a lone surrogate
// (PEP 383).
const escapedByte = 0xdc00

// toRunes decodes UTF-8 and keeps what is none, so that fromRunes restores it.
func toRunes(s string) []rune {
	runes := make([]rune, 0, len(s))
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				r = escapedByte + rune(s[i])
			}
		}
		runes = append(runes, r)
	}
	return runes
}

func fromRunes(runes []rune) string {
	var b strings.Builder
	for _, r := range runes {
		if r >= escapedByte+0x80 && r <= escapedByte+0xff {
			b.WriteByte(byte(r - escapedByte))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quote returns s as Python's repr shows it.
func quote(s string) string {
	q := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		q = '"'
	}
	var b strings.Builder
	b.WriteRune(q)
	for _, r := range toRunes(s) {
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

var floatSyntax = regexp.MustCompile(`^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)([eE][+-]?\d+(_\d+)*)?$`)

// parseFloat reads a finite number as Python's float(s) does.
func parseFloat(s string) (float64, bool) {
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
	if !floatSyntax.MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil
}

// formatFloat returns the repr of a number below 1e16.
func formatFloat(f float64) string {
	if f != 0 && f < 1e-4 && f > -1e-4 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// osError returns the text of an OSError for a file.
func osError(err error, name string) string {
	code := syscall.Errno(0)
	switch {
	case errors.As(err, &code):
	case errors.Is(err, fs.ErrNotExist):
		code = syscall.ENOENT
	case errors.Is(err, fs.ErrPermission):
		code = syscall.EACCES
	default:
		return fmt.Sprintf("%v: %s", err, quote(name))
	}
	text := code.Error()
	return fmt.Sprintf("[Errno %d] %s: %s", int(code), strings.ToUpper(text[:1])+text[1:], quote(name))
}
