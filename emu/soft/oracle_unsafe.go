//go:build hostcpu && amd64

package soft

import "unsafe"

// aligned returns 512 bytes at an address that is a multiple of 16.
func (img *fxImage) aligned() *[512]byte {
	off := -uintptr(unsafe.Pointer(img)) & 15
	return (*[512]byte)(img.space[off:])
}

// addressOf returns where page lies, which the garbage collector does not move.
func addressOf(page []byte) uintptr { return uintptr(unsafe.Pointer(&page[0])) }
