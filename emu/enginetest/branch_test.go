//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// Places in a branch's slot: the branch itself, and where it can go. All hold INT3.
const (
	branchAt   = 48
	backAt     = 8
	forwardAt  = 112
	landingGap = 4
)

// TestBranches compares all branches: taken and not, forwards and backwards, to code that ends at
// once and to code that first looks at flags and stack.
func TestBranches(t *testing.T) {
	c := newComparison(t, ownModel(t), engines...)
	forms := map[int]bool{}
	n := cases(12, 300)
	for k, tmpl := range templates() {
		if !isBranch(&tmpl.inst) {
			continue
		}
		forms[tmpl.form] = true
		r := rand.New(rand.NewPCG(uint64(k), 11))
		for range n {
			e, inst, code := tmpl.vary(r, func(s *shape) { *s = randomShape(r) })
			c.addBranch(r, &e, &inst, code)
		}
	}
	c.finish()
	for form := range forms {
		require.True(t, c.succeeded[form], "no branch of form %s came through", formLines(t)[form])
	}
	t.Logf("%d forms", len(forms))
}

// befores and afters of branches. The flags they change make translators place counters elsewhere.
var branchWraps = [][]byte{
	nil,
	{0x48, 0x39, 0xd8},             // cmp rax, rbx
	{0x53, 0x55},                   // push rbx; push rbp
	{0x48, 0x39, 0xd8, 0x50},       // cmp rax, rbx; push rax
	{0x48, 0xff, 0xc0},             // inc rax
	{0x48, 0xff, 0xc8, 0x56, 0x57}, // dec rax; push rsi; push rdi
}

var landings = [][]byte{
	nil,
	{0x48, 0x39, 0xd8}, // cmp rax, rbx
	{0x0f, 0x92, 0xc0}, // setc al
	{0x5e, 0x5a},       // pop rsi; pop rdx
}

// addBranch adds a branch to either side of its slot.
func (c *comparison) addBranch(r *rand.Rand, e *encoding, inst *x86.Inst, code []byte) {
	states := 4
	if inst.HasMem && inst.Mem.Base == x86.NoReg && inst.Mem.Index == x86.NoReg {
		states = 1 // the address is in the code
	}
	if c.batch.full(states) {
		c.flush()
	}
	b := c.batch
	world := int(r.Uint32N(2))
	if inst.HasMem && inst.Mem.AddrSize == 4 && inst.Mem.Seg == x86.SegNone {
		world = 0 // the other is out of reach
	}
	slot := b.slot(world)
	before := pick(r, branchWraps)
	switch {
	case inst.Flow == x86.FlowRet || inst.HasMem && inst.Mem.Base == x86.RSP:
		before = branchWraps[r.Uint32N(2)]
	case inst.GPRRead>>x86.RAX&1 != 0:
		before = branchWraps[r.Uint32N(4)]
	}
	tc := &testCase{inst: *inst, at: slot + branchAt, start: slot + branchAt - emu.Addr(len(before)), from: len(b.jobs)}
	target := slot + pick(r, []emu.Addr{backAt, forwardAt})
	next := tc.at + emu.Addr(len(code))
	switch {
	case inst.NArgs > 0 && inst.Args[0].Kind == x86.ArgRel:
		disp := code[inst.ImmOff:]
		for i := range disp {
			disp[i] = byte(int64(target-next) >> (8 * i))
		}
	case inst.Flow == x86.FlowRet && inst.ImmLen > 0:
		binary.LittleEndian.PutUint16(code[inst.ImmOff:], uint16(r.Uint32N(64)))
	}
	require.NoError(c.t, x86.Decode(code, &tc.inst))
	tc.code = code
	s := scene{r: r, world: world, inst: &tc.inst, code: code, at: tc.at}
	for range states {
		st := s.state()
		st.RIP = tc.start
		s.aim(&st, target)
		b.jobs = append(b.jobs, st)
	}
	tc.to = len(b.jobs)
	tc.all = append(append([]byte(nil), before...), code...)
	b.put(world, tc.start, tc.all)
	b.put(world, slot+backAt, pick(r, landings))
	b.put(world, slot+forwardAt, pick(r, landings))
	if inst.Flow != x86.FlowJmp && inst.Flow != x86.FlowJmpInd {
		b.put(world, next, pick(r, landings))
	}
	c.cases = append(c.cases, tc)
}
