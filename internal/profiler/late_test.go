package profiler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/jitnames"
)

func TestNamelessCode(t *testing.T) {
	var n namelessCode
	require.False(t, n.has(jitnames.Function{Lo: 0, Hi: 1 << 40}))
	for _, a := range []emu.Addr{0x5ff8, 0x1000, 0x5010} {
		n.note(a)
	}
	for _, tt := range []struct {
		lo, hi uint64
		want   bool
	}{
		{0x1000, 0x1001, true}, {0x0f00, 0x1000, false}, {0x0f00, 0x1001, true}, {0x1010, 0x5010, false}, {0x5000, 0x6000, true}, {0x6000, 0x6010, false},
		{0, 1 << 40, true}, // more units than there are
		{0x6000, 1 << 40, false},
	} {
		require.Equal(t, tt.want, n.has(jitnames.Function{Lo: tt.lo, Hi: tt.hi}), "%#x-%#x", tt.lo, tt.hi)
	}
	require.Equal(t, []emu.Addr{0x1000, 0x5000}, n.pages())
	for a := range emu.Addr(maxNameless + 1) {
		n.note(a * namelessUnit)
	}
	require.True(t, n.all)
	require.True(t, n.has(jitnames.Function{Lo: 1 << 50, Hi: 1<<50 + 1}))
}
