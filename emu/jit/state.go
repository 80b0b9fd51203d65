//go:build linux && amd64

package jit

// The state block: what generated code shares with Go. It lies at the start of
// the arena and is addressed RIP-relative, so it needs no register. Offsets in bytes;
// enter_amd64.s repeats those the signal handler needs.
const (
	stRegs   = 0x000 // 16 general registers, as saved by an exit
	stRIP    = 0x080 // the guest address a lookup missed
	stFlags  = 0x088
	stFSBase = 0x090
	stGSBase = 0x098
	stFP     = 0x0a0 // host address of the XState
	stHostSP = 0x0a8
	stHostBP = 0x0b0
	// stShadow is what the shadow stack's counterpart of an address is beyond it.
	stShadow = 0x0b8
	// stSavedBias has the guest's regBias while a CALL or RET uses it.
	stSavedBias = 0x0c0
	// stNowhere is where in the first page RIP was when SIGPROF came, stToNowhere the host address of the stub that
	// jumps there again (sigHandler).
	stNowhere = 0x0c8
	// stJumpTable is the host address of the jump table's entry for guest address 0.
	stJumpTable = 0x0d0
	stBase      = 0x0d8 // host address of guest address 0
	stNegBase   = 0x0e0 // its negative
	stExit      = 0x0e8 // which exit was taken
	stTarget    = 0x0f0 // host address the entry stub jumps to
	stSigExit   = 0x0f8 // stExit before a signal
	stSlots     = 0x108 // 5 spill slots of 8 bytes
	stInGuest   = 0x130
	stSigNo     = 0x138
	stSigCode   = 0x140
	stSigAddr   = 0x148
	stSigRIP    = 0x150
	stSigErr    = 0x158
	stSigTrap   = 0x160
	stCodeLo    = 0x168
	stCodeHi    = 0x170
	stFaultExit = 0x178
	stBudget    = 0x180
	stHostMXCSR = 0x188
	stSlotCount = 0x190
	// stHistory is the branch predictor's, twice as large as branchsim's: so bits that are too old leave a byte when it
	// is doubled.
	stHistory = 0x198
	// stSimRSP has RSP while a simulating routine runs on the stack below stSimStack.
	stSimRSP = 0x1a0
	// stSpill has the guest registers that generated code works with meanwhile, 16.
	stSpill = 0x1b0
	stClock = 0x230 // the time of stamps
	// What records calls: the innermost frame's host address, the number of the function that a lookup comes from and,
	// in the other half of the word, the exit that says from which instruction, and where routines go back to.
	stFrame     = 0x238
	stFrom      = 0x240
	stOrigin    = stFrom + 4
	stToNowhere = 0x248
	stBack      = 0x250
	stBehind    = 0x258
	stCounts    = 0x260 // 1 if calls count, 0 if not
	// The mapping that the stack in use lies in, as far as it is known.
	stStackLo     = 0x268
	stStackHi     = 0x270
	stX87         = 0x278 // where the guest's x87 is: x87Away, …
	stTick        = 0x280 // tick
	stD1Directory = 0x288 // the host addresses of directories of lines
	stLLDirectory = 0x290
	stElements    = 0x300 // the addresses of a gather's elements
	stGiven       = 0x340 // 1 if a reference was not made because it would fault
	stElement     = 0x348 // which element of a gather that is
	stCounted     = 0x350 // 1 if generated code counted the elements of the last masked move, 0 if Go did
	stLimit       = 0x358 // where the guest's memory ends
	stTakenBit    = 0x360 // the last outcome of a history: taken
	stAsked       = 0x368 // what CPUID was asked last: EAX and ECX
	stAnswer      = 0x370 // the answer: EAX, EBX, ECX and EDX
	stTimeBefore  = 0x380 // what RDTSC says less the meters, 0 if that is not known
	// stX87Left is how often the guest may use x87 before Go is to know (mmx.go), stX87Saved 1 if generated code has
	// stored x87 since it was entered.
	stX87Left  = 0x388
	stX87Saved = 0x390
	// stApproximations is the address of the table of results, 0 before Go knows that somebody asks; stLanes has the
	// lanes of an approximation.
	stApproximations = 0x3a8
	stLanes          = 0x3c0
	// What code for FSIN and its like works with (x87_amd64.s): the control word, where generated code goes on,
	// operands and results, what is to be added to these; and the addresses of routines, 0 before Go knows that
	// somebody asks.
	stX87Control  = 0x3e0
	stX87Back     = 0x3e8
	stX87Operands = 0x3f0
	stX87Rests    = 0x410
	stX87Routines = 0x420
	// stX87Regs has the guest's registers from RBX on while they are the routine's.
	stX87Regs = 0x460
	// stXMM15 is where the guest's is while totals are added to sums (emitAddMMX).
	stXMM15 = 0x4f0
	// stSimStack is where the stack of simulating routines ends, which grows down from there.
	stSimStack = 0x800
	// stMeters has the instructions executed, once the engine meters them, in parts: one part would
	// have every block wait for the one before.
	stMeters = 0x800
	meters   = 64
	// stSteps has the numbers from -maxStep to maxStep, for totals that are in a register.
	stSteps = 0xa00
	// stQuiet has how often blocks on exempt pages may be entered until these are guarded again (selfcheck.go).
	stQuiet = 0x1700
	// stTotals are the totals of calls; lanes of them begin on a cache line.
	stTotals = 0x1800
	// stRefine has what refining works with (refine.go).
	stRefine = 0x2000
	// stTouched tells which pages emitTouchPage has written to: where 12 bits of a page's number say, a byte has seven
	// bits more of it, and 0x80. It is 0 where there is none.
	stTouched    = 0x4000
	touchedPages = 4096
)

// Spill slots by use. An expansion that needs registers saves them here.
const (
	slotTarget = stSpill + 8*int(regTarget) // lookups: the guest's regTarget
	slotTable  = stSpill + 8*int(regTable)  // lookups: the guest's regTable
	slotA      = stSlots + 0x00             // scratch of one instruction
	slotB      = stSlots + 0x08
	slotC      = stSlots + 0x10
	slotTmp    = stSlots + 0x18 // values, not registers
	slotTmp2   = stSlots + 0x20
	slotCount  = stSlotCount // counters
)

// What stX87 says.
const (
	x87Away     = 0 // it is not loaded
	x87Loaded   = 1 // it is, and is to be again where generated code goes on in the midst of a block
	x87Changing = 2 // it is not stored if generated code is left, but loaded where it goes on: neither it nor what is in MMX otherwise has to be stored
)

// What stFrom has instead of the number of a function: after a CALL, whose frame is there, after one that has none yet,
// and after a return.
const (
	fromCall         = 0
	fromIndirectCall = 1<<32 - 2
	fromReturn       = 1<<32 - 1
)
