//go:build linux && amd64

package enginetest

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
)

// An engineUnderTest is compared with the host.
type engineUnderTest struct {
	name   string
	make   func(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error)
	budget uint64
}

// engines are the engines to test. With a budget an engine may run other code.
var engines = []engineUnderTest{
	{"jit", newJIT, emu.NoBudget},
	{"jit with budget", newJIT, 1 << 40},
}

func newJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return jit.New(m, jit.Config{Model: model, Env: env})
}
