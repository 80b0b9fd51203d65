package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// A comparer compares two elements. Quiet NaNs are invalid if signaling is set.
type comparer = func(x, y uint64, signaling bool, mode soft.Mode) (soft.Relation, uint16)

// A predicate says for which relations a comparison holds, a bit for each, and whether quiet NaNs are invalid.
type predicate struct {
	holds     uint8
	signaling bool
}

// Relations as a predicate has them.
const (
	less      = 1 << soft.Less
	equal     = 1 << soft.Equal
	greater   = 1 << soft.Greater
	unordered = 1 << soft.Unordered
)

// predicates are the first 16 of CMPPS (SDM Vol. 2, CMPPD, "Comparison Predicate for CMPPD Instruction"). The other 16
// are the same, signaling where these are not and the other way round.
var predicates = [16]predicate{
	{equal, false}, {less, true}, {less | equal, true}, {unordered, false},
	{less | greater | unordered, false}, {equal | greater | unordered, true}, {greater | unordered, true}, {less | equal | greater, false},
	{equal | unordered, false}, {less | unordered, true}, {less | equal | unordered, true}, {0, false},
	{less | greater, false}, {equal | greater, true}, {greater, true}, {less | equal | greater | unordered, false},
}

// predicateOf returns the predicate of g's immediate, of which legacy encodings know eight values.
func predicateOf(g *guest.Insn) predicate {
	if g.Enc == x86.Legacy {
		return predicates[g.Imm&7]
	}
	p := predicates[g.Imm&15]
	p.signaling = p.signaling != (g.Imm&16 != 0)
	return p
}

// compare implements CMPPS and its kin: an element of the result is all ones where the predicate holds.
func (p precision) compare(f comparer) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var a, b vec
		if fault := m.floatArgs(c, g, &a, &b); fault != nil {
			return fault
		}
		want, mode, status := predicateOf(g), mxcsr(c.FP), uint16(0)
		for i := range int(g.Args[0].Size) / p.size {
			r, s := f(a.element(i, p.size), b.element(i, p.size), want.signaling, mode)
			a.setElement(i, p.size, want.mask(r, p.size))
			status |= s
		}
		return conclude(c, g, &a, status)
	}
}

// mask returns an element of size bytes that says whether the predicate holds.
func (p predicate) mask(r soft.Relation, size int) uint64 {
	return truncate(-uint64(p.holds>>r&1), uint8(size))
}

// compareScalar implements CMPSS and its kin, which compare the lowest elements alone.
func (p precision) compareScalar(f comparer) semantics {
	size := uint8(p.size)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last := lastSource(g)
		y, fault := m.scalarArg(c, g, last, size)
		if fault != nil {
			return fault
		}
		x, _ := m.scalarArg(c, g, last-1, size) // a register
		want := predicateOf(g)
		r, status := f(x, y, want.signaling, mxcsr(c.FP))
		return concludeScalar(c, g, last-1, want.mask(r, p.size), size, status)
	}
}

// orderFlags are the status flags that tell a relation.
var orderFlags = [4]uint64{soft.Less: emu.FlagCF, soft.Equal: emu.FlagZF, soft.Unordered: emu.FlagZF | emu.FlagPF | emu.FlagCF}

// compareFlags implements COMISS, which is signaling, and UCOMISS, and their kin: the relation goes to ZF, PF and CF.
func (p precision) compareFlags(f comparer, signaling bool) semantics {
	size := uint8(p.size)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		y, fault := m.scalarArg(c, g, 1, size)
		if fault != nil {
			return fault
		}
		x, _ := m.scalarArg(c, g, 0, size) // a register
		r, status := f(x, y, signaling, mxcsr(c.FP))
		return concludeComparison(c, r, status)
	}
}

// CompareScalars is that for elements of 4 or 8 bytes, the lowest ones of x and y.
func CompareScalars(c *emu.CPU, x, y uint64, size int, signaling bool) *emu.Fault {
	f := soft.Compare64
	if size == 4 {
		f, x, y = soft.Compare32, x&0xffffffff, y&0xffffffff
	}
	r, status := f(x, y, signaling, mxcsr(c.FP))
	return concludeComparison(c, r, status)
}

// concludeComparison writes a relation to the flags, unless an exception is not masked.
func concludeComparison(c *emu.CPU, r soft.Relation, status uint16) *emu.Fault {
	if fault := raise(c, status); fault != nil {
		return fault
	}
	setFlags(c, x86.StatusFlags, orderFlags[r])
	return nil
}

func floatCompareRows() rows {
	return rows{
		x86.CMPPS: {plain: single.compare(soft.Compare32)}, x86.VCMPPS: {plain: single.compare(soft.Compare32)},
		x86.CMPPD: {plain: double.compare(soft.Compare64)}, x86.VCMPPD: {plain: double.compare(soft.Compare64)},
		x86.CMPSS: {plain: single.compareScalar(soft.Compare32)}, x86.VCMPSS: {plain: single.compareScalar(soft.Compare32)},
		x86.CMPSD: {plain: double.compareScalar(soft.Compare64)}, x86.VCMPSD: {plain: double.compareScalar(soft.Compare64)},

		x86.COMISS: {plain: single.compareFlags(soft.Compare32, true)}, x86.VCOMISS: {plain: single.compareFlags(soft.Compare32, true)},
		x86.COMISD: {plain: double.compareFlags(soft.Compare64, true)}, x86.VCOMISD: {plain: double.compareFlags(soft.Compare64, true)},
		x86.UCOMISS: {plain: single.compareFlags(soft.Compare32, false)}, x86.VUCOMISS: {plain: single.compareFlags(soft.Compare32, false)},
		x86.UCOMISD: {plain: double.compareFlags(soft.Compare64, false)}, x86.VUCOMISD: {plain: double.compareFlags(soft.Compare64, false)},
	}
}
