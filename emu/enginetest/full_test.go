//go:build linux && amd64 && oracles

package enginetest

const full = true
