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

// Layout of a world, from its base: where guest code and data lie. Around each of them nothing
// is mapped.
const (
	codeOff  = 0
	codeSize = 128 << 10
	dataOff  = 0x400000 // a page that can be written, one that cannot
	roOff    = dataOff + emu.PageSize
	stackOff = 0x800000 // one page
)

// worlds are the bases: within reach of a 32-bit absolute address, and beyond it.
var worlds = [...]emu.Addr{0x60000000, 0x1060000000}

// Memory a case can write: the data page, then the stack page.
const dumpSize = 2 * emu.PageSize

const (
	slotSize  = 128 // bytes of code of one case
	slots     = codeSize / slotSize
	numImages = 24
	maxJobs   = 1024 // a batch's
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
	jobSize   = 1280
)

// A nativeState is the state a job starts from, and then the one it ended in. native_amd64.s knows its offsets.
type nativeState struct {
	FP                  emu.XState
	Regs                [16]uint64
	RIP                 emu.Addr
	Flags               uint64
	FSBase, GSBase      uint64
	Sig, Trap, Err, CR2 uint64
	World, Image        uint32
	PatchOff, PatchLen  uint32
	Patch               [96]byte
	_                   [128]byte
}

// reset fills guest memory for a job: data and stack are those of its world.
func (s *nativeState) reset(images, data, stack []byte) {
	img := images[int(s.Image)*dumpSize:][:dumpSize]
	copy(data, img[:emu.PageSize])
	copy(stack, img[emu.PageSize:])
	p := s.Patch[:s.PatchLen]
	n := 0
	if s.PatchOff < emu.PageSize {
		n = copy(data[s.PatchOff:], p)
	} else {
		n = copy(stack[s.PatchOff-emu.PageSize:], p)
	}
	if n < len(p) {
		panic("BUG: patch across a page")
	}
}

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
			enterNative(s)
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
