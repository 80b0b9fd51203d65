// Package callgraph follows a guest's calls: for each place that calls and each place that is called, an arc, it adds
// up how often that happened and what was counted between the call and the return.
//
// A Recorder has a stack of frames for each stack of the guest. Its rules (docs/counting.md, "Calls"): the function of
// the topmost frame is that of the code that is executed. A CALL pushes a frame, whose place is that of the return
// address. Whatever makes RSP pass that place has left the function. A jump, or falling through, from one function into
// another pushes a frame at the same place as the one before: both are left at once.
//
// What a frame costs is the difference of running totals: an arc has the sum of the totals at its calls and at its
// returns.
//
// The package is cgemu's own: what it promises may change.
package callgraph

import (
	"maps"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/numbering"
)

// A Frame is a function that is active.
type Frame struct {
	// SP is what RSP is when it has returned: its return address lies 8 below. Jumped is added if the function was
	// entered by a jump; the return address is then that of the frame below.
	SP emu.Addr
	// Arc is the place of the arc that it was entered by: Base and eight times its index in Sums.
	Arc uint64
}

// Jumped marks frames of jumps: return addresses are at even places, unless a program takes care that they are not.
const Jumped = 1

// place is where the return address lies.
func (f Frame) place() emu.Addr { return f.SP&^Jumped - 8 }
func (f Frame) jumped() bool    { return f.SP&Jumped != 0 && f.SP != baseSP }

// baseSP is the place of a stack's first frame, which is never left.
const baseSP = ^emu.Addr(0)

// A row of Sums begins with Pass and PassTo, which are for an arc into what passes: to which target it led, and which
// arc that gave. Function is the number of the target's function, Begins 1 if that begins there. Behind them, where the
// layout says, come the totals when the arc was entered, added up, with the number of calls among them, and then
// likewise the totals when it was left. Both have as many words, so that one offset serves for both: that of the calls
// means nothing in the second.
const (
	Pass     = 0
	PassTo   = 1
	Function = 2
	Begins   = 3
	// Callee is the context of the target, where contexts are told apart.
	Callee = 4
)

// A Layout says where totals and rows have what.
type Layout struct {
	// Columns has the place in the totals of each event. Calls is that of the number of calls in a row, beside them;
	// the totals have the word, too, and do not use it.
	Columns []int
	Calls   int
	// Words is how many words totals have, with Calls; Header is how many a row has in front of them.
	Words, Header int
}

// SetLayout changes the layout, before anything is recorded: who executes may need another order than that of the
// events, without gaps.
func (r *Recorder) SetLayout(l Layout) { r.layout, r.Totals = l, make([]uint64, l.Words) }

// In is where a row has the totals when the arc was entered, Calls where it has the number of calls, Out where it has
// the totals when the arc was left.
func (r *Recorder) In() int    { return r.layout.Header }
func (r *Recorder) Calls() int { return r.layout.Header + r.layout.Calls }
func (r *Recorder) Out() int   { return r.layout.Header + r.layout.Words }

// A Recorder follows the calls of one address space.
type Recorder struct {
	// Events are what is counted, Totals how often each has happened while everything counts, at its Column. Who
	// executes adds to them.
	Events []emu.Event
	Totals []uint64
	layout Layout
	// Frames are those of the stack in use. Sums has a row for each arc: see In. Who executes may push and pop frames,
	// and add to the sums, himself: then these two have to have room for all there will be, and Base is where his code
	// finds Sums.
	Frames []Frame
	Sums   []uint64
	Base   uint64

	// lookup and mapping are asked about the guest's memory.
	lookup  func(a emu.Addr) emu.Function
	mapping func(a emu.Addr) (lo, hi emu.Addr)

	arcs arcTable
	// functions is what lookup said.
	functions [functionParts]emu.Function
	last      emu.Function // what it said last
	// recalled are functions of notes of which lookup says the same now.
	recalled [functionParts]emu.Function

	threads map[*emu.CPU]*thread
	thread  *thread
	cpu     *emu.CPU
	// unsettled are arcs that Invalidate found in use, each once; framesUnsettled says that Frames may have stale arcs.
	// See Settle.
	unsettled       []int32
	framesUnsettled bool
	// calledFrom is the site of the arc of the frame that was popped last.
	calledFrom emu.Addr
	numbers    numbering.Table[emu.Addr] // of functions, less 1, by their IDs
	goroutines map[uint64]*stack         // that have run
	entries    map[emu.Addr]bool         // where coroutines have begun
	waiting    []*stack                  // that threads have left and may come back to, by start
	// inherited is the thread of another process of which the first one is a copy, nil for none.
	inherited *thread
	contexts  *contexts // nil if functions are not told apart by their callers
	// notes is where notes are taken, nil if they are not: pad.
	notes *Notes
	pad   Notes
}

