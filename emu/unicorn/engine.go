//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"errors"
	"sync/atomic"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/hooks"
)

// An Engine runs the code of one address space on a CPU of libunicorn.
type Engine struct {
	emu.Config
	lib     *library
	uc      uintptr
	mem     *mem.Space
	decoder *guest.Decoder
	machine sem.Machine
	shared  *shared
	// planes are the tables of pages of what is counted and of what is not: the first one is
	// shared's own.
	planes   [2]*shared
	mapping  mapping
	counting emu.Counting

	pages map[emu.Addr]*codePage // by number
	// last is the page looked up last.
	last     *codePage
	lastPage emu.Addr
	decoded  int // instructions, since the library's translations were dropped
	marks    map[emu.Addr]bool
	// passing is the CPU that stopped at a mark last, at passes: it goes on behind the mark.
	passing *emu.CPU
	passes  emu.Addr
	// interrupted is the CPU that Interrupt stopped: its straight run goes on.
	interrupted *emu.CPU
	// alone is an instruction that writes to a page with known code, its own perhaps, and is to
	// run once without becoming known; noAddr for none.
	alone emu.Addr

	plans     [][]planned
	planIndex map[hooks.Plan]uint16
	// tallies are counts that are not in counters, by event.
	tallies [emu.NumEvents]map[emu.Addr]int64
	sim     *simulation
	// stepping says that the hook is to stop in front of the next instruction it does not pass.
	stepping bool

	g         guest.Insn // being looked at
	was       *emu.CPU   // in front of an instruction that is emulated
	interrupt atomic.Bool
}

// New returns an engine for the code in m.
func New(m *mem.Space, cfg emu.Config) (emu.Engine, error) {
	lib, err := load()
	if err != nil {
		return nil, err
	}
	if err := CheckModel(cfg.Model); err != nil {
		return nil, err
	}
	e := &Engine{
		Config: cfg, lib: lib, mem: m, decoder: guest.NewDecoder(m, guest.Features(cfg.Model), "version of libunicorn"),
		machine: sem.Machine{Mem: m, Model: cfg.Model, Env: cfg.Env},
		pages:   map[emu.Addr]*codePage{}, marks: map[emu.Addr]bool{},
		alone: noAddr, plans: [][]planned{{{emu.Ir, 1}}}, planIndex: map[hooks.Plan]uint16{}, was: emu.NewCPU(),
	}
	e.Events |= emu.Events(emu.Ir)
	for ev := range e.tallies {
		e.tallies[ev] = map[emu.Addr]int64{}
	}
	e.sim = newSimulation(&cfg)
	if err := e.open(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// open makes the library's CPU and hooks what the run asks for.
func (e *Engine) open() error {
	for i := range e.planes {
		s, err := newShared()
		if err != nil {
			return err
		}
		e.planes[i] = s
	}
	s := e.planes[0]
	e.shared = s
	s.regs.prepare()
	s.page, s.root, s.stop = noAddr, address(&s.table[0]), e.lib.emuStop
	s.pass, s.thenPass, s.at = noAddr, noAddr, noAddr
	if err := call(e.lib.open, archX86, mode64, address(&s.handle)); err != nil {
		return describe("opening libunicorn", err)
	}
	e.uc = s.handle
	s.value = cr0
	for _, err := range []error{
		call(e.lib.regWrite, e.uc, regCR0, address(&s.value)),
		call(e.lib.contextAlloc, e.uc, address(&s.context)),
		call(e.lib.contextSave, e.uc, s.context),
	} {
		if err != nil {
			return describe("preparing the CPU", err)
		}
	}
	list := []struct{ kind, at uintptr }{{hookCode, codeHookAddr}, {hookMemInvalid, invalidHookAddr}, {hookIntr, intrHookAddr}}
	if e.details() {
		list = append(list, struct{ kind, at uintptr }{hookMemRead | hookMemWrite, memHookAddr})
	}
	for _, h := range list {
		// From 1 to 0 is all addresses.
		if err := call(e.lib.hookAdd, e.uc, address(&s.hook), h.kind, h.at, address(s.state), 1, 0); err != nil {
			return describe("hooking", err)
		}
	}
	if e.details() {
		var err error
		if e.lib.tested.Do(func() { err = e.testReads() }); err != nil {
			return err
		}
	}
	e.SetCounting(emu.CountAll)
	return nil
}

// Close implements emu.Engine.
func (e *Engine) Close() error {
	var err error
	if e.uc != 0 {
		err = errors.Join(call(e.lib.contextFree, e.shared.context), call(e.lib.close, e.uc))
		e.uc = 0
	}
	for i, s := range e.planes {
		if s != nil {
			s.close()
			e.planes[i] = nil
		}
	}
	return err
}

// Interrupt implements emu.Engine.
func (e *Engine) Interrupt() {
	e.interrupt.Store(true)
	atomic.StoreUint64(&e.shared.limit, 0)
}

// SetCounting implements emu.Engine.
func (e *Engine) SetCounting(c emu.Counting) {
	e.counting = c
	s := e.shared
	s.page, s.root = noAddr, address(&e.planes[e.plane()].table[0])
	s.ring, s.ringEnd = 0, 0
	if e.details() && c != emu.CountOff {
		s.ring = address(&s.words[0])
		s.ringEnd = address(&s.words[ringWords-1])
	}
}
