//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A request says what is particular about the block that is translated next.
type request struct {
	// wantIndirect asks for an entry for lookups in front of the block, wantCalled for one for calls.
	wantIndirect, wantCalled bool
	// singleStep asks for a block of one instruction that runs once, its page unguarded: the instruction writes to a
	// page that holds code, its own perhaps.
	singleStep bool
	// runOffset is how much of a straight run lies in front of the block, which runs once too: a run that a write to a
	// guarded page interrupted goes on there. With falls set it is one from another function, and the block may run
	// again.
	runOffset int
	falls     bool
}

// A translation is the state of translating one block: begin makes it ready for the next one. What outlives it is in t.
type translation struct {
	block []ginsn
	// linkage is how many instructions at the block's end are of the linkage table's entry that the CALL before them
	// leads to.
	linkage int
	t       *tb
	insn    int // the instruction being translated
	// placed has where each instruction is.
	placed []insnAt
	packed []byte
	// What the block depends on: its pages, those of words of data, what it was made from there, and what was found
	// behind its jumps.
	deps       []emu.Addr
	words      []emu.Addr
	spans      []span
	lookaheads []lookahead
	// What is emitted behind the block: taken sides of its conditional jumps, and stubs of its exits.
	cold     []coldExit
	returns  []recordedReturn
	rebound  reboundCall
	stubsDue []stub
	// What t will have.
	sideExits   []sideExit
	repCounters []repCounter
	own         []ownCounter
	savedAt     []saved
	// groups and lines are the data references and the fetches to check, groupsDone how many groups were, dataRefs the
	// references of all.
	groups     []group
	groupsDone int
	dataRefs   []dataRef
	lines      []fetch
	// stampedNow has the lines that have the present time as their stamp.
	stampedNow stampedNow
	// fetchKnown says that the fetch of insn is the last one where the assembler is.
	fetchKnown bool
	// fetchedAt is where the check of the first fetch ends; fetchedSpilled and fetchedFlagsSpilled are spilled and
	// flagsSpilled there.
	fetchedAt           int
	fetchedSpilled      uint16
	fetchedFlagsSpilled bool
	// spilled has the guest registers that wait in their slots, each since its place in spilledAt (spill.go). There
	// others have since when they do not, of those that are away where the block begins.
	spilled   uint16
	spilledAt [16]int
	// directoryIn is the register, one of these, that has the address of D1's directory, or NoReg.
	directoryIn x86.Reg
	// flagsSpilled says that the guest's flags are in RAX, since flagsAt.
	flagsSpilled bool
	flagsAt      int
	// led is where the entry of a linkage table leads that the block's last jump or call leads to, once that was asked.
	led struct {
		asked, ok bool
		to        emu.Addr
	}
	// outcomes are those of conditional branches that the history in the state block has not yet.
	outcomes outcomes
	// selfChecks says that the block checks its code, since some of it is on exemptPage.
	selfChecks bool
	exemptPage emu.Addr
	// storable says that the guest may be able to store to its code.
	storable bool
	// pendingRSP is what the guest's RSP is beyond the host's at the assembler's position.
	pendingRSP int32
	// x87 says that x87 is loaded there.
	x87 bool
}

// begin makes the translation as new; its slices are used again.
func (r *translation) begin() {
	*r = translation{
		block: r.block[:0], deps: r.deps[:0], words: r.words[:0], spans: r.spans[:0], lookaheads: r.lookaheads[:0], cold: r.cold[:0], returns: r.returns[:0], stubsDue: r.stubsDue[:0],
		placed: r.placed[:0], packed: r.packed, sideExits: r.sideExits[:0], repCounters: r.repCounters[:0], own: r.own[:0], savedAt: r.savedAt[:0], groups: r.groups[:0], dataRefs: r.dataRefs[:0], lines: r.lines[:0],
		directoryIn: x86.NoReg,
		stampedNow:  stampedNow{d1: r.stampedNow.d1[:0], i1: r.stampedNow.i1[:0]},
	}
}
