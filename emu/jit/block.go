//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A tb is a translation block: guest code with one entry, translated. It goes on past forward conditional jumps (side
// exits), through forward jumps, and from a CALL into the entry of a linkage table, so it is a superblock in the
// literature's words.
//
// It has one counter, for its entry, and one for each side exit; how often an
// instruction ran follows from these: entries less the exits before it.
type tb struct {
	blockRecord
	lists *lists // where its parts are
	cache *codeCache
	// incoming is the number of the first of the links that reach it, 0 if none does; when it goes, they are pointed
	// back at their stubs.
	incoming uint32
	// unmarked is where it goes on behind the mark on its first instruction, if there is one.
	unmarked int32
	// listed says that the jump table has the block.
	listed bool
	// lasting says that it may be retained, retained that it is.
	lasting, retained bool
	// cut says that it ends in front of a mark: a straight run of the guest's may go on there.
	cut bool
	// run is how much of a straight run lies in front of a block in fallenInto, 0 for others.
	run int16
	// corrected says that tallies have less than nothing of it, for what its counters have too much.
	corrected bool
}

// A blockRecord is what an image keeps of a block too. Code is where its arena offsets say.
type blockRecord struct {
	pc    emu.Addr
	entry int32
	// fetched is the entry for links whose source touched the first I1 line last, 0 if there
	// is none.
	fetched int32
	end     int32 // of its end
	// indirect is the entry for lookups in the jump table, 0 if there is none yet.
	indirect int32
	// called is the entry for direct calls, 0 if there is none yet.
	called int32
	// lookup is where the block's jump-table lookup is, of at most lookupSize bytes, 0 if it has none:
	// a fault there means that the jump's target, in regTarget, holds no code.
	lookup int32
	// from is what that lookup tells where it leads, if calls are recorded: see emitReceived.
	from    uint32
	counter int32 // index of the entry counter
	// firstExit is the number of the first of its exits, which follow each other.
	firstExit int32
	// passed is where the sums are of the arc from the CALL to the linkage table's entry, if calls are recorded and
	// count: see addCalls.
	passed int32
	// entered is where the sums are of the arc that its CALL enters, if how often follows from its counter: see
	// addCalls.
	entered int32
	// linkage is how many instructions at the end are of the linkage table's entry that the CALL before them leads to,
	// linkageOff the guest address of the first one less the block's.
	linkageOff int32
	linkage    int16
	// length is how many instructions it has.
	length int16
	// counted is the index of the instruction before which the entry counter is
	// incremented: a fault in an earlier one finds it not incremented yet.
	counted  int16
	counting emu.Counting
	// selfChecks says that it checks its code.
	selfChecks bool
	// at says where its part of each list begins, n how many elements it has.
	at [numParts]uint32
	n  [numParts]uint16
}

// An insnAt places one guest instruction.
type insnAt struct {
	off  uint16 // guest address less the block's, or less that of the first one of the linkage table's entry
	host uint16 // arena offset of its code less the block's entry
	// rsp is what the guest's RSP is beyond the host's: pushes and pops in a row move
	// the stack pointer once.
	rsp      int16
	outcomes outcomes
	// plan is the index of what one execution counts.
	plan uint16
	// run is how many instructions of a straight run lie in front of it.
	run uint8
}

// A planned is one event of a plan, and how often one execution counts it.
type planned struct {
	event emu.Event
	times int64
}

// An ownCounter counts an event of one instruction that does not happen at each execution, and, if two is set, the next
// one counts the event behind that.
type ownCounter struct {
	counter int32
	insn    int16
	event   emu.Event
	two     bool
}

// A sideExit is a conditional jump out of the middle of a block.
type sideExit struct {
	counter int32
	after   int16 // instructions executed when it is taken
}

// A repCounter counts the iterations of a REP instruction.
type repCounter struct {
	counter int32
	insn    int16
	// outside says that Go counts them, and there is no counter.
	outside bool
}

// A saved says how to find the guest's reg between two arena offsets: in a state slot
// or in the host's register, as kind says, and add beyond that.
type saved struct {
	from, to, slot uint32
	add            int32
	reg            x86.Reg
	kind           savedKind
}

// holds reports whether it is so at an arena offset.
func (s *saved) holds(pos int) bool { return uint32(pos) >= s.from && uint32(pos) < s.to }

// A savedKind says where a guest register is.
type savedKind uint8

const (
	inSlot     savedKind = iota
	hostAddr             // in its register, as the host address of the guest's memory
	onShadow             // in its register, as an address in the shadow stack
	flagsInRAX           // not the register's: the flags, as LAHF and SETO left them
	inPlace              // in its register, though it is one that is away where blocks begin
)

// Its parts of the lists.
func (t *tb) insns() insnReader         { return readInsns(t.lists.insns.of(&t.blockRecord, inInsns)) }
func (t *tb) sideExits() []sideExit     { return t.lists.sideExits.of(&t.blockRecord, inSideExits) }
func (t *tb) reps() []repCounter        { return t.lists.reps.of(&t.blockRecord, inReps) }
func (t *tb) ownCounters() []ownCounter { return t.lists.own.of(&t.blockRecord, inOwn) }
func (t *tb) saved() []saved            { return t.lists.saved.of(&t.blockRecord, inSaved) }
func (t *tb) pages() []emu.Addr         { return t.lists.pages.of(&t.blockRecord, inPages) }

// insnCount returns how many instructions it has.
func (r *blockRecord) insnCount() int { return int(r.length) }

// exitCount returns how many exits it has.
func (r *blockRecord) exitCount() int { return int(r.n[inExits]) }

// lastOwn returns the index of the last instruction that is not of a linkage table.
func (r *blockRecord) lastOwn() int { return r.insnCount() - 1 - int(r.linkage) }

// addrOf returns the guest address of instruction i, from its off.
func (r *blockRecord) addrOf(off uint16, i int) emu.Addr {
	a := r.pc + emu.Addr(off)
	if i > r.lastOwn() {
		a += emu.Addr(int64(r.linkageOff))
	}
	return a
}

// offOf is off of instruction i, at a.
func (r *blockRecord) offOf(a emu.Addr, i int) uint16 {
	if i > r.lastOwn() {
		a -= emu.Addr(int64(r.linkageOff))
	}
	return uint16(a - r.pc)
}

// has reports whether there is one of its insns at a.
func (r *blockRecord) has(a emu.Addr, insns insnReader) bool {
	for i := 0; insns.next(); i++ {
		if r.addrOf(insns.off, i) == a {
			return true
		}
	}
	return false
}

// insn returns where instruction i is.
func (t *tb) insn(i int) insnAt {
	insns := t.insns()
	for range i + 1 {
		insns.next()
	}
	return insns.insnAt
}

// addr returns the guest address of instruction i.
func (t *tb) addr(i int) emu.Addr { return t.addrOf(t.insn(i).off, i) }

// onShadow reports whether RSP is on the shadow stack at arena offset pos.
func (t *tb) onShadow(pos int) bool {
	return slices.ContainsFunc(t.saved(), func(s saved) bool { return s.kind == onShadow && s.holds(pos) })
}

// insnAtHost returns the index of the instruction whose code contains arena offset pos.
func (t *tb) insnAtHost(pos int) int {
	i, insns := -1, t.insns()
	for insns.next() && int(insns.host) <= pos-int(t.entry) {
		i++
	}
	return i
}
