package annotate

import (
	"math/big"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// quotient returns a/b, rounded once, and false if b is 0.
func quotient(a, b cgout.Count) (float64, bool) {
	if b.Sign() == 0 {
		return 0, false
	}
	n, ok1 := a.Int64()
	d, ok2 := b.Int64()
	if ok1 && ok2 && n > -exact && n < exact && d > -exact && d < exact {
		return float64(n) / float64(d), true
	}
	f, _ := new(big.Rat).SetFrac(a.Big(), b.Big()).Float64()
	return f, true
}

// Units of derived columns.
const (
	unitPercent = "percent"
	unitCycles  = "cycles"
)

// rates are the miss rates that "rates" stands for, as far as a profile
// has the events.
var rates = []string{
	"I1mr/Ir", "ILmr/Ir", "D1mr/Dr", "DLmr/Dr", "D1mw/Dw", "DLmw/Dw", "Bcm/Bc", "Bim/Bi",
}

// cycleWeights are KCachegrind's "Cycle Estimation", as in `cgemu run --cycles`.
var cycleWeights = map[string]int64{
	"Ir": 1, "I1mr": 10, "D1mr": 10, "D1mw": 10, "ILmr": 100, "DLmr": 100, "DLmw": 100, "Bcm": 10, "Bim": 10,
}

// deriveds returns the columns that Options.Derived names. show are the columns of
// which parent shows shares.
func deriveds(names, events []string, show []int) (list []Derived, err error) {
	for _, name := range names {
		switch name {
		case "cycles":
			list = append(list, cycles(events))
		case "parent":
			for _, e := range show {
				list = append(list, Derived{events[e] + "/parent", unitPercent,
					func(c, parent []cgout.Count) (float64, bool) { return percentage(c[e], parent[e]) }})
			}
		case "rates":
			for _, rate := range rates {
				if d, ok := ratio(rate, events); ok {
					list = append(list, d)
				}
			}
		default:
			d, ok := ratio(name, events)
			if !ok {
				a, b, _ := strings.Cut(name, "/")
				if slices.Contains(events, a) {
					a = b
				}
				return nil, &MissingEventError{"Derived", a}
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// ratio is the column A/B, if the events are there.
func ratio(name string, events []string) (d Derived, ok bool) {
	a, b, _ := strings.Cut(name, "/")
	i, j := lastIndex(events, a), lastIndex(events, b)
	return Derived{name, unitPercent,
		func(c, _ []cgout.Count) (float64, bool) { return percentage(c[i], c[j]) }}, i >= 0 && j >= 0
}

func percentage(a, b cgout.Count) (float64, bool) {
	if n, ok := a.Int64(); ok && n > -exact/100 && n < exact/100 {
		return quotient(cgout.NewCount(n*100), b) // rounds once
	}
	f, ok := quotient(a, b)
	return f * 100, ok
}

// cycles estimates cycles from the events there are.
func cycles(events []string) Derived {
	weights := make([]int64, len(events))
	for i, e := range events {
		if lastIndex(events, e) == i {
			weights[i] = cycleWeights[e]
		}
	}
	return Derived{"cycles", unitCycles, func(c, _ []cgout.Count) (float64, bool) {
		sum := 0.0
		for i, w := range weights {
			if w != 0 {
				f, _ := quotient(c[i], cgout.NewCount(1))
				sum += float64(w) * f
			}
		}
		return sum, true
	}}
}

// lastIndex returns the last place of a name, -1 if there is none. Of several
// events of one name the last is meant.
func lastIndex(names []string, name string) int {
	for i := len(names) - 1; i >= 0; i-- {
		if names[i] == name {
			return i
		}
	}
	return -1
}
