package cgout_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// A profile is made, written as Cachegrind writes it, and read again.
func ExampleProfile() {
	p := cgout.New("Ir", "Dr")
	p.Cmd = "./prog"
	p.Add("main.c", "main", 3, 20, 5)
	p.Add("main.c", "main", 4, 100, 30)
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		log.Fatal(err)
	}
	fmt.Print(file.String())

	q, err := cgout.Read("cachegrind.out", &file)
	if err != nil {
		log.Fatal(err)
	}
	q.Each(func(file, fn string, line int, counts []uint64) { fmt.Println(file, fn, line, counts) })
	fmt.Println(q.Total("Ir"), "instructions")
	// Output:
	// cmd: ./prog
	// events: Ir Dr
	// fl=main.c
	// fn=main
	// 3 20 5
	// 4 100 30
	// summary: 120 35
	// main.c main 3 [20 5]
	// main.c main 4 [100 30]
	// 120 instructions
}

const (
	first  = "cmd: ./prog 1\nevents: Ir\nfl=a.c\nfn=f\n1 10\nsummary: 10\n"
	second = "cmd: ./prog 2\nevents: Ir\nfl=a.c\nfn=f\n1 7\n2 1\nsummary: 8\n"
)

// The sum of files, as cg_merge has it.
func ExampleMerger() {
	var m cgout.Merger
	for i, text := range []string{first, second} {
		if err := m.Add(fmt.Sprint("run ", i+1), strings.NewReader(text)); err != nil {
			log.Fatal(err)
		}
	}
	if err := m.Write(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// cmd: ./prog 1
	// events: Ir
	// fl=a.c
	// fn=f
	// 1 17
	// 2 1
	// summary: 18
}

// The difference of two files, as cg_diff has it: by function, on line 0.
func ExampleDiffer() {
	var d cgout.Differ
	for i, text := range []string{first, second} {
		if err := d.Add(fmt.Sprint("run ", i+1), strings.NewReader(text)); err != nil {
			log.Fatal(err)
		}
	}
	if err := d.Write(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// desc: Files compared:   run 1; run 2
	// cmd: ./prog 1; ./prog 2
	// events: Ir
	// fl=a.c
	// fn=f
	// 0 -2
	// summary: -2
}

// A countLines counts the lines that have counts.
type countLines struct{ lines int }

func (c *countLines) Header(cgout.Header) error   { return nil }
func (c *countLines) File(string) error           { return nil }
func (c *countLines) Func(string) error           { return nil }
func (c *countLines) Summary([]cgout.Count) error { return nil }
func (c *countLines) Counts(cgout.Count, []cgout.Count) error {
	c.lines++
	return nil
}

// A profile that is only read: whatever its numbers are, and none of it is kept.
func ExampleScanner_Visit() {
	var c countLines
	err := cgout.NewScanner("second", []byte(second)).Visit(&c)
	fmt.Println(c.lines, err)
	err = cgout.NewScanner("half", []byte(strings.TrimSuffix(second, "summary: 8\n"))).Visit(&c)
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// half:7: missing `summary:` line, aborting
}
