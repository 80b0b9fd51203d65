//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import "github.com/cgemu/cgemu/emu"

// A state is what the hooks in assembly share with Go. It lies in memory of the host's, not Go's.
type state struct {
	page uint64  // number of the page whose counters are at base
	base uintptr // of 4096 words, one for each address
	root uintptr // of the table of all pages: radixSize words, each 0 or the address of as many bases
	stop uintptr // uc_emu_stop

	// pass is an address that the next call of the hook passes without looking, thenPass what
	// pass is after that; noAddr for none.
	pass, thenPass uint64
	// executed counts instructions. The hook stops in front of one when it is not below limit.
	executed, limit uint64
	// last is the last instruction in front of which the hook was called.
	last uint64
	// at is where the hook stopped, noAddr if it did not.
	at uint64

	// The next word of the ring, 0 without one; the hook stops when it is above ringEnd.
	ring, ringEnd uintptr

	// Budgets: see emu.Engine. run is the length of the straight run so far, jump what run was at a
	// backward jump that was executed last, 0 if none, and next is the address behind that.
	budgeted, over  uint64
	budget          int64
	run, jump, next uint64

	// The access that failed.
	faultAddr, faultSize uint64
	// The exception that was raised, plus 1.
	vector uint64

	// What uc_open, uc_hook_add and uc_context_alloc return, and what uc_reg_write writes.
	handle, hook, context uintptr
	value                 uint64
}

// noAddr is no address of an instruction.
const noAddr = 1<<64 - 1

// A counter word: the number of executions, and above it what the hook must know of the instruction.
const (
	// stopHere stops in front of it. A word without it belongs to an instruction that is known.
	stopHere = 1 << 63
	// Kinds of instructions for budgets.
	endsRun   = 1 << 61 // leaves a straight run
	checks    = 2 << 61 // the budget is checked in front of it
	jumpsBack = 3 << 61 // the budget is checked behind it if it jumps
	maxRun    = emu.MaxRun
	countMask = 1<<61 - 1
)

// The table of pages has two levels.
const (
	pageBits  = 12
	radixBits = 14
	radixSize = 1 << radixBits
)

// A word of the ring: the address of an instruction with isCode, or that of a data reference.
const (
	isCode    = 1 << 63
	isWrite   = 1 << 62
	ringAddr  = 1<<48 - 1
	ringWords = 1 << 16
	// ringSlack is for the data references behind the instruction that is found to be the last.
	ringSlack = 1 << 10
)

// The addresses of the hooks, which have C's calling convention and get a *state as user data.
var codeHookAddr, memHookAddr, invalidHookAddr, intrHookAddr uintptr
