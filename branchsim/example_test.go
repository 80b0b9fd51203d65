package branchsim_test

import (
	"fmt"

	"github.com/cgemu/cgemu/branchsim"
)

// The branch at the end of a loop of five rounds, run a thousand times: it is soon
// known when the loop ends. A call of two functions in turn never goes where it did.
func ExamplePredictor() {
	var p branchsim.Predictor
	bcm, bim := 0, 0
	for i := range 1000 {
		for round := range 5 {
			if p.Conditional(0x401020, round < 4) {
				bcm++
			}
		}
		target := uint64(0x402000)
		if i%2 == 1 {
			target = 0x403000
		}
		if p.Indirect(0x401030, target) {
			bim++
		}
	}
	fmt.Printf("%d of 5000 conditional branches, %d of 1000 indirect ones mispredicted\n", bcm, bim)
	// Output: 13 of 5000 conditional branches, 1000 of 1000 indirect ones mispredicted
}
