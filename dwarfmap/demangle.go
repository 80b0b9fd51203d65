package dwarfmap

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ianlancetaylor/demangle"
)

const (
	// maxMangled is the length of the longest name that is demangled: libiberty's limit for C++
	// (cp-demangle.c, DEMANGLE_RECURSION_LIMIT), and so Valgrind's. For Rust it has none, and rustc makes
	// longer ones.
	maxMangled     = 1024
	maxMangledRust = 16 << 10
	// maxDemangled is the length of the longest name that may come of that: names refer to parts of
	// themselves, and each may double what is in front of it.
	maxDemangled = 1 << maxDemangledBits
	// As many nodes may such a name have.
	maxDemangledBits = 16

	baseEffort    = 8 << 20
	effortPerByte = 64
)

// An effort bounds what demangling all names of an object takes, in characters that come of it or
// were refused: 8 MiB, and 64 for each character of a symbol.
type effort struct{ taken, granted int }

func (e *effort) exhausted() bool { return e.taken > e.granted+baseEffort }

// demangled returns the readable form of a C++ or Rust name as Valgrind prints
// it: libiberty's cplus_demangle with DMGL_ANSI|DMGL_PARAMS. Other names, those
// that cannot be demangled and those that take too much effort are returned as they are.
//
// TestOracleDemangle compares this with c++filt and lists what still differs.
func (e *effort) demangled(name string) string {
	if e.exhausted() {
		return name
	}
	e.granted += effortPerByte * len(name)
	switch {
	case strings.HasPrefix(name, "_R") && len(name) <= maxMangledRust:
		s, steps, ok := demangleRust(name[2:])
		if e.taken += steps; ok {
			return s
		}
	case strings.HasPrefix(name, "_Z"):
		if len(name) <= maxMangledRust {
			if s, ok := demangleLegacyRust(name); ok {
				return s
			}
		}
		if len(name) <= maxMangled {
			s, steps, ok := demangleCxx(name)
			if e.taken += steps; ok {
				return s
			}
		}
	}
	return name
}

// emptyPack stands for a template argument that is an empty pack.
const emptyPack = "\x01"

// demangleCxx demangles a name of the Itanium C++ ABI, and returns what that took. The library prints as
// libiberty does, but for what is mended here.
func demangleCxx(name string) (s string, steps int, ok bool) {
	// The library panics where a name refers to a template parameter that there is not, among others.
	defer func() {
		if recover() != nil {
			s, steps, ok = "", max(steps, len(name)), false
		}
	}()
	// Where a template parameter that is cast to has arguments the library reads these twice, and what is in
	// them four times.
	if len(name)<<min(strings.Count(name, "cvT"), 16) > maxDemangled {
		return "", len(name), false
	}
	ast, err := toAST(name)
	if err != nil {
		return "", len(name), false
	}
	// Substitutions make it a graph. Here it is walked as the tree that is printed.
	ast.Traverse(func(demangle.AST) bool {
		steps++
		return steps <= maxDemangled
	})
	if steps > maxDemangled {
		return "", steps, false
	}
	m := mender{steps: steps}
	if mended := ast.Copy(m.mend, func(demangle.AST) bool { return m.steps > maxDemangled }); mended != nil {
		ast = mended
	}
	s = m.print(ast)
	if m.steps > maxDemangled {
		return "", m.steps, false
	}
	// libiberty writes a comma, then the pack, and takes the comma back if the
	// pack was empty. It then believes that it wrote a blank last, and does not
	// part two closing brackets (cp-demangle.c, DEMANGLE_COMPONENT_TEMPLATE_ARGLIST).
	s = strings.ReplaceAll(s, ", "+emptyPack, "")
	return strings.ReplaceAll(s, emptyPack, ""), m.steps, true
}

// A mender changes what the library prints otherwise than libiberty. Its steps are the nodes seen and the
// characters printed.
type mender struct{ steps int }

// print returns the text of a node, of maxDemangled characters at most.
func (m *mender) print(ast demangle.AST) string {
	s := demangle.ASTToString(ast, demangle.MaxLength(maxDemangledBits))
	m.steps += len(s)
	return s
}

