package emu

import "unsafe"

// newXState allocates an XState on the 64-byte boundary that XSAVE and XRSTOR require.
func newXState() *XState {
	buf := make([]byte, XStateSize+63)
	off := -uintptr(unsafe.Pointer(&buf[0])) & 63
	return (*XState)(unsafe.Pointer(&buf[off]))
}
