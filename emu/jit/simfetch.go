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
	e.lines = e.lines[:0]
	if !e.sim.caches || e.counting == emu.CountOff {
		return
	}
	c := &e.sim.i1
	recent := map[uint64]uint64{} // by set
	for i := range e.block {
		g := &e.block[i]
		first, last := c.base(uint64(g.pc)), c.base(uint64(g.next()-1))
		var l fetch
		for _, line := range [2]uint64{first, last} {
			if got, ok := recent[line&c.mask]; !ok || got != line {
				l.lines[l.n] = line
				l.n++
				recent[line&c.mask] = line
			}
		}
		e.lines = append(e.lines, l)
	}
}

// A fetch has the lines an instruction's fetch has to check.
type fetch struct {
	lines [2]uint64
	n     int
}

// fetches reports whether instruction i has a check of I1.
func (e *Engine) fetches(i int) bool { return len(e.lines) > 0 && e.lines[i].n > 0 }

// emitFetch emits the checks of the lines of instruction i.
func (e *Engine) emitFetch(i int) {
	if !e.fetches(i) {
		return
	}
	live := e.flagsLive(i)
	e.keepFlags(live)
	l := &e.lines[i]
	var stubs [2]struct {
		sites []int
		back  int
	}
	for k, line := range l.lines[:l.n] {
		stubs[k].sites = e.emitLineCheck(line)
		stubs[k].back = e.pos
	}
	back := e.pos
	e.restoreFlags(live)
	e.swap()
	defer e.swap()
	for k, line := range l.lines[:l.n] {
		for _, site := range stubs[k].sites {
			e.link(site, e.pos)
		}
		e.emitLineStub(&e.sim.i1, line, live, stubs[k].back, func() { e.emitFetchMiss(i, back) })
	}
}

// emitFetchMiss makes the fetch of instruction i in full and goes back.
func (e *Engine) emitFetchMiss(i, back int) {
	g := &e.block[i]
	e.store(stSimRSP, x86.RSP)
	e.leaRIP(x86.RSP, stSimStack)
	e.pushImm(int32(g.pc))
	if g.pc > math.MaxInt32 {
		e.byte(0xc7, 0x44, 0x24, 4) // mov dword [rsp+4], imm
		e.u32(uint32(g.pc >> 32))
	}
	e.pushImm(e.abs(e.newOwn(i, emu.I1mr, true)))
	e.pushImm(int32(g.Len) - 1)
	e.call(e.sim.fetch)
	e.load(x86.RSP, stSimRSP)
	e.jmp(back)
}

// emitLineCheck compares a line with the last used of its set and returns the sites of the jumps
// to be taken if it is another.
func (e *Engine) emitLineCheck(line uint64) (slow []int) {
	recent := e.abs(e.sim.i1.recentAt(line))
	if line <= math.MaxInt32 {
		e.cmpAbsImm(recent, int32(line))
		return []int{e.jcc(condNE, 0)}
	}
	for half, x := range [2]uint32{uint32(line), uint32(line >> 32)} {
		e.byte(0x81, 7<<3|4, 0x25) // cmp dword [disp], imm
		e.u32(uint32(recent) + 4*uint32(half))
		e.u32(x)
		slow = append(slow, e.jcc(condNE, 0))
	}
	return slow
}
