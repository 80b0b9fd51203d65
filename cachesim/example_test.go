package cachesim_test

import (
	"fmt"
	"log"

	"github.com/cgemu/cgemu/cachesim"
)

// A loop over 4 KiB, eight bytes at a time, twice: through a cache of 2 KiB, and
// through one that holds all of it.
func ExampleHierarchy() {
	c := cachesim.Default
	for _, size := range []string{"2048,2,64", "8192,2,64"} {
		var err error
		if c.D1, err = cachesim.ParseGeometry(size); err != nil {
			log.Fatal(err)
		}
		if err := c.Check(); err != nil {
			log.Fatal(err)
		}
		h := cachesim.NewHierarchy(c)
		d1mr, dlmr := 0, 0
		for range 2 {
			for addr := uint64(0x10000); addr < 0x11000; addr += 8 {
				l1, ll := h.Data(addr, 8)
				if l1 {
					d1mr++
				}
				if ll {
					dlmr++
				}
			}
		}
		fmt.Printf("%s: %d reads missed D1, %d LL\n", c.D1.Describe(), d1mr, dlmr)
	}
	// Output:
	// 2048 B, 64 B, 2-way associative: 128 reads missed D1, 64 LL
	// 8192 B, 64 B, 2-way associative: 64 reads missed D1, 64 LL
}
