package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/interp"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// An engineUnderTest is compared with the host.
type engineUnderTest struct {
	name   string
	make   func(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error)
	budget uint64
	// model has the features to test with.
	model func(t testing.TB) *emu.Model
	// wide has features of AVX-512 to test with, too; nil if another engine does that.
	wide func(t testing.TB) *emu.Model
	// simulates says that it counts all events.
	simulates bool
	// again says that it executes as another engine under test does, but for what random shapes of operands show: all
	// shapes are for the other one, as CI has half an hour.
	again bool
	// losesFlags says that a fault may find other status flags where the code overwrites them
	// before it reads them.
	losesFlags bool
	// tolerates makes got equal to want in what is known to differ, and reports whether the rest can be
	// compared; nil if nothing differs.
	tolerates func(c *testCase, want, got *outcome) bool
	// interprets says that it does not execute instructions by the host's: flags that they leave undefined may be
	// others.
	interprets bool
	// fits reports whether an instruction may be part of a sequence; nil if all may.
	fits func(i *x86.Inst) bool
}

// allows makes flags equal in want, which a CPU of vendor by left, and got that may differ, and reports whether the
// rest can be compared.
func (u *engineUnderTest) allows(by vendor, c *testCase, want, got *outcome) bool {
	if wrapsElsewhere(by, c, want, got) || keepsDenormals(by, c, want) || looksFirst(by, c, want) || tellsUnderflow(by, c, want, got) || u.interprets && !settle(by, c, want, got) {
		return false
	}
	if u.losesFlags && want.fault.Vector != emu.VecBP {
		got.state.Flags = got.state.Flags&^uint64(x86.StatusFlags) | want.state.Flags&uint64(x86.StatusFlags)
	}
	return true
}

// interpreters are engines that every host has. With a budget, and when it simulates, an engine may run other code.
var interpreters = []engineUnderTest{
	{name: "interp", make: newInterp, budget: emu.NoBudget, model: leanModel, wide: wideModel, losesFlags: true, interprets: true, fits: settled},
	{name: "interp simulating", make: newSimulatingInterp, budget: 1 << 40, model: leanModel, wide: wideModel, simulates: true, again: true, losesFlags: true, interprets: true, fits: settled},
}

func newInterp(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return interp.New(m, emu.Config{Model: model, Env: env})
}

// leanModel has the features that the interpreter knows: no model has SHA.
func leanModel(t testing.TB) *emu.Model {
	m, err := emu.ModelByName("v3")
	require.NoError(t, err)
	return m.With("rdrand", "rdseed", "fsgsbase", "rdpid")
}

// wideModel has AVX-512.
func wideModel(t testing.TB) *emu.Model {
	m, err := emu.ModelByName("v4")
	require.NoError(t, err)
	return m
}

// settled reports whether i leaves no flag undefined.
func settled(i *x86.Inst) bool { return x86.Unsettled[i.Op] == 0 }

func newSimulatingInterp(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return interp.New(m, emu.Config{Model: model, Env: env, Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)})
}
