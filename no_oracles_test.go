//go:build !oracles && linux && amd64

package cgemu_test

// oracles says that a missing compiler or program is a failure.
const oracles = false
