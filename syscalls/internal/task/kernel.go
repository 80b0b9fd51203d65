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
	"github.com/cgemu/cgemu/syscalls/internal/linux"
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

// A Config says how programs run.
type Config struct {
	// NewEngine makes the engine of the first process. It gets the process' address space
	// and what the engine may ask of the world.
	NewEngine func(m *mem.Space, env emu.Env) (emu.Engine, error)
	// ForkEngine makes the engine of another process, whose parent runs on that of p; nil
	// for NewEngine.
	ForkEngine func(pid int, p emu.Engine, m *mem.Space, env emu.Env) (emu.Engine, error)
	// CPUID answers CPUID for the guest's CPU model; nil answers zeros.
	CPUID func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
	// Seed seeds everything random.
	Seed uint64
	// SchedSeed seeds another schedule than the default, 0: other threads run next, for other times.
	SchedSeed uint64
	// Compat asks for Valgrind's stack and auxiliary vector.
	Compat bool
	// HWCap is AT_HWCAP, CPUID 1 EDX: 0 asks CPUID.
	HWCap uint64
	// CPUs is how many processors the guest sees: 0 for one.
	CPUs int
	// RealTime takes clocks and sleeps from the host.
	RealTime bool
	// Epoch is the wall clock's start: zero for DefaultEpoch.
	Epoch time.Time
	// Quantum is how many instructions a thread may run while others wait: 0 for 100,000.
	Quantum uint64
	// MaxInsns ends the run when so many instructions were executed, 0 never: at the first
	// backward jump, call or indirect jump from there on. Threads then take shorter turns.
	MaxInsns uint64
	// Log gets messages on what is not supported, one line each: nil for os.Stderr.
	Log io.Writer
	// OnProgress, if set, is called about every ProgressEvery of the host's time while something executes, with the
	// instructions executed so far and the virtual time since the start.
	OnProgress    func(insns uint64, virtual time.Duration)
	ProgressEvery time.Duration
	// OnClientRequest is called for a Valgrind client request of a
	// program that runs on e. It returns
	// the result and whether it knows the request; if not, the kernel's own answer is used.
	OnClientRequest func(e emu.Engine, code uint64, args [5]uint64) (result uint64, known bool)
	// OnExec is called after a program has been loaded, before it runs; e is nil if it is the first.
	OnExec func(e emu.Engine, p *loader.Program)
	// OnMove is called when a process gets the engine to, because others still run on from, which from now on is
	// that of process pid: what was counted so far is not.
	OnMove func(from, to emu.Engine, pid int)
	// OnMap is called after a file was mapped executable, so that its symbols can be found later.
	OnMap func(e emu.Engine, v mem.VMA)
	// Place names the code in front of a, for messages: function, offset, and source.
	Place func(e emu.Engine, a emu.Addr) string
	// OnEnd is called when nothing will run on an engine any more, before it is closed.
	OnEnd func(End)
}

// An End says which process is over, and has what is left of it. A process that ends between
// vfork(2) and execve(2) had nothing of its own, and leaves nothing.
type End struct {
	PID    int
	Argv   []string
	Engine emu.Engine
	Mem    *mem.Space
	Exit   Exit
}

// A Kernel is a running system.
type Kernel struct {
	Config         Config
	Table          []Entry
	Processes      []*Process // in order of creation, zombies too
	First          *Process   // the run is over when it is, but for what others still do
	unusedMachines []*Machine // nothing runs on them any more
	Spaces         mem.Group  // the address spaces of machines
	ready          []*Thread  // runnable, first come first served
	Waiting        []*Thread  // blocked, in order of blocking
	Current        *Thread
	Timers         []*Timer // armed, in order of arming
	running        running
	// reapedTime is the user time of processes that are not in procs any more.
	reapedTime int64
	// Console is the terminal that cgemu runs on.
	Console Terminal
	// firstEndedAt is when the first process ended.
	firstEndedAt int64
	Clock        clock
	// UID and GID are the guest's user: Valgrind shows the host's.
	UID, GID  uint32
	RNG       generator
	Scheduler schedule
	Trace     Tracer
	// FormatCall shows the system call that t waits in, for messages.
	FormatCall func(t *Thread) string
	Futexes    map[FutexKey][]*Thread
	owners     map[FutexKey]*Thread // of the locks that threads wait for
	Exit       *Exit
	// Threads are those that live, by id; LastID is the last id that was given, ids how many were.
	Threads map[int]*Thread
	LastID  int
	IDs     uint64
	// reported has the numbers of unsupported calls already named.
	reported map[uint64]bool
	Refusals map[refusal]uint64
	// Interrupted is set by the goroutine that watches the context.
	Interrupted atomic.Bool
	// activity counts what may make waiting threads ready: that one executed, and that time passed.
	activity uint64
	// addresses is what all machines take of the host's.
	addresses uint64
	// idleRounds counts how often time passed since a thread last ran.
	idleRounds  int
	nextVgStack uint64
	NextShared  uint64
	// The states of the subsystems above this one.
	FS  FileSystem
	IPC IPC
	Net any // of package net
	TTY any // of package tty
	// progress tells how far the run is.
	progress progress
}

