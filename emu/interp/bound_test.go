package interp

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// TestCodeEnteredEverywhere enters a slide of NOPs at each of them: blocks are forgotten when there are many, and
// counts are not.
func TestCodeEnteredEverywhere(t *testing.T) {
	const at, n = emu.Addr(0x10000), 20_000
	space, err := (&mem.Group{}).New()
	require.NoError(t, err)
	defer space.Close()
	require.NoError(t, space.Map(mem.VMA{Lo: at, Hi: at + 0x10000, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	require.Equal(t, n+1, space.Poke(at, append(bytes.Repeat([]byte{0x90}, n), 0xcc)))
	model, err := emu.ModelByName("v3")
	require.NoError(t, err)
	e, err := New(space, emu.Config{Model: model, Events: emu.Events(emu.Ir)})
	require.NoError(t, err)
	defer e.Close()
	space.OnInvalidate(e.Invalidate)
	c := emu.NewCPU()
	const step = maxInsns
	var want uint64
	for first := emu.Addr(0); first < step; first++ { // blocks begin at each
		c.RIP = at + first
		stop := e.Run(c, emu.NoBudget)
		require.Equal(t, &emu.Fault{Vector: emu.VecBP}, stop.Fault)
		want += uint64(n + 1 - first)
		require.LessOrEqual(t, e.(*Engine).decoded, maxDecoded+maxInsns)
	}
	var got uint64
	e.Collect(at, at+0x10000, func(_ emu.Addr, _ emu.Event, n uint64) { got += n })
	require.Equal(t, want, got)
}

// TestRunAcrossFunctions has straight runs go from function to function, which end blocks where calls are recorded: a
// budget loses the same for them.
func TestRunAcrossFunctions(t *testing.T) {
	const at, budget = emu.Addr(0x10000), 1 << 30
	sixteen := func(a emu.Addr) emu.Function { return emu.Function{ID: a &^ 15, Lo: a &^ 15, Hi: a&^15 + 16} }
	model, err := emu.ModelByName("v3")
	require.NoError(t, err)
	for _, nops := range []int{9, 15, 16, 30, 40, 47, 48, 49, 60, 100, 200} {
		code := append(bytes.Repeat([]byte{0x90}, nops), 0xff, 0xc9, 0x75, 0xf5, 0xe8, 0, 0, 0, 0, 0xcc) // nops; dec ecx; jnz into the last nops; call to int3
		var left []int64
		for _, cfg := range []emu.Config{{}, {Function: sixteen}} {
			space, err := (&mem.Group{}).New()
			require.NoError(t, err)
			require.NoError(t, space.Map(mem.VMA{Lo: at, Hi: at + 0x1000, Prot: mem.Read | mem.Write | mem.Exec}, nil))
			require.Equal(t, len(code), space.Poke(at, code))
			cfg.Model, cfg.Events = model, emu.Events(emu.Ir)
			e, err := New(space, cfg)
			require.NoError(t, err)
			space.OnInvalidate(e.Invalidate)
			for range 2 {
				c := emu.NewCPU()
				c.RIP, c.Regs[emu.RSP], c.Regs[emu.RCX] = at, uint64(at)+0x1000, 5
				left = append(left, e.Run(c, budget).Left)
			}
			require.NoError(t, e.Close())
			require.NoError(t, space.Close())
		}
		require.Equal(t, []int64{left[0], left[0], left[0], left[0]}, left, "%d nops", nops)
	}
}
