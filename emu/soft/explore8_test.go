//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestTableErr(t *testing.T) {
	for qd, op := range []string{"fsin", "fcos"} {
		for k := 4; k < 13; k++ {
			r := rand.New(rand.NewPCG(1, 2))
			// observed absolute error in units 2^-67
			sum := 0.0
			const n = 40000
			for range n {
				m := uint64(k)<<60 | r.Uint64()>>4
				if k == 12 { m = uint64(k)<<60 | r.Uint64()>>5 }
				xw := makeWide(false, 0, u128{hi: m >> 1, lo: m << 63})
				x := F80{xw.m.hi, uint16(xw.exp + expBias)}
				got := kernel(op, one80, x, 0xf7f)
				h, _, _ := host(op, one80, x, 0xf7f)
				d := float64(int64(h[0].Mant - got.Value.Mant))
				if h[0].SE != got.Value.SE { d = 0 }
				for e := int(got.Value.SE) - expBias; e < -1; e++ {
					d /= 2
				}
				sum += d * 8 // ulp 2^-64 at exponent -1
			}
			fmt.Printf("%s %d/16 obs %.3f u67; ", op, k, sum/n)
			for _, h := range []uint64{0, 1} {
				c := makeWide(false, 0, u128{hi: (uint64(2*k) + h) << 58})
				s := sine(c, qd)
				nr, tr := nr67(s), tr67(s)
				sc := 1.0
				for e := s.exp; e < -1; e++ { sc /= 2 }
				dn := addw(nr, wide{!s.neg, s.exp, s.m})
				dt := addw(tr, wide{!s.neg, s.exp, s.m})
				_ = sc
				f := func(w wide) float64 {
					v := float64(w.m.hi) / (1 << 63)
					for e := w.exp; e < -68; e++ { v /= 2 }
					v /= 2
					if w.neg { v = -v }
					return v
				}
				fmt.Printf(" c+%d/32: N %.3f T %.3f", h, f(dn), f(dt))
			}
			fmt.Println()
		}
	}
}
