package task

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/host"
)

// Identities that are the same on every host.
const (
	DefaultPID     = 1000
	DefaultUID     = 1000
	DefaultGID     = 1000
	HostName       = "cgemu"
	DefaultUmask   = 0o022
	DefaultQuantum = 100_000
)

// DefaultEpoch is the virtual wall clock's time when a program starts.
var DefaultEpoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A Config says how programs run: what executes them, what they see of time and chance, and whom to tell of what.
type Config struct {
	// NewEngine makes the engine of the first process, for its address space. The engine asks env for what lies outside
	// the CPU.
	NewEngine func(m *mem.Space, env emu.Env) (emu.Engine, error)
	// ForkEngine makes the engine of process pid, whose parent runs on p. If it is nil, NewEngine does.
	ForkEngine func(pid int, p emu.Engine, m *mem.Space, env emu.Env) (emu.Engine, error)
	// ChecksAccesses says that all engines look at the guest's permissions before each access (mem.Group.Checked).
	ChecksAccesses bool
	// CopiesOnWrite says that all engines copy what a fork did not when the guest accesses it (mem.Group.CopyOnWrite).
	CopiesOnWrite bool
	// SelfChecks says that all engines see themselves whether code on pages that are stored to often is what it was
	// (mem.Group.SelfChecks).
	SelfChecks bool
	// CPUID answers CPUID for the guest's CPU model; nil answers zeros.
	CPUID func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
	// Seed seeds everything random.
	Seed uint64
	// SchedSeed chooses a schedule of threads. 0 is the default, first come first served; any other gives different
	// turns and orders, as reproducible.
	SchedSeed uint64
	// Compat asks for the initial stack, auxiliary vector and signal frames that Valgrind gives a program.
	Compat bool
	// HWCap is AT_HWCAP, the features in EDX of CPUID leaf 1. 0 asks CPUID.
	HWCap uint64
	// CPUs is how many processors the guest sees, 0 for one. Threads take turns however many there are.
	CPUs int
	// RealTime takes clocks and sleeps from the host instead of the virtual clock: runs are not reproducible then.
	RealTime bool
	// Epoch is what the wall clock says at the start. Zero means DefaultEpoch.
	Epoch time.Time
	// Quantum is how many instructions a thread may execute in one turn while others wait. 0 means DefaultQuantum.
	Quantum uint64
	// MaxInsns ends the run at the first backward jump, call or indirect jump after so many instructions; 0 is no
	// limit. Turns become shorter near the limit.
	MaxInsns uint64
	// Log gets messages about what is not supported, one line each. Nil means os.Stderr.
	Log io.Writer
	// OnProgress, if set, is called about every ProgressEvery of the host's time while something executes, with the
	// instructions executed so far and the virtual time since the start. It cannot change what the guest does.
	OnProgress    func(insns uint64, virtual time.Duration)
	ProgressEvery time.Duration
	// OnClientRequest is called for each Valgrind client request of a program on e. It returns the request's result and
	// whether it knows the request; for others, the kernel's own answer is used.
	OnClientRequest func(e emu.Engine, code uint64, args [5]uint64) (result uint64, known bool)
	// OnExec is called when a program has been loaded and has not run yet. e is nil for the first program of a run.
	OnExec func(e emu.Engine, p *loader.Program)
	// OnUnload is called before a program gives way to another one in its address space.
	OnUnload func(e emu.Engine)
	// OnMove is called when the owner of an engine that others share executes a program. It goes on with the engine
	// own; the shared one belongs to process pid from now on. What was counted there so far stays the old owner's.
	OnMove func(shared, own emu.Engine, pid int)
	// OnMap is called when a file was mapped executable, so that its symbols can be looked up later.
	OnMap func(e emu.Engine, v mem.VMA)
	// OnHandler is called when a thread on e is in front of a signal handler (begins), or goes on where one interrupted
	// it; OnThreadEnd when one will not run again.
	OnHandler   func(e emu.Engine, c *emu.CPU, begins bool)
	OnThreadEnd func(e emu.Engine, c *emu.CPU)
	// Place describes the instruction in front of a, for messages: function, offset, source line.
	Place func(e emu.Engine, a emu.Addr) string
	// OnEnd is called once for each process that had an engine of its own, when nothing will run on that any more and
	// before it is closed.
	OnEnd func(End)
}

