// Command gomark counts a part of itself.
package main

import (
	"fmt"

	"github.com/cgemu/cgemu/mark"
)

//go:noinline
func work(n uint64) uint64 {
	x := n | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func other(n uint64) uint64 { return work(n) + 1 }

func main() {
	sum := other(1000)
	mark.Start()
	sum ^= work(100_000)
	mark.DumpAt("part")
	sum ^= work(1000)
	mark.Stop()
	sum ^= other(1000)
	fmt.Println(mark.Running(), sum != 0)
}
