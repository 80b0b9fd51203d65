//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A codeCache is the code translated for one way of counting. Links never lead from one to
// another, and since each has a shadow stack of its own, returns do not either.
type codeCache struct {
	counting emu.Counting
	tbs      blockTable
	retained map[emu.Addr][]*tb // by start address too, those last that went last
	// fallenInto has the blocks of functions into which a straight run goes on, which are not found by their address
	// alone: budgets lose more at their first jump.
	fallenInto map[fall]*tb
	table      jumpTable
	shadow     shadow
	// near says that the code relies on a shadow stack that lies near.
	near bool
}

// A fall is where a straight run goes on in another function, and how long it is there.
type fall struct {
	pc  emu.Addr
	run int
}

// newCodeCache makes one without addresses.
func newCodeCache(c emu.Counting) *codeCache {
	return &codeCache{counting: c, retained: map[emu.Addr][]*tb{}, fallenInto: map[fall]*tb{}, near: c == emu.CountAll}
}

// reserve gives w its addresses, for a guest with limit. After an error it has none. If w's code relies on a shadow
// stack that lies near, there may be no place for that: see leaveNear.
func (w *codeCache) reserve(limit emu.Addr) error {
	err := w.table.reserve()
	if err == nil && !(w.near && w.shadow.reserveNear(limit)) {
		err = w.shadow.reserve(limit)
	}
	if err != nil {
		w.release()
	}
	return err
}

// reliesOnNear reports whether the code for which everything counts relies on a shadow stack that lies near.
func (e *Engine) reliesOnNear() bool {
	w := e.codeCaches[emu.CountAll]
	return w != nil && w.near
}

// misplaced reports whether w's code relies on a shadow stack that lies near, and it does not.
func (w *codeCache) misplaced() bool { return w != nil && w.near && !w.shadow.near() }

// leaveNear makes all code anew if some is misplaced, as another engine's shadow stack lies near now, or the guest's
// memory has become too large.
func (e *Engine) leaveNear() {
	if !slices.ContainsFunc(e.codeCaches[:], (*codeCache).misplaced) {
		return
	}
	e.flush()
	for _, w := range e.codeCaches {
		if w.misplaced() {
			w.near = false
		}
	}
}

// goDistant gives the place of e's shadow stack, which lies near, to others. It has no code yet.
func (e *Engine) goDistant() error {
	var s shadow
	if err := s.reserve(e.mem.Limit()); err != nil {
		return err
	}
	w := e.codeCaches[emu.CountAll]
	w.shadow.release()
	w.shadow, w.near = s, false
	e.switchCodeCache(e.codeCache)
	return nil
}

// release gives them back: lookups and returns will miss, and learn again.
func (w *codeCache) release() {
	w.unlist()
	w.table.release()
	w.shadow.release()
}

// unlist notes that the table is without entries.
func (w *codeCache) unlist() {
	for t := range w.tbs.all() {
		t.listed = false
	}
}

// list makes indirect jumps to t continue at host address to, if the table has an entry for them.
func (w *codeCache) list(t *tb, to uint64) error {
	if t.listed || t.pc >= maxCode {
		return nil
	}
	lost, err := w.table.set(t.pc, to)
	if lost { // lookups will miss, and learn again
		w.unlist()
	}
	t.listed = err == nil
	return err
}

// switchCodeCache makes w the code that runs.
func (e *Engine) switchCodeCache(w *codeCache) {
	e.codeCache = w
	e.set(stShadow, uint64(w.shadow.base))
}

// suspend gives the addresses of the jump tables and the shadow stacks back, and of the directories of lines if these
// are many, which a process that does not run can do without.
func (e *Engine) suspend() {
	if directoriesTake.Load() > maxDirectories {
		e.closeDirectories()
	}
	for _, w := range e.codeCaches {
		if w != nil {
			w.release()
		}
	}
	e.suspended = true
}

// revive makes e able to run again. After an error it is suspended.
func (e *Engine) revive() error {
	for _, w := range e.codeCaches { // first: shadow stacks are larger than what else is to have a place
		if w == nil {
			continue
		}
		if err := w.reserve(e.mem.Limit()); err != nil {
			e.suspend()
			return err
		}
	}
	if e.sim.d1.directory.size == 0 {
		if err := e.openDirectories(); err != nil {
			e.suspend()
			return err
		}
	}
	e.suspended = false
	e.leaveNear()
	e.switchCodeCache(e.codeCache)
	return nil
}

