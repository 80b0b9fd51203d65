package dwarfmap_test

import (
	"debug/elf"
	"fmt"
	"log"
	"path"

	"github.com/cgemu/cgemu/dwarfmap"
)

// The place in the source where main begins.
func ExampleObject_Lookup() {
	const program = "../testdata/demo"
	o, err := dwarfmap.Open(program, dwarfmap.Options{Demangle: true})
	if err != nil {
		log.Fatal(err)
	}
	defer o.Close()
	main, err := symbol(program, "main")
	if err != nil {
		log.Fatal(err)
	}
	at := o.Lookup(main)
	fmt.Println(path.Base(at.File), at.Func, at.Line)
	fmt.Println(o.Lookup(0)) // nothing is there
	if err := o.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// demo.c main 52
	// {??? ??? 0}
}

// symbol returns the address of a symbol.
func symbol(file, name string) (uint64, error) {
	f, err := elf.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	list, err := f.Symbols()
	for _, s := range list {
		if s.Name == name {
			return s.Value, nil
		}
	}
	return 0, fmt.Errorf("%s: no symbol %s: %w", file, name, err)
}
