package sem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestApproximations has which elements of registers the approximations write, with each encoding. CPUs of several
// makers differ in the values, so that no host says it.
func TestApproximations(t *testing.T) {
	space, err := mem.New()
	require.NoError(t, err)
	defer space.Close()
	const at = emu.Addr(0x10000)
	require.NoError(t, space.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write}, nil))
	const two, three, four, five = 0x40000000, 0x40400000, 0x40800000, 0x40a00000
	rcp := func(low, high uint32) uint64 { return uint64(soft.Rcp(low)) | uint64(soft.Rcp(high))<<32 }
	before, first, source := vec{1, 2, 3, 4}, vec{5, 6, 7, 8}, vec{three<<32 | two, five<<32 | four, two<<32 | five, four<<32 | three}
	for _, test := range []struct {
		name string
		code []byte
		at   emu.Addr
		want vec
	}{
		{"rcpps xmm0, xmm2", []byte{0x0f, 0x53, 0xc2}, at, vec{rcp(two, three), rcp(four, five), 3, 4}},
		{"rcpps xmm0, [rsi]", []byte{0x0f, 0x53, 0x06}, at, vec{rcp(two, three), rcp(four, five), 3, 4}},
		{"vrcpps xmm0, xmm2", []byte{0xc5, 0xf8, 0x53, 0xc2}, at, vec{rcp(two, three), rcp(four, five), 0, 0}},
		{"vrcpps ymm0, [rsi]", []byte{0xc5, 0xfc, 0x53, 0x06}, at + 1, vec{rcp(two, three), rcp(four, five), rcp(five, two), rcp(three, four)}},
		{"rcpss xmm0, xmm2", []byte{0xf3, 0x0f, 0x53, 0xc2}, at, vec{rcp(two, 0) & 0xffffffff, 2, 3, 4}},
		{"rcpss xmm0, [rsi]", []byte{0xf3, 0x0f, 0x53, 0x06}, at + 1, vec{rcp(two, 0) & 0xffffffff, 2, 3, 4}},
		{"vrcpss xmm0, xmm1, xmm2", []byte{0xc5, 0xf2, 0x53, 0xc2}, at, vec{rcp(two, 0) & 0xffffffff, 6, 0, 0}},
	} {
		m, c := Machine{Mem: space, Model: testModel}, emu.NewCPU()
		b := source.bytes()
		require.Equal(t, 32, space.Poke(test.at, b[:]))
		c.Regs[emu.RSI] = uint64(test.at)
		setVecReg(c.FP, 0, before)
		setVecReg(c.FP, 1, first)
		setVecReg(c.FP, 2, source)
		g := guest.Insn{Kind: guest.Emulated}
		require.NoError(t, x86.Decode(test.code, &g.Inst))
		require.Nil(t, Of(&g)(&m, c, &g), test.name)
		require.Equal(t, test.want, vecReg(c.FP, 0), test.name)
	}
	// 16 bytes have to be aligned without VEX.
	m, c := Machine{Mem: space, Model: testModel}, emu.NewCPU()
	c.Regs[emu.RSI] = uint64(at + 4)
	g := guest.Insn{Kind: guest.Emulated}
	require.NoError(t, x86.Decode([]byte{0x0f, 0x53, 0x06}, &g.Inst))
	require.Equal(t, generalProtection(), Of(&g)(&m, c, &g))
}