// A FileSystem is what this package asks of the one that has files.
type FileSystem interface {
	// SignalAsync looks for what has come to files of the host whose owners are to be told by signals, news reports whether
	// something has, HostAsync appends to fds what to wait for until then, and watches says that there are such files.
	SignalAsync(k *Kernel)
	AsyncReady() bool
	AsyncFDs(fds []host.PollFD) []host.PollFD
	HasAsync() bool
	Close() error
}

// An IPC is what this package asks of System V IPC.
type IPC interface {
	// ProcessEnded is told that p has ended.
	ProcessEnded(p *Process)
	Close()
}

// An Exit says how the program ended.
type Exit struct {
	// Code is its exit status, valid if Signal is 0.
	Code int
	// Signal is the signal that killed it.
	Signal int
	// Fault is the fault that led to the signal, at RIP, if there was one.
	Fault *emu.Fault
	RIP   emu.Addr
	// Interrupted says that the context ended before the program did.
	Interrupted bool
	// Limit says that MaxInsns were executed.
	Limit bool
	// Deadlock says that no thread could ever run again.
	Deadlock bool
	// Abandoned says that the run ended without it: the first process was gone, and this one waited.
	Abandoned bool
}

// Status is the exit status of cgemu for e: 128+n for signal n, as shells have it.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + e.Signal
	}
	return e.Code
}

// NewKernel makes a kernel without processes, whose subsystems are still to be set.
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
		reported: map[uint64]bool{}, Refusals: map[refusal]uint64{},
	}
	if cfg.Compat {
		k.UID, k.GID = host.User()
	}
	k.Clock.init(cfg.RealTime, cfg.Epoch)
	k.RNG.seed(cfg.Seed)
	k.Scheduler.init(cfg.SchedSeed, cfg.Quantum)
	return k
}

// FirstThread makes the first process, which may have MaxFiles descriptors, and its thread, which has files.
func (k *Kernel) FirstThread(files FileState, maxFiles rlimit) (*Thread, error) {
	m, err := k.Spaces.New()
	if err != nil {
		return nil, err
	}
	p := newProcess(k)
	p.Limits[linux.RLIMIT_NOFILE] = maxFiles
	first := &Machine{mem: m, owner: p}
	p.useMachine(first)
	k.addresses = first.addresses()
	k.Processes, k.First = append(k.Processes, p), p
	p.PGID, p.SID, p.Tty = p.PID, p.PID, &k.Console
	k.Console = Terminal{SID: p.SID, PGID: p.PGID}
	t := p.NewThread(emu.NewCPU())
	t.Files = files
	return t, nil
}

// Start makes t, the first thread of all, run a program.
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

// Close frees address spaces, engines and files.
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
	k.Processes, k.unusedMachines = nil, nil
	errs = append(errs, k.FS.Close())
	return errors.Join(errs...)
}

// Logf reports something to the user, in one line.
func (k *Kernel) Logf(format string, args ...any) {
	fmt.Fprintf(k.Config.Log, "cgemu: "+format+"\n", args...)
}

// CPUID answers CPUID for the guest's CPU model.
func (k *Kernel) CPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32) {
	if k.Config.CPUID == nil {
		return 0, 0, 0, 0
	}
	return k.Config.CPUID(leaf, subleaf)
}

// TSC implements emu.Env: one tick is a nanosecond of the virtual clock.
func (k *Kernel) TSC() uint64 { return uint64(k.Now()) }

// Random implements emu.Env.
func (k *Kernel) Random() uint64 { return k.RNG.uint64() }

// What uname(2) says of the virtual machine. The release is one that has every
// call in the table that glibc asks for by version.
const (
	UnameRelease = "6.12.0-cgemu"
	UnameVersion = "#1 SMP cgemu"
)

// MemTotal is the virtual machine's memory; half of it is free.
const MemTotal = 8 << 30