// New returns a recorder of some events. function tells functions apart, mapping says which addresses, [lo, hi), are
// mapped together with one: none if it is not mapped.
func New(events emu.EventSet, function func(a emu.Addr) emu.Function, mapping func(a emu.Addr) (lo, hi emu.Addr)) *Recorder {
	r := &Recorder{
		lookup: function, mapping: mapping, arcs: newArcTable(0), threads: map[*emu.CPU]*thread{},
		goroutines: map[uint64]*stack{}, entries: map[emu.Addr]bool{},
	}
	for e := range emu.Event(64) {
		if events.Has(e) {
			r.Events = append(r.Events, e)
		}
	}
	l := Layout{Calls: len(r.Events), Words: len(r.Events) + 1, Header: Begins + 1}
	for i := range r.Events {
		l.Columns = append(l.Columns, i)
	}
	r.SetLayout(l)
	return r
}

// Width is how many words an arc has in Sums.
func (r *Recorder) Width() int { return r.layout.Header + 2*r.layout.Words }

// Column returns which of the totals is e's, -1 if it is not counted.
func (r *Recorder) Column(e emu.Event) int {
	if i := slices.Index(r.Events, e); i >= 0 {
		return r.layout.Columns[i]
	}
	return -1
}

// Arc returns the place of the arc from site, which is in the function that is executed, to target. It makes it if
// there is none.
func (r *Recorder) Arc(site, target emu.Addr) uint64 {
	key := arcKey{site: site, target: target}
	if site != 0 {
		key.caller = r.Context()
	}
	return r.arcAt(key)
}

// JumpArc returns likewise the place of the arc of jumps within the function that is executed, of which only the number
// counts, as that of calls.
func (r *Recorder) JumpArc(site, target emu.Addr) uint64 {
	return r.arcAt(arcKey{site: site, target: target, caller: r.Context(), jump: true})
}

// CountJump counts a jump from site to target, if they are in one function.
func (r *Recorder) CountJump(site, target emu.Addr) {
	if r.Same(site, target) {
		r.count(r.JumpArc(site, target), true)
	}
}

func (r *Recorder) arcAt(key arcKey) uint64 { return r.placeOf(r.arcNumber(&key)) }

// arcNumber returns the number of an arc, which it makes if there is none.
func (r *Recorder) arcNumber(key *arcKey) int {
	i, isNew := r.arcs.number(key)
	if isNew {
		r.Sums = slices.Grow(r.Sums, r.Width())[:len(r.Sums)+r.Width()] // 0, as it never gets shorter, and not touched: most arcs of an image count nothing
	}
	return i
}

// placeOf returns the place of an arc that is in use.
func (r *Recorder) placeOf(i int) uint64 {
	r.refresh(i)
	if r.notes != nil {
		r.notes.noteArc(i)
	}
	return r.Base + uint64(8*i*r.Width())
}

// refresh looks the function of an arc's target up if need be. An arc to what is not mapped stays stale: Inherit asks
// for the functions of the parent's frames, and a child of vfork that executes a program has nothing mapped by then.
func (r *Recorder) refresh(i int) {
	a := &r.arcs.list[i]
	if !a.stale {
		return
	}
	k := r.arcs.keys.Value(i)
	f := r.function(k.target)
	a.function, a.passes, a.parks, a.stale = f.ID, f.Passes, f.Parks, !r.mapped(k.target)
	row := r.Sums[i*r.Width():]
	row[Function], row[Begins] = uint64(r.Number(k.target)), 0
	if a.function == k.target {
		row[Begins] = 1
	}
	if r.contexts != nil {
		switch {
		case k.jump:
			a.callee = k.caller
		case k.again != 0:
			a.callee = k.again
		default:
			a.callee = r.contexts.called(k.caller, k.site, k.target)
		}
		row[Callee] = uint64(a.callee)
	}
}

