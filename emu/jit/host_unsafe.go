//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// fpAddr returns the host address of x, which does not move.
func fpAddr(x *emu.XState) uint64 { return uint64(uintptr(unsafe.Pointer(x))) }

// hwcap2 returns AT_HWCAP2. It comes from the process's start: /proc need not be there.
func hwcap2() uint64 {
	const atHWCAP2 = 26
	auxv, _ := unix.Auxv()
	for _, entry := range auxv {
		if entry[0] == atHWCAP2 {
			return uint64(entry[1])
		}
	}
	return 0
}

// hostIsIntel reports whether the host's CPU is Intel's.
func hostIsIntel() bool { return cpuVendor() == binary.LittleEndian.Uint32([]byte("Genu")) }

// Available says what this host lacks for the engine.
func Available() error {
	switch {
	case !mem.MapsFiles:
		return errors.New("engine jit: this build of cgemu does not have the host map files")
	case !cpu.X86.HasAVX2 || !cpu.X86.HasBMI2 || !cpu.X86.HasFMA || !cpu.X86.HasAES || !cpu.X86.HasPCLMULQDQ:
		return errors.New("engine jit: this host's CPU has no AVX2, BMI2, FMA, AES and PCLMULQDQ (x86-64-v3)")
	}
	return nil
}
