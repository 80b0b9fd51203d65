package profiler

import (
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// A jumpTable has the jumps within functions, by instruction. Of direct ones the counts of the instruction say all: how
// often it was executed, and how often a conditional jump was taken. Indirect ones an engine records.
type jumpTable map[jumpKey]*jumpCounts

// A jumpKey is a jump: the address of its instruction as its object numbers it, from where to where it leads, and
// whether it is conditional.
type jumpKey struct {
	addr        uint64
	from, to    jumpEnd
	conditional bool
}

// A jumpEnd is a line of a function.
type jumpEnd struct {
	fn   funcKey
	file string
	line int
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

// addJumps adds the jumps to a graph: those of instructions that never jumped are none.
func (c *attribution) addJumps(graph *cgout.CallGraph) {
	for k, n := range c.jumps {
		if n.taken > 0 {
			graph.AddJump(cgout.Jump{
				Func: c.function(k.from.fn), File: k.from.file, Line: k.from.line, TargetFunc: c.function(k.to.fn).Name, TargetFile: k.to.file, TargetLine: k.to.line,
				Conditional: k.conditional, Count: n.taken, Executed: n.executed,
			})
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
	counts := c.jump(m, a, a+emu.Addr(in.Len)+emu.Addr(in.Target), conditional, c.context)
	switch {
	case counts == nil:
	case e == emu.Taken || !conditional:
		counts.taken += n
	default:
		counts.executed += n
	}
}

// jump returns the counts of the jumps from a to target in a context, nil if these are not within one function, on the
// way to one, or of no known line.
func (c *attribution) jump(m *mem.Space, a, target emu.Addr, conditional bool, context callgraph.Context) *jumpCounts {
	from, to := c.functionAt(m, a), c.functionAt(m, target)
	if from.ID != to.ID || from.Passes || from.ID == emu.Addr(noObject) {
		return nil
	}
	end := func(a emu.Addr) jumpEnd {
		loc := c.place(m, a)
		fn, _ := c.key(a, loc, context)
		return jumpEnd{fn, loc.File, loc.Line}
	}
	k := jumpKey{to: end(target), from: end(a), addr: uint64(a), conditional: conditional}
	if k.from.line == 0 || k.to.line == 0 {
		return nil
	}
	if c.object != nil {
		k.addr = c.vaddr(a)
	}
	return c.jumps.of(k)
}
