package hooks

import (
	"slices"

	"github.com/cgemu/cgemu/emu/x86"
)

// A Context follows the instructions that run in a row up to a branch or a repeated one, where Valgrind's blocks end
// too. What two of Cachegrind's rules count depends on it: they look at values that are copies of each other, as far as
// MOVs between 64-bit registers make them (docs/counting.md, "Data references": MOVS; "Indirect branches"). The zero
// Context knows nothing.
type Context struct {
	// values numbers what the registers hold; equal numbers are equal values. 0 is
	// none that another register has.
	values [16]int
	next   int
	// constants are the values loaded as immediates.
	constants map[int]int64
}

// Next returns the effects of i, and takes it for executed.
func (c *Context) Next(i *x86.Inst) Effects {
	x := Effects{Refs: slices.Clip(i.Refs[:min(int(i.NRefs), len(i.Refs))])}
	if int(i.NRefs) > len(i.Refs) {
		x.Refs = nil
		for r := range i.References {
			x.Refs = append(x.Refs, r)
		}
	}
	x.Cond = i.Flow == x86.FlowJcc || i.Flow == x86.FlowLoop || LockedBranch(i)
	switch {
	case i.Flow == x86.FlowJmpInd || i.Flow == x86.FlowCallInd:
		x.Indirect = i.Args[0].Kind != x86.ArgGPR || !c.constant(i.Args[0].Reg)
	case i.Op == x86.MOVS && !Repeats(i) && c.same(x86.RSI, x86.RDI):
		// A read and a write at what is known to be one address are one modify.
		x.Refs = []x86.Ref{{Kind: x86.Modify, At: x86.AtRSI, Size: x.Refs[0].Size}}
	case !i.HasMem && i.Args[1].Kind == x86.ArgGPR:
		x.Refs = append(x.Refs, bitTest(i)...)
	}
	if i.Flow != x86.FlowNext || Repeats(i) {
		*c = Context{}
		return x
	}
	c.pass(i)
	return x
}

// BelowStack is where Valgrind executes bit tests of registers: so far from the stack pointer. No program refers to it.
const BelowStack = -288

// bitTest returns the references of BT and its kin with a register operand: Valgrind
// executes them in memory far below the stack pointer.
func bitTest(i *x86.Inst) []x86.Ref {
	size := uint16(i.OpSize)
	store := x86.Ref{Kind: x86.Write, At: x86.AtRSP, Off: BelowStack, Size: size}
	switch i.Op {
	case x86.BT:
		return []x86.Ref{store, {Kind: x86.Read, At: x86.AtRSP, Off: BelowStack, Size: 1}}
	case x86.BTS, x86.BTR, x86.BTC:
		return []x86.Ref{
			store, {Kind: x86.Modify, At: x86.AtRSP, Off: BelowStack, Size: 1},
			{Kind: x86.Read, At: x86.AtRSP, Off: BelowStack, Size: size},
		}
	}
	return nil
}

// pass follows what i does to registers.
func (c *Context) pass(i *x86.Inst) {
	dst, src := &i.Args[0], &i.Args[1]
	if i.Op == x86.MOV && i.OpSize == 8 && dst.Kind == x86.ArgGPR && src.Kind == x86.ArgGPR {
		if c.values[src.Reg] == 0 {
			c.values[src.Reg] = c.fresh()
		}
		c.values[dst.Reg] = c.values[src.Reg]
		return
	}
	for r := range c.values {
		if i.GPRWrite>>r&1 != 0 {
			c.values[r] = 0
		}
	}
	if i.Op == x86.MOV && i.OpSize == 8 && dst.Kind == x86.ArgGPR && src.Kind == x86.ArgImm {
		c.values[dst.Reg] = c.fresh()
		if c.constants == nil {
			c.constants = map[int]int64{}
		}
		c.constants[c.next] = src.Imm
	}
}

func (c *Context) fresh() int {
	c.next++
	return c.next
}

// constant reports whether r holds an immediate.
func (c *Context) constant(r x86.Reg) bool {
	_, ok := c.constants[c.values[r]]
	return ok
}

// same reports whether two registers are known to be equal.
func (c *Context) same(a, b x86.Reg) bool {
	x, y := c.values[a], c.values[b]
	if x != 0 && x == y {
		return true
	}
	return c.constant(a) && c.constant(b) && c.constants[x] == c.constants[y]
}
