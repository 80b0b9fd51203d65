//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestDirectoriesMove has the guest's memory grow where the tables of D1 and LL cannot: they move.
func TestDirectoriesMove(t *testing.T) {
	calls := simulating
	calls.Function = sixteen
	for name, cfg := range map[string]emu.Config{"simulating": simulating, "calls": calls} {
		t.Run(name, func(t *testing.T) {
			here, moves := newMachineWith(t, cfg, turns), newMachineWith(t, cfg, turns)
			here.onLesserHost(false)
			moves.onLesserHost(false)
			var at uintptr
			for i := range 20 {
				here.run(emu.StopSyscall)
				moves.run(emu.StopSyscall)
				if i == 3 {
					at = moves.sim.d1.directory.host
					for _, w := range []*lineDirectory{&moves.sim.d1.directory, &moves.sim.ll.directory} {
						occupy(t, w.host+w.size+directoryEdge)
					}
					require.NoError(t, moves.mem.Grow(2*moves.mem.Limit()))
				}
			}
			require.NotEqual(t, at, moves.sim.d1.directory.host)
			require.Equal(t, events(here), events(moves))
		})
	}
}
