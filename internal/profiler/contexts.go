package profiler

import (
	"slices"
	"strings"

	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/internal/funcwatch"
	"github.com/cgemu/cgemu/internal/numbering"
)

// CallersOf is how many callers tell functions apart that a pattern names (see Regions). Of several patterns that do,
// the largest number counts.
type CallersOf struct {
	Pattern string
	Callers int
}

// SeparatedBy is how many callers the engine has to tell apart for each function.
func (cfg *Config) SeparatedBy() int {
	n := cfg.Callers
	for _, of := range cfg.CallersOf {
		n = max(n, of.Callers)
	}
	return n
}

// contextNames are what the functions of contexts are called, by number.
type contextNames struct {
	cfg *Config
	numbering.Table[contextName]
	// lists has what contexts consist of, nil if functions are not told apart by their callers.
	lists func(c callgraph.Context) []uint32
	// suffixes has what is added to the names of functions in contexts.
	suffixes map[callgraph.Context]string
	last     lastContext
}

// A contextName is what a function is called, and, of code in no object that has no name yet, an address of it.
type contextName struct {
	name string
	at   emu.Addr
}

// lastContext is a name that was made last: counts come in runs of one function.
type lastContext struct {
	context    callgraph.Context
	name, full string
}

func newContextNames(cfg *Config) contextNames {
	return contextNames{cfg: cfg, suffixes: map[callgraph.Context]string{}}
}

// number returns the number of a name.
func (t *contextNames) number(n contextName) uint32 {
	i, _ := t.Number(n)
	return uint32(i)
}

// callersOf is how many callers tell a function of some name apart.
func (t *contextNames) callersOf(name string) int {
	n, named := t.cfg.Callers, -1
	for _, of := range t.cfg.CallersOf {
		if f := (funcwatch.Function{Symbol: name}); f.Matches(of.Pattern) {
			named = max(named, of.Callers)
		}
	}
	if named >= 0 {
		return named
	}
	return n
}

// Names returns the numbers of the names of the functions that a is in, the innermost first: the last one holds it, the
// others were inlined there.
func (p *Profiler) Names(a emu.Addr) (numbers []uint32) {
	c := p.costs
	c.forgetMapping()
	loc := c.place(p.space, a)
	for in := c.in; in != nil; in = in.Outer {
		numbers = append(numbers, c.contexts.number(contextName{name: in.Func}))
	}
	fn, _ := c.owner(a, loc)
	n := contextName{name: fn.Name}
	if c.nameless {
		n.at = a
	}
	return append(numbers, c.contexts.number(n))
}

// inContext is what a function is called in a context: its name and those of its callers, with `'` in between. If it is
// inlined, outer are the names of the functions around it, the last of which is that of the context.
func (c *attribution) inContext(name string, context callgraph.Context, outer ...string) string {
	t := &c.contexts
	if context == 0 {
		return name
	}
	if len(outer) > 0 {
		return c.joinContext(append([]string{name}, outer...), context)
	}
	if l := &t.last; l.context == context && l.name == name {
		return l.full
	}
	suffix, ok := t.suffixes[context]
	if !ok {
		suffix = strings.TrimPrefix(c.joinContext([]string{name}, context), name)
		if c.hasLate(context) {
			return name + suffix
		}
		t.suffixes[context] = suffix
	}
	t.last = lastContext{context, name, name + suffix}
	return t.last.full
}

// inlinedInContext is inContext of an inlined function in the function outer.
func (c *attribution) inlinedInContext(in *dwarfmap.Inlined, outer string, context callgraph.Context) string {
	if context == 0 {
		return in.Func
	}
	var list []string
	for o := in.Outer; o != nil; o = o.Outer {
		list = append(list, o.Func)
	}
	return c.inContext(in.Func, context, append(list, outer)...)
}

// joinContext joins the names of functions, of which the last one is that of the context, with those of its callers.
func (c *attribution) joinContext(names []string, context callgraph.Context) string {
	t := &c.contexts
	for _, i := range t.lists(context)[1:] {
		n := t.Value(int(i))
		if n.at != 0 {
			n.name = c.lateName(n.at, n.name)
		}
		names = append(names, n.name)
	}
	list, callers := names[:1], t.callersOf(names[0])
	for _, n := range names[1:] {
		if len(list) <= callers && n != list[len(list)-1] {
			list = append(list, n)
		}
	}
	return strings.Join(list, "'")
}

// lateIn reports whether a context has callers without a name.
func (c *attribution) lateIn(context callgraph.Context) bool {
	if context == 0 {
		return false
	}
	return slices.ContainsFunc(c.contexts.lists(context)[1:], func(i uint32) bool {
		at := c.contexts.Values()[i].at
		if at == 0 {
			return false
		}
		_, named := c.jitName(at)
		return !named
	})
}

// hasLate reports whether a context has callers that had no name at first: that may change.
func (c *attribution) hasLate(context callgraph.Context) bool {
	return slices.ContainsFunc(c.contexts.lists(context)[1:], func(i uint32) bool { return c.contexts.Values()[i].at != 0 })
}
