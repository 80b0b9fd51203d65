//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

func kernel(op string, y, x F80, cw uint16) Result {
	switch op {
	case "fsin":
		return Fsin(x, cw)
	case "fcos":
		return Fcos(x, cw)
	case "fsincos":
		return Fsincos(x, cw)
	case "fptan":
		return Fptan(x, cw)
	case "fpatan":
		return Fpatan(y, x, cw)
	case "f2xm1":
		return F2xm1(x, cw)
	case "fyl2x":
		return Fyl2x(y, x, cw)
	}
	return Fyl2xp1(y, x, cw)
}

func rnd(r *rand.Rand, lo, hi int) F80 {
	e := lo + r.IntN(hi-lo+1) + expBias
	return F80{r.Uint64() | integer, uint16(e) | uint16(r.IntN(2)<<15)}
}

func ulp(a, b F80) int64 {
	if a.SE == b.SE {
		return int64(a.Mant - b.Mant)
	}
	return 1 << 40
}

func TestExplore(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		n = 20000
	}
	show, _ := strconv.Atoi(os.Getenv("SHOW"))
	for _, tt := range []struct {
		op         string
		xlo, xhi   int
		ylo, yhi   int
	}{
		{"fsin", -60, -3, 0, 0}, {"fsin", -2, -1, 0, 0}, {"fsin", 0, 3, 0, 0}, {"fsin", 4, 62, 0, 0},
		{"fcos", -60, -3, 0, 0}, {"fcos", -2, -1, 0, 0}, {"fcos", 0, 3, 0, 0}, {"fcos", 4, 62, 0, 0},
		{"fsincos", -60, -3, 0, 0}, {"fsincos", -2, -1, 0, 0}, {"fsincos", 0, 3, 0, 0}, {"fsincos", 4, 62, 0, 0},
		{"fptan", -60, -3, 0, 0}, {"fptan", -2, -1, 0, 0}, {"fptan", 0, 3, 0, 0}, {"fptan", 4, 62, 0, 0},
		{"f2xm1", -60, -8, 0, 0}, {"f2xm1", -7, -3, 0, 0}, {"f2xm1", -2, -1, 0, 0},
		{"fpatan", -60, 60, -60, 60}, {"fpatan", -3, 3, -3, 3},
		{"fyl2x", -100, 100, 0, 0}, {"fyl2x", -1, 0, 0, 0},
		{"fyl2xp1", -60, -3, 0, 0}, {"fyl2xp1", -3, -2, 0, 0},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		line := fmt.Sprintf("%-8s x 2^%d..%d:", tt.op, tt.xlo, tt.xhi)
		for _, cw := range []uint16{0x37f, 0x77f, 0xb7f, 0xf7f} {
			val, push, st := 0, 0, 0
			var maxu int64
			shown := 0
			for range n {
				x, y := rnd(r, tt.xlo, tt.xhi), rnd(r, tt.ylo, tt.yhi)
				if tt.op == "fyl2x" {
					x.SE &= 0x7fff
				}
				if tt.op == "fyl2xp1" && x.class() == normal && x.SE&0x7fff == expBias-2 && x.Mant > 0x95f619980c4336f7 {
					x.Mant &^= 1 << 62
				    if x.Mant > 0x95f619980c4336f7 { x.Mant &^= 0xff<<56; x.Mant|=1<<63}
				}
				got := kernel(tt.op, y, x, cw)
				h, sw, _ := host(tt.op, y, x, cw)
				want, wp := h[0], F80{}
				if tt.op == "fsincos" || tt.op == "fptan" {
					want, wp = h[1], h[0]
				}
				if got.Value == want {
					val++
				} else {
					u := ulp(got.Value, want)
					maxu = max(maxu, u, -u)
					if shown < show {
						shown++
						fmt.Printf("   %s cw %x y %x x %x got %x want %x sw %x\n", tt.op, cw, y, x, got.Value, want, sw)
					}
				}
				if got.Pushed == wp {
					push++
				}
				if got.Status == sw&^0x3800 {
					st++
				}
			}
			line += fmt.Sprintf("  %x: %.3f%% p %.3f%% sw %.2f%% max %d", cw>>8, 100*float64(val)/float64(n), 100*float64(push)/float64(n), 100*float64(st)/float64(n), maxu)
		}
		fmt.Println(line)
	}
	_ = bits.Len64
}
