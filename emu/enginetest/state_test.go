package enginetest

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A scene is where an instruction is to run: what its operands are made for.
type scene struct {
	r     *rand.Rand
	world int
	inst  *x86.Inst
	code  []byte // may be changed, displacements are
	at    emu.Addr
	// wide says that the CPU has AVX-512.
	wide bool
	// pushed is by how much the stack pointer is lower than at the start of the case.
	pushed uint64
}

func (s *scene) base() uint64 { return uint64(worlds[s.world]) }

// target chooses the address of a memory operand: in the data page mostly.
func (s *scene) target() uint64 {
	r, data := s.r, s.base()+dataOff
	switch r.Uint32N(24) {
	case 0: // across the end of what can be written
		return data + emu.PageSize - uint64(r.Uint32N(64))
	case 1: // what cannot be written
		return s.base() + roOff + uint64(r.Uint32N(60))*64
	case 2: // across the end of what can be read
		return s.base() + roOff + emu.PageSize - uint64(r.Uint32N(64))
	case 3: // across the start
		return data - uint64(r.Uint32N(64))
	case 4:
		return pick(r, []uint64{0, 8, 0xfff, 0x70000000, s.base() + 0x200000, 0x4141414141414141, 0xfffffffffffffff0, 0x8000000000000000})
	case 5, 6, 7, 8:
		return data + 1024 + uint64(r.Uint32N(1024))
	case 9, 10:
		return data + 1024 + uint64(r.Uint32N(64))*16
	}
	return data + 1024 + uint64(r.Uint32N(24))*64
}

// state makes a state for s.
func (s *scene) state() nativeState {
	st := s.anywhere()
	s.fit(&st)
	return st
}

// anywhere makes a state that knows nothing of the instruction.
func (s *scene) anywhere() nativeState {
	r := s.r
	st := nativeState{FP: randomFP(r), World: uint32(s.world), Image: r.Uint32N(numImages), RIP: s.at}
	if s.wide {
		widen(r, &st.FP)
	}
	for i := range st.Regs {
		st.Regs[i] = integer(r)
	}
	st.Flags = emu.FlagR1 | emu.FlagIF | uint64(r.Uint32())&uint64(x86.StatusFlags)
	st.FSBase, st.GSBase = s.base()+dataOff, s.base()+stackOff
	st.Regs[emu.RSP] = s.base() + stackOff + emu.PageSize/2 + uint64(r.Uint32N(16))*16
	switch r.Uint32N(24) {
	case 0:
		st.Regs[emu.RSP] = s.base() + stackOff + uint64(r.Uint32N(40))
	case 1:
		st.Regs[emu.RSP] = s.base() + stackOff + emu.PageSize - uint64(r.Uint32N(40))
	case 2:
		st.Regs[emu.RSP] += uint64(r.Uint32N(16))
	}
	return st
}

// fit has the instruction find its operands in st.
func (s *scene) fit(st *nativeState) {
	s.implicit(st)
	if s.inst.HasMem && s.inst.Op != x86.LEA && s.inst.Op != x86.NOP {
		s.solve(st, s.target())
	}
	s.particular(st)
}

