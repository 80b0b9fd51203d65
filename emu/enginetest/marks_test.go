//go:build linux && amd64

package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestMarkInManyBlocks sets a mark at an instruction that blocks from several addresses on have, and takes it away: all stop there as
// long as it is set.
func TestMarkInManyBlocks(t *testing.T) {
	const marked = 8
	at := worlds[0]
	for _, u := range engines {
		t.Run(u.name, func(t *testing.T) {
			m := newRefuser(t, u, u.model(t))
			defer m.space.Close()
			defer m.engine.Close()
			code := make([]byte, marked+2)
			for i := range code {
				code[i] = 0x90
			}
			m.execute(code)
			for _, on := range []bool{false, true, false, true} {
				m.engine.SetMark(at+marked, on)
				for from := range emu.Addr(marked) {
					c := emu.NewCPU()
					c.RIP = at + from
					stop := m.engine.Run(c, u.budget)
					if !on {
						require.Equal(t, emu.StopFault, stop.Reason)
						require.Equal(t, at+marked+3, c.RIP)
						continue
					}
					require.Equal(t, emu.StopMark, stop.Reason)
					require.Equal(t, at+marked, c.RIP)
				}
			}
		})
	}
}
