// Command gen compiles insns.txt into tables.go. Run it by go generate, in emu/x86.
//
// The steps: parse reads the lines into forms; tree builds, for each opcode of
// each map, a decision tree that tells its forms apart; emit writes Go.
package main

import (
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("x86/gen: ")
	text, err := os.ReadFile("insns.txt")
	if err != nil {
		log.Fatal(err)
	}
	forms, err := parse("insns.txt", string(text))
	if err != nil {
		log.Fatal(err)
	}
	t, err := buildTrees(forms)
	if err != nil {
		log.Fatal(err)
	}
	src, err := emit(forms, t)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("tables.go", src, 0o644); err != nil {
		log.Fatal(err)
	}
}
