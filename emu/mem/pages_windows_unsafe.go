//go:build windows

package mem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// queryPages tells what is at p, and how far it reaches.
func queryPages(p uintptr, info *windows.MemoryBasicInformation) error {
	return windows.VirtualQuery(p, info, unsafe.Sizeof(*info))
}
