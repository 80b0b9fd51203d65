//go:build oracles

package syscalls_test

// oracles says that a missing compiler or program is a failure.
const oracles = true