// An End is a process that is over, for Config.OnEnd. A process that ends between vfork(2) and execve(2) never had an
// engine of its own, and is not reported.
type End struct {
	// PID and Argv are those of the process, Exit says how it ended.
	PID  int
	Argv []string
	// Engine has its counts. Mem is its address space, in which the program still lies.
	Engine emu.Engine
	Mem    *mem.Space
	Exit   Exit
	// Last says that no process will run any more.
	Last bool
}

// A Kernel is the virtual machine that all processes of one run share. The goroutine that calls Run owns it; others may
// touch Canceled and running only.
type Kernel struct {
	Config Config
	// Table has the system calls by number. A number past its end, or without a handler, is Unknown.
	Table []Entry

	// Processes has all processes in order of creation, zombies included, until somebody has waited for them.
	Processes []*Process
	// First is the process that the run was started with. Its end is the end of the run, but for what the others
	// still do (idleAfterFirst); it stays in Processes.
	First *Process
	// firstEndedAt is when First ended, on Now's clock.
	firstEndedAt int64
	// Threads has the threads that have not ended, by id. LastID is the id given last, IDs how many were given.
	Threads map[int]*Thread
	LastID  int
	IDs     uint64

	// A thread that has not ended is in one place: it is Current, in ready or Waiting, or, if its process is stopped,
	// in that process' runnable list. Call.Wait is set for those in Waiting, and stays set when one is woken until its
	// call goes on.
	//
	// Current is the thread that executes, nil between two turns. ready is in order of becoming ready, Waiting in
	// order of blocking.
	Current   *Thread
	ready     []*Thread
	Waiting   []*Thread
	Scheduler schedule
	// activity grows when something happens that may end a wait: a thread executed, a call got further, time passed.
	// A call that went on and had to wait again is not tried once more before that (wakeWaiting).
	activity uint64
	// idleRounds is how often in a row time passed without any thread becoming ready.
	idleRounds int
	// Timers are the armed timers in order of arming. Of those with one deadline, the first fires first.
	Timers []*Timer
	// Futexes has the waiting threads by key, in order of blocking. owners has the thread that holds a PI lock for
	// which others wait. A key without waiters is in neither.
	Futexes map[FutexKey][]*Thread
	owners  map[FutexKey]*Thread

	// Spaces makes the address spaces of machines. addresses is the sum of Machine.addresses of all that are open.
	Spaces    mem.Group
	addresses uint64
	// unusedMachines are those that the last process has left. They are closed between two turns (CloseUnused), since
	// the engine that the last process left is still executing its call.
	unusedMachines []*Machine
	// running is the engine that executes, for goroutines that want to interrupt it.
	running running
	// executed is how many instructions all processes have paid for, unsettled the machines that may have executed
	// more.
	executed  int64
	unsettled []*Machine

	// Network is how the guest reaches other machines, and how it waits for what the host decides.
	Network host.Network
	// Clock is where time comes from, RNG where random bytes do.
	Clock clock
	RNG   generator
	// Console is, for job control, the terminal that cgemu itself runs on. The first session has it.
	Console Terminal
	// UID and GID are the guest's only user and group. With Config.Compat they are the host's, as under Valgrind.
	UID, GID uint32

	// Exit says how the run ended. It is nil while the run goes on; setting it ends the run.
	Exit *Exit
	// Canceled is set by the goroutine that watches the context: the run ends as soon as the loop sees it.
	Canceled atomic.Bool

	// Trace, if not nil, is told of calls and signals (--strace).
	Trace Tracer
	// FormatCall shows the system call that t waits in, for messages.
	FormatCall func(t *Thread) string
	progress   progress
	// reported has the numbers of the unsupported calls that messages have named, refused the instructions, and what
	// else an engine could not do.
	reported messageSet[uint64]
	refused  messageSet[string]
	// full says that a message has said that there was no room for another process, fullOfFiles that the host had no
	// descriptors for another file.
	full, fullOfFiles, fullOfMappings bool
	// refusals counts the calls that ended for want of support, for UnsupportedCalls.
	refusals map[refusal]uint64
	// nextVgStack is the id that VALGRIND_STACK_REGISTER gave last.
	nextVgStack uint64
	// NextShared numbers anonymous shared mappings, each of which is a file of its own in /proc/PID/maps.
	NextShared uint64
	// HostFiles is how many files a process may have open, whatever its RLIMIT_NOFILE: as many as the host has
	// descriptors for, or had when the run was recorded.
	HostFiles uint64

	// FS, IPC, Net and TTY are the state of the packages above this one. Net and TTY are looked at by package net and
	// package tty alone.
	FS  FileSystem
	IPC IPC
	Net any
	TTY any
}

