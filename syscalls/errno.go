package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// Results a handler may give that the guest never sees.
const (
	// eBlocked says that the thread waits: see Thread.block.
	eBlocked linux.Errno = 600
	// eNoReturn says that registers are as they must be: sigreturn, execve, exit.
	eNoReturn linux.Errno = 601
)

// An Errno is the error of a system call, as callers of this package see it.
type Errno = linux.Errno
