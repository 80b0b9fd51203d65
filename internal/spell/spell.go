// Package spell guesses what a misspelt word was meant to be.
package spell

import (
	"cmp"
	"slices"
	"strings"
)

// Suggest returns `; did you mean "X"?` for the word that name is most like, or the only one that begins with it; "" if
// there is none.
func Suggest(name string, words []string) string {
	best, at := "", 1+max(1, len(name)/3)
	sorted := slices.SortedFunc(slices.Values(words), cmp.Compare[string])
	for _, w := range sorted {
		if d := distance(name, w); d < at {
			best, at = w, d
		}
	}
	if best == "" {
		best = begun(name, sorted)
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// begun returns the only word that begins with name, "" if there are more or none.
func begun(name string, words []string) (found string) {
	for _, w := range words {
		if len(name) > 2 && strings.HasPrefix(w, name) {
			if found != "" {
				return ""
			}
			found = w
		}
	}
	return found
}

// distance is how many letters have to be put in, taken out, replaced or swapped with their neighbour to make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
