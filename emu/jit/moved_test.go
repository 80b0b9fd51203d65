//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// TestTablesMove has the guest's memory grow where the tables of ways cannot: they move, and code that knows where they are is made anew.
func TestTablesMove(t *testing.T) {
	calls := simulating
	calls.Function = sixteen
	for name, cfg := range map[string]emu.Config{"simulating": simulating, "calls": calls} {
		t.Run(name, func(t *testing.T) {
			here, moves := newMachineWith(t, cfg, turns), newMachineWith(t, cfg, turns)
			for i := range 20 {
				here.run(emu.StopSyscall)
				moves.run(emu.StopSyscall)
				if i == 3 {
					for _, w := range []*wayTable{&moves.sim.d1.ways, &moves.sim.ll.ways} {
						_, err := rawMmap(w.host+w.size, uintptr(emu.PageSize), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1)
						if err != nil {
							require.ErrorIs(t, err, unix.EEXIST)
						}
					}
					at := moves.sim.d1.ways.host
					require.NoError(t, moves.mem.Grow(2*moves.mem.Limit()))
					defer func() { require.NotEqual(t, at, moves.sim.d1.ways.host) }()
				}
			}
			require.Equal(t, events(here), events(moves))
		})
	}
}
