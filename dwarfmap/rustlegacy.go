package dwarfmap

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// hashLen is the length of the last part of a legacy Rust name, "17h" and 16
// hexadecimal digits.
const hashLen = 19

// demangleLegacyRust demangles a name of the scheme that borrowed _ZN…E from C++.
// Its mark is the hash at the end, which is not shown.
func demangleLegacyRust(name string) (string, bool) {
	sym, ok := strings.CutPrefix(name, "_ZN")
	if !ok {
		return "", false
	}
	for _, c := range []byte(sym) {
		if !isAlnum(c) && !strings.ContainsRune("_$.:@", rune(c)) {
			return "", false
		}
	}
	// The E may be followed by suffixes that begin with a dot.
	for end := len(sym); ; end = strings.LastIndexByte(sym[:end], '.') {
		if end <= hashLen {
			return "", false
		}
		if sym[end-1] == 'E' {
			sym = sym[:end-1]
			break
		}
	}
	if len(sym) <= hashLen || !isHash(sym[len(sym)-hashLen:]) {
		return "", false
	}
	sym = sym[:len(sym)-hashLen]
	var parts []string
	for sym != "" {
		digits := len(sym) - len(strings.TrimLeft(sym, "0123456789"))
		n, err := strconv.Atoi(sym[:digits])
		if err != nil || n == 0 || n > len(sym)-digits || sym[0] == '0' {
			return "", false
		}
		parts = append(parts, unescapeLegacy(sym[digits:digits+n]))
		sym = sym[digits+n:]
	}
	return strings.Join(parts, "::"), true
}

// isHash reports whether part is a hash, which has 5 different digits at least.
func isHash(part string) bool {
	digits, ok := strings.CutPrefix(part, "17h")
	seen := map[byte]bool{}
	for _, c := range []byte(digits) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
		seen[c] = true
	}
	return ok && len(seen) >= 5
}

var legacyEscapes = map[string]string{
	"C": ",", "SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")",
}

// unescapeLegacy resolves $LT$, $u20$, .. and . in a part of a name.
func unescapeLegacy(s string) string {
	if strings.HasPrefix(s, "_$") {
		s = s[1:] // put there so that the part begins like an identifier
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "$.")
		switch {
		case i < 0:
			i = len(s)
			fallthrough
		case i > 0:
			b.WriteString(s[:i])
			s = s[i:]
		case strings.HasPrefix(s, ".."):
			b.WriteString("::")
			s = s[2:]
		case s[0] == '.':
			b.WriteByte('.')
			s = s[1:]
		default:
			escape, rest, found := strings.Cut(s[1:], "$")
			text, ok := legacyEscape(escape)
			if !found || !ok {
				b.WriteString(s)
				return b.String()
			}
			b.WriteString(text)
			s = rest
		}
	}
	return b.String()
}

func legacyEscape(escape string) (string, bool) {
	if text, ok := legacyEscapes[escape]; ok {
		return text, true
	}
	if len(escape) != 3 || escape[0] != 'u' || escape != strings.ToLower(escape) {
		return "", false
	}
	n, err := strconv.ParseUint(escape[1:], 16, 8)
	return string(rune(n)), err == nil && n >= ' ' && n < 0x80
}

// maxPunycode is the length of the longest identifier that is decoded: each character may move all others.
const maxPunycode = 1024

// decodePunycode decodes RFC 3492 with the basic code points given apart.
func decodePunycode(basic, encoded string) (string, bool) {
	const base, tMin, tMax, skew, damp = 36, 1, 26, 38, 700
	out := []rune(basic)
	n, i, bias := 0x80, 0, 72
	if encoded == "" {
		return "", false
	}
	for first := true; encoded != ""; first = false {
		old := i
		for k, w := base, 1; ; k += base {
			if encoded == "" {
				return "", false
			}
			digit, ok := punycodeDigit(encoded[0])
			encoded = encoded[1:]
			if !ok || digit > (math.MaxInt32-i)/w {
				return "", false
			}
			i += digit * w
			t := min(max(k-bias, tMin), tMax)
			if digit < t {
				break
			}
			if w *= base - t; w > math.MaxInt32 {
				return "", false
			}
		}
		size := len(out) + 1
		delta := (i - old) / 2
		if first {
			delta = (i - old) / damp
		}
		delta += delta / size
		k := 0
		for ; delta > (base-tMin)*tMax/2; k += base {
			delta /= base - tMin
		}
		bias = k + (base-tMin+1)*delta/(delta+skew)
		n += i / size
		i %= size
		if n > utf8.MaxRune {
			return "", false
		}
		if len(out) == maxPunycode {
			return "", false
		}
		out = slices.Insert(out, i, rune(n))
		i++
	}
	return string(out), true
}

func punycodeDigit(c byte) (int, bool) {
	switch {
	case c >= 'a' && c <= 'z':
		return int(c - 'a'), true
	case c >= '0' && c <= '9':
		return int(c-'0') + 26, true
	}
	return 0, false
}
