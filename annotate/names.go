package annotate

import (
	"regexp"
	"strings"
	"sync"
)

// hashes are what compilers add to the names of functions, and change from one
// build to the next: of Rust (`::h0123456789abcdef`, and mangled `17h…E`), LLVM
// (`.llvm.123`), and the clones of GCC and LLVM. A demangler writes a clone as
// ` [clone .cold]`, older ones as ` (.cold)`.
var hashes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`::h[0-9a-f]{16}\b|17h[0-9a-f]{16}E` +
		`| \[clone [^\]]*\]| \(\.(?:` + clone + `)\)|\.(?:` + clone + `)(?:$|\b)`)
})

// clone is without the dot in front. (Go has functions like main.part, so that a
// number must follow where compilers put one.)
const clone = `(?:llvm|constprop|isra|part|lto_priv)\.[0-9]+|(?:cold|localalias)(?:\.[0-9]+)?`

// StripHash returns the name of a function without what compilers add to it and
// change from build to build: see Options.
func StripHash(name string) string {
	if !strings.ContainsAny(name, ".h[") {
		return name
	}
	return hashes().ReplaceAllStringFunc(name, func(s string) string {
		if strings.HasPrefix(s, "17h") {
			return "E" // ends the path of a mangled name
		}
		return ""
	})
}
