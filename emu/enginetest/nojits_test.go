//go:build !linux || !amd64

package enginetest

// engines are the engines to test.
var engines = interpreters