// Settle has rows of the frames' arcs, and of arcs to mappings that have changed, tell their functions, before somebody
// else looks at these who knows the places of arcs, and pushes and pops frames himself. An arc to what is not mapped at
// present stays stale: Invalidate is not told of what is mapped there next.
func (r *Recorder) Settle() {
	for _, i := range r.unsettled {
		r.arcs.list[i].unsettled = false
		if r.mapped(r.arcs.keys.Value(int(i)).target) {
			r.refresh(int(i))
		}
	}
	r.unsettled = r.unsettled[:0]
	if r.framesUnsettled {
		r.framesUnsettled = false
		for _, f := range r.Frames {
			r.refresh(r.arcNumberOf(f))
		}
	}
}

// row returns what Sums has of an arc.
func (r *Recorder) row(place uint64) []uint64 {
	i := int(place-r.Base) / 8
	return r.Sums[i : i+r.Width()]
}

// function is lookup with a memory, but for what is not mapped: Invalidate is not told of what is mapped there next.
func (r *Recorder) function(a emu.Addr) emu.Function {
	found := r.last
	if a < found.Lo || a >= found.Hi {
		f := &r.functions[a/functionPart%functionParts]
		switch {
		case a >= f.Lo && a < f.Hi:
			found = *f
			r.last = found
		case r.mapped(a):
			found = r.lookup(a)
			*f, r.last = found, found
		default:
			found = r.lookup(a)
		}
	}
	if r.notes != nil {
		r.notes.note(a, found)
	}
	return found
}

// mapped reports whether something is mapped at a.
func (r *Recorder) mapped(a emu.Addr) bool {
	lo, hi := r.mapping(a)
	return lo < hi
}

// forgetFunctions forgets what lookup said.
func (r *Recorder) forgetFunctions() {
	clear(r.functions[:])
	clear(r.recalled[:])
	r.last = emu.Function{}
}

// What lookup said is kept by parts of memory: functionParts of them, functionPart bytes each.
const (
	functionPart  = 32
	functionParts = 4096
)

// Same reports whether two addresses are of one function.
func (r *Recorder) Same(a, b emu.Addr) bool { return r.function(a).ID == r.function(b).ID }

// Number returns a number for the function that holds a, which is not 0.
func (r *Recorder) Number(a emu.Addr) uint32 {
	n, _ := r.numbers.Number(r.function(a).ID)
	return uint32(n + 1)
}

// Begins reports whether a function begins at a.
func (r *Recorder) Begins(a emu.Addr) bool { return r.function(a).ID == a }

// Passes reports whether the function that holds a is one on the way to others.
func (r *Recorder) Passes(a emu.Addr) bool { return r.function(a).Passes }

func (r *Recorder) arcOf(f Frame) *arc {
	i := r.arcNumberOf(f)
	r.refresh(i)
	return &r.arcs.list[i]
}

// arcNumberOf returns the number of a frame's arc, keyOf between what that is.
func (r *Recorder) arcNumberOf(f Frame) int { return int(f.Arc-r.Base) / 8 / r.Width() }
func (r *Recorder) keyOf(f Frame) arcKey    { return r.arcs.keys.Value(r.arcNumberOf(f)) }

// top is the innermost frame. There always is one.
func (r *Recorder) top() Frame { return r.Frames[len(r.Frames)-1] }

// Function returns the ID of the function that is executed.
func (r *Recorder) Function() emu.Addr { return r.arcOf(r.top()).function }

// entered adds the totals to those with which the arc of f was entered.
func (r *Recorder) entered(f Frame) {
	r.addTotals(r.row(f.Arc)[r.In():])
}

// left does so for those with which it was left.
func (r *Recorder) left(f Frame) {
	r.addTotals(r.row(f.Arc)[r.Out():])
}

func (r *Recorder) addTotals(to []uint64) {
	for _, c := range r.layout.Columns {
		to[c] += r.Totals[c]
	}
}

