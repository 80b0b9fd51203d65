//go:build linux && amd64

package jit

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/tally"
)

// rewrites makes a function at RDI and calls it, RCX times: mov eax, the count; ret.
const rewrites = `
	c6 07 b8             # loop: mov byte [rdi], 0xb8
	89 4f 01             # mov [rdi+1], ecx
	c6 47 05 c3          # mov byte [rdi+5], 0xc3
	ff d7                # call rdi
	48 01 c2             # add rdx, rax
	48 01 df             # add rdi, rbx
	48 ff c9             # dec rcx
	75 e9                # jnz loop
	0f 05                # syscall`

// retained returns the bytes of Go objects that are in use.
func retained() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestRewrittenCode rewrites a function and calls it, over and over: what is kept does not grow.
func TestRewrittenCode(t *testing.T) {
	for name, cfg := range map[string]func(*testing.T, string) *machine{"Ir": newMachine, "simulating": newSimulator} {
		t.Run(name, func(t *testing.T) {
			m := cfg(t, rewrites)
			require.NoError(t, m.mem.Map(mem.VMA{Lo: 0x600000, Hi: 0x601000, Prot: mem.Read | mem.Write | mem.Exec}, nil))
			run := func(n uint64) (blocks int, bytes int64) {
				m.cpu.RIP, m.cpu.Regs[emu.RDX] = codeAt, 0
				m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RCX] = 0x600000, 0, n
				m.run(emu.StopSyscall)
				require.Equal(t, n*(n+1)/2, m.cpu.Regs[emu.RDX])
				require.Equal(t, uint64(n), m.counts()[0x600000])
				return len(m.all), retained()
			}
			few, _ := run(100)
			require.Less(t, few, 120, "a rewriting takes one block: the loop, on another page, goes on where it was")
			_, before := run(2 * minDead)
			blocks, after := run(4 * minDead)
			require.Less(t, blocks, 2*minDead)
			require.Less(t, after, before+before/4)
		})
	}
}

// TestCodeForEver makes functions at fresh addresses, the same ones over and over: what is kept does not grow.
func TestCodeForEver(t *testing.T) {
	const at, n = 0x20000000, 3 * minDead
	m := newMachine(t, rewrites)
	require.NoError(t, m.mem.Map(mem.VMA{Lo: at, Hi: at + n*64, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	run := func() int64 {
		m.cpu.RIP, m.cpu.Regs[emu.RDX] = codeAt, 0
		m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RCX] = at, 64, n
		m.run(emu.StopSyscall)
		require.EqualValues(t, n*(n+1)/2, m.cpu.Regs[emu.RDX])
		require.Len(t, m.counts(), 9+2*n)
		require.Less(t, len(m.all), 4*minDead)
		return retained()
	}
	run()
	before := run()
	run()
	after := run()
	require.Less(t, after, before+before/4)
	require.LessOrEqual(t, m.collected[emu.Ir].Pages(), tally.Kept)
}

// TestNoRoomForEntries has blocks called and jumped to for the first time when the code cache is full.
func TestNoRoomForEntries(t *testing.T) {
	for name, code := range map[string]string{
		"call": `
			e8 10 00 00 00       # call codeAt+0x15
			0f 05                # syscall`,
		"jmp": `
			48 8d 05 0e 00 00 00 # lea rax, [codeAt+0x15]
			ff e0                # jmp rax`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, code)
			m.poke(codeAt+0x15, "48 ff c2 0f 05") // inc rdx; syscall
			m.run(emu.StopSyscall)
			// As if it had been reached in no other way than by falling into it.
			b := m.tbs.at(codeAt + 0x15)
			m.isolate(b)
			m.table.clear(b.pc)
			b.called, b.indirect, b.listed = 0, 0, false
			m.pos = farOff - 8
			m.cpu.RIP = codeAt
			m.run(emu.StopSyscall)
			require.EqualValues(t, 2, m.cpu.Regs[emu.RDX])
			require.Less(t, m.pos, farOff-maxBlockCode)
		})
	}
}
