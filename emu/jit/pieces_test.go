//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// fewParts leaves ranges leastParts each for a test.
func fewParts(t *testing.T) {
	was := maxParts
	maxParts = func() int { return 0 }
	before := allParts.Load()
	t.Cleanup(func() {
		maxParts = was
		require.Equal(t, before, allParts.Load(), "all is given back")
	})
}

// TestCodeApart calls functions in so many places that the pieces of the jump table would be more mappings than it may
// have.
func TestCodeApart(t *testing.T) {
	fewParts(t)
	const n, every = 200, 2 * pieceSize / 8
	m := newMachine(t, `
		ff d7                # loop: call rdi
		48 01 df             # add rdi, rbx
		48 ff c9             # dec rcx
		75 f6                # jnz loop
		0f 05                # syscall`)
	require.NoError(t, m.mem.Map(mem.VMA{Lo: apartAt, Hi: apartAt + n*every, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	for i := range emu.Addr(n) {
		m.poke(apartAt+i*every, "48 ff c2 c3") // inc rdx; ret
	}
	for i := range 3 {
		m.cpu.RIP, m.cpu.Regs[emu.RDX] = codeAt, 0
		m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RCX] = apartAt, every, n
		m.run(emu.StopSyscall)
		require.EqualValues(t, n, m.cpu.Regs[emu.RDX])
		require.EqualValues(t, (i+1)*(6*n+1), m.Executed())
		require.LessOrEqual(t, m.table.pieces.parts, leastParts)
		require.Positive(t, m.table.pieces.parts)
	}
}

// TestStacksApart has a call open on each of so many stacks that the shadow stack's windows would be more mappings than
// it may have, and returns from all.
func TestStacksApart(t *testing.T) {
	fewParts(t)
	const n, every = 200, 2 * windowSize
	m := newMachine(t, `
		48 01 dc             # down: add rsp, rbx
		e8 02 00 00 00       # call next
		eb 0e                # jmp back
		48 83 c4 08          # next: add rsp, 8
		48 ff c9             # dec rcx
		75 ed                # jnz down
		48 83 ec 08          # up: sub rsp, 8
		c3                   # ret
		48 29 dc             # back: sub rsp, rbx
		48 ff c2             # inc rdx
		48 39 f2             # cmp rdx, rsi
		75 f0                # jne up
		0f 05                # syscall`)
	require.NoError(t, m.mem.Map(mem.VMA{Lo: apartAt, Hi: apartAt + (n+1)*every, Prot: mem.Read | mem.Write}, nil))
	for i := range 3 {
		m.cpu.RIP, m.cpu.Regs[emu.RSP], m.cpu.Regs[emu.RBX] = codeAt, apartAt+windowSize/2, every
		m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RDX], m.cpu.Regs[emu.RSI] = n, 0, n
		m.run(emu.StopSyscall)
		require.EqualValues(t, n, m.cpu.Regs[emu.RDX])
		require.EqualValues(t, (i+1)*(12*n+1), m.Executed())
		require.LessOrEqual(t, m.shadow.windows.parts, leastParts)
		require.Positive(t, m.shadow.windows.parts)
	}
}