// A FileSystem is what package task asks of package files.
type FileSystem interface {
	// SignalAsync sends signals to the owners of host files with O_ASYNC that have become ready.
	SignalAsync(k *Kernel)
	// AsyncReady reports whether SignalAsync would send one.
	AsyncReady() bool
	// AsyncFDs appends to fds the host's files that SignalAsync looks at, so that one can wait for them.
	AsyncFDs(fds []host.PollFD) []host.PollFD
	// HasAsync reports whether there are any such files.
	HasAsync() bool
	Close() error
}

// An IPC is what package task asks of package ipc.
type IPC interface {
	// ShareUndo gives q the list of what p does to semaphores with SEM_UNDO, as CLONE_SYSVSEM does. For q == p it sees
	// that there is one.
	ShareUndo(p, q *Process)
	// LeaveUndo is called when p ends or asks for an own list: what its list has is undone if nobody shares it.
	LeaveUndo(p *Process)
	Close()
}

// An Exit says how a process, or the whole run, ended. At most one of Signal and Code is not 0.
type Exit struct {
	// Code is the exit status of a process that ended by itself.
	Code int
	// Signal is the signal that killed it, or 0.
	Signal int
	// Fault is the CPU's exception that led to Signal, and RIP where it happened. Nil if the signal was sent.
	Fault *emu.Fault
	RIP   emu.Addr
	// Interrupted says that the context ended before the program did.
	Interrupted bool
	// Limit says that Config.MaxInsns instructions were executed.
	Limit bool
	// Deadlock says that no thread could ever run again; Signal is SIGKILL then.
	Deadlock bool
	// Abandoned says that the process still waited when the run ended because the first process had.
	Abandoned bool
}

// Status is cgemu's own exit status for e: 128 + n for signal n, as shells have it.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + e.Signal
	}
	return e.Code
}

// NewKernel makes a kernel without processes. FS, IPC, Net and TTY have to be set before FirstThread is called.
func NewKernel(cfg Config, table []Entry) *Kernel {
	if cfg.Epoch.IsZero() {
		cfg.Epoch = DefaultEpoch
	}
	if cfg.CPUs <= 0 {
		cfg.CPUs = 1
	}
	if cfg.Quantum == 0 {
		cfg.Quantum = DefaultQuantum
	}
	if cfg.Log == nil {
		cfg.Log = os.Stderr
	}
	if cfg.HWCap == 0 && cfg.CPUID != nil {
		_, _, _, edx := cfg.CPUID(1, 0)
		cfg.HWCap = uint64(edx)
	}
	k := &Kernel{
		Config: cfg, Table: table, Threads: map[int]*Thread{}, LastID: DefaultPID - 1, UID: DefaultUID, GID: DefaultGID,
		Futexes: map[FutexKey][]*Thread{}, owners: map[FutexKey]*Thread{},
		reported: messageSet[uint64]{}, refused: messageSet[string]{}, refusals: map[refusal]uint64{}, Network: &host.OwnNetwork{},
	}
	if cfg.Compat {
		k.UID, k.GID = host.User()
	}
	k.Spaces.Checked, k.Spaces.CopyOnWrite = cfg.ChecksAccesses, cfg.CopiesOnWrite
	k.Spaces.SelfChecks = cfg.SelfChecks
	k.HostFiles = hostFiles()
	k.Clock.init(cfg.RealTime, cfg.Epoch)
	k.RNG.seed(cfg.Seed)
	k.Scheduler.init(cfg.SchedSeed, cfg.Quantum)
	return k
}

