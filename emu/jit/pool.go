//go:build linux && amd64

package jit

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A Pool makes the engines of processes. One that is closed is kept with its code for the next process. Those that ran
// last are awake; others are suspended, for their jump tables and shadow stacks take 2 TiB of addresses each, of which
// the host's process has 128. One goroutine uses it and its engines, but for Interrupt.
type Pool struct {
	idle  []*Engine
	awake []*Engine // that which ran last at the end
	// asleep are those that are suspended, and not idle: they may have directories of lines.
	asleep []*Engine
	// places are those of low parts: engines that are awake hold theirs.
	places []*lowPlace
	// made is how many engines it has made.
	made int
	// images keeps their code for the next run of a program, whose name is program; nil if it is not kept.
	images  Images
	program string
	// closed says that none is kept any more.
	closed bool
}

const (
	// maxAwake is how many engines are not suspended.
	maxAwake = 8
	// maxIdle is how many wait for a process, suspended.
	maxIdle = 8
	// maxKept is the most code that one is kept with, in bytes.
	maxKept = 32 << 20
	// maxKeptSums is the most that the arcs of its call graph take then.
	maxKeptSums = 16 << 20
	// maxImage and maxImageSums are the most of both that an image has.
	maxImage     = 128 << 20
	maxImageSums = 96 << 20
)

// New returns an engine for the code in m.
func (p *Pool) New(m *mem.Space, cfg emu.Config) (emu.Engine, error) {
	for i := len(p.idle) - 1; i >= 0; i-- {
		if e := p.idle[i]; e.fits(m, &cfg) {
			p.idle = slices.Delete(p.idle, i, i+1)
			e.retire()
			e.adopt(m, cfg)
			return e, nil
		}
	}
	p.makeRoom()
	e, err := newEngine(m, cfg, hostHasAVX512(), p.lowPlace)
	for errors.Is(err, unix.ENOMEM) && p.giveBack() {
		e, err = newEngine(m, cfg, hostHasAVX512(), p.lowPlace)
	}
	if err != nil {
		return nil, err
	}
	e.pool, e.noting = p, p.made > 0 || p.images != nil
	p.begin(e)
	p.made++
	p.awake = append(p.awake, e)
	return e, nil
}

// Keep has images of the code of a run of program kept for the next one. It comes before New.
func (p *Pool) Keep(images Images, program string) {
	p.images, p.program = images, program
}

// begin gives a new engine its image, if there is one. A program's engines are made in the same order each time.
func (p *Pool) begin(e *Engine) {
	if p.images == nil || e.Debug != nil {
		return
	}
	key := e.configKey()
	e.imageName = fmt.Sprintf("%s\x00%d\x00%x\x00%v", p.program, p.made, key, e.near)
	for _, budgeted := range [2]bool{true, false} { // the first one is refused unless it says that it is to be taken
		b, release := p.images.Load(e.nameOfImage(budgeted))
		if b == nil {
			continue
		}
		if e.loadImage(b, key, release) == nil {
			return
		}
		release(b)
		if e.metered { // as that image wants all code to be
			return
		}
	}
}

// nameOfImage is the name of e's image with code that looks at a budget, or without.
func (e *Engine) nameOfImage(budgeted bool) string {
	return fmt.Sprintf("%s\x00%v", e.imageName, budgeted)
}

// end keeps the image of an engine that is to be freed, or to forget its code.
func (p *Pool) end(e *Engine) {
	changed := e.changed()
	if e.budgeted { // nobody begins with an image that is not to be the first
		first := e.beginsBudgeted()
		changed = changed && first || first != e.budgetedFirst
	}
	if e.imageName != "" && changed && len(e.marks) == 0 && e.pos-codeOff <= maxImage && e.sumsTaken() <= maxImageSums {
		p.images.Save(e.nameOfImage(e.budgeted), e.writeImage)
	}
}

// beginsBudgeted reports whether a run like this one begins better with code that looks at a budget than with other
// code that it leaves for that: for each instruction the one takes 0.08 ns longer, and a block has to be translated
// anew, in 3 µs, for the other.
func (e *Engine) beginsBudgeted() bool {
	const instructionsForBlock = 40_000
	return e.Limited || e.gotBudget > 0 && e.gotBudget < uint64(e.blockCount())*instructionsForBlock
}

// needBudget notes that e is to look at a budget, and has code that does made from now on. An image of the code that
// does not is kept, if runs begin with that.
func (e *Engine) needBudget() {
	if e.gotBudget == 0 {
		e.gotBudget = max(e.ran+e.Executed(), 1)
	}
	if e.budgeted {
		return
	}
	if e.pool != nil && !e.beginsBudgeted() {
		e.gather()
		e.pool.end(e)
	}
	e.budgeted = true
	e.flush()
}

