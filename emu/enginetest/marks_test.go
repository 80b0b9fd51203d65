//go:build linux && amd64

package enginetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestMarkInManyBlocks sets a mark at an instruction that blocks from several addresses on have, and takes it away: all
// stop there as long as it is set.
func TestMarkInManyBlocks(t *testing.T) {
	const marked = 8
	at := worlds[0]
	for _, u := range engines {
		t.Run(u.name, func(t *testing.T) {
			m := newRefuser(t, u, u.model(t))
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

// TestRunAcrossMark takes a mark away that blocks end in front of: what a budget loses for a straight run across its
// place is as if there had been none.
func TestRunAcrossMark(t *testing.T) {
	const budget = 1 << 30
	at := worlds[0]
	code := append(slices.Repeat([]byte{0x90}, 20), 0xe8, 0, 0, 0, 0, 0x0f, 0x0b) // nops; call to ud2
	for _, u := range engines {
		t.Run(u.name, func(t *testing.T) {
			m := newRefuser(t, u, u.model(t))
			m.execute(code)
			left := func() int64 {
				c := emu.NewCPU()
				c.RIP, c.Regs[emu.RSP] = at, uint64(at)+0x800
				stop := m.engine.Run(c, budget)
				for stop.Reason == emu.StopMark {
					stop = m.engine.Run(c, uint64(stop.Left))
				}
				require.Equal(t, emu.StopFault, stop.Reason)
				return stop.Left
			}
			require.EqualValues(t, budget-21, left())
			for _, marked := range []emu.Addr{7, 8, 15} {
				m.engine.SetMark(at+marked, true)
			}
			require.EqualValues(t, budget-6, left(), "a run begins where it stopped")
			for _, marked := range []emu.Addr{7, 8, 15} {
				m.engine.SetMark(at+marked, false)
			}
			require.EqualValues(t, budget-21, left())
		})
	}
}
