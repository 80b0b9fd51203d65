//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

const (
	// maxInsns ends a block whatever follows.
	maxInsns = 48
	// maxExits is how many conditional jumps a block goes past.
	maxExits = 5
	// maxCopies is how often a block that jumps to its own start holds that loop: the
	// increment of its counter then costs less than its latency an iteration.
	maxCopies = 8
)

// A ginsn is one guest instruction of the block being translated.
type ginsn struct {
	x86.Inst
	pc    emu.Addr
	bytes []byte // its encoding
	kind  insnKind
	// follow says that the block goes on behind this jump: at its target for JMP and, if
	// again is set, for Jcc; else at the next instruction.
	follow, again bool
	// effects are what it may count, if details count.
	effects hooks.Effects
}

// next returns the address behind the instruction.
func (g *ginsn) next() emu.Addr { return g.pc + emu.Addr(g.Len) }

// target returns where a direct branch goes.
func (g *ginsn) target() emu.Addr { return g.next() + emu.Addr(g.Target) }

// A source reads guest code ahead of the decoder.
type source struct {
	e   *Engine
	lo  emu.Addr
	buf [512]byte
	n   int
}

// at returns the code bytes at a, up to 32 of them, fewer where code ends.
func (s *source) at(a emu.Addr) []byte {
	if a < s.lo || s.n < 32 || a-s.lo > emu.Addr(s.n-32) {
		s.lo = a
		s.n = s.e.mem.Fetch(a, s.buf[:])
	}
	off := int(a - s.lo)
	return s.buf[off:min(off+32, s.n)]
}

// requestKinds has the translation of each client request.
var requestKinds = [...]insnKind{
	hooks.CallTool: kindClient, hooks.OriginalAddr: kindNRAddr, hooks.CallOriginal: kindCallNoRedir, hooks.Inject: kindNop,
}

// decodeOne decodes the instruction at a into g. ok is false if no byte of it can be fetched.
func (e *Engine) decodeOne(g *ginsn, a emu.Addr) (ok bool) {
	code := e.src.at(a)
	if len(code) == 0 {
		return false
	}
	g.pc, g.follow, g.again = a, false, false
	if r := hooks.RequestAt(code); r != hooks.NoRequest {
		g.Inst = x86.Inst{Len: hooks.RequestLen}
		if r == hooks.CallOriginal {
			g.NRefs, g.Refs[0] = 1, x86.Ref{Kind: x86.Write, At: x86.AtRSP, Size: 8, Off: -8}
		}
		g.kind = requestKinds[r]
		g.bytes = append(g.bytes[:0], code[:hooks.RequestLen]...)
		return true
	}
	err := x86.Decode(code[:min(len(code), x86.MaxLen)], &g.Inst)
	if err == x86.ErrTruncated && len(code) < x86.MaxLen {
		// The instruction runs into memory that cannot be executed.
		g.Inst = x86.Inst{Len: uint8(len(code))}
		g.kind = kindFetchFault
		g.bytes = append(g.bytes[:0], code...)
		return true
	}
	if err != nil {
		g.Inst = x86.Inst{Len: 1}
		g.kind = kindUnknown
		g.bytes = append(g.bytes[:0], code[0])
		return true
	}
	g.bytes = append(g.bytes[:0], code[:g.Len]...)
	if (g.Op == x86.TZCNT || g.Op == x86.LZCNT) && !e.features[g.Feature] {
		e.ignoreRep(g)
	}
	g.kind = classify(&g.Inst, e.features)
	return true
}

// ignoreRep makes TZCNT and LZCNT the BSF and BSR they are on CPUs that ignore their F3 prefix.
func (e *Engine) ignoreRep(g *ginsn) {
	for i, b := range g.bytes[:g.NPrefix] {
		if b == 0xf3 {
			g.bytes[i] = 0x3e // DS: ignored too
		}
	}
	if err := x86.Decode(g.bytes, &g.Inst); err != nil {
		panic("BUG: TZCNT without F3 is not BSF: " + err.Error())
	}
}

// decodeBlock fills e.block with the instructions of the block at pc. It is empty if pc
// cannot be fetched.
func (e *Engine) decodeBlock(pc emu.Addr) {
	e.block = e.block[:0]
	exits, loop := 0, 0
	for a := pc; len(e.block) < maxInsns && (a == pc || !e.marks[a]); {
		e.block = e.block[:len(e.block)+1]
		g := &e.block[len(e.block)-1]
		if !e.decodeOne(g, a) || g.kind == kindFetchFault && len(e.block) > 1 {
			e.block = e.block[:len(e.block)-1]
			return
		}
		a = g.next()
		switch {
		case g.kind.ends():
			return
		case g.Flow == x86.FlowNext:
		case g.Flow == x86.FlowJcc && g.target() == pc && !e.budgeted:
			if loop == 0 {
				loop = len(e.block)
			}
			if len(e.block)+loop > maxInsns || len(e.block) == maxCopies*loop || e.marks[pc] {
				return
			}
			g.follow, g.again = true, true
			a = pc
		case g.Flow == x86.FlowJcc:
			if exits == maxExits || g.Target <= 0 || len(e.block) == maxInsns {
				return
			}
			exits++
			g.follow = true
		case g.Flow == x86.FlowJmp:
			if g.Target <= 0 || e.inBlock(g.target()) || len(e.block) == maxInsns {
				return
			}
			g.follow = true
			a = g.target()
		default:
			return
		}
	}
}

// inBlock reports whether the block being decoded has an instruction at a.
func (e *Engine) inBlock(a emu.Addr) bool {
	for i := range e.block {
		if e.block[i].pc == a {
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
	peeked
)

// peekFlags examines the code at a. The pages it reads are added to those the
// block depends on.
func (e *Engine) peekFlags(a emu.Addr) peek {
	e.depend(a)
	if p, ok := e.peeks[a]; ok {
		return p
	}
	p := e.examine(a) | peeked
	e.peeks[a] = p
	return p
}

func (e *Engine) examine(a emu.Addr) peek {
	found := flagsDead | flagsDeadNow
	live := x86.StatusFlags
	g := &e.peekInsn
	start := a.PageDown()
	for range peekDepth {
		// Staying on the page keeps the dependency to one page.
		if a.PageDown() != start || !e.decodeOne(g, a) || g.next().PageDown() != start {
			return 0
		}
		if g.kind != kindPlain && g.kind != kindNop || g.FlagsRead&live != 0 {
			return 0
		}
		if mayFault(g) {
			found &^= flagsDeadNow
		}
		live &^= g.FlagsWrite &^ g.FlagsRead
		if live == 0 {
			return found
		}
		switch g.Flow {
		case x86.FlowNext:
			a = g.next()
		case x86.FlowJmp:
			a = g.target()
		default:
			return 0
		}
	}
	return 0
}

// mayFault reports whether the instruction can raise an exception that a guest
// handler could see.
func mayFault(g *ginsn) bool {
	if g.kind == kindNop {
		return false
	}
	return g.kind != kindPlain || g.NRefs > 0 || g.HasMem && g.Op != x86.LEA || g.X87 || g.VecRead|g.VecWrite != 0 ||
		g.Op == x86.DIV || g.Op == x86.IDIV
}
