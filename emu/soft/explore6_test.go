//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestModelLog3(t *testing.T) {
	two := wide{exp: 1, m: one}
	c := nr67(log2e)
	for _, e := range []int{-32, -20, -10, -6, -5, -4} {
		r := rand.New(rand.NewPCG(1, 2))
		sc := map[string]int{}
		n := 0
		for range 600 {
			x := rnd(r, e, e)
			w, k := reveal("fyl2xp1", x)
			if k != 1 {
				continue
			}
			n++
			xw := x.wide()
			try := func(name string, v wide) {
				for _, rr := range rds[1:] {
					if eq(rr.f(v), w) {
						sc[name+"->"+rr.n]++
					}
				}
			}
			a := tr67(xw.mul(c))
			a.exp++
			den := tr67(addw(two, xw))
			u := tr67(a.div(den))
			// series in the true s and in u
			for _, src := range []string{"s", "u"} {
				var z wide
				if src == "s" {
					z = xw.div(addw(two, xw))
				} else {
					z = u.div(log2e)
					z.exp--
				}
				zz := z.mul(z)
				z128 := zz.fixed(127)
				rest := inverse[49]
				for k := 23; k >= 1; k-- {
					rest = inverse[2*k+1].add(z128.mul(rest))
				}
				// rest = 1/3 + z/5 ...; corr = z*rest
				corr := makeWide(false, 0, z128.mul(rest))
				g := addw(wideOne, corr)
				for _, r1 := range rds {
					try("u*g "+src+r1.n, u.mul(r1.f(g)))
					try("u+u*corr "+src+r1.n, addw(u, r1.f(u.mul(corr))))
					try("u+x.. "+src+r1.n, addw(u, r1.f(z.mul(log2e).mul(wide{exp: 1, m: one}).mul(corr))))
				}
			}
		}
		best := 0
		for _, v := range sc {
			best = max(best, v)
		}
		fmt.Print(e, " n ", n, ": ")
		cnt := 0
		for k, v := range sc {
			if v >= best-n/50 && cnt < 8 {
				cnt++
				fmt.Print(k, "=", v, "; ")
			}
		}
		fmt.Println()
	}
}
