package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A testCase is a piece of code and the jobs of the batch that run it.
type testCase struct {
	inst     x86.Inst
	code     []byte   // of the instruction
	at       emu.Addr // its address
	start    emu.Addr
	insns    []emu.Addr // of all instructions in the order they run in, the final INT3 included; nil if it branches
	all      []byte
	from, to int // jobs
}

func (c *testCase) String() string {
	return fmt.Sprintf("%v % x at %v, in % x at %v", c.inst.Op, c.code, c.at, c.all, c.start)
}

// A wrap is what stands in front of an instruction or behind it.
type wrap struct {
	code   []byte
	lens   []int // of its instructions
	pushed int   // by how much it lowers RSP
}

// The registers wraps change are those the instruction does not use; %0 stands for one.
func befores(free byte) []wrap {
	return []wrap{
		{},
		{[]byte{0x48, 0x39, 0xd8}, []int{3}, 0}, // cmp rax, rbx
		{[]byte{0x50 | free&7, 0x55}, []int{1, 1}, 16},                // push free; push rbp
		{[]byte{0x6a, 0x11, 0x68, 1, 2, 3, 4}, []int{2, 5}, 16},       // push 11h; push 4030201h
		{[]byte{0xb8 | free&7, 5, 0, 0, 0}, []int{5}, 0},              // mov free, 5
		{[]byte{0x58 | free&7}, []int{1}, -8},                         // pop free
		{[]byte{0x48, 0x85, 0xc9, 0x79, 0}, []int{3, 2}, 0},           // test rcx, rcx; jns +0
		{[]byte{0x50, 0x48, 0x39, 0xd8, 0x56}, []int{1, 3, 1}, 16},    // push rax; cmp rax, rbx; push rsi
		{[]byte{0x66, 0x50, 0xeb, 0}, []int{2, 2}, 2},                 // push ax; jmp +0
		{[]byte{0x48, 0x8d, 0x64, 0x24, 0xf0, 0x53}, []int{5, 1}, 24}, // lea rsp, [rsp-10h]; push rbx
		{[]byte{0xe8, 0, 0, 0, 0, 0x58 | free&7}, []int{5, 1}, 0},     // call +0; pop free
		{[]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x9c}, []int{4, 1}, 8},        // endbr64; pushf
		{[]byte{0x90, 0x50, 0x90}, []int{1, 1, 1}, 8},                 // nop; push rax; nop
		{[]byte{0xff, 0x34, 0x24, 0x8f, 0x04, 0x24}, []int{3, 3}, 0},  // push [rsp]; pop [rsp]
	}
}

var afters = []wrap{
	{},
	{[]byte{0x48, 0x39, 0xd8}, []int{3}, 0},                      // cmp rax, rbx
	{[]byte{0x0f, 0x92, 0xc0}, []int{3}, 0},                      // setc al
	{[]byte{0x5a, 0x5e}, []int{1, 1}, 0},                         // pop rdx; pop rsi
	{[]byte{0x53, 0x41, 0x57}, []int{1, 2}, 0},                   // push rbx; push r15
	{[]byte{0x72, 0}, []int{2}, 0},                               // jc +0
	{[]byte{0x74, 0, 0x48, 0x01, 0xd8}, []int{2, 3}, 0},          // jz +0; add rax, rbx
	{[]byte{0xe8, 0, 0, 0, 0, 0x5e}, []int{5, 1}, 0},             // call +0; pop rsi
	{[]byte{0xeb, 0}, []int{2}, 0},                               // jmp +0
	{[]byte{0x54, 0x5c}, []int{1, 1}, 0},                         // push rsp; pop rsp
	{[]byte{0x48, 0x13, 0xd1, 0xb8, 1, 0, 0, 0}, []int{3, 5}, 0}, // adc rdx, rcx; mov eax, 1
	{[]byte{0x8f, 0x44, 0x24, 0xf8}, []int{4}, 0},                // pop [rsp-8]
	{[]byte{0x48, 0x0f, 0x44, 0xc1, 0x9c}, []int{4, 1}, 0},       // cmovz rax, rcx; pushf
}

