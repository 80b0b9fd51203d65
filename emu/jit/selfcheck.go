//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Blocks that have instructions on an exempt page (mem.Space.Exempt) check themselves: in front of the first
// instruction, and behind each one that may store, that the instructions that follow, as far as the next one that may,
// are what they were. What programs change time and again, in trampolines and in caches that lie in code, is mostly the
// immediate of a MOV: where a block has changed once these are read when they are executed, and not compared.

// quietWords is how many words of the state block there are in which entries of such blocks are counted down, for pages
// by number, until a page is guarded again.
const quietWords = 16

// quietAt is the word of page p, which other pages have, too.
func quietAt(p emu.Addr) int { return stQuiet + 8*int(p/emu.PageSize%quietWords) }

// waitForQuiet begins to count entries of blocks on the exempt page p.
func (e *Engine) waitForQuiet(p emu.Addr) { e.set(quietAt(p), e.mem.Patience(p)) }

// checksItself reports whether a block made from pages has to check itself.
func (e *Engine) checksItself(pages []emu.Addr) bool {
	return e.mem.AnyExempt() && slices.ContainsFunc(pages, e.mem.Exempt)
}

// onExempt notes whether g, the next instruction of the block, is on an exempt page, and reports whether any was.
func (e *Engine) onExempt(g *ginsn) bool {
	if !e.mem.AnyExempt() {
		return false
	}
	for _, p := range [...]emu.Addr{g.PC.PageDown(), (g.Next() - 1).PageDown()} {
		if !e.selfChecks && e.mem.Exempt(p) {
			e.selfChecks, e.exemptPage = true, p
			if e.get(quietAt(p)) == 0 {
				e.waitForQuiet(p)
			}
		}
	}
	return e.selfChecks
}

// codeChanged goes on where x left a block whose code from there on is not what it was.
func (e *Engine) codeChanged(x *exit) {
	t, i := x.t, int(x.insn)
	if i > 0 {
		e.countUntil(t, i, i, i > int(t.counted), i > int(t.counted) && !e.sumsLast())
		e.runOffset = int(t.insn(i).run)
	}
	e.passing, e.passes = e.cpu, x.rip // a mark there was passed
	known := t.cache.tbs.at(t.pc) == t // else it runs once
	for _, p := range slices.Clone(t.pages()) {
		if !e.mem.Exempt(p) {
			continue
		}
		e.waitForQuiet(p)
		if known && e.calls != nil { // what is known of calls may not hold either
			e.Invalidate(p, p+emu.PageSize)
		}
	}
	if known && e.calls == nil {
		e.drop(t)
		e.retain(t)
	}
	if e.noteRewritten(t.pc) {
		e.forgetRetained(t.pc) // they compare immediates
	}
}

// maxRewritten bounds the blocks that are known to have changed: where there are more all begin anew.
const maxRewritten = 1 << 14

// noteRewritten notes that the block at pc has changed, and reports whether that is for the first time.
func (e *Engine) noteRewritten(pc emu.Addr) (first bool) {
	if e.rewritten[pc] {
		return false
	}
	if e.rewritten == nil || len(e.rewritten) == maxRewritten {
		e.rewritten = map[emu.Addr]bool{}
	}
	e.rewritten[pc] = true
	return true
}

// readsImmediate reports whether g, of a block that checks itself, is a MOV whose immediate is read when g is executed.
func (e *Engine) readsImmediate(g *ginsn) bool {
	return g.Op == x86.MOV && g.Args[0].Kind == x86.ArgGPR && g.Args[0].Reg != x86.RSP && g.ImmLen >= 4 && g.OpSize >= 4 && e.rewritten[e.block[0].PC]
}

// emitReadImmediate emits such a MOV. Its register has the address of the immediate first.
func (e *Engine) emitReadImmediate(g *ginsn) {
	reg := g.Args[0].Reg
	e.store(slotA, reg)
	from := e.pos
	e.movImm(reg, uint64(g.PC)+uint64(g.ImmOff))
	rex, op := rexW(reg, reg), byte(opMovLoad)
	switch {
	case g.OpSize == 4:
		rex &^= 0x08 // W
	case g.ImmLen == 4:
		op = opMOVSXD
	}
	e.byte(prefixGS, rex, op)
	e.memRM(reg, reg, 0)
	e.saved(from, reg, slotA, 0)
}

// guardAgain makes the exempt pages of t guarded when they next hold code, since none of it has changed for long.
func (e *Engine) guardAgain(t *tb) {
	for _, p := range slices.Clone(t.pages()) {
		if e.mem.Exempt(p) {
			e.waitForQuiet(p) // for others that the word counts for
			e.mem.GuardAgain(p)
		}
	}
}

