//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
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

// nativeChild runs jobs from the file of descriptor 3 as standard input asks, until its end.
func nativeChild() error {
	runtime.LockOSThread()
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
