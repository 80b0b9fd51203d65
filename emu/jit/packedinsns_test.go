//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackInsns reads what was packed, of any instructions: near each other and far, with everything the same and
// different.
func TestPackInsns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any16 := func() uint16 { return uint16(r.Uint32()) }
	for range 2000 {
		var insns []insnAt
		var at insnAt
		for range r.IntN(maxBlock + 1) {
			at.off, at.host, at.run = at.off+uint16(r.IntN(20)), at.host+uint16(r.IntN(300)), at.run+1
			switch r.IntN(20) {
			case 0:
				at.off, at.host = any16(), any16()
			case 1:
				at.rsp = int16(any16())
			case 2:
				at.plan = any16()
			case 3:
				at.outcomes = outcomes{uint8(any16()), uint8(any16())}
			case 4:
				at.run = uint8(any16())
			}
			insns = append(insns, at)
		}
		packed := packInsns(nil, insns)
		require.LessOrEqual(t, len(packed), 12*len(insns))
		var got []insnAt
		for p := readInsns(packed); p.next(); {
			got = append(got, p.insnAt)
		}
		require.Equal(t, insns, got)
	}
}
