//go:build linux && amd64

package cgemu_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
)

// What a program executes is the same on every run and machine, so that a test can compare it.
func ExampleCommand() {
	cmd := cgemu.Command("testdata/guest", "a", "b")
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cmd.Result.Profile.Total("Ir"), "instructions")
	// Output:
	// a b
	// 2980 instructions
}

func ExampleCmd_Output() {
	_, err := cgemu.Command("testdata/guest", "exit", "3").Output()
	var failed *cgemu.ExitError
	if errors.As(err, &failed) {
		fmt.Println(failed, failed.Code)
	}
	// Output: exit status 3 3
}

// The misses of a small cache, by a configuration.
func ExampleConfig() {
	cmd := cgemu.Command("testdata/demo")
	d1, err := cachesim.ParseGeometry("1024,2,64")
	if err != nil {
		log.Fatal(err)
	}
	cmd.Caches = &cachesim.Config{I1: d1, D1: d1, LL: cachesim.Geometry{Size: 1 << 20, Assoc: 16, Line: 64}}
	if err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
	p := cmd.Result.Profile
	fmt.Printf("%d of %d reads missed\n", p.Total("D1mr"), p.Total("Dr"))
	// Output: 5299 of 276015 reads missed
}
