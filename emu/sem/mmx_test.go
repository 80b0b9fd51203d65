package sem

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestEnterMMX has MMX registers keep their values, and x87's turn, when the stack top becomes 0.
func TestEnterMMX(t *testing.T) {
	for top := range 8 {
		var x emu.XState
		x.Reset()
		x[emu.XOffFSW+1] = byte(top<<3) | 0x41 // condition bits 0 and 3 stay
		for i := range 8 {
			binary.LittleEndian.PutUint64(x[emu.XOffST+16*i:], uint64(100+(i+top)%8)) // ST(i) is R(top+i)
		}
		for r := range x86.Reg(8) {
			require.Equal(t, uint64(100+r), mmxReg(&x, r), "MM%d, stack top %d", r, top)
		}
		enterMMX(&x)
		require.Equal(t, byte(0x41), x[emu.XOffFSW+1])
		require.Equal(t, byte(0xff), x[emu.XOffFTW])
		for r := range x86.Reg(8) {
			require.Equal(t, uint64(100+r), mmxReg(&x, r), "MM%d, stack top %d", r, top)
			require.Equal(t, uint64(100+r), binary.LittleEndian.Uint64(x[emu.XOffST+16*int(r):]))
		}
		setMMXReg(&x, 3, 7)
		require.Equal(t, []byte{7, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, x[emu.XOffST+48:emu.XOffST+58])
	}
}
