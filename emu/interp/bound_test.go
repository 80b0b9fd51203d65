package interp

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// TestCodeEnteredEverywhere enters a slide of NOPs at each of them: blocks are forgotten when there are many, and counts are not.
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
