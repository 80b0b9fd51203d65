//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func bins(op string, lo, hi int, neg bool, mk func(m uint64) (F80, F80)) {
	r := rand.New(rand.NewPCG(1, 2))
	for b := lo; b < hi; b++ {
		plus, minus := 0, 0
		const n = 4000
		var abs float64
		for range n {
			m := uint64(b)<<57 | r.Uint64()>>7
			y, x := mk(m)
			if neg {
				x.SE ^= 0x8000
			}
			got := kernel(op, y, x, 0xf7f)
			h, _, _ := host(op, y, x, 0xf7f)
			d := int64(h[0].Mant - got.Value.Mant)
			if d > 0 {
				plus++
			} else if d < 0 {
				minus++
			}
			f := float64(d)
			for e := int(got.Value.SE&0x7fff) - expBias; e < -1; e++ {
				f /= 2
			}
			for e := int(got.Value.SE&0x7fff) - expBias; e > -1; e-- {
				f *= 2
			}
			abs += f * 8 / n
		}
		fmt.Printf("%s %v %d/128: +%.1f%% -%.1f%% u67 %.3f; ", op, neg, b, 100*float64(plus)/n, 100*float64(minus)/n, abs)
		if b%4 == 3 {
			fmt.Println()
		}
	}
	fmt.Println()
}

func fromFrac(m uint64) F80 {
	xw := makeWide(false, 0, u128{hi: m >> 1, lo: m << 63})
	return F80{xw.m.hi, uint16(xw.exp + expBias)}
}

func TestBinsExp(t *testing.T) {
	bins("f2xm1", 24, 128, false, func(m uint64) (F80, F80) { return one80, fromFrac(m) })
	bins("f2xm1", 24, 128, true, func(m uint64) (F80, F80) { return one80, fromFrac(m) })
}
func TestBinsAtan(t *testing.T) {
	bins("fpatan", 0, 128, false, func(m uint64) (F80, F80) { return fromFrac(m), one80 })
}
func TestBinsLog(t *testing.T) {
	bins("fyl2x", 0, 128, false, func(m uint64) (F80, F80) {
		return one80, F80{integer | m>>1, expBias}
	})
	bins("fyl2x", 0, 128, false, func(m uint64) (F80, F80) {
		return one80, F80{integer | m>>1, expBias-1}
	})
}
