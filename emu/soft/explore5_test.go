//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestModelExp(t *testing.T) {
	for _, cname := range []string{"N", "T"} {
		c := nr67(ln2)
		if cname == "T" {
			c = tr67(ln2)
		}
		for _, e := range []int{-80, -60, -33, -20, -10, -6, -5, -4, -3} {
			r := rand.New(rand.NewPCG(1, 2))
			sc := map[string]int{}
			const n = 2000
			for range n {
				x := rnd(r, e, e)
				h, _, _ := host("f2xm1", one80, x, 0xf7f)
				xw := x.wide()
				try := func(name string, w wide) {
					if v, _ := w.round(0xf7f); v == h[0] {
						sc[name]++
					}
				}
				try("x*C", xw.mul(c))
				full := expm1(xw.mul(ln2))
				try("full", full)
				p := xw.mul(ln2)
				p.neg = !p.neg
				rest := addw(full, p) // e^z-1-z
				for _, r1 := range rds {
					a := r1.f(xw.mul(c))
					try("A+B "+r1.n, addw(a, rest))
					for _, r2 := range rds {
						try("T(A+B) "+r1.n+r2.n, r2.f(addw(a, rest)))
						// z*(1+..)
						v := expm1(a)
						try("expm1(A) "+r1.n, v)
						q := v.div(a)
						try("A*q "+r1.n+r2.n, a.mul(r2.f(q)))
						try("x*P "+r2.n, xw.mul(r2.f(full.div(xw))))
					}
				}
			}
			best := 0
			for _, v := range sc {
				best = max(best, v)
			}
			fmt.Print(cname, e, " ")
			for k, v := range sc {
				if v >= best-n/60 {
					fmt.Print(k, "=", v, "; ")
				}
			}
			fmt.Println()
		}
	}
}

func TestModelTan(t *testing.T) {
	for _, e := range []int{-33, -32, -31, -25, -18, -17, -10, -5, -4, -3, -2} {
		r := rand.New(rand.NewPCG(1, 2))
		sc := map[string]int{}
		const n = 2000
		for range n {
			x := rnd(r, e, e)
			h, _, _ := host("fptan", one80, x, 0xf7f)
			xw := x.wide()
			try := func(name string, w wide) {
				if v, _ := w.round(0xf7f); v == h[1] {
					sc[name]++
				}
			}
			s, c := sine(xw, 0), sine(xw, 1)
			full := s.div(c)
			try("full", full)
			for _, r1 := range rds {
				try("x*P "+r1.n, xw.mul(r1.f(full.div(xw))))
				try("x/Q "+r1.n, xw.div(r1.f(xw.div(full))))
				try("1/cot "+r1.n, wideOne.div(r1.f(c.div(s))))
				for _, r2 := range rds {
					try("s/c "+r1.n+r2.n, r1.f(s).div(r2.f(c)))
					try("s*rc "+r1.n+r2.n, r1.f(s).mul(r2.f(wideOne.div(c))))
				}
			}
		}
		best := 0
		for _, v := range sc {
			best = max(best, v)
		}
		fmt.Print("tan ", e, " full ", sc["full"], ": ")
		for k, v := range sc {
			if v >= best-n/80 {
				fmt.Print(k, "=", v, "; ")
			}
		}
		fmt.Println()
	}
}
