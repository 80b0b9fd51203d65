//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestLinkage jumps through a word as entries of linkage tables do: to the entry's other part until it is bound, then where it is bound to, and elsewhere once it is bound anew.
func TestLinkage(t *testing.T) {
	m := newMachine(t, `
		e81b000000     # call 20
		0f05           # syscall
		90 90 90 90 90 90 90 90 90
		48 31 c0       # 10: xor rax, rax
		c3             # ret
		90 90 90 90 90 90 90 90 90 90 90 90
		ff25 da0a1000  # 20: jmp [500b00]
		b0 01          # 26: mov al, 1
		c3             # ret
	`)
	const bound = codeAt + 0x1000
	m.poke(bound, "48 31 c0 b0 02 c3") // xor rax, rax; mov al, 2; ret
	m.poke(bound+0x100, "48 31 c0 b0 03 c3")
	m.poke(bound+0x200, "0f 92 c0 c3") // setc al: flags are as the jump found them
	word := dataAt + 0xb00
	var insns uint64
	for _, tt := range []struct {
		to   emu.Addr
		want uint64
		more uint64 // instructions
	}{
		{codeAt + 0x26, 1, 5}, {bound, 2, 6}, {bound, 2, 6}, {bound, 2, 6}, {bound + 0x100, 3, 6}, {codeAt + 0x10, 0, 5}, {bound, 2, 6}, {bound + 0x200, 1, 5}, {bound + 0x200, 1, 5}, {bound, 2, 6},
	} {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(tt.to))
		require.Equal(t, 8, m.mem.Poke(word, b[:]))
		m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
		m.cpu.Flags |= uint64(x86.CF)
		m.run(emu.StopSyscall)
		require.Equal(t, tt.want, m.cpu.Regs[emu.RAX])
		insns += tt.more
		require.Equal(t, insns, m.Executed())
	}
}

// TestUnboundForever has a jump through a word that stays in its page: it is left to Go a few times only.
func TestUnboundForever(t *testing.T) {
	m := newMachine(t, `
		b9 e8030000     # mov ecx, 1000
		ff25 f50a1000   # 5: jmp [500b00]
		90 90 90 90 90
		ffc9            # 10: dec ecx
		75 f1           # jnz 5
		0f05            # syscall
	`)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(codeAt+0x10))
	require.Equal(t, 8, m.mem.Poke(dataAt+0xb00, b[:]))
	m.run(emu.StopSyscall)
	require.EqualValues(t, 3002, m.Executed())
	require.Equal(t, map[emu.Addr]uint8{codeAt + 5: maxUnbound}, m.unbound)
}

// TestLinkageSegment jumps through a word of a segment, which is not where it would be without.
func TestLinkageSegment(t *testing.T) {
	m := newMachine(t, `
		64 ff25 f90a1000  # jmp fs:[500b00]
		90 90 90 90 90 90 90 90 90
		0f05              # 10: syscall
	`)
	for at, to := range map[emu.Addr]emu.Addr{0xb00: codeAt + 0x1000, 0xc00: codeAt + 0x10} {
		require.Equal(t, 8, m.mem.Poke(dataAt+at, binary.LittleEndian.AppendUint64(nil, uint64(to))))
	}
	m.cpu.FSBase = 0x100
	m.run(emu.StopSyscall)
	require.EqualValues(t, 2, m.Executed())
}
