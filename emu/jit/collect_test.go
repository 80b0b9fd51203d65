//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// halfway has a block that faults in its middle, behind a side exit, and begins again elsewhere.
const halfway = `
	b9 05 00 00 00       # mov ecx, 5
	ff c9                # loop: dec ecx
	78 11                # js over
	01 c2                # add edx, eax
	83 f9 02             # cmp ecx, 2
	75 f5                # jne loop
	48 8b 04 25 10 00 00 00 # mov rax, [16]
	eb eb                # jmp loop
	90                   # over: nop
	0f 05                # syscall`

// TestCollectBlocks collects what blocks count each for itself: the sums are those that Collect has, for all of the
// code and for halves of it.
func TestCollectBlocks(t *testing.T) {
	type counts map[emu.Addr]map[emu.Event]uint64
	collect := func(m *machine, by func(lo, hi emu.Addr, add func(emu.Addr, emu.Event, uint64)), lo, hi emu.Addr, sums counts) {
		by(lo, hi, func(a emu.Addr, ev emu.Event, n uint64) {
			require.True(t, a >= lo && a < hi)
			if sums[a] == nil {
				sums[a] = map[emu.Event]uint64{}
			}
			sums[a][ev] += n
		})
	}
	for name, cfg := range imageModes {
		for code, text := range map[string]string{"several": several, "halfway": halfway} {
			t.Run(name+" "+code, func(t *testing.T) {
				run := func() *machine {
					m := newMachineWith(t, cfg, text)
					m.cpu.Regs[emu.RDI] = uint64(dataAt)
					for stop := m.Run(m.cpu, emu.NoBudget); stop.Reason != emu.StopSyscall; stop = m.Run(m.cpu, emu.NoBudget) {
						require.Equal(t, emu.StopFault, stop.Reason)
						m.cpu.RIP += 8 // behind the load
					}
					return m
				}
				want, all, halves := counts{}, counts{}, counts{}
				m := run()
				collect(m, m.Collect, 0, ^emu.Addr(0), want)
				m = run()
				collect(m, m.CollectBlocks, 0, ^emu.Addr(0), all)
				require.Equal(t, want, all)
				m = run()
				for _, half := range [][2]emu.Addr{{codeAt + 17, ^emu.Addr(0)}, {0, codeAt + 17}} {
					collect(m, m.CollectBlocks, half[0], half[1], halves)
				}
				require.Equal(t, want, halves)
				m.Collect(0, ^emu.Addr(0), func(emu.Addr, emu.Event, uint64) { t.Fatal("it was collected") })
			})
		}
	}
}
