package jit

import (
	"sort"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A tb is a translation block: guest code with one entry, translated. It goes on
// past forward conditional jumps (side exits) and through forward jumps, so it is a
// superblock in the literature's words.
//
// It has one counter, for its entry, and one for each side exit; how often an
// instruction ran follows from these: entries less the exits before it.
type tb struct {
	pc    emu.Addr
	entry int // arena offset of the code
	end   int // of its end
	// indirect is the entry for lookups in the jump table, 0 if there is none yet.
	indirect int
	// called is the entry for direct calls, 0 if there is none yet.
	called int
	// listed says that the jump table has the block.
	listed bool
	// counted is the index of the instruction before which the entry counter is
	// incremented: a fault in an earlier one finds it not incremented yet.
	counted int
	counter int // index of the entry counter
	insns   []insnAt
	exits   []sideExit
	reps    []repCounter
	// saved says where guest registers are that host registers do not hold.
	saved []saved
	// lookup is the arena offset of the block's jump-table lookup, 0 if it has none:
	// a fault there means that the jump's target, in RCX, holds no code.
	lookup   int
	incoming []link
	pages    []emu.Addr
	dead     bool
}

// An insnAt places one guest instruction.
type insnAt struct {
	off  int32  // guest address less the block's
	host uint32 // arena offset of its code less the block's entry
	// rsp is what the guest's RSP is beyond the host's: pushes and pops in a row move
	// the stack pointer once.
	rsp int32
}

// A sideExit is a conditional jump out of the middle of a block.
type sideExit struct {
	after   int // instructions executed when it is taken
	counter int
}

// A repCounter counts the iterations of a REP instruction.
type repCounter struct {
	insn    int
	counter int
}

// A saved says how to find the guest's reg between two arena offsets: in a state slot
// or in the host's register, as kind says, and add beyond that.
type saved struct {
	from, to int
	reg      x86.Reg
	kind     savedKind
	slot     int
	add      int32
}

// A savedKind says where a guest register is.
type savedKind uint8

const (
	inSlot   savedKind = iota
	hostAddr           // in its register, as the host address of the guest's memory
	onShadow           // in its register, as an address in the shadow stack
)

// A link is a rel32 in one block's code that reaches another's entry; when the
// other goes, it is pointed back at its exit stub.
type link struct {
	site, stub int
	target     emu.Addr
	// call says that the site is a CALL on the shadow stack.
	call bool
}

// addr returns the guest address of instruction i.
func (t *tb) addr(i int) emu.Addr { return t.pc + emu.Addr(int64(t.insns[i].off)) }

// insnAtHost returns the index of the instruction whose code contains arena offset pos.
func (t *tb) insnAtHost(pos int) int {
	at := uint32(pos - t.entry)
	return sort.Search(len(t.insns), func(i int) bool { return t.insns[i].host > at }) - 1
}

// A tally holds counts by guest instruction address.
type tally struct {
	pages map[emu.Addr]*[tallyPage]uint64
}

const tallyPage = 256

func newTally() tally { return tally{pages: map[emu.Addr]*[tallyPage]uint64{}} }

// add adds n, which may be negative as long as the sum is not, to a's count.
func (t *tally) add(a emu.Addr, n int64) {
	p := t.pages[a/tallyPage]
	if p == nil {
		p = new([tallyPage]uint64)
		t.pages[a/tallyPage] = p
	}
	p[a%tallyPage] += uint64(n)
}

// drain hands every count in [lo, hi) that is not zero to f and makes it zero.
func (t *tally) drain(lo, hi emu.Addr, f func(a emu.Addr, n uint64)) {
	for page, counts := range t.pages {
		if page < lo/tallyPage || page*tallyPage >= hi {
			continue
		}
		for i, n := range counts {
			if a := page*tallyPage + emu.Addr(i); n != 0 && a >= lo && a < hi {
				f(a, n)
				counts[i] = 0
			}
		}
	}
}
