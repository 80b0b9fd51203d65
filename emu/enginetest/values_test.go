package enginetest

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"

	"github.com/cgemu/cgemu/emu"
)

// Edge cases of each kind of value.
var (
	edgeInts = []uint64{
		0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xaaaaaaaaaaaaaaaa, 0x7301730173017301,
	}
	edgeF32 = []uint32{
		0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
		0x7fa00000, 0xffc12345, 0x4b000000, 0x4f000000, 0xcf000000, 0x5f000000, 0x3f000000, 0x40490fdb, 0x477fe000, 0x33800000,
	}
	edgeF64 = []uint64{
		0, 1 << 63, 1, 0x800fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x7fefffffffffffff,
		0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff4000000000000, 0xfff8123456789abc, 0x41dfffffffc00000,
		0x41e0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x3fe0000000000000, 0x400921fb54442d18, 0x36a0000000000000,
	}
	// edgeExps are exponents of 80-bit values, with the sign.
	edgeExps = []uint16{0, 0x8000, 1, 0x3fff, 0xbfff, 0x3ffe, 0x4000, 0x401d, 0x401e, 0x403e, 0x403d, 0xc03e, 0x7ffe, 0x7fff, 0xffff, 0x3fc0, 0x4008}
	edgeMant = []uint64{
		0, 1, 1 << 63, 1<<63 | 1, 0xc000000000000000, 0xa000000000000000, 0xffffffffffffffff, 0x7fffffffffffffff, 0xc90fdaa22168c235,
		0x8000000000000400, 0x8000008000000000, 0xfffffffffffff800, 0x4000000000000000,
	}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// integer is a random 64-bit value, an edge case often.
func integer(r *rand.Rand) uint64 {
	switch r.Uint32N(4) {
	case 0:
		return pick(r, edgeInts)
	case 1:
		return pick(r, edgeInts) + uint64(r.Uint32N(5)) - 2
	case 2:
		return r.Uint64() >> r.Uint32N(64)
	}
	return r.Uint64()
}

// float32bits is a random value of 32 bits, an interesting one as a number.
func float32bits(r *rand.Rand) uint32 {
	switch r.Uint32N(4) {
	case 0:
		return pick(r, edgeF32)
	case 1:
		return r.Uint32()
	}
	return r.Uint32()&0x807fffff | (100+r.Uint32N(64))<<23
}

func float64bits(r *rand.Rand) uint64 {
	switch r.Uint32N(4) {
	case 0:
		return pick(r, edgeF64)
	case 1:
		return r.Uint64()
	}
	return r.Uint64()&0x800fffffffffffff | uint64(990+r.Uint32N(70))<<52
}

// float80 writes ten bytes.
func float80(r *rand.Rand, b []byte) {
	switch r.Uint32N(5) {
	case 0:
		binary.LittleEndian.PutUint64(b, pick(r, edgeMant))
		binary.LittleEndian.PutUint16(b[8:], pick(r, edgeExps))
	case 1:
		binary.LittleEndian.PutUint64(b, r.Uint64())
		binary.LittleEndian.PutUint16(b[8:], uint16(r.Uint32()))
	case 2: // MMX
		binary.LittleEndian.PutUint64(b, integer(r))
		binary.LittleEndian.PutUint16(b[8:], 0xffff)
	default:
		binary.LittleEndian.PutUint64(b, r.Uint64()|1<<63)
		binary.LittleEndian.PutUint16(b[8:], uint16(0x3fff-20+r.Uint32N(60))|uint16(r.Uint32N(2))<<15)
	}
}

// fill writes values of one kind.
func fill(r *rand.Rand, b []byte, kind uint32) {
	for i := 0; i < len(b); {
		switch kind {
		case 0:
			binary.LittleEndian.PutUint32(b[i:], float32bits(r))
			i += 4
		case 1:
			binary.LittleEndian.PutUint64(b[i:], float64bits(r))
			i += 8
		case 2:
			binary.LittleEndian.PutUint64(b[i:], integer(r))
			i += 8
		case 3:
			b[i] = byte(pick(r, edgeInts))
			i++
		case 4:
			float80(r, b[i:i+10])
			i += 16
		default:
			binary.LittleEndian.PutUint16(b[i:], uint16(integer(r)))
			i += 2
		}
	}
}

// Numbers of images that hold something particular.
const (
	imageConstant = numImages - 1 // one byte everywhere, but for a few
	imageXSave    = numImages - 2 // valid images for XRSTOR and FXRSTOR at every kilobyte
)

// makeImages returns the contents guest memory can start with, and that of the page that
// cannot be written.
func makeImages(r *rand.Rand) (images, ro []byte) {
	images = make([]byte, numImages*dumpSize)
	for i := range numImages {
		fill(r, images[i*dumpSize:][:dumpSize], uint32(i)%6)
	}
	constant := images[imageConstant*dumpSize:][:dumpSize]
	for i := range constant {
		constant[i] = 0x41
		if r.Uint32N(200) == 0 {
			constant[i] = 0x42
		}
	}
	for at := 0; at < emu.PageSize; at += 1024 {
		x := emu.XState(randomFP(r))
		x[emu.XOffHeader] = byte(r.Uint32N(8))
		copy(images[imageXSave*dumpSize+at:], x[:emu.XAVXSize])
	}
	ro = make([]byte, emu.PageSize)
	fill(r, ro, 2)
	return images, ro
}

// randomFP returns x87, SSE and AVX state.
func randomFP(r *rand.Rand) (x emu.XState) {
	x.Reset()
	for i := range 16 {
		kind := r.Uint32N(6)
		fill(r, x[emu.XOffXMM+16*i:][:16], kind)
		fill(r, x[emu.XOffYMMH+16*i:][:16], kind)
	}
	for i := range 8 {
		float80(r, x[emu.XOffST+16*i:][:10])
	}
	mxcsr, fcw, fsw := uint32(0x1f80), uint16(0x37f), uint16(r.Uint32N(8))<<11
	if r.Uint32N(3) == 0 {
		mxcsr = mxcsr&^0x6000 | r.Uint32()&0xe07f
		if r.Uint32N(3) == 0 {
			mxcsr &^= r.Uint32() & 0x1f80
		}
	}
	if r.Uint32N(3) == 0 {
		fcw = fcw&^0xf00 | uint16(r.Uint32())&0xf00
		fsw |= uint16(r.Uint32()) & 0x477f
		if r.Uint32N(3) == 0 {
			fcw &^= uint16(r.Uint32()) & 0x3f
		}
	}
	if fsw&^fcw&0x3f != 0 {
		fsw |= 0x8080
	}
	binary.LittleEndian.PutUint32(x[emu.XOffMXCSR:], mxcsr)
	binary.LittleEndian.PutUint16(x[emu.XOffFCW:], fcw)
	binary.LittleEndian.PutUint16(x[emu.XOffFSW:], fsw)
	x[emu.XOffFTW] = 0xff
	switch r.Uint32N(6) {
	case 0:
		x[emu.XOffFTW] = 0
	case 1, 2:
		x[emu.XOffFTW] = byte(r.Uint32())
	}
	return x
}

// widen gives x the registers of AVX-512.
func widen(r *rand.Rand, x *emu.XState) {
	x.SetComponents(x.Components() | emu.XAVX512)
	for i := range 16 {
		kind := r.Uint32N(6)
		fill(r, x[emu.XOffZMMH+32*i:][:32], kind)
		fill(r, x[emu.XOffHiZMM+64*i:][:64], kind)
	}
	for i := range 8 {
		binary.LittleEndian.PutUint64(x[emu.XOffOpmask+8*i:], mask(r))
	}
	for _, c := range emu.XComponents[1:] {
		if r.Uint32N(16) == 0 {
			clear(c.In(x))
		}
	}
}

// mask is a random value of a mask register: all, nothing, one bit, few or many.
func mask(r *rand.Rand) uint64 {
	switch r.Uint32N(6) {
	case 0:
		return 0
	case 1:
		return ^uint64(0) >> r.Uint32N(64)
	case 2:
		return 1 << r.Uint32N(64)
	case 3:
		return r.Uint64() & r.Uint64() & r.Uint64()
	case 4:
		return r.Uint64() | r.Uint64()
	}
	return r.Uint64()
}

// newRand returns a generator that depends on name only.
func newRand(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(h.Sum64(), 1))
}
