package main

import (
	"fmt"
	"sort"
	"strings"
)

type shape interface{ area() float64 }

type square struct{ side float64 }

func (s square) area() float64 { return s.side * s.side }

func apply[T any](in []T, f func(T) T) (out []T) {
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

func main() {
	words := strings.Fields("the quick brown fox")
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	m := map[string]shape{"a": square{2}}
	fmt.Println(apply(words, strings.ToUpper), m["a"].area())
}