// implicit prepares registers an instruction uses as addresses without saying so.
func (s *scene) implicit(st *nativeState) {
	r, i := s.r, s.inst
	for ref := range i.References {
		switch ref.At {
		case x86.AtRSI:
			st.Regs[emu.RSI] = s.segmented(st, s.target())
		case x86.AtRDI:
			st.Regs[emu.RDI] = s.target()
			if i.Op == x86.MASKMOVQ || i.Op == x86.MASKMOVDQU {
				st.Regs[emu.RDI] = s.segmented(st, s.target())
			}
		case x86.AtXlat:
			st.Regs[emu.RBX] = s.segmented(st, s.target())
		case x86.AtRBP:
			st.Regs[emu.RBP] = s.base() + stackOff + emu.PageSize/2 + uint64(r.Uint32N(8))*8
		case x86.AtBitString:
			if reg := i.Args[1].Reg; reg != i.Mem.Base && reg != i.Mem.Index {
				st.Regs[reg] = uint64(int64(r.Uint32N(4000)) - 2000)
			}
		}
	}
	if i.Op == x86.ENTER {
		st.Regs[emu.RBP] = s.base() + stackOff + emu.PageSize/2 + uint64(r.Uint32N(8))*8
	}
	if i.Op == x86.MOVS && r.Uint32N(3) == 0 { // overlapping
		st.Regs[emu.RDI] = st.Regs[emu.RSI] + uint64(r.Uint32N(40)) - 20
	}
	if i.FlagsRead&x86.DF != 0 {
		st.Regs[emu.RCX] = uint64(r.Uint32N(3) * r.Uint32N(20))
		if r.Uint32N(8) == 0 {
			st.Regs[emu.RCX] = uint64(r.Uint32N(3000))
		}
		if r.Uint32N(4) == 0 {
			st.Flags |= emu.FlagDF
		}
		if r.Uint32N(2) == 0 {
			st.Image = imageConstant
		}
		if i.Mem.AddrSize == 4 {
			for _, reg := range []int{emu.RSI, emu.RDI, emu.RCX} {
				st.Regs[reg] = st.Regs[reg]&0xffffffff | r.Uint64()<<32
			}
		}
	}
}

// segmented returns what a register must hold so that it reaches address in the instruction's
// segment, whose base it sets.
func (s *scene) segmented(st *nativeState, address uint64) uint64 {
	base := &st.FSBase
	switch s.inst.Mem.Seg {
	case x86.SegNone:
		return address
	case x86.SegGS:
		base = &st.GSBase
	}
	if address>>47 != 0 { // the base must be canonical
		return address
	}
	offset := uint64(s.r.Uint32N(1 << 20))
	if !userSetsBases {
		offset = min(offset, address) // the kernel sets no base in its own half
	}
	*base = address - offset
	return offset
}

// solve sets registers, segment bases and displacements so that the memory operand lies at address, or near it.
func (s *scene) solve(st *nativeState, address uint64) {
	m, r := &s.inst.Mem, s.r
	if s.inst.ModRMOff == 0 { // moffs
		s.segmented(st, address)
		return
	}
	address = s.segmented(st, address)
	patch := func(disp uint64) { binary.LittleEndian.PutUint32(s.code[s.inst.DispOff:], uint32(disp)) }
	disp := uint64(m.Disp)
	switch {
	case m.RIPRel:
		patch(address - uint64(s.at) - uint64(s.inst.Len))
		return
	case m.Base == x86.NoReg && m.Index == x86.NoReg:
		patch(address)
		return
	case m.VSIB:
		s.vectorIndex(st)
		if m.Base != x86.NoReg {
			st.Regs[m.Base] = address - disp
		}
	case m.Base == x86.NoReg:
		st.Regs[m.Index] = uint64(int64(address-disp) / int64(m.Scale))
	case m.Index == x86.NoReg:
		st.Regs[m.Base] = address - disp
	case m.Base == m.Index:
		st.Regs[m.Base] = uint64(int64(address-disp) / int64(m.Scale+1))
	default:
		// RSP must stay where pushes find memory, or fault on all engines.
		if m.Base == x86.RSP || r.Uint32N(4) != 0 {
			st.Regs[m.Index] = uint64(int64(r.Uint32N(2000)) - 1000)
		}
		st.Regs[m.Base] = address - disp - st.Regs[m.Index]*uint64(m.Scale)
	}
	if m.AddrSize == 4 {
		if m.Base != x86.NoReg && m.Base != x86.RSP {
			st.Regs[m.Base] ^= r.Uint64() << 32
		}
		if m.Index != x86.NoReg && !m.VSIB {
			st.Regs[m.Index] ^= r.Uint64() << 32
		}
	}
	if m.Base == x86.RSP {
		st.Regs[emu.RSP] += s.pushed
	}
}

