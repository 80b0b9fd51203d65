package export

import (
	"cmp"
	"math/bits"
	"slices"
)

// share divides n in proportion to weights, which are not all 0, by largest remainder: the parts add up to n, and each
// is less than one away from its exact value. With weights that add up to n or more no part is more than its weight.
func share(n uint64, weights []uint64) []uint64 {
	shift, sum := 0, uint64(0)
	for {
		carry := uint64(0)
		sum = 0
		for _, w := range weights {
			var c uint64
			sum, c = bits.Add64(sum, w>>shift, 0)
			carry |= c
		}
		if carry == 0 {
			break
		}
		shift++
	}
	parts := make([]uint64, len(weights))
	type remainder struct {
		of  int
		rem uint64
	}
	var rest []remainder
	left := n
	for i, w := range weights {
		hi, lo := bits.Mul64(n, w>>shift)
		q, rem := bits.Div64(hi, lo, sum)
		parts[i] = q
		left -= q
		if rem > 0 {
			rest = append(rest, remainder{i, rem})
		}
	}
	if left > 0 {
		slices.SortFunc(rest, func(a, b remainder) int { return cmp.Or(cmp.Compare(b.rem, a.rem), cmp.Compare(a.of, b.of)) })
		for _, r := range rest[:left] {
			parts[r.of]++
		}
	}
	return parts
}
