package cgout

import (
	"bytes"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The format has no specification but cg_annotate, a Python program. So white
// space, digits and integers are what Python's str.split, str.isdigit and int
// take them to be.

// maxDigits is the longest number int() converts (sys.int_info,
// default_max_str_digits, Python 3.11 and later).
const maxDigits = 4300

// ParseCount reads an integer as Python's int(s) does: blanks around it, an
// optional sign, decimal digits of any script, single underscores between
// digits. It reports whether s is one.
func ParseCount(s string) (Count, bool) {
	if n, ok := parseSmall(s); ok {
		return Count{n: n}, true
	}
	s = strings.TrimFunc(s, isSpace)
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	digits := make([]byte, 0, len(s))
	underscore := true // not allowed here: at the start, or after another one
	for _, r := range s {
		if r == '_' && !underscore {
			underscore = true
			continue
		}
		d := digitVal(r)
		if d < 0 || len(digits) == maxDigits {
			return Count{}, false
		}
		digits = append(digits, byte('0'+d))
		underscore = false
	}
	if underscore {
		return Count{}, false
	}
	b, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		panic("BUG: digits that are none: " + string(digits))
	}
	if neg {
		b.Neg(b)
	}
	return norm(b), true
}

// parseSmall reads 1 to 18 ASCII digits, which is nearly every number there is.
func parseSmall[T string | []byte](s T) (int64, bool) {
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	return n, true
}

// digitVal returns the value of a decimal digit of any script, or -1.
func digitVal(r rune) int {
	switch {
	case r >= '0' && r <= '9':
		return int(r - '0')
	case r < 0x80:
		return -1
	}
	// Decimal digits come in runs of ten beginning with a zero (Unicode core
	// specification, "Decimal Digits"); a range of the table holds whole runs.
	for _, rg := range unicode.Nd.R16 {
		if r <= rune(rg.Hi) {
			if r < rune(rg.Lo) {
				return -1
			}
			return int(r-rune(rg.Lo)) % 10
		}
	}
	for _, rg := range unicode.Nd.R32 {
		if r >= rune(rg.Lo) && r <= rune(rg.Hi) {
			return int(r-rune(rg.Lo)) % 10
		}
	}
	return -1
}

// otherDigits are the characters that str.isdigit accepts and int does not:
// Numeric_Type=Digit (superscripts, circled digits and the like).
var otherDigits = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0xb2, Hi: 0xb3, Stride: 1}, {Lo: 0xb9, Hi: 0xb9, Stride: 1},
		{Lo: 0x1369, Hi: 0x1371, Stride: 1}, {Lo: 0x19da, Hi: 0x19da, Stride: 1},
		{Lo: 0x2070, Hi: 0x2070, Stride: 1}, {Lo: 0x2074, Hi: 0x2079, Stride: 1},
		{Lo: 0x2080, Hi: 0x2089, Stride: 1}, {Lo: 0x2460, Hi: 0x2468, Stride: 1},
		{Lo: 0x2474, Hi: 0x247c, Stride: 1}, {Lo: 0x2488, Hi: 0x2490, Stride: 1},
		{Lo: 0x24ea, Hi: 0x24ea, Stride: 1}, {Lo: 0x24f5, Hi: 0x24fd, Stride: 1},
		{Lo: 0x24ff, Hi: 0x24ff, Stride: 1}, {Lo: 0x2776, Hi: 0x277e, Stride: 1},
		{Lo: 0x2780, Hi: 0x2788, Stride: 1}, {Lo: 0x278a, Hi: 0x2792, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x10a40, Hi: 0x10a43, Stride: 1}, {Lo: 0x10e60, Hi: 0x10e68, Stride: 1},
		{Lo: 0x11052, Hi: 0x1105a, Stride: 1}, {Lo: 0x1f100, Hi: 0x1f10a, Stride: 1},
	},
	LatinOffset: 2,
}

// startsWithDigit reports whether str.isdigit holds for the first character.
func startsWithDigit(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	if b[0] < utf8.RuneSelf {
		return b[0] >= '0' && b[0] <= '9'
	}
	r, _ := utf8.DecodeRune(b)
	return digitVal(r) >= 0 || unicode.Is(otherDigits, r)
}

// isSpace is Python's str.isspace; Go's unicode.IsSpace lacks U+001C to U+001F.
func isSpace(r rune) bool {
	return r >= 0x1c && r <= 0x1f || unicode.IsSpace(r)
}

// cutField returns the first field of b in the sense of str.split, and the rest.
func cutField(b []byte) (field, rest []byte) {
	// ASCII first: decoding every character made reading 4 times slower
	// (BenchmarkRead).
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	for j := i; ; j++ {
		if j == len(b) {
			return b[i:], nil
		}
		if c := b[j]; c == ' ' && j > i {
			return b[i:j], b[j:]
		} else if c <= ' ' || c >= utf8.RuneSelf {
			break
		}
	}
	b = bytes.TrimLeftFunc(b, isSpace)
	if i := bytes.IndexFunc(b, isSpace); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}
