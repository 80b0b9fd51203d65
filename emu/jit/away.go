//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// Where caches are simulated nearly each block needs two registers, and where branches are, or calls are recorded, each
// of these needs one. So there the guest's that compilers use least are away: where a block begins and ends they wait
// in their slots, as if spilled (spill.go). The host has nothing in one, and, with caches, the address of D1's
// directory in the other. A block that uses them loads them, and they are in place until it needs the host's, or ends.
// Go sees all registers in theirs: it sends these away in front of a block, and takes them back behind an exit that
// says regsAway; if generated code goes on behind that exit, they are sent away again. Behind a fault that the guest is
// not to know of all registers are as they were.
//
// They are those that lookups work with, too, which then have little to save.
const (
	regDirectory = regTable
	regSpare     = regTarget
)

var awayList = [...]x86.Reg{regSpare, regDirectory}

// awayRegs returns the guest's registers that are away where blocks begin and end, if calls are recorded or not.
func (s *simulation) awayRegs(calls bool) uint16 {
	switch {
	case s.caches:
		return 1<<regDirectory | 1<<regSpare
	case calls, s.branches:
		return 1 << regSpare
	}
	return 0
}

// isAway reports whether a register is.
func (e *Engine) isAway(r x86.Reg) bool { return e.away>>r&1 != 0 }

// giveAway sends them away where Go enters generated code that has them so, takeAway takes them back.
func (e *Engine) giveAway() {
	for _, r := range awayList {
		if e.isAway(r) {
			e.set(stSpill+8*int(r), e.get(stRegs+8*int(r)))
		}
	}
	if e.isAway(regDirectory) {
		e.set(stRegs+8*int(regDirectory), e.get(stD1Directory))
	}
}

func (e *Engine) takeAway() { e.takeBack(e.away) }

func (e *Engine) takeBack(regs uint16) {
	for _, r := range awayList {
		if regs>>r&1 != 0 {
			e.set(stRegs+8*int(r), e.get(stSpill+8*int(r)))
		}
	}
}

// restoreAway takes back those that are not in place at arena offset pos of t.
func (e *Engine) restoreAway(t *tb, pos int) {
	regs := e.away
	for _, s := range t.saved() {
		if s.kind == inPlace && s.holds(pos) {
			regs &^= 1 << s.reg
		}
	}
	e.takeBack(regs)
}

// beginAway notes that they are away.
func (e *Engine) beginAway() {
	if e.away != 0 {
		e.spilled = e.away
	}
	if e.isAway(regDirectory) {
		e.directoryIn = regDirectory
	}
}

// settleRegs makes the guest's registers as they are where blocks begin and end.
func (e *Engine) settleRegs() {
	e.reload(^e.away)
	e.sendAway(e.spilled, e.directoryIn)
	e.endPlaces()
	e.beginAway()
}

// mustBeAway is called where another block goes on.
func (e *Engine) mustBeAway() {
	if e.away&^e.spilled != 0 {
		panic("BUG: registers are in place that blocks expect to be away")
	}
}

// settleOnExit emits what settleRegs does on a way out of the block, where these are spilled and that register has the
// directory's address; the rest of the block has them so.
func (e *Engine) settleOnExit(spilled uint16, directory x86.Reg) {
	defer e.emitFor(e.emitFor(forFlags))
	for r := x86.RAX; r <= x86.R15; r++ {
		if spilled&^e.away>>r&1 != 0 {
			e.load(r, stSpill+8*int(r))
		}
	}
	e.sendAway(spilled, directory)
}

// sendAway emits what sends those away that are not among spilled. directory is the register with the directory's
// address.
func (e *Engine) sendAway(spilled uint16, directory x86.Reg) {
	defer e.emitFor(e.emitFor(forFlags))
	for _, r := range awayList {
		if e.away&^spilled>>r&1 != 0 {
			e.store(stSpill+8*int(r), r)
		}
	}
	if e.isAway(regDirectory) && directory != regDirectory {
		e.load(regDirectory, stD1Directory)
	}
}

// endPlaces notes that what was in place is away from here on.
func (e *Engine) endPlaces() {
	for _, r := range awayList {
		if e.away&^e.spilled>>r&1 != 0 {
			e.nowSpilled(r)
		}
	}
}

// spares returns registers that have nothing; RAX may have the flags.
func (e *Engine) spares() uint16 { return e.unused() &^ (1 << x86.RAX) }

// spareOr returns one of them, or r if there is none.
func (e *Engine) spareOr(r x86.Reg) x86.Reg {
	if free := e.spares(); free != 0 {
		return lowest(free)
	}
	return r
}
