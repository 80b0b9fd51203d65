package mem

import (
	"runtime/debug"
	"unsafe"

	"github.com/cgemu/cgemu/emu"
)

// hostSlice makes a slice of n bytes at host address base+a.
func hostSlice(base uintptr, a emu.Addr, n uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), base+uintptr(a))), n)
}

// copyCareful copies src to dst and returns how much of it the host let us copy:
// pages of a file mapping behind the file's end cannot be touched (SIGBUS).
func copyCareful(dst, src []byte) (n int) {
	const chunk = 4096
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if _, isFault := r.(interface{ Addr() uintptr }); !isFault {
				panic(r)
			}
		}
	}()
	if len(src) <= chunk {
		m := copy(dst, src)
		n = m
		return n
	}
	for n < len(src) {
		n += copy(dst[n:], src[n:min(n+chunk, len(src))])
	}
	return n
}
