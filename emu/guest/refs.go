package guest

import (
	"encoding/binary"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// Happens reports whether a guarded reference is made.
func Happens(c *emu.CPU, g *Insn, r x86.Ref) bool {
	switch r.Guard {
	case x86.MaskLane:
		return laneSign(c, g.Args[1].Reg, int(r.Lane), int(r.Size))
	case x86.XSaveBit:
		return (c.Regs[emu.RDX]<<32|c.Regs[emu.RAX]&(1<<32-1))&c.FP.Components()>>r.Lane&1 != 0
	case x86.OpmaskBit:
		return Opmask(c, g)>>r.Lane&1 != 0
	case x86.OpmaskAny:
		return RepeatedOpmask(c, g)>>r.Lane&1 != 0
	case x86.OpmaskCount:
		return bits.OnesCount64(Opmask(c, g)) > int(r.Lane)
	}
	return true
}

// Misaligned reports whether g accesses 2, 4 or 8 bytes of memory at another address than a multiple of their number
// (SDM Vol. 3, "Alignment Check Exception"). A repeated instruction without iterations accesses nothing.
func Misaligned(c *emu.CPU, g *Insn) bool {
	if hooks.Repeats(&g.Inst) {
		count := c.Regs[emu.RCX]
		if g.Mem.AddrSize == 4 {
			count = uint64(uint32(count))
		}
		if count == 0 {
			return false
		}
	}
	for r := range g.References {
		at, size := RefAddr(c, g, r), emu.Addr(r.Size)
		if (size == 2 || size == 4 || size == 8) && at%size != 0 && Happens(c, g, r) {
			return true
		}
	}
	return false
}

// References appends to refs those that g makes when it is executed with the registers in c.
func References(c *emu.CPU, g *Insn, refs []hooks.Reference) []hooks.Reference {
	for r := range g.References {
		if Happens(c, g, r) {
			refs = append(refs, hooks.Reference{Ref: r, Addr: RefAddr(c, g, r)})
		}
	}
	return refs
}

// Readable reports whether the first and the last byte of r can be read. A write that faults is looked up in the caches
// if they can: a CPU looks there before it finds that the write may not be made.
func Readable(m *mem.Space, r hooks.Reference) bool {
	var b [1]byte
	return m.Read(r.Addr, b[:]) != 0 && m.Read(r.Addr+emu.Addr(r.Size)-1, b[:]) != 0
}

// Opmask returns which elements of its result g computes, a bit for each.
func Opmask(c *emu.CPU, g *Insn) uint64 {
	all := ^uint64(0) >> (64 - g.Elements())
	if g.Mask == 0 {
		return all
	}
	return binary.LittleEndian.Uint64(c.FP[emu.XOffOpmask+8*int(g.Mask):]) & all
}

// RepeatedOpmask returns which of the elements of memory that g repeats it accesses, a bit for each.
func RepeatedOpmask(c *emu.CPU, g *Insn) uint64 {
	n := g.Repeated()
	var elements uint64
	for selected := Opmask(c, g); selected != 0; selected >>= n {
		elements |= selected
	}
	return elements & (1<<n - 1)
}

// RefAddr returns the address of a reference.
func RefAddr(c *emu.CPU, g *Insn, r x86.Ref) emu.Addr {
	off := emu.Addr(int64(r.Off))
	switch r.At {
	case x86.AtRSP:
		return emu.Addr(c.Regs[emu.RSP]) + off
	case x86.AtRBP:
		return emu.Addr(c.Regs[emu.RBP]) + off
	case x86.AtRSI:
		return cutAddr(g, c.Regs[emu.RSI]) + emu.Addr(SegmentBase(c, g)) + off
	case x86.AtRDI:
		a := cutAddr(g, c.Regs[emu.RDI]) + off
		if !g.Op.IsString() {
			a += emu.Addr(SegmentBase(c, g)) // MASKMOVQ and MASKMOVDQU
		}
		return a
	case x86.AtXlat:
		return cutAddr(g, c.Regs[emu.RBX]+c.Regs[emu.RAX]&0xff) + emu.Addr(SegmentBase(c, g))
	case x86.AtBitString:
		return bitStringAddr(c, g, 1)
	case x86.AtVSIB:
		return laneAddr(c, g, r)
	}
	return EffectiveAddr(c, g) + off
}

// BitStringAddr returns the address of what BT and its kin access of a bit string in memory: as many bytes as their
// operands have, where RefAddr has the byte with the bit.
func BitStringAddr(c *emu.CPU, g *Insn) emu.Addr {
	return bitStringAddr(c, g, int64(g.OpSize))
}

// bitStringAddr returns the address of that part of a bit string, of size bytes, which has the bit that the register
// tells: the string goes on beyond the operand, in both directions.
func bitStringAddr(c *emu.CPU, g *Insn, size int64) emu.Addr {
	shift := 64 - 8*int(g.OpSize)
	index := int64(c.Regs[g.Args[1].Reg]) << shift >> shift
	return cutAddr(g, uint64(EffectiveAddr(c, g))+uint64(index>>3&^(size-1)))
}

// cutAddr cuts an address register to the size of g's addresses.
func cutAddr(g *Insn, x uint64) emu.Addr {
	if g.Mem.AddrSize == 4 {
		x &= 1<<32 - 1
	}
	return emu.Addr(x)
}

// laneAddr returns the address of a lane of a gather or scatter; one of AVX2 that is masked off reads at RSP
// (docs/counting.md, "Data references").
func laneAddr(c *emu.CPU, g *Insn, r x86.Ref) emu.Addr {
	if !Accesses(c, g, r) {
		return emu.Addr(c.Regs[emu.RSP])
	}
	return ElementAddr(c, g, int(r.Lane))
}

// Accesses reports whether a reference that g makes accesses memory: that of a gather of AVX2 to an element that is
// masked off does not, and cannot fault.
func Accesses(c *emu.CPU, g *Insn, r x86.Ref) bool {
	return r.At != x86.AtVSIB || g.Enc == x86.EVEX || laneSign(c, g.Args[2].Reg, int(r.Lane), int(r.Size))
}

// ElementAddr returns the address of element n of a gather or scatter.
func ElementAddr(c *emu.CPU, g *Insn, n int) emu.Addr {
	a := uint64(g.Mem.Disp)
	if g.Mem.Base != x86.NoReg {
		a += c.Regs[g.Mem.Base]
	}
	var index int64
	if g.IndexSize() == 8 {
		index = int64(binary.LittleEndian.Uint64(lane(c, g.Mem.Index, n, 8)))
	} else {
		index = int64(int32(binary.LittleEndian.Uint32(lane(c, g.Mem.Index, n, 4))))
	}
	return cutAddr(g, a+uint64(index)*uint64(g.Mem.Scale)) + emu.Addr(SegmentBase(c, g))
}

// lane returns a lane of vector register v.
func lane(c *emu.CPU, v x86.Reg, n, size int) []byte {
	at := n * size
	switch {
	case v >= 16:
		at += emu.XOffHiZMM + 64*int(v-16)
	case at < 16:
		at += emu.XOffXMM + 16*int(v)
	case at < 32:
		at += emu.XOffYMMH + 16*int(v) - 16
	default:
		at += emu.XOffZMMH + 32*int(v) - 32
	}
	return c.FP[at:][:size]
}

// laneSign returns the highest bit of a lane.
func laneSign(c *emu.CPU, v x86.Reg, n, size int) bool { return lane(c, v, n, size)[size-1]>>7 != 0 }

// SegmentBase returns the base of g's segment.
func SegmentBase(c *emu.CPU, g *Insn) uint64 {
	switch g.Mem.Seg {
	case x86.SegFS:
		return c.FSBase
	case x86.SegGS:
		return c.GSBase
	}
	return 0
}

// EffectiveAddr returns the address of g's memory operand.
func EffectiveAddr(c *emu.CPU, g *Insn) emu.Addr {
	m := &g.Mem
	a := uint64(m.Disp)
	if m.RIPRel {
		a += uint64(g.Next())
	}
	if m.Base != x86.NoReg {
		a += c.Regs[m.Base]
	}
	if m.Index != x86.NoReg {
		a += c.Regs[m.Index] * uint64(m.Scale)
	}
	if m.AddrSize == 4 {
		a &= 0xffffffff
	}
	return emu.Addr(a + SegmentBase(c, g))
}

// Canonical reports whether a fits into 48 bits, sign-extended.
func Canonical(a emu.Addr) bool { return int64(a)>>47 == 0 || int64(a)>>47 == -1 }
