package dwarfmap

import (
	"strconv"
	"strings"
)

// Rust's names are demangled as libiberty does it (rust-demangle.c), without
// DMGL_VERBOSE: hashes, disambiguators of crates and types of constants are not
// shown. The grammar is that of the Rust reference, "Symbol Mangling", v0.

const maxRustDepth = 1024 // libiberty's RUST_MAX_RECURSION_COUNT

// A rustName demangles a name of version 0.
type rustName struct {
	sym      string
	next     int
	out      strings.Builder
	skipping bool // parse, do not print
	failed   bool
	depth    int
	steps    int // so many places of the grammar were entered
	// lifetimes counts those bound by `for<…>` around this place.
	lifetimes uint64
}

// demangleRust demangles what follows _R, and returns what that took.
func demangleRust(sym string) (s string, steps int, ok bool) {
	if sym == "" || sym[0] < 'A' || sym[0] > 'Z' {
		return "", 0, false
	}
	sym, _, _ = strings.Cut(sym, ".") // suffixes are dropped
	for _, c := range []byte(sym) {
		if !isAlnum(c) && c != '_' {
			return "", 0, false
		}
	}
	r := rustName{sym: sym}
	r.path(true)
	if !r.failed && r.next < len(sym) {
		r.skipping = true // the crate that made the instance
		r.path(false)
	}
	steps = r.steps + r.out.Len()
	if r.failed || r.next != len(sym) {
		return "", steps, false
	}
	return r.out.String(), steps, true
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (r *rustName) print(s string) {
	if r.failed || r.skipping {
		return
	}
	if r.out.Len()+len(s) > maxDemangled {
		r.failed = true
		return
	}
	r.out.WriteString(s)
}

func (r *rustName) printUint(n uint64) { r.print(strconv.FormatUint(n, 10)) }

func (r *rustName) fail() { r.failed = true }

// enter is called where the grammar recurs; leave undoes it.
func (r *rustName) enter() bool {
	r.depth++
	r.steps++
	// Back references can make a short name endless: by what they print, or without printing.
	if r.depth > maxRustDepth || r.steps > maxDemangled {
		r.fail()
	}
	return !r.failed
}

func (r *rustName) leave() { r.depth-- }

func (r *rustName) eat(c byte) bool {
	if r.next < len(r.sym) && r.sym[r.next] == c {
		r.next++
		return true
	}
	return false
}

// char returns the next character, 0 at the end, which fails.
func (r *rustName) char() byte {
	if r.next >= len(r.sym) {
		r.fail()
		return 0
	}
	r.next++
	return r.sym[r.next-1]
}

// base62 reads <base-62-number>.
func (r *rustName) base62() uint64 {
	if r.eat('_') {
		return 0
	}
	n := uint64(0)
	for !r.failed && !r.eat('_') {
		c := r.char()
		n *= 62
		switch {
		case c >= '0' && c <= '9':
			n += uint64(c - '0')
		case c >= 'a' && c <= 'z':
			n += uint64(c-'a') + 10
		case c >= 'A' && c <= 'Z':
			n += uint64(c-'A') + 36
		default:
			r.fail()
		}
	}
	return n + 1
}

// optional reads a number that may follow tag; 0 if it does not.
func (r *rustName) optional(tag byte) uint64 {
	if !r.eat(tag) {
		return 0
	}
	return r.base62() + 1
}

func (r *rustName) disambiguator() uint64 { return r.optional('s') }

// ident reads <undisambiguated-identifier>.
func (r *rustName) ident() string {
	punycode := r.eat('u')
	c := r.char()
	if c < '0' || c > '9' {
		r.fail()
		return ""
	}
	n := int(c - '0')
	for c != '0' && r.next < len(r.sym) && r.sym[r.next] >= '0' && r.sym[r.next] <= '9' {
		if n = n*10 + int(r.char()-'0'); n > len(r.sym) {
			r.fail()
			return ""
		}
	}
	r.eat('_')
	if n > len(r.sym)-r.next {
		r.fail()
		return ""
	}
	name := r.sym[r.next : r.next+n]
	r.next += n
	if !punycode {
		return name
	}
	i := strings.LastIndexByte(name, '_')
	decoded, ok := decodePunycode(name[:max(i, 0)], name[i+1:])
	if !ok {
		r.fail()
	}
	return decoded
}

// backref calls f where a back reference leads.
func (r *rustName) backref(f func()) {
	to := r.base62()
	if r.skipping || r.failed {
		return
	}
	if to > uint64(len(r.sym)) {
		r.fail()
		return
	}
	back := r.next
	r.next = int(to)
	f()
	r.next = back
}

// list calls f for every element up to 'E', with sep between them, and returns
// how many there were.
func (r *rustName) list(sep string, f func()) int {
	n := 0
	for ; !r.failed && !r.eat('E'); n++ {
		if n > 0 {
			r.print(sep)
		}
		f()
	}
	return n
}

func (r *rustName) path(inValue bool) {
	defer r.leave()
	if !r.enter() {
		return
	}
	switch tag := r.char(); tag {
	case 'C':
		r.disambiguator()
		r.print(r.ident())
	case 'N':
		r.nested(inValue)
	case 'M', 'X':
		// The path of the impl block itself is not shown.
		r.disambiguator()
		was := r.skipping
		r.skipping = true
		r.path(inValue)
		r.skipping = was
		r.qualified(tag != 'M')
	case 'Y':
		r.qualified(true)
	case 'I':
		r.path(inValue)
		if inValue {
			r.print("::")
		}
		r.print("<")
		r.list(", ", r.genericArg)
		r.print(">")
	case 'B':
		r.backref(func() { r.path(inValue) })
	default:
		r.fail()
	}
}

// nested reads the rest of a path in another one.
func (r *rustName) nested(inValue bool) {
	ns := r.char()
	upper := ns >= 'A' && ns <= 'Z'
	if !upper && (ns < 'a' || ns > 'z') {
		r.fail()
		return
	}
	r.path(inValue)
	dis := r.disambiguator()
	name := r.ident()
	if !upper {
		if name != "" {
			r.print("::" + name)
		}
		return
	}
	kind := string(ns)
	switch ns {
	case 'C':
		kind = "closure"
	case 'S':
		kind = "shim"
	}
	r.print("::{" + kind)
	if name != "" {
		r.print(":" + name)
	}
	r.print("#")
	r.printUint(dis)
	r.print("}")
}

// qualified reads a type, and a trait if it is to be seen as one.
func (r *rustName) qualified(trait bool) {
	r.print("<")
	r.typ()
	if trait {
		r.print(" as ")
		r.path(false)
	}
	r.print(">")
}

func (r *rustName) genericArg() {
	switch {
	case r.eat('L'):
		r.lifetime(r.base62())
	case r.eat('K'):
		r.constant()
	default:
		r.typ()
	}
}

// lifetime prints a lifetime given by a De Bruijn index.
func (r *rustName) lifetime(index uint64) {
	r.print("'")
	switch depth := r.lifetimes - index; {
	case index == 0:
		r.print("_")
	case depth < 26:
		r.print(string(rune('a' + depth)))
	default:
		r.print("_")
		r.printUint(depth)
	}
}

// binder reads the lifetimes bound by `for<…>`; the caller restores r.lifetimes.
func (r *rustName) binder() {
	n := r.optional('G')
	if n == 0 {
		return
	}
	if r.skipping {
		r.lifetimes += n
		return
	}
	r.print("for<")
	for i := uint64(0); i < n && !r.failed; i++ {
		if i > 0 {
			r.print(", ")
		}
		r.lifetimes++
		r.lifetime(1)
	}
	r.print("> ")
}

var rustBasic = map[byte]string{
	'a': "i8", 'b': "bool", 'c': "char", 'd': "f64", 'e': "str", 'f': "f32", 'h': "u8",
	'i': "isize", 'j': "usize", 'l': "i32", 'm': "u32", 'n': "i128", 'o': "u128", 'p': "_",
	's': "i16", 't': "u16", 'u': "()", 'v': "...", 'x': "i64", 'y': "u64", 'z': "!",
}

func (r *rustName) typ() {
	defer r.leave()
	if !r.enter() {
		return
	}
	tag := r.char()
	if basic, ok := rustBasic[tag]; ok {
		r.print(basic)
		return
	}
	switch tag {
	case 'R', 'Q':
		r.print("&")
		if r.eat('L') {
			if index := r.base62(); index != 0 {
				r.lifetime(index)
				r.print(" ")
			}
		}
		if tag == 'Q' {
			r.print("mut ")
		}
		r.typ()
	case 'P':
		r.print("*const ")
		r.typ()
	case 'O':
		r.print("*mut ")
		r.typ()
	case 'A', 'S':
		r.print("[")
		r.typ()
		if tag == 'A' {
			r.print("; ")
			r.constant()
		}
		r.print("]")
	case 'T':
		r.print("(")
		if r.list(", ", r.typ) == 1 {
			r.print(",")
		}
		r.print(")")
	case 'F':
		r.fn()
	case 'D':
		r.dyn()
	case 'B':
		r.backref(r.typ)
	default:
		r.next--
		r.path(false)
	}
}

// fn reads the rest of a function type.
func (r *rustName) fn() {
	outer := r.lifetimes
	defer func() { r.lifetimes = outer }()
	r.binder()
	if r.eat('U') {
		r.print("unsafe ")
	}
	if r.eat('K') {
		abi := "C"
		if !r.eat('C') {
			if abi = r.ident(); abi == "" {
				r.fail()
			}
		}
		r.print(`extern "` + strings.ReplaceAll(abi, "_", "-") + `" `)
	}
	r.print("fn(")
	r.list(", ", r.typ)
	r.print(")")
	if !r.eat('u') {
		r.print(" -> ")
		r.typ()
	}
}

// dyn reads the rest of a trait object type.
func (r *rustName) dyn() {
	r.print("dyn ")
	outer := r.lifetimes
	r.binder()
	r.list(" + ", r.dynTrait)
	r.lifetimes = outer
	if !r.eat('L') {
		r.fail()
		return
	}
	if index := r.base62(); index != 0 {
		r.print(" + ")
		r.lifetime(index)
	}
}

func (r *rustName) dynTrait() {
	open := r.openPath()
	for r.eat('p') {
		if open {
			r.print(", ")
		} else {
			r.print("<")
		}
		open = true
		r.print(r.ident() + " = ")
		r.typ()
	}
	if open {
		r.print(">")
	}
}

// openPath reads a path and leaves its generic arguments, if it has any, open.
// It reports whether it has.
func (r *rustName) openPath() (open bool) {
	defer r.leave()
	if !r.enter() {
		return false
	}
	switch {
	case r.eat('B'):
		r.backref(func() { open = r.openPath() })
	case r.eat('I'):
		r.path(false)
		r.print("<")
		r.list(", ", r.genericArg)
		open = true
	default:
		r.path(false)
	}
	return open
}

func (r *rustName) constant() {
	defer r.leave()
	if !r.enter() {
		return
	}
	if r.eat('B') {
		r.backref(r.constant)
		return
	}
	switch r.char() {
	case 'p':
		r.print("_")
	case 'h', 't', 'm', 'y', 'o', 'j':
		r.constUint()
	case 'a', 's', 'l', 'x', 'n', 'i':
		if r.eat('n') {
			r.print("-")
		}
		r.constUint()
	case 'b':
		switch digits := r.hex(); strings.TrimLeft(digits, "0") {
		case "":
			r.print("false")
		case "1":
			r.print("true")
		default:
			r.fail()
		}
	case 'c':
		r.constChar()
	default:
		r.fail()
	}
}

// hex reads hexadecimal digits and the underscore behind them.
func (r *rustName) hex() string {
	start := r.next
	for !r.failed && !r.eat('_') {
		if c := r.char(); (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			r.fail()
		}
	}
	if r.failed || r.next-1 == start {
		r.fail()
		return "0"
	}
	return r.sym[start : r.next-1]
}

func (r *rustName) constUint() {
	digits := r.hex()
	if len(digits) > 16 {
		// One character late, as libiberty does it.
		r.print("0x" + digits[1:] + "_")
		return
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		r.fail()
	}
	r.printUint(n)
}

func (r *rustName) constChar() {
	n, err := strconv.ParseUint(r.hex(), 16, 32)
	if err != nil {
		r.fail()
		return
	}
	r.print("'")
	switch {
	case n == '\t':
		r.print(`\t`)
	case n == '\r':
		r.print(`\r`)
	case n == '\n':
		r.print(`\n`)
	case n > ' ' && n < '~':
		r.print(string(rune(n)))
	default:
		r.print(`\u{` + strconv.FormatUint(n, 16) + "}")
	}
	r.print("'")
}
