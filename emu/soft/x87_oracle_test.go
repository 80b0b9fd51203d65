//go:build hostcpu && amd64

package soft

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var hostX87 = map[string]func(*oracleIn, *[512]byte){
	"Add": hostAdd, "Sub": hostSub, "Mul": hostMul, "Div": hostDiv, "Sqrt": hostSqrt, "RoundToInt": hostRoundToInt,
}

var softX87 = map[string]func(x, y Number, cw uint16) Result{
	"Add": Add, "Sub": Sub, "Mul": Mul, "Div": Div,
	"Sqrt":       func(x, _ Number, cw uint16) Result { return Sqrt(x, cw) },
	"RoundToInt": func(x, _ Number, cw uint16) Result { return RoundToInt(x, cw) },
}

// TestOracleBasicX87 compares with the host, with any exceptions masked: nothing waits for them.
func TestOracleBasicX87(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for name := range hostX87 {
		t.Run(name, func(t *testing.T) {
			bad := 0
			for range 2_000_000 {
				x, y, cw := random80(r), random80(r), uint16(r.IntN(64)|r.IntN(16)<<8)
				if r.IntN(2) == 0 {
					cw |= 0x3f
				}
				in := oracleIn{y, x, cw}
				var img fxImage
				area := img.aligned()
				hostX87[name](&in, area)
				want := F80{binary.LittleEndian.Uint64(area[32:]), binary.LittleEndian.Uint16(area[40:])}
				wantStatus := binary.LittleEndian.Uint16(area[2:]) & (exceptions | C1)
				got := softX87[name](x.Number(), y.Number(), cw)
				if got.Status&^cw&preComputation != 0 {
					got.Value = x
				}
				if got.Value != want || got.Status != wantStatus {
					t.Errorf("%v %v cw %x: got %v status %x, want %v %x", x, y, cw, got.Value, got.Status, want, wantStatus)
					if bad++; bad > 20 {
						break
					}
				}
			}
			require.Zero(t, bad)
		})
	}
}

// TestOracleStore compares FST m32 and FST m64.
func TestOracleStore(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for f, host := range map[*Format]func(*oracleIn, *[512]byte){Float32: hostStore32, Float64: hostStore64} {
		bad := 0
		for range 2_000_000 {
			x, cw := random80(r), uint16(r.IntN(64)|r.IntN(16)<<8)
			if r.IntN(2) == 0 {
				// near the limits of the format
				x.SE = x.SE&negative | uint16(expBias-f.bias+r.IntN(8)-4-int(f.prec)*r.IntN(2))
				x.Mant |= integer
			}
			in := oracleIn{F80{}, x, cw}
			var img fxImage
			area := img.aligned()
			host(&in, area)
			want := binary.LittleEndian.Uint64(area[464:])
			wantStatus := binary.LittleEndian.Uint16(area[2:]) & (exceptions | C1)
			got, status := Store(x.Number(), f, cw)
			if status&^cw&(exceptions&^PE) != 0 {
				got = 0 // nothing is stored
			}
			if got != want || status != wantStatus {
				t.Errorf("%v cw %x: got %x status %x, want %x %x", x, cw, got, status, want, wantStatus)
				if bad++; bad > 20 {
					break
				}
			}
		}
		require.Zero(t, bad)
	}
}
