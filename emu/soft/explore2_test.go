//go:build oracles && amd64

package soft

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

func TestExplore2(t *testing.T) {
	for _, op := range []string{"fsin", "fcos", "fptan", "f2xm1", "fyl2x", "fyl2xp1","fpatan"} {
		if w := os.Getenv("OP"); w != "" && w != op {
			continue
		}
		last := ""
		for e := -80; e < 3; e++ {
			r := rand.New(rand.NewPCG(1, 2))
			line := ""
			for _, cw := range []uint16{0x37f, 0xf7f, 0x77f} {
				val, st := 0, 0
				const n = 2000
				for range n {
					x, y := rnd(r, e, e), one80
					if op == "fpatan" {
						y = x
						x = one80
						if os.Getenv("RY") != "" {
							x.Mant |= r.Uint64()
						}
					}
					if op == "fyl2x" {
						x.SE &= 0x7fff
						if e < -1 {
							x = F80{integer | r.Uint64()>>(-e), expBias}
						}
						if x.Mant == integer {
							x.Mant++
						}
					}
					if os.Getenv("RY") != "" && op!="fpatan" {
						y.Mant |= r.Uint64()
					}
					got := kernel(op, y, x, cw)
					h, sw, _ := host(op, y, x, cw)
					want := h[0]
					if op == "fptan" {
						want = h[1]
					}
					if got.Value == want {
						val++
					}
					if got.Status == sw&^0x3800 {
						st++
					}
				}
				line += fmt.Sprintf("  %x: %.1f%% sw %.1f%%", cw>>8, 100*float64(val)/n, 100*float64(st)/n)
			}
			if e%8 == 0 || e > -20 && e%4 == 0 || e > -6  || e == -33 || e < -64 && e > -72 {
				if line != last {
					fmt.Printf("%-8s x 2^%d:%s\n", op, e, line)
				}
				last = line
			}
		}
	}
}
