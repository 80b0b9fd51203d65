//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu"

// An exitKind says why generated code went back to Go.
type exitKind uint8

const (
	exitSignal    exitKind = iota // the signal handler saw a fault
	exitMissed                    // a jump-table lookup found no code: the target is in stRIP
	exitReturn                    // a return went elsewhere: the target lies below RSP
	exitLink                      // a direct branch to a block that is not there yet
	exitSyscall                   // SYSCALL
	exitClient                    // a client request
	exitTrap                      // an instruction that Go emulates or refuses
	exitBudget                    // the budget is used up
	exitMark                      // a marked instruction comes next
	exitCarry                     // a straight run goes on in a block that runs once
	exitFalls                     // one goes on in another function
	exitOutside                   // Go simulates what the next instruction refers to
	exitElements                  // or what it refers to from element stElement on
	exitRepeated                  // Go counts and simulates what a REP instruction did
	exitLong                      // a REP instruction comes next that is executed in pieces
	exitPiece                     // one of them has been made
	exitJumpArc                   // an indirect jump that is counted goes where it has not gone before
	exitPass                      // so does a jump of a procedure linkage table
	exitCrossed                   // a jump leads into another function
	exitReceived                  // so did a lookup, whose target is in stRIP
	exitOverdrawn                 // the budget is used up behind a jump into another function
	exitUnbound                   // a jump through a word that is not bound yet: the target is in stRIP
	exitChanged                   // a block that checks itself has changed
	exitQuiet                     // none on its page has for long
	exitTable                     // the next instruction needs the table of approximations
)

// Numbers of the exits that belong to no block.
const (
	exitFault    = 0
	exitMiss     = 1
	exitMismatch = 2
	exitCrossing = 3
	fixedExits   = 4
)

// An exit is one way out of generated code, known there by its number. An exit of
// kind exitLink is a link: its jump goes to the target's block when there is one.
type exit struct {
	rip emu.Addr // where the guest is, or goes
	to  *tb      // the block that its jump goes to, for links
	t   *tb      // the block, for traps and budgets with the instruction in front of which it stopped, and for calls
	// next is the number of the next one of those that go there, 0 if there is none.
	next uint32
	// first and second are site and stub of a link, resume and cache of another exit.
	first, second int32
	insn          int16 // for exitCarry and exitFalls, how long the run is
	kind          exitKind
	flags         exitFlags
}

// site is the arena offset of a link's displacement, stub that of the code with which it leaves.
func (x *exit) site() int { return int(x.first) }
func (x *exit) stub() int { return int(x.second) }

// resume is the arena offset behind an exit that comes back, 0 for others.
func (x *exit) resume() int { return int(x.first) }

// cache is the counter in whose place exitJumpArc finds the last target and its arc. For what Go executes it is the
// number of the instruction at rip in decoded, once insnOf was asked for it or recordDecoded has kept it, before that
// 0.
func (x *exit) cache() int { return int(x.second) }

// exitChunk is how many exits are allocated at once: they do not move, and none are copied.
const exitChunk = 1024

// exitAt returns the exit with number i.
func (e *Engine) exitAt(i int) *exit { return &e.exits[i/exitChunk][i%exitChunk] }