// push enters a function.
func (r *Recorder) push(f Frame) {
	r.entered(f)
	r.Frames = append(r.Frames, f)
}

// pop leaves the innermost function.
func (r *Recorder) pop() {
	r.left(r.top())
	r.calledFrom = r.keyOf(r.top()).site
	r.Frames = r.Frames[:len(r.Frames)-1]
}

// Add adds n of an event to the totals.
func (r *Recorder) Add(e emu.Event, n uint64) { r.Totals[r.Column(e)] += n }

// AddBefore adds n of an event which happened in front of the innermost call, whose return address lies at sp, and the
// jumps behind that: it is no cost of theirs.
func (r *Recorder) AddBefore(sp emu.Addr, e emu.Event, n uint64) {
	r.Add(e, n)
	for i := len(r.Frames) - 1; i > 0 && r.Frames[i].place() == sp; i-- {
		r.row(r.Frames[i].Arc)[r.In()+r.Column(e)] += n
	}
}

// suspend stops the clock of all active functions, resume starts it again.
func (r *Recorder) suspend() {
	for _, f := range r.Frames {
		r.left(f)
	}
}

func (r *Recorder) resume() {
	for _, f := range r.Frames {
		r.entered(f)
	}
}

// Call is told of a CALL at site to target; the return address lies at sp. counts says whether calls count.
func (r *Recorder) Call(site, target, sp emu.Addr, counts bool) {
	r.push(Frame{SP: sp + 8, Arc: r.count(r.Arc(site, target), counts)})
}

// count counts a call of an arc, which it returns.
func (r *Recorder) count(arc uint64, counts bool) uint64 {
	if counts {
		r.row(arc)[r.Calls()]++
	}
	return arc
}

// Return is told of a return from the instruction at site to target; RSP is rsp then. It leaves one call, and the jumps
// behind that, if it is the innermost one's.
func (r *Recorder) Return(site, target, rsp emu.Addr, counts bool) {
	n := len(r.Frames) - 1
	for n > 0 && r.Frames[n].SP == rsp|Jumped {
		n--
	}
	if n == 0 || r.Frames[n].SP != rsp {
		if r.moved(target, rsp) {
			r.Return(site, target, rsp, counts)
		} else {
			r.flow(site, target, rsp, true, counts)
		}
		return
	}
	for len(r.Frames) > n {
		r.pop()
	}
	r.Jump(site, target, counts) // if the CALL ends its function, or the callee returns elsewhere
}

// maxInsn is the most bytes that an instruction has (SDM Vol. 2, 2.3.11).
const maxInsn = 15

// isReturnSite reports whether a CALL at site may return to target.
func isReturnSite(site, target emu.Addr) bool { return target > site && target <= site+maxInsn }

// Flow is told of an indirect jump into another function: RSP, which is rsp then, may have passed places of return
// addresses.
func (r *Recorder) Flow(site, target, rsp emu.Addr, counts bool) {
	r.flow(site, target, rsp, false, counts)
}

// flow is Flow for a jump, and what Return does for a return that is not the innermost call's.
func (r *Recorder) flow(site, target, rsp emu.Addr, returns, counts bool) {
	before := r.thread.current
	r.unwind(rsp, target, returns)
	switch now := r.thread.current; {
	case now != before && r.restarts(rsp, target, returns):
		r.restart(rsp, target)
	case len(r.Frames) == 1 && rsp > now.start:
		// The first function has returned: to a trampoline, or to what returns from a signal handler.
		r.Frames[0].Arc, now.start = r.Arc(0, target), rsp
	}
	r.Jump(site, target, counts)
}

// Jump is told that the guest went from site to target by a direct jump, or by falling through, if that is in another
// function.
func (r *Recorder) Jump(site, target emu.Addr, counts bool) {
	f := r.function(target)
	top := r.top()
	from := r.arcOf(top)
	switch {
	case from.function == f.ID:
	case from.passes && r.keyOf(top).site != 0:
		// It has done its work, and does as if its caller called the target.
		r.pop()
		arc := r.count(r.Arc(r.keyOf(top).site, target), counts)
		row := r.row(top.Arc)
		row[Pass], row[PassTo] = uint64(target), arc
		r.push(Frame{SP: top.SP, Arc: arc})
	default:
		r.jump(site, target, f, counts)
	}
}

