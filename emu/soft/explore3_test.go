//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// reveal returns the 67-bit internal log (L as wide) by trying tails.
func reveal(op string, x F80) (wide, int) {
	base, _, _ := host(op, one80, x, 0xf7f)
	w0 := base[0].wide()
	found, cnt := wide{}, 0
	for t := range uint64(16) { // 68-bit candidates
		w := w0
		w.m.lo = t << 60
		ok := true
		for i := range uint64(40) {
			y := F80{integer | (i*0x9e3779b97f4a7c15)>>1, expBias}
			if i < 8 {
				y.Mant = integer | i<<60
			}
			h, _, _ := host(op, y, x, 0xf7f)
			v, _ := w.mul(y.wide()).round(0xf7f)
			if v != h[0] {
				ok = false
				break
			}
		}
		if ok {
			cnt++
			found = w
		}
	}
	return found, cnt
}

func TestReveal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, e := range []int{-80, -60, -33, -32, -16, -6, -4, -3, -2} {
		var cn [20]int
		var hist [16]int
		dist := map[int64]int{}
		for range 300 {
			x := rnd(r, e, e)
			if e == -2 { x.Mant &^= 1<<62}
			w, c := reveal("fyl2xp1", x)
			cn[c]++
			if c != 1 {
				continue
			}
			hist[w.m.lo>>60]++
			tr := log2p1(x.wide())
			d := int64(tr.m.sub(w.m).lo) >> 56
			if tr.exp == w.exp {
				dist[d>>4]++
			}
		}
		fmt.Println(e, cn[:4], hist, "true-L in 2^-68:", dist)
	}
}
