package profiler

import (
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/mem"
)

// RecordsCalls reports whether the engine records calls.
func (p *Profiler) RecordsCalls() bool { return p.calls != nil }

// Function tells functions apart for the engine, which records calls.
func (p *Profiler) Function(a emu.Addr) emu.Function {
	p.costs.forgetMapping()
	return p.costs.functionAt(p.space, a)
}

// functionAt is the function that holds a in m. All code without a name in an object is one function, but that of its
// procedure linkage table, which only leads to others; so does what the dynamic linker is entered by from there.
func (c *attribution) functionAt(m *mem.Space, a emu.Addr) emu.Function {
	f := emu.Function{ID: emu.Addr(noObject), Lo: a, Hi: a + 1}
	c.enter(m, a)
	if c.object == nil {
		if jit, ok := c.jitName(a); ok {
			f.ID = emu.Addr(jit.Lo)
		} else {
			c.seen.note(a)
		}
		return f
	}
	va, ok := c.object.VAddr(c.last.Off + uint64(a-c.last.Lo))
	if !ok {
		return f
	}
	x := c.object.extentOf(va, c.byObject)
	f.ID = a - emu.Addr(va) + emu.Addr(x.id())
	f.Passes, f.Parks, f.Resumes = x.flags&passes != 0, x.flags&parks != 0, x.flags&resumes != 0
	// The file may be mapped elsewhere beyond this mapping.
	f.Lo, f.Hi = a-emu.Addr(min(va-x.lo, uint64(a-c.last.Lo))), a+emu.Addr(min(x.hi-va, uint64(c.last.Hi-a)))
	return f
}

// A functionStart is where a function begins.
type functionStart struct {
	object *object
	va     uint64
}

// An owned is a function with a name, by where its code is, and where it begins.
type owned struct {
	object *object
	extent extent
	begin  dwarfmap.Loc
}

// has reports whether it holds va of o.
func (f *owned) has(o *object, va uint64) bool {
	return f.object == o && va >= f.extent.lo && va < f.extent.hi
}

// owner returns the function that holds a, which was looked up last and whose place is loc, and the place where it
// begins. What was inlined there is part of it.
func (c *attribution) owner(a emu.Addr, loc dwarfmap.Loc) (cgout.Func, dwarfmap.Loc) {
	fn := cgout.Func{Object: dwarfmap.Unknown, File: dwarfmap.Unknown, Name: loc.Func}
	if c.object == nil {
		return fn, unknown
	}
	fn.Object = c.last.Path
	va, ok := c.object.VAddr(c.last.Off + uint64(a-c.last.Lo))
	if !ok {
		return fn, unknown
	}
	known := &c.owned[va/emu.PageSize%uint64(len(c.owned))]
	if c.in == nil && known.has(c.object, va) {
		fn.File = known.begin.File
		return fn, known.begin
	}
	x := c.object.extentOf(va, c.byObject)
	if !x.named() {
		if c.in != nil {
			fn.Name = c.unnamedIn(c.last.Path)
		}
		return fn, unknown
	}
	begin, ok := c.starts[functionStart{c.object, x.lo}]
	if !ok {
		begin, _ = c.object.placeOf(x.lo, false)
		c.starts[functionStart{c.object, x.lo}] = begin
	}
	fn.File = begin.File
	*known = owned{c.object, x, begin}
	if c.in != nil {
		fn.Name = begin.Func
	}
	return fn, begin
}

// A calleePlace is an address that is called, and the context of what is executed there.
type calleePlace struct {
	at      emu.Addr
	context callgraph.Context
}

// A callee is a function that is called, the line where it begins, and its number in the graph, -1 if it was not asked
// for that yet.
type callee struct {
	fn           funcKey
	line, number int
}

// collectCalls adds the calls from and to [lo, hi) to the graph.
func (p *Profiler) collectCalls(lo, hi emu.Addr) {
	c := p.costs
	row := make([]uint64, len(c.row))
	callees := map[calleePlace]*callee{}
	add := func(s callgraph.Sum) {
		if s.Jump {
			if n := c.jump(p.space, s.Site, s.Target, false, s.Caller); n != nil {
				n.taken += s.Calls
			}
			return
		}
		clear(row)
		for i, e := range p.calls.Events {
			if col := c.columns[e]; col >= 0 {
				row[col] = s.Costs[i]
			}
		}
		to := callees[calleePlace{s.Target, s.Callee}]
		if to == nil {
			fn, begin := c.key(s.Target, c.placeOutside(p.space, s.Target), s.Callee)
			to = &callee{fn, begin.Line, -1}
			callees[calleePlace{s.Target, s.Callee}] = to
		}
		from := c.place(p.space, s.Site)
		caller, _ := c.key(s.Site, from, s.Caller)
		c.addInlined(caller, row)
		c.addCalls(caller, from, to, s.Calls, row)
	}
	if p.noted != nil {
		p.noted.eachCall(add)
	}
	p.calls.Collect(lo, hi, add)
}

// addCalls adds calls by a function, at a place, and what they cost to the graph, or to what may get other names.
func (c *attribution) addCalls(caller funcKey, at dwarfmap.Loc, to *callee, calls uint64, costs []uint64) {
	var sums []uint64
	if c.isLate(&caller) || c.isLate(&to.fn) {
		sums = c.late.call(lateCall{caller, to.fn, at.File, at.Line, to.line}, len(costs))
	}
	if sums == nil {
		if to.number < 0 {
			to.number = c.graph.Func(c.function(to.fn))
		}
		sums = c.graph.CallsOf(c.graph.Func(c.function(caller)), at.File, at.Line, to.number, to.line)
	}
	sums[0] += calls
	for i, n := range costs {
		sums[1+i] += n
	}
}

// SignalBegins is called when cpu's thread is in front of a signal handler, SignalEnds when it goes on where that
// interrupted it, and ThreadEnds when it will not run again.
func (p *Profiler) SignalBegins(cpu *emu.CPU) {
	if p.calls != nil {
		p.calls.SignalBegins(cpu)
	}
}

// SignalEnds is called when cpu's thread goes on where a signal handler interrupted it.
func (p *Profiler) SignalEnds(cpu *emu.CPU) {
	if p.calls != nil {
		p.calls.SignalEnds(cpu, p.now == emu.CountAll)
	}
}

// ThreadEnds is called when cpu's thread will not run again.
func (p *Profiler) ThreadEnds(cpu *emu.CPU) {
	if p.calls != nil {
		p.calls.End(cpu)
	}
}
