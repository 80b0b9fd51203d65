//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

const (
	// maxInsns ends a block; with a budget not in the middle of a straight run, but behind the next jump or at the
	// run's own end.
	maxInsns = emu.MaxRun
	// maxBlock is how many instructions a block may have.
	maxBlock = maxInsns + emu.MaxRun
	// maxExits is how many conditional jumps a block goes past.
	maxExits = 5
	// maxCopies is how often a block that jumps to its own start holds that loop: the
	// increment of its counter then costs less than its latency an iteration.
	maxCopies = 8
	// maxReach is how far behind its start a block goes on, so that 16 bits tell where its instructions are.
	maxReach = 1<<16 - maxBlock*x86.MaxLen
)

// A ginsn is one guest instruction of the block being translated.
type ginsn struct {
	guest.Insn
	// follow says that the block goes on behind this jump: at its target for JMP, CALL and, if
	// again is set, for Jcc; else at the next instruction.
	follow, again bool
	// endsRun is what sem.Machine.EndsRun says of it.
	endsRun bool
	// effects are what it may count, if details count.
	effects hooks.Effects
}

// decodeOne decodes the instruction at a into g. ok is false if no byte of it can be fetched.
func (e *Engine) decodeOne(g *ginsn, a emu.Addr) (ok bool) {
	g.follow, g.again = false, false
	if !e.decoder.Decode(&g.Insn, a) {
		return false
	}
	g.endsRun = e.machine.EndsRun(&g.Insn)
	if g.Kind == guest.Emulated && (e.approximates(&g.Insn) || copiesApproximation(&g.Insn)) {
		g.Kind = guest.Plain
	}
	if g.Kind == guest.Plain && e.wide && (e.emulatesWide || e.lacks[g.Feature]) && e.machine.Wide(&g.Insn) {
		g.Kind = guest.Emulated
	}
	return true
}

// recordDecoded keeps the REP instruction g for insnOf, and returns its number, if it may overwrite itself: it is
// looked at behind that. Otherwise it returns 0.
func (e *Engine) recordDecoded(g *ginsn) (number int32) {
	if !e.storable && !e.selfChecks && !e.singleStep {
		return 0
	}
	kept := &ginsn{Insn: g.Insn}
	kept.Bytes = slices.Clone(g.Bytes)
	e.decoded = append(e.decoded, kept)
	return int32(len(e.decoded) - 1)
}

// insnOf returns the instruction at which x left generated code, nil if no byte of it can be fetched. It is that of the
// code which x belongs to: recordDecoded has it, or memory is as it was then.
func (e *Engine) insnOf(x *exit) *ginsn {
	if x.cache() == 0 {
		g := new(ginsn)
		e.decoder.Forget()
		if !e.decodeOne(g, x.rip) {
			return nil
		}
		if x.kind == exitTrap && g.Kind != guest.Emulated {
			return g // it will be refused: why may depend on what lies behind the block
		}
		x.second = int32(len(e.decoded))
		e.decoded = append(e.decoded, g)
	}
	return e.decoded[x.cache()]
}

