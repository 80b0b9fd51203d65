//go:build linux && amd64

package jit

import (
	"reflect"
	"slices"
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

// TestManyAddresses has a guest's memory grow to 32 TiB, as clisp's does, which takes twice as much of the 128 TiB that the
// host has, in two pieces: neither what the engine had before nor a directory of one that sleeps may lie in their way.
func TestManyAddresses(t *testing.T) {
	const limit = 32 << 40
	heap := uintptr(reflect.ValueOf(new([1 << 16]byte)).Pointer())
	p := &Pool{}
	defer p.Close()
	pooled := func() *machine {
		m := newMachine(t, overflows)
		require.NoError(t, m.Close())
		e, err := p.New(m.mem, emu.Config{Model: v3(), Env: testEnv{}, Caches: &tiny, Events: ^emu.EventSet(0)})
		require.NoError(t, err)
		m.Engine = e.(*Engine)
		m.cpu.Regs[emu.RDI] = uint64(dataAt)
		m.run(emu.StopSyscall)
		return m
	}
	sleeps, grows := pooled(), pooled()
	p.suspend(slices.Index(p.awake, sleeps.Engine))
	require.NotZero(t, sleeps.sim.d1.directory.size)
	if heap < limit || heap > 3*limit { // else there is no room but near
		occupy(t, limit/2)
	}
	require.NoError(t, grows.mem.Grow(limit))
	for _, m := range []*machine{grows, sleeps} {
		m.run(emu.StopSyscall)
		got := events(m)[codeAt]
		require.EqualValues(t, 2, got[emu.D1mr])
		require.EqualValues(t, 1, got[emu.DLmr])
		require.NoError(t, m.Close())
	}
}
