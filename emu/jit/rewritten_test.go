//go:build linux && amd64

package jit

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/tally"
)

// rewrites makes a function at RDI and calls it, RCX times: lea eax, [the count]; ret.
const rewrites = `
	c7 07 8d 04 25 00    # loop: mov dword [rdi], 0x25048d
	89 4f 03             # mov [rdi+3], ecx
	c6 47 07 c3          # mov byte [rdi+7], 0xc3
	ff d7                # call rdi
	48 01 c2             # add rdx, rax
	48 01 df             # add rdi, rbx
	48 ff c9             # dec rcx
	75 e6                # jnz loop
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

// changesImmediate stores what it complements of RCX into the function at RDI, and calls it, RCX times.
const changesImmediate = `
	89 cb                # loop: mov ebx, ecx
	f7 d3                # not ebx
	89 5f %02x           # mov [rdi+offset], ebx
	ff d7                # call rdi
	48 01 c2             # add rdx, rax
	48 ff c9             # dec rcx
	75 ef                # jnz loop
	0f 05                # syscall`

// TestRewrittenImmediates changes the immediates of MOVs, which takes few translations, and in the end another byte.
func TestRewrittenImmediates(t *testing.T) {
	const n = 1000
	extended := func(x uint32) uint64 { return uint64(int64(int32(x))) }
	for name, c := range map[string]struct {
		function string
		offset   int
		result   func(uint32) uint64
	}{
		"mov eax, imm32":       {"b8 00 00 00 00 c3", 1, nil},
		"mov eax, imm32 by C7": {"c7 c0 00 00 00 00 c3", 2, nil},
		"mov r11d, imm32":      {"41 bb 00 00 00 00 4c 89 d8 c3", 2, nil},
		"mov rax, simm32":      {"48 c7 c0 00 00 00 00 c3", 3, extended},
		"mov r12, simm32":      {"49 c7 c4 00 00 00 00 4c 89 e0 c3", 3, extended},
		"mov rax, imm64":       {"48 b8 00 00 00 00 00 00 00 00 c3", 2, nil},
		"mov r13, imm64":       {"49 bd 00 00 00 00 00 00 00 00 4c 89 e8 c3", 2, nil},
	} {
		for _, at := range []emu.Addr{0x600000, 0x2_0000_0000} {
			t.Run(fmt.Sprintf("%s at %v", name, at), func(t *testing.T) {
				m := newMachine(t, fmt.Sprintf(changesImmediate, c.offset))
				require.NoError(t, m.mem.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
				m.poke(at, c.function)
				m.cpu.Regs[emu.RDI] = uint64(at)
				m.turn(n)
				var sum uint64
				for i := range uint32(n) {
					x := uint64(^(i + 1))
					if c.result != nil {
						x = c.result(^(i + 1))
					}
					sum += x
				}
				require.Equal(t, sum, m.cpu.Regs[emu.RDX])
				require.EqualValues(t, n, m.counts()[at])
				require.Less(t, len(m.all), 40)
			})
		}
	}
	m := newWriter(t, newMachine, fmt.Sprintf(changesImmediate, 1), "b8 00 00 00 00 c3")
	m.turn(n)
	m.poke(writtenPage, "05") // add eax, imm32
	m.cpu.Regs[emu.RAX] = 7
	m.turn(1)
	require.EqualValues(t, 5, m.cpu.Regs[emu.RAX], "the sum of 7 and -2 in 32 bits")
}
