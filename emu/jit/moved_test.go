//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// overflows refers to three lines, of a set of D1 that has two, and to one of another set: the first three miss D1 each
// time, as long as the order of their use is known, and hit LL.
const overflows = `
	48 8b 07              # again: mov rax, [rdi]
	48 8b 87 00 01 00 00  # mov rax, [rdi+0x100]
	48 8b 87 00 02 00 00  # mov rax, [rdi+0x200]
	48 8b 87 40 00 00 00  # mov rax, [rdi+0x40]
	0f 05                 # syscall
	eb e4                 # jmp again`

// TestDirectoriesMove has the directories of D1 and LL made anew, since the guest's memory grows or the engine was
// suspended: the caches hold what they held.
func TestDirectoriesMove(t *testing.T) {
	cfg := emu.Config{Caches: &tiny, Events: ^emu.EventSet(0)}
	calls := cfg
	calls.Function = sixteen
	moves := map[string]func(m *machine) error{
		"growing": func(m *machine) error { return m.mem.Grow(2 * m.mem.Limit()) },
		"suspended": func(m *machine) error {
			m.suspend()
			m.closeDirectories()
			return m.revive()
		},
	}
	for name, cfg := range map[string]emu.Config{"simulating": cfg, "calls": calls} {
		for why, move := range moves {
			t.Run(name+"/"+why, func(t *testing.T) {
				here, there := newMachineWith(t, cfg, overflows), newMachineWith(t, cfg, overflows)
				var at uintptr
				for i := range 5 {
					for _, m := range []*machine{here, there} {
						m.cpu.Regs[emu.RDI] = uint64(dataAt)
						m.run(emu.StopSyscall)
					}
					if i == 2 {
						at = there.sim.d1.directory.host
						require.NoError(t, move(there))
					}
				}
				require.NotEqual(t, at, there.sim.d1.directory.host)
				want := events(here)
				require.EqualValues(t, 5, want[codeAt][emu.D1mr])
				require.EqualValues(t, 1, want[codeAt][emu.DLmr])
				require.Equal(t, want, events(there))
			})
		}
	}
}
