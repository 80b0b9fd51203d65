//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// The clock of the simulated caches is in a vector register where the host has some that the guest does not have, else
// in one of MMX if there is one left, and in stClock otherwise.

// clockInMMX reports whether the clock is in mmClock where the assembler is, clockInMemory whether it is in stClock.
func (e *Engine) clockInMMX() bool { return e.inMMX() && e.keepsClock() }

func (e *Engine) clockInMemory() bool { return !e.sim.clockInVector && !e.clockInMMX() }

// emitEnterSim loads what is in vector and mask registers while generated code runs, emitExitSim stores it.
func (e *Engine) emitEnterSim() {
	if e.sim.masks {
		e.kload(maskHistory, stHistory)
		e.kload(maskTaken, stTakenBit)
	}
	if e.sim.clockInVector {
		e.vloadLow(vecClock, stClock)
		e.vloadLow(vecTick, stTick)
	}
}

func (e *Engine) emitExitSim() {
	if e.sim.masks {
		e.kstore(stHistory, maskHistory)
	}
	if e.sim.clockInVector {
		e.vstoreLow(stClock, vecClock)
	}
}

// emitTime advances the time if late says so. If the clock is in memory the time is in r then. The flags stay.
func (e *Engine) emitTime(r x86.Reg, late bool) {
	switch {
	case e.sim.clockInVector && late:
		e.vpaddqVector(vecClock, vecClock, vecTick)
	case e.clockInMMX() && late:
		e.emitAddConstant(mmClock, stTick)
	case !e.clockInMemory():
	case late:
		e.load(r, stClock)
		e.lea(r, r, tick)
		e.store(stClock, r)
	default:
		e.load(r, stClock)
	}
}

// A stampedNow has the lines that have the present time as their stamp, as far as the block being translated knows: two
// lines of one set must not have the same stamp, or their order would be lost, and other lines may. Where a block
// begins any line may have it.
type stampedNow struct {
	d1 []group
	i1 []uint64
	// d1Known and i1Known say that the lists are complete.
	d1Known, i1Known bool
}

// advanced notes that the time has advanced.
func (s *stampedNow) advanced() {
	*s = stampedNow{d1: s.d1[:0], i1: s.i1[:0], d1Known: true, i1Known: true}
}

// group notes that the lines of g are stamped, and reports whether the time has to advance before.
func (s *stampedNow) group(g *group, c *dataCache) (late bool) {
	late = !s.d1Known
	for i := range s.d1 {
		o := &s.d1[i]
		late = late || !o.ea.sameBut(&g.ea) || max(o.hi, g.hi)-min(o.lo, g.lo) > int64(c.mask)
	}
	if late {
		s.advanced()
	}
	s.d1 = append(s.d1, *g)
	return late
}

// fetch notes that a line of code is, and reports the same.
func (s *stampedNow) fetch(line uint64, c *lineCache) (late bool) {
	late = !s.i1Known
	for _, o := range s.i1 {
		late = late || o != line && o&c.mask == line&c.mask
	}
	if late {
		s.advanced()
	}
	s.i1 = append(s.i1, line)
	return late
}
