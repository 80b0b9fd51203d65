//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// TestInstructionMappedInParts executes an instruction whose second half is not there yet.
func TestInstructionMappedInParts(t *testing.T) {
	const beyond = codeAt + 0x2000
	m := newMachine(t, "")
	m.poke(beyond-2, "48 83") // add rax, 3
	m.cpu.RIP = beyond - 2
	for range 2 {
		stop := m.run(emu.StopFault)
		require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: beyond, Exec: true}, stop.Fault)
		require.Equal(t, beyond-2, m.cpu.RIP)
		require.Empty(t, m.counts())
	}
	require.NoError(t, m.mem.Map(mem.VMA{Lo: beyond, Hi: beyond + 0x1000, Prot: mem.Read | mem.Exec}, nil))
	m.poke(beyond, "c0 03 0f 05")
	m.run(emu.StopSyscall)
	require.EqualValues(t, 3, m.cpu.Regs[emu.RAX])
	require.EqualValues(t, 2, m.Executed())
}
