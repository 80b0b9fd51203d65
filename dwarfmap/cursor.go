package dwarfmap

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errTruncated = errors.New("unexpected end")

// A cursor reads DWARF's encodings one after the other. After the end of its
// data it returns zeros, and bad is set.
type cursor struct {
	data []byte // what is left
	bad  bool
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.data)) {
		c.data, c.bad = nil, true
		return nil
	}
	b := c.data[:n]
	c.data = c.data[n:]
	return b
}

func (c *cursor) uint(n uint64) uint64 {
	var buf [8]byte
	copy(buf[:], c.take(n))
	return binary.LittleEndian.Uint64(buf[:])
}

func (c *cursor) u8() byte    { return byte(c.uint(1)) }
func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }

// uleb and sleb read LEB128 numbers (DWARF 5, section 7.6). Bits above 64 are
// lost.
func (c *cursor) uleb() uint64 {
	v, _ := c.leb()
	return v
}

func (c *cursor) sleb() int64 {
	v, bits := c.leb()
	if bits < 64 && v>>(bits-1)&1 != 0 {
		v |= ^uint64(0) << bits
	}
	return int64(v)
}

func (c *cursor) leb() (v uint64, bits uint) {
	for i, b := range c.data {
		if bits < 64 {
			v |= uint64(b&0x7f) << bits
		}
		bits += 7
		if b < 0x80 {
			c.data = c.data[i+1:]
			return v, bits
		}
	}
	c.data, c.bad = nil, true
	return 0, 64
}

// cstring reads up to a NUL, which it drops.
func (c *cursor) cstring() []byte {
	i := bytes.IndexByte(c.data, 0)
	if i < 0 {
		c.data, c.bad = nil, true
		return nil
	}
	s := c.data[:i]
	c.data = c.data[i+1:]
	return s
}

// unit reads the length a unit begins with, and returns the unit's contents and
// the size of its offsets: 4 bytes or 8 (DWARF 5, section 7.4).
func (c *cursor) unit() (unit cursor, offSize uint64) {
	n := c.uint(4)
	offSize = 4
	if n == 0xffffffff {
		n, offSize = c.uint(8), 8
	}
	return cursor{data: c.take(n), bad: c.bad}, offSize
}

// maxName is the length from which on no name is one: of files it is 16 times that of the longest path on
// Linux. So looking for their ends takes a time that is bounded, too.
const maxName = 1 << 16

// stringAt returns the NUL-terminated string at off, nil if there is none.
func stringAt(section []byte, off uint64) []byte {
	if off >= uint64(len(section)) {
		return nil
	}
	s := section[off:min(off+maxName, uint64(len(section)))]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return nil
}
