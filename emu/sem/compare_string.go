package sem

import (
	"math/bits"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// PCMPESTRI and its kin compare strings of up to 16 bytes or eight words in vector registers, as their immediate says
// (SDM Vol. 2, "Imm8 Control Byte Operation for PCMPESTRI / PCMPESTRM / PCMPISTRI / PCMPISTRM").

// A textFormat is the immediate.
type textFormat uint8

func (t textFormat) words() bool    { return t&1 != 0 }
func (t textFormat) signed() bool   { return t&2 != 0 }
func (t textFormat) aggregate() int { return int(t >> 2 & 3) }
func (t textFormat) polarity() int  { return int(t >> 4 & 3) }

// highest says that the index is that of the last element, or that the mask has an element's size.
func (t textFormat) highest() bool { return t&0x40 != 0 }

// elements returns how many a register has.
func (t textFormat) elements() int {
	if t.words() {
		return 8
	}
	return 16
}

// A text has the elements of a register.
type text [16]int32

// text returns those of l.
func (t textFormat) text(l lane) (x text) {
	size := 128 / t.elements()
	for i := range t.elements() {
		x[i] = int32(l.element(i, size))
		if t.signed() {
			x[i] = x[i] << (32 - size) >> (32 - size)
		}
	}
	return x
}

// length returns how many elements come before a zero.
func (t textFormat) length(x *text) int {
	for i := range t.elements() {
		if x[i] == 0 {
			return i
		}
	}
	return t.elements()
}

// explicit returns the length that a register gives: its distance from 0, up to all elements.
func (t textFormat) explicit(x int64) int {
	if n := int64(t.elements()); x <= -n || x >= n {
		return int(n)
	}
	return int(max(x, -x))
}

// Kinds of aggregation.
const (
	equalAny = iota
	ranges
	equalEach
	equalOrdered
)

// compare returns which elements of x are found, a bit for each. The first n of them are valid. They are compared with
// the first k of set.
func (t textFormat) compare(set, x *text, k, n int) (found uint16) {
	for i := range t.elements() {
		if t.matches(set, x, k, n, i) {
			found |= 1 << i
		}
	}
	return found
}

// matches reports whether element i of x is found. What is said of elements that are not valid depends on the
// aggregation.
func (t textFormat) matches(set, x *text, k, n, i int) bool {
	switch t.aggregate() {
	case equalAny:
		return i < n && slices.Contains(set[:k], x[i])
	case ranges:
		for j := 0; j+1 < k && i < n; j += 2 {
			if set[j] <= x[i] && x[i] <= set[j+1] {
				return true
			}
		}
		return false
	case equalEach:
		if i < k && i < n {
			return set[i] == x[i]
		}
		return i >= k && i >= n
	}
	for j := 0; j < k && i+j < t.elements(); j++ {
		if i+j >= n || set[j] != x[i+j] {
			return false
		}
	}
	return true
}

// polarized inverts what was found as the polarity says: all, or what belongs to the n valid elements.
func (t textFormat) polarized(found uint16, n int) uint16 {
	all := uint16(1<<t.elements() - 1)
	switch t.polarity() {
	case 1:
		return ^found & all
	case 3:
		return found ^ uint16(1<<n-1)
	}
	return found
}

// comparesStrings returns the semantics of PCMPESTRI and its kin. explicit says that RAX and RDX have the lengths,
// index that the result goes to RCX rather than to XMM0.
func comparesStrings(explicit, index bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		second, _, fault := m.laneArg(c, g, 1)
		if fault != nil {
			return fault
		}
		t := textFormat(g.Imm)
		set, x := t.text(laneOf(lowLane(c.FP, g.Args[0].Reg))), t.text(second)
		k, n := t.length(&set), t.length(&x)
		if explicit {
			k, n = t.explicit(stringLength(c, g, emu.RAX)), t.explicit(stringLength(c, g, emu.RDX))
		}
		found := t.polarized(t.compare(&set, &x, k, n), n)
		// Whether anything was found, whether at the first element, and which strings end in their registers.
		setFlags(c, x86.StatusFlags, when(found != 0, emu.FlagCF)|when(found&1 != 0, emu.FlagOF)|
			when(k < t.elements(), emu.FlagSF)|when(n < t.elements(), emu.FlagZF))
		if index {
			c.Regs[emu.RCX] = uint64(t.index(found))
		} else {
			setXMM0(c, g, t.mask(found))
		}
		return nil
	}
}

// stringLength returns the length in register r, of which 32 bits count but with REX.W.
func stringLength(c *emu.CPU, g *guest.Insn, r int) int64 {
	if g.OpSize == 8 {
		return int64(c.Regs[r])
	}
	return int64(int32(c.Regs[r]))
}

// index returns the number of the first or last element that was found, or how many there are.
func (t textFormat) index(found uint16) int {
	switch {
	case found == 0:
		return t.elements()
	case t.highest():
		return bits.Len16(found) - 1
	}
	return bits.TrailingZeros16(found)
}

// mask returns what was found as bits, or as elements of ones.
func (t textFormat) mask(found uint16) lane {
	if !t.highest() {
		return lane{uint64(found), 0}
	}
	var b [16]byte
	size := 16 / t.elements()
	for i := range b {
		if found>>(i/size)&1 != 0 {
			b[i] = 0xff
		}
	}
	return laneOf(&b)
}

// setXMM0 writes XMM0, the result of PCMPESTRM and PCMPISTRM.
func setXMM0(c *emu.CPU, g *guest.Insn, l lane) {
	putLane(lowLane(c.FP, 0), l)
	if g.Enc != x86.Legacy {
		putLane(highLane(c.FP, 0), lane{})
	}
}

func compareStringRows() parts {
	return join(
		both(x86.PCMPESTRI, x86.VPCMPESTRI, comparesStrings(true, true)), both(x86.PCMPESTRM, x86.VPCMPESTRM, comparesStrings(true, false)),
		both(x86.PCMPISTRI, x86.VPCMPISTRI, comparesStrings(false, true)), both(x86.PCMPISTRM, x86.VPCMPISTRM, comparesStrings(false, false)),
	)
}
