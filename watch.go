package cgemu

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A watch stops the engine where functions begin, and where they are left, and tells whom it
// interests. (See RATIONALE.md, "How are functions watched?")
type watch struct {
	engine emu.Engine
	space  *mem.Space
	costs  *costs
	// interests are the sets of functions watched; none: nothing here does anything.
	interests []*interest
	points    map[emu.Addr]*point
	threads   map[*emu.CPU]*activity
	jumps     map[jump]int
	// found has the watched functions of each file.
	found map[string][]found
	// unscanned says that mappings appeared that nobody reported.
	unscanned bool
}

// An interest is a set of functions, and what happens when one of them is entered.
type interest struct {
	// what is the option that asked for it, for messages; "" if it need not match anything.
	what    string
	match   func(*function) bool
	entered func(in *interest, e entry)
	// matched says that a file that was mapped has such a function, done that it need not be
	// watched any longer.
	matched, done bool
}

// An entry is the event that a thread is in front of the first instruction of a function.
type entry struct {
	w      *watch
	cpu    *emu.CPU
	at     emu.Addr
	symbol string
}

// sp is the stack pointer: the return address lies there.
func (e *entry) sp() emu.Addr { return emu.Addr(e.cpu.Regs[emu.RSP]) }

// ret is the return address, 0 if there is none.
func (e *entry) ret() emu.Addr {
	a, _ := e.w.space.ReadUint64(e.sp())
	return emu.Addr(a)
}

// A found is a watched function in a file.
type found struct {
	off    uint64
	symbol string
	by     *interest
}

// A point is an address at which the engine stops.
type point struct {
	// path and off are the place in a file that is mapped there, if functions begin there.
	path  string
	off   uint64
	begin []found
	// waiting is how many activations return here.
	waiting int
	// landing says that jumps out of functions may end here.
	landing bool
	// idle is how many stops have been in vain.
	idle int
}

// maxIdle is how many stops in vain a point is kept for: the call that made it is likely to be made
// again, and a new mark costs a translation.
const maxIdle = 100

// landings are the functions that say where execution goes when it does not return, but
// jumps out of functions: setjmp, and the function of unwinders by which they are told of a handler.
func landings() *interest {
	names := map[string]bool{
		"setjmp": true, "_setjmp": true, "__setjmp": true, "sigsetjmp": true, "__sigsetjmp": true,
		"_Unwind_SetIP": true,
	}
	return &interest{
		match: func(f *function) bool { return names[f.symbol] },
		entered: func(_ *interest, e entry) {
			if e.symbol == "_Unwind_SetIP" {
				e.w.point(emu.Addr(e.cpu.Regs[emu.RSI])).landing = true
				return
			}
			e.w.point(e.ret()).landing = true
			e.w.setJump(e)
		},
	}
}

func newWatch(e emu.Engine, m *mem.Space, c *costs, interests []*interest) *watch {
	w := &watch{engine: e, space: m, costs: c, interests: interests, found: map[string][]found{}}
	w.reset()
	return w
}

// reset forgets all: the address space has a new program.
func (w *watch) reset() {
	for a := range w.points {
		w.engine.SetMark(a, false)
	}
	w.points, w.threads, w.jumps = map[emu.Addr]*point{}, map[*emu.CPU]*activity{}, map[jump]int{}
	w.unscanned = len(w.interests) > 0
}

// scan looks at all files mapped executable.
func (w *watch) scan() {
	if !w.unscanned {
		return
	}
	w.unscanned = false
	for _, v := range w.space.VMAs() {
		if v.File && v.Prot&mem.Exec != 0 {
			w.mapped(v)
		}
	}
}

// mapped marks the watched functions of a file that v maps executable.
func (w *watch) mapped(v mem.VMA) {
	if len(w.interests) == 0 {
		return
	}
	for _, f := range w.functions(v.Path) {
		if f.off < v.Off || f.off-v.Off >= v.Len() {
			continue
		}
		a := v.Lo + emu.Addr(f.off-v.Off)
		p := w.point(a)
		if p.path != v.Path || p.off != f.off {
			p.path, p.off, p.begin = v.Path, f.off, nil // what was mapped here is gone
		}
		if !slices.ContainsFunc(p.begin, func(g found) bool { return g.by == f.by }) {
			p.begin = append(p.begin, f)
		}
	}
}

// functions returns the watched functions of a file.
func (w *watch) functions(path string) []found {
	list, ok := w.found[path]
	if ok {
		return list
	}
	if o := w.costs.open(path); o != nil {
		o.Functions(func(off uint64, symbol string) {
			f := function{symbol: symbol}
			for _, in := range w.interests {
				if in.match(&f) {
					in.matched = true
					list = append(list, found{off, symbol, in})
				}
			}
		})
	}
	w.found[path] = list
	return list
}

// point returns the point at a, which is marked from now on.
func (w *watch) point(a emu.Addr) *point {
	p := w.points[a]
	if p == nil {
		p = &point{}
		w.points[a] = p
		w.engine.SetMark(a, true)
	}
	return p
}

// reached deals with a thread that stopped at a mark.
func (w *watch) reached(cpu *emu.CPU) {
	p := w.points[cpu.RIP]
	if p == nil {
		w.engine.SetMark(cpu.RIP, false)
		return
	}
	p.idle++
	w.leave(cpu)
	if p.landing {
		w.landed(cpu)
	}
	if len(p.begin) > 0 {
		if v := w.space.VMA(cpu.RIP); v == nil || v.Path != p.path || v.Off+uint64(cpu.RIP-v.Lo) != p.off {
			p.begin = nil
		}
		for _, f := range p.begin {
			if !f.by.done {
				f.by.entered(f.by, entry{w, cpu, cpu.RIP, f.symbol})
			}
		}
		p.begin = slices.DeleteFunc(p.begin, func(f found) bool { return f.by.done })
	}
	if len(p.begin) == 0 && p.waiting == 0 && !p.landing && p.idle > maxIdle {
		delete(w.points, cpu.RIP)
		w.engine.SetMark(cpu.RIP, false)
	}
}

// unmatched returns which of a list of options named functions that no file had; nil stands for all.
func (w *watch) unmatched(of []string) []string {
	list := []string{}
	for _, in := range w.interests {
		if in.what != "" && !in.matched && (of == nil || slices.Contains(of, in.what)) {
			list = append(list, in.what)
		}
	}
	return list
}