// jump enters the function f by a jump, or goes back to it if those that follow it on its place were entered by jumps.
func (r *Recorder) jump(site, target emu.Addr, f emu.Function, counts bool) {
	n := len(r.Frames) - 1
	for n > 0 && r.Frames[n].jumped() {
		if n--; r.arcOf(r.Frames[n]).function != f.ID {
			continue
		}
		caller := r.Context()
		for len(r.Frames) > n+1 {
			r.pop()
		}
		if target == f.ID { // a call; what it costs belongs to the one that is active
			r.count(r.arcAt(arcKey{site: site, target: target, caller: caller, again: r.Context()}), counts)
		}
		return
	}
	// The function that jumped has been left if RSP passed its frame: then what called that has called the target.
	if caller := r.arcOf(r.top()); r.function(site).ID != caller.function {
		if site = r.calledFrom; r.function(site).ID != caller.function {
			site = r.keyOf(r.top()).target
		}
	}
	arc := r.count(r.Arc(site, target), counts)
	sp := r.top().SP
	if sp != baseSP {
		sp |= Jumped
	} else {
		sp = jumpedAtStart(r.thread.current.start) // RSP may have been anything
	}
	r.push(Frame{SP: sp, Arc: arc})
}

// Begin is told that cpu's thread runs from now on.
func (r *Recorder) Begin(cpu *emu.CPU) {
	if r.cpu == cpu {
		return
	}
	if r.thread != nil {
		r.suspend()
		r.thread.current.frames = append(r.thread.current.frames[:0], r.Frames...)
	}
	r.cpu, r.thread = cpu, r.threads[cpu]
	if r.thread == nil && r.inherited != nil {
		r.thread, r.inherited = r.inherited, nil
		r.threads[cpu] = r.thread
	}
	if r.thread == nil {
		r.thread = &thread{r.newStack(cpu, nil)}
		r.threads[cpu] = r.thread
	}
	r.Frames, r.framesUnsettled = append(r.Frames[:0], r.thread.current.frames...), true
	r.resume()
}

// newStack returns a stack on which cpu has called nothing yet.
func (r *Recorder) newStack(cpu *emu.CPU, interrupted *stack) *stack {
	return &stack{
		start: emu.Addr(cpu.Regs[emu.RSP]), cpu: cpu, interrupted: interrupted, frames: []Frame{{SP: baseSP, Arc: r.Arc(0, cpu.RIP)}},
	}
}

// Counts is told that everything counts from now on, while cpu's thread is about to run. Calls that are active and did
// not count have a cost now: one of each counts, and the innermost one in any case if its function has not begun.
func (r *Recorder) Counts(cpu *emu.CPU) {
	r.Begin(cpu)
	for i, f := range r.Frames {
		row := r.row(f.Arc)
		if row[r.Calls()] == 0 || i == len(r.Frames)-1 && r.keyOf(f).target == cpu.RIP {
			row[r.Calls()]++
		}
	}
}

// End is told that cpu's thread has ended: its functions are left.
func (r *Recorder) End(cpu *emu.CPU) {
	if r.cpu == cpu {
		r.suspend()
		r.cpu, r.thread, r.Frames = nil, nil, r.Frames[:0]
	}
	delete(r.threads, cpu)
	r.waiting = slices.DeleteFunc(r.waiting, func(s *stack) bool { return s.cpu == cpu })
}

// SignalBegins is told that cpu's thread is in front of a signal handler. What that costs is no cost of what it
// interrupted.
func (r *Recorder) SignalBegins(cpu *emu.CPU) {
	if r.threads[cpu] == nil && r.inherited == nil {
		return // it has executed nothing
	}
	r.Begin(cpu)
	r.use(r.newStack(cpu, r.thread.current))
}

// SignalEnds is told that cpu's thread goes on where a signal handler interrupted it, or where that wants. counts says
// whether calls count.
func (r *Recorder) SignalEnds(cpu *emu.CPU, counts bool) {
	if t := r.threads[cpu]; t == nil || t.current.interrupted == nil {
		return
	}
	r.Begin(cpu)
	r.endSignal()
	if f := r.function(cpu.RIP); f.ID == cpu.RIP && f.ID != r.Function() {
		// The handler has made what it interrupted call a function, as Go's does.
		r.Call(r.keyOf(r.top()).target, f.ID, emu.Addr(cpu.Regs[emu.RSP]), counts)
	}
}

