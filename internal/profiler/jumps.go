package profiler

import (
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// A jumpTable has the jumps within functions, by instruction. Of direct ones the counts of the instruction say all: how often it was executed, and how often a
// conditional jump was taken. Indirect ones an engine records.
type jumpTable map[jumpKey]*jumpCounts

// A jumpKey is a jump: the address of its instruction as its object numbers it, and what it is to a call graph, without counts.
type jumpKey struct {
	addr uint64
	jump cgout.Jump
}

// A jumpCounts is how often an instruction jumped, and how often it was executed.
type jumpCounts struct{ taken, executed uint64 }

// of returns the counts of a jump.
func (t jumpTable) of(k jumpKey) *jumpCounts {
	n := t[k]
	if n == nil {
		n = &jumpCounts{}
		t[k] = n
	}
	return n
}

// addTo adds the jumps to a graph: those of instructions that never jumped are none.
func (t jumpTable) addTo(graph *cgout.CallGraph) {
	for k, n := range t {
		if n.taken > 0 {
			j := k.jump
			j.Count, j.Executed = n.taken, n.executed
			graph.AddJump(j)
		}
	}
}

// addJump adds n events of the instruction at a, if that is a direct jump within a function.
func (c *attribution) addJump(m *mem.Space, a emu.Addr, e emu.Event, n uint64) {
	if e != emu.Ir && e != emu.Taken {
		return
	}
	var buf [x86.MaxLen]byte
	var in x86.Inst
	if err := x86.Decode(buf[:m.Fetch(a, buf[:])], &in); err != nil {
		return
	}
	conditional := in.Flow == x86.FlowJcc || in.Flow == x86.FlowLoop
	if !conditional && in.Flow != x86.FlowJmp {
		return
	}
	counts := c.jump(m, a, a+emu.Addr(in.Len)+emu.Addr(in.Target), conditional)
	switch {
	case counts == nil:
	case e == emu.Taken || !conditional:
		counts.taken += n
	default:
		counts.executed += n
	}
}

// jump returns the counts of the jumps from a to target, nil if these are not within one function, on the way to one, or of no known line.
func (c *attribution) jump(m *mem.Space, a, target emu.Addr, conditional bool) *jumpCounts {
	from, to := c.functionAt(m, a), c.functionAt(m, target)
	if from.ID != to.ID || from.Passes || from.ID == noObject {
		return nil
	}
	k := jumpKey{jump: cgout.Jump{Conditional: conditional}}
	place := func(a emu.Addr) (fn cgout.Func, file string, line int) {
		loc := c.place(m, a)
		outer, _ := c.owner(a, loc)
		return c.inlined(c.in, inlineKey{c.in, outer, c.context}), loc.File, loc.Line
	}
	var fn cgout.Func
	fn, k.jump.TargetFile, k.jump.TargetLine = place(target)
	k.jump.TargetFunc = fn.Name
	if k.jump.Func, k.jump.File, k.jump.Line = place(a); k.jump.Line == 0 || k.jump.TargetLine == 0 {
		return nil
	}
	if k.addr = uint64(a); c.object != nil {
		k.addr = c.vaddr(a)
	}
	return c.jumps.of(k)
}
