package main

import "testing"

func BenchmarkUse(b *testing.B) {
	words := []string{"the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"}
	c := New(5)
	for b.Loop() {
		for _, w := range words {
			c.Use(w)
		}
	}
}
