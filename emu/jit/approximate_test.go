//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestHostApproximates has the host's approximations compared as they are, and with a bit of one result changed.
func TestHostApproximates(t *testing.T) {
	rcp, rsqrt := sem.Approximation(x86.RCPSS), sem.Approximation(x86.RSQRTSS)
	require.True(t, sameAsHost([]approximation{{rcp, rcp}, {rsqrt, rsqrt}}, 11))
	for _, x := range []uint32{0, 0x7e800000, 0x7fc00000, 0xbf800000, 127 << 23, 127<<23 | 0x7ff<<12 | 1, 128<<23 | 5<<12, 129<<23 - 1} {
		other := func(y uint32) uint32 {
			if x == y {
				return rcp(y) ^ 1<<11
			}
			return rcp(y)
		}
		require.False(t, sameAsHost([]approximation{{other, rcp}}, 11), "%#x", x)
	}
	if hostApproximates() {
		for x := uint32(0); x < 0xffff0000; x += 65521 {
			require.Equal(t, rcp(x), hostRcp(x), "%#x", x)
			require.Equal(t, rsqrt(x), hostRsqrt(x), "%#x", x)
		}
	}
}

func BenchmarkHostApproximates(b *testing.B) {
	for b.Loop() {
		sameAsHost(approximations11, 11)
	}
}
