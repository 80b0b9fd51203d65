package export_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/export"
)

// A profile with a call graph, as stacks with what each costs: flame graphs are made of such lines.
func ExampleWrite() {
	p, err := cgout.Read("callgrind.out", strings.NewReader(`# callgrind format
events: Ir Dr
fl=prog.c
fn=main
3 20 5
cfn=work
calls=2 10
4 100 30
fn=work
10 100 30
`))
	if err != nil {
		log.Fatal(err)
	}
	if err := export.Write(os.Stdout, "folded", p, export.Options{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("of Dr, with lines:")
	if err := export.Write(os.Stdout, "folded", p, export.Options{Events: []string{"Dr"}, Lines: true}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// main 20
	// main;work 100
	// of Dr, with lines:
	// main;prog.c:3 5
	// main;work;prog.c:10 30
}
