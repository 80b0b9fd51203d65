//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu/soft"
)

// TestHostApproximates has the host's approximations compared as they are, and with a bit of one result changed.
func TestHostApproximates(t *testing.T) {
	require.True(t, sameAsHost([]approximation{{soft.Rcp, soft.Rcp}, {soft.Rsqrt, soft.Rsqrt}}, 11))
	for _, x := range []uint32{0, 0x7e800000, 0x7fc00000, 0xbf800000, 127 << 23, 127<<23 | 0x7ff<<12 | 1, 128<<23 | 5<<12, 129<<23 - 1} {
		other := func(y uint32) uint32 {
			if x == y {
				return soft.Rcp(y) ^ 1<<11
			}
			return soft.Rcp(y)
		}
		require.False(t, sameAsHost([]approximation{{other, soft.Rcp}}, 11), "%#x", x)
	}
	if hostApproximates() {
		for x := uint32(0); x < 0xffff0000; x += 65521 {
			require.Equal(t, soft.Rcp(x), hostRcp(x), "%#x", x)
			require.Equal(t, soft.Rsqrt(x), hostRsqrt(x), "%#x", x)
		}
	}
}

func BenchmarkHostApproximates(b *testing.B) {
	for b.Loop() {
		sameAsHost(approximations11, 11)
	}
}
