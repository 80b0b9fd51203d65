//go:build unix && !linux

package store

// forget leaves pages to the kernel, which takes them back when it needs them.
func forget([]byte) {}
