//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/cgemu/cgemu/emu"
)

// Offsets in the file that parent and child share.
const (
	shCurrent = 0 // number of the job that runs
	shCode    = emu.PageSize
	shRO      = shCode + len(worlds)*codeSize
	shImages  = shRO + emu.PageSize
	shJobs    = shImages + numImages*dumpSize
	shDumps   = shJobs + maxJobs*jobSize
	shSize    = shDumps + maxJobs*dumpSize
	jobSize   = 2880
)

// wildAddr is the low half of what the states have for an address where nothing is: 32 bits of it are one, too.
const wildAddr = 0x41414141

// leaveFree begins the process anew if something is near an address: Linux puts the heap of the C library, which a test
// may have, anywhere in the GiB behind the program.
func leaveFree(a uintptr) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		var lo, hi uintptr
		if _, err := fmt.Sscanf(line, "%x-%x", &lo, &hi); err != nil {
			return fmt.Errorf("enginetest: /proc/self/maps: %w", err)
		}
		if near := uintptr(emu.PageSize); lo < a+near && hi > a-near {
			return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		}
	}
	return nil
}

// nativeChild runs jobs from the file of descriptor 3 as standard input asks, until its end.
func nativeChild() error {
	runtime.LockOSThread()
	if err := leaveFree(wildAddr); err != nil {
		return err
	}
	shared, err := syscall.Mmap(3, 0, shSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("enginetest: mapping the jobs: %w", err)
	}
	for i, w := range worlds {
		if err := mapWorld(i, uintptr(w)); err != nil {
			return err
		}
	}
	if err := takeSignals(); err != nil {
		return err
	}
	for i := range nativeAreas {
		nativeAreas[i] = hostArea(uint32(5 + i))
	}
	var word [16]byte
	for {
		if _, err := io.ReadFull(os.Stdin, word[:]); err != nil {
			return nil
		}
		for i := binary.LittleEndian.Uint64(word[:]); i < binary.LittleEndian.Uint64(word[8:]); i++ {
			binary.LittleEndian.PutUint64(shared[shCurrent:], i)
			s := stateAt(shared[shJobs+int(i)*jobSize:])
			base := uintptr(worlds[s.World])
			data, stack := memory(base+dataOff, emu.PageSize), memory(base+stackOff, emu.PageSize)
			s.reset(shared[shImages:], data, stack)
			had := s.FP.Components()
			s.compact()
			enterNative(s)
			s.settle(had)
			dump := shared[shDumps+int(i)*dumpSize:]
			copy(dump, data)
			copy(dump[emu.PageSize:], stack)
		}
		if _, err := os.Stdout.Write(word[:8]); err != nil {
			return err
		}
	}
}

// mapWorld maps world i's memory at base.
func mapWorld(i int, base uintptr) error {
	const rw, anon = syscall.PROT_READ | syscall.PROT_WRITE, syscall.MAP_PRIVATE | syscall.MAP_ANON
	if err := mapFixed(base+codeOff, codeSize, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_SHARED, 3, uintptr(shCode+i*codeSize)); err != nil {
		return err
	}
	if err := mapFixed(base+dataOff, emu.PageSize, rw, anon, -1, 0); err != nil {
		return err
	}
	if err := mapFixed(base+roOff, emu.PageSize, syscall.PROT_READ, syscall.MAP_SHARED, 3, uintptr(shRO)); err != nil {
		return err
	}
	return mapFixed(base+stackOff, emu.PageSize, rw, anon, -1, 0)
}
