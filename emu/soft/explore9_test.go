//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
)

func cut(n uint, mode byte) func(wide) wide {
	return func(w wide) wide {
		if w.m.isZero() {
			return w
		}
		ulp := u128{lo: 1}.shl(128 - n)
		m := w.m
		add := u128{}
		switch mode {
		case 'N':
			add = ulp.shr(1)
		case 'U':
			add = ulp.sub(u128{lo: 1})
		}
		m = m.add(add)
		if m.less(add) {
			return wide{w.neg, w.exp + 1, one}
		}
		mask := ulp.sub(u128{lo: 1})
		m.lo &^= mask.lo
		m.hi &^= mask.hi
		w.m = m
		return w
	}
}

// score tries to explain host results as A + cut(true - A).
func score(name, op string, n int, mk func() F80, a, exact func(x wide) wide) {
	forms := map[string]func(wide) wide{"id": id67}
	for b := uint(60); b <= 68; b++ {
		for _, m := range "TNU" {
			forms[fmt.Sprintf("%c%d", m, b)] = cut(b, byte(m))
		}
	}
	sc := map[string]int{}
	for range n {
		x := mk()
		for _, cw := range []uint16{0x37f, 0xf7f, 0xb7f} {
			h, sw, _ := host(op, one80, x, cw)
			xw := x.wide()
			av := a(xw)
			rest := exact(xw).add(av.negated())
			for fn, f := range forms {
				w := av.add(f(rest))
				g, s := w.round(cw)
				if g == h[0] && s == sw&^0x3800 {
					sc[fn]++
				}
			}
		}
	}
	var ks []string
	for k := range sc {
		ks = append(ks, k)
	}
	sort.Slice(ks, func(i, j int) bool { return sc[ks[i]] > sc[ks[j]] })
	fmt.Print(name, ": ")
	for _, k := range ks[:6] {
		fmt.Printf(" %s=%.2f%%", k, 100*float64(sc[k])/float64(3*n))
	}
	fmt.Printf(" (id %.2f%%)\n", 100*float64(sc["id"])/float64(3*n))
}

func TestRest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for e := -8; e <= -3; e++ {
		for _, neg := range []bool{false, true} {
			score(fmt.Sprint("f2xm1 poly ", e, neg), "f2xm1", 3000, func() F80 { return rnd(r, e, e).withSign(neg) },
				func(x wide) wide { return x.mul(ln2).internal() },
				func(x wide) wide { return expm1(x.mul(ln2).internal()) })
		}
		score(fmt.Sprint("fsin poly ", e), "fsin", 3000, func() F80 { return rnd(r, e, e).withSign(false) },
			func(x wide) wide { return x },
			func(x wide) wide { return sine(x, 0) })
		score(fmt.Sprint("fcos poly ", e), "fcos", 3000, func() F80 { return rnd(r, e, e).withSign(false) },
			func(x wide) wide { return wideOne },
			func(x wide) wide { return sine(x, 1) })
	}
	for e := -2; e <= -1; e++ {
		hi := 0
		mid := func(x wide) wide {
			return wide{exp: x.exp, m: u128{hi: x.m.hi&^(1<<61-1) | 1<<60}}
		}
		_ = hi
		mk := func() F80 {
			x := rnd(r, e, e).withSign(false)
			if e == -1 {
				x.Mant &^= 1 << 62
			}
			return x
		}
		score(fmt.Sprint("fsin tab ", e), "fsin", 3000, mk,
			func(x wide) wide { return exactSine(mid(x), 0).nearest() }, func(x wide) wide { return sine(x, 0) })
		score(fmt.Sprint("fcos tab ", e), "fcos", 3000, mk,
			func(x wide) wide { return exactSine(mid(x), 1).nearest() }, func(x wide) wide { return sine(x, 1) })
		mid16 := func(x wide) wide {
			return wide{exp: x.exp, m: u128{hi: x.m.hi&^(1<<59-1) | 1<<58}}
		}
		score(fmt.Sprint("f2xm1 tab ", e), "f2xm1", 3000, mk,
			func(x wide) wide { return expm1(mid16(x).mul(exactLn2)).nearest() }, func(x wide) wide { return expm1(x.mul(exactLn2)).add(expErrors[breakpoint16(x)]) })
	}
}
