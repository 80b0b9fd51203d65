//go:build linux && amd64

package jit

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/tally"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// An Engine translates and runs the code of one address space.
type Engine struct {
	assembler
	emu.Config
	mem   *mem.Space
	arena arena
	stubs stubs
	// directory is the host address of the directory of jump tables, 0 if there is none.
	directory uintptr
	decoder   *guest.Decoder
	machine   sem.Machine
	// hostAVX512 says that the host's CPU has AVX-512, wide that the guest's has, spare that the host's alone has,
	// emulatesWide that the guest's alone has.
	hostAVX512, wide, spare, emulatesWide bool
	// lacks has the features of whose instructions the host has none.
	lacks [256]bool

	// phase is what runs, for a goroutine that interrupts, and interrupt that one has (interrupt.go).
	phase     atomic.Uint32
	interrupt atomic.Bool
	// tried is the code that was tried again last after an interrupt (interrupted): its arena offset, how often its
	// block had been entered, and how often it was tried since.
	tried struct {
		pos   int
		count uint64
		times int
	}

	*codeCache // the code that runs
	codeCaches [emu.CountOff + 1]*codeCache
	all        []*tb // blocks that were translated, in the order of their code
	// dead and retainedBlocks are how many of them nothing can reach any more, and how many are retained.
	dead, retainedBlocks int
	// once is the block that runs once and whose counts are not gathered yet.
	once         *tb
	pages        map[emu.Addr][]*tb
	exits        [][]exit // in chunks
	decoded      []*ginsn // instructions at exits, the first one of none
	backEdges    []*exit
	peeks        peeks
	sums         map[emu.Addr]pageSum // of pages, as they were when they got their first block
	pool         *Pool                // that it belongs to, or nil
	image        *image               // nil if it began with none, or has forgotten it
	releaseImage func()               // frees what it and blocks of it are in
	imageName    string               // under which its image is kept, "" if it is not
	finished     bool                 // Finish was called
	// translated is how many blocks it has translated that may be retained.
	translated int
	noting     bool // what blocks that record calls were made from is noted, so that they can be retained: not by a run's first engine, which may be the only one, unless images are kept
	suspended  bool // it has no addresses for jump tables and shadow stacks
	// weights has what one count of each counter adds to the instructions executed.
	weights  []int16
	budgeted bool // code looks at the budget
	// budgetedFirst is First of the image that e began with. gotBudget is how many instructions had been executed when
	// e first had a budget, 0 if it had none, ran how many of them by processes before this one.
	budgetedFirst  bool
	gotBudget, ran uint64
	metered        bool  // stMeters count what weights says
	added          int64 // counters that Executed added up
	sim            simulation
	away           uint16        // the guest's registers that are away where blocks begin and end (away.go)
	tookAway       bool          // whether the last exit had them so
	target         uint64        // what was in regTarget there
	constants      []mmxConstant // which are in MMX
	// plans are what instructions count; planIndex finds them.
	plans         [][]planned
	planIndex     map[hooks.Plan]uint16
	eventCounters int // own counters in use
	marks         map[emu.Addr]bool
	// unbound is how often a jump was left to Go since its word was not bound.
	unbound   map[emu.Addr]uint8
	rewritten map[emu.Addr]bool // the blocks that checked themselves and had changed
	// behindPOPF has where execution went on behind a POPF. It is a hint, so it stays when code changes.
	behindPOPF map[emu.Addr]bool
	tracer     tracer
	calls      *calls // nil if calls are not recorded
	// passing is the CPU that stopped at a mark last, at passes: it goes on behind the mark.
	passing *emu.CPU
	passes  emu.Addr
	// stepFlags are the guest's StepFlags; stepping says that an instruction is executed alone because of them.
	stepFlags uint64
	stepping  bool
	cpu       *emu.CPU // of Run
	// epoch counts flushes.
	epoch int

	// Counts of blocks that are collected, and of instructions in blocks that stopped in the middle.
	collected [emu.NumEvents]tally.Tally
	collector collector
	executed  int64

	before *emu.CPU // in front of an instruction that is emulated
	// refs are the references of the instruction that Go was asked about last (outsideRefs), simulated is how many of
	// them it has simulated: a page fault comes of the next one.
	refs      []hooks.Reference
	simulated int
	rep       repetition

	// examined, code and pageSums are scratch space of lookups: an instruction, what memory holds where a retained
	// block was made from, and sums of pages.
	examined ginsn
	code     []byte
	pageSums []pageSum

	// mmx says that what generated code keeps is in MMX while the guest's x87 is not loaded, x87Since how many
	// instructions were executed when it was last asked how often that is.
	mmx      bool
	x87Since uint64
	// nextX87 says that x87 is loaded when generated code is entered next, which is faster than that a block finds that
	// it needs it.
	nextX87 bool
	// timeBefore becomes stTimeBefore when generated code is entered next, and is 0 again: behind any other exit time
	// may have passed.
	timeBefore uint64
	// resume is where generated code is to go on after an exit that comes back, else 0.
	resume int

	lists       *lists
	freshBlocks []tb // which nobody has yet
	request
	translation
}

