//go:build linux && amd64

package jit

import (
	"slices"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/exec"
	"github.com/cgemu/cgemu/emu/mem"
)

// A Pool makes the engines of processes. One that is closed is kept with its code for the next process, as long as nothing
// but instructions counts: simulated caches would have to be made empty.
type Pool struct {
	mu   sync.Mutex
	idle []*Engine
	live int
}

const (
	// maxIdle is how many engines wait, each with 2 TiB of addresses.
	maxIdle = 8
	// maxLive is how many may live before none waits any more: addresses are needed.
	maxLive = 16
	// maxKept is the most code that one is kept with, in bytes.
	maxKept = 32 << 20
)

// New returns an engine for the code in m.
func (p *Pool) New(m *mem.Space, cfg exec.Config) (emu.Engine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if e := p.idle[i]; e.fits(m, &cfg) {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.live++
			e.adopt(m, cfg)
			return e, nil
		}
	}
	if p.live >= maxLive {
		p.drain()
	}
	e, err := New(m, cfg)
	if err != nil {
		return nil, err
	}
	e.pool = p
	p.live++
	return e, nil
}

// take keeps e, which is closed, and reports whether it does.
func (p *Pool) take(e *Engine) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live--
	if len(p.idle) >= maxIdle || p.live >= maxLive || e.countsMore() || len(e.marks) > 0 || e.pos-codeOff > maxKept {
		return false
	}
	e.retire()
	p.idle = append(p.idle, e)
	return true
}

// Close frees the engines that wait.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drain()
}

func (p *Pool) drain() {
	for _, e := range p.idle {
		e.free()
	}
	p.idle = nil
}

// fits reports whether e may execute the code in m for a run with cfg.
func (e *Engine) fits(m *mem.Space, cfg *exec.Config) bool {
	return uintptr(m.Limit()) == e.shadow.size && cfg.Model == e.Model && cfg.Count == e.Count &&
		cfg.Caches == e.Caches && cfg.Branches == e.Branches && cfg.Events|emu.Events(emu.Ir) == e.Events
}

// retire makes all of e's blocks dormant, and e as new but for them.
func (e *Engine) retire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.worlds {
		if w == nil {
			continue
		}
		for _, t := range w.tbs {
			e.isolate(t)
			t.listed = false
			e.sleep(t)
		}
		w.forget()
	}
	clear(e.pages)
	clear(e.peeks)
	e.gone = [emu.NumEvents]tally{}
	e.executed, e.added = 0, 0
	clear(e.arena.words(counterOff, len(e.weights)))
	clear(e.arena.words(stMeters, meters))
	e.passing, e.cpu, e.resume, e.alone, e.carry, e.interrupt = nil, nil, 0, false, 0, false
	e.enterWorld(e.worlds[emu.CountAll])
}

// adopt makes e the engine for the code in m.
func (e *Engine) adopt(m *mem.Space, cfg exec.Config) {
	cfg.Events |= emu.Events(emu.Ir)
	e.attach(m, cfg)
}
