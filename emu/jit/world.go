//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A world is the code translated for one way of counting. Links never lead from one to
// another; the shadow stack is cleared when the engine changes worlds, so returns do not
// either.
type world struct {
	counting emu.Counting
	tbs      map[emu.Addr]*tb // by start address
	table    *jumpTable
}

func (e *Engine) newWorld(c emu.Counting) (*world, error) {
	table, err := newJumpTable(e.hostAddr(e.stubs.miss))
	if err != nil {
		return nil, err
	}
	return &world{counting: c, tbs: map[emu.Addr]*tb{}, table: table}, nil
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
			// There is no address space for another table: this one's code makes room.
			e.flush()
			e.worlds[e.counting], e.worlds[c] = nil, e.world
			e.counting = c
			return
		}
		e.worlds[c] = w
	}
	e.world = e.worlds[c]
	e.set(stJumpTable, uint64(e.table.base))
	e.shadow.forget()
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
	for _, t := range slices.Clone(e.pages[a.PageDown()]) {
		if slices.ContainsFunc(t.insns, func(i insnAt) bool { return t.pc+emu.Addr(int64(i.off)) == a }) {
			e.drop(t)
		}
	}
}
