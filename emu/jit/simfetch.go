//go:build linux && amd64

package jit

import (
	"math"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// planFetch finds the instructions of the block that touch an I1 line which the fetches before
// them in the block did not leave as the last used of its set.
func (e *Engine) planFetch() {
	if !e.sim.caches || e.counting == emu.CountOff {
		return
	}
	c := &e.sim.i1
	recent := map[uint64]uint64{} // by set
	for i := range e.block {
		g := &e.block[i]
		first, last := c.base(uint64(g.PC)), c.base(uint64(g.Next()-1))
		l := fetch{insn: i}
		for _, line := range [2]uint64{first, last} {
			if got, ok := recent[line&c.mask]; !ok || got != line {
				l.lines[l.n] = line
				l.n++
				recent[line&c.mask] = line
			}
		}
		if l.n > 0 {
			if at := e.earlier(i, 0); at < i && !e.fetches(at) {
				e.lines[at], l = l, fetch{}
			}
		}
		e.lines = append(e.lines, l)
	}
}

// A fetch has the lines to check in front of an instruction, which the fetch of that one or of a later one touches.
type fetch struct {
	insn  int
	lines [2]uint64
	n     int
}

// fetches reports whether there is a check of I1 in front of instruction i.
func (e *Engine) fetches(i int) bool { return i < len(e.lines) && e.lines[i].n > 0 }

// emitFetch emits the checks of lines in front of instruction i: a line that is in the cache gets a new stamp.
func (e *Engine) emitFetch(i int) {
	if !e.fetches(i) {
		return
	}
	e.spillFlags(i)
	r := x86.NoReg
	if e.clockInMemory() {
		r = e.scratch(i, 0)
	}
	var missing []int
	for _, line := range e.lines[i].lines[:e.lines[i].n] {
		stamp := e.sim.i1.stampOf(line)
		e.cmpAbsImm(e.abs(stamp), 0)
		missing = append(missing, e.jcc(condE, 0))
		e.emitTime(r, e.stampedNow.fetch(line, &e.sim.i1))
		switch {
		case e.sim.clockInVector:
			e.vstoreLow(stamp, vecClock)
		case e.clockInMMX():
			e.mm(opMOVQStore, mmClock, stamp)
		default:
			e.store(stamp, r)
		}
	}
	back := e.pos
	e.swap()
	defer e.swap()
	for _, site := range missing {
		e.link(site, e.pos)
	}
	e.emitFetchMiss(e.lines[i].insn, back)
}

// emitFetchMiss makes the fetch of instruction i in full and goes back.
func (e *Engine) emitFetchMiss(i, back int) {
	g := &e.block[i]
	c := &e.sim.i1
	e.store(stSimRSP, x86.RSP)
	e.emitMissesOfEntry(i, emu.I1mr, false)
	e.leaRIP(x86.RSP, stSimStack)
	first, last := c.base(uint64(g.PC)), c.base(uint64(g.Next()-1))
	for line := first; line <= last; line += uint64(c.line) {
		e.pushImm(e.abs(c.set(line)))
		e.pushImm(e.abs(c.stampOf(line)))
		e.call(e.simRoutines().fetch)
	}
	e.pushImm(int32(g.PC))
	if g.PC > math.MaxInt32 {
		e.byte(0xc7, 0x44, 0x24, 4) // mov dword [rsp+4], imm
		e.u32(uint32(g.PC >> 32))
	}
	e.pushImm(e.abs(e.newEventCounter(i, emu.I1mr, true)) | e.missTotal(emu.I1mr))
	e.pushImm(int32(g.Len) - 1)
	e.call(e.simRoutines().fetchLL)
	e.emitMissesOfEntry(i, emu.I1mr, true)
	e.load(x86.RSP, stSimRSP)
	e.jmp(back)
}

// emitFetchedEntry emits the entry behind the check of the first fetch.
func (e *Engine) emitFetchedEntry() {
	if len(e.lines) == 0 || e.lines[0].n != 1 || e.t.unmarked != 0 || e.checked(0) || e.codeChecked(0) {
		return
	}
	e.t.fetched = int32(e.pos)
	for r := x86.RAX; r <= x86.R15; r++ {
		if e.fetchedSpilled&^e.away>>r&1 != 0 {
			e.store(stSpill+8*int(r), r)
		}
	}
	if e.fetchedFlagsSpilled {
		e.saveFlags()
	}
	if !e.clockInMemory() { // the time advances as in the check
		e.emitTime(x86.NoReg, true)
	} else {
		e.byte(0x48, 0x81) // add qword [stClock], tick
		e.rip(0, stClock, 4)
		e.u32(tick)
	}
	e.jmp(e.fetchedAt)
}

// fetchedBy reports whether the instruction being translated touches the I1 line of target last.
func (e *Engine) fetchedBy(target emu.Addr) bool {
	if len(e.lines) == 0 || !e.fetchKnown {
		return false
	}
	c := &e.sim.i1
	return c.base(uint64(target)) == c.base(uint64(e.block[e.insn].Next()-1))
}
