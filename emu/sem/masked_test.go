package sem

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// newPage returns a machine with one page at 10000H, and a CPU.
func newPage(t *testing.T) (*Machine, *emu.CPU) {
	space, err := mem.New()
	require.NoError(t, err)
	t.Cleanup(func() { space.Close() })
	require.NoError(t, space.Map(mem.VMA{Lo: 0x10000, Hi: 0x11000, Prot: mem.Read | mem.Write}, nil))
	return &Machine{Mem: space, Model: testModel}, emu.NewCPU()
}

// perform executes an instruction.
func perform(t *testing.T, m *Machine, c *emu.CPU, code ...byte) *emu.Fault {
	var g guest.Insn
	require.NoError(t, x86.Decode(code, &g.Inst))
	return Of(&g)(m, c, &g)
}

// TestGatherGoesOn has a gather fault at its third element: the first two are done, and it goes on with the third one
// when there is memory.
func TestGatherGoesOn(t *testing.T) {
	m, c := newPage(t)
	for i := range uint32(1024) {
		require.Equal(t, 4, m.Mem.Poke(0x10000+emu.Addr(4*i), binary.LittleEndian.AppendUint32(nil, 1000+i)))
	}
	const on = 0x80000000
	c.Regs[emu.RSI] = 0x10000
	result, mask := vec{1<<32 | 2, 3<<32 | 4, 5, 6}, vec{on<<32 | on, on<<32 | on, on, 1<<32 | on}
	setVecReg(c.FP, 0, result)
	setVecReg(c.FP, 1, vec{8<<32 | 7, 9<<32 | 1024, 11<<32 | 10, 13<<32 | 12})
	setVecReg(c.FP, 2, mask)
	gather := []byte{0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x8e} // vpgatherdd ymm0, [rsi+4*ymm1], ymm2
	require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: 0x11000}, perform(t, m, c, gather...))
	require.Equal(t, vec{1008<<32 | 1007, 3<<32 | 4, 5, 6}, vecReg(c.FP, 0))
	require.Equal(t, vec{0, math.MaxUint64, math.MaxUint32, math.MaxUint32}, vecReg(c.FP, 2))

	require.NoError(t, m.Mem.Map(mem.VMA{Lo: 0x11000, Hi: 0x12000, Prot: mem.Read}, nil))
	require.Nil(t, perform(t, m, c, gather...))
	require.Equal(t, vec{1008<<32 | 1007, 1009 << 32, 1010, 1012}, vecReg(c.FP, 0))
	require.Equal(t, vec{}, vecReg(c.FP, 2))
}

// TestMaskedStores has stores leave alone what is not selected, memory that is not there included but for MASKMOVDQU's,
// and write nothing if they fault.
func TestMaskedStores(t *testing.T) {
	m, c := newPage(t)
	word := func(a emu.Addr) uint64 {
		x, ok := m.Mem.ReadUint64(a)
		require.True(t, ok)
		return x
	}
	const on = 0x80000000
	setVecReg(c.FP, 0, vec{2<<32 | 1, 4<<32 | 3, 6<<32 | 5, 8<<32 | 7})
	store := []byte{0xc4, 0xe2, 0x75, 0x8e, 0x06} // vpmaskmovd [rsi], ymm1, ymm0
	c.Regs[emu.RSI] = 0x10ff0
	setVecReg(c.FP, 1, vec{on << 32, on, 0, 0})
	require.Nil(t, perform(t, m, c, store...))
	require.Equal(t, uint64(2<<32), word(0x10ff0))
	require.Equal(t, uint64(3), word(0x10ff8))
	setVecReg(c.FP, 1, vec{on, 0, on << 32, 0})
	require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: 0x11007, Write: true}, perform(t, m, c, store...)) // that of the last byte
	require.Equal(t, uint64(2<<32), word(0x10ff0))

	bytes := []byte{0x66, 0x0f, 0xf7, 0xc1} // maskmovdqu xmm0, xmm1
	c.Regs[emu.RDI] = 0x10100
	setVecReg(c.FP, 1, vec{0x7f7f7f7f7f7f7f80, 0x80})
	require.Nil(t, perform(t, m, c, bytes...))
	require.Equal(t, uint64(1), word(0x10100))
	require.Equal(t, uint64(3), word(0x10108))
	c.Regs[emu.RDI] = 0x10ff8
	require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: 0x11000, Write: true}, perform(t, m, c, bytes...))
	require.Equal(t, uint64(3), word(0x10ff8))
}
