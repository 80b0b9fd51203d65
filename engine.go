package cgemu

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/hooks"
)

// A counted is an engine whose counts become costs of source lines before the mapping of
// the code they belong to changes.
type counted struct {
	emu.Engine
	costs *costs
	space *mem.Space
}

func newEngine(m *mem.Space, env emu.Env, cfg *Config, c *costs) (emu.Engine, error) {
	e, err := jit.New(m, jit.Config{Model: cfg.Model, Env: env, Count: hooks.Options{RepOnce: cfg.RepOnce}})
	if err != nil {
		return nil, err
	}
	return &counted{Engine: e, costs: c, space: m}, nil
}

// Invalidate implements emu.Engine.
func (c *counted) Invalidate(lo, hi emu.Addr) {
	c.Engine.Invalidate(lo, hi)
	c.collect(lo, hi)
}

// collect adds the counts of [lo, hi) to the costs, by what is mapped there now.
func (c *counted) collect(lo, hi emu.Addr) {
	c.costs.remap()
	c.Engine.Collect(lo, hi, func(a emu.Addr, e emu.Event, n uint64) { c.costs.add(c.space, a, e, n) })
}