// New returns an engine for the code in m.
func New(m *mem.Space, cfg emu.Config) (*Engine, error) {
	return newEngine(m, cfg, hostHasAVX512(), anyLowPlace)
}

// NewWithoutAVX512 is New on a host that has no AVX-512, or for a test of what happens there.
func NewWithoutAVX512(m *mem.Space, cfg emu.Config) (*Engine, error) {
	return newEngine(m, cfg, false, anyLowPlace)
}

// newEngine makes an engine; lowPlace finds a place for its low part.
func newEngine(m *mem.Space, cfg emu.Config, avx512 bool, lowPlace func(size int) (*lowPlace, error)) (*Engine, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	if err := takeSignals(); err != nil {
		return nil, err
	}
	sim := newSimulation(&cfg, avx512 && cfg.Model.XCR0&emu.XAVX512 == 0)
	// What takes most addresses comes first: where they are scarce there may be just one gap for it, in which the rest
	// would lie.
	first := newCodeCache(emu.CountAll)
	if err := first.reserve(m.Limit()); err != nil {
		return nil, err
	}
	first.near = first.shadow.near()
	a, err := mapArena()
	if err != nil {
		first.release()
		return nil, err
	}
	cfg.Events |= emu.Events(emu.Ir)
	e := &Engine{
		arena: a, hostAVX512: avx512, lacks: lacking(avx512), directory: directoryAt(), before: emu.NewCPU(), pages: map[emu.Addr][]*tb{}, marks: map[emu.Addr]bool{}, behindPOPF: map[emu.Addr]bool{}, sim: sim, away: sim.awayRegs(cfg.Function != nil),
		peeks: newPeeks(minPeeks), sums: map[emu.Addr]pageSum{}, lists: &lists{}, decoded: make([]*ginsn, 1), translation: translation{block: make([]ginsn, 0, maxBlock+1)},
	}
	e.codeCaches[emu.CountAll] = first
	e.attach(m, cfg)
	e.mmx, e.budgeted = !avx512, cfg.Limited
	e.set(stX87Left, maxX87)
	e.plans = [][]planned{{{event: emu.Ir, times: 1}}}
	e.planIndex = map[hooks.Plan]uint16{}
	e.fixExits()
	e.assembler = assembler{mem: a.mem, pos: codeOff, far: farOff}
	if cfg.Debug != nil && cfg.Debug.Code != nil {
		e.purposes = &purposeLog{from: codeOff}
	}
	if err := e.prepare(lowPlace); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// attach makes m the memory that holds the code, for a run with cfg.
func (e *Engine) attach(m *mem.Space, cfg emu.Config) {
	e.Config, e.mem = cfg, m
	e.decoder = guest.NewDecoder(m, features(cfg.Model), "host's CPU")
	e.machine = sem.Machine{Mem: m, Model: cfg.Model, Env: cfg.Env}
	e.wide = cfg.Model.XCR0&emu.XAVX512 != 0
	e.spare, e.emulatesWide = e.hostAVX512 && !e.wide, e.wide && !e.hostAVX512
	e.setBase()
}

// setBase tells generated code where the guest's memory is.
func (e *Engine) setBase() {
	e.set(stBase, uint64(e.mem.Base()))
	e.set(stNegBase, -uint64(e.mem.Base()))
	e.set(stLimit, uint64(e.mem.Limit()))
}

// prepare generates the code that blocks share, and fills the state block.
func (e *Engine) prepare(lowPlace func(size int) (*lowPlace, error)) (err error) {
	if e.Events != emu.Events(emu.Ir) || e.sim.size > 0 {
		p, err := lowPlace(tablesOff - lowOff + e.sim.size)
		if err != nil {
			return err
		}
		p.join(&e.arena)
		e.lowBase = int32(p.at)
	}
	if n := max(e.sim.i1.assoc, e.sim.d1.assoc, e.sim.ll.assoc); n >= tick {
		return fmt.Errorf("jit: a cache of %d ways: at most %d can be simulated", n, tick-1)
	}
	e.set(stTakenBit, outcomes{}.with(true).after(0))
	e.prepareSteps()
	e.prepareRefining()
	e.emptyCaches()
	if err := e.openDirectories(); err != nil {
		return err
	}
	if e.Function != nil {
		if err := e.newCalls(); err != nil {
			return err
		}
	}
	e.placeStubs()
	e.set(stCodeLo, uint64(e.arena.base+codeOff))
	e.set(stCodeHi, uint64(e.arena.base+arenaSize))
	e.knowCPUID(0, 0)
	e.switchCodeCache(e.codeCaches[emu.CountAll])
	return nil
}

// placeStubs emits the code that blocks share where it belongs, in front of all blocks, and tells others of it.
func (e *Engine) placeStubs() {
	e.pos, e.far = codeOff, farOff
	e.placeConstants()
	e.emitStubs()
	for _, w := range e.codeCaches {
		if w != nil {
			w.table.miss = e.hostAddr(e.stubs.miss)
		}
	}
	e.set(stFaultExit, e.hostAddr(e.stubs.fault))
	e.set(stToNowhere, e.hostAddr(e.stubs.nowhere))
}

// emitStubs emits the code that blocks share.
func (e *Engine) emitStubs() {
	e.emitFor(forStubs)
	e.stubs = emitStubs(&e.assembler, e.wide && !e.emulatesWide, e.emitEnterCode, e.emitLeaveCode, e.emitMissFrom)
	e.stubs.strayNear = e.pos
	e.lea(x86.RSP, x86.RSP, int32(-nearBias))
	e.jmp(e.stubs.mismatch)
	e.stubs.end = e.pos
	e.emitAnswerRoutines()
	if e.mmx {
		e.emitX87Routines()
	}
	if e.sim.caches {
		e.emitFor(forMisses)
		e.emitSimRoutines()
		e.stubs.end = e.pos
	}
	if e.calls != nil {
		e.emitFor(forCalls)
		e.emitCallRoutines()
	}
	e.debugPurposes()
}

// emitEnterCode emits what is due when generated code is entered, emitLeaveCode when it is left.
func (e *Engine) emitEnterCode() {
	e.emitEnterSpare()
	e.emitEnterSim()
	e.emitEnterCalls()
	if e.mmx {
		e.emitEnterMMX()
	}
}

func (e *Engine) emitLeaveCode() {
	e.emitExitSpare()
	e.emitExitSim()
	e.emitExitCalls()
	if e.mmx {
		e.emitExitMMX()
	}
}

// Close frees the engine's memory, or leaves it to its pool. The guest's is still there.
func (e *Engine) Close() error {
	if e.pool == nil || !e.pool.take(e) {
		e.free()
	}
	return nil
}

// blockCount returns how many blocks e knows.
func (e *Engine) blockCount() int {
	n := len(e.all)
	if e.image != nil {
		n += len(e.image.blocks)
	}
	return n
}

// Translated returns how many blocks e has translated of those that it knows.
func (e *Engine) Translated() int { return len(e.all) }

// Finish is called when e, whose counts were collected, will not run any more, nor will another engine of its pool: its
// image is written, and it forgets its code, which takes much memory. It still knows how many instructions it has
// executed.
func (e *Engine) Finish() {
	e.gatherOnce()
	e.gather()
	if e.pool != nil {
		e.pool.end(e)
	}
	e.finished = true
	e.closeDirectories()
	e.flush()
	// Blocks know each other.
	e.translation, e.freshBlocks, e.pages, e.sums = translation{}, nil, nil, nil
	for _, w := range e.codeCaches {
		if w != nil {
			w.retained = nil
		}
	}
	e.dropImage()
	e.arena.forget()
}

// dropImage gives the memory of e's image back.
func (e *Engine) dropImage() {
	if e.releaseImage != nil {
		e.releaseImage()
		e.releaseImage = nil
	}
}

// free gives what e has of the host's addresses back. Freeing e again does nothing: they may be those of something else
// by then.
func (e *Engine) free() {
	for _, w := range e.codeCaches {
		if w != nil {
			w.release()
		}
	}
	e.sim.d1.directory.close()
	e.sim.ll.directory.close()
	if e.calls != nil {
		e.calls.frames.close()
	}
	e.arena.close()
	e.dropImage()
}

func (e *Engine) get(off int) uint64    { return *e.arena.word(off) }
func (e *Engine) set(off int, x uint64) { *e.arena.word(off) = x }

func (e *Engine) hostAddr(off int) uint64 { return e.arena.hostAddr(off) }

// plainStops are the stops without a fault, by reason: there is one for each system call, and none is to be collected.
var plainStops = [...]emu.Stop{
	emu.StopBudget: {Reason: emu.StopBudget}, emu.StopInterrupt: {Reason: emu.StopInterrupt}, emu.StopSyscall: {Reason: emu.StopSyscall},
	emu.StopClient: {Reason: emu.StopClient}, emu.StopMark: {Reason: emu.StopMark},
}

// running makes sure that one engine runs at a time: the signal handler knows one.
var running sync.Mutex

// Run implements emu.Engine.
func (e *Engine) Run(c *emu.CPU, budget uint64) emu.Stop {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	running.Lock()
	defer running.Unlock()
	prepareThread()
	handlerState = e.arena.base
	defer func() { handlerState = 0 }()
	return e.run(c, budget)
}

// ready makes e, whose turn it is, the one that runs on this thread.
func (e *Engine) ready() error {
	if e.get(stBase) != uint64(e.mem.Base()) {
		e.rebase()
	}
	switch {
	case e.pool != nil:
		if err := e.pool.awaken(e); err != nil {
			return err
		}
	case e.suspended:
		if err := e.revive(); err != nil {
			return err
		}
	}
	return giveGSBase(e.mem.Base())
}

// run is Run on a thread that is ready, while no other engine runs. It is a function of its own since a defer takes
// longer where there is a loop.
func (e *Engine) run(c *emu.CPU, budget uint64) emu.Stop {
	if err := e.ready(); err != nil {
		return *stopFault(emu.Fault{Vector: emu.VecUD, Failure: err.Error()})
	}
	if budget < emu.NoBudget {
		e.needBudget()
	}
	e.meter()
	e.forgetTouched()
	e.leaveDirectory()
	if base := uint64(e.table.base); shown != base || e.get(stJumpTable) != base {
		e.showTable(base)
	}
	e.cpu = c
	e.beginCalls(c)
	e.set(stBudget, min(budget, emu.NoBudget))
	e.loadCPU(c)
	rip := c.RIP
	if e.rep.paused == c && e.rep.at == rip {
		e.runOffset = e.rep.run
	}
	e.rep.paused = nil
	for {
		var stop *emu.Stop
		if e.stepFlags != 0 || e.traces() {
			rip, stop = e.step(c, rip)
		} else {
			rip, stop = e.goOn(c, rip)
		}
		if stop != nil {
			e.storeCPU(c, rip)
			s := *stop
			s.Left = int64(e.get(stBudget))
			return s
		}
	}
}

// goOn runs generated code from rip on until it exits; it returns where the guest goes on, or is when it stops.
func (e *Engine) goOn(c *emu.CPU, rip emu.Addr) (emu.Addr, *emu.Stop) {
	at, stop := e.entryAt(c, rip)
	if stop != nil {
		return rip, stop
	}
	e.enter(at)
	return e.leave(c)
}

// entryAt returns where generated code is to be entered for rip, or why not.
func (e *Engine) entryAt(c *emu.CPU, rip emu.Addr) (at int, stop *emu.Stop) {
	at, e.resume = e.resume, 0
	if inRun := at != 0 || e.singleStep || e.runOffset != 0; !inRun && e.wasInterrupted() {
		return 0, &plainStops[emu.StopInterrupt]
	}
	if e.fullOfArcs() {
		return 0, stopFault(emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("a call graph of more than %d KiB,", sumsRoom>>10)})
	}
	if at != 0 {
		if e.tookAway {
			e.giveAway()
			e.set(stRegs+8*int(regTarget), e.target)
		}
		return at, nil
	}
	e.set(stX87, x87Away) // the block loads it if need be
	if e.nextX87 {
		if !e.mmx {
			e.set(stX87, x87Loaded)
		}
		e.nextX87 = false
	}
	t, fault := e.lookup(rip)
	if fault != nil {
		return 0, stopFault(*fault)
	}
	at = int(t.entry)
	if e.passing == c {
		if e.passes == rip && e.marks[rip] {
			at = int(t.unmarked)
		}
		e.passing = nil
	}
	e.giveAway()
	return at, nil
}

