//go:build linux && amd64

package enginetest

import (
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
)

// An engineUnderTest is compared with the host.
type engineUnderTest struct {
	name   string
	make   func(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error)
	budget uint64
	// losesFlags says that a fault may find other status flags where the code overwrites them
	// before it reads them.
	losesFlags bool
}

// engines are the engines to test. With a budget, and when it simulates, an engine may run
// other code.
var engines = []engineUnderTest{
	{"jit", newJIT, emu.NoBudget, false},
	{"jit with budget", newJIT, 1 << 40, false},
	{"jit simulating", newSimulatingJIT, emu.NoBudget, true},
}

func newJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return jit.New(m, jit.Config{Model: model, Env: env})
}

func newSimulatingJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return jit.New(m, jit.Config{Model: model, Env: env, Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)})
}
