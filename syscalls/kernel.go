package syscalls

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
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Identities that are the same on every host.
const (
	DefaultPID     = 1000
	DefaultUID     = 1000
	DefaultGID     = 1000
	hostName       = "cgemu"
	defaultUmask   = 0o022
	defaultQuantum = 100_000
)

// DefaultEpoch is the virtual wall clock's time when a program starts.
var DefaultEpoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A KernelConfig says how programs run.
type KernelConfig struct {
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
	cfg     KernelConfig
	table   []entry
	procs   []*Process // in order of creation, zombies too
	first   *Process   // the run is over when it is, but for what others still do
	gone    []*machine // nothing runs on them any more
	spaces  mem.Group  // the address spaces of machines
	ready   []*Thread  // runnable, first come first served
	waiting []*Thread  // blocked, in order of blocking
	current *Thread
	timers  []*timer // armed, in order of arming
	running running
	// reapedTime is the user time of processes that are not in procs any more.
	reapedTime int64
	// console is the terminal that cgemu runs on.
	console terminal
	// firstEnd is when the first process ended.
	firstEnd int64
	clock    clock
	// uid and gid are the guest's user: Valgrind shows the host's.
	uid, gid uint32
	rng      generator
	sched    schedule
	trace    callTracer
	// formatCall shows the system call that t waits in, for messages.
	formatCall func(t *Thread) string
	futexes    map[futexKey][]*Thread
	owners     map[futexKey]*Thread // of the locks that threads wait for
	exit       *Exit
	// threads are those that live, by id; lastID is the last id that was given, ids how many were.
	threads map[int]*Thread
	lastID  int
	ids     uint64
	// reported has the numbers of unsupported calls already named.
	reported map[uint64]bool
	lacking  map[answer]uint64
	// interrupted is set by the goroutine that watches the context.
	interrupted atomic.Bool
	// steps counts what may make waiting threads ready: that one executed, and that time passed.
	steps uint64
	// addresses is what all machines take of the host's.
	addresses uint64
	// idleRounds counts how often time passed since a thread last ran.
	idleRounds  int
	nextVgStack uint64
	nextShared  uint64
	// The states of the subsystems above this one.
	fs  fileSubsystem
	ipc ipcSubsystem
	net any // of package net
	tty any // of package tty
	// progress tells how far the run is.
	progress progress
}

// A fileSubsystem is what this package asks of the one that has files.
type fileSubsystem interface {
	// lookOutside looks for what has come to files of the host whose owners are to be told by signals, news reports whether
	// something has, hostAsync appends to fds what to wait for until then, and watches says that there are such files.
	lookOutside(k *Kernel)
	news() bool
	hostAsync(fds []hostPoll) []hostPoll
	watches() bool
	close() error
}

// An ipcSubsystem is what this package asks of System V IPC.
type ipcSubsystem interface {
	// ended is told that p has ended.
	ended(p *Process)
	close()
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

// newKernel makes a kernel without processes, whose subsystems are still to be set.
func newKernel(cfg KernelConfig, table []entry) *Kernel {
	if cfg.Epoch.IsZero() {
		cfg.Epoch = DefaultEpoch
	}
	if cfg.CPUs <= 0 {
		cfg.CPUs = 1
	}
	if cfg.Quantum == 0 {
		cfg.Quantum = defaultQuantum
	}
	if cfg.Log == nil {
		cfg.Log = os.Stderr
	}
	if cfg.HWCap == 0 && cfg.CPUID != nil {
		_, _, _, edx := cfg.CPUID(1, 0)
		cfg.HWCap = uint64(edx)
	}
	k := &Kernel{
		cfg: cfg, table: table, threads: map[int]*Thread{}, lastID: DefaultPID - 1, uid: DefaultUID, gid: DefaultGID,
		futexes: map[futexKey][]*Thread{}, owners: map[futexKey]*Thread{},
		reported: map[uint64]bool{}, lacking: map[answer]uint64{},
	}
	if cfg.Compat {
		k.uid, k.gid = hostOwnUID()
	}
	k.clock.init(cfg.RealTime, cfg.Epoch)
	k.rng.seed(cfg.Seed)
	k.sched.init(cfg.SchedSeed, cfg.Quantum)
	return k
}

// firstThread makes the first process, which may have maxFiles descriptors, and its thread, which has files.
func (k *Kernel) firstThread(files fileState, maxFiles rlimit) (*Thread, error) {
	m, err := k.spaces.New()
	if err != nil {
		return nil, err
	}
	p := newProcess(k)
	p.limits[linux.RLIMIT_NOFILE] = maxFiles
	first := &machine{mem: m, owner: p}
	p.use(first)
	k.addresses = first.addresses()
	k.procs, k.first = append(k.procs, p), p
	p.pgid, p.sid, p.tty = p.pid, p.pid, &k.console
	k.console = terminal{sid: p.sid, pgid: p.pgid}
	t := p.newThread(emu.NewCPU())
	t.files = files
	return t, nil
}

// start makes t, the first thread of all, run a program.
func (k *Kernel) start(t *Thread, x *loader.Executable, env []string) error {
	p := t.p
	if err := p.exec(t, x, env); err != nil {
		return err
	}
	if k.cfg.NewEngine == nil {
		return errors.New("syscalls: Config.NewEngine is not set")
	}
	var err error
	if p.machine.engine, err = k.cfg.NewEngine(p.mem, k); err != nil {
		return err
	}
	p.use(p.machine)
	p.mem.OnInvalidate(p.engine.Invalidate)
	k.ready = append(k.ready, t)
	return nil
}

// Close frees address spaces, engines and files.
func (k *Kernel) Close() error {
	var errs []error
	for _, p := range k.procs {
		for _, t := range p.threads {
			t.files.leave(t.k)
		}
		if p.machine != nil {
			p.leave()
		}
	}
	for _, m := range k.gone {
		errs = append(errs, m.close(k))
	}
	k.ipc.close()
	k.procs, k.gone = nil, nil
	errs = append(errs, k.fs.close())
	return errors.Join(errs...)
}

// logf reports something to the user, in one line.
func (k *Kernel) logf(format string, args ...any) {
	fmt.Fprintf(k.cfg.Log, "cgemu: "+format+"\n", args...)
}

// CPUID answers CPUID for the guest's CPU model.
func (k *Kernel) CPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32) {
	if k.cfg.CPUID == nil {
		return 0, 0, 0, 0
	}
	return k.cfg.CPUID(leaf, subleaf)
}

// TSC implements emu.Env: one tick is a nanosecond of the virtual clock.
func (k *Kernel) TSC() uint64 { return uint64(k.now()) }

// Random implements emu.Env.
func (k *Kernel) Random() uint64 { return k.rng.uint64() }
