//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestSequences compares runs of random instructions: what a translator keeps pending from one to the next,
// and what it knows about each when a fault comes in between.
func TestSequences(t *testing.T) {
	list := func(u *engineUnderTest) []*template { return sequenceTemplates(supportedFeatures(u.model(t)), u.fits) }
	// What libunicorn keeps of so many instructions takes a GiB: each alone.
	groups := together(engines, func(a, b *engineUnderTest) bool { return a.tolerates == nil && slices.Equal(list(a), list(b)) })
	for _, g := range groups {
		t.Run(g[0].name, func(t *testing.T) {
			c := newComparison(t, ownModel(t), g...)
			list := list(&g[0])
			r := newRand("sequences")
			for range cases(4000, 20_000) {
				c.addSequence(r, list)
			}
			c.finish()
		})
	}
}

// dataReg points to the data page throughout a sequence.
const dataReg = x86.R14

// sequenceTemplates are those of instructions that need no preparation of registers.
func sequenceTemplates(supported map[x86.Feature]bool, fits func(*x86.Inst) bool) []*template {
	all := templates()
	var list []*template
	for k := range all {
		t := &all[k]
		i := &t.inst
		if fits != nil && !fits(i) || !supported[i.Feature] || skipped(i) != "" || i.Flow != x86.FlowNext || i.Feature == x86.FeatPRIVILEGED ||
			transcendental[i.Op] || savesState[i.Op] || i.Rep || i.Repne || i.Mem.VSIB || unfit[i.Op] || i.HasMem && i.ModRMOff == 0 {
			continue
		}
		implicit := false
		for ref := range i.References {
			implicit = implicit || ref.At != x86.AtMem && ref.At != x86.AtRSP
		}
		for _, a := range i.Args[:i.NArgs] {
			implicit = implicit || a.Kind == x86.ArgSeg
		}
		if !implicit {
			list = append(list, t)
		}
	}
	return list
}

// unfit are instructions that move the stack, change segment bases or trap too often.
var unfit = map[x86.Op]bool{
	x86.POPF: true, x86.ENTER: true, x86.LEAVE: true, x86.WRFSBASE: true, x86.WRGSBASE: true, x86.LDMXCSR: true, x86.VLDMXCSR: true,
	x86.FLDCW: true, x86.DIV: true, x86.IDIV: true,
}

// addSequence fills a slot.
func (c *comparison) addSequence(r *rand.Rand, list []*template) {
	const states = 3
	if c.batch.full(states) {
		c.flush()
	}
	b := c.batch
	world := int(r.Uint32N(2))
	start := b.slot(world)
	tc := &testCase{start: start, from: len(b.jobs)}
	base := uint64(worlds[world])
	for len(tc.all) < slotSize-20 {
		at := start + emu.Addr(len(tc.all))
		code := sequenceInsn(r, list, base, at)
		if code == nil {
			continue
		}
		tc.insns = append(tc.insns, at)
		tc.all = append(tc.all, code...)
	}
	tc.insns = append(tc.insns, start+emu.Addr(len(tc.all)))
	b.put(world, start, tc.all)
	for range states {
		s := scene{r: r, world: world, inst: &tc.inst, at: start}
		st := s.state()
		st.Regs[dataReg] = base + dataOff + 1024 + uint64(r.Uint32N(100))*16
		st.Regs[emu.RSP] = base + stackOff + 1024 + uint64(r.Uint32N(64))*16
		if r.Uint32N(8) == 0 {
			st.Regs[dataReg] = s.target()
		}
		if r.Uint32N(8) == 0 {
			st.Regs[emu.RSP] = base + stackOff + uint64(r.Uint32N(64))
		}
		b.jobs = append(b.jobs, st)
	}
	tc.to = len(b.jobs)
	c.cases = append(c.cases, tc)
}

// sequenceInsn returns one instruction, or nil.
func sequenceInsn(r *rand.Rand, list []*template, base uint64, at emu.Addr) []byte {
	reg := byte(r.Uint32N(16))
	switch r.Uint32N(12) {
	case 0:
		return []byte{0x70 | byte(r.Uint32N(16)), 0} // jcc +0
	case 1, 2:
		return []byte{0x40 | reg>>3, 0x50 | reg&7} // push
	case 3:
		if reg != byte(dataReg) && reg != byte(x86.RSP) {
			return []byte{0x40 | reg>>3, 0x58 | reg&7} // pop
		}
		return []byte{0xeb, 0} // jmp +0
	case 4:
		return []byte{0xe8, 0, 0, 0, 0} // call +0
	}
	t := pick(r, list)
	_, inst, code := t.vary(r, func(s *shape) {
		*s = shape{base: byte(dataReg), index: 4, mod: byte(r.Uint32N(2)), disp: int32(r.Uint32N(7))*16 - 48}
		if r.Uint32N(8) == 0 {
			s.disp += int32(r.Uint32N(16))
		}
		switch r.Uint32N(6) {
		case 0:
			s.base, s.mod = byte(x86.RSP), 1
		case 1:
			s.rip = true
		}
	})
	written := inst.GPRWrite >> dataReg & 1
	if inst.Op != x86.PUSH && inst.Op != x86.POP && inst.Op != x86.PUSHF {
		written |= inst.GPRWrite >> x86.RSP & 1
	}
	if inst.Op == x86.POP && inst.NArgs > 0 && inst.Args[0].Kind == x86.ArgGPR && inst.Args[0].Reg == x86.RSP {
		return nil
	}
	if written != 0 || differsByVendor(&inst) != "" || toleratedByVendor(&inst) {
		return nil
	}
	if inst.HasMem && inst.Mem.RIPRel {
		target := base + dataOff + 1024 + uint64(r.Uint32N(64))*16
		binary.LittleEndian.PutUint32(code[inst.DispOff:], uint32(target-uint64(at)-uint64(len(code))))
	}
	return code
}

// TestStrings compares string instructions more thoroughly: long counts, faults in the middle, overlaps.
func TestStrings(t *testing.T) {
	c := newComparison(t, ownModel(t), engines...)
	n := cases(40, 1000)
	for k, tmpl := range templates() {
		switch tmpl.inst.Op {
		case x86.MOVS, x86.STOS, x86.LODS, x86.SCAS, x86.CMPS:
		default:
			continue
		}
		r := rand.New(rand.NewPCG(uint64(k), 13))
		for range n {
			e, inst, code := tmpl.vary(r, func(to *shape) { *to = randomShape(r) })
			c.addEncoding(r, &e, &inst, code, 4)
		}
	}
	c.finish()
}