// decodeBlock fills e.block with the instructions of the block at pc, and returns why it ends. It is empty if pc
// cannot be fetched, and only its first instruction may be one of which a part cannot.
func (e *Engine) decodeBlock(pc emu.Addr) ending {
	exits, loop, run := 0, 0, e.runOffset
	for a := pc; !e.ends(run); {
		if a != pc && e.marks[a] {
			return endMark
		}
		if a != pc && e.otherFunction(pc, a) {
			return endFunction
		}
		e.block = e.block[:len(e.block)+1]
		g := &e.block[len(e.block)-1]
		if !e.decodeOne(g, a) || g.Kind == guest.FetchFault && len(e.block) > 1 {
			e.block = e.block[:len(e.block)-1]
			return endFetch
		}
		a = g.Next()
		run++
		selfChecks := e.onExempt(g)
		switch {
		case g.Kind.Ends():
			return endLeaves
		case g.Flow == x86.FlowNext && g.endsRun:
			if len(e.block) >= maxInsns {
				return endLength
			}
			run = 0
		case g.Flow == x86.FlowNext:
		case selfChecks: // a longer block would compare code that is not executed each time
			return endBranch
		case g.Flow == x86.FlowJcc && g.Dest() == pc && !e.budgeted:
			if loop == 0 {
				loop = len(e.block)
			}
			if len(e.block)+loop > maxInsns || len(e.block) == maxCopies*loop || e.marks[pc] {
				return endLoop
			}
			g.follow, g.again = true, true
			a = pc
		case g.Flow == x86.FlowJcc:
			if exits == maxExits || g.Target <= 0 || len(e.block) >= maxInsns {
				return endBranch
			}
			exits++
			run = 0
			g.follow = true
		case g.Flow == x86.FlowJmp:
			if g.Target <= 0 || g.Dest()-pc > maxReach || e.inBlock(g.Dest()) || e.otherFunction(pc, g.Dest()) || len(e.block) >= maxInsns {
				return endBranch
			}
			run = 0
			g.follow = true
			a = g.Dest()
		case g.Flow == x86.FlowCall:
			e.decodeLinkage(g)
			return endBranch
		default:
			return endBranch
		}
	}
	return endLength
}

// ends reports whether the block being decoded ends whatever follows; run is the length of its last
// straight run.
func (e *Engine) ends(run int) bool {
	if e.budgeted {
		return run >= emu.MaxRun
	}
	return len(e.block) >= maxInsns
}

// inBlock reports whether the block being decoded has an instruction at a.
func (e *Engine) inBlock(a emu.Addr) bool {
	for i := range e.block {
		if e.block[i].PC == a {
			return true
		}
	}
	return false
}

// Depth to which the code behind a jump is examined.
const peekDepth = 8

// A peek says what the code at an address does with the status flags.
type peek uint8

const (
	// flagsDead: they are overwritten before they are read.
	flagsDead peek = 1 << iota
	// flagsDeadNow: and no instruction that could fault comes before that.
	flagsDeadNow
)

// flagsAtTarget examines the code at a. The pages it reads are added to those the
// block depends on.
func (e *Engine) flagsAtTarget(a emu.Addr) peek {
	if e.mem.Exempt(a.PageDown()) {
		return 0
	}
	e.depend(a)
	p, ok := e.peeks.at(a)
	if !ok {
		p = e.examineFlags(a)
		e.peeks.put(a, p)
	}
	if l := (lookahead{canonicalOf(a), p}); !slices.Contains(e.lookaheads, l) {
		e.lookaheads = append(e.lookaheads, l)
	}
	return p
}

func (e *Engine) examineFlags(a emu.Addr) peek {
	found := flagsDead | flagsDeadNow
	live := x86.StatusFlags
	g := &e.examined
	start := a.PageDown()
	for range peekDepth {
		// Staying on the page keeps the dependency to one page.
		if a.PageDown() != start || !e.decodeOne(g, a) || g.Next().PageDown() != start {
			return 0
		}
		switch {
		case g.FlagsRead&live != 0:
			return 0
		case g.Kind < guest.String:
			a = g.Next()
		case g.Flow == x86.FlowJmp:
			a = g.Dest()
			continue
		default:
			return 0
		}
		if mayFault(g) {
			found &^= flagsDeadNow
		}
		live &^= g.FlagsWrite &^ g.FlagsRead
		if live == 0 {
			return found
		}
	}
	return 0
}

// mayFault reports whether the instruction can raise an exception that a guest
// handler could see.
func mayFault(g *ginsn) bool {
	if g.Kind == guest.Nop {
		return false
	}
	return g.Kind != guest.Plain || g.NRefs > 0 || g.HasMem && g.Op != x86.LEA || g.X87 || g.VecRead|g.VecWrite != 0 ||
		g.Op == x86.DIV || g.Op == x86.IDIV
}
