package funcwatch

import (
	"strings"

	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/internal/glob"
)

// A Function is one that an object holds.
type Function struct {
	Symbol string
	name   string // demangled, once it was asked for
}

// Matches reports whether a pattern names f: `*` stands for any text, `?` for any character. It is compared with the
// symbol, with the name as in the source, and with that without its parameters.
func (f *Function) Matches(pattern string) bool {
	if glob.Match(pattern, f.Symbol) {
		return true
	}
	if f.name == "" {
		f.name = dwarfmap.Demangled(f.Symbol)
	}
	return f.name != f.Symbol && (glob.Match(pattern, f.name) || glob.Match(pattern, withoutParameters(f.name)))
}

// Qualified returns the function's name without its parameters if a pattern is the end of it: a method, say, or one of
// a namespace or package, without that. Arguments of templates need not be there.
func (f *Function) Qualified(pattern string) (name string, ok bool) {
	if name = dwarfmap.Demangled(f.Symbol); name != f.Symbol { // else Go's (*Server).Serve has none, for one
		name = withoutParameters(name)
	}
	plain := withoutArguments(name)
	return name, glob.Match("*::"+pattern, plain) || glob.Match("*."+pattern, plain)
}

// withoutArguments returns a name without the arguments of templates.
func withoutArguments(name string) string {
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// withoutParameters returns the name of a C++ function without its parameter list and what
// follows it.
func withoutParameters(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i] != '(' {
			continue
		}
		rest := name[i:]
		switch {
		case strings.HasPrefix(rest, "(anonymous namespace)"):
			i += len("(anonymous namespace)") - 1
		case strings.HasPrefix(rest, "()") && strings.HasSuffix(name[:i], "operator"):
			i++
		default:
			return name[:i]
		}
	}
	return name
}
