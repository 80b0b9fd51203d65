//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A world is the code translated for one way of counting. Links never lead from one to
// another, and since each has a shadow stack of its own, returns do not either.
type world struct {
	counting emu.Counting
	tbs      map[emu.Addr]*tb   // by start address
	dormant  map[emu.Addr][]*tb // by start address too, those last that went last
	table    *jumpTable
	shadow   shadow
}

func (e *Engine) newWorld(c emu.Counting) (*world, error) {
	table, err := newJumpTable(e.hostAddr(e.stubs.miss))
	if err != nil {
		return nil, err
	}
	w := &world{counting: c, tbs: map[emu.Addr]*tb{}, dormant: map[emu.Addr][]*tb{}, table: table}
	if !e.suspended {
		if err := w.reserve(e.mem.Limit()); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// reserve gives w its addresses, for a guest with limit.
func (w *world) reserve(limit emu.Addr) error {
	if err := w.table.reserve(); err != nil {
		return err
	}
	return w.shadow.reserve(limit)
}

// release gives them back: lookups and returns will miss, and learn again.
func (w *world) release() {
	for _, t := range w.tbs {
		t.listed = false
	}
	w.table.release()
	w.shadow.release()
}

// enterWorld makes w the code that runs.
func (e *Engine) enterWorld(w *world) {
	e.world = w
	e.set(stShadow, uint64(w.shadow.base))
}

// suspend gives the addresses of the jump tables and the shadow stacks back, which a process that does not run can do without.
func (e *Engine) suspend() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.worlds {
		if w != nil {
			w.release()
		}
	}
	e.suspended = true
}

// revive makes e able to run again. After an error it is suspended.
func (e *Engine) revive() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.worlds {
		if w == nil {
			continue
		}
		if err := w.reserve(e.mem.Limit()); err != nil {
			for _, w := range e.worlds {
				if w != nil {
					w.release()
				}
			}
			return err
		}
	}
	e.suspended = false
	e.enterWorld(e.world)
	return nil
}

// rebase adapts e to a guest whose memory has moved, because it grew.
func (e *Engine) rebase() error {
	for _, w := range e.worlds {
		if w == nil {
			continue
		}
		w.release()
		if err := w.reserve(e.mem.Limit()); err != nil {
			return err
		}
	}
	if e.sim.caches {
		for _, c := range [2]*stampCache{&e.sim.d1, &e.sim.ll} {
			if err := c.ways.grow(e.mem.Limit(), c.line); err != nil {
				return err
			}
		}
		// Generated code knows where the tables are, and the limit.
		e.flush()
		e.pos, e.far = codeOff, farOff
		was := e.stubs
		e.emitStubs()
		if e.stubs != was {
			panic("BUG: the code that blocks share is not where it was")
		}
	}
	e.setBase()
	e.enterWorld(e.world)
	return nil
}

// forget makes all the code of w unreachable.
func (w *world) forget() {
	clear(w.tbs)
	w.table.reset()
	w.shadow.forget()
}

func (w *world) close() {
	w.table.close()
	w.shadow.release()
}

// SetCounting implements emu.Engine.
func (e *Engine) SetCounting(c emu.Counting) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c == e.counting {
		return
	}
	if e.worlds[c] == nil {
		w, err := e.newWorld(c)
		if err != nil {
			// There is no address space for another: this one's code makes room.
			e.flush()
			e.worlds[e.counting], e.worlds[c] = nil, e.world
			e.counting = c
			return
		}
		e.worlds[c] = w
	}
	e.enterWorld(e.worlds[c])
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
	for _, w := range e.worlds {
		if w != nil {
			clear(w.dormant)
		}
	}
	e.dead, e.asleep = e.dead+e.asleep, 0
	for _, t := range slices.Clone(e.pages[a.PageDown()]) {
		if slices.ContainsFunc(t.insns, func(i insnAt) bool { return t.pc+emu.Addr(int64(i.off)) == a }) {
			e.drop(t)
			e.dead++
		}
	}
}
