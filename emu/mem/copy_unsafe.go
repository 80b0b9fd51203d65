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

// hostAddr is the host address of b's first byte.
func hostAddr(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// copyCareful copies src to dst and returns how much of it the host let us copy:
// pages of a file mapping behind the file's end cannot be touched (SIGBUS).
func copyCareful(dst, src []byte) int {
	n := len(src)
	for {
		fault, ok := tryCopy(dst, src[:n])
		if ok {
			return n
		}
		// Copying begins anywhere: what lies in front of the page that faulted is copied again.
		m := 0
		for _, b := range [2][]byte{dst, src} {
			if start := hostAddr(b); fault-start < uintptr(n) {
				m = max(0, int(fault&^(emu.PageSize-1))-int(start))
			}
		}
		if n = m; n == 0 {
			return 0
		}
	}
}

// tryCopy copies src to dst; if that faults it returns where.
func tryCopy(dst, src []byte) (fault uintptr, ok bool) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			at, isFault := r.(interface{ Addr() uintptr })
			if !isFault {
				panic(r)
			}
			fault = at.Addr()
		}
	}()
	copy(dst, src)
	return 0, true
}
