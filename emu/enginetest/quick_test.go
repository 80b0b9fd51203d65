//go:build !oracles

package enginetest

const full = false