// vectorIndex makes the index of a gather or scatter small, so that most of its lanes lie in mapped memory.
func (s *scene) vectorIndex(st *nativeState) {
	reg, step := int(s.inst.Mem.Index), s.inst.IndexSize()
	for lane := 0; lane < 64; lane += step {
		at := emu.XOffXMM + 16*reg + lane
		switch {
		case reg >= 16:
			at = emu.XOffHiZMM + 64*(reg-16) + lane
		case lane >= 32:
			at = emu.XOffZMMH + 32*reg + lane - 32
		case lane >= 16:
			at = emu.XOffYMMH + 16*reg + lane - 16
		}
		if lane >= 32 && !s.wide {
			return
		}
		x := uint64(int64(s.r.Uint32N(200)) - 100)
		if step == 4 {
			binary.LittleEndian.PutUint32(st.FP[at:], uint32(x))
		} else {
			binary.LittleEndian.PutUint64(st.FP[at:], x)
		}
	}
}

// patch writes b to memory at a, if that is memory a case can write.
func (s *scene) patch(st *nativeState, a uint64, b []byte) {
	switch off := a - s.base(); {
	case off >= dataOff && off+uint64(len(b)) <= dataOff+emu.PageSize:
		st.PatchOff = uint32(off - dataOff)
	case off >= stackOff && off+uint64(len(b)) <= stackOff+emu.PageSize:
		st.PatchOff = uint32(off - stackOff + emu.PageSize)
	default:
		return
	}
	st.PatchLen = uint32(copy(st.Patch[:], b))
}

// effective returns the address of the memory operand in state st.
func (s *scene) effective(st *nativeState) uint64 {
	m := &s.inst.Mem
	a := uint64(m.Disp)
	if m.RIPRel || m.Base == x86.NoReg && m.Index == x86.NoReg && s.inst.ModRMOff != 0 {
		a = uint64(int64(int32(binary.LittleEndian.Uint32(s.code[s.inst.DispOff:]))))
	}
	if m.RIPRel {
		a += uint64(s.at) + uint64(s.inst.Len)
	}
	if m.Base != x86.NoReg {
		a += st.Regs[m.Base]
		if m.Base == x86.RSP {
			a -= s.pushed
		}
	}
	if m.Index != x86.NoReg {
		a += st.Regs[m.Index] * uint64(m.Scale)
	}
	if m.AddrSize == 4 {
		a &= 0xffffffff
	}
	switch m.Seg {
	case x86.SegFS:
		a += st.FSBase
	case x86.SegGS:
		a += st.GSBase
	}
	return a
}

// selector has a segment register loaded with what Linux put there.
func (s *scene) selector(st *nativeState) {
	b := []byte{0, 0, 1, 2, 3, 4, 5, 6}
	if s.inst.Args[0].Reg == 2 {
		b[0] = 0x2b
	}
	switch src := s.inst.Args[1]; {
	case s.inst.Op == x86.POP:
		s.patch(st, st.Regs[emu.RSP]-s.pushed, b[:s.inst.OpSize])
	case src.Kind == x86.ArgMem:
		s.patch(st, s.effective(st), b[:2])
	default:
		st.Regs[src.Reg] = st.Regs[src.Reg]&^0xffff | uint64(b[0])
	}
}

