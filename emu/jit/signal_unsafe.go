//go:build linux && amd64

package jit

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handlerState is the host address of the state block of the engine that runs, for
// sigHandler; 0 if none does. handlerStack is where the signal stack of the thread that runs it begins.
//
//lint:ignore U1000 sigHandler reads them
var handlerState, handlerStack uintptr

// goHandlers are the handlers sigHandler passes on to, by signal number: Go's.
var goHandlers [65]uintptr

// ours are the signals guest code can raise, and SIGPROF.
var ours = []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGPROF}

// A sigaction is the kernel's struct of that name (rt_sigaction(2)).
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	saSiginfo  = 0x4
	saOnstack  = 0x08000000
	saRestorer = 0x04000000
)

func enterCode(stub uintptr)
func setGSBase(base uintptr)
func serialize()

func cpuVendor() uint32
func sigHandlerPC() uintptr
func sigRestorerPC() uintptr

// The runtime cannot stop a goroutine in generated code, and a collection that
// wants to would hang until the guest makes a system call, with all other
// goroutines. So guest code runs as a system call does (RATIONALE.md, "Generated code and the
// Go runtime").

//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// enterGuest runs generated code from stub on, with GS base set.
//
//go:nosplit
func enterGuest(base, stub uintptr) {
	entersyscall()
	if hasFSGSBASE {
		setGSBase(base)
	}
	enterCode(stub)
	exitsyscall()
}

// getm returns what tells threads apart as long as they live.
//
//go:linkname getm runtime.getm
func getm() uintptr

// hasFSGSBASE says that user code may set the GS base, and that the kernel keeps it for the thread. Else the kernel
// sets it.
var hasFSGSBASE = hwcap2()&2 != 0

// A hostThread is one that runs guest code, and what it was made ready with.
type hostThread struct {
	m     uintptr // by getm
	armed bool    // whether armSignalStack succeeded
	// gsBase is what the kernel has for it, if user code may not set it; 0 if that is not known.
	gsBase uintptr
}

// lastThread is the thread that ran guest code last. Run holds running.
var lastThread hostThread

// prepareThread makes the calling thread, which is locked, ready to run guest code.
func prepareThread() {
	if m := getm(); m != lastThread.m {
		lastThread = hostThread{m: m}
	}
	if !lastThread.armed {
		lastThread.armed = armSignalStack()
	}
}

// giveGSBase has the kernel set the GS base of the calling thread, which prepareThread made ready, if user code may
// not.
func giveGSBase(base uintptr) error {
	const archSetGS = 0x1001
	if hasFSGSBASE || lastThread.gsBase == base {
		return nil
	}
	if _, _, e := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archSetGS, base, 0); e != 0 {
		return fmt.Errorf("a host without FSGSBASE where arch_prctl(ARCH_SET_GS) fails (%w); --engine=interp does without,", e)
	}
	lastThread.gsBase = base
	return nil
}

// takeSignals puts sigHandler in front of Go's handlers, once for the process. The runtime has set them when it began,
// that of SIGPROF too: a profile that begins later finds it set.
var takeSignals = sync.OnceValue(func() error {
	for _, sig := range ours {
		var old sigaction
		if err := rtSigaction(sig, nil, &old); err != nil {
			return err
		}
		goHandlers[sig] = old.handler
		act := sigaction{
			handler: sigHandlerPC(), flags: saSiginfo | saOnstack | saRestorer,
			restorer: sigRestorerPC(), mask: ^uint64(0),
		}
		if err := rtSigaction(sig, &act, nil); err != nil {
			return err
		}
	}
	return nil
})

func rtSigaction(sig unix.Signal, act, old *sigaction) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(act)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if e != 0 {
		return fmt.Errorf("jit: sigaction %v: %w", sig, e)
	}
	return nil
}

// A signalStack is the kernel's stack_t (sigaltstack(2)).
type signalStack struct {
	sp    uintptr
	flags int32
	size  uintptr
}

// armSignalStack has the kernel deliver signals to this thread at the start of its signal stack whatever RSP is, and
// reports whether it does. Otherwise the kernel takes a guest's RSP that lies within that stack, which Go allocates
// anywhere, for a handler that runs there, and writes the signal frame where the guest says, or ends the process. With
// SS_AUTODISARM (Linux 4.7) it does not look at RSP; in a handler the thread has no signal stack then, and Go's runtime
// does not ask for one as long as it finds itself on its own.
func armSignalStack() bool {
	const ssDisable, ssAutodisarm = 2, -1 << 31
	var st signalStack
	unix.RawSyscall(unix.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&st)), 0)
	handlerStack = st.sp
	if st.flags&ssDisable != 0 {
		return false
	}
	st.flags = ssAutodisarm
	_, _, e := unix.RawSyscall(unix.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(&st)), 0, 0)
	return e == 0
}
