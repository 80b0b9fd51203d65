package vfstest

import (
	"fmt"
	"strings"
)

// Difference is where two texts begin to differ, with the lines in front; "" if they are equal.
func Difference(want, got string) string {
	if want == got {
		return ""
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	before := strings.Join(a[max(0, i-40):min(i, len(a))], "\n")
	return fmt.Sprintf("%s\nwant: %s\ngot:  %s", before, strings.Join(a[i:min(i+1, len(a))], ""), strings.Join(b[i:min(i+1, len(b))], ""))
}
