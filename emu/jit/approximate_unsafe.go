//go:build linux && amd64

package jit

import "unsafe"

// tableAddr returns the host address of a table, which nobody may forget.
func tableAddr(t *[2 * intervals]uint16) uint64 { return uint64(uintptr(unsafe.Pointer(t))) }
