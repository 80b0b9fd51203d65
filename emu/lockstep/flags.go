package lockstep

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// maxTraced is how many instructions a run may have that is made again to find out whether flags may differ at its end.
const maxTraced = 2_000_000

// compareFlags looks at the status flags behind a run of both engines that agreed in all else, and ended in c with the
// first. It returns where they differ, nil if they do not, or if an instruction left them undefined. Only where a
// program asks the kernel for something they are compared: elsewhere an engine need not have them if the code there
// overwrites them before it reads them.
func (e *Engine) compareFlags(stop emu.Stop, c *emu.CPU, executed uint64, changes []mem.Change) *Mismatch {
	diff := (c.Flags ^ e.behind.Flags) & uint64(x86.StatusFlags)
	at := place{c.RIP, diff}
	exact := stop.Reason == emu.StopSyscall || stop.Reason == emu.StopClient
	if diff == 0 || !exact || executed > maxTraced || e.settled[at] {
		return nil
	}
	now := make([]mem.Change, len(changes))
	for i := range changes {
		now[i] = mem.Change{At: changes[i].At, Before: make([]byte, emu.PageSize)}
		e.mem.Read(now[i].At, now[i].Before)
	}
	undo(e.mem, changes)
	d := e.traceFlags(x86.Flags(diff))
	undo(e.mem, now)
	if d != nil {
		d.What = fmt.Sprintf("flags %#x, %#x, where the run stops %s at %v", c.Flags, e.behind.Flags, describeStop(stop), c.RIP)
		return d
	}
	e.settled[at] = true
	return nil
}

// traceFlags makes the run again, its last blocks instruction by instruction. It returns the last one that wrote a flag
// of diff, nil if all of diff may be undefined behind the run: what was in front of these blocks may have been.
func (e *Engine) traceFlags(diff x86.Flags) *Mismatch {
	t, n, err := e.runReplicas(e.mem, e.from, 1<<62)
	closeAll(t)
	if err != nil {
		return nil
	}
	if t, _, err = e.runReplicas(e.mem, e.from, max(n-2, 0)); err != nil {
		closeAll(t)
		return nil
	}
	defer closeAll(t)
	first := t[0]
	decoder := guest.NewDecoder(first.mem, guest.Features(e.model), "engine")
	undefined := x86.StatusFlags
	var wrote *Mismatch
	for range maxSteps {
		var g guest.Insn
		decoder.Forget()
		if !decoder.Decode(&g, first.cpu.RIP) {
			break
		}
		// A flag that is read as well may be written on a condition only, or be made from an undefined one.
		unsettled := x86.Unsettled[g.Op]
		defined := g.FlagsWrite &^ g.FlagsRead &^ unsettled
		if g.Flow == x86.FlowRet {
			unsettled = x86.StatusFlags // the jit loses them where the target is not behind the CALL (RATIONALE.md, "Returns")
		}
		if undefined = undefined&^defined | unsettled; defined&diff != 0 {
			wrote = &Mismatch{At: g.PC, Insn: g.Format(uint64(g.PC)), From: registers(first.cpu)}
		}
		if stop := first.step(&g); stop.Reason != emu.StopMark && stop.Reason != emu.StopBudget {
			break
		}
	}
	if diff&^undefined == 0 {
		return nil
	}
	return wrote
}
