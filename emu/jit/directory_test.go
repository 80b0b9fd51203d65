//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// needDirectory requires that there is a directory of jump tables, where a shadow stack may lie near.
func needDirectory(t *testing.T) {
	t.Helper()
	needNear(t)
	require.NotZero(t, directoryAt())
}

// indirect calls a function by a register, and jumps back by one, 100 times.
const indirect = `
	b9 64000000        # mov ecx, 100
	48 c7c3 20004000   # mov rbx, 400020
	ffd3               # c: call rbx
	ffc9               # dec ecx
	75 fa              # jnz c
	0f 05              # syscall
	90 90 90 90 90 90 90 90 90 90 90 90
	58                 # 20: pop rax
	ffe0               # jmp rax
`

// TestDirectory has both the directory of jump tables and a shadow stack that lies near, in what is reserved for it.
func TestDirectory(t *testing.T) {
	needDirectory(t)
	for name, cfg := range nearModes {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				m := newNear(t, cfg, indirect)
				require.Equal(t, directoryAt(), m.directory)
				m.run(emu.StopSyscall)
				require.EqualValues(t, 503, m.Executed())
				require.NoError(t, m.Close())
			}
			_, err := rawMmap(nearStart, emu.PageSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1)
			require.ErrorIs(t, err, unix.EEXIST, "what the directory takes is no longer reserved")
		})
	}
}

// TestDirectoryLost has stacks where lookups of wild targets would take return addresses for jump tables: the directory
// is given up, by other engines too, and such targets fault as all others.
func TestDirectoryLost(t *testing.T) {
	needDirectory(t)
	for name, cfg := range nearModes {
		t.Run(name, func(t *testing.T) {
			defer directoryLost.Store(false)
			sp := emu.Addr(int64(directoryAt()) + 3<<32 - nearBias)
			onIt := func(m *machine) map[emu.Addr]map[emu.Event]uint64 {
				m.cpu.RIP, m.cpu.Regs[emu.RSP] = codeAt, uint64(sp)
				m.run(emu.StopSyscall)
				return events(m)
			}
			start := func() *machine {
				m := newMachineWith(t, cfg, indirect)
				require.NotZero(t, m.directory)
				require.NoError(t, m.mem.Map(mem.VMA{Lo: sp.PageDown() - 0x10000, Hi: sp.PageDown() + 0x10000, Prot: mem.Read | mem.Write}, nil))
				return m
			}
			m, other := start(), start()
			require.True(t, m.near)
			want := onIt(other)
			require.NotZero(t, other.directory)
			require.Equal(t, want, onIt(m))
			require.Zero(t, m.directory)
			onIt(other)
			require.Zero(t, other.directory)
			require.NoError(t, other.Close())

			m.poke(codeAt+0x40, "ffe3") // jmp rbx
			for k := range uint64(8) {
				for _, d := range []uint64{0, 1, 2, 0x1000, ^uint64(0), ^uint64(0x1000)} {
					target := k<<61 + d<<32 + 0x1000
					m.cpu.RIP, m.cpu.Regs[emu.RBX] = codeAt+0x40, target
					stop := m.Run(m.cpu, emu.NoBudget)
					requireWild(t, target, *stop.Fault, emu.Fault{Exec: true})
				}
			}
		})
	}
}

// TestWildEntries asks for each page of what is reserved whether it has entries for targets whose multiples by 8 are
// addresses.
func TestWildEntries(t *testing.T) {
	needDirectory(t)
	m := newMachine(t, "0f 05")
	var got []uintptr
	for at := m.directory; at < m.directory+directorySize+1<<20; at += 4096 {
		if m.wildEntries(at, at+4096) {
			got = append(got, at-m.directory)
		}
	}
	var want []uintptr
	for entry := uint64(0); entry < 1<<32; entry += 4096 / 8 {
		if sum := int64(entry << 32 * 8); -1<<47 <= sum && sum < 1<<47 {
			want = append(want, uintptr(8*entry))
		}
	}
	require.Equal(t, want, got)
}