// codeChecked reports whether the block checks its code in front of instruction i.
func (e *Engine) codeChecked(i int) bool { return e.selfChecks && e.checkIsDue(i) }

// checkIsDue is codeChecked for a block that checks itself. (So codeChecked, which is asked for each instruction, is
// inlined.)
func (e *Engine) checkIsDue(i int) bool {
	if i == 0 {
		return e.runOffset == 0 && !e.singleStep
	}
	return mayStore(&e.block[i-1])
}

// mayHaveChanged reports whether the instruction in front of instruction k may store to the block's code: what k does,
// or any behind it, is not known then. Where the store is seen the block is left in the midst, as at a check.
func (e *Engine) mayHaveChanged(k int) bool {
	return (e.selfChecks || e.storable) && mayStore(&e.block[k-1])
}

// isStorable reports whether the guest may be able to store to the block's code.
func (e *Engine) isStorable() bool {
	seen := ^emu.Addr(0)
	for i := range e.block {
		g := &e.block[i]
		for _, p := range [...]emu.Addr{g.PC.PageDown(), (g.Next() - 1).PageDown()} {
			if p != seen && e.mem.Storable(p) {
				return true
			}
			seen = p
		}
	}
	return false
}

// mayStore reports whether g may write to memory.
func mayStore(g *ginsn) bool {
	switch g.Kind {
	case guest.Nop, guest.Lea:
		return false
	case guest.Plain, guest.Pop:
		for r := range g.References {
			if r.Kind != x86.Read {
				return true
			}
		}
		return false
	}
	return g.Kind != guest.Branch
}

// checkedUntil returns behind which instruction what is checked in front of instruction i ends: the next check checks
// the rest.
func (e *Engine) checkedUntil(i int) int {
	for i++; i < len(e.block) && !mayStore(&e.block[i-1]); i++ {
	}
	return i
}

// emitCodeCheck checks instructions from i on, before anything of i is simulated. Registers and flags stay.
func (e *Engine) emitCodeCheck(i int) {
	e.settle(i)
	defer e.emitFor(e.emitFor(forSelfChecks))
	e.store(slotA, x86.RCX)
	e.store(slotB, x86.RDX)
	from := e.pos
	var differs []int
	quiet := 0
	if i == 0 {
		e.addMemBy(quietAt(e.exemptPage), -1, x86.RCX)
		quiet = e.short(opJRCXZ)
	}
	for k, end := i, e.checkedUntil(i); k < end; {
		at := e.block[k].PC
		e.movImm(x86.RDX, uint64(at))
		e.code = e.code[:0]
		for next := at; k < end && e.block[k].PC == next; k++ {
			g := &e.block[k]
			e.code = append(e.code, g.Bytes...)
			if next = g.Next(); e.readsImmediate(g) {
				e.code = e.code[:len(e.code)-int(g.ImmLen)]
				next = 0 // the next instruction is behind what is not compared
			}
		}
		for off := 0; off < len(e.code); {
			off += e.emitCompare(e.code, off)
			same := e.short(opJRCXZ)
			differs = append(differs, e.jmp(0))
			if quiet != 0 {
				e.patchShort(quiet)
				quiet = 0
				e.emitQuiet()
			}
			e.patchShort(same)
		}
	}
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.saved(from, x86.RCX, slotA, 0)
	e.saved(from, x86.RDX, slotB, 0)
	e.swap()
	for _, site := range differs {
		e.link(site, e.pos)
	}
	e.emitCheckExit(exit{kind: exitChanged, rip: e.block[i].PC, t: e.t, insn: int16(i)})
	e.swap()
}

// emitQuiet emits the exit of a block whose page was quiet for long.
func (e *Engine) emitQuiet() {
	site := e.jmp(0)
	e.swap()
	e.link(site, e.pos)
	e.emitCheckExit(exit{kind: exitQuiet, rip: e.t.pc, t: e.t})
	e.swap()
}

// emitCheckExit gives the guest's registers back and leaves by x.
func (e *Engine) emitCheckExit(x exit) {
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.emitExit(e.jmp(0), x)
}

// emitCompare makes RCX 0 if the guest's code at RDX, from off on, is that given, four bytes of it or fewer, and
// returns how many.
func (e *Engine) emitCompare(code []byte, off int) (size int) {
	held := uint32(code[off])
	switch size = 1; {
	case len(code)-off >= 4:
		size, held = 4, binary.LittleEndian.Uint32(code[off:])
	case len(code)-off >= 2:
		size, held = 2, uint32(binary.LittleEndian.Uint16(code[off:]))
	}
	e.loadGuestPart(x86.RCX, x86.RDX, int32(off), size)
	e.lea32(x86.RCX, x86.RCX, -int32(held))
	return size
}
