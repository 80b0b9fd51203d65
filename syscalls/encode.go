package syscalls

import "encoding/binary"

// pack is a structure under construction, little-endian, without padding of its own.
type pack []byte

func (b *pack) u8(x uint8)   { *b = append(*b, x) }
func (b *pack) u16(x uint16) { *b = binary.LittleEndian.AppendUint16(*b, x) }
func (b *pack) u32(x uint32) { *b = binary.LittleEndian.AppendUint32(*b, x) }
func (b *pack) u64(x uint64) { *b = binary.LittleEndian.AppendUint64(*b, x) }
func (b *pack) i64(x int64)  { b.u64(uint64(x)) }

// zero appends n zero bytes.
func (b *pack) zero(n int) { *b = append(*b, make([]byte, n)...) }

// str appends s in a field of n bytes.
func (b *pack) str(s string, n int) {
	f := make([]byte, n)
	copy(f, s)
	*b = append(*b, f...)
}

// u64s is an array of longs.
func u64s(v ...uint64) []byte {
	var b pack
	for _, x := range v {
		b.u64(x)
	}
	return b
}

func le16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func put16(b []byte, x uint16) { binary.LittleEndian.PutUint16(b, x) }
func put32(b []byte, x uint32) { binary.LittleEndian.PutUint32(b, x) }
func put64(b []byte, x uint64) { binary.LittleEndian.PutUint64(b, x) }

func major(d uint64) uint32 { return uint32(d>>8&0xfff | d>>32&^0xfff) }
func minor(d uint64) uint32 { return uint32(d&0xff | d>>12&^0xff) }
