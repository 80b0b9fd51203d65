//go:build linux && amd64

package jit

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestStateKept has vectors come and go with the upper halves in use and without, and x87 as Go left it, although no code needed it before.
func TestStateKept(t *testing.T) {
	m := newMachine(t, `
		0f05               # syscall
		c5 fd fe c1        # 2: vpaddd ymm0, ymm0, ymm1
		c4 41 05 fe f8     # vpaddd ymm15, ymm15, ymm8
		0f05               # syscall
		d9 3f              # d: fnstcw [rdi]
		d9 e8              # fld1
		0f05               # syscall
		66 0f fe c1        # 13: paddd xmm0, xmm1
		c5 f8 77           # vzeroupper
		0f05               # syscall
	`)
	x := m.cpu.FP
	half := func(off, r int) []byte { return x[off+16*r:][:16] }
	fill := func(b []byte, v byte) { copy(b, bytes.Repeat([]byte{v, 0, 0, 0}, len(b)/4)) }
	for r := range 16 {
		fill(half(emu.XOffXMM, r), byte(r+1))
		fill(half(emu.XOffYMMH, r), byte(r+101))
	}
	m.cpu.Regs[emu.RDI] = uint64(dataAt)
	m.run(emu.StopSyscall)
	require.Zero(t, m.get(stX87))
	m.run(emu.StopSyscall)
	require.Equal(t, []byte{1 + 2, 101 + 102}, []byte{half(emu.XOffXMM, 0)[4], half(emu.XOffYMMH, 0)[4]})
	require.Equal(t, []byte{16 + 9, 116 + 109}, []byte{half(emu.XOffXMM, 15)[12], half(emu.XOffYMMH, 15)[12]})
	require.Equal(t, []byte{15, 115}, []byte{half(emu.XOffXMM, 14)[0], half(emu.XOffYMMH, 14)[0]})
	require.Zero(t, m.get(stX87))

	binary.LittleEndian.PutUint16(x[emu.XOffFCW:], 0x27f) // as a signal handler's frame may have it
	m.run(emu.StopSyscall)
	word, ok := m.mem.ReadUint64(dataAt)
	require.True(t, ok)
	require.EqualValues(t, 0x27f, uint16(word))
	require.Zero(t, m.get(stX87))
	require.EqualValues(t, 0x3fff, binary.LittleEndian.Uint16(x[emu.XOffST+8:]), "1.0 on the stack")
	require.Equal(t, make([]byte, 18), x[emu.XOffFOP:][:18], "no address of the host's")

	m.run(emu.StopSyscall)
	require.EqualValues(t, 0x3fff, binary.LittleEndian.Uint16(x[emu.XOffST+8:]))
	require.Equal(t, byte(1+2+2), half(emu.XOffXMM, 0)[4])
	require.Equal(t, make([]byte, 256), x[emu.XOffYMMH:][:256])
}