// An srOrName is an identifier's length, or "sr" in front of one; or digits that are neither.
var srOrName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`sr[N1-9]|(L[a-z]|[AST_])?[0-9]+`)
})

// markQualifiers puts "Ts", which says that a type follows, behind each "sr" of a mangled name.
func markQualifiers(name string) string {
	var b strings.Builder
	for {
		m := srOrName().FindStringIndex(name)
		if m == nil {
			b.WriteString(name)
			return b.String()
		}
		end := m[1]
		if strings.HasPrefix(name[m[0]:], "sr") {
			b.WriteString(name[:m[0]] + "srTs")
			name = name[m[0]+2:]
			continue
		}
		if n, err := strconv.Atoi(name[m[0]:end]); err == nil && n <= len(name)-end {
			end += n
		}
		b.WriteString(name[:end])
		name = name[end:]
	}
}

// toAST parses a name as libiberty does. "sr" is followed by a type there (cp-demangle.c,
// d_expression_1), as GCC writes it; the library takes a name behind it for the qualifiers of
// the ABI and miscounts the substitutions. As an elaborated type it is read as a type.
func toAST(name string) (demangle.AST, error) {
	if m := markQualifiers(name); m != name {
		ast, err := demangle.ToAST(m, demangle.NoRust)
		if err == nil {
			return ast, nil
		}
	}
	return demangle.ToAST(name, demangle.NoRust)
}

// mend changes one node of a name, or returns nil.
func (m *mender) mend(ast demangle.AST) demangle.AST {
	switch a := ast.(type) {
	case *demangle.Template:
		if args, changed := markEmpty(a.Args); changed {
			return &demangle.Template{Name: a.Name, Args: args}
		}
	case *demangle.ArgumentPack:
		if args, changed := markEmpty(a.Args); changed && len(a.Args) > 1 {
			return &demangle.ArgumentPack{Args: args}
		}
	case *demangle.Unary:
		// libiberty leaves out the parameters of &ns::fn only (d_print_comp_inner,
		// DEMANGLE_COMPONENT_UNARY); the library those of all functions.
		op, isOp := a.Op.(*demangle.Operator)
		fn, isTyped := a.Expr.(*demangle.Typed)
		if !isOp || op.Name != "&" || !isTyped {
			return nil
		}
		if _, qualified := fn.Name.(*demangle.Qualified); !qualified {
			return &demangle.Unary{Op: a.Op, Expr: &demangle.Name{Name: "(" + m.print(fn) + ")"}}
		}
	case *demangle.ElaboratedType:
		return a.Type // GCC writes none: it is from toAST
	case *demangle.Constructor:
		// libiberty names an inherited constructor after the class that it
		// saw last, which is the base.
		if a.Base != nil {
			if last := lastName(a.Base); last != nil {
				return &demangle.Constructor{Name: last, Base: a.Base}
			}
		}
	}
	return nil
}

// markEmpty replaces empty packs behind the first argument.
func markEmpty(args []demangle.AST) ([]demangle.AST, bool) {
	var out []demangle.AST
	for i, arg := range args {
		if i > 0 && isEmptyPack(arg) {
			if out == nil {
				out = append(out, args...)
			}
			out[i] = &demangle.Name{Name: emptyPack}
		}
	}
	return out, out != nil
}

func isEmptyPack(ast demangle.AST) bool {
	switch a := ast.(type) {
	case *demangle.ArgumentPack:
		for _, arg := range a.Args {
			if !isEmptyPack(arg) {
				return false
			}
		}
		return true
	case *demangle.ExprList:
		return len(a.Exprs) == 0
	case *demangle.PackExpansion:
		return a.Pack != nil && len(a.Pack.Args) == 0
	}
	return false
}

// lastName returns the last part of a class's name, nil if it has none.
func lastName(ast demangle.AST) demangle.AST {
	switch a := ast.(type) {
	case *demangle.Name:
		return a
	case *demangle.Qualified:
		return lastName(a.Name)
	case *demangle.Template:
		return lastName(a.Name)
	case *demangle.TaggedName:
		return lastName(a.Name)
	}
	return nil
}
