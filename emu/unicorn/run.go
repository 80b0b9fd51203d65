//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"fmt"
	"sync/atomic"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/hooks"
)

// Run implements emu.Engine.
func (e *Engine) Run(c *emu.CPU, budget uint64) emu.Stop {
	stop := e.run(c, budget)
	if stop.Left = int64(budget); budget < emu.NoBudget {
		stop.Left = e.shared.budget
	}
	return stop
}

func (e *Engine) run(c *emu.CPU, budget uint64) emu.Stop {
	s := e.shared
	s.budgeted, s.budget, s.over = 0, int64(budget), 0
	if budget < emu.NoBudget {
		s.budgeted = 1
	}
	if e.interrupted != c {
		s.run, s.jump, e.alone = 0, 0, noAddr
	}
	e.interrupted = nil
	e.loadGeneral(c)
	e.loadFloat(c)
	e.restart(c.RIP)
	rip := c.RIP
	for {
		if e.interrupt.Swap(false) {
			e.store(c, rip)
			e.interrupted = c
			return emu.Stop{Reason: emu.StopInterrupt}
		}
		marked := e.passing == c && e.passes == rip && e.marks[rip]
		e.passing = nil
		if marked {
			if in := e.known(rip); in != nil && !in.special {
				e.pass(rip, in)
			} else if stop := e.look(c, &rip, true); stop != nil {
				return *stop
			} else {
				continue
			}
		}
		if rip == e.alone {
			e.aloneAt(rip)
		}
		var stop *emu.Stop
		if err := e.start(rip); err != nil || s.vector != 0 {
			stop = e.failed(c, &rip, err)
		} else {
			rip = emu.Addr(s.at)
			e.drain(rip)
			e.chargeJump(rip)
			stop = e.look(c, &rip, false)
		}
		if stop != nil {
			return *stop
		}
	}
}

// start runs the library from rip on until it stops.
func (e *Engine) start(rip emu.Addr) error {
	if err := e.sync(); err != nil {
		return err
	}
	if e.decoded >= maxDecoded {
		e.decoded = 0
		if err := call(e.lib.ctl, e.uc, ctlFlush); err != nil {
			return describe("dropping translations", err)
		}
	}
	s := e.shared
	limit := uint64(noAddr)
	if e.stepping {
		limit = 0
	}
	atomic.StoreUint64(&s.limit, limit)
	if e.interrupt.Load() {
		atomic.StoreUint64(&s.limit, 0)
	}
	s.at, s.vector = noAddr, 0
	// The end is an address that no jump can reach.
	err := call(e.lib.emuStart, e.uc, uintptr(rip), 1<<63, 0, 0)
	s.pass, s.thenPass, e.stepping = noAddr, noAddr, false
	return err
}

// store takes the library's state as c's, who is at rip.
func (e *Engine) store(c *emu.CPU, rip emu.Addr) {
	e.storeGeneral(c)
	e.storeFloat(c)
	c.RIP = rip
}

// load gives it back, changed, and goes on at c's RIP.
func (e *Engine) load(c *emu.CPU, rip *emu.Addr) {
	e.loadGeneral(c)
	e.loadFloat(c)
	*rip = c.RIP
}

// stopAt ends a run in front of rip.
func (e *Engine) stopAt(c *emu.CPU, rip emu.Addr, stop emu.Stop) *emu.Stop {
	e.store(c, rip)
	return &stop
}

// faulted ends a run with a fault.
func (e *Engine) faulted(c *emu.CPU, rip emu.Addr, f emu.Fault) *emu.Stop {
	return e.stopAt(c, rip, emu.Stop{Reason: emu.StopFault, Fault: &f})
}

// broken ends a run that the library cannot go on with.
func (e *Engine) broken(c *emu.CPU, rip emu.Addr, err error) *emu.Stop {
	return e.faulted(c, rip, emu.Fault{Vector: emu.VecUD, Unsupported: err.Error()})
}

// look finds out why the hook stopped in front of rip, and does what is to be done there. It returns nil
// if the run goes on, at rip. marked says that a mark there is passed.
func (e *Engine) look(c *emu.CPU, rip *emu.Addr, marked bool) *emu.Stop {
	s, at := e.shared, *rip
	if s.over != 0 {
		return e.stopAt(c, at, emu.Stop{Reason: emu.StopBudget})
	}
	in := e.known(at)
	if in == nil || e.page(at).counters[e.plane()] == nil {
		f, err := e.learn(at)
		switch {
		case err != nil:
			return e.broken(c, at, err)
		case f != nil:
			return e.faulted(c, at, *f)
		}
		if in = e.known(at); !in.special && !e.marks[at] {
			return nil
		}
	}
	if e.marks[at] && !marked {
		e.passing, e.passes = c, at
		return e.stopAt(c, at, emu.Stop{Reason: emu.StopMark})
	}
	if !in.special {
		if marked {
			e.pass(at, in)
		}
		return nil
	}
	return e.special(c, rip, in)
}

// pass does for an instruction what the hook does, which then passes it.
func (e *Engine) pass(at emu.Addr, in *insn) {
	e.count(at, in)
	e.charge(at, in)
	e.begin(at, in)
	e.shared.pass, e.shared.thenPass = uint64(at), noAddr
}

