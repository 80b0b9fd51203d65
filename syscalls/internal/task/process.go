package task

import (
	"path"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A Process is an address space, and the threads that share it.
type Process struct {
	Kernel *Kernel
	PID    int
	// Mem and engine are those of machine. They stay when the process is gone.
	Mem     *mem.Space
	memory  *uio.Memory // the same, for all its threads
	Engine  emu.Engine
	Machine *Machine
	// Program is what execve loaded last; exe, argv, envv, name describe it in /proc.
	Program *loader.Program
	Exe     string
	Argv    []string
	Envv    []string
	Threads []*Thread // in order of creation
	family
	jobState

	Signals   *sigTable
	Pending   SigQueue // for any thread
	Signalled uint64   // how many signals were queued, for signalfds
	itimers   [3]itimer
	Posix     map[uint64]*PosixTimer
	NextTimer uint64
	Limits    [linux.RLIM_NLIMITS]rlimit
	dumpable  uint64
	Subreaper uint64
	NoNewPriv uint64
	Persona   uint32 // personality(2)
	OomAdj    int    // /proc/PID/oom_score_adj
	// Membarrier are the commands of membarrier(2) that it registered for.
	Membarrier int
	// LockFuture says that memory is locked when it is mapped (mlockall(2)).
	LockFuture bool
	thpOff     uint64
	// Exited is set when the process is going away: its threads run no more. It
	// ended with status.
	Exited bool
	Status Exit
	// Started is when it was made.
	Started int64
	// used is the user time that is accounted for, system the system time.
	used, System int64
	// WaitedFor is the CPU time of children that were waited for.
	WaitedFor Usage
	clocked   chargedThread
	// cpuLimit acts on RLIMIT_CPU.
	cpuLimit Timer
}

// A FileState is what a thread has of files.
type FileState interface {
	// Share returns what a thread has that clone(2) makes with flags.
	Share(flags uint64) FileState
	// Exec drops what execve(2) closes.
	Exec(k *Kernel)
	// EndCall drops what the thread's system call had: it is over.
	EndCall(k *Kernel)
	// Leave drops all: the thread has ended.
	Leave(k *Kernel)
}

// A Thread is a flow of execution.
type Thread struct {
	Process *Process
	Kernel  *Kernel
	CPU     *emu.CPU
	TID     int

	*uio.Memory // the process'
	Files       FileState

	Comm     string
	Mask     SigSet
	OldMask  *SigSet // to be restored after sigsuspend and ppoll
	Pending  SigQueue
	Altstack altStack
	// Of the last fault, for signal frames.
	trapNo, errCode, cr2 uint64

	RobustList            uint64
	ClearTID              emu.Addr
	Pdeathsig, timerSlack uint64
	defaultSlack          uint64 // what setting timerSlack to 0 makes of it
	KeepCaps              uint64 // PR_SET_KEEPCAPS
	Sched                 scheduling

	Dead bool
	Call Call
	// What a thread waiting in futex(2) waits for.
	futexKeys      []FutexKey
	FutexBits      uint32
	lockAddr       emu.Addr // of the lock that it is to have
	FutexRequeueTo FutexKey // and its key, for FUTEX_WAIT_REQUEUE_PI
	// futexWoken is which of futexAt woke it.
	futexWoken int
	// inCall says that RAX has the result of call, which may ask for a restart.
	inCall bool
	// Calls counts system calls since the thread was scheduled: a thread that makes many
	// without using its quantum has to let others run, too.
	Calls int
	// callsSinceWait grows while it does not wait, woke says that its last call woke another thread (minBusy).
	callsSinceWait int
	wokeOther      bool
	// used is the user time that is accounted for, system the system time.
	used, system int64
}

func newProcess(k *Kernel) *Process {
	p := &Process{
		Kernel: k, PID: k.NewID(), memory: &uio.Memory{}, Signals: &sigTable{}, dumpable: 1,
		Posix: map[uint64]*PosixTimer{},
	}
	p.exitSignal, p.Started = linux.SIGCHLD, k.Now()
	p.Limits = defaultLimits
	return p
}

// Ids of processes and threads (kernel/pid.c).
const (
	MaxID      = 32768 // /proc/sys/kernel/pid_max, which no id reaches
	ReservedID = 300   // behind the last id comes this one
)

// NewID returns an id for a new process or thread: the next that nobody has.
func (k *Kernel) NewID() int {
	k.IDs++
	for {
		if k.LastID++; k.LastID >= MaxID {
			k.LastID = ReservedID
		}
		if !k.usesID(k.LastID) {
			return k.LastID
		}
	}
}

// usesID reports whether id is a thread's, or that of a process, a group or a session.
func (k *Kernel) usesID(id int) bool {
	if k.Threads[id] != nil || Absent(id) {
		return true
	}
	return slices.ContainsFunc(k.Processes, func(p *Process) bool { return p.PID == id || p.PGID == id || p.SID == id })
}

// NewThread adds a thread that runs on c, and has no files yet. The first thread's id is its process'.
func (p *Process) NewThread(c *emu.CPU) *Thread {
	tid := p.PID
	if len(p.Threads) > 0 {
		tid = p.Kernel.NewID()
	}
	t := &Thread{Process: p, Kernel: p.Kernel, Memory: p.memory, CPU: c, TID: tid, timerSlack: 50_000, defaultSlack: 50_000}
	if len(p.Threads) > 0 {
		t.Altstack.flags = linux.SS_DISABLE
	}
	p.Threads = append(p.Threads, t)
	p.Kernel.Threads[tid] = t
	return t
}

// removeThread drops t, which has ended. The first thread stays with its process: it has the process' names.
func (p *Process) removeThread(t *Thread) {
	delete(p.Kernel.Threads, t.TID)
	if i := slices.Index(p.Threads, t); i > 0 {
		p.Threads = slices.Delete(p.Threads, i, i+1)
	}
}

// Exec replaces p's program; t is its only thread. The old address space must be empty.
func (p *Process) Exec(t *Thread, x *loader.Executable, envv []string) error {
	o := loader.Options{
		Compat: p.Kernel.Config.Compat, HWCap: p.Kernel.Config.HWCap,
		UID: uint64(p.Kernel.UID), GID: uint64(p.Kernel.GID), StackSize: p.StackSize(), HeapBehind: p.Persona&linux.ADDR_NO_RANDOMIZE != 0,
	}
	p.Kernel.RNG.Read(o.Random[:])
	if o.Compat {
		o.HostAuxv = loader.ParseAuxv(host.Auxv())
	}
	prog, err := x.Load(p.Mem, envv, o)
	if err != nil {
		return err
	}
	p.Program, p.Exe = prog, x.Path()
	p.Persona &^= linux.READ_IMPLIES_EXEC
	p.Argv, p.Envv = prog.Argv, envv
	p.Machine.Brk = prog.Brk
	fp := t.CPU.FP
	*t.CPU = emu.CPU{Flags: emu.FlagR1 | emu.FlagIF, FP: fp, RIP: prog.Entry}
	fp.Reset()
	t.CPU.Regs[emu.RSP] = uint64(prog.Stack)
	t.SetComm(path.Base(x.Name()))
	if p.Kernel.Config.OnExec != nil {
		p.Kernel.Config.OnExec(p.Engine, prog)
	}
	return nil
}

// StackSize is the main thread's stack's size: the soft limit, within reason.
func (p *Process) StackSize() uint64 {
	return min(max(p.Limits[linux.RLIMIT_STACK].Cur, 128<<10), 1<<30)
}

// SetComm sets the thread's name, at most 15 bytes (TASK_COMM_LEN).
func (t *Thread) SetComm(s string) {
	if len(s) > 15 {
		s = s[:15]
	}
	t.Comm = s
}

// Vmas are p's mappings: none when it has ended.
func (p *Process) Vmas() []mem.VMA {
	if p.Exited || p.Machine == nil {
		return nil
	}
	return p.Mem.VMAs()
}

// Live is how many threads p has. A process that has ended shows its main thread.
func (p *Process) Live() int {
	n := len(p.Threads)
	if p.Threads[0].Dead {
		n--
	}
	return max(n, 1)
}

// Cmdline joins strings as /proc/self/cmdline and environ have them.
func Cmdline(list []string) []byte {
	if len(list) == 0 {
		return nil
	}
	return []byte(strings.Join(list, "\x00") + "\x00")
}

// Thread finds a live thread of p.
func (p *Process) Thread(tid int) *Thread {
	if t := p.Kernel.Threads[tid]; t != nil && t.Process == p {
		return t
	}
	return nil
}

// FindThread finds a live thread by tid; tgid, if not -1, must be its process.
func (k *Kernel) FindThread(tgid, tid int) *Thread {
	t := k.Threads[tid]
	if t == nil || tgid != -1 && tgid != t.Process.PID {
		return nil
	}
	return t
}
