//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// What enterNative and the signal handler share.
//
//lint:ignore U1000 native_amd64.s uses them
var nativeCurrent, nativeSP, nativeBP, nativeFS uintptr

// nativeAreas are where the host's CPU has opmask, zmm and high zmm registers in XSAVE's standard format, 0 without
// AVX-512.
//
//lint:ignore U1000 native_amd64.s uses them
var nativeAreas [3]uintptr

func init() {
	const atHWCAP2, fsgsbase = 26, 2
	auxv, _ := os.ReadFile("/proc/self/auxv")
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.NativeEndian.Uint64(auxv) == atHWCAP2 {
			userSetsBases = binary.NativeEndian.Uint64(auxv[8:])&fsgsbase != 0
			return
		}
	}
	userSetsBases = false // kernels before 4.9 do not say
}

// hostArea returns where the host's CPU has a component of XSAVE, 0 if it has not.
func hostArea(component uint32) uintptr

// goHandlers are Go's handlers, by signal number.
var goHandlers [65]uintptr

//go:noescape
func enterNative(s *nativeState)

func nativeHandlerPC() uintptr
func nativeRestorerPC() uintptr

// A sigaction is the kernel's struct of that name (rt_sigaction(2)).
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// takeSignals puts nativeHandler in front of Go's handlers.
func takeSignals() error {
	const saSiginfo, saOnstack, saRestorer = 0x4, 0x08000000, 0x04000000
	for _, sig := range []syscall.Signal{
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
	} {
		var old sigaction
		act := sigaction{
			handler: nativeHandlerPC(), flags: saSiginfo | saOnstack | saRestorer,
			restorer: nativeRestorerPC(), mask: ^uint64(0),
		}
		for _, p := range [2][2]unsafe.Pointer{{nil, unsafe.Pointer(&old)}, {unsafe.Pointer(&act), nil}} {
			_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(p[0]), uintptr(p[1]), 8, 0, 0)
			if e != 0 {
				return fmt.Errorf("enginetest: sigaction %v: %w", sig, e)
			}
			goHandlers[sig] = old.handler
		}
	}
	return nil
}

// memory returns the n bytes at a host address outside Go's heap.
func memory(addr uintptr, n int) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), n)
}

// stateAt returns the state at the start of b, which must be aligned to 64 bytes.
func stateAt(b []byte) *nativeState { return (*nativeState)(unsafe.Pointer(&b[0])) }

// mapFixed maps length bytes at exactly addr, where nothing may lie.
func mapFixed(addr, length uintptr, prot, flags, fd int, off uintptr) error {
	const fixedNoReplace = 0x100000
	p, _, e := syscall.Syscall6(syscall.SYS_MMAP, addr, length, uintptr(prot), uintptr(flags|fixedNoReplace), uintptr(fd), off)
	if e != 0 || p != addr {
		return fmt.Errorf("enginetest: mapping %#x: %w", addr, e)
	}
	return nil
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
