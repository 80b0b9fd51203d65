package syscalls

import (
	"path"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Process is an address space, and the threads that share it.
type Process struct {
	k   *Kernel
	pid int
	// mem and engine are those of machine. They stay when the process is gone.
	mem     *mem.Space
	memory  *memory // the same, for all its threads
	engine  emu.Engine
	machine *machine
	// program is what execve loaded last; exe, argv, envv, name describe it in /proc.
	program *loader.Program
	exe     string
	argv    []string
	envv    []string
	threads []*Thread // in order of creation
	family
	halt

	signals   *sigTable
	pending   sigQueue // for any thread
	signalled uint64   // how many signals were queued, for signalfds
	itimers   [3]itimer
	posix     map[uint64]*posixTimer
	nextTimer uint64
	limits    [linux.RLIM_NLIMITS]rlimit
	dumpable  uint64
	subreaper uint64
	noNewPriv uint64
	persona   uint32 // personality(2)
	oomAdj    int    // /proc/PID/oom_score_adj
	// membarrier are the commands of membarrier(2) that it registered for.
	membarrier int
	// lockFuture says that memory is locked when it is mapped (mlockall(2)).
	lockFuture bool
	thpOff     uint64
	// exited is set when the process is going away: its threads run no more. It
	// ended with status.
	exited bool
	status Exit
	// started is when it was made.
	started int64
	// used is the user time that is accounted for, system the system time.
	used, system int64
	// waitedFor is the CPU time of children that were waited for.
	waitedFor usage
	clocked   clocked
	// cpuLimit acts on RLIMIT_CPU.
	cpuLimit timer
}

// A fileState is what a thread has of files.
type fileState interface {
	// share returns what a thread has that clone(2) makes with flags.
	share(flags uint64) fileState
	// exec drops what execve(2) closes.
	exec(k *Kernel)
	// endCall drops what the thread's system call had: it is over.
	endCall(k *Kernel)
	// leave drops all: the thread has ended.
	leave(k *Kernel)
}

// A Thread is a flow of execution.
type Thread struct {
	p   *Process
	k   *Kernel
	cpu *emu.CPU
	tid int

	*memory // the process'
	files   fileState

	comm     string
	mask     sigSet
	oldMask  *sigSet // to be restored after sigsuspend and ppoll
	pending  sigQueue
	altstack altStack
	// Of the last fault, for signal frames.
	trapNo, errCode, cr2 uint64

	robustList            uint64
	clearTID              emu.Addr
	pdeathsig, timerSlack uint64
	defaultSlack          uint64 // what setting timerSlack to 0 makes of it
	keepCaps              uint64 // PR_SET_KEEPCAPS
	sched                 scheduling

	dead bool
	call call
	// What a thread waiting in futex(2) waits for.
	futexAt   []futexKey
	futexBits uint32
	futexWord emu.Addr // of the lock that it is to have
	futexTo   futexKey // and its key, for FUTEX_WAIT_REQUEUE_PI
	// futexWoken is which of futexAt woke it.
	futexWoken int
	// inCall says that RAX has the result of call, which may ask for a restart.
	inCall bool
	// calls counts system calls since the thread was scheduled: a thread that makes many
	// without using its quantum has to let others run, too.
	calls int
	// busy grows while it does not wait, woke says that its last call woke another thread (minBusy).
	busy int
	woke bool
	// used is the user time that is accounted for, system the system time.
	used, system int64
}

// A call is the system call a thread is in.
type call struct {
	nr   uint64
	args Args
	// wait is what it waits for, resume how it goes on then.
	wait   *wait
	resume func() (uint64, linux.Errno)
	// again says that the call has waited; woken why it goes on.
	again bool
	woken wakeReason
	// step is Kernel.steps when it went on last.
	step uint64
	// deadline is when it ends, done and messages how far it is: bytes, and messages before those.
	deadline int64
	done     uint64
	messages uint64
}

func newProcess(k *Kernel) *Process {
	p := &Process{
		k: k, pid: k.newID(), memory: &memory{}, signals: &sigTable{}, dumpable: 1,
		posix: map[uint64]*posixTimer{},
	}
	p.exitSignal, p.started = linux.SIGCHLD, k.now()
	p.limits = defaultLimits
	return p
}

// Ids of processes and threads (kernel/pid.c).
const (
	maxID      = 32768 // /proc/sys/kernel/pid_max, which no id reaches
	reservedID = 300   // behind the last id comes this one
)

// newID returns an id for a new process or thread: the next that nobody has.
func (k *Kernel) newID() int {
	k.ids++
	for {
		if k.lastID++; k.lastID >= maxID {
			k.lastID = reservedID
		}
		if !k.usesID(k.lastID) {
			return k.lastID
		}
	}
}

// usesID reports whether id is a thread's, or that of a process, a group or a session.
func (k *Kernel) usesID(id int) bool {
	if k.threads[id] != nil || absent(id) {
		return true
	}
	return slices.ContainsFunc(k.procs, func(p *Process) bool { return p.pid == id || p.pgid == id || p.sid == id })
}

// newThread adds a thread that runs on c, and has no files yet. The first thread's id is its process'.
func (p *Process) newThread(c *emu.CPU) *Thread {
	tid := p.pid
	if len(p.threads) > 0 {
		tid = p.k.newID()
	}
	t := &Thread{p: p, k: p.k, memory: p.memory, cpu: c, tid: tid, timerSlack: 50_000, defaultSlack: 50_000}
	if len(p.threads) > 0 {
		t.altstack.flags = linux.SS_DISABLE
	}
	p.threads = append(p.threads, t)
	p.k.threads[tid] = t
	return t
}

// forget drops t, which has ended. The first thread stays with its process: it has the process' names.
func (p *Process) forget(t *Thread) {
	delete(p.k.threads, t.tid)
	if i := slices.Index(p.threads, t); i > 0 {
		p.threads = slices.Delete(p.threads, i, i+1)
	}
}

// exec replaces p's program; t is its only thread. The old address space must be empty.
func (p *Process) exec(t *Thread, x *loader.Executable, envv []string) error {
	o := loader.Options{
		Compat: p.k.cfg.Compat, HWCap: p.k.cfg.HWCap,
		UID: uint64(p.k.uid), GID: uint64(p.k.gid), StackSize: p.stackSize(), HeapBehind: p.persona&linux.ADDR_NO_RANDOMIZE != 0,
	}
	p.k.rng.read(o.Random[:])
	if o.Compat {
		o.HostAuxv = loader.ParseAuxv(hostAuxv())
	}
	prog, err := x.Load(p.mem, envv, o)
	if err != nil {
		return err
	}
	p.program, p.exe = prog, x.Path()
	p.persona &^= linux.READ_IMPLIES_EXEC
	p.argv, p.envv = prog.Argv, envv
	p.machine.brk = prog.Brk
	fp := t.cpu.FP
	*t.cpu = emu.CPU{Flags: emu.FlagR1 | emu.FlagIF, FP: fp, RIP: prog.Entry}
	fp.Reset()
	t.cpu.Regs[emu.RSP] = uint64(prog.Stack)
	t.setComm(path.Base(x.Name()))
	if p.k.cfg.OnExec != nil {
		p.k.cfg.OnExec(p.engine, prog)
	}
	return nil
}

// stackSize is the main thread's stack's size: the soft limit, within reason.
func (p *Process) stackSize() uint64 {
	return min(max(p.limits[linux.RLIMIT_STACK].cur, 128<<10), 1<<30)
}

// setComm sets the thread's name, at most 15 bytes (TASK_COMM_LEN).
func (t *Thread) setComm(s string) {
	if len(s) > 15 {
		s = s[:15]
	}
	t.comm = s
}
