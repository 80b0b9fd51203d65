//go:build linux && amd64

package jit

import (
	"slices"
	"sort"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A tb is a translation block: guest code with one entry, translated. It goes on
// past forward conditional jumps (side exits), through forward jumps, and from a CALL into the entry of a linkage table, so it is a
// superblock in the literature's words.
//
// It has one counter, for its entry, and one for each side exit; how often an
// instruction ran follows from these: entries less the exits before it.
type tb struct {
	pc    emu.Addr
	cache *codeCache
	entry int // arena offset of the code
	// fetched is the entry for links whose source touched the first I1 line last, 0 if there
	// is none.
	fetched int
	// unmarked is where it goes on behind the mark on its first instruction, if there is one.
	unmarked int
	end      int // of its end
	// indirect is the entry for lookups in the jump table, 0 if there is none yet.
	indirect int
	// called is the entry for direct calls, 0 if there is none yet.
	called int
	// listed says that the jump table has the block.
	listed bool
	// linkage is how many instructions at the end are of the linkage table's entry that the CALL before them leads to.
	linkage int
	// passed is the arena offset of the sums of the arc from the CALL to that entry, if calls are recorded and count: see addPassed.
	passed int
	// counted is the index of the instruction before which the entry counter is
	// incremented: a fault in an earlier one finds it not incremented yet.
	counted int
	counter int // index of the entry counter
	insns   []insnAt
	exits   []sideExit
	reps    []repCounter
	own     []ownCounter
	// saved says where guest registers are that host registers do not hold.
	saved []saved
	// lookup is the arena offset of the block's jump-table lookup, of at most lookupSize bytes, 0 if it has none:
	// a fault there means that the jump's target, in regTarget, holds no code.
	lookup int
	// from is what that lookup tells where it leads, if calls are recorded: see emitReceived.
	from uint32
	// firstExit is the number of the first of its exits, which are exitCount in a row.
	firstExit, exitCount int
	// incoming are the links that reach it; when it goes, they are pointed back at their stubs.
	incoming []*exit
	pages    []emu.Addr
	// src is what it was made from, nil if it may not be retained.
	src      *source
	retained bool
}

// An insnAt places one guest instruction.
type insnAt struct {
	off  int32  // guest address less the block's
	host uint32 // arena offset of its code less the block's entry
	// rsp is what the guest's RSP is beyond the host's: pushes and pops in a row move
	// the stack pointer once.
	rsp      int32
	outcomes outcomes
	// run is how many instructions of a straight run lie in front of it.
	run uint8
	// plan is the index of what one execution counts.
	plan uint16
}

// A planned is one event of a plan, and how often one execution counts it.
type planned struct {
	event emu.Event
	times int64
}

// An ownCounter counts an event of one instruction that does not happen at each execution, and, if two is set, the next one counts the event behind that.
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
	insn    int
	counter int
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
)

// lastOwn returns the index of the last instruction that is not of a linkage table.
func (t *tb) lastOwn() int { return len(t.insns) - 1 - t.linkage }

// addr returns the guest address of instruction i.
func (t *tb) addr(i int) emu.Addr { return t.pc + emu.Addr(int64(t.insns[i].off)) }

// onShadow reports whether RSP is on the shadow stack at arena offset pos.
func (t *tb) onShadow(pos int) bool {
	return slices.ContainsFunc(t.saved, func(s saved) bool { return s.kind == onShadow && s.holds(pos) })
}

// insnAtHost returns the index of the instruction whose code contains arena offset pos.
func (t *tb) insnAtHost(pos int) int {
	at := uint32(pos - t.entry)
	return sort.Search(len(t.insns), func(i int) bool { return t.insns[i].host > at }) - 1
}
