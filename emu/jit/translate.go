package jit

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// maxBlockCode is more code than one block can need, in bytes.
const maxBlockCode = 32 << 10

// A coldExit is the taken side of a conditional jump, to be put behind the block.
type coldExit struct {
	site   int // rel32 to link to it
	target emu.Addr
	insn   int
	// side says that the block goes on behind the jump: the exit needs a counter.
	side bool
}

// A stub is an exit stub to be put behind a block.
type stub struct {
	site int
	exit exit
}

// translate makes the block at pc. It returns nil and the fault if pc holds no code.
func (e *Engine) translate(pc emu.Addr) (*tb, *emu.Fault) {
	e.deps = e.deps[:0]
	e.src.n = 0
	e.decodeBlock(pc)
	if e.alone && len(e.block) > 1 {
		e.block = e.block[:1]
		e.block[0].follow = false
	}
	if len(e.block) == 0 {
		return nil, &emu.Fault{Vector: emu.VecPF, Addr: pc, Exec: true}
	}
	if e.full() {
		e.flush()
	}
	indirect := 0
	if e.wantIndirect {
		indirect, e.wantIndirect = e.emitIndirectEntry(), false
	}
	t := &tb{pc: pc, entry: e.pos, indirect: indirect, counter: e.newCounter(int64(len(e.block))), insns: make([]insnAt, len(e.block))}
	e.t, e.cold, e.stubsDue = t, e.cold[:0], e.stubsDue[:0]
	e.placeCounter()
	for i := range e.block {
		e.depend(e.block[i].pc)
		e.depend(e.block[i].next() - 1)
		t.insns[i] = insnAt{off: int32(e.block[i].pc - pc), host: uint32(e.pos - t.entry)}
		if i == t.counted {
			e.emitCount(i)
		}
		e.emitInsn(i)
	}
	if last := &e.block[len(e.block)-1]; last.Flow == x86.FlowNext && !last.kind.ends() || last.follow {
		e.emitJump(e.fallsTo(last))
	}
	e.emitCold()
	t.end = e.pos
	t.pages = append([]emu.Addr(nil), e.deps...)
	e.register(t)
	if e.pos-t.entry > maxBlockCode {
		panic(fmt.Sprintf("BUG: block of %d bytes", e.pos-t.entry))
	}
	return t, nil
}

// fallsTo returns where a block goes on behind its last instruction.
func (e *Engine) fallsTo(g *ginsn) emu.Addr {
	if g.Flow == x86.FlowJmp {
		return g.target()
	}
	return g.next()
}

// depend notes that the block depends on the page of a.
func (e *Engine) depend(a emu.Addr) {
	p := a.PageDown()
	for _, have := range e.deps {
		if have == p {
			return
		}
	}
	e.deps = append(e.deps, p)
}

// register makes a finished block known and guards its pages; a block that is to run
// once is not.
func (e *Engine) register(t *tb) {
	e.all = append(e.all, t)
	if e.alone {
		return
	}
	e.tbs[t.pc] = t
	for _, p := range t.pages {
		e.pages[p] = append(e.pages[p], t)
		e.mem.Guard(p, p+emu.PageSize)
	}
}

// writesAllFlags reports whether g overwrites the status flags and cannot fault:
// in front of it they may be changed without anyone seeing it.
func writesAllFlags(g *ginsn) bool {
	return g.kind == kindPlain && !mayFault(g) &&
		g.FlagsWrite&x86.StatusFlags == x86.StatusFlags && g.FlagsRead&x86.StatusFlags == 0
}

// overwrites returns a register that g overwrites without being able to fault, or NoReg.
func overwrites(g *ginsn) x86.Reg {
	if g.kind != kindPlain || mayFault(g) {
		return x86.NoReg
	}
	lost := g.GPRWrite &^ g.GPRRead
	for r := x86.RAX; r <= x86.R15; r++ {
		if lost>>r&1 != 0 && r != x86.RSP {
			return r
		}
	}
	return x86.NoReg
}

// placeCounter chooses the instruction in front of which the entry counter is incremented: the
// first one, before any side exit, where that needs least.
func (e *Engine) placeCounter() {
	scratch := -1
	for i := range e.block {
		g := &e.block[i]
		if writesAllFlags(g) {
			e.t.counted = i
			return
		}
		if scratch < 0 && overwrites(g) != x86.NoReg {
			scratch = i
		}
		if g.Flow != x86.FlowNext && g.Flow != x86.FlowJmp || g.kind.ends() || g.kind == kindRep {
			break
		}
	}
	e.t.counted = max(scratch, 0)
}

// emitCount increments the entry counter in front of instruction i.
func (e *Engine) emitCount(i int) {
	g := &e.block[i]
	e.emitIncrement(e.t.counter, writesAllFlags(g), overwrites(g))
}

// emitIncrement increments a counter. flagsDead says that the flags may change,
// scratch is a register that may, or NoReg.
func (e *Engine) emitIncrement(counter int, flagsDead bool, scratch x86.Reg) {
	off := counterOff + 8*counter
	switch {
	case flagsDead:
		e.incMem(off)
	case scratch != x86.NoReg:
		e.incMemBy(off, scratch)
	default:
		e.store(slotA, x86.RAX)
		e.incMemBy(off, x86.RAX)
		e.load(x86.RAX, slotA)
	}
}

// emitCold emits the taken sides of conditional jumps, then the exit stubs.
func (e *Engine) emitCold() {
	for _, c := range e.cold {
		e.link(c.site, e.pos)
		if c.side {
			after := c.insn + 1
			k := e.newCounter(int64(after - len(e.block)))
			e.t.exits = append(e.t.exits, sideExit{after: after, counter: k})
			e.emitIncrement(k, e.peekFlags(c.target)&flagsDeadNow != 0, x86.NoReg)
		} else {
			e.emitBudget(c.insn, c.target)
		}
		e.emitJump(c.target)
	}
	for _, s := range e.stubsDue {
		at := e.pos
		e.storeImm32(stExit, uint32(e.newExit(s.exit)))
		e.jmp(e.stubs.exit)
		if s.exit.kind != exitLink {
			e.link(s.site, at)
			continue
		}
		l := link{site: s.site, stub: at}
		e.exits[len(e.exits)-1].link = l
		if to := e.tbs[s.exit.rip]; to != nil {
			e.connect(l, to)
		} else {
			e.link(s.site, at)
		}
		if s.exit.back {
			e.backEdges = append(e.backEdges, l)
		}
	}
}

// emitJump jumps to the block at target.
func (e *Engine) emitJump(target emu.Addr) {
	e.keepSiteWhole(1)
	e.emitLink(e.jmp(0), target)
}

// emitLink makes the rel32 at site go to the block at target, now or when it exists.
func (e *Engine) emitLink(site int, target emu.Addr) {
	back := target <= e.block[len(e.block)-1].pc
	e.stubsDue = append(e.stubsDue, stub{site: site, exit: exit{kind: exitLink, rip: target, back: back}})
}

// keepSiteWhole pads so that the rel32 behind opcode bytes lies in one cache line: Interrupt
// changes it while another core may fetch it.
func (e *Engine) keepSiteWhole(opcode int) {
	for (e.pos+opcode)%64 > 60 {
		e.byte(0x90)
	}
}

// emitExit makes the jump at site leave generated code with the given exit.
func (e *Engine) emitExit(site int, x exit) {
	e.stubsDue = append(e.stubsDue, stub{site: site, exit: x})
}
