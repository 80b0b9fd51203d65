package sem

import (
	"math/bits"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// A Machine is what instructions work on besides the CPU.
type Machine struct {
	Mem   *mem.Space
	Model *emu.Model
	// Env gives what an instruction's result may depend on besides CPU and memory.
	Env emu.Env
	// Piece is how many iterations of a repeated string instruction one Execute makes at most. If more are left, RIP is
	// at the instruction again.
	Piece uint64
	// area is where XRSTOR reads to.
	area []byte
}

// semantics executes one instruction on c, whose RIP is behind it. If it returns a fault, nothing has changed, with the
// exceptions that the package's comment names.
type semantics = func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault

// Of returns the semantics of g, nil if there are none.
func Of(g *guest.Insn) func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	if guest.Privileged(g.Op) {
		return func(*Machine, *emu.CPU, *guest.Insn) *emu.Fault { return generalProtection() }
	}
	if s := system(); g.Kind == guest.Emulated && g.Enc != x86.EVEX && int(g.Op) < len(s) && s[g.Op] != nil {
		return s[g.Op]
	}
	switch r := rowOf(g.Op); {
	case g.Enc == x86.EVEX:
		return r.evex
	case g.Kind == guest.Emulated && r.emulated != nil:
		return r.emulated
	default:
		return r.plain
	}
}

// WordsOf returns what g does to each 64-bit word of its two sources, nil if there is more to it.
func WordsOf(g *guest.Insn) func(a, b uint64) uint64 { return rowOf(g.Op).words }

// Execute executes g on c, whose RIP is behind it.
func (m *Machine) Execute(c *emu.CPU, g *guest.Insn) *emu.Fault {
	execute := Of(g)
	if execute == nil {
		panic("BUG: no semantics of " + g.Op.String())
	}
	f := execute(m, c, g)
	if f == nil && m.ZeroesBeyond(g) {
		zeroBeyond(c.FP, g.VecWrite)
	}
	return f
}

// MarkBus marks f as a bus error if it is one: the page may be accessed, but lies behind the end of the file that is
// mapped there.
func (m *Machine) MarkBus(f *emu.Fault) {
	if f.Vector != emu.VecPF || f.Exec || f.Addr >= m.Mem.Limit() {
		return
	}
	prot := mem.Read
	if f.Write {
		prot = mem.Write
	}
	f.Bus = m.Mem.Accessible(f.Addr, 1, prot) == 1
}

// ZeroesBeyond reports whether g, besides what its semantics say, zeroes what its registers have beyond 256 bits: those
// with a VEX prefix do, on a CPU that has AVX-512.
func (m *Machine) ZeroesBeyond(g *guest.Insn) bool {
	return g.Enc == x86.VEX && g.VecWrite != 0 && m.Model.XCR0&emu.XZMMH != 0
}

// Wide reports whether g needs AVX-512, which the guest's CPU has, or one of the features that come with it: an engine
// leaves it to Execute on a host that lacks that.
func (m *Machine) Wide(g *guest.Insn) bool {
	return m.Model.XCR0&emu.XZMMH != 0 && (needsAVX512(g) || m.ZeroesBeyond(g) || slices.Contains(guest.Further, g.Feature))
}

// EndsRun reports whether a straight run of instructions ends behind g, for the budget (emu.Engine): engines stop at g,
// or leave it to Execute on some host. It does not depend on this one.
func (m *Machine) EndsRun(g *guest.Insn) bool {
	return g.Kind.Ends() || g.Kind == guest.Plain && m.Wide(g)
}

// needsAVX512 reports whether a CPU without AVX-512 lacks g's encoding, or the mask registers that it names.
func needsAVX512(g *guest.Insn) bool {
	for i := range g.NArgs {
		if g.Args[i].Kind == x86.ArgMask {
			return true
		}
	}
	return g.Enc == x86.EVEX
}

// FaultsByVendor reports whether vendors' CPUs differ in what a page fault of g leaves, or in which address it tells:
// stores of elements that are selected, gathers, accesses in parts, and those that do something else in front of the
// access. Executed again behind the fault, g leaves here what it does on Intel's CPUs.
func FaultsByVendor(g *guest.Insn) bool {
	switch g.Op {
	case x86.VGATHERDPS, x86.VGATHERDPD, x86.VGATHERQPS, x86.VGATHERQPD, x86.VPGATHERDD, x86.VPGATHERDQ, x86.VPGATHERQD, x86.VPGATHERQQ:
		return g.Enc == x86.VEX
	case x86.MASKMOVDQU, x86.VMASKMOVDQU, x86.VCVTPS2PH, x86.FNSTENV, x86.FLDENV:
		return true
	case x86.VMASKMOVPS, x86.VMASKMOVPD, x86.VPMASKMOVD, x86.VPMASKMOVQ:
		return g.Args[0].Kind == x86.ArgMem
	case x86.FSTP, x86.FBSTP:
		return g.Args[0].Kind == x86.ArgMem && g.Args[0].Size > 8
	case x86.MOVD, x86.MOVQ, x86.MOVNTQ:
		return g.Args[1].Kind == x86.ArgMMX
	}
	return g.Mask != 0 && g.Args[0].Kind == x86.ArgMem
}

// zeroBeyond does that to a set of registers.
func zeroBeyond(x *emu.XState, regs uint32) {
	for ; regs != 0; regs &= regs - 1 {
		clear(x[emu.XOffZMMH+32*bits.TrailingZeros32(regs):][:32])
	}
}

// generalProtection returns #GP.
func generalProtection() *emu.Fault { return &emu.Fault{Vector: emu.VecGP} }

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
	if v := m.Mem.Direct(a, uint64(len(b)), mem.Write); v != nil {
		copy(v, b)
		return nil
	}
	// Nothing is written if not all can be.
	if n := m.Mem.Reachable(a, uint64(len(b)), mem.Write); n < uint64(len(b)) {
		return accessFault(a, int(n), true)
	}
	return m.writeReachable(a, b)
}

// writeReachable is write for memory that has been found to be reachable, for which the host is asked how long a mapped
// file is.
func (m *Machine) writeReachable(a emu.Addr, b []byte) *emu.Fault {
	if n := m.Mem.Write(a, b); n < len(b) {
		return accessFault(a, n, true)
	}
	return nil
}

// read reads guest memory, or says how that faults.
func (m *Machine) read(a emu.Addr, b []byte) *emu.Fault {
	if v := m.Mem.Direct(a, uint64(len(b)), mem.Read); v != nil {
		copy(b, v)
		return nil
	}
	if n := m.Mem.Read(a, b); n < len(b) {
		return accessFault(a, n, false)
	}
	return nil
}

// accessFault is the fault of an access to a whose first n bytes are accessible.
func accessFault(a emu.Addr, n int, write bool) *emu.Fault {
	if !guest.Canonical(a) {
		return generalProtection()
	}
	return &emu.Fault{Vector: emu.VecPF, Addr: a + emu.Addr(n), Write: write}
}
