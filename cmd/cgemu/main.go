// Command cgemu counts the instructions x86-64 Linux programs execute. See docs/manual.md.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

// Exit statuses of our own failures, as env(1) has them.
const (
	exitFailed   = 125
	exitNotExec  = 126
	exitNotFound = 127
)

// heapLimit is where the garbage collector begins to work, in bytes. A collection cannot
// end while guest code runs, and most runs allocate less.
const heapLimit = 384 << 20

func main() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapLimit)
	os.Exit(dispatch(os.Args[1:]))
}

// dispatch runs the command named by the first argument; a program to run is the default.
func dispatch(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "run":
			return run(args[1:])
		case "version", "--version":
			fmt.Println("cgemu " + version)
			return 0
		case "help", "--help", "-h":
			os.Stdout.WriteString(usage)
			return 0
		}
	}
	return run(args)
}

// version is that of the next release.
const version = "0.1.0"

// fail reports a failure of ours.
func fail(status int, err error) int {
	fmt.Fprintf(os.Stderr, "cgemu: %v\n", err)
	return status
}