// particular prepares what only some instructions need to do more than fault or nothing.
func (s *scene) particular(st *nativeState) {
	r, i := s.r, s.inst
	var b [16]byte
	if i.NArgs > 0 && i.Args[0].Kind == x86.ArgSeg {
		s.selector(st)
	}
	switch i.Op {
	case x86.WRFSBASE, x86.WRGSBASE:
		if r.Uint32N(4) != 0 {
			st.Regs[i.Args[0].Reg] &= 1<<47 - 1
		}
	case x86.DIV, x86.IDIV:
		switch r.Uint32N(4) {
		case 0:
			st.Regs[emu.RDX], st.Regs[emu.RAX] = 0, st.Regs[emu.RAX]&0xff
		case 1:
			st.Regs[emu.RDX] = 0
		case 2:
			st.Regs[emu.RDX] = uint64(int64(st.Regs[emu.RAX]) >> 63)
		}
	case x86.CMPXCHG, x86.CMPXCHG8B, x86.CMPXCHG16B:
		if r.Uint32N(2) == 0 && i.HasMem {
			half := int(i.OpSize)
			binary.LittleEndian.PutUint64(b[:], st.Regs[emu.RAX])
			if i.Op == x86.CMPXCHG8B {
				half = 4
			}
			binary.LittleEndian.PutUint64(b[half:], st.Regs[emu.RDX])
			s.patch(st, s.effective(st), b[:])
		}
	case x86.POPF: // never AC or TF
		st.Regs[emu.RSP] = s.base() + stackOff + uint64(r.Uint32N(emu.PageSize-8))
		binary.LittleEndian.PutUint64(b[:], r.Uint64()&0x80ff0ed5&^(emu.FlagTF|emu.FlagAC|1<<16))
		s.patch(st, st.Regs[emu.RSP], b[:8])
	case x86.LDMXCSR, x86.VLDMXCSR:
		if r.Uint32N(4) != 0 {
			binary.LittleEndian.PutUint32(b[:], r.Uint32()&emu.MXCSRMask)
			s.patch(st, s.effective(st), b[:4])
		}
	case x86.XSAVE, x86.XSAVE64, x86.XRSTOR, x86.XRSTOR64, x86.FXRSTOR, x86.FXRSTOR64:
		st.Regs[emu.RAX], st.Regs[emu.RDX] = st.Regs[emu.RAX]&7, 0
		st.Image = imageXSave
		m := &i.Mem
		if r.Uint32N(4) != 0 && m.Base != x86.RAX && m.Base != x86.RDX && m.Index != x86.RAX && m.Index != x86.RDX {
			s.solve(st, s.base()+dataOff+uint64(r.Uint32N(3))*1024)
		}
	}
}

// readable chooses an address for the operand of an indirect branch: what lies there must be the target, or fault.
func (s *scene) readable() uint64 {
	if s.r.Uint32N(12) == 0 {
		return pick(s.r, []uint64{0, 0x70000000, s.base() + 0x200000, 0x4141414141414141, s.base() + roOff + emu.PageSize})
	}
	return s.base() + dataOff + 64 + uint64(s.r.Uint32N(3800))
}

// aim makes an indirect branch go to target, or somewhere wrong now and then, and a LOOP end or not.
func (s *scene) aim(st *nativeState, target emu.Addr) {
	r := s.r
	if r.Uint32N(12) == 0 {
		target = pick(r, []emu.Addr{0, ^emu.Addr(0), ^emu.Addr(0) - 0xfff, 0x70000000, worlds[s.world] + dataOff, worlds[s.world] + 0x200000})
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(target))
	switch s.inst.Flow {
	case x86.FlowLoop:
		st.Regs[emu.RCX] = uint64(r.Uint32N(3))
		if r.Uint32N(3) == 0 {
			st.Regs[emu.RCX] |= uint64(r.Uint32N(3)) << 32
		}
	case x86.FlowRet:
		st.Regs[emu.RSP] = s.base() + stackOff + 1024 + uint64(r.Uint32N(100))*8
		if r.Uint32N(20) != 0 {
			s.patch(st, st.Regs[emu.RSP], b)
		} else {
			st.Regs[emu.RSP] = s.base() + stackOff + emu.PageSize - 4
		}
	case x86.FlowJmpInd, x86.FlowCallInd:
		if !s.inst.HasMem {
			st.Regs[s.inst.Args[0].Reg] = uint64(target)
		} else {
			s.solve(st, s.readable())
			s.patch(st, s.effective(st), b)
		}
	}
}

// isBranch reports whether i is one of those that TestBranches has.
func isBranch(i *x86.Inst) bool {
	switch i.Flow {
	case x86.FlowJcc, x86.FlowLoop, x86.FlowJmp, x86.FlowJmpInd, x86.FlowCall, x86.FlowCallInd, x86.FlowRet:
		return true
	}
	return false
}
