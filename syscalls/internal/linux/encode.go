package linux

import (
	"encoding/binary"
)

// Pack is a structure under construction, little-endian, without padding of its own.
type Pack []byte

// U8 appends a number of 8 bits.
func (b *Pack) U8(x uint8) { *b = append(*b, x) }

// U16 appends one of 16 bits.
func (b *Pack) U16(x uint16) { *b = binary.LittleEndian.AppendUint16(*b, x) }

// U32 appends one of 32 bits.
func (b *Pack) U32(x uint32) { *b = binary.LittleEndian.AppendUint32(*b, x) }

// U64 appends one of 64 bits.
func (b *Pack) U64(x uint64) { *b = binary.LittleEndian.AppendUint64(*b, x) }

// I64 appends one of 64 bits with a sign.
func (b *Pack) I64(x int64) { b.U64(uint64(x)) }

// Zero appends n zero bytes.
func (b *Pack) Zero(n int) { *b = append(*b, make([]byte, n)...) }

// Str appends s in a field of n bytes.
func (b *Pack) Str(s string, n int) {
	f := make([]byte, n)
	copy(f, s)
	*b = append(*b, f...)
}

// U64s is an array of longs.
func U64s(v ...uint64) []byte {
	var b Pack
	for _, x := range v {
		b.U64(x)
	}
	return b
}

// Uint16 is the number of 16 bits at the begin of b.
func Uint16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }

// Uint32 is that of 32 bits.
func Uint32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// Uint64 is that of 64 bits.
func Uint64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// PutUint16 stores a number of 16 bits at the begin of b.
func PutUint16(b []byte, x uint16) { binary.LittleEndian.PutUint16(b, x) }

// PutUint32 stores one of 32 bits.
func PutUint32(b []byte, x uint32) { binary.LittleEndian.PutUint32(b, x) }

// PutUint64 stores one of 64 bits.
func PutUint64(b []byte, x uint64) { binary.LittleEndian.PutUint64(b, x) }

// Major is the major number of a device (include/linux/kdev_t.h, new_decode_dev).
func Major(d uint64) uint32 { return uint32(d>>8&0xfff | d>>32&^0xfff) }

// Minor is the number of a device among those of its major.
func Minor(d uint64) uint32 { return uint32(d&0xff | d>>12&^0xff) }

// Makedev is the number of a device by its two parts.
func Makedev(major, minor uint32) uint64 {
	return uint64(minor&0xff) | uint64(major&0xfff)<<8 | uint64(minor&^0xff)<<12 | uint64(major&^0xfff)<<32
}

// DirType is the d_type of a file with mode.
func DirType(mode uint32) uint8 { return uint8(mode & S_IFMT >> 12) }