// loadCPU puts c into the state block.
func (e *Engine) loadCPU(c *emu.CPU) {
	copy(e.arena.words(stRegs, len(c.Regs)), c.Regs[:])
	// The host would check alignment, or trap, in Go's code too.
	e.stepFlags = c.Flags & emu.StepFlags
	e.set(stFlags, c.Flags&emu.UserFlags&^emu.StepFlags|emu.FlagR1|emu.FlagIF)
	e.set(stFSBase, c.FSBase)
	e.set(stGSBase, c.GSBase)
	e.set(stFP, fpAddr(c.FP))
}

// storeCPU takes c from the state block.
func (e *Engine) storeCPU(c *emu.CPU, rip emu.Addr) {
	// copy would load 16 bytes at a time, which waits for the two stores of generated code.
	regs := e.arena.words(stRegs, len(c.Regs))
	for i := range c.Regs {
		c.Regs[i] = regs[i]
	}
	c.Flags = e.get(stFlags)&emu.UserFlags | e.stepFlags | emu.FlagR1 | emu.FlagIF
	c.FSBase = e.get(stFSBase)
	c.GSBase = e.get(stGSBase)
	c.RIP = rip
	c.FP.SetComponents(e.Model.XCR0 | emu.XFeatures)
}

// lookup returns the block at rip, translating it if need be.
func (e *Engine) lookup(rip emu.Addr) (*tb, *emu.Fault) {
	if e.singleStep || e.runOffset != 0 {
		t, fault := e.fallenInto[fall{rip, e.runOffset}], (*emu.Fault)(nil)
		if t == nil || !e.falls {
			t, fault = e.translate(rip)
		}
		e.singleStep, e.runOffset, e.falls = false, 0, false
		return t, fault
	}
	if t := e.known(rip); t != nil {
		return t, nil
	}
	return e.translate(rip)
}

