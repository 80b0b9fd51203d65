package enginetest

import (
	"encoding/binary"

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

// userSetsBases says that a host's user code may set segment bases (FSGSBASE). Where it may not the kernel sets them
// for a job.
var userSetsBases = true

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

// compact has XRSTOR take the state for the compacted format that it has, if there is more in it than the standard one
// knows there.
func (s *nativeState) compact() {
	if has := s.FP.Components(); has&emu.XAVX512 != 0 {
		binary.LittleEndian.PutUint64(s.FP[emu.XOffHeader+8:], 1<<63|has)
	}
}

// settle makes of what the host's kernel saved an XState with the components that it had: parts are zero that the
// kernel found in their initial state.
func (s *nativeState) settle(had uint64) {
	saved := s.FP.Components() & had
	for _, c := range emu.XComponents {
		if saved>>c.Number&1 == 0 {
			clear(c.In(&s.FP))
		}
	}
	clear(s.FP[emu.XOffHeader+8:][:8])
	s.FP.SetComponents(had)
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
