package annotate_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
)

// profile is a profile in memory, of a program that spends most in one function.
func profile(work uint64) *cgout.Profile {
	p := cgout.New("Ir", "Dr")
	p.Cmd = "./prog"
	p.Add("main.c", "main", 3, 20, 5)
	p.Add("work.c", "work", 7, work, 30)
	p.Add("work.c", "helper.constprop.0", 12, 80, 10)
	return p
}

// The functions of a profile, the busiest first, as a program sees them.
func ExampleNew() {
	o := annotate.Options{Derived: []string{"Dr/Ir"}, StripHash: true}
	r, err := annotate.New(o, annotate.Memory("run", profile(300)))
	if err != nil {
		log.Fatal(err)
	}
	ir, reads := r.Sort[0], r.Derived[0]
	for _, f := range r.Functions {
		percent, _ := reads.Value(f.Counts, f.File.Counts)
		fmt.Printf("%4s of %s instructions, %4.1f %% reads: %s in %s\n", f.Counts[ir], r.Total.Counts[ir], percent, f.Name, f.File.Name)
	}
	// Output:
	//  300 of 400 instructions, 10.0 % reads: work in work.c
	//   80 of 400 instructions, 12.5 % reads: helper in work.c
	//   20 of 400 instructions, 25.0 % reads: main in main.c
}

// What became slower between two runs. (Each table has the old count, the new one,
// their difference and their quotient.)
func ExampleCompare() {
	old, now := annotate.Memory("old", profile(300)), annotate.Memory("new", profile(330))
	r, err := annotate.Compare(annotate.Options{ShowFirst: true}, old, now)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Functions {
		factor, _ := f.Factor(r.Sort[0])
		fmt.Println(f.Name, f.Old[0], f.New[0], f.Counts[0], factor)
	}
	if err := r.WriteMarkdown(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// work 300 330 30 1.1
	// | Ir old | Ir new | delta | factor | file:function |
	// |---:|---:|---:|---:|---|
	// | 400 | 430 | +30 | 1.075 | **total** |
	// | 100 | 100 | 0 | 1.000 | **not shown: 2 functions** |
	// | 300 | 330 | +30 | 1.100 | `work.c:work` |
	//
	// <details><summary>Lines</summary>
	//
	// | Ir old | Ir new | delta | factor | line | source |
	// |---:|---:|---:|---:|---|---|
	// | 300 | 330 | +30 | 1.100 | `work.c:7` |  |
	//
	// </details>
}

// The text of cg_annotate: here without sources, since there are none.
func ExampleWriteText() {
	o := annotate.Defaults()
	o.Show, o.Sources, o.Top = []string{"Ir"}, false, 1
	var text strings.Builder
	if err := annotate.WriteText(&text, o, annotate.Memory("run", profile(300))); err != nil {
		log.Fatal(err)
	}
	_, table, _ := strings.Cut(text.String(), "-- Function:file summary\n")
	for line := range strings.Lines(table) {
		fmt.Println(strings.TrimSpace(line))
	}
	// Output:
	// --------------------------------------------------------------------------------
	// Ir________________  function:file
	//
	// > 300 (75.0%, 75.0%)  work:work.c
}

// Names that change from run to run are made one, so that profiles can be added up.
func ExampleParseRename() {
	rename, err := annotate.ParseRename(`s/prog-[0-9.]+/prog/`)
	if err != nil {
		log.Fatal(err)
	}
	o := annotate.Options{RenameFile: rename}
	name, err := o.RenameFile("/src/prog-1.2/main.c")
	fmt.Println(name, err)
	// Output: /src/prog/main.c <nil>
}
