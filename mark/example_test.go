package mark_test

import (
	"fmt"

	"github.com/cgemu/cgemu/mark"
)

// Under `cgemu --instr-at-start=no ./program` the profile has the counts of the sum
// alone. Natively, as here, the same program just runs.
func ExampleStart() {
	numbers := []int{3, 1, 4, 1, 5}
	sum := 0
	mark.Start()
	for _, n := range numbers {
		sum += n
	}
	mark.Stop()
	fmt.Println(sum, mark.Running())
	// Output: 14 false
}
