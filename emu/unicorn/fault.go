//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// failed handles what made the library stop by itself, with err or an exception. It returns nil if the run
// goes on, at rip.
func (e *Engine) failed(c *emu.CPU, rip *emu.Addr, err error) *emu.Stop {
	e.storeGeneral(c)
	e.storeFloat(c)
	fetch := statusOf(err) == statusFetchUnmap || statusOf(err) == statusFetchProt
	f, again, err := e.exception(err)
	if !fetch {
		c.RIP = emu.Addr(e.shared.last) // the library's is not always exact
	}
	at := c.RIP
	if err != nil {
		return e.broken(c, at, err)
	}
	if e.shared.vector != 0 {
		if err := e.recover(c); err != nil {
			return e.broken(c, at, err)
		}
	}
	in := e.known(at)
	if fetch || in == nil {
		e.drain(at)
		if e.chargeJump(at); e.shared.over != 0 {
			return &emu.Stop{Reason: emu.StopBudget}
		}
		return &emu.Stop{Reason: emu.StopFault, Fault: &f}
	}
	e.drainTo(at)
	if again {
		e.uncount(at)
		if f.Write {
			e.mem.Unguard(f.Addr, f.Addr+1)
		}
		e.alone = at
		*rip = at
		return nil
	}
	e.decode(at)
	e.place(c, &e.g, &f)
	e.unplan(at, in)
	e.before(c, at, &e.g, f)
	return &emu.Stop{Reason: emu.StopFault, Fault: &f}
}

// recover makes the library's CPU as new behind an exception, but for its registers: it takes the next one
// for a double fault, since none is ever delivered there.
func (e *Engine) recover(c *emu.CPU) error {
	if err := call(e.lib.contextRestore, e.uc, e.shared.context); err != nil {
		return describe("an exception", err)
	}
	e.loadGeneral(c)
	e.loadFloat(c)
	return nil
}

// place makes f say what a CPU says of an instruction's fault: a modify faults as a write, also where the
// library reads first, and the address is that of the reference's first byte in the page, also where the library
// accesses it in parts.
func (e *Engine) place(c *emu.CPU, g *guest.Insn, f *emu.Fault) {
	if f.Vector != emu.VecPF {
		return
	}
	for r := range g.References {
		a := guest.RefAddr(c, g, r)
		switch {
		case r.At == x86.AtBitString:
			// The library accesses the word that has the byte.
			f.Write = f.Write || r.Kind == x86.Modify
		case f.Addr-a < emu.Addr(r.Size) && (f.Write || r.Kind != x86.Write) && (!f.Write || r.Kind != x86.Read):
			if r.Kind == x86.Modify {
				f.Write = true
				if e.faultsAt(*f, a) {
					f.Addr = a
				}
			}
			f.Addr = max(a, f.Addr.PageDown())
		}
	}
}

// exception makes a fault of what the library said: a status or an exception. again says that there is no
// fault, and the instruction is executed again.
func (e *Engine) exception(err error) (f emu.Fault, again bool, _ error) {
	switch {
	case err == nil:
		return emu.Fault{Vector: uint8(e.shared.vector - 1)}, false, nil
	case statusOf(err) == statusInvalidInsn:
		return emu.Fault{Vector: emu.VecUD, Unsupported: "an instruction unknown to libunicorn " + e.lib.number()}, false, nil
	}
	return e.accessFault(err)
}

// accessFault makes a fault of a status for an access.
func (e *Engine) accessFault(err error) (f emu.Fault, again bool, _ error) {
	s := e.shared
	f = emu.Fault{Vector: emu.VecPF, Addr: emu.Addr(s.faultAddr)}
	switch statusOf(err) {
	case statusReadUnmapped, statusReadProt:
	case statusWriteUnmap, statusWriteProt:
		f.Write = true
	case statusFetchUnmap, statusFetchProt:
		f.Exec = true
	default:
		return f, false, err
	}
	if last := f.Addr + emu.Addr(max(s.faultSize, 1)) - 1; !guest.Canonical(f.Addr) || !guest.Canonical(last) {
		return emu.Fault{Vector: emu.VecGP}, false, nil
	} else if !e.faultsAt(f, f.Addr) && last.PageDown() != f.Addr.PageDown() {
		f.Addr = last.PageDown()
	}
	if f.Write && e.mem.Guarded(f.Addr) {
		return f, true, nil
	}
	if v := e.mem.VMA(f.Addr); v != nil && v.File && !f.Exec && e.allows(f, f.Addr) {
		if e.touchable(v, f.Addr.PageDown()) {
			// The file has grown.
			e.mapping.stale = true
			return f, true, nil
		}
		f.Bus = true
	}
	return f, false, nil
}

// faultsAt reports whether an access as f's faults at a.
func (e *Engine) faultsAt(f emu.Fault, a emu.Addr) bool {
	for _, r := range e.mapping.regions {
		if a >= r.lo && a < r.hi {
			return f.Write && r.prot&protWrite == 0 || f.Exec && r.prot&protExec == 0
		}
	}
	return true
}

// allows reports whether the guest's mapping allows the access.
func (e *Engine) allows(f emu.Fault, a emu.Addr) bool {
	v := e.mem.VMA(a)
	return v.Prot != 0 && (!f.Write || protOf(v.Prot)&protWrite != 0)
}

// unplan takes back what an instruction that faulted counts beyond its execution.
func (e *Engine) unplan(at emu.Addr, in *insn) {
	for _, p := range e.plans[in.plan] {
		if p.event != emu.Ir {
			e.tally(at, p.event, -p.times)
		}
	}
}

// before counts and simulates the references of an instruction before the one that faulted. That one is looked up in
// the caches as well if it writes to what can be read.
func (e *Engine) before(c *emu.CPU, at emu.Addr, g *guest.Insn, f emu.Fault) {
	if !e.watching() || f.Vector != emu.VecPF {
		return
	}
	refs := guest.References(c, g, nil)
	n, found := hooks.ReferencesBefore(refs, f)
	for _, r := range refs[:n] {
		if guest.Readable(e.mem, r) { // of a locked instruction, which CPUs let raise the fault of a write, not even that need be so
			e.data(at, r.Addr, r.Ref)
		}
		for _, ev := range hooks.EventsOf(r.Ref) {
			e.tally(at, ev, 1)
		}
	}
	if found && guest.Readable(e.mem, refs[n]) {
		e.data(at, refs[n].Addr, refs[n].Ref)
	}
}