// known returns the block at rip if it was translated before.
func (e *Engine) known(rip emu.Addr) *tb {
	if t := e.tbs.at(rip); t != nil {
		return t
	}
	return e.revalidate(rip)
}

// enter runs generated code from an arena offset on until it exits.
func (e *Engine) enter(at int) {
	e.set(stTarget, e.hostAddr(at))
	if e.arena.dual {
		// Code written at another address than it runs at (SDM Vol. 3, "Self-Modifying Code").
		serialize()
	}
	if e.wide {
		e.packWide(e.cpu.FP)
	}
	if e.calls != nil {
		e.giveFrames()
	}
	e.set(stTimeBefore, e.timeBefore)
	e.timeBefore = 0
	e.beginCode()
	enterGuest(e.mem.Base(), uintptr(e.hostAddr(e.stubs.enter)))
	e.endCode()
	if e.calls != nil {
		e.takeFrames()
	}
	switch {
	case e.wide:
		e.settleWide(e.cpu.FP)
	case e.get(stX87)|e.get(stX87Saved) != 0:
		e.set(stX87Saved, 0)
		e.cpu.FP.SetComponents(emu.XFeatures)
		clearPointers(e.cpu.FP)
	}
}

// leave handles the exit generated code took: it returns where the guest goes on, or
// is when it stops.
func (e *Engine) leave(c *emu.CPU) (emu.Addr, *emu.Stop) {
	x := e.exitAt(int(uint32(e.get(stExit))))
	e.target = e.get(stRegs + 8*int(regTarget))
	if e.tookAway = x.is(regsAway); e.tookAway {
		e.takeAway()
	}
	switch x.kind {
	case exitLink:
		if e.stepping {
			return x.rip, nil
		}
		return e.follow(x)
	case exitMissed:
		rip := emu.Addr(e.get(stRIP))
		e.looked(rip)
		return rip, e.admit(rip)
	case exitCarry, exitFalls:
		e.runOffset, e.falls = int(x.insn), x.kind == exitFalls
		e.wentOn(x.t.addr(x.t.insnCount()-1), x.rip)
		return x.rip, nil
	case exitReturn:
		rip, _ := e.mem.ReadUint64(emu.Addr(e.get(stRegs+8*emu.RSP)) - 8)
		e.returned(emu.Addr(rip))
		return emu.Addr(rip), nil
	case exitJumpArc:
		e.newJumpArc(x)
		e.resume = x.resume()
		return x.rip, nil
	case exitPass:
		e.told(e.calls.Flow, x.rip, emu.Addr(e.target))
		e.resume = x.resume()
		return x.rip, nil
	case exitCrossed:
		e.wentOn(x.t.addr(int(x.insn)), x.rip)
		return x.rip, nil
	case exitOverdrawn:
		e.wentOn(x.t.addr(int(x.insn)), x.rip)
		return x.rip, &plainStops[emu.StopBudget]
	case exitUnbound:
		return e.jumped(x), nil
	case exitReceived:
		rip := emu.Addr(e.get(stRIP))
		e.looked(rip)
		return rip, nil
	case exitChanged:
		e.codeChanged(x)
		return x.rip, nil
	case exitQuiet:
		e.guardAgain(x.t)
		return x.rip, nil
	case exitTable:
		e.set(stApproximations, tableAddr(approximations()))
		e.resume = x.resume()
		return x.rip, nil
	case exitSyscall:
		e.set(stRegs+8*emu.RCX, uint64(x.rip))
		e.set(stRegs+8*emu.R11, e.get(stFlags)&emu.UserFlags|e.stepFlags|emu.FlagR1|emu.FlagIF)
		return x.rip, &plainStops[emu.StopSyscall]
	case exitClient:
		return x.rip, &plainStops[emu.StopClient]
	case exitBudget:
		if t, i := x.t, int(x.insn); t != nil {
			e.countUntil(t, i, i, i > int(t.counted), i > int(t.counted) && !e.sumsLast())
		}
		return x.rip, &plainStops[emu.StopBudget]
	case exitMark:
		e.passing, e.passes = c, x.rip
		return x.rip, &plainStops[emu.StopMark]
	case exitOutside, exitElements, exitRepeated:
		return e.outsideRefs(c, x), nil
	case exitLong, exitPiece:
		return e.repeatLong(c, x)
	case exitTrap:
		return e.trap(c, x)
	case exitSignal:
		return e.fault()
	default:
		panic(fmt.Sprintf("BUG: exit kind %d", x.kind))
	}
}

