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
	s, err := newShadow(e.mem.Limit())
	if err != nil {
		table.close()
		return nil, err
	}
	return &world{counting: c, tbs: map[emu.Addr]*tb{}, dormant: map[emu.Addr][]*tb{}, table: table, shadow: s}, nil
}

// enterWorld makes w the code that runs.
func (e *Engine) enterWorld(w *world) {
	e.world = w
	e.set(stJumpTable, uint64(w.table.base))
	e.set(stShadow, uint64(w.shadow.base))
}

// forget makes all the code of w unreachable.
func (w *world) forget() {
	clear(w.tbs)
	w.table.reset()
	w.shadow.forget()
}

func (w *world) close() {
	w.table.close()
	w.shadow.close()
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
	for _, t := range slices.Clone(e.pages[a.PageDown()]) {
		if slices.ContainsFunc(t.insns, func(i insnAt) bool { return t.pc+emu.Addr(int64(i.off)) == a }) {
			e.drop(t)
		}
	}
}
