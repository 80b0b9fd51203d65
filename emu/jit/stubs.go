//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// The stubs are the generated code every block shares.
type stubs struct {
	enter     int // Go calls it: loads the guest's registers, goes to stTarget
	start     int // its last instruction, which goes there
	exit      int // jumped to with stExit set: saves them, returns to Go
	fault     int // the signal handler's way to exit, which has stored RSP
	miss      int // a jump-table lookup found no code
	mismatch  int // a return landed where the guest did not return to
	stray     int // a return for which there was no call, strayNear where the shadow stack lies near
	strayNear int
	nowhere   int // jumps to where stNowhere says
	cpuid     int // answers CPUID if it can, rdtsc RDTSC (answers.go)
	rdtsc     int
	rcp       int // approximates RCPPS, rsqrt RSQRTPS (approximateroutine.go)
	rsqrt     int
	x87       [len(x87Functions)]int // FSIN and its like (x87function.go)
	toX87     int                    // changes from MMX to the guest's x87, fromX87 back (mmx.go)
	fromX87   int
	loadMMX   int // where that begins to load what is in MMX
	endX87    int
	end       int
}

// A jump-table lookup has the guest address in regTarget and the table in regTable: registers
// in which compilers seldom keep what a loop waits for.
const (
	regTarget = x86.R11
	regTable  = x86.R10
)

// regBias takes RSP to the shadow stack and back.
const regBias = x86.R11

// jmpTable is jmp [r10+r11*8].
var jmpTable = []byte{0x43, 0xff, 0x24, 0xda}

// lookupSize is the most that the two instructions of a lookup take that can fault.
const lookupSize = 12

// emitStubs generates the stubs at the assembler's position. wide says that there are registers of AVX-512; enter, exit
// and miss emit what is due besides when generated code is entered and left, and when a lookup misses.
func emitStubs(e *assembler, wide bool, enter, exit, miss func()) stubs {
	var s stubs
	s.emitEnter(e, wide, enter)
	s.emitExit(e, wide, exit)

	s.miss = e.pos
	miss()
	e.store(stRIP, regTarget)
	e.load(regTarget, slotTarget)
	e.load(regTable, slotTable)
	e.storeImm32(stExit, exitMiss)
	e.jmp(s.exit)

	s.mismatch = e.pos
	e.storeImm32(stExit, exitMismatch)
	e.jmp(s.exit)

	s.nowhere = e.pos
	e.byte(0xff) // jmp [stNowhere]
	e.rip(4, stNowhere, 0)

	s.stray = e.pos
	e.emitOffDistantShadow(regBias)
	e.load(regBias, stSavedBias)
	e.jmp(s.mismatch)

	s.end = e.pos
	return s
}

// emitTakeFlags takes the guest's flags, and clears those that Go's code or emitGiveFlags expects to be clear.
func (e *assembler) emitTakeFlags() {
	e.byte(0x9c, 0x8f) // pushfq; pop [stFlags]
	e.rip(0, stFlags, 0)
	e.byte(0xfc, 0xf7) // cld; test dword [stFlags], ID
	e.rip(0, stFlags, 4)
	e.u32(emu.FlagID)
	clear := e.jcc(condE, 0)
	e.pushImm(emu.FlagR1 | emu.FlagIF)
	e.byte(0x9d) // popfq
	e.link(clear, e.pos)
}

// emitGiveFlags gives the guest its flags. POPFQ takes 18 cycles, and is needed only for those of system code. It loses
// RAX and RCX.
func (e *assembler) emitGiveFlags() {
	e.byte(0x8b) // mov eax, [stFlags]
	e.rip(x86.RAX, stFlags, 0)
	e.byte(0xa9) // test eax, DF | ID
	e.u32(emu.FlagDF | emu.FlagID)
	system := e.jcc(condNE, 0)
	e.movRR32(x86.RCX, x86.RAX)
	e.byte(0xc1, 0xe9, 11)   // shr ecx, 11
	e.byte(0x83, 0xe1, 1)    // and ecx, 1
	e.byte(0x80, 0xc1, 0x7f) // add cl, 127: OF
	e.byte(0x88, 0xc4, 0x9e) // mov ah, al; sahf
	given := e.jmp(0)
	e.link(system, e.pos)
	e.byte(0xff) // push [stFlags]
	e.rip(6, stFlags, 0)
	e.byte(0x9d) // popfq
	e.link(given, e.pos)
}

// emitEnter generates what loads the guest's registers.
func (s *stubs) emitEnter(e *assembler, wide bool, enter func()) {
	s.enter = e.pos
	e.store(stHostSP, x86.RSP)
	e.store(stHostBP, x86.RBP)
	e.byte(0x0f, 0xae) // stmxcsr
	e.rip(3, stHostMXCSR, 0)
	e.storeImm32(stInGuest, 1)
	e.load(x86.RCX, stFP)
	if wide {
		e.movImm(x86.RAX, emu.XFeatures|emu.XAVX512)
		e.movImm(x86.RDX, 0)
		e.byte(0x48, 0x0f, 0xae, 0x29) // xrstor64 [rcx]
	} else {
		e.emitLoadState()
	}
	enter()
	e.emitGiveFlags()
	for r := x86.RAX; r <= x86.R15; r++ {
		if r != x86.RSP {
			e.load(r, stRegs+8*int(r))
		}
	}
	e.load(x86.RSP, stRegs+8*int(x86.RSP))
	s.start = e.pos
	e.byte(0xff) // jmp [stTarget]
	e.rip(4, stTarget, 0)
}

// emitExit generates what saves them.
func (s *stubs) emitExit(e *assembler, wide bool, exit func()) {
	s.fault = e.pos
	e.storeImm32(stExit, exitFault)
	noted := e.short(opShortJ)
	s.exit = e.pos
	e.store(stRegs+8*int(x86.RSP), x86.RSP)
	e.patchShort(noted)
	e.load(x86.RSP, stHostSP)
	e.emitTakeFlags()
	for r := x86.RAX; r <= x86.R15; r++ {
		if r != x86.RSP {
			e.store(stRegs+8*int(r), r)
		}
	}
	e.load(x86.RBP, stHostBP)
	e.load(x86.RCX, stFP)
	if wide {
		e.movImm(x86.RAX, emu.XFeatures|emu.XAVX512)
		e.movImm(x86.RDX, 0)
		e.byte(0x48, 0x0f, 0xc7, 0x21)                // xsavec64 [rcx]
		e.byte(0x0f, 0xae, 0x59, byte(emu.XOffMXCSR)) // stmxcsr [rcx+24]
	} else {
		e.emitSaveState()
	}
	e.emitClearX87()
	exit()
	e.byte(0xc5, 0xf8, 0x77) // vzeroupper
	e.byte(0x0f, 0xae)       // ldmxcsr
	e.rip(2, stHostMXCSR, 0)
	e.storeImm32(stInGuest, 0)
	e.byte(0xc3) // ret
}