// charge takes an instruction that Go looks at off the budget, and reports whether to stop in front of it.
func (e *Engine) charge(at emu.Addr, in *insn) (over bool) {
	s := e.shared
	s.run++
	switch in.budget {
	case 0:
		s.run %= emu.MaxRun
		return false
	case checks:
		// Behind its mark nothing stops an instruction.
		if !e.marks[at] {
			s.budget -= int64(s.run)
			over = s.budget < 0
		}
	case jumpsBack:
		s.jump, s.next = s.run, uint64(at)+uint64(in.length)
	}
	s.run = 0
	return over
}

// chargeJump takes the run that a jump ended off the budget, if the jump went backwards, to rip, where the hook
// stopped or was not called.
func (e *Engine) chargeJump(rip emu.Addr) {
	s := e.shared
	if s.jump != 0 && uint64(rip) != s.next {
		if s.budget -= int64(s.jump); s.budget < 0 {
			s.over = 1
		}
	}
	s.jump = 0
}

// aloneAt lets the library execute the instruction at a and nothing else. It may execute it twice: when
// it finds that its own code changed.
func (e *Engine) aloneAt(a emu.Addr) {
	e.alone = noAddr
	e.decoder.Forget()
	e.decoder.Decode(&e.g, a)
	in := e.describe(&e.g)
	e.count(a, in)
	e.begin(a, in)
	e.shared.pass, e.shared.thenPass, e.stepping = uint64(a), uint64(a), true
}

// special handles an instruction that Go has to see.
func (e *Engine) special(c *emu.CPU, rip *emu.Addr, in *insn) *emu.Stop {
	at, g := *rip, &e.g
	e.decoder.Forget()
	if !e.decoder.Decode(g, at) {
		return e.faulted(c, at, emu.Fault{Vector: emu.VecPF, Addr: at, Exec: true})
	}
	if in.kind == guest.FetchFault {
		// It was never fetched, so it does not count.
		return e.faulted(c, at, emu.Fault{Vector: emu.VecPF, Addr: g.Next(), Exec: true})
	}
	if e.charge(at, in) {
		return e.stopAt(c, at, emu.Stop{Reason: emu.StopBudget})
	}
	e.count(at, in)
	e.begin(at, in)
	if wrong(g) {
		in = &insn{kind: guest.Unsupported, plan: in.plan}
	}
	switch in.kind {
	case guest.Syscall:
		e.drop()
		e.store(c, g.Next())
		c.Regs[emu.RCX] = uint64(c.RIP)
		c.Regs[emu.R11] = c.Flags&emu.UserFlags | emu.FlagR1 | emu.FlagIF
		return &emu.Stop{Reason: emu.StopSyscall}
	case guest.Client:
		e.drop()
		return e.stopAt(c, g.Next(), emu.Stop{Reason: emu.StopClient})
	case guest.Nop:
		*rip = g.Next()
		return nil
	case guest.NRAddr:
		e.store(c, g.Next())
		c.Regs[emu.RAX] = 0
		e.load(c, rip)
		return nil
	case guest.CallNoRedir:
		return e.callNoRedir(c, rip, in)
	case guest.Emulated:
		return e.trap(c, rip, in)
	case guest.Rep:
		return e.repeat(c, rip, in)
	case guest.Undefined, guest.Unknown, guest.Unsupported, guest.TooLong:
		e.drop()
		e.unplan(at, in)
		return e.faulted(c, at, e.refuse(g))
	}
	// It is the library's, but Go finds what it refers to, or how its condition is.
	e.storeGeneral(c)
	if e.unmasks(c, g) {
		e.drop()
		e.unplan(at, in)
		return e.faulted(c, at, emu.Fault{
			Vector: emu.VecUD, Unsupported: fmt.Sprintf("unmasking SSE exceptions, which libunicorn does not raise: % x", g.Bytes),
		})
	}
	e.refer(c, in)
	e.shared.pass, e.shared.thenPass = uint64(at), noAddr
	return nil
}

// trap executes an instruction in Go.
func (e *Engine) trap(c *emu.CPU, rip *emu.Addr, in *insn) *emu.Stop {
	at, g := *rip, &e.g
	if g.Op.IsString() && hooks.Repeats(&g.Inst) {
		return e.repeatInGo(c, rip, in)
	}
	e.store(c, g.Next())
	e.was.Copy(c)
	f := e.machine.Execute(c, g)
	switch {
	case f != nil:
		e.drop()
		e.unplan(at, in)
		e.before(e.was, at, g, *f)
	default:
		e.refer(e.was, in)
	}
	if f == nil {
		e.load(c, rip)
		return nil
	}
	if !f.Trap() {
		c.RIP = at
	}
	return &emu.Stop{Reason: emu.StopFault, Fault: f}
}

// callNoRedir executes a client request that calls *RAX.
func (e *Engine) callNoRedir(c *emu.CPU, rip *emu.Addr, in *insn) *emu.Stop {
	at, g := *rip, &e.g
	e.store(c, at)
	e.refer(c, in)
	sp := emu.Addr(c.Regs[emu.RSP]) - 8
	if !e.mem.WriteUint64(sp, uint64(g.Next())) {
		e.drop()
		e.unplan(at, in)
		return &emu.Stop{Reason: emu.StopFault, Fault: &emu.Fault{Vector: emu.VecPF, Addr: sp, Write: true}}
	}
	c.Regs[emu.RSP] = uint64(sp)
	c.RIP = emu.Addr(c.Regs[emu.RAX])
	e.load(c, rip)
	return nil
}

// decode decodes the instruction at a into e.g again.
func (e *Engine) decode(a emu.Addr) {
	e.decoder.Forget()
	e.decoder.Decode(&e.g, a)
}
