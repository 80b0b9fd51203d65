//go:build linux && amd64

package enginetest

import (
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
)

// engines are the engines to test.
var engines = append([]engineUnderTest{
	{name: "jit", make: newJIT, budget: emu.NoBudget, model: richModel, wide: wideModel},
	{name: "jit with budget", make: newJIT, budget: 1 << 40, model: richModel, again: true},
	{name: "jit from a pool", make: newPooledJIT, budget: emu.NoBudget, model: richModel, again: true},
	{name: "jit simulating", make: newSimulatingJIT, budget: emu.NoBudget, model: richModel, wide: wideModel, simulates: true, losesFlags: true},
}, interpreters...)

// lesserEngines are the translator on a host without AVX-512; lesserJIT is that without simulation.
var lesserEngines = []engineUnderTest{
	lesserJIT,
	{name: "jit simulating without AVX-512", make: newSimulatingLesserJIT, budget: emu.NoBudget, wide: wideModel, simulates: true, interprets: true},
}

var lesserJIT = engineUnderTest{name: "jit without AVX-512", make: newLesserJIT, budget: emu.NoBudget, wide: wideModel, again: true, interprets: true}

func newLesserJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return jit.NewWithoutAVX512(m, emu.Config{Model: model, Env: env})
}

func newJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return jit.New(m, emu.Config{Model: model, Env: env})
}

var pool jit.Pool

// newPooledJIT returns an engine with the code of others that were closed.
func newPooledJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return pool.New(m, emu.Config{Model: model, Env: env})
}

func newSimulatingJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return jit.New(m, simulating(model, env))
}

func newSimulatingLesserJIT(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return jit.NewWithoutAVX512(m, simulating(model, env))
}

func simulating(model *emu.Model, env emu.Env) emu.Config {
	return emu.Config{Model: model, Env: env, Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)}
}
