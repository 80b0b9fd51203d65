package dwarfmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
)

// errDeflate is that of data which are not in the formats of RFC 1950 and 1951, or
// not of the size announced.
var errDeflate = errors.New("invalid compressed data")

// Memory behind the source and the destination, so that neither must be watched
// byte by byte.
const (
	inflatePadding = 16
	inflateMargin  = maxMatch + 8
)

// An inflater inflates data that are in memory as a whole, to a known size. That is
// twice as fast as a reader that can stop anywhere (BenchmarkInflate).
type inflater struct {
	src  []byte // the data and the padding
	size int    // of the data
	pos  int
	// The bits in front of pos that are not consumed: the lowest n of acc. Above
	// them it may already have those that come next.
	acc uint64
	n   uint

	own tables
}

// The tables of a block: of literals and lengths, and of distances.
type tables struct {
	lit  [litTable]code
	dist [distTable]code
}

// inflate inflates what zlib made, with inflatePadding bytes of any value behind
// it, to size bytes. The checksum is ignored: sections that are not compressed have
// none either. It ends early if stopped says so.
func inflate(padded []byte, size int, stopped func() bool) ([]byte, error) {
	d := &inflater{src: padded, size: len(padded) - inflatePadding, pos: 2}
	const deflate, dictionary = 8, 1 << 5
	if d.size < 2 || padded[0]&15 != deflate || padded[1]&dictionary != 0 || binary.BigEndian.Uint16(padded)%31 != 0 {
		return nil, errDeflate
	}
	dst := make([]byte, size+inflateMargin)
	out := 0
	for last := false; !last; {
		if stopped() {
			return nil, ErrStopped
		}
		d.refill()
		last = d.take(1) == 1
		ok := false
		switch d.take(2) {
		case 0:
			out, ok = d.stored(dst, out)
		case 1:
			out, ok = d.block(fixed(), dst, out)
		case 2:
			if ok = d.dynamic(); ok {
				out, ok = d.block(&d.own, dst, out)
			}
		}
		if !ok || d.pos*8-int(d.n) > d.size*8 {
			return nil, errDeflate
		}
	}
	if out != size {
		return nil, errDeflate
	}
	return dst[:size], nil
}

// refill makes n 56 or more. Behind the padding it repeats itself; inflate sees that
// more was consumed than there is.
func (d *inflater) refill() {
	d.pos = min(d.pos, d.size+8)
	d.acc |= binary.LittleEndian.Uint64(d.src[d.pos:]) << d.n
	d.pos += int(63-d.n) >> 3
	d.n |= 56
}

func (d *inflater) take(n uint) uint {
	v := uint(d.acc & (1<<n - 1))
	d.acc >>= n
	d.n -= n
	return v
}

// stored copies a block that is not compressed.
func (d *inflater) stored(dst []byte, out int) (int, bool) {
	d.take(d.n & 7)
	d.pos -= int(d.n / 8)
	d.acc, d.n = 0, 0
	if d.pos+4 > d.size {
		return out, false
	}
	n := int(binary.LittleEndian.Uint16(d.src[d.pos:]))
	inverse := int(binary.LittleEndian.Uint16(d.src[d.pos+2:]))
	d.pos += 4
	if n != inverse^0xffff || d.pos+n > d.size || out+n > len(dst)-inflateMargin {
		return out, false
	}
	copy(dst[out:], d.src[d.pos:d.pos+n])
	d.pos += n
	return out + n, true
}

