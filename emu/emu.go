// Package emu defines what a guest CPU is: its registers, the faults it raises,
// the reasons for which it stops, the CPUID models it can show, and the
// contract of an engine. It executes nothing itself.
//
// Addresses are guest virtual addresses; a host pointer is never stored as one.
//
// The package is cgemu's own: what it promises may change.
package emu

import "fmt"

// An Addr is a guest virtual address.
type Addr uint64

// PageSize is the guest's page size in bytes.
const PageSize = 4096

// PageDown rounds a down to a page boundary.
func (a Addr) PageDown() Addr { return a &^ (PageSize - 1) }

// PageUp rounds a up to a page boundary. It wraps to 0 above the last page.
func (a Addr) PageUp() Addr { return (a + PageSize - 1) &^ (PageSize - 1) }

// PageAligned reports whether a lies on a page boundary.
func (a Addr) PageAligned() bool { return a&(PageSize-1) == 0 }

func (a Addr) String() string { return fmt.Sprintf("%#x", uint64(a)) }

// Indexes into CPU.Regs, in encoding order.
const (
	RAX = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
)

// RFLAGS bits.
const (
	FlagCF = 1 << 0
	FlagR1 = 1 << 1 // always set
	FlagPF = 1 << 2
	FlagAF = 1 << 4
	FlagZF = 1 << 6
	FlagSF = 1 << 7
	FlagTF = 1 << 8
	FlagIF = 1 << 9 // always set in user mode
	FlagDF = 1 << 10
	FlagOF = 1 << 11
	FlagAC = 1 << 18
	FlagID = 1 << 21

	// UserFlags are the bits user code can change and we keep.
	UserFlags = FlagCF | FlagPF | FlagAF | FlagZF | FlagSF | FlagTF | FlagDF | FlagOF | FlagAC | FlagID
	// StepFlags are those of them that make each instruction, or each access, a possible fault: VecDB behind every
	// instruction with TF, VecAC of unaligned accesses with AC. An engine may be slow with them; emu/unicorn keeps them
	// without their effect.
	StepFlags = FlagTF | FlagAC
)

// A CPU is the architectural state of one guest thread.
type CPU struct {
	Regs   [16]uint64
	RIP    Addr
	Flags  uint64 // RFLAGS; FlagR1 and FlagIF are always set
	FSBase uint64
	GSBase uint64
	// FP is the x87, SSE, AVX and AVX-512 state. NewCPU allocates it.
	FP *XState
}

// NewCPU returns a CPU as Linux hands it to a new program: registers zero, FP
// state initial.
func NewCPU() *CPU {
	c := &CPU{Flags: FlagR1 | FlagIF, FP: newXState()}
	c.FP.Reset()
	return c
}

// Copy makes c equal to src without sharing memory.
func (c *CPU) Copy(src *CPU) {
	fp := c.FP
	*c = *src
	c.FP = fp
	*c.FP = *src.FP
}

// Exception vectors (SDM Vol. 3, "Interrupt and Exception Handling").
const (
	VecDE = 0  // divide error
	VecDB = 1  // debug: RIP is behind the INT1, or the instruction that was stepped over
	VecBP = 3  // breakpoint: RIP is behind the INT3
	VecOF = 4  // overflow: RIP is behind the INT 4
	VecBR = 5  // bound range
	VecUD = 6  // undefined instruction
	VecGP = 13 // general protection: Addr unknown
	VecPF = 14 // page fault
	VecMF = 16 // x87 floating point
	VecAC = 17 // alignment
	VecXM = 19 // SIMD floating point
)

// A Fault is an exception raised by a guest instruction. The CPU is as before
// that instruction, but for a trap.
type Fault struct {
	Vector uint8
	// Addr is the address that faulted, for VecPF.
	Addr Addr
	// Write and Exec say what the access was, for VecPF.
	Write, Exec bool
	// Bus says that the page exists and its file does not reach it (SIGBUS).
	Bus bool
	// Int1 says that INT1 raised the VecDB, which single steps (TF) raise as well.
	Int1 bool
	// Unsupported names the instruction if the guest's CPU model has it and the engine does
	// not, or if the model hides it: the reason for a VecUD.
	Unsupported string
	// Failure says of another #UD why the engine cannot go on: what it has not been given by the host, say.
	Failure string
}

