package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBCD has integers of 18 digits in both directions, and rounds to them.
func TestBCD(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 5_000 {
		n := r.Int64N(1e18) >> r.IntN(60)
		want := [10]byte{}
		digits := fmt.Sprintf("%018d", n)
		for i := range 9 {
			want[i] = digits[16-2*i]<<4 | digits[17-2*i]&15
		}
		x := FromInt(n).f80()
		if r.IntN(2) == 1 {
			x, want[9] = x.withSign(true), 0x80
		}
		got, status := ToBCD(x, 0x37f)
		require.Equal(t, want, got, "%v", n)
		require.Zero(t, status)
		require.Equal(t, x, FromBCD(want))
	}
	indefinite := [10]byte{7: 0xc0, 8: 0xff, 9: 0xff}
	largest := [10]byte{0x99, 0x99, 0x99, 0x99, 0x99, 0x99, 0x99, 0x99, 0x99}
	limit := FromInt(1e18).f80()
	below := F80{limit.Mant - 1, limit.SE} // 1e18 - 1/16
	for _, tt := range []struct {
		x      F80
		cw     uint16
		want   [10]byte
		status uint16
	}{
		{limit, 0x37f, indefinite, IE},
		{limit.withSign(true), 0x37f, indefinite, IE},
		{below, 0x37f, indefinite, IE},
		{below, 0x77f, largest, PE},
		{below, 0xb7f, indefinite, IE},
		{below, 0xf7f, largest, PE},
		{F80{integer, expBias - 1}, 0x37f, [10]byte{}, PE},
		{F80{3 << 62, expBias}, 0x37f, [10]byte{2}, PE | C1},
		{F80{integer, negative | expBias - 1}, 0x37f, [10]byte{9: 0x80}, PE},
		{F80{integer, negative | expBias - 1}, 0x77f, [10]byte{1, 9: 0x80}, PE | C1},
		{zero80(true), 0x37f, [10]byte{9: 0x80}, 0},
		{infinity80(false), 0x37f, indefinite, IE},
		{F80{^uint64(0), maxExp}, 0x37f, indefinite, IE},
		{F80{1, expBias}, 0x37f, indefinite, IE},
		{F80{1, 0}, 0xb7f, [10]byte{1}, PE | C1},
	} {
		got, status := ToBCD(tt.x, tt.cw)
		require.Equal(t, tt.want, got, "%v, control word %#x", tt.x, tt.cw)
		require.Equal(t, tt.status, status, "%v, control word %#x", tt.x, tt.cw)
	}
	require.Equal(t, FromInt(165).f80(), FromBCD([10]byte{0xff}))
}

// TestConstantsRounded has the last digit of the constants in all roundings: nearest, down, up, to zero.
func TestConstantsRounded(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func(cw uint16) F80
		down F80
		up   bool // nearest is upwards
	}{
		{"pi", Fldpi, F80{0xc90fdaa22168c234, expBias + 1}, true},
		{"log2(10)", Fldl2t, F80{0xd49a784bcd1b8afe, expBias + 1}, false},
		{"log2(e)", Fldl2e, F80{0xb8aa3b295c17f0bb, expBias}, true},
		{"log10(2)", Fldlg2, F80{0x9a209a84fbcff798, expBias - 2}, true},
		{"ln(2)", Fldln2, F80{0xb17217f7d1cf79ab, expBias - 1}, true},
	} {
		up := F80{tt.down.Mant + 1, tt.down.SE}
		nearest := tt.down
		if tt.up {
			nearest = up
		}
		require.Equal(t, []F80{nearest, tt.down, up, tt.down}, []F80{tt.f(0x37f), tt.f(0x77f), tt.f(0xb7f), tt.f(0xf7f)}, tt.name)
	}
}

// TestExamine has the classes of SDM Vol. 2, FXAM.
func TestExamine(t *testing.T) {
	for x, want := range map[F80]uint16{
		{}:                     C3,
		{1, 0}:                 C3 | C2,
		{integer, 0}:           C3 | C2,
		{integer, 1}:           C2,
		{integer, maxExp}:      C2 | C0,
		{integer | 1, maxExp}:  C0,
		indefinite:             C0 | C1,
		{1, 1}:                 0,
		{1, negative | maxExp}: C1,
		zero80(true):           C3 | C1,
		infinity80(true):       C2 | C0 | C1,
	} {
		require.Equal(t, want, Fxam(x), "%v", x)
	}
}
