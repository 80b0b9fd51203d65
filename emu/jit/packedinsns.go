//go:build linux && amd64

package jit

import "encoding/binary"

// Where a block's instructions are is kept packed, as it would take the most memory of all that is known of blocks and
// is seldom looked at: when counts are collected, and where something stops within a block. Each instruction is told
// apart from the one before: a byte says what is different, then that follows.
const (
	// packedOff are the bits for how far behind the one before it begins, 0 if its offset follows, in two bytes.
	packedOff = 0x0f
	// packedHost says that two bytes tell how far its code begins behind that of the one before, otherwise it is one.
	packedHost = 0x10
	packedRSP  = 0x20 // two bytes: it is another
	packedPlan = 0x40 // two bytes: it is another
	packedRest = 0x80 // three bytes: the outcomes are others, or it is not one further in a straight run
)

// packInsns appends insns to b, packed.
func packInsns(b []byte, insns []insnAt) []byte {
	le := binary.LittleEndian
	was := beforeFirst
	for _, at := range insns {
		head := len(b)
		b = append(b, 0)
		var bits byte
		if d := at.off - was.off; d > 0 && d <= packedOff {
			bits |= byte(d)
		} else {
			b = le.AppendUint16(b, at.off)
		}
		if d := at.host - was.host; d <= 0xff {
			b = append(b, byte(d))
		} else {
			bits, b = bits|packedHost, le.AppendUint16(b, d)
		}
		if at.rsp != was.rsp {
			bits, b = bits|packedRSP, le.AppendUint16(b, uint16(at.rsp))
		}
		if at.plan != was.plan {
			bits, b = bits|packedPlan, le.AppendUint16(b, at.plan)
		}
		if at.outcomes != was.outcomes || at.run != was.run+1 {
			bits, b = bits|packedRest, append(b, at.outcomes.n, at.outcomes.bits, at.run)
		}
		b[head], was = bits, at
	}
	return b
}

// beforeFirst is what the first instruction of a block is told apart from.
var beforeFirst = insnAt{run: 0xff}

// An insnReader goes through packed instructions.
type insnReader struct {
	rest []byte
	insnAt
}

func readInsns(packed []byte) insnReader { return insnReader{packed, beforeFirst} }

// next goes to the next instruction, and reports whether there is one.
func (r *insnReader) next() bool {
	if len(r.rest) == 0 {
		return false
	}
	bits := r.rest[0]
	r.rest = r.rest[1:]
	if d := bits & packedOff; d != 0 {
		r.off += uint16(d)
	} else {
		r.off = r.word()
	}
	if bits&packedHost != 0 {
		r.host += r.word()
	} else {
		r.host += uint16(r.rest[0])
		r.rest = r.rest[1:]
	}
	if bits&packedRSP != 0 {
		r.rsp = int16(r.word())
	}
	if bits&packedPlan != 0 {
		r.plan = r.word()
	}
	r.run++
	if bits&packedRest != 0 {
		r.outcomes, r.run = outcomes{r.rest[0], r.rest[1]}, r.rest[2]
		r.rest = r.rest[3:]
	}
	return true
}

func (r *insnReader) word() uint16 {
	w := binary.LittleEndian.Uint16(r.rest)
	r.rest = r.rest[2:]
	return w
}
