package cgemu

import (
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
)

// Regions says which parts of a run count, apart from what the program itself asks for by client
// requests. Functions are patterns, in which `*` stands for any text and `?` for any character. They are
// compared with symbols, with names as in the source, and with those without their parameters.
type Regions struct {
	// NotInstr begins without counting and without simulation, up to a request to start.
	NotInstr bool
	// NotCollecting begins with simulation and without counting, up to a request to toggle.
	NotCollecting bool
	// Toggle are functions in which collection is the other way round, for the thread that is in
	// them, and in what they call; in functions of these called by others of these as it was.
	Toggle []string
	// From are functions the first entry of which starts counting and simulation, which are off
	// until then.
	From []string
	// To are functions the first entry of which, while counting and simulation are on, ends both.
	To []string
}

// interests returns what c watches for r.
func (r *Regions) interests(c *counted) []*interest {
	var list []*interest
	add := func(option string, patterns []string, entered func(in *interest, e entry)) {
		for _, p := range patterns {
			list = append(list, &interest{
				what:    fmt.Sprintf("--%s=%s", option, p),
				match:   func(f *function) bool { return f.matches(p) },
				entered: entered,
			})
		}
	}
	add("toggle-collect", r.Toggle, func(_ *interest, e entry) { e.w.enter(e, frame{toggles: true}) })
	started := false
	add("from", r.From, func(in *interest, _ entry) {
		if in.done = true; !started {
			started, c.instr = true, true
		}
	})
	ended := false
	add("to", r.To, func(in *interest, _ entry) {
		if ended {
			in.done = true
		} else if c.instr {
			in.done, ended, c.instr = true, true, false
		}
	})
	return list
}

// A function is one that an object holds.
type function struct {
	symbol string
	name   string // demangled, once it was asked for
}

// matches reports whether a pattern names f.
func (f *function) matches(pattern string) bool {
	if glob(pattern, f.symbol) {
		return true
	}
	if f.name == "" {
		f.name = dwarfmap.Demangled(f.symbol)
	}
	return f.name != f.symbol && (glob(pattern, f.name) || glob(pattern, withoutParameters(f.name)))
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

// glob reports whether pattern, in which `*` stands for any text and `?` for any byte, matches s.
func glob(pattern, s string) bool {
	star, mark, p := -1, 0, 0
	for i := 0; i < len(s); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// counting is what counts while cpu's thread runs.
func (c *counted) counting(cpu *emu.CPU) emu.Counting {
	switch {
	case c.silent:
		return emu.CountAll
	case !c.instr:
		return emu.CountOff
	case c.collecting == c.watch.toggled(cpu):
		return emu.CountNothing
	default:
		return emu.CountAll
	}
}
