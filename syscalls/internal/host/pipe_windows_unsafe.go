//go:build windows

package host

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// peekPipe returns how many bytes can be read of a pipe, or by what error that can never be (PeekNamedPipe,
// learn.microsoft.com).
func peekPipe(h windows.Handle) (n uint32, err error) {
	ok, _, err := peekNamedPipe.Call(uintptr(h), 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
	if ok != 0 {
		err = nil
	}
	return n, err
}
