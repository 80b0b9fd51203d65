//go:build linux && amd64 && !cgo && !unicorn

package sandbox

// errThreads says why not all threads can be restricted at once, nil if they can: the runtime has made them all.
var errThreads error
