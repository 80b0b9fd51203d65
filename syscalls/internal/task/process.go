package task

import (
	"path"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A Process is an address space, a table of signal actions and limits, and the threads that share them. One that has
// ended is a zombie, with its first thread, until its parent has waited for it.
type Process struct {
	Kernel *Kernel
	PID    int
	// Machine is what the process runs on, nil when it has ended. Mem, memory.Space and Engine are always those of the
	// machine; they stay behind when it is gone, for what is reported of the process.
	Machine *Machine
	Mem     *mem.Space
	memory  *uio.Memory // that of all its threads
	Engine  emu.Engine
	// Program is what execve(2) loaded last. Exe describes its file in /proc, whose number is ExeIno; Argv and Envv are
	// what it began with.
	Program *loader.Program
	Exe     string
	ExeIno  uint64
	Argv    []string
	Envv    []string
	// Threads are in order of creation. Threads[0] stays when it has ended (it is Dead then), since /proc/PID is about
	// it.
	Threads []*Thread
	family
	jobState

	// Signals are the actions of signals. Processes made with CLONE_SIGHAND have one table in common.
	Signals *sigTable
	// Pending are signals sent to the process: any thread that does not block them takes them.
	Pending SigQueue
	// Signalled is how many signals were ever queued to the process or its threads. Signalfds wake when it grows.
	Signalled uint64
	itimers   [3]itimer
	// Posix are the timers of timer_create(2), by id; NextTimer is the id of the next.
	Posix     map[uint64]*PosixTimer
	NextTimer uint64
	Limits    [linux.RLIM_NLIMITS]rlimit // by RLIMIT_*
	// What prctl(2) sets: PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_SET_THP_DISABLE.
	dumpable, Subreaper, NoNewPriv, thpOff uint64
	Persona                                uint32 // personality(2)
	OomScoreAdj                            int    // /proc/PID/oom_score_adj
	CoreFilter                             uint32 // /proc/PID/coredump_filter
	// Membarrier are the commands of membarrier(2) that it has registered for.
	Membarrier int
	// LockFuture says that memory is locked when it is mapped (mlockall(2), MCL_FUTURE).
	LockFuture bool

	// Exited says that the process has ended: its threads run no more, and Status says how.
	Exited bool
	Status Exit
	// Started is when the process was made, on Now's clock.
	Started int64
	// used is the user time charged so far, System the system time. UserTime adds what the machine has executed since.
	used, System int64
	// WaitedFor is the CPU time of the children that were waited for, and of those that they had waited for.
	WaitedFor Usage
	// chargedThread is the thread that user time goes to, once somebody asks for threads' times.
	chargedThread chargedThread
	// cpuLimit acts on RLIMIT_CPU.
	cpuLimit Timer
}

// A FileState is what a thread has of files: package files implements it.
type FileState interface {
	// Share returns the state of a new thread or process that clone(2) makes with flags: shared or copied.
	Share(flags uint64) FileState
	// Exec closes what execve(2) closes.
	Exec(k *Kernel)
	// AtLimit reports whether the thread's system call met a limit of the guest's own, and not the host's.
	AtLimit() bool
	// EndCall lets go of the files that the thread's system call has held. The call is over.
	EndCall(k *Kernel)
	// Leave lets go of everything. The thread has ended.
	Leave(k *Kernel)
}

// A Thread is a thread of the guest: its registers, its signal mask, and the system call that it is in.
type Thread struct {
	Process *Process
	Kernel  *Kernel
	CPU     *emu.CPU
	TID     int

	*uio.Memory // the process'
	// Files is what the thread has of open files, the working directory and the umask.
	Files FileState

	// Comm is the thread's name in /proc: at most 15 bytes (SetComm).
	Comm string
	// Mask are the signals that the thread blocks. While a call like sigsuspend(2) has put another mask there, OldMask
	// is the one to be restored; otherwise it is nil.
	Mask    SigSet
	OldMask *SigSet
	// Pending are signals sent to this thread alone.
	Pending  SigQueue
	Altstack altStack
	// trapNo, errCode and cr2 are those of the last fault. Signal frames show them.
	trapNo, errCode, cr2 uint64

	RobustList uint64   // head of the list of set_robust_list(2)
	ClearTID   emu.Addr // where the thread's end is told (set_tid_address(2)), 0 for nowhere
	Pdeathsig  uint64   // PR_SET_PDEATHSIG
	// timerSlack is PR_SET_TIMERSLACK, defaultSlack what setting it to 0 gives: the slack of the creator.
	timerSlack, defaultSlack uint64
	KeepCaps                 uint64 // PR_SET_KEEPCAPS
	mceKill                  mcePolicy
	Sched                    scheduling

	// Dead says that the thread has ended: it never runs again.
	Dead bool
	// Call is the system call that the thread made last. It goes on while Call.Wait is set.
	Call Call
	// inCall says that RAX has the result of Call and the program has not seen it: on the way back (ReturnToUser) it
	// may still become EINTR or a restart.
	inCall bool

	// A thread in futex(2) is in the queues of futexKeys, and is woken by those who name one of FutexBits. futexWoken
	// is the index of the key that woke it. FutexRequeueTo is the PI lock that FUTEX_WAIT_REQUEUE_PI is to end with,
	// else zero; lockAddr is where the word of the lock lies that the thread waits for.
	futexKeys      []FutexKey
	FutexBits      uint32
	futexWoken     int
	FutexRequeueTo FutexKey
	lockAddr       emu.Addr

	// Calls is how many system calls the thread has made in this turn (schedule.calls).
	Calls int
	// callsSinceWait is how many it has made since it last waited, at least minCallsSinceWait after a full turn.
	// wokeOther says that the last one woke another thread by futex(2), wakes is how many did since it gave up a turn
	// for that, givenUp how often it has done so since it last waited.
	callsSinceWait, wakes, givenUp int
	wokeOther                      bool
	// used is the user time charged so far (see chargedThread), system the system time.
	used, system int64
}

func newProcess(k *Kernel) *Process {
	p := &Process{
		Kernel: k, PID: k.newID(), memory: &uio.Memory{}, Signals: &sigTable{}, dumpable: 1, CoreFilter: 0x33,
		Posix: map[uint64]*PosixTimer{},
	}
	p.exitSignal, p.Started = linux.SIGCHLD, k.Now()
	p.Limits = defaultLimits
	return p
}

// Ids of processes and threads come from one sequence (kernel/pid.c).
const (
	// maxID is /proc/sys/kernel/pid_max: every id is less.
	maxID = 32768
	// reservedID is the id that follows the last one.
	reservedID = 300
)

// newID returns an id for a new process or thread: the next one that nothing has.
func (k *Kernel) newID() int {
	k.IDs++
	for {
		if k.LastID++; k.LastID >= maxID {
			k.LastID = reservedID
		}
		if !k.usesID(k.LastID) {
			return k.LastID
		}
	}
}

// usesID reports whether id is a thread's, or that of a process, a group or a session.
func (k *Kernel) usesID(id int) bool {
	if k.Threads[id] != nil || Outside(id) {
		return true
	}
	return slices.ContainsFunc(k.Processes, func(p *Process) bool { return p.PID == id || p.PGID == id || p.SID == id })
}

// NewThread adds a thread that runs on c and has no files yet. The id of the first thread is its process' id.
func (p *Process) NewThread(c *emu.CPU) *Thread {
	tid := p.PID
	if len(p.Threads) > 0 {
		tid = p.Kernel.newID()
	}
	t := &Thread{Process: p, Kernel: p.Kernel, Memory: p.memory, CPU: c, TID: tid, timerSlack: 50_000, defaultSlack: 50_000}
	if len(p.Threads) > 0 {
		t.Altstack.flags = linux.SS_DISABLE
	}
	p.Threads = append(p.Threads, t)
	p.Kernel.Threads[tid] = t
	return t
}

// ended tells whom it concerns that t will not run again.
func (t *Thread) ended() {
	if told := t.Kernel.Config.OnThreadEnd; told != nil && t.Process.Engine != nil {
		told(t.Process.Engine, t.CPU)
	}
}

// removeThread takes t, which has ended, out of p. The first thread stays, as /proc/PID describes it.
func (p *Process) removeThread(t *Thread) {
	t.ended()
	delete(p.Kernel.Threads, t.TID)
	if i := slices.Index(p.Threads, t); i > 0 {
		p.Threads = slices.Delete(p.Threads, i, i+1)
	}
}

// Exec loads program x into p, whose only thread is t and whose address space must be empty.
func (p *Process) Exec(t *Thread, x *loader.Executable, envv []string) error {
	o := loader.Options{
		Compat: p.Kernel.Config.Compat, HWCap: p.Kernel.Config.HWCap,
		MinSigStack: minSigStackOf(t.CPU.FP),
		UID:         uint64(p.Kernel.UID), GID: uint64(p.Kernel.GID), StackSize: p.StackSize(), HeapBehind: p.Persona&linux.ADDR_NO_RANDOMIZE != 0,
	}
	p.Kernel.RNG.Read(o.Random[:])
	if o.Compat {
		o.HostAuxv = loader.ParseAuxv(host.Auxv())
	}
	prog, err := x.Load(p.Mem, envv, o)
	if err != nil {
		return err
	}
	p.Program, p.Exe, p.ExeIno = prog, x.Path(), x.Ino()
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

// StackSize is the size of the main thread's stack: RLIMIT_STACK, between 128 KiB and 1 GiB.
func (p *Process) StackSize() uint64 {
	return min(max(p.Limits[linux.RLIMIT_STACK].Cur, 128<<10), 1<<30)
}

// SetComm sets the thread's name. Linux keeps 15 bytes of it (TASK_COMM_LEN).
func (t *Thread) SetComm(s string) {
	if len(s) > 15 {
		s = s[:15]
	}
	t.Comm = s
}

// Vmas are p's mappings, none if p has ended.
func (p *Process) Vmas() []mem.VMA {
	if p.Exited || p.Machine == nil {
		return nil
	}
	return p.Mem.VMAs()
}

// Live is how many live threads p has. A zombie shows one, its main thread.
func (p *Process) Live() int {
	n := len(p.Threads)
	if p.Threads[0].Dead {
		n--
	}
	return max(n, 1)
}

// Thread finds a live thread of p, or nil.
func (p *Process) Thread(tid int) *Thread {
	if t := p.Kernel.Threads[tid]; t != nil && t.Process == p {
		return t
	}
	return nil
}

// Task is FindThread that also finds a first thread that has ended, as long as its process is there: a zombie.
func (k *Kernel) Task(tgid, tid int) *Thread {
	if t := k.FindThread(tgid, tid); t != nil {
		return t
	}
	if p := k.Process(tid); p != nil && (tgid == -1 || tgid == tid) {
		return p.Threads[0]
	}
	return nil
}

// FindThread finds a live thread by its id, or nil. It must be of process tgid, unless that is -1.
func (k *Kernel) FindThread(tgid, tid int) *Thread {
	t := k.Threads[tid]
	if t == nil || tgid != -1 && tgid != t.Process.PID {
		return nil
	}
	return t
}