// FirstThread makes the first process and its thread. It has no engine before Start.
func (k *Kernel) FirstThread(files FileState) (*Thread, error) {
	m, err := k.Spaces.New()
	if err != nil {
		return nil, err
	}
	p := newProcess(k)
	first := &Machine{mem: m, owner: p}
	p.useMachine(first)
	k.addresses = first.addresses()
	k.Processes, k.First = append(k.Processes, p), p
	p.PGID, p.SID, p.Tty = p.PID, p.PID, &k.Console
	k.Console = Terminal{SID: p.SID, PGID: p.PGID}
	t := p.NewThread(emu.NewCPU())
	t.CPU.FP.SetComponents(t.CPU.FP.Components() | k.stateComponents())
	t.Files = files
	return t, nil
}

// stateComponents returns the components of XSAVE that CPUID tells of.
func (k *Kernel) stateComponents() uint64 {
	if k.Config.CPUID == nil {
		return 0
	}
	low, _, _, high := k.CPUID(0xd, 0)
	return uint64(high)<<32 | uint64(low)
}

// Start makes t, the thread of FirstThread, execute program x when Run is called.
func (k *Kernel) Start(t *Thread, x *loader.Executable, env []string) error {
	p := t.Process
	if err := p.Exec(t, x, env); err != nil {
		return err
	}
	if k.Config.NewEngine == nil {
		return errors.New("syscalls: Config.NewEngine is not set")
	}
	var err error
	if p.Machine.engine, err = k.Config.NewEngine(p.Mem, k); err != nil {
		return err
	}
	p.useMachine(p.Machine)
	p.Mem.OnInvalidate(p.Engine.Invalidate)
	k.ready = append(k.ready, t)
	return nil
}

// Close frees address spaces, engines and files. It must not be called while Run runs.
func (k *Kernel) Close() error {
	var errs []error
	for _, p := range k.Processes {
		for _, t := range p.Threads {
			t.Files.Leave(t.Kernel)
		}
		if p.Machine != nil {
			p.leaveMachine()
		}
	}
	for _, m := range k.unusedMachines {
		errs = append(errs, m.close(k))
	}
	k.IPC.Close()
	k.Network.Close()
	k.Processes, k.unusedMachines = nil, nil
	errs = append(errs, k.FS.Close())
	return errors.Join(errs...)
}

// Logf tells the user something in one line, to Config.Log.
func (k *Kernel) Logf(format string, args ...any) {
	fmt.Fprintf(k.Config.Log, "cgemu: "+format+"\n", args...)
}

// CPUID implements emu.Env: what the guest's CPU model answers.
func (k *Kernel) CPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32) {
	if k.Config.CPUID == nil {
		return 0, 0, 0, 0
	}
	return k.Config.CPUID(leaf, subleaf)
}

// TSC implements emu.Env: one tick is one nanosecond of Now.
func (k *Kernel) TSC() uint64 { return uint64(k.Now()) }

// TSCCounts implements emu.Env. System calls take time too, and the engine does not run meanwhile.
func (k *Kernel) TSCCounts() bool { return !k.Clock.Real }

// Random implements emu.Env, for RDRAND and RDSEED.
func (k *Kernel) Random() uint64 { return k.RNG.uint64() }

// What uname(2) says of the virtual machine. The release is recent enough to have every call that glibc expects by
// version.
const (
	UnameRelease = "6.12.0-cgemu"
	UnameVersion = "#1 SMP cgemu"
)

// MemTotal is the size of the virtual machine's memory, half of which is always free.
const MemTotal = 8 << 30
