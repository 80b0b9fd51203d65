//go:build !oracles && linux && amd64

package jit

// oracles says that the tests ask other programs, and that a missing one is a failure.
const oracles = false
