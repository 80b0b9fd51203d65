//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// A RET on the shadow stack comes out behind the CALL that used its place of the stack last. There the return address
// is compared, and that loses the flags if the code behind the CALL needs none. This is right where a RET returns. A
// RET that is used as a jump, to an address that something else has put on the stack, may find such a place too, and
// its target may look at the flags. What follows guesses which RETs are such jumps; these look their target up, which
// leaves the flags alone. One that is not recognized may lose the flags for the guest.

// writesTarget reports whether the block itself puts the return address of its last instruction, RET i, on the stack.
func (e *Engine) writesTarget(i int) bool {
	sp := int64(0) // RSP behind instruction i, from the place of the return address on
	for i--; i >= 0; i-- {
		g := &e.block[i]
		switch {
		case g.Kind == guest.Push:
			if sp == 0 {
				return true
			}
			sp += int64(g.OpSize)
		case g.Kind == guest.Pop && g.Args[0].Kind == x86.ArgGPR && g.Args[0].Reg != x86.RSP:
			sp -= int64(g.OpSize)
		case g.GPRWrite>>x86.RSP&1 != 0:
			return false
		case g.HasMem && g.Mem.Base == x86.RSP && g.Mem.Index == x86.NoReg && sp+g.Mem.Disp == 0 && writesMemory(g):
			return true
		}
	}
	return false
}

// returnsFlags reports whether the block's last instruction, RET i, seems to return flags: nobody has read what was
// written to them last, and the instruction that wrote it has no other result; or they are what POPF left, with which a
// thread that was preempted takes its flags back.
func (e *Engine) returnsFlags(i int) bool {
	for i--; i >= 0; i-- {
		g := &e.block[i]
		if g.FlagsRead&x86.StatusFlags != 0 {
			return false
		}
		if g.FlagsWrite&x86.StatusFlags != 0 {
			touches := g.Op == x86.TEST && g.HasMem // Go's check of a pointer
			return !touches && (g.Op.IsString() || g.GPRWrite == 0 && g.VecWrite == 0 && !writesMemory(g))
		}
	}
	return e.behindPOPF[e.block[0].PC]
}

// writesMemory reports whether g writes to memory.
func writesMemory(g *ginsn) bool {
	for r := range g.References {
		if r.Kind != x86.Read {
			return true
		}
	}
	return false
}
