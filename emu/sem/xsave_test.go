package sem

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

var (
	xsaveRSI  = guest.Insn{Kind: guest.Emulated, Inst: decoded(0x0f, 0xae, 0x26)}
	xrstorRSI = guest.Insn{Kind: guest.Emulated, Inst: decoded(0x0f, 0xae, 0x2e)}
)

func decoded(code ...byte) (i x86.Inst) {
	if err := x86.Decode(code, &i); err != nil {
		panic("BUG: " + err.Error())
	}
	return i
}

// newXSave is newPage for a CPU of model v4, whose vector registers are in use.
func newXSave(t *testing.T) (*Machine, *emu.CPU) {
	m, c := newPage(t)
	var err error
	m.Model, err = emu.ModelByName("v4")
	require.NoError(t, err)
	c.FP.SetComponents(m.Model.XCR0)
	for i := range c.FP[emu.XOffXMM:emu.XOffHeader] {
		c.FP[emu.XOffXMM+i] = byte(i)
	}
	for i := range c.FP[emu.XOffYMMH:] {
		c.FP[emu.XOffYMMH+i] = byte(i)
	}
	return m, c
}

// TestXSaveAtEdge has an area at the end of memory that is as long as what is asked for needs; if one is too short
// nothing is written and nothing is loaded.
func TestXSaveAtEdge(t *testing.T) {
	const end = 0x11000
	for _, tt := range []struct {
		asked uint64
		size  emu.Addr
	}{{0, 576}, {3, 576}, {7, 832}, {0x22, 1152}, {0xe7, 2688}, {0x80, 2688}, {1 << 9, 576}} {
		t.Run(fmt.Sprintf("%#x", tt.asked), func(t *testing.T) {
			m, c := newXSave(t)
			c.Regs[emu.RAX] = tt.asked
			c.Regs[emu.RSI] = uint64(end - tt.size)
			require.Nil(t, m.Execute(c, &xsaveRSI))
			require.Nil(t, m.Execute(c, &xrstorRSI))
			for _, g := range []guest.Insn{xsaveRSI, xrstorRSI} {
				m, c := newXSave(t)
				was := *c.FP
				c.Regs[emu.RAX] = tt.asked
				c.Regs[emu.RSI] = uint64(end - tt.size + 64)
				f := m.Execute(c, &g)
				require.NotNil(t, f)
				require.EqualValues(t, emu.VecPF, f.Vector)
				require.EqualValues(t, end, f.Addr)
				require.Equal(t, was, *c.FP)
				area := make([]byte, tt.size-64)
				require.Equal(t, len(area), m.Mem.Read(end-tt.size+64, area))
				require.Equal(t, make([]byte, len(area)), area)
			}
		})
	}
}

// TestXRSTORHeader has what CPUs say of the header of an area in standard format: the bytes behind XSTATE_BV are zero
// up to 24.
func TestXRSTORHeader(t *testing.T) {
	for at := range emu.Addr(64) {
		m, c := newXSave(t)
		c.Regs[emu.RAX], c.Regs[emu.RSI] = 7, 0x10000
		require.Nil(t, m.Execute(c, &xsaveRSI))
		require.Equal(t, 1, m.Mem.Poke(0x10000+emu.XOffHeader+at, []byte{8}))
		f := m.Execute(c, &xrstorRSI)
		if at < 24 {
			require.Equal(t, generalProtection(), f, "byte %d", at)
		} else {
			require.Nil(t, f, "byte %d", at)
		}
	}
}
