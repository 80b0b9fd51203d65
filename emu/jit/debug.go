//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// An ending says why a block ends where it does.
type ending uint8

const (
	endLength ending = iota
	endMark
	endFetch
	endLeaves
	endBranch
	endLoop
	endOnce
	endFunction
)

// endings are what emu.Block calls them.
var endings = [...]string{
	endLength: "length: a block or a straight run has no more instructions",
	endMark:   "mark: the next instruction has one",
	endFetch:  "fetch: the next instruction cannot be fetched",
	endLeaves: "leaves: Go executes or refuses the last instruction",
	endBranch: "branch: a jump, call or return that a block does not go past",
	endLoop:   "loop: a jump to its start, which it holds as often as it may",
	endOnce:   "once: a single instruction was asked for",

	endFunction: "function: the next instruction belongs to another one, and calls are recorded",
}

// debugs reports whether blocks are to be shown.
func (e *Engine) debugs() bool { return e.Debug != nil && e.Debug.Block != nil }

// traces reports whether instructions are executed one by one to be shown.
func (e *Engine) traces() bool { return e.Debug != nil && e.Debug.Step != nil }

// debugBlock shows the block that was just translated. The code of its last instruction ends at tail.
func (e *Engine) debugBlock(t *tb, end ending, tail int) {
	b := emu.Block{
		Tail: slices.Clone(e.arena.mem[tail:t.end]), End: endings[end], Once: e.singleStep || e.runOffset != 0, Off: int(t.entry), Addr: e.hostAddr(int(t.entry)),
		Counters: []emu.BlockCounter{{Number: int(t.counter), Insn: int(t.counted), What: "entries, counted in front of it"}},
	}
	from := int(t.entry)
	for i := range e.block {
		g, to := &e.block[i], tail
		if i+1 < len(e.block) {
			to = int(t.entry) + int(t.insn(i+1).host)
		}
		b.Insns = append(b.Insns, emu.BlockInsn{At: g.PC, Guest: e.guestCode(g.PC, int(g.Len)), Host: slices.Clone(e.arena.mem[from:to])})
		from = to
	}
	for _, x := range t.sideExits() {
		b.Counters = append(b.Counters, emu.BlockCounter{Number: int(x.counter), Insn: int(x.after) - 1, What: "exits behind it"})
	}
	for _, r := range t.reps() {
		if !r.outside {
			b.Counters = append(b.Counters, emu.BlockCounter{Number: int(r.counter), Insn: int(r.insn), What: "iterations"})
		}
	}
	for _, o := range t.ownCounters() {
		for behind := range 1 + b2i(o.two) {
			b.Counters = append(b.Counters, emu.BlockCounter{Number: int(o.counter) + behind, Insn: int(o.insn), What: (o.event + emu.Event(behind)).String()})
		}
	}
	e.Debug.Block(&b)
}

// guestCode returns up to n bytes of guest code at a.
func (e *Engine) guestCode(a emu.Addr, n int) []byte {
	code := make([]byte, n)
	return code[:e.mem.Fetch(a, code)]
}

// A tracer is what showing each instruction needs.
type tracer struct {
	before *emu.CPU // in front of the instruction
	code   []byte   // there
}

// beginStep notes the CPU in front of the instruction at rip, if it is to be shown.
func (e *Engine) beginStep(c *emu.CPU, rip emu.Addr) {
	if !e.traces() {
		return
	}
	if e.tracer.before == nil {
		e.tracer.before = emu.NewCPU()
	}
	e.storeCPU(c, rip)
	e.tracer.before.Copy(c)
	e.tracer.code = e.guestCode(rip, x86.MaxLen)
}

// endStep shows that instruction, if it was executed. The guest goes on at next, or stops there.
func (e *Engine) endStep(c *emu.CPU, next emu.Addr, stop *emu.Stop) {
	if !e.traces() || !e.stepped(e.tracer.before.RIP, next, stop) {
		return
	}
	e.storeCPU(c, next)
	code := e.tracer.code
	var in x86.Inst
	if x86.Decode(code, &in) == nil {
		code = code[:in.Len]
	}
	e.Debug.Step(code, e.tracer.before, c)
}

// stepped reports whether the instruction at rip was executed.
func (e *Engine) stepped(rip, next emu.Addr, stop *emu.Stop) bool {
	if stop == nil {
		return true
	}
	switch stop.Reason {
	case emu.StopSyscall, emu.StopClient:
		return true
	case emu.StopFault: // of the fetch behind it, perhaps
		return stop.Fault.Trap() || next != rip
	case emu.StopBudget: // in front of calls and indirect jumps, which the exit names, and behind others
		return next != rip || e.exitAt(int(uint32(e.get(stExit)))).t == nil
	}
	return false
}