// block inflates a block whose tables are made. Of the 56 bits of a refill the
// longest codes of a length and a distance take 48.
func (d *inflater) block(t *tables, dst []byte, out int) (int, bool) {
	src, pos, acc, n := d.src, d.pos, d.acc, d.n
	end := len(dst) - inflateMargin
	for out <= end && pos <= d.size+8 {
		acc |= binary.LittleEndian.Uint64(src[pos:]) << (n & 63)
		pos += int(63-n) >> 3
		n |= 56
		c := t.lit[acc&(1<<litBits-1)]
		if c&codeSecond != 0 {
			c = t.lit[c.number()+uint(acc>>litBits)&(1<<c.extra()-1)]
		}
		acc >>= c.bits()
		n -= c.bits()
		if c&codeLiteral != 0 {
			dst[out] = byte(c.number())
			out++
			continue
		}
		if c&codeEnd != 0 {
			d.pos, d.acc, d.n = pos, acc, n
			return out, c.number() == 1
		}
		length := int(c.number() + uint(acc)&(1<<c.extra()-1))
		acc >>= c.extra()
		n -= c.extra()

		c = t.dist[acc&(1<<distBits-1)]
		if c&codeSecond != 0 {
			c = t.dist[c.number()+uint(acc>>distBits)&(1<<c.extra()-1)]
		}
		acc >>= c.bits()
		distance := int(c.number() + uint(acc)&(1<<c.extra()-1))
		acc >>= c.extra()
		n -= c.bits() + c.extra()
		if c&codeEnd != 0 || distance > out {
			return out, false
		}
		copyMatch(dst, out, distance, length)
		out += length
	}
	return out, false
}

// copyMatch copies length bytes, or up to 7 more, from distance bytes back.
func copyMatch(dst []byte, out, distance, length int) {
	from, end := out-distance, out+length
	if distance < 8 {
		for ; out < end; out++ {
			dst[out] = dst[from]
			from++
		}
		return
	}
	for ; out < end; out += 8 {
		binary.LittleEndian.PutUint64(dst[out:], binary.LittleEndian.Uint64(dst[from:]))
		from += 8
	}
}

// fixed returns the tables of a block that has none (RFC 1951, section 3.2.6). They are made once: such a block may
// be ten bits long.
var fixed = sync.OnceValue(func() *tables {
	t := new(tables)
	lengths := bytes.Repeat([]byte{8}, 288)
	for i := 144; i < 256; i++ {
		lengths[i] = 9
	}
	for i := 256; i < 280; i++ {
		lengths[i] = 7
	}
	makeTable(t.lit[:], litBits, litSymbols[:], lengths)
	makeTable(t.dist[:], distBits, distSymbols[:], bytes.Repeat([]byte{5}, 32))
	return t
})

// lengthOrder is the order in which a block gives the lengths of codes of lengths.
var lengthOrder = [19]byte{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the tables of a block (RFC 1951, section 3.2.7).
func (d *inflater) dynamic() bool {
	nlit, ndist, nlength := d.take(5)+257, d.take(5)+1, d.take(4)+4
	if nlit > 286 || ndist > 30 {
		return false
	}
	var bitsOf [19]byte
	for _, i := range lengthOrder[:nlength] {
		d.refill()
		bitsOf[i] = byte(d.take(3))
	}
	var table [1 << lengthBits]code
	if !makeTable(table[:], lengthBits, lengthSymbols[:], bitsOf[:]) {
		return false
	}
	var lengths [286 + 30]byte
	for i := uint(0); i < nlit+ndist; {
		d.refill()
		c := table[d.acc&(1<<lengthBits-1)]
		if c&codeEnd != 0 {
			return false
		}
		d.take(c.bits())
		repeat, value := uint(1), byte(c.number())
		switch value {
		case 16:
			if i == 0 {
				return false
			}
			repeat, value = 3+d.take(2), lengths[i-1]
		case 17:
			repeat, value = 3+d.take(3), 0
		case 18:
			repeat, value = 11+d.take(7), 0
		}
		if i+repeat > nlit+ndist {
			return false
		}
		for range repeat {
			lengths[i] = value
			i++
		}
	}
	return makeTable(d.own.lit[:], litBits, litSymbols[:], lengths[:nlit]) &&
		makeTable(d.own.dist[:], distBits, distSymbols[:], lengths[nlit:nlit+ndist])
}
