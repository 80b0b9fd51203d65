package exec

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// A Machine is what instructions work on besides the CPU.
type Machine struct {
	Mem   *mem.Space
	Model *emu.Model
	// Env gives what an instruction's result may depend on besides CPU and memory.
	Env emu.Env
	// Piece is how many iterations of a repeated string instruction one Execute makes at most. If more are left, RIP is at
	// the instruction again.
	Piece uint64
}

// Execute executes one instruction of kind Trap on c, whose RIP is behind it.
func (m *Machine) Execute(c *emu.CPU, g *Insn) *emu.Fault {
	switch g.Op {
	case x86.CPUID:
		a, b, cx, d := m.Model.CPUID(uint32(c.Regs[emu.RAX]), uint32(c.Regs[emu.RCX]))
		c.Regs[emu.RAX], c.Regs[emu.RBX], c.Regs[emu.RCX], c.Regs[emu.RDX] = uint64(a), uint64(b), uint64(cx), uint64(d)
	case x86.XGETBV:
		if uint32(c.Regs[emu.RCX]) != 0 {
			return &emu.Fault{Vector: emu.VecGP}
		}
		c.Regs[emu.RAX], c.Regs[emu.RDX] = XFeatures, 0
	case x86.RDTSC, x86.RDTSCP:
		t := m.Env.TSC()
		c.Regs[emu.RAX], c.Regs[emu.RDX] = t&0xffffffff, t>>32
		if g.Op == x86.RDTSCP {
			c.Regs[emu.RCX] = 0
		}
	case x86.RDRAND, x86.RDSEED:
		setReg(c, g.Args[0].Reg, g.OpSize, m.Env.Random())
		c.Flags = c.Flags&^uint64(x86.StatusFlags) | emu.FlagCF
	case x86.RDPID:
		c.Regs[g.Args[0].Reg] = 0
	case x86.PUSHF:
		n := uint64(g.OpSize)
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], c.Flags)
		return m.push(c, b[:n])
	case x86.POPF:
		return m.popf(c, g)
	case x86.INT3:
		return &emu.Fault{Vector: emu.VecBP}
	case x86.RDFSBASE:
		setReg(c, g.Args[0].Reg, g.OpSize, c.FSBase)
	case x86.RDGSBASE:
		setReg(c, g.Args[0].Reg, g.OpSize, c.GSBase)
	case x86.WRFSBASE:
		return setBase(&c.FSBase, truncate(c.Regs[g.Args[0].Reg], g.OpSize))
	case x86.WRGSBASE:
		return setBase(&c.GSBase, truncate(c.Regs[g.Args[0].Reg], g.OpSize))
	case x86.INT:
		if n := uint8(g.Imm); n == emu.VecBP || n == emu.VecOF {
			return &emu.Fault{Vector: n}
		}
		return &emu.Fault{Vector: emu.VecGP}
	default:
		if privileged[g.Op] {
			return &emu.Fault{Vector: emu.VecGP}
		}
		return m.emulateRare(c, g)
	}
	return nil
}

// setBase writes a segment base, which must be canonical.
func setBase(base *uint64, x uint64) *emu.Fault {
	if !Canonical(emu.Addr(x)) {
		return &emu.Fault{Vector: emu.VecGP}
	}
	*base = x
	return nil
}

// Canonical reports whether a fits into 48 bits, sign-extended.
func Canonical(a emu.Addr) bool { return int64(a)>>47 == 0 || int64(a)>>47 == -1 }

// truncate cuts x to size bytes.
func truncate(x uint64, size uint8) uint64 {
	if size >= 8 {
		return x
	}
	return x & (1<<(8*size) - 1)
}

// setReg writes a general register as an instruction with a destination of size bytes does.
func setReg(c *emu.CPU, r x86.Reg, size uint8, x uint64) {
	switch size {
	case 8:
		c.Regs[r] = x
	case 4:
		c.Regs[r] = x & 0xffffffff
	default:
		m := uint64(1)<<(8*size) - 1
		c.Regs[r] = c.Regs[r]&^m | x&m
	}
}

// push writes b below RSP.
func (m *Machine) push(c *emu.CPU, b []byte) *emu.Fault {
	a := emu.Addr(c.Regs[emu.RSP]) - emu.Addr(len(b))
	if f := m.write(a, b); f != nil {
		return f
	}
	c.Regs[emu.RSP] = uint64(a)
	return nil
}

// write writes guest memory, or says how that faults.
func (m *Machine) write(a emu.Addr, b []byte) *emu.Fault {
	// Nothing is written if not all can be.
	if n := m.Mem.Accessible(a, uint64(len(b)), mem.Write); n < uint64(len(b)) {
		return accessFault(a, int(n), true)
	}
	if n := m.Mem.Write(a, b); n < len(b) {
		return accessFault(a, n, true)
	}
	return nil
}

// read reads guest memory, or says how that faults.
func (m *Machine) read(a emu.Addr, b []byte) *emu.Fault {
	if n := m.Mem.Read(a, b); n < len(b) {
		return accessFault(a, n, false)
	}
	return nil
}

// accessFault is the fault of an access to a whose first n bytes are accessible.
func accessFault(a emu.Addr, n int, write bool) *emu.Fault {
	if !Canonical(a) {
		return &emu.Fault{Vector: emu.VecGP}
	}
	return &emu.Fault{Vector: emu.VecPF, Addr: a + emu.Addr(n), Write: write}
}

// popf changes the flags user code may change.
func (m *Machine) popf(c *emu.CPU, g *Insn) *emu.Fault {
	var b [8]byte
	if f := m.read(emu.Addr(c.Regs[emu.RSP]), b[:g.OpSize]); f != nil {
		return f
	}
	may := truncate(emu.UserFlags, g.OpSize)
	c.Flags = c.Flags&^may | binary.LittleEndian.Uint64(b[:])&may
	c.Regs[emu.RSP] += uint64(g.OpSize)
	return nil
}

// effective returns the address of g's memory operand.
func effective(c *emu.CPU, g *Insn) emu.Addr {
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
	return emu.Addr(a + segmentBase(c, g))
}