// follow makes a direct branch reach its target's block from now on.
func (e *Engine) follow(x *exit) (emu.Addr, *emu.Stop) {
	epoch, target := e.epoch, x.rip
	e.wantCalled = x.is(linkCall)
	t, fault := e.lookup(target)
	e.wantCalled = false
	if fault != nil {
		return target, stopFault(*fault)
	}
	if e.crowded() {
		e.flush()
	}
	// A flush takes the branch itself away.
	if e.epoch == epoch {
		e.connect(uint32(e.get(stExit)), t)
	}
	return target, nil
}

// admit makes later lookups of rip find its block.
func (e *Engine) admit(rip emu.Addr) *emu.Stop {
	if e.crowded() {
		e.flush()
	}
	t := e.known(rip)
	if t == nil {
		// The entry for lookups leads straight into the new block.
		e.wantIndirect = true
		var fault *emu.Fault
		if t, fault = e.translate(rip); fault != nil {
			e.wantIndirect = false
			return stopFault(*fault)
		}
	} else if t.indirect == 0 {
		t.indirect = int32(e.emitIndirectEntry(rip))
		e.jmp(int(t.entry))
	}
	if err := e.list(t, e.hostAddr(int(t.indirect))); err != nil {
		return stopFault(emu.Fault{Vector: emu.VecUD, Failure: err.Error()})
	}
	return nil
}

// emitIndirectEntry restores what a lookup of pc saved, and returns where.
func (e *Engine) emitIndirectEntry(pc emu.Addr) int {
	at := e.pos
	if e.calls != nil {
		e.emitReceived(pc)
	}
	for _, r := range awayList {
		switch {
		case !e.isAway(r):
			e.load(r, stSpill+8*int(r))
		case r == regDirectory:
			e.load(r, stD1Directory)
		}
	}
	return at
}

// emitCalledEntry comes back from the shadow stack, and returns where.
func (e *Engine) emitCalledEntry() int {
	at := e.pos
	e.emitOffShadow(regBias)
	e.giveBackBias()
	return at
}