// Trap reports whether f is raised behind its instruction.
func (f Fault) Trap() bool { return f.Vector == VecBP || f.Vector == VecOF || f.Vector == VecDB }

func (f Fault) Error() string {
	if f.Vector == VecPF {
		return fmt.Sprintf("guest fault %d accessing %v", f.Vector, f.Addr)
	}
	return fmt.Sprintf("guest fault %d", f.Vector)
}

// A StopReason says why Run returned.
type StopReason uint8

// Stop reasons.
const (
	StopBudget    StopReason = iota // the budget is used up
	StopInterrupt                   // Interrupt was called
	StopSyscall                     // SYSCALL executed: RIP is behind it, RCX and R11 are set
	StopFault                       // see Stop.Fault
	StopClient                      // a Valgrind client request: RIP is behind it, the result goes to RDX
	StopMark                        // a marked instruction comes next
)

// A Stop is what Run returns.
type Stop struct {
	Reason StopReason
	Fault  *Fault // not nil for StopFault
	// Left is what is left of the budget: a Run with it goes on as if this stop had not been. It is
	// negative after StopBudget.
	Left int64
}

// An Engine executes guest code in one address space. Engines differ in speed
// only: from equal CPU and memory they reach equal state, equal stops and equal
// counts. An Engine is used by one goroutine, but for Interrupt.
type Engine interface {
	// Run executes c until something stops it. It returns with c at an
	// instruction boundary, whatever the reason.
	//
	// The budget is checked where control flow can repeat, at taken backward jumps, calls and indirect jumps, so a run
	// may pass it by what lies between two of them. What is taken off it there is the length of the straight run of
	// instructions that ends there: since the last jump, taken or not, or other instruction that ends such a run
	// (sem.Machine.EndsRun), or since Run began, but for stops by Interrupt. After MaxRun instructions a run begins
	// anew. A call or an indirect jump that has a mark is not checked.
	//
	// A repeated string instruction of more than MaxRepeat iterations is checked, too, if they count as instructions
	// and it has no mark: each takes one off while more than MaxRepeat are left, itself included, but for the one that
	// ends it. Run stops behind the one that makes the budget negative; what Interrupt asks for comes within such an
	// instruction as well. RIP is then at the instruction, RCX, RSI and RDI are as the iterations left them, and only
	// these count. NoBudget runs without checks, at full speed.
	Run(c *CPU, budget uint64) Stop

	// Invalidate forgets code translated from [lo, hi). Counts already made stay.
	// mem calls it before those bytes or their permissions change.
	Invalidate(lo, hi Addr)

	// Interrupt makes Run, running now or next, return StopInterrupt soon. It may
	// be called from any goroutine.
	Interrupt()

	// Executed returns how many instructions were executed so far, as Ir counts them.
	Executed() uint64

	// SetCounting says what is counted from the next instruction on. Executed goes on
	// whatever it says.
	SetCounting(c Counting)

	// SetMark makes Run stop with StopMark in front of the instruction at a, or no longer.
	// The Run that follows such a stop executes the instruction. A mark stays when code is
	// invalidated.
	SetMark(a Addr, on bool)

	// Collect calls add for each instruction address in [lo, hi) and each event the engine
	// counts with what was counted since the last Collect of it, in no particular order, and
	// more than once for an address if that is convenient.
	Collect(lo, hi Addr, add func(a Addr, e Event, n uint64))

	// Close frees what the engine holds. Closing it again does nothing.
	Close() error
}

// NoBudget makes Run go on until something else stops it.
const NoBudget = 1<<63 - 1

// MaxRun is the longest run of instructions that a budget knows.
const MaxRun = 48

// Env is what an engine asks of the world when an instruction's result does not
// follow from CPU and memory alone.
type Env interface {
	// TSC is the time stamp counter: a function of the virtual clock.
	TSC() uint64
	// TSCCounts reports whether the counter goes up by one with each instruction executed, and by nothing else, until
	// Run returns.
	TSCCounts() bool
	// Random is the next value for RDRAND and RDSEED.
	Random() uint64
}
