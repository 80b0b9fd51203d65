//go:build unix

package testhost

import (
	"os"
	"syscall"
)

// others are the signals that only some hosts have.
var others = []os.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM}

// settle does what Settle says of modes and limits.
func settle() {
	syscall.Umask(0o022)
	lower(syscall.RLIMIT_CORE, 0)
	lower(syscall.RLIMIT_STACK, 8<<20)
}

// lower makes a limit of resources n, if it is higher.
func lower(resource int, n uint64) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err == nil && uint64(l.Cur) > n {
		setLimit(&l.Cur, n)
		_ = syscall.Setrlimit(resource, &l) // what needs it fails, and says so
	}
}

// setLimit sets a limit, whose type is another one on some hosts.
func setLimit[T int64 | uint64](limit *T, n uint64) { *limit = T(n) }
