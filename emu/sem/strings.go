package sem

import (
	"encoding/binary"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// A stringOp is a string instruction with 32-bit addresses or an FS or GS base, which the host's cannot do
// in guest memory.
type stringOp struct {
	m    *Machine
	c    *emu.CPU
	g    *guest.Insn
	size uint64
	mask uint64 // of an address register
}

// stringInsn executes it, with as many of its repetitions as make a piece.
func (m *Machine) stringInsn(c *emu.CPU, g *guest.Insn) *emu.Fault {
	s := stringOp{m: m, c: c, g: g, size: uint64(g.OpSize), mask: ^uint64(0)}
	if g.Mem.AddrSize == 4 {
		s.mask = 1<<32 - 1
	}
	if !g.Rep && !g.Repne {
		return s.once()
	}
	conditional := g.Op == x86.CMPS || g.Op == x86.SCAS
	s.cut()
	flags := c.Flags
	for n := m.Piece; s.reg(emu.RCX) != 0; n-- {
		if n == 0 {
			c.RIP = g.PC
			return nil
		}
		if f := s.once(); f != nil {
			c.Flags = flags // SDM Vol. 2, REP: as before the whole instruction
			return f
		}
		s.advance(emu.RCX, ^uint64(0))
		if conditional && (c.Flags&emu.FlagZF != 0) == g.Repne {
			return nil
		}
	}
	return nil
}

// cut clears the upper halves of registers that CPUs clear before the first iteration: RCX, and with
// MOVS and STOS the addresses.
func (s *stringOp) cut() {
	s.advance(emu.RCX, 0)
	if s.g.Op == x86.MOVS {
		s.advance(emu.RSI, 0)
	}
	if s.g.Op == x86.MOVS || s.g.Op == x86.STOS {
		s.advance(emu.RDI, 0)
	}
}

func (s *stringOp) reg(r int) uint64 { return s.c.Regs[r] & s.mask }

// advance adds n to an address register.
func (s *stringOp) advance(r int, n uint64) { s.c.Regs[r] = (s.c.Regs[r] + n) & s.mask }

// once executes one iteration; after a fault nothing has changed.
func (s *stringOp) once() *emu.Fault {
	var a, b [8]byte
	binary.LittleEndian.PutUint64(a[:], s.c.Regs[emu.RAX])
	fromSI := s.g.Op == x86.MOVS || s.g.Op == x86.LODS || s.g.Op == x86.CMPS
	toDI := s.g.Op != x86.LODS
	di := emu.Addr(s.reg(emu.RDI))
	if s.g.Op == x86.CMPS || s.g.Op == x86.SCAS {
		if f := s.m.read(di, b[:s.size]); f != nil {
			return f
		}
	}
	if fromSI {
		if f := s.m.read(s.source(), a[:s.size]); f != nil {
			return f
		}
	}
	switch s.g.Op {
	case x86.MOVS, x86.STOS:
		if f := s.m.write(di, a[:s.size]); f != nil {
			return f
		}
	case x86.LODS:
		setReg(s.c, x86.RAX, s.g.OpSize, binary.LittleEndian.Uint64(a[:]))
	default:
		s.compare(binary.LittleEndian.Uint64(a[:]), binary.LittleEndian.Uint64(b[:]))
	}
	step := s.size
	if s.c.Flags&emu.FlagDF != 0 {
		step = -step
	}
	if fromSI {
		s.advance(emu.RSI, step)
	}
	if toDI {
		s.advance(emu.RDI, step)
	}
	return nil
}

// source returns the address of the source.
func (s *stringOp) source() emu.Addr {
	return emu.Addr(s.reg(emu.RSI) + guest.SegmentBase(s.c, s.g))
}

// compare sets the flags as CMP a, b does.
func (s *stringOp) compare(a, b uint64) {
	a, b = truncate(a, s.g.OpSize), truncate(b, s.g.OpSize)
	r := truncate(a-b, s.g.OpSize)
	sign := uint64(1) << (8*s.size - 1)
	var f uint64
	if a < b {
		f |= emu.FlagCF
	}
	if r == 0 {
		f |= emu.FlagZF
	}
	if r&sign != 0 {
		f |= emu.FlagSF
	}
	if (a^b)&(a^r)&sign != 0 {
		f |= emu.FlagOF
	}
	if (a^b^r)&16 != 0 {
		f |= emu.FlagAF
	}
	if bits.OnesCount8(uint8(r))&1 == 0 {
		f |= emu.FlagPF
	}
	s.c.Flags = s.c.Flags&^uint64(x86.StatusFlags) | f
}
