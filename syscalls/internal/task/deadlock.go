package task

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// deadlock ends a run in which no thread can ever run again, and tells the user where each thread is.
func (k *Kernel) deadlock() {
	k.Logf("deadlock: nothing can wake any thread; \"by\" are return addresses found on the stacks, of which some may be old")
	for _, p := range k.Processes {
		for _, t := range p.Threads {
			switch {
			case t.Dead:
				continue
			case t.blocked():
				// What the call would fill in is not shown: it has not returned.
				k.Logf("deadlock: thread %d of %v waits in %s", t.TID, p, k.FormatCall(t))
			default:
				k.Logf("deadlock: thread %d of %v is stopped by %s", t.TID, p, linux.SignalName(p.stopSignal))
			}
			k.Logf("    at %s", k.describe(p, t.CPU.RIP))
			for _, a := range t.callers() {
				k.Logf("    by %s", k.describe(p, a))
			}
		}
	}
	// On Linux the program would wait for ever, until somebody kills it.
	for _, p := range slices.Clone(k.Processes) {
		p.End(Exit{Signal: linux.SIGKILL, Deadlock: true})
	}
}

// describe shows a code address of p, with the function and line in front of it if Config.Place knows them.
func (k *Kernel) describe(p *Process, a emu.Addr) string {
	if k.Config.Place == nil {
		return a.String()
	}
	return a.String() + ": " + k.Config.Place(p.Engine, a)
}

// callers are addresses on t's stack that lie behind a CALL, the innermost first: its callers, and what is left over
// from earlier calls.
func (t *Thread) callers() (found []emu.Addr) {
	const maxWords, maxCallers = 1024, 8
	sp := emu.Addr(t.CPU.Regs[emu.RSP]) &^ 7
	for i := range emu.Addr(maxWords) {
		x, ok := t.Process.Mem.ReadUint64(sp + 8*i)
		if !ok || len(found) == maxCallers {
			break
		}
		if a := emu.Addr(x); t.Process.behindCall(a) {
			found = append(found, a)
		}
	}
	return found
}

// behindCall reports whether the instruction in front of a may be a CALL.
func (p *Process) behindCall(a emu.Addr) bool {
	v := p.Mem.VMA(a)
	var b [7]byte
	if v == nil || v.Prot&mem.Exec == 0 || p.Mem.Read(a-7, b[:]) < len(b) {
		return false
	}
	if b[2] == 0xe8 {
		return true // CALL rel32
	}
	for i := range b[:6] {
		if b[i] == 0xff && b[i+1]>>3&7 == 2 && 1+modRMLen(b[i+1:]) == len(b)-i {
			return true // CALL r/m64
		}
	}
	return false
}

// modRMLen is the length of the ModRM byte b[0] with the SIB byte and displacement that belong to it.
func modRMLen(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	n := [...]int{1, 2, 5, 1}[mod]
	if mod == 0 && rm == 5 {
		n = 5 // relative to RIP
	}
	if mod != 3 && rm == 4 {
		n++ // SIB
		if mod == 0 && len(b) > 1 && b[1]&7 == 5 {
			n += 4
		}
	}
	return n
}
