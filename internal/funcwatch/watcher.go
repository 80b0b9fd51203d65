// Package funcwatch tells when functions of a guest are entered and left.
//
// A Watcher marks the first instructions of the functions that its Probes match, in every file that is mapped
// executable, so that the engine stops there. While a watched function is active its return address is marked as well.
// Whether a function was left is told by the stack pointer alone: its return address lies at or above it as long as the
// function is active. So recursion needs no count, and exceptions and longjmp are seen as returns are, if execution
// stops where they land. (See RATIONALE.md, "How are functions watched?")
package funcwatch

import (
	"slices"

	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A Watcher watches functions in one address space. It owns all of the engine's marks.
type Watcher struct {
	engine emu.Engine
	space  *mem.Space
	// open returns the object of a guest file, nil if it has no names to give.
	open func(path string) *dwarfmap.Object
	// probes are the sets of functions watched. Without any, nothing here does anything.
	probes      []*Probe
	breakpoints map[emu.Addr]*breakpoint
	threads     map[*emu.CPU]*callStack
	jumps       map[jump]int
	// matches has the watched functions of each file.
	matches map[string][]match
	// needScan says that mappings appeared that nobody reported.
	needScan bool
}

// A Probe is a set of functions, and what happens when one of them is entered.
type Probe struct {
	// Option is the command-line option that asked for it, for messages; "" if it need not match anything.
	Option string
	// Match reports whether a function belongs to the set.
	Match func(*Function) bool
	// Entered is called in front of the function's first instruction.
	Entered func(*Probe, Entry)
	// Done says that it need not be watched any longer.
	Done bool

	matched bool // a file that was mapped has such a function
}

// An Entry is the event that a thread is in front of the first instruction of a function.
type Entry struct {
	CPU    *emu.CPU
	Symbol string // the function's

	w *Watcher
}

// sp is the stack pointer: the return address lies there.
func (e *Entry) sp() emu.Addr { return emu.Addr(e.CPU.Regs[emu.RSP]) }

// Return is the return address, 0 if there is none.
func (e *Entry) Return() emu.Addr {
	a, _ := e.w.space.ReadUint64(e.sp())
	return emu.Addr(a)
}

// A match is a watched function in a file.
type match struct {
	off    uint64
	symbol string
	probe  *Probe
}

// A breakpoint is an address at which the engine stops.
type breakpoint struct {
	// path and off are the place in a file that is mapped there, if functions begin there.
	path  string
	off   uint64
	begin []match
	// waiting is how many active functions return here.
	waiting int
	// returns are calls of Go functions that come back here.
	returns []goReturn
	// target says that jumps out of functions (longjmp, exceptions) may end here.
	target bool
	// idle is how many stops have been in vain.
	idle int
}

// maxIdle is how many stops in vain a breakpoint is kept for: the call that made it is likely to be made
// again, and a new mark costs a translation.
const maxIdle = 100

// New returns a Watcher that calls probes. open returns the object of a guest file, nil if it has no names to give.
func New(e emu.Engine, m *mem.Space, open func(path string) *dwarfmap.Object, probes []*Probe) *Watcher {
	w := &Watcher{engine: e, space: m, open: open, probes: probes, matches: map[string][]match{}}
	w.Reset()
	return w
}

// Inherit takes over which probes matched and are done from the Watcher of the parent process, which has the same
// probes.
func (w *Watcher) Inherit(parent *Watcher) {
	for i, p := range parent.probes {
		w.probes[i].matched, w.probes[i].Done = p.matched, p.Done
	}
}

// Reset forgets all: the address space has a new program.
func (w *Watcher) Reset() {
	for a := range w.breakpoints {
		w.engine.SetMark(a, false)
	}
	w.breakpoints, w.threads, w.jumps = map[emu.Addr]*breakpoint{}, map[*emu.CPU]*callStack{}, map[jump]int{}
	w.needScan = len(w.probes) > 0
}

// Scan looks at all files mapped executable, if some may have been mapped that Mapped was not told of.
func (w *Watcher) Scan() {
	if !w.needScan {
		return
	}
	w.needScan = false
	for _, v := range w.space.VMAs() {
		if v.File && v.Prot&mem.Exec != 0 {
			w.Mapped(v)
		}
	}
}

// Mapped marks the watched functions of a file that v maps executable.
func (w *Watcher) Mapped(v mem.VMA) {
	if len(w.probes) == 0 {
		return
	}
	for _, f := range w.functions(v.Path) {
		if f.off < v.Off || f.off-v.Off >= v.Len() {
			continue
		}
		a := v.Lo + emu.Addr(f.off-v.Off)
		p := w.breakpointAt(a)
		if p.path != v.Path || p.off != f.off {
			p.path, p.off, p.begin = v.Path, f.off, nil // what was mapped here is gone
		}
		if !slices.ContainsFunc(p.begin, func(g match) bool { return g.probe == f.probe }) {
			p.begin = append(p.begin, f)
		}
	}
}

// functions returns the watched functions of a file.
func (w *Watcher) functions(path string) []match {
	list, ok := w.matches[path]
	if ok {
		return list
	}
	if o := w.open(path); o != nil {
		o.Functions(func(off uint64, symbol string) {
			f := Function{Symbol: symbol}
			for _, p := range w.probes {
				if p.Match(&f) {
					p.matched = true
					list = append(list, match{off, symbol, p})
				}
			}
		})
	}
	w.matches[path] = list
	return list
}

// breakpointAt returns the breakpoint at a, which is marked from now on.
func (w *Watcher) breakpointAt(a emu.Addr) *breakpoint {
	p := w.breakpoints[a]
	if p == nil {
		p = &breakpoint{}
		w.breakpoints[a] = p
		w.engine.SetMark(a, true)
	}
	return p
}

// Reached deals with a thread that stopped at a mark.
func (w *Watcher) Reached(cpu *emu.CPU) {
	p := w.breakpoints[cpu.RIP]
	if p == nil {
		w.engine.SetMark(cpu.RIP, false)
		return
	}
	p.idle++
	w.popLeft(cpu)
	p.returned(cpu)
	if p.target {
		w.popJumped(cpu)
	}
	if len(p.begin) > 0 {
		if v := w.space.VMA(cpu.RIP); v == nil || v.Path != p.path || v.Off+uint64(cpu.RIP-v.Lo) != p.off {
			p.begin = nil
		}
		for _, f := range p.begin {
			if !f.probe.Done {
				f.probe.Entered(f.probe, Entry{CPU: cpu, Symbol: f.symbol, w: w})
			}
		}
		p.begin = slices.DeleteFunc(p.begin, func(f match) bool { return f.probe.Done })
	}
	if len(p.begin) == 0 && p.waiting == 0 && len(p.returns) == 0 && !p.target && p.idle > maxIdle {
		delete(w.breakpoints, cpu.RIP)
		w.engine.SetMark(cpu.RIP, false)
	}
}

// Unmatched returns which of a list of options named functions that no file had; nil stands for all.
func (w *Watcher) Unmatched(of []string) []string {
	list := []string{}
	for _, p := range w.probes {
		if p.Option != "" && !p.matched && (of == nil || slices.Contains(of, p.Option)) {
			list = append(list, p.Option)
		}
	}
	return list
}
