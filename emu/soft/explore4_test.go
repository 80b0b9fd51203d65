//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func tr67(w wide) wide { return w.internal() }
func nr67(w wide) wide {
	m := w.m.add(u128{lo: 1 << 60})
	if m.less(w.m) {
		return wide{w.neg, w.exp + 1, one}
	}
	w.m = m
	return w.internal()
}
func up67(w wide) wide {
	if w.m.lo&(1<<61-1) == 0 {
		return w
	}
	m := w.internal().m.add(u128{lo: 1 << 61})
	if m.less(w.m) {
		return wide{w.neg, w.exp + 1, one}
	}
	w.m = m
	return w
}
func dn67(w wide) wide {if w.neg {return up67(w)}; return tr67(w)}
func id67(w wide) wide { return w }

// addw adds, exact-ish
func addw(a, b wide) wide {
	if a.m.isZero() {
		return b
	}
	if b.m.isZero() {
		return a
	}
	if a.exp < b.exp || a.exp == b.exp && a.m.less(b.m) {
		a, b = b, a
	}
	am := a.m.shr(1)
	sh := uint(a.exp - b.exp + 1)
	bm := b.m.shr(sh)
	st := u128{}
	if bm.shl(sh) != b.m || sh > 127 {
		st.lo = 1
	}
	if a.neg == b.neg {
		return makeWide(a.neg, a.exp+1, am.add(bm).add(st))
	}
	return makeWide(a.neg, a.exp+1, am.sub(bm).sub(st))
}

func eq(a, b wide) bool { return a.exp == b.exp && a.m == b.m }

var rds = []struct {
	n string
	f func(wide) wide
}{{"id", id67}, {"T", tr67}, {"N", nr67}, {"U", up67}}

func TestModelLog(t *testing.T) {
	c := nr67(log2e)
	for _, e := range []int{-80, -60, -40, -33, -32, -16, -6, -5, -4} {
		r := rand.New(rand.NewPCG(1, 2))
		sc := map[string]int{}
		n := 0
		for range 300 {
			x := rnd(r, e, e)
			w, k := reveal("fyl2xp1", x)
			if k != 1 {
				continue
			}
			n++
			xw := x.wide()
			if eq(tr67(xw.mul(c)), w) {
				sc["x*C"]++
			}
			two := wide{exp: 1, m: one}
			for _, r1 := range rds {
				den := r1.f(addw(two, xw))
				for _, r2 := range rds {
					s := r2.f(xw.div(den))
					s.exp++
					// series part: sum z^k/(2k+1)
					z := s
					z.exp--
					zz := z.mul(z).fixed(127)
					sum := inverse[49]
					for k := 23; k >= 0; k-- {
						sum = inverse[2*k+1].add(zz.mul(sum))
					}
					full := makeWide(false, 0, sum)
					for _, r3 := range rds {
						g := r3.f(full.mul(log2e))
						if eq(tr67(s.mul(g)), w) {
							sc["s*g "+r1.n+r2.n+r3.n]++
						}
					}
					// s*C + s*rest
					rest := full.mul(log2e)
					rest = addw(rest, wide{neg: true, m: c.m})
					for _, r3 := range rds {
						if eq(tr67(addw(r3.f(s.mul(c)), s.mul(rest))), w) {
							sc["s*C+ "+r1.n+r2.n+r3.n]++
						}
					}
				}
			}
		}
		fmt.Print(e, " n ", n, ": ")
		best := 0
		for _, v := range sc {
			best = max(best, v)
		}
		for k, v := range sc {
			if v >= best-n/20 {
				fmt.Print(k, "=", v, "; ")
			}
		}
		fmt.Println()
	}
}
