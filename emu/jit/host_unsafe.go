//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/cgemu/cgemu/emu"
)

// fpAddr returns the host address of x, which does not move.
func fpAddr(x *emu.XState) uint64 { return uint64(uintptr(unsafe.Pointer(x))) }

// hwcap2 returns AT_HWCAP2, or why it is not known. It is read once: later there may be no descriptor left.
var hwcap2 = sync.OnceValues(func() (uint64, error) {
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0, fmt.Errorf("engine jit: whether this host lets user code set the GS base: %w", err)
	}
	const atHWCAP2 = 26
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == atHWCAP2 {
			return binary.LittleEndian.Uint64(auxv[8:]), nil
		}
	}
	return 0, nil
})

// Available says what this host lacks for the engine.
func Available() error {
	switch {
	case !cpu.X86.HasAVX2 || !cpu.X86.HasBMI2 || !cpu.X86.HasFMA || !cpu.X86.HasAES || !cpu.X86.HasPCLMULQDQ:
		return errors.New("engine jit: this host's CPU has no AVX2, BMI2, FMA, AES and PCLMULQDQ (x86-64-v3)")
	}
	caps, err := hwcap2()
	if err == nil && caps&2 == 0 {
		return errors.New("engine jit: this host does not let user code set the GS base (FSGSBASE, Linux 5.9)")
	}
	return err
}