// rebase adapts e to a guest whose memory has moved, because it grew. It is suspended then: all that is as large as
// that memory is to be made anew.
func (e *Engine) rebase() {
	e.suspend()
	e.closeDirectories()
	e.setBase()
}

// forget makes all the code of w unreachable.
func (w *codeCache) forget() {
	w.tbs.clear()
	clear(w.fallenInto)
	w.table.reset()
	w.shadow.forget()
}

// SetCounting implements emu.Engine.
func (e *Engine) SetCounting(c emu.Counting) {
	if c == e.counting {
		return
	}
	if e.codeCaches[c] == nil {
		w := newCodeCache(c)
		w.table.miss = e.table.miss
		if !e.suspended {
			if w.reserve(e.mem.Limit()) != nil {
				// There is no address space for another: this one's code makes room.
				e.flush()
				e.codeCaches[e.counting], e.codeCaches[c] = nil, e.codeCache
				e.counting, e.near = c, false
				return
			}
			w.near = w.shadow.near()
		}
		e.codeCaches[c] = w
	}
	e.switchCodeCache(e.codeCaches[c])
}

// SetMark implements emu.Engine.
func (e *Engine) SetMark(a emu.Addr, on bool) {
	if e.marks[a] == on {
		return
	}
	if on {
		e.marks[a] = true
	} else {
		delete(e.marks, a)
	}
	for _, w := range e.codeCaches {
		if w == nil {
			continue
		}
		for _, list := range w.retained {
			for _, t := range list {
				e.bury(t)
			}
		}
		clear(w.retained)
	}
	e.retainedBlocks = 0
	for _, p := range slices.Compact([]emu.Addr{(a - 1).PageDown(), a.PageDown()}) {
		for _, t := range slices.Clone(e.pages[p]) {
			if t.has(a, t.insns()) || !on && t.cut && t.endsBefore(a) {
				e.drop(t)
				e.bury(t)
			}
		}
	}
}

// endsBefore reports whether t ends closely in front of a.
func (t *tb) endsBefore(a emu.Addr) bool {
	last := t.addr(t.insnCount() - 1)
	return last < a && a-last <= x86.MaxLen
}

// full reports whether another block might not fit.
func (e *Engine) full() bool {
	return e.pos+2*maxBlockCode > farOff || e.far+2*maxBlockCode > arenaSize ||
		8*(len(e.weights)+4*maxBlock) > counterSize || 8*(e.eventCounters+8*maxBlock) > ownSize ||
		e.sim.i1.full() || len(e.all) >= maxBlocks || e.dead > minDead+e.live() || e.retainedBlocks > minRetained+e.live()
}

// crowded reports whether there is no room for what is emitted between two translations, which is small.
func (e *Engine) crowded() bool { return e.pos+maxBlockCode > farOff }

// live returns how many blocks are neither dead nor retained.
func (e *Engine) live() int {
	n := len(e.all)
	if e.image != nil {
		n += e.image.count
	}
	return n - e.dead - e.retainedBlocks
}

// flush forgets all translations; what they counted stays.
func (e *Engine) flush() {
	e.gather()
	clear(e.pages)
	e.peeks.forget()
	clear(e.sums)
	clear(e.behindPOPF)
	e.all, e.dead, e.retainedBlocks, e.once = nil, 0, 0, nil
	e.image, e.translated = nil, 0
	e.exits, e.backEdges, e.decoded, e.lists = nil, nil, e.decoded[:1], &lists{}
	e.fixExits()
	clear(e.arena.words(counterOff, len(e.weights))) // some are no counters
	if e.calls != nil {
		e.forgetArcs() // they know exits
		e.calls.arcWords, e.calls.callers = e.calls.arcWords[:0], e.calls.callers[:0]
	}
	e.weights, e.eventCounters = e.weights[:0], 0
	e.sim.i1.forget(&e.arena)
	e.pos, e.far = e.stubs.end, farOff
	if e.purposes != nil {
		e.purposes.from = e.pos
	}
	for _, w := range e.codeCaches {
		if w != nil {
			w.forget()
			clear(w.retained)
		}
	}
	e.epoch++
}

// Blocks that nothing reaches any more keep their code, which may be running, and what is known of it until the next
// flush. It comes when there are more of them than of others: what it costs to translate those anew is paid for by the
// ones that died. So it is with retained blocks, but for those of programs that may be run again.
const (
	minDead     = 1 << 14
	minRetained = 1 << 18
	// maxBlocks is how many there may be in all: what is known of one takes some 500 bytes.
	maxBlocks = 1 << 19
)