// makeRoom suspends an engine if one more would be too many.
func (p *Pool) makeRoom() {
	if len(p.awake) >= maxAwake {
		p.suspend(0)
	}
}

// suspend suspends the engine that is i-th among those that are awake.
func (p *Pool) suspend(i int) {
	e := p.awake[i]
	e.suspend()
	p.awake, p.asleep = slices.Delete(p.awake, i, i+1), append(p.asleep, e)
}

// giveBack has engines give addresses back that they can do without while another one runs, since the host has none
// left. It reports false if there are no such addresses.
func (p *Pool) giveBack() bool {
	for _, e := range p.asleep {
		if e.sim.d1.directory.size > 0 {
			e.closeDirectories()
			return true
		}
	}
	if len(p.awake) == 0 {
		return false
	}
	p.suspend(0)
	return true
}

// awaken makes e, which is to run, the last one that would be suspended.
func (p *Pool) awaken(e *Engine) error {
	n := len(p.awake)
	if n > 0 && p.awake[n-1] == e && !e.suspended {
		return nil
	}
	p.forget(e)
	if e.suspended {
		p.makeRoom()
		if err := p.settleLow(e); err != nil {
			return err
		}
		for {
			err := e.revive()
			if err == nil {
				break
			}
			if !p.giveBack() {
				p.asleep = append(p.asleep, e)
				return err
			}
		}
	}
	p.awake = append(p.awake, e)
	return nil
}

// forget takes e off those that are awake or asleep.
func (p *Pool) forget(e *Engine) {
	is := func(other *Engine) bool { return other == e }
	p.awake, p.asleep = slices.DeleteFunc(p.awake, is), slices.DeleteFunc(p.asleep, is)
}

// take keeps e, which is closed, and reports whether it does.
func (p *Pool) take(e *Engine) bool {
	p.forget(e)
	if e.finished {
		return false
	}
	if p.closed {
		p.end(e)
		return false
	}
	if len(p.idle) >= maxIdle || e.Debug != nil || len(e.marks) > 0 || e.pos-codeOff > maxKept || e.sumsTaken() > maxKeptSums {
		return false
	}
	e.suspend()
	e.closeDirectories()
	p.idle = append(p.idle, e)
	return true
}

// sumsTaken is what the arcs of e's call graph take, in bytes.
func (e *Engine) sumsTaken() int {
	if e.calls == nil {
		return 0
	}
	return 8 * len(e.calls.Sums)
}

// Close frees the engines that wait, and those that are closed from now on.
func (p *Pool) Close() {
	for _, e := range p.idle {
		p.end(e)
		e.free()
	}
	p.idle, p.closed = nil, true
}

// fits reports whether e may execute code in m for a run with cfg.
func (e *Engine) fits(m *mem.Space, cfg *emu.Config) bool {
	return (cfg.Function == nil) == (e.calls == nil) && cfg.Jumps == e.Jumps && cfg.Others == e.Others && cfg.Model == e.Model &&
		cfg.RepOnce == e.RepOnce && cfg.Limited == e.Limited && (cfg.Caches == e.Caches || cfg.Caches != nil && e.Caches != nil && *cfg.Caches == *e.Caches) && cfg.Branches == e.Branches && cfg.Events|emu.Events(emu.Ir) == e.Events
}

// retire makes all of e's blocks retained, and e as new but for them.
func (e *Engine) retire() {
	e.gatherOnce()
	e.gather()
	for _, w := range e.codeCaches {
		if w == nil {
			continue
		}
		for t := range w.tbs.all() {
			e.isolate(t)
			t.listed = false
			e.retain(t)
		}
		for _, t := range w.fallenInto {
			e.bury(t)
		}
		w.forget()
	}
	clear(e.pages)
	e.peeks.forget()
	clear(e.sums)
	for ev := range e.collected {
		e.collected[ev].Clear()
	}
	e.ran += uint64(e.executed)
	e.executed, e.added = 0, 0
	e.forgetSimulated()
	e.retireCalls()
	clear(e.arena.words(stMeters, meters))
	e.unbound, e.rewritten = nil, nil
	e.passing, e.cpu, e.resume, e.singleStep, e.runOffset, e.falls = nil, nil, 0, false, 0, false
	e.interrupt.Store(false)
	e.SetCounting(emu.CountAll)
}

// adopt makes e the engine for the code in m.
func (e *Engine) adopt(m *mem.Space, cfg emu.Config) {
	cfg.Events |= emu.Events(emu.Ir)
	e.attach(m, cfg)
	if e.calls != nil {
		e.calls.Adopt(e.Function, m.Mapping)
		e.calls.kept = len(e.calls.Sums)
	}
}
