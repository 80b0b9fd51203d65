//go:build linux && amd64 && (cgo || unicorn)

package sandbox

import "errors"

// errThreads says why not all threads can be restricted at once: C has threads that the Go runtime does not know
// (syscall.AllThreadsSyscall).
var errThreads = errors.New("this cgemu is built with cgo or with the engine unicorn, so it does not know all its threads; CGO_ENABLED=0 go build makes one that does")
