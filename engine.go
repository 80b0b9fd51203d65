package cgemu

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
)

// A counted is an engine whose counts survive changes of the address space: they go to the
// ledger, by file, before the code they belong to goes away.
type counted struct {
	emu.Engine
	ledger *ledger
	space  *mem.Space
}

func newEngine(m *mem.Space, env emu.Env, cfg *Config, l *ledger) (emu.Engine, error) {
	e, err := jit.New(m, jit.Config{Model: cfg.Model, Env: env, RepOnce: cfg.RepOnce})
	if err != nil {
		return nil, err
	}
	return &counted{Engine: e, ledger: l, space: m}, nil
}

// Invalidate implements emu.Engine.
func (c *counted) Invalidate(lo, hi emu.Addr) {
	c.Engine.Invalidate(lo, hi)
	c.collect(lo, hi)
}

// collect moves the counts of [lo, hi) to the ledger, by what is mapped there now.
func (c *counted) collect(lo, hi emu.Addr) {
	c.Engine.Collect(lo, hi, func(a emu.Addr, n uint64) { c.ledger.add(c.space, a, n) })
}
