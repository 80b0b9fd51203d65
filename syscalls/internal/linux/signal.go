package linux

import (
	"fmt"
	"strings"
)

// Values of si_code for SIGCHLD.
const (
	CLD_EXITED    = 1
	CLD_KILLED    = 2
	CLD_STOPPED   = 5
	CLD_CONTINUED = 6
)

// How rt_sigprocmask(2) changes the mask.
const (
	SIG_BLOCK   = 0
	SIG_UNBLOCK = 1
	SIG_SETMASK = 2
)

// Flags of sigaltstack(2).
const (
	SS_ONSTACK    = 1
	SS_DISABLE    = 2
	SS_AUTODISARM = 1 << 31
)

// Values of si_code for SIGIO, and what si_band has then (fs/fcntl.c, band_table).
const (
	POLL_IN  = 1
	POLL_OUT = 2
	POLL_ERR = 4
	POLL_PRI = 5
	POLL_HUP = 6
	SI_SIGIO = -5
)

// Signals (arch/x86/include/uapi/asm/signal.h).
const (
	SIGHUP    = 1
	SIGINT    = 2
	SIGQUIT   = 3
	SIGILL    = 4
	SIGTRAP   = 5
	SIGABRT   = 6
	SIGBUS    = 7
	SIGFPE    = 8
	SIGKILL   = 9
	SIGUSR1   = 10
	SIGSEGV   = 11
	SIGUSR2   = 12
	SIGPIPE   = 13
	SIGALRM   = 14
	SIGTERM   = 15
	SIGSTKFLT = 16
	SIGCHLD   = 17
	SIGCONT   = 18
	SIGSTOP   = 19
	SIGTSTP   = 20
	SIGTTIN   = 21
	SIGTTOU   = 22
	SIGURG    = 23
	SIGXCPU   = 24
	SIGXFSZ   = 25
	SIGVTALRM = 26
	SIGPROF   = 27
	SIGWINCH  = 28
	SIGIO     = 29
	SIGPWR    = 30
	SIGSYS    = 31
	SIGRTMIN  = 32
	NSIG      = 64
)

// Flags of a signal action.
const (
	SA_NOCLDSTOP = 1
	SA_NOCLDWAIT = 2
	SA_SIGINFO   = 4
	SA_ONSTACK   = 0x08000000
	SA_RESTART   = 0x10000000
	SA_NODEFER   = 0x40000000
	SA_RESETHAND = 0x80000000
	SA_RESTORER  = 0x04000000
	// SA_EXPOSE_TAGBITS does nothing on x86-64, but rt_sigaction(2) knows it.
	SA_EXPOSE_TAGBITS = 0x800
	// UAPI_SA_FLAGS are the flags that rt_sigaction(2) keeps.
	UAPI_SA_FLAGS = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND | SA_EXPOSE_TAGBITS | SA_RESTORER
)

// Handlers that are no addresses.
const (
	SIG_DFL = 0
	SIG_IGN = 1
)

// Values of si_code.
const (
	SI_USER   = 0
	SI_KERNEL = 0x80
	SI_QUEUE  = -1
	SI_TIMER  = -2
	SI_TKILL  = -6

	ILL_ILLOPN  = 2
	FPE_INTDIV  = 1
	FPE_FLTDIV  = 3
	FPE_FLTOVF  = 4
	FPE_FLTUND  = 5
	FPE_FLTRES  = 6
	FPE_FLTINV  = 7
	SEGV_MAPERR = 1
	SEGV_ACCERR = 2
	BUS_ADRALN  = 1
	BUS_ADRERR  = 2
	TRAP_BRKPT  = 1
	TRAP_TRACE  = 2
)

// Ways of notification in struct sigevent.
const (
	SIGEV_SIGNAL    = 0
	SIGEV_NONE      = 1
	SIGEV_THREAD_ID = 4
)

// signalNames are the standard signals from 1 on.
var signalNames = strings.Fields("HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS")

// SignalName is the name of a signal.
func SignalName(sig int) string {
	switch {
	case sig >= 1 && sig <= len(signalNames):
		return "SIG" + signalNames[sig-1]
	case sig == SIGRTMIN:
		return "SIGRTMIN"
	case sig > SIGRTMIN && sig <= NSIG:
		return fmt.Sprintf("SIGRT_%d", sig-SIGRTMIN)
	}
	return fmt.Sprint(sig)
}
