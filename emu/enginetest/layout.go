package enginetest

import "github.com/cgemu/cgemu/emu"

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