// freeReg returns a register below R8, not RSP or RBP, that inst does not use.
func freeReg(r *rand.Rand, inst *x86.Inst) byte {
	used := inst.GPRRead | inst.GPRWrite | 1<<x86.RSP | 1<<x86.RBP
	for range 50 {
		if reg := byte(r.Uint32N(8)); used>>reg&1 == 0 {
			return reg
		}
	}
	return byte(x86.RBX)
}

// add puts a case with a number of states into b.
func (b *batch) add(r *rand.Rand, inst *x86.Inst, code []byte, states int) *testCase {
	world := 0
	if r.Uint32N(3) == 0 {
		world = 1
	}
	start := b.slot(world)
	before, after := pick(r, befores(freeReg(r, inst))), pick(r, afters)
	if r.Uint32N(3) == 0 || inst.Op == x86.POPF || inst.Op == x86.POP { // what was popped must not be a wrap's
		before = wrap{}
	}
	if inst.Op == x86.CMPS || inst.Op == x86.SCAS || cutsByVendor(inst) { // how they ended shows in the flags, or differs in RCX
		after = pick(r, []wrap{afters[0], afters[3], afters[4], afters[8]})
	}
	c := &testCase{inst: *inst, start: start, from: len(b.jobs)}
	a := start
	for _, list := range [][]int{before.lens, {len(code)}, after.lens, {1}} {
		for _, n := range list {
			c.insns = append(c.insns, a)
			a += emu.Addr(n)
		}
	}
	c.at = start + emu.Addr(len(before.code))
	c.code = append([]byte(nil), code...)
	s := scene{r: r, world: world, wide: b.wide, inst: &c.inst, code: c.code, at: c.at, pushed: uint64(int64(before.pushed))}
	for range states {
		st := s.state()
		st.RIP = start
		b.jobs = append(b.jobs, st)
	}
	c.to = len(b.jobs)
	c.all = append(append(append(append([]byte(nil), before.code...), c.code...), after.code...), 0xcc)
	b.put(world, start, c.all)
	return c
}

// expected adds to counts how often each instruction of a case was executed if it ended
// as the native outcome says: a REP instruction once for each iteration, and once more for the
// pass that finds its count zero or that faults.
func (c *testCase) expected(counts map[emu.Addr]uint64, job *nativeState, o *outcome) {
	for i, a := range c.insns {
		n := uint64(1)
		stopped := o.state.RIP == a
		if o.fault.Vector == emu.VecBP {
			stopped = i+1 == len(c.insns) || (c.inst.Op == x86.INT3 || c.inst.Op == x86.INT) && a == c.at
		} else if o.fault.Trap() {
			stopped = a == c.at
		}
		if a == c.at && (c.inst.Rep || c.inst.Repne) {
			n = c.iterations(job, o, stopped)
		}
		counts[a] += n
		if stopped {
			return
		}
	}
}

func (c *testCase) iterations(job *nativeState, o *outcome, faulted bool) uint64 {
	before, after := job.Regs[emu.RCX], o.state.Regs[emu.RCX]
	if c.inst.Mem.AddrSize == 4 {
		before, after = before&0xffffffff, after&0xffffffff
	}
	n := before - after
	conditional := c.inst.Op == x86.CMPS || c.inst.Op == x86.SCAS
	if before == 0 || faulted || !conditional {
		return n + 1
	}
	if equal := o.state.Flags&emu.FlagZF != 0; equal == c.inst.Repne {
		return n
	}
	return n + 1
}

// How many encodings of a template are tried, and in how many states each.
const (
	samples     = 5
	states      = 2
	fullSamples = 10
	fullStates  = 2
)