func (r *Recorder) endSignal() {
	s := r.thread.current.interrupted
	r.use(s)
}

// Reset forgets all threads: the address space has a new program.
func (r *Recorder) Reset() {
	if r.thread != nil {
		r.suspend()
	}
	r.threads, r.thread, r.cpu, r.Frames = map[*emu.CPU]*thread{}, nil, nil, r.Frames[:0]
	r.inherited = nil // a child of vfork(2) has executed nothing in an address space of its own
	clear(r.goroutines)
	clear(r.entries)
	r.waiting = nil
}

// Inherit takes over the functions in which parent's thread is that ran last: the first thread of r, which belongs to
// another process, is a copy of it.
func (r *Recorder) Inherit(parent *Recorder) {
	if parent.thread == nil {
		return
	}
	maps.Copy(r.entries, parent.entries)
	r.inherited = &thread{r.copyOf(parent, parent.thread.current, parent.Frames)}
	for _, s := range parent.waiting {
		if s.cpu == nil || s.cpu == parent.cpu {
			r.waiting = append(r.waiting, r.copyOf(parent, s, s.frames))
		}
	}
}

// copyOf returns a copy of a stack of parent's, whose frames are of arcs of r.
func (r *Recorder) copyOf(parent *Recorder, of *stack, frames []Frame) *stack {
	s, caller := &stack{start: of.start, coroutine: of.coroutine}, Context(0)
	if i := of.interrupted; i != nil {
		s.interrupted = r.copyOf(parent, i, i.frames)
	}
	for _, f := range frames {
		key := parent.keyOf(f)
		if key.caller = caller; key.site == 0 {
			key.caller = 0
		}
		key.again = 0
		f.Arc = r.arcAt(key)
		s.frames = append(s.frames, f)
		if r.contexts != nil {
			caller = r.contextOf(f)
		}
	}
	return s
}

// Invalidate is told that the mapping of [lo, hi) changes. Collect has to be called before that.
func (r *Recorder) Invalidate(lo, hi emu.Addr) {
	r.forgetFunctions()
	r.framesUnsettled = true
	for i := range r.arcs.within(lo, hi) {
		if a := &r.arcs.list[i]; !a.stale {
			if a.stale = true; !a.unsettled {
				a.unsettled, r.unsettled = true, append(r.unsettled, int32(i))
			}
		}
		row := r.Sums[i*r.Width():]
		row[Pass], row[PassTo], row[Function] = 0, 0, 0
	}
}

// A Sum is what Collect has of an arc: its places, the contexts of these, how many calls there were and what was
// counted, in the order of Events.
type Sum struct {
	Site, Target   emu.Addr
	Caller, Callee Context
	// Jump says that these are jumps within a function: Calls is how many.
	Jump  bool
	Calls uint64
	Costs []uint64
}

// Collect calls add for each arc whose site or target is on the pages of [lo, hi) with what was counted since the last
// Collect of it: those with sites on one page follow each other. Costs must not be kept.
func (r *Recorder) Collect(lo, hi emu.Addr, add func(s Sum)) {
	suspended := false
	costs := make([]uint64, len(r.Events))
	for i := range r.arcs.within(lo, hi) {
		if !suspended && r.thread != nil {
			suspended = true
			r.suspend()
			defer r.resume()
		}
		sums := r.Sums[i*r.Width() : (i+1)*r.Width()]
		any := sums[r.Calls()]
		for e, c := range r.layout.Columns {
			costs[e] = sums[r.Out()+c] - sums[r.In()+c]
			any |= costs[e]
		}
		if any == 0 {
			continue // what was added in and out is the same
		}
		if k := r.arcs.keys.Value(i); k.site != 0 {
			add(Sum{k.site, k.target, k.caller, r.arcs.list[i].callee, k.jump, sums[r.Calls()], costs})
		}
		clear(sums[r.In():])
	}
}
